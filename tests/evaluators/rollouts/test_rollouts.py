"""Positions judged by rollouts, alone and beside a net, and the file of patterns they need."""

import json
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.go.diagrams import position_of
from tests.go.test_rollout_policy import random_arrays
from tests.paths import TINY_NET

from gtp_engine.coords import BLACK, PASS, WHITE, parse_vertex
from gtp_engine.evaluators.eval_batch import EvalBatch
from gtp_engine.evaluators.evaluator import Evaluator
from gtp_engine.evaluators.net_evaluator import NetEvaluator
from gtp_engine.evaluators.nets.composition import open_whole
from gtp_engine.evaluators.nets.net_files import (
    find_patterns,
    named_patterns,
    shipped_folder,
    without_rollouts,
)
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.evaluators.rollouts.go import (
    MixedEvaluator,
    RolloutEvaluator,
    open_evaluator,
    wants_rollout_params,
)
from gtp_engine.evaluators.rollouts.pattern_file import MOST_BYTES, Arrays, pack, unpack
from gtp_engine.go.pattern_board import MOST_TAKEN, PATTERN_BOARD, play_stone, set_up
from gtp_engine.go.position import Position
from gtp_engine.go.rollout_policy import remember_captures
from gtp_engine.go.rules import Rules
from gtp_engine.kernels import JIT_ENABLED
from gtp_engine.search.params import SearchParams
from gtp_engine.search.search import Search
from gtp_engine.search.stopping import Limits

ROLLOUT = shipped_folder() / "rollout.patterns"


def judged(evaluator: Evaluator, position: Position) -> EvalBatch:
    batch = evaluator.new_batch(1, position.width, position.height)
    rules = position.rules.flags
    evaluator.encode(batch, 0, position.history, position.ply, rules, 0, 0.0)
    evaluator.evaluate(batch, 1)
    return batch


# The file ----------------------------------------------------------------------------------------


def test_a_file_says_what_it_is_and_gives_back_what_went_in(tmp_path: Path) -> None:
    path, arrays = tmp_path / "a.patterns", random_arrays(3)
    path.write_bytes(pack({"licence": "MIT"}, arrays))
    header, found = unpack(path)
    assert header["licence"] == "MIT" and header["version"] == 1
    for name, array in arrays.items():
        assert np.allclose(found[name], array, atol=0.01), name


def _other_header(content: Arrays, **changes: object) -> Arrays:
    header = {**json.loads(content["header"].tobytes()), **changes}
    return {**content, "header": np.frombuffer(json.dumps(header).encode(), np.uint8)}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda a: _other_header(a, version=2), "patterns of version 2"),
        (lambda a: _other_header(a, format="x"), "not a file of patterns"),
        (lambda a: {**a, "near": a["near"][:-1]}, "'near_weights' is not what it must be"),
        (lambda a: {**a, "near": a["near"] | np.uint32(1 << 30)}, "'near' is not what it must be"),
        (lambda a: {**a, "distances": a["distances"] * np.float32(np.nan)}, "'distances'"),
        (lambda a: {**a, "local": a["local"].astype(object)}, "damaged"),
        (lambda a: {k: v for k, v in a.items() if k != "local"}, "damaged"),
    ],
)
def test_other_files_are_refused_in_a_sentence(
    change: Callable[[Arrays], Arrays], said: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.patterns"
    with np.load(ROLLOUT) as archive:
        content = {name: archive[name] for name in archive.files}
    with path.open("wb") as file:
        np.savez_compressed(file, allow_pickle=True, **change(content))  # type: ignore[arg-type]
    with pytest.raises(NetFileError, match=said):
        unpack(path)


@pytest.mark.parametrize("content", [b"", b"PK\3\4 nothing", ROLLOUT.read_bytes()[:-5000]])
def test_damaged_files_are_refused_in_a_sentence(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.patterns"
    path.write_bytes(content)
    with pytest.raises(NetFileError, match="not a file of patterns, or damaged"):
        unpack(path)


def test_a_file_that_is_not_there_or_too_large_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NetFileError, match="No such file"):
        unpack(tmp_path / "a.patterns")
    (tmp_path / "a.patterns").write_bytes(bytes(MOST_BYTES + 1))
    with pytest.raises(NetFileError, match="larger than"):
        unpack(tmp_path / "a.patterns")


def test_the_shipped_file_is_small_and_predicts_moves() -> None:
    assert ROLLOUT.stat().st_size <= MOST_BYTES
    header, _ = unpack(ROLLOUT)
    assert header["licence"] == "MIT"
    assert header["accuracy"]["rollout top1 all"] > 0.28
    assert header["accuracy"]["tree top1 all"] > 0.33
    assert (ROLLOUT.with_suffix(".md")).read_text().startswith("# rollout")


def test_patterns_are_found_by_name_and_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rollout").touch()  # which hides the name, but not what rollouts need
    assert find_patterns("rollout") is None and named_patterns("rollout") == ROLLOUT
    (tmp_path / "rollout").unlink()
    assert find_patterns("rollout") == ROLLOUT
    assert find_patterns(str(ROLLOUT)) == ROLLOUT
    assert find_patterns(TINY_NET) is None and find_patterns("default") is None
    monkeypatch.setenv("GTP_ENGINE_NETS", str(tmp_path))
    (tmp_path / "rollout.patterns").write_bytes(b"mine")
    assert named_patterns("rollout") == tmp_path / "rollout.patterns"


def test_rollouts_are_a_part_of_what_net_names() -> None:
    assert without_rollouts("alphago-sl+rollouts") == ("alphago-sl", True)
    assert without_rollouts("rollouts") == ("none", True)
    assert without_rollouts("policy=a+value=b") == ("policy=a+value=b", False)
    assert without_rollouts(None) == (None, False)


@pytest.mark.parametrize(
    "wanted, weight",
    [
        ("none", None),
        (TINY_NET, None),
        (f"{TINY_NET}+rollouts", 0.5),
        ("alphago-sl+rollouts", 1.0),
    ],
)
def test_what_net_names_is_opened(wanted: str, weight: float | None) -> None:
    opened = open_evaluator(wanted, "cpu", "auto", threads=1)
    assert isinstance(opened, RolloutEvaluator) == (wanted == "none")
    assert getattr(opened, "weight", None) == weight and opened.describe()
    assert wants_rollout_params(opened) == (wanted == "none" or weight == 1.0)


# Rollouts alone ----------------------------------------------------------------------------------


def test_a_decided_board_is_judged_right() -> None:
    # Everything is Black's: White has one stone in atari, and no eyes.
    position = position_of(". X X . X .\nX X X X X X\nX . X X O .\nX X . X X X\n. X X X X X")
    batch = judged(RolloutEvaluator(1), position)
    assert batch.value[0] == 1.0
    assert batch.lead[0] == pytest.approx(30 - 7.5)
    assert (batch.ownership[0] == 1.0).all()
    assert batch.priors[0, : batch.n_moves[0]].sum() == pytest.approx(1.0)
    position.play(BLACK, PASS)
    batch = judged(RolloutEvaluator(1), position)
    assert batch.value[0] == -1.0 and (batch.ownership[0] == -1.0).all()


@pytest.mark.parametrize(
    ("size", "rules"),
    [
        ((2, 2), "japanese"),
        ((25, 2), "chinese"),
        ((2, 25), "aga"),
        ((25, 25), "stone-scoring"),
        ((13, 9), "tromp-taylor"),
    ],
)
def test_every_board_and_rule_is_played(size: tuple[int, int], rules: str) -> None:
    if not JIT_ENABLED and size[0] * size[1] > 60:
        pytest.skip("takes long without a compiler")
    position = Position(*size, Rules.parse(rules))
    evaluator = RolloutEvaluator(1)
    for _ in range(3):
        batch = judged(evaluator, position)
        n = int(batch.n_moves[0])
        assert np.isfinite(batch.priors[0, :n]).all() and -1.0 <= batch.value[0] <= 1.0
        assert np.abs(batch.ownership[0]).max() <= 1.0
        position.play(position.to_play, int(batch.moves[0, batch.priors[0, :n].argmax()]))


def test_captured_stones_are_seen_as_the_board_that_played_the_move_sees_them() -> None:
    position = position_of(". X X . .\nX O O . .\n. X X . .\n. . . . .")
    weights = np.ones((2, 1 << 20), np.int32)
    played, seen = np.zeros(2, PATTERN_BOARD)
    set_up(played, position.board, 0, weights)
    before = position.copy()
    capture = parse_vertex("D3", 5, 4)
    position.play(BLACK, capture)
    play_stone(played, weights, capture, BLACK)
    remember_captures(seen, before.board, position.board)
    assert seen["n_taken"] == played["n_taken"] == 2 <= MOST_TAKEN
    assert set(seen["taken"][:2]) == set(played["taken"][:2])


def test_with_a_seed_and_one_thread_a_search_is_the_same_twice() -> None:
    def visits() -> list[tuple[int, int]]:
        search = Search(RolloutEvaluator(7))
        search.set_position(Position(5))
        return [(one.point, one.visits) for one in search.run(Limits(visits=60)).moves]

    assert visits() == visits()


def test_threads_draw_different_games() -> None:
    evaluator, found = RolloutEvaluator(7), []

    def judge() -> None:
        found.append([judged(evaluator, Position(5)).value[0] for _ in range(10)])

    threads = [threading.Thread(target=judge) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 2 and found[0] != found[1]


# Rollouts beside a net ----------------------------------------------------------------------------


def test_values_are_mixed_by_weight() -> None:
    net = open_whole(TINY_NET, "cpu", exactly=True)
    position = Position(5)
    position.play(BLACK, position.points()[12])
    alone = judged(NetEvaluator(net, 1, 1), position)
    for weight in (0.0, 0.25, 1.0):
        mixed = judged(MixedEvaluator(net, 1, 1, weight=weight, rollouts=1), position)
        result = mixed.slots["rollout_value"][0]
        assert abs(result) == 1.0
        wanted = (1 - weight) * alone.value[0] + weight * result
        assert mixed.value[0] == pytest.approx(wanted, abs=1e-5)
        assert np.array_equal(mixed.priors, alone.priors)
        assert np.array_equal(mixed.ownership, alone.ownership)


def test_what_a_net_has_no_head_for_comes_from_rollouts_alone() -> None:
    net = open_whole("alphago-sl", "cpu", exactly=True)
    position = position_of(". X X . X\nX X X X X\nX . X O .\nX X X X X\n. X X X X", to_play=WHITE)
    evaluator = MixedEvaluator(net, 1, 1, weight=0.5)
    assert evaluator.has_ownership and not NetEvaluator(net, 1, 1).has_ownership
    batch = judged(evaluator, position)
    assert batch.value[0] == -1.0 and (batch.ownership[0] == -1.0).all()
    assert batch.lead[0] == 7.5 - 25, "by which a pass is weighed against a move"
    again = judged(evaluator, position)  # from the net's cache, with another rollout
    assert again.value[0] == -1.0 and np.array_equal(batch.priors, again.priors)


def test_a_raw_evaluation_is_the_nets_own_whatever_heads_it_lacks() -> None:
    net = open_whole("alphago-sl", "cpu", exactly=True)
    found = MixedEvaluator(net, 1, 1, weight=0.5).raw_evaluation(Position(9), 0)
    alone = NetEvaluator(net, 1, 1).raw_evaluation(Position(9), 0)
    assert np.array_equal(found.policy, alone.policy)
    assert found.win == alone.win and found.ownership is alone.ownership is None


def test_a_mixed_evaluator_serves_a_search() -> None:
    evaluator = MixedEvaluator(open_whole(TINY_NET, "cpu", exactly=True), 1, 4, weight=0.5)
    search = Search(evaluator, SearchParams(expansion_visits=3), threads=2, batch=2)
    search.set_position(Position(5))
    assert search.run(Limits(visits=64)).visits >= 64
