"""A net as an evaluator: symmetries, cache, threads, raw evaluations, refusals."""

import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tests.go.diagrams import position_of
from tests.paths import TINY, TINY_NET

from gtp_engine.coords import BLACK, WHITE, point_at
from gtp_engine.evaluators import net_evaluator
from gtp_engine.evaluators.decoding import prior_by_action
from gtp_engine.evaluators.eval_batch import EvalBatch, gather_slots, new_eval_batch
from gtp_engine.evaluators.human_profile import N_META, HumanProfile
from gtp_engine.evaluators.net_evaluator import (
    CACHE_SHARES,
    CPU_MAX_BATCH,
    NetEvaluator,
    RawEvaluation,
    open_net,
)
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.evaluators.nets.onnx_net import FloatArray, OnnxNet, RawOutputs
from gtp_engine.go.position import Position
from gtp_engine.go.rules import Rules
from gtp_engine.go.symmetry import point_table, symmetries, transform
from gtp_engine.platforms import usable_cores

DIAGRAMS = (
    """
    . . . . .
    . X O . .
    . X . O .
    . . X . .
    . O . . .
    """,
    """
    . . . . X .
    . X O . . .
    . O . O . X
    . . X . . .
    """,
)


CODED = 2.0**-10
"""What remembering a prior in two bytes may change about it, as a share of it."""


@pytest.fixture(scope="module")
def evaluator() -> NetEvaluator:
    return NetEvaluator(OnnxNet(TINY, "cpu"), streams=2, max_batch=8)


def evaluated(
    evaluator: NetEvaluator,
    position: Position,
    symmetry: int = 0,
    *,
    optimism: float = 0.0,
    use_cache: bool = False,
) -> EvalBatch:
    batch = evaluator.new_batch(1, position.width, position.height)
    flags = position.rules.flags
    evaluator.encode(batch, 0, position.history, position.ply, flags, symmetry, optimism)
    evaluator.evaluate(batch, 1, use_cache=use_cache)
    return batch


def policy_of(batch: EvalBatch, position: Position) -> npt.NDArray[np.float32]:
    """Return the policy as [H, W], NaN where a move is illegal."""
    actions = point_table(position.width, position.height)[0]
    policy = prior_by_action(batch, 0, actions, position.area)
    return policy[:-1].reshape(position.height, position.width)


def turned(position: Position, symmetry: int) -> Position:
    """Return the position with its stones, but no history, under a symmetry."""
    grid = transform(position.grid(), symmetry)
    height, width = grid.shape
    other = Position(width, height, position.rules)
    stones = [
        [point_at(int(row), int(col), width) for row, col in np.argwhere(grid == color)]
        for color in (BLACK, WHITE)
    ]
    other.set_up(stones[0], stones[1], position.to_play)
    return other


def assert_same_results(a: EvalBatch, b: EvalBatch) -> None:
    for name in ("value", "lead", "stdev", "no_result"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), atol=1e-5, err_msg=name)


@pytest.mark.parametrize("diagram", DIAGRAMS)
def test_showing_a_turned_board_is_undone(evaluator: NetEvaluator, diagram: str) -> None:
    # A net shown P under a symmetry sees what it sees of the turned P: the same policy, turned.
    position = position_of(diagram)
    for symmetry in symmetries(position.width, position.height):
        shown = evaluated(evaluator, position, symmetry)
        other = turned(position, symmetry)
        plain = evaluated(evaluator, other)
        assert_same_results(shown, plain)
        undoing = {5: 6, 6: 5}.get(symmetry, symmetry)
        expected = transform(policy_of(plain, other), undoing)
        np.testing.assert_allclose(policy_of(shown, position), expected, atol=1e-5)
        owned = plain.ownership[0].reshape(position.height, position.width)
        expected = transform(owned, undoing).ravel()
        np.testing.assert_allclose(shown.ownership[0], expected, atol=1e-5)


def test_symmetries_do_matter_to_this_net(evaluator: NetEvaluator) -> None:
    position = position_of(DIAGRAMS[0])
    values = {float(evaluated(evaluator, position, symmetry).value[0]) for symmetry in range(8)}
    assert len(values) > 1


def test_raw_evaluations_average_over_symmetries(evaluator: NetEvaluator) -> None:
    position = position_of(DIAGRAMS[0], Rules.parse("chinese"))
    single = [evaluator.raw_evaluation(position, symmetry) for symmetry in range(8)]
    mean = evaluator.raw_evaluation(position)
    assert mean.symmetry is None and single[3].symmetry == 3
    for name in ("win", "loss", "no_result", "lead", "score_stdev", "policy_pass"):
        expected = np.mean([getattr(one, name) for one in single])
        assert getattr(mean, name) == pytest.approx(expected, abs=1e-5), name
    np.testing.assert_allclose(mean.policy, np.mean([one.policy for one in single], 0), atol=1e-6)
    for one in (*single, mean):
        assert_is_sensible(one, position)


@pytest.mark.parametrize(("asked", "used"), [(None, 0.2), (0.7, 0.7), (0.0, 0.0)])
def test_a_raw_evaluation_is_as_optimistic_as_a_root(
    asked: float | None, used: float, monkeypatch: pytest.MonkeyPatch, evaluator: NetEvaluator
) -> None:
    made: list[EvalBatch] = []

    def new_batch(*shape: Any) -> EvalBatch:
        made.append(new_eval_batch(*shape))
        return made[-1]

    monkeypatch.setattr(net_evaluator, "new_eval_batch", new_batch)
    monkeypatch.setattr(evaluator, "has_optimism", True)
    evaluator.raw_evaluation(Position(5), optimism=asked)
    assert len(made) == 1 and made[0].slots["optimism"] == pytest.approx(used)


def assert_is_sensible(found: RawEvaluation, position: Position) -> None:
    assert found.win + found.loss + found.no_result == pytest.approx(1.0, abs=1e-5)
    assert found.no_result > 0.0  # simple ko knows it
    assert np.nansum(found.policy) + found.policy_pass == pytest.approx(1.0, abs=1e-5)
    assert (np.isnan(found.policy) == (position.grid() != 0)).all()
    assert found.ownership is not None and found.ownership.shape == position.grid().shape
    assert found.var_time is None and found.shortterm_winloss_error is None


def test_no_result_counts_where_the_rules_know_it(evaluator: NetEvaluator) -> None:
    superko = position_of(DIAGRAMS[0], Rules.parse("tromp-taylor"))
    found = evaluator.raw_evaluation(superko, 0)
    assert found.no_result == 0.0 and found.win + found.loss == pytest.approx(1.0)


def test_the_cache_answers_only_what_was_asked_before() -> None:
    evaluator = NetEvaluator(OnnxNet(TINY, "cpu"), streams=1, max_batch=8)
    position = position_of(DIAGRAMS[0])
    first = evaluated(evaluator, position, use_cache=True)
    again = evaluated(evaluator, position, use_cache=True)
    assert (evaluator.cache_hits, evaluator.batcher.evaluations) == (1, 1)
    assert_same_results(first, again)
    np.testing.assert_allclose(first.priors, again.priors, rtol=CODED)
    position.komi = 3.5
    evaluated(evaluator, position, use_cache=True)
    position.to_play = WHITE
    evaluated(evaluator, position, use_cache=True)
    assert (evaluator.cache_hits, evaluator.batcher.evaluations) == (1, 3)
    evaluator.clear_cache()
    evaluated(evaluator, position, use_cache=True)
    assert (evaluator.cache_hits, evaluator.batcher.evaluations) == (1, 4)


def test_hits_and_misses_of_one_batch_go_to_their_slots() -> None:
    evaluator = NetEvaluator(OnnxNet(TINY, "cpu"), streams=1, max_batch=8)
    position = position_of(DIAGRAMS[0])
    batch = evaluator.new_batch(4, 5, 5)
    flags = position.rules.flags
    evaluator.has_optimism = True
    shares = (0.0, 0.25, 0.5, 0.75)  # each makes another question
    alone = [evaluated(evaluator, position, optimism=share) for share in shares]
    for share in shares[1:3]:
        evaluated(evaluator, position, optimism=share, use_cache=True)
    for slot, share in enumerate(shares):
        evaluator.encode(batch, slot, position.history, position.ply, flags, 0, share)
    evaluator.evaluate(batch, 4)
    assert evaluator.cache_hits == 2
    for slot in range(4):
        assert batch.value[slot] == pytest.approx(float(alone[slot].value[0]), abs=1e-6)
        n = int(batch.n_moves[slot])
        np.testing.assert_allclose(batch.priors[slot, :n], alone[slot].priors[0, :n], rtol=CODED)


def test_what_is_remembered_can_be_had_before_a_batch_is_evaluated() -> None:
    evaluator = NetEvaluator(OnnxNet(TINY, "cpu"), streams=1, max_batch=8)
    position, other = position_of(DIAGRAMS[0]), Position(5)
    first = evaluated(evaluator, position, use_cache=True)
    batch = evaluator.new_batch(4, 5, 5)
    for slot, one in enumerate((other, other, position, other)):
        evaluator.encode(batch, slot, one.history, one.ply, one.rules.flags, 0, 0.0)
    assert list(evaluator.recall(batch, 1, 3)) == [1, 3]
    n = int(batch.n_moves[2])
    np.testing.assert_allclose(batch.priors[2, :n], first.priors[0, :n], rtol=CODED)
    assert batch.value[2] == first.value[0] and batch.lead[2] == first.lead[0]
    assert evaluator.batcher.evaluations == 1 and evaluator.cache_hits == 1
    gather_slots(batch, [2], 0)
    np.testing.assert_array_equal(batch.spatial[0], batch.spatial[2])
    assert batch.slots[0] == batch.slots[2] and (batch.moves[0] == batch.moves[2]).all()
    evaluator.clear_cache()
    assert list(evaluator.recall(batch, 1, 3)) == [1, 2, 3]


def test_what_is_added_to_a_net_is_not_remembered() -> None:
    evaluator = NetEvaluator(OnnxNet(TINY, "cpu"), streams=1, max_batch=8)
    evaluator.adds_to_net = True
    batch = evaluated(evaluator, position_of(DIAGRAMS[0]), use_cache=True)
    assert list(evaluator.recall(batch, 0, 1)) == [0]


def test_an_optimism_that_a_net_does_not_know_makes_no_other_question() -> None:
    evaluator = NetEvaluator(OnnxNet(TINY, "cpu"), streams=1, max_batch=8)
    for share in (0.2, 1.0):
        evaluated(evaluator, position_of(DIAGRAMS[0]), optimism=share, use_cache=True)
    assert evaluator.cache_hits == 1


def test_boards_of_four_sizes_are_remembered_side_by_side() -> None:
    evaluator = NetEvaluator(OnnxNet(TINY, "cpu"), streams=1, max_batch=8)
    asked = [5, 6, 7, 8, 5, 6, 7, 8, 9, 6, 5]  # 9 takes the place of 5
    for size, hits in zip(asked, [0, 0, 0, 0, 1, 2, 3, 4, 4, 5, 5], strict=True):
        evaluated(evaluator, Position(size), use_cache=True)
        assert evaluator.cache_hits == hits
    assert sorted(share for share, _ in evaluator._caches.values()) == sorted(CACHE_SHARES)
    assert sum(1 / share for share in CACHE_SHARES) == 1


def test_where_a_gpu_has_failed_runs_are_as_many_as_suit_a_processor() -> None:
    net = OnnxNet(TINY, "cpu")
    net.device = "cuda"
    evaluator = NetEvaluator(net, streams=7, max_batch=256)
    net.device = "cpu"
    evaluated(evaluator, position_of(DIAGRAMS[0]))
    assert evaluator.batcher.streams == usable_cores()
    assert evaluator.batcher.max_batch == CPU_MAX_BATCH
    assert evaluator.has_moved() and not evaluator.has_moved()


def test_a_cache_of_no_size_remembers_nothing() -> None:
    evaluator = NetEvaluator(OnnxNet(TINY, "cpu"), streams=1, max_batch=8, cache_mb=0)
    for _ in range(2):
        evaluated(evaluator, position_of(DIAGRAMS[0]), use_cache=True)
    assert (evaluator.cache_hits, evaluator.batcher.evaluations) == (0, 2)


def test_many_threads_and_boards_at_once(evaluator: NetEvaluator) -> None:
    positions = [position_of(diagram) for diagram in DIAGRAMS]
    expected = [evaluated(evaluator, position) for position in positions]
    failures: list[BaseException] = []

    def work(which: int) -> None:
        try:
            for _ in range(15):
                found = evaluated(evaluator, positions[which], use_cache=True)
                assert_same_results(found, expected[which])
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i % 2,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failures


class OddNet:
    """The tiny net, with something changed in what it is or says."""

    def __init__(self, **changes: Any) -> None:
        net = OnnxNet(TINY, "cpu")
        self.path, self.device, self._net = net.path, "cpu", net
        self.outputs = {
            name: changes.pop(name) for name in list(changes) if name in RawOutputs._fields
        }
        self.info = replace(net.info, **changes)

    def prepare(self, batch: int, width: int, height: int) -> list[threading.Thread]:
        return []

    def run(self, spatial: npt.NDArray[np.uint8], features: FloatArray) -> RawOutputs:
        return self._net.run(spatial, features)._replace(**self.outputs)


def odd(**changes: Any) -> NetEvaluator:
    return NetEvaluator(OddNet(**changes), streams=1, max_batch=8)  # type: ignore[arg-type]


def test_sizes_that_the_net_was_not_made_for_are_refused() -> None:
    evaluator = odd(board_sizes=(9, 19))
    evaluator.new_batch(1, 9, 9)
    with pytest.raises(NetFileError, match=r"the net tiny does not play on 13x13"):
        evaluator.new_batch(1, 13, 13)


def test_encoders_that_are_not_built_in_are_refused() -> None:
    with pytest.raises(NetFileError, match="katago_v7 version 99"):
        odd(encoder_version=99)


def test_outputs_of_another_shape_or_without_numbers_are_refused() -> None:
    position = position_of(DIAGRAMS[0])
    with pytest.raises(NetFileError, match="'value' has an unexpected shape"):
        evaluated(odd(value=np.zeros((1, 1), np.float32)), position)
    with pytest.raises(NetFileError, match="'policy' has an unexpected shape"):
        evaluated(odd(policy=np.zeros((1, 9), np.float32)), position)
    with pytest.raises(NetFileError, match="'ownership' has an unexpected shape"):
        evaluated(odd(ownership=None), position)
    with pytest.raises(NetFileError, match="not numbers"):
        evaluated(odd(value=np.full((1, 3), np.nan, np.float32)), position)
    with pytest.raises(NetFileError, match="not numbers"):
        evaluated(odd(policy=np.full((1, 26), np.nan, np.float32)), position)


def test_a_profile_that_changes_meanwhile_is_remembered_as_what_the_net_was_told() -> None:
    profiles = [HumanProfile.parse(name) for name in ("rank_1d", "rank_9k")]

    class Restless(NetEvaluator):
        """Another profile each time that one looks."""

        reads = -1

        @property
        def human_profile(self) -> HumanProfile:
            self.reads += 1
            return profiles[self.reads % 2]

        @human_profile.setter
        def human_profile(self, profile: HumanProfile) -> None:
            pass

    def encoded(net: NetEvaluator) -> tuple[list[int], list[float]]:
        batch, position = net.new_batch(1, 5, 5), Position(5)
        net.encode(batch, 0, position.history, position.ply, position.rules.flags, 0, 0.0)
        return batch.slots["position_hash"][0].tolist(), batch.features[0, 19:].tolist()

    calm = odd(meta_features=N_META)
    right = []
    for calm.human_profile in profiles:
        right.append(encoded(calm))
    assert right[0][0] != right[1][0] and right[0][1] != right[1][1]
    restless = Restless(OddNet(meta_features=N_META), streams=1, max_batch=8)  # type: ignore[arg-type]
    assert [encoded(restless) for _ in range(4)] == right + right


def test_what_it_says_about_itself(
    evaluator: NetEvaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert evaluator.name == "tiny on cpu" and evaluator.has_ownership
    assert evaluator.describe() == "net tiny, fp32, on the CPU"
    assert evaluator.suggest(3, 5) == (3, 5)
    threads, batch = evaluator.suggest(None, None)
    assert threads >= 1 and batch == 4
    monkeypatch.setattr(net_evaluator, "LARGE_NET", TINY.stat().st_size)
    assert evaluator.suggest(None, None)[1] == 1
    gpu = odd()
    gpu.net = SimpleNamespace(device="cuda")  # type: ignore[assignment]
    gpu.batcher.streams, gpu.gpu_batch = 6, 64
    assert gpu.suggest(None, None) == (6, 64) and gpu.suggest(1, None) == (1, 64)


def test_opening_by_file(tmp_path: Path, said: list[str]) -> None:
    assert open_net(TINY_NET, "cpu").name == "tiny on cpu"
    assert said == []
    with pytest.raises(NetFileError, match="no such net file"):
        open_net(str(tmp_path / "none.onnx"), "cpu")
