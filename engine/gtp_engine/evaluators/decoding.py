"""From a net's raw outputs to what a search wants to know, per leaf and without Python objects.

What depends on the rules happens here and not in the net's graph: illegal moves are masked, the
optimistic policy is mixed in, and *no result* counts only where the rules know it.

A net need not have every head. What it does not say is made of what it says:

- no score: the lead is the sum of the ownership and the komi, spread by what the ownership leaves
  open;
- no value: the chance that a score of that mean and deviation is above zero;
- no policy: points whose owner is open before those that are settled.

Where nothing is known at all, all moves are alike, the value is 0 and the lead is 0.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import PASS
from gtp_engine.evaluators.eval_batch import EvalBatch
from gtp_engine.evaluators.nets.net_info import (
    NO_RESULT_ALWAYS,
    NO_RESULT_BY_RULES,
    VALUE_WIN_LOSS_NORESULT,
    NetInfo,
)
from gtp_engine.evaluators.nets.onnx_net import RawOutputs
from gtp_engine.go.history import SIMPLE, TERRITORY
from gtp_engine.go.rules import RuleFlags
from gtp_engine.kernels import hot_kernel, int64, kernel

NEVER, BY_RULES, ALWAYS = 0, 1, 2

NO_PASS_PRIOR = 1e-3
"""Prior of the pass for a net whose policy has none, over the sum of the others."""
SETTLED_SHARE = 0.02
"""Weight of a point whose owner is certain, over one of which nothing is known, in a prior that
comes from the ownership."""
SCORE_SPREAD = 0.5
"""Standard deviation of a score of which only the mean is known, over the side of the board.

Fitted to what KataGo's g170-b6c96 says about 400 positions of 9x9 to 19x19: winning chances that
come from its lead in this way are 5 % off on average, those that come from its ownership as well.
"""

Floats = npt.NDArray[np.float32]


class OutputLayout(NamedTuple):
    """What the columns of a net's outputs mean, as plain numbers."""

    has_pass: int
    is_win_loss: int
    """Whether the value is three logits; otherwise one number."""
    no_result: int
    """NEVER, BY_RULES or ALWAYS."""
    mean_column: int
    """Column of the score; -1 where there is none."""
    stdev_column: int
    lead_column: int
    score_columns: int


class OutputArrays(NamedTuple):
    """A run's outputs; empty arrays stand for heads the net does not have."""

    policy: Floats
    """[B, A + 1], [B, A] or [0, 0]."""
    optimistic: Floats
    """[B, A + 1] or [0, 0]."""
    value: Floats
    """[B, 3], [B, 1] or [0, 0]."""
    score: Floats
    """[B, K] or [0, 0]."""
    ownership: Floats
    """[B, A] or [0, 0]."""


def output_layout(info: NetInfo) -> OutputLayout:
    """Return where a net's outputs hold what."""

    def column(name: str) -> int:
        return info.score_columns.index(name) if name in info.score_columns else -1

    modes = {NO_RESULT_ALWAYS: ALWAYS, NO_RESULT_BY_RULES: BY_RULES}
    return OutputLayout(
        has_pass=int(info.has_pass),
        is_win_loss=int(info.value_kind == VALUE_WIN_LOSS_NORESULT),
        no_result=modes.get(info.no_result, NEVER),
        mean_column=column("score_mean"),
        stdev_column=column("score_stdev"),
        lead_column=column("lead"),
        score_columns=len(info.score_columns),
    )


_NOTHING: Floats = np.zeros((0, 0), np.float32)


def output_arrays(raw: RawOutputs) -> OutputArrays:
    """Return a run's outputs as arrays of two dimensions each, for kernels."""
    policy, optimistic, value, score, ownership = raw
    return OutputArrays(
        policy=_NOTHING if policy is None else policy,
        optimistic=_NOTHING if optimistic is None else optimistic,
        value=_NOTHING if value is None else value,
        score=_NOTHING if score is None else score,
        ownership=_NOTHING if ownership is None else ownership.reshape(len(ownership), -1),
    )


def misshapen_output(outputs: OutputArrays, layout: OutputLayout, area: int) -> str | None:
    """Return the name of an output that is not as wide as the net's description says, if any.

    Kernels read the outputs without looking at bounds, and take them for rows of float32.
    """
    actions = area + layout.has_pass
    widths = (actions, actions, 3 if layout.is_win_loss else 1, layout.score_columns, area)
    for name, array, width in zip(RawOutputs._fields, outputs, widths, strict=True):
        is_plain = array.ndim == 2 and array.flags.c_contiguous and array.dtype == _NOTHING.dtype
        if not is_plain or (len(array) and array.shape[1] < width):
            return name
    return None


@kernel
def knows_no_result(rules: RuleFlags) -> bool:
    """Whether a game under these rules can end without a result."""
    return bool(rules.ko == SIMPLE or rules.scoring == TERRITORY)


@kernel
def decode_slot(
    outputs: OutputArrays,
    row: int,
    layout: OutputLayout,
    batch: EvalBatch,
    slot: int,
    points: npt.NDArray[np.int16],
    actions: npt.NDArray[np.int16],
) -> bool:
    """Write a slot's results from one row of a run's outputs.

    Args:
        batch: The batch; the slot's moves are written.
        points: [points] where each point stands in the outputs, under the slot's symmetry.
        actions: [A + 1] where each action stands in them.

    Returns:
        Whether the results are finite; a search cannot go on from others.
    """
    if outputs.policy.shape[0] > 0:
        _decode_policy(outputs, row, layout, batch, slot, points)
    else:
        _prefer_open_points(outputs, row, batch, slot, points)
    no_result = _decode_value(outputs, row, layout, batch, slot)
    if outputs.score.shape[0] > 0:
        _decode_score(outputs, row, layout, batch, slot, no_result)
    else:
        _count_ownership(outputs, row, batch, slot)
    if outputs.value.shape[0] == 0:
        _win_by_score(batch, slot)
    numbers = batch.slots[slot]
    last = batch.priors[slot, int64(numbers["n_moves"]) - 1]
    total = last + numbers["value"] + numbers["lead"] + numbers["stdev"]
    for action in range(batch.ownership.shape[1]):
        owned = outputs.ownership[row, actions[action]]
        total += owned
        # A tree keeps it in a byte, where a little more than certain would be the opponent's.
        batch.ownership[slot, action] = max(np.float32(-1.0), min(np.float32(1.0), owned))
    return bool(np.isfinite(total))


@hot_kernel
def decode_slots(
    outputs: OutputArrays,
    layout: OutputLayout,
    batch: EvalBatch,
    slots: npt.NDArray[np.int64],
    points: npt.NDArray[np.int16],
    actions: npt.NDArray[np.int16],
) -> bool:
    """Write the results of some slots, the first from the first row of a run's outputs.

    Args:
        batch: The batch; the slots' moves and symmetries are written.
        points: [8, points] `symmetry.point_table`.
        actions: [8, A + 1] `symmetry.action_table`.

    Returns:
        Whether the results are finite; a search cannot go on from others.
    """
    for row in range(slots.shape[0]):
        slot = slots[row]
        symmetry = int64(batch.slots[slot]["symmetry"])
        if not decode_slot(
            outputs, int64(row), layout, batch, slot, points[symmetry], actions[symmetry]
        ):
            return False
    return True


@kernel
def _ends_in_a_pass(batch: EvalBatch, slot: int) -> bool:
    """Whether a slot's last move is the pass; some games have none."""
    n = int64(batch.slots[slot]["n_moves"])
    return bool(n > 0 and batch.moves[slot, n - 1] == PASS)


@kernel
def _decode_policy(
    outputs: OutputArrays,
    row: int,
    layout: OutputLayout,
    batch: EvalBatch,
    slot: int,
    points: npt.NDArray[np.int16],
) -> None:
    """Mask, mix and normalise the policy over the slot's moves, a pass last."""
    n = int64(batch.slots[slot]["n_moves"])
    lacks_pass = not layout.has_pass and _ends_in_a_pass(batch, slot)
    n_logits = n - 1 if lacks_pass else n
    mixes = outputs.optimistic.shape[0] > 0 and batch.slots[slot]["optimism"] != 0.0
    highest = np.float32(-np.inf)
    for i in range(n_logits):
        at = points[batch.moves[slot, i]]
        logit = outputs.policy[row, at]
        if mixes:
            logit += (outputs.optimistic[row, at] - logit) * batch.slots[slot]["optimism"]
        batch.priors[slot, i] = logit
        highest = max(highest, logit)
    total = np.float32(0.0)
    for i in range(n_logits):
        share = np.exp(batch.priors[slot, i] - highest)
        batch.priors[slot, i] = share
        total += share
    if lacks_pass:
        batch.priors[slot, n - 1] = max(total, np.float32(1.0)) * np.float32(NO_PASS_PRIOR)
        total += batch.priors[slot, n - 1]
    for i in range(n):
        batch.priors[slot, i] /= total


@kernel
def _decode_value(
    outputs: OutputArrays, row: int, layout: OutputLayout, batch: EvalBatch, slot: int
) -> float:
    """Write value and no result; return the share of no result that the score is reduced by."""
    batch.slots[slot]["value"] = 0.0
    batch.slots[slot]["no_result"] = 0.0
    if outputs.value.shape[0] == 0:
        return 0.0
    if not layout.is_win_loss:
        batch.slots[slot]["value"] = outputs.value[row, 0]
        return 0.0
    win, loss, none = outputs.value[row, 0], outputs.value[row, 1], outputs.value[row, 2]
    counts = layout.no_result == ALWAYS or (
        layout.no_result == BY_RULES and batch.slots[slot]["no_result_counts"]
    )
    highest = max(win, loss)
    if counts:
        highest = max(highest, none)
    win = np.exp(win - highest)
    loss = np.exp(loss - highest)
    none = np.exp(none - highest) if counts else np.float32(0.0)
    total = win + loss + none
    batch.slots[slot]["value"] = (win - loss) / total
    batch.slots[slot]["no_result"] = none / total
    return np.float64(none / total) if layout.no_result == BY_RULES else 0.0


@kernel
def _decode_score(
    outputs: OutputArrays,
    row: int,
    layout: OutputLayout,
    batch: EvalBatch,
    slot: int,
    no_result: float,
) -> None:
    """Write lead and standard deviation; a game without result has the score zero."""
    batch.slots[slot]["lead"] = 0.0
    batch.slots[slot]["stdev"] = 0.0
    counts = 1.0 - no_result
    mean = 0.0
    if layout.mean_column >= 0:
        mean = np.float64(outputs.score[row, layout.mean_column])
        batch.slots[slot]["lead"] = mean * counts
    if layout.lead_column >= 0:
        batch.slots[slot]["lead"] = outputs.score[row, layout.lead_column] * counts
    if layout.stdev_column >= 0:
        stdev = np.float64(outputs.score[row, layout.stdev_column])
        square = (mean * mean + stdev * stdev) * counts
        batch.slots[slot]["stdev"] = np.sqrt(max(0.0, square - (mean * counts) ** 2))


# Heads that there are not -------------------------------------------------------------------------


@kernel
def _prefer_open_points(
    outputs: OutputArrays,
    row: int,
    batch: EvalBatch,
    slot: int,
    points: npt.NDArray[np.int16],
) -> None:
    """Write priors for a net without a policy: by the variance of each point's owner.

    A point that is x to -x likely one's own has the variance 1 - x^2. Without ownership all moves
    are alike.
    """
    n = int64(batch.slots[slot]["n_moves"])
    has_pass = _ends_in_a_pass(batch, slot)
    knows_owners = outputs.ownership.shape[0] > 0
    total = 0.0
    for i in range(n - 1 if has_pass else n):
        weight = 1.0
        if knows_owners:
            owned = np.float64(outputs.ownership[row, points[batch.moves[slot, i]]])
            weight = SETTLED_SHARE + max(0.0, 1.0 - owned * owned)
        batch.priors[slot, i] = weight
        total += weight
    if has_pass:
        batch.priors[slot, n - 1] = max(total, 1.0) * NO_PASS_PRIOR
        total += np.float64(batch.priors[slot, n - 1])
    for i in range(n):
        batch.priors[slot, i] /= total


@kernel
def _count_ownership(outputs: OutputArrays, row: int, batch: EvalBatch, slot: int) -> None:
    """Write lead and standard deviation for a net without a score, each point by itself."""
    batch.slots[slot]["lead"] = 0.0
    batch.slots[slot]["stdev"] = 0.0
    if outputs.ownership.shape[0] == 0:
        return
    lead = np.float64(batch.slots[slot]["komi"])
    variance = 0.0
    for point in range(outputs.ownership.shape[1]):
        owned = np.float64(outputs.ownership[row, point])
        lead += owned
        variance += max(0.0, 1.0 - owned * owned)
    batch.slots[slot]["lead"] = lead
    batch.slots[slot]["stdev"] = np.sqrt(variance)


@kernel
def _win_by_score(batch: EvalBatch, slot: int) -> None:
    """Write the value for a net without one: win minus loss if the score is normally spread."""
    lead = np.float64(batch.slots[slot]["lead"])
    stdev = np.float64(batch.slots[slot]["stdev"])
    if stdev <= 0.0:
        stdev = SCORE_SPREAD * np.sqrt(batch.spatial.shape[2] * batch.spatial.shape[3])
    batch.slots[slot]["value"] = math.erf(lead / (stdev * np.sqrt(2.0)))


def prior_by_action(
    batch: EvalBatch, slot: int, actions: npt.NDArray[np.int16], area: int
) -> npt.NDArray[np.float32]:
    """Return a slot's policy as [A + 1], NaN where a move is illegal.

    Args:
        actions: [points] the action of each point, A for PASS.
    """
    policy = np.full(area + 1, np.nan, np.float32)
    n = int(batch.n_moves[slot])
    policy[actions[batch.moves[slot, :n]]] = batch.priors[slot, :n]
    return policy
