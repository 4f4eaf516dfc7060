"""From raw outputs to results, against a plain softmax in float64."""

import numpy as np
import numpy.typing as npt
import pytest

from gtp_engine.coords import BLACK, PASS, WHITE, parse_vertex
from gtp_engine.evaluators.decoding import (
    decode_slot,
    knows_no_result,
    misshapen_output,
    output_arrays,
    output_layout,
    prior_by_action,
)
from gtp_engine.evaluators.eval_batch import EvalBatch, list_moves, new_eval_batch
from gtp_engine.evaluators.nets.net_info import NetInfo
from gtp_engine.evaluators.nets.onnx_net import RawOutputs
from gtp_engine.games import new_game
from gtp_engine.go.position import Position
from gtp_engine.go.rules import ATARI_GO, Rules
from gtp_engine.go.symmetry import action_table, point_table, transform

WIDTH, HEIGHT = 5, 4
AREA = WIDTH * HEIGHT
COLUMNS = ("lead", "var_time", "score_stdev", "score_mean")


def info(**changes: object) -> NetInfo:
    described: dict[str, object] = {
        "name": "test",
        "encoder": "katago_v7",
        "encoder_version": 7,
        "spatial_planes": 22,
        "score_columns": COLUMNS,
    }
    return NetInfo(**{**described, **changes})  # type: ignore[arg-type]


def position() -> Position:
    game = Position(WIDTH, HEIGHT)
    game.play(BLACK, parse_vertex("B2", WIDTH, HEIGHT))
    game.play(WHITE, parse_vertex("D3", WIDTH, HEIGHT))
    return game


def raw_outputs(rows: int = 1, *, has_pass: bool = True, value: int = 3) -> RawOutputs:
    generator = np.random.Generator(np.random.PCG64(7))

    def draw(*shape: int) -> npt.NDArray[np.float32]:
        return generator.normal(size=(rows, *shape)).astype(np.float32)

    return RawOutputs(
        policy=3 * draw(AREA + has_pass),
        policy_optimistic=3 * draw(AREA + has_pass),
        value=draw(value),
        score=np.abs(draw(len(COLUMNS))),
        ownership=np.tanh(draw(HEIGHT, WIDTH)),
    )


def finished(
    raw: RawOutputs,
    net: NetInfo,
    *,
    symmetry: int = 0,
    optimism: float = 0.0,
    no_result_counts: bool = False,
    game: Position | None = None,
) -> EvalBatch:
    """Return a batch whose slot 1 was filled from row 0."""
    game = position() if game is None else game
    batch = new_eval_batch(2, WIDTH, HEIGHT, 22, 19, raw.ownership is not None)
    list_moves(batch, 1, game.history, game.ply, game.rules.flags)
    batch.slots["optimism"][1] = optimism
    batch.slots["no_result_counts"][1] = no_result_counts
    points, actions = point_table(WIDTH, HEIGHT)[symmetry], action_table(WIDTH, HEIGHT)[symmetry]
    assert misshapen_output(output_arrays(raw), output_layout(net), AREA) is None
    assert decode_slot(output_arrays(raw), 0, output_layout(net), batch, 1, points, actions)
    return batch


def softmax(logits: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    shares = np.exp(logits.astype(np.float64) - logits.max())
    return np.asarray(shares / shares.sum())


def expected_policy(logits: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """Return the softmax over the legal actions, NaN elsewhere; logits [A + 1]."""
    game = position()
    legal = [int(point_table(WIDTH, HEIGHT)[0][move]) for move in game.legal_moves()]
    policy = np.full(AREA + 1, np.nan)
    policy[legal] = softmax(logits[legal])
    return policy


def policy_of(batch: EvalBatch) -> npt.NDArray[np.float32]:
    return prior_by_action(batch, 1, point_table(WIDTH, HEIGHT)[0], AREA)


def test_policy_is_the_softmax_over_legal_moves() -> None:
    raw = raw_outputs()
    policy = policy_of(finished(raw, info()))
    np.testing.assert_allclose(policy, expected_policy(raw.policy[0]), atol=1e-6)
    assert np.isnan(policy).sum() == 2 and np.nansum(policy) == pytest.approx(1.0)


def test_optimism_mixes_logits() -> None:
    raw = raw_outputs()
    assert raw.policy_optimistic is not None
    for share in (0.2, 1.0):
        logits = (1 - share) * raw.policy[0] + share * raw.policy_optimistic[0]
        policy = policy_of(finished(raw, info(), optimism=share))
        np.testing.assert_allclose(policy, expected_policy(logits), atol=1e-6)


def test_optimism_is_nothing_to_a_net_without_that_head() -> None:
    raw = raw_outputs()
    plain = RawOutputs(raw.policy, None, raw.value, raw.score, raw.ownership)
    policy = policy_of(finished(plain, info(), optimism=1.0))
    np.testing.assert_allclose(policy, expected_policy(raw.policy[0]), atol=1e-6)


def test_a_policy_without_pass_leaves_it_a_thousandth() -> None:
    raw = raw_outputs(has_pass=False)
    policy = policy_of(finished(raw, info(has_pass=False)))
    logits = np.append(raw.policy[0], np.float32(-np.inf))
    plain = expected_policy(logits)
    assert policy[AREA] == pytest.approx(0.001 / 1.001)
    np.testing.assert_allclose(policy[:AREA], plain[:AREA] * (1 - policy[AREA]), atol=1e-6)


@pytest.mark.parametrize("has_policy", [True, False])
def test_where_nobody_passes_the_last_point_is_a_move_like_others(has_policy: bool) -> None:
    game = new_game(ATARI_GO, WIDTH, HEIGHT)
    raw = raw_outputs(has_pass=False)
    raw = raw._replace(policy_optimistic=None)
    if not has_policy:
        raw = raw._replace(policy=None, ownership=None)
    policy = policy_of(finished(raw, info(has_pass=False), game=game))
    assert np.isnan(policy[AREA])
    logits = np.zeros(AREA, np.float32) if raw.policy is None else raw.policy[0]
    np.testing.assert_allclose(policy[:AREA], softmax(logits), atol=1e-6)


@pytest.mark.parametrize(
    "no_result, counts, shown, scales",
    [
        ("by_rules", True, True, True),
        ("by_rules", False, False, False),
        ("always", True, True, False),
        ("always", False, True, False),
        ("never", True, False, False),
    ],
)
def test_value_and_score(no_result: str, counts: bool, shown: bool, scales: bool) -> None:
    raw = raw_outputs()
    assert raw.value is not None and raw.score is not None
    batch = finished(raw, info(no_result=no_result), no_result_counts=counts)
    win, loss, none = softmax(raw.value[0])
    if not shown:
        win, loss, none = *softmax(raw.value[0, :2]), 0.0
    assert batch.value[1] == pytest.approx(win - loss, abs=1e-6)
    assert batch.no_result[1] == pytest.approx(none, abs=1e-6)
    lead, _, stdev, mean = (float(column) for column in raw.score[0])
    kept = 1.0 - none if scales else 1.0
    assert batch.lead[1] == pytest.approx(kept * lead, abs=1e-5)
    # The score is zero without a result: E[x^2] - E[x]^2.
    variance = kept * (mean**2 + stdev**2) - (kept * mean) ** 2
    assert batch.stdev[1] == pytest.approx(variance**0.5, abs=1e-5)


def test_a_scalar_value_is_taken_as_it_is() -> None:
    raw = raw_outputs(value=1)
    assert raw.value is not None
    batch = finished(raw, info(value_kind="scalar"), no_result_counts=True)
    assert batch.value[1] == raw.value[0, 0] and batch.no_result[1] == 0.0


def test_the_mean_score_stands_in_for_a_missing_lead() -> None:
    raw = raw_outputs()
    columns = ("var_time", "shortterm_score_error", "score_stdev", "score_mean")
    batch = finished(raw, info(score_columns=columns))
    assert raw.score is not None and batch.lead[1] == raw.score[0, 3]


def test_a_net_with_nothing_but_a_policy() -> None:
    raw = RawOutputs(raw_outputs().policy, None, None, None, None)
    batch = finished(raw, info(score_columns=()))
    assert [float(a[1]) for a in (batch.value, batch.lead, batch.stdev)] == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("symmetry", range(4))
def test_a_symmetry_is_undone(symmetry: int) -> None:
    raw = raw_outputs()
    assert raw.policy_optimistic is not None and raw.ownership is not None

    def turned(logits: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        board = transform(logits[0, :AREA].reshape(HEIGHT, WIDTH), symmetry)
        return np.append(board.ravel(), logits[0, AREA])[None]

    seen = RawOutputs(
        turned(raw.policy),
        turned(raw.policy_optimistic),
        raw.value,
        raw.score,
        transform(raw.ownership, symmetry),
    )
    plain, undone = finished(raw, info()), finished(seen, info(), symmetry=symmetry)
    np.testing.assert_allclose(policy_of(undone), policy_of(plain), atol=1e-7)
    assert undone.ownership[1].tolist() == plain.ownership[1].tolist()
    assert plain.ownership[1].tolist() == raw.ownership[0].ravel().tolist()


@pytest.mark.parametrize("head", ["policy", "value", "score"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_outputs_that_are_no_numbers_are_noticed(head: str, bad: float) -> None:
    raw = raw_outputs()
    getattr(raw, head)[0, 0] = bad
    with pytest.raises(AssertionError):
        finished(raw, info())


def test_ownership_that_is_no_number_is_noticed() -> None:
    raw = raw_outputs()
    assert raw.ownership is not None
    raw.ownership[0, -1, -1] = np.nan
    with pytest.raises(AssertionError):
        finished(raw, info())


def test_ownership_is_at_most_certain() -> None:
    raw = raw_outputs()
    assert raw.ownership is not None
    raw.ownership[0, 0, :3] = (1.01, -1.01, 0.99)
    assert finished(raw, info()).ownership[1, :3].tolist() == [1.0, -1.0, np.float32(0.99)]


@pytest.mark.parametrize(
    "changes, wrong",
    [
        ({}, None),
        ({"has_pass": False}, None),  # one column more than needed does no harm
        ({"score_columns": (*COLUMNS, "shortterm_score_error")}, "score"),
    ],
)
def test_outputs_narrower_than_described_are_noticed(
    changes: dict[str, object], wrong: str | None
) -> None:
    arrays = output_arrays(raw_outputs())
    layout = output_layout(info(**changes))
    assert misshapen_output(arrays, layout, AREA) == wrong
    assert misshapen_output(arrays, layout, AREA + 1) == (
        "ownership" if not changes.get("has_pass", True) else "policy"
    )
    scalar = output_arrays(raw_outputs(value=1))
    assert misshapen_output(scalar, output_layout(info()), AREA) == "value"
    deep = arrays._replace(policy=np.zeros((1, AREA + 1, 2), np.float32))
    assert misshapen_output(deep, output_layout(info()), AREA) == "policy"
    for flat in (np.zeros(5, np.float32), np.float32(1.0)):
        one = arrays._replace(value=np.asarray(flat))
        assert misshapen_output(one, output_layout(info()), AREA) == "value"


@pytest.mark.parametrize(
    "array",
    [np.zeros((1, 2 * AREA + 2), np.float32)[:, ::2], np.zeros((1, AREA + 1), np.float64)],
)
def test_outputs_that_kernels_would_misread_are_noticed(array: npt.NDArray[np.float32]) -> None:
    arrays = output_arrays(raw_outputs())._replace(policy=array)
    assert misshapen_output(arrays, output_layout(info()), AREA) == "policy"


@pytest.mark.parametrize(
    "rules, known",
    [("tromp-taylor", False), ("aga", False), ("chinese", True), ("japanese", True)],
)
def test_which_rules_know_games_without_result(rules: str, known: bool) -> None:
    assert knows_no_result(Rules.parse(rules).flags) is known


def test_the_pass_comes_last() -> None:
    batch = finished(raw_outputs(), info())
    assert batch.moves[1, batch.n_moves[1] - 1] == PASS
