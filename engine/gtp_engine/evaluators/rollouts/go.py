"""Judge positions by playing them out: alone, without any net, or beside one.

The tree policy of `go/rollout_policy.py` gives the priors, rollouts the value, the lead and the
ownership. A net may keep its own policy and ownership and have its value mixed with theirs, as
AlphaGo did: (1 - weight) * value + weight * rollouts.
"""

import threading
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import BLACK, NULL_MOVE, PASS, WALL
from gtp_engine.evaluators.decoding import NO_PASS_PRIOR, SCORE_SPREAD
from gtp_engine.evaluators.eval_batch import EvalBatch, list_moves
from gtp_engine.evaluators.evaluator import Evaluator, NetlessEvaluator
from gtp_engine.evaluators.net_evaluator import NetEvaluator, open_net
from gtp_engine.evaluators.nets.net_files import DEFAULT_ROLLOUT_WEIGHT, NO_NET, without_rollouts
from gtp_engine.evaluators.rollouts.pattern_file import shipped_policy
from gtp_engine.go.board import BOARD, MAX_POINTS, clear_board
from gtp_engine.go.history import History, ko_ban, white_komi
from gtp_engine.go.pattern_board import PATTERN_BOARD, PatternRecord, set_up
from gtp_engine.go.rollout_policy import (
    Policy,
    count_area,
    remember_captures,
    roll_out,
    run_rollouts,
    score_moves,
)
from gtp_engine.go.rules import GO, RuleFlags
from gtp_engine.kernels import hot_kernel, int64, kernel
from gtp_engine.platforms import usable_cores

ROLLOUTS = 1
"""Games played out for one evaluation."""
ROLLOUTS_BESIDE_NET = 8
"""The same beside a net, which takes about as long as they do."""
BARE_ROLLOUTS = 32
"""The same for a position without a past, as somebody shows it who asks whose the points are."""


@kernel
def _take_over(board: PatternRecord, history: History, ply: int, policy: Policy) -> tuple[int, int]:
    """Set a board up from a ply; return the last move and the one before, PASS for none."""
    turn = history.turns[ply]
    to_play = int64(turn["to_play"])
    source = history.boards[ply]
    set_up(board, source, ko_ban(source, turn, to_play), policy.weights)
    last, previous = int64(turn["move"]), int64(PASS)
    if ply == 0 or last == NULL_MOVE or turn["mover"] == to_play:
        return int64(PASS), int64(PASS)
    before = history.turns[ply - 1]
    if ply > 1 and before["move"] != NULL_MOVE and before["mover"] == to_play:
        previous = int64(before["move"])
    if last != PASS:
        taken = history.boards[ply]["captured"][to_play]
        if taken != history.boards[ply - 1]["captured"][to_play]:
            remember_captures(board, history.boards[ply - 1], history.boards[ply])
    return last, previous


@kernel
def _write_priors(
    batch: EvalBatch,
    slot: int,
    board: PatternRecord,
    policy: Policy,
    last: int,
    previous: int,
    color: int,
) -> None:
    """Write the tree policy over the moves of a slot."""
    scores = np.zeros(MAX_POINTS, np.float32)
    score_moves(board, policy, last, previous, color, scores)
    n = int64(batch.slots[slot]["n_moves"])
    highest = np.float32(-1e9)
    for i in range(n):
        if batch.moves[slot, i] != PASS:
            highest = max(highest, scores[batch.moves[slot, i]])
    total = np.float32(0.0)
    for i in range(n):
        move = int64(batch.moves[slot, i])
        chance = np.float32(NO_PASS_PRIOR) if move == PASS else np.exp(scores[move] - highest)
        batch.priors[slot, i] = chance
        total += chance
    for i in range(n):
        batch.priors[slot, i] /= total


@hot_kernel
def _play_out(
    batch: EvalBatch,
    slot: int,
    history: History,
    ply: int,
    rules: RuleFlags,
    policy: Policy,
    boards: npt.NDArray[Any],
    rollouts: int,
    states: npt.NDArray[np.uint64],
    is_alone: int,
) -> None:
    """Play a position out and write what comes of it into a slot.

    Args:
        batch: The batch. What a net has no part in is written where the results belong.
        boards: [2] of PATTERN_BOARD.
        states: [1] the random generator's.
        is_alone: Whether there is no net: priors, value and lead are written too.
    """
    last, previous = _take_over(boards[0], history, ply, policy)
    turn = history.turns[ply]
    color = int64(turn["to_play"])
    numbers = batch.slots[slot]
    if is_alone:
        list_moves(batch, slot, history, ply, rules)
        _write_priors(batch, slot, boards[0], policy, last, previous, color)
    sign = 1.0 if color == BLACK else -1.0
    komi = white_komi(turn, rules)
    owned = np.zeros(MAX_POINTS, np.float32)
    state = states[0]
    value, lead = 0.0, 0.0
    for _ in range(rollouts):
        boards[1] = boards[0]
        state, _moves = roll_out(boards[1], policy, last, previous, color, state)
        margin = sign * (count_area(boards[1], owned) - komi)
        lead += margin
        value += 1.0 if margin > 0.0 else (-1.0 if margin < 0.0 else 0.0)
    states[0] = state
    numbers["rollout_value"] = value / rollouts
    numbers["rollout_lead"] = lead / rollouts
    if is_alone:
        numbers["value"] = numbers["rollout_value"]
        numbers["lead"] = numbers["rollout_lead"]
        area = np.float64(boards[0]["width"]) * boards[0]["height"]
        numbers["stdev"] = SCORE_SPREAD * np.sqrt(area)
        numbers["no_result"] = 0.0
    action = 0
    for point in range(int64(boards[0]["n_points"])):
        if boards[0]["color"][point] != WALL and action < batch.ownership.shape[1]:
            batch.ownership[slot, action] = np.float32(sign / rollouts) * owned[point]
            action += 1


class RolloutPlayer:
    """Plays positions out, for any number of threads, each with random numbers of its own."""

    def __init__(self, policy: Policy, seed: int, rollouts: int = ROLLOUTS) -> None:
        """Prepare.

        Args:
            seed: Fixes the rollouts of the first thread, those of the second, and so on.
        """
        self._policy = policy
        self._rollouts = rollouts
        self._seeds = np.random.SeedSequence(seed)
        self._guard = threading.Lock()
        self._own = threading.local()

    def play_out(
        self,
        batch: EvalBatch,
        slot: int,
        history: History,
        ply: int,
        rules: RuleFlags,
        *,
        is_alone: bool,
    ) -> None:
        """Write what rollouts say of a position into a slot; see `_play_out`."""
        own = self._own
        if not hasattr(own, "boards"):
            with self._guard:
                seeds = self._seeds.spawn(1)[0]
            own.boards = np.zeros(2, PATTERN_BOARD)
            own.states = seeds.generate_state(1, np.uint64) | np.uint64(1)
        games = max(self._rollouts, BARE_ROLLOUTS) if ply == 0 else self._rollouts
        position = batch, slot, history, ply, rules
        _play_out(*position, self._policy, own.boards, games, own.states, int(is_alone))


class RolloutEvaluator(NetlessEvaluator):
    """Patterns for the policy, rollouts for everything else."""

    name = "rollouts"
    has_ownership = True

    def __init__(self, seed: int = 0) -> None:
        """Load the shipped weights.

        Raises:
            NetFileError: They cannot be used.
        """
        self._player = RolloutPlayer(shipped_policy(), seed, ROLLOUTS)

    def describe(self) -> str:
        """Return what is used, in one line."""
        return "no net: patterns and rollouts"

    def suggest(self, threads: int | None, batch: int | None) -> tuple[int, int]:
        """Return a worker for each core with one leaf each; given numbers stay."""
        return threads or usable_cores(), batch or 1

    def _judge(self, *leaf: Any) -> None:
        self._player.play_out(*leaf, is_alone=True)


class MixedEvaluator(NetEvaluator):
    """A net whose value is mixed with that of rollouts; they say what it has no head for."""

    adds_to_net = True

    def __init__(
        self, *served: Any, weight: float, seed: int = 0, rollouts: int = ROLLOUTS_BESIDE_NET
    ) -> None:
        """Serve a net.

        Args:
            served: What `NetEvaluator` takes.
            weight: Share of the rollouts in the value, 0 to 1; all of it where the net has none.

        Raises:
            NetFileError: The net or the weights of the rollouts cannot be used.
        """
        super().__init__(*served)
        net = self.net
        self.weight = np.float32(weight if "value" in net.info.heads else 1.0)
        """Share of the rollouts in the value."""
        self._knows_lead = not {"score", "ownership"}.isdisjoint(net.info.heads)
        self._player = RolloutPlayer(shipped_policy(), seed, rollouts)

    @property
    def has_ownership(self) -> bool:
        """Always: rollouts have one."""
        return True

    @property
    def name(self) -> str:
        """The net's name and device, and the rollouts."""
        return f"{super().name} with rollouts"

    def describe(self) -> str:
        """Return what is used, in one line."""
        return f"{super().describe()}, {self.weight:.0%} of the value from rollouts"

    def new_batch(self, slots: int, width: int, height: int) -> EvalBatch:
        """Return a batch for boards of this size.

        Raises:
            NetFileError: The net does not take this size.
        """
        batch = super().new_batch(slots, width, height)
        return batch._replace(ownership=np.zeros((slots, width * height), np.float32))

    def encode(self, *leaf: Any) -> None:
        """Fill a slot's inputs and play the position out; see `NetEvaluator`."""
        super().encode(*leaf)
        self._player.play_out(*leaf[:5], is_alone=False)

    def evaluate(self, batch: EvalBatch, n: int, *, use_cache: bool = True) -> None:
        """Fill in the results of the first n slots.

        Raises:
            NetFileError: The net failed.
        """
        nets = batch if self._owns else batch._replace(ownership=batch.ownership[:, :0])
        super().evaluate(nets, n, use_cache=use_cache)
        value = batch.value[:n]
        value += self.weight * (batch.slots["rollout_value"][:n] - value)
        if not self._knows_lead:
            batch.lead[:n] = batch.slots["rollout_lead"][:n]


def open_evaluator(
    wanted: str | None,
    device: str,
    runtime: str,
    *,
    threads: int | None = None,
    max_batch: int | None = None,
    seed: int = 0,
) -> NetEvaluator | RolloutEvaluator:
    """Open what `--net` names for Go: a net, one with rollouts, or rollouts alone; see `open_net`.

    Raises:
        NetFileError: There is no such net, or something cannot be used.
    """
    net, has_rollouts = without_rollouts(wanted)
    if net == NO_NET:
        return RolloutEvaluator(seed)
    mixed = partial(MixedEvaluator, weight=DEFAULT_ROLLOUT_WEIGHT, seed=seed)
    make = mixed if has_rollouts else NetEvaluator
    return open_net(net, device, runtime, threads=threads, max_batch=max_batch, game=GO, make=make)


def wants_rollout_params(evaluator: Evaluator) -> bool:
    """Whether `ROLLOUT_PARAMS` suit it: patterns and rollouts, or a net whose value is all theirs.

    The random rollouts of Atari Go, which know no patterns, are searched by the usual ones.
    """
    weight = float(getattr(evaluator, "weight", 0.0))
    return isinstance(evaluator, RolloutEvaluator) or weight == 1.0


def run_pattern_games(width: int, height: int, games: int, seed: int) -> int:
    """Play rollouts from the empty board; return the moves played in all.

    Raises:
        NetFileError: The weights of the policy cannot be used.
    """
    source: npt.NDArray[Any] = np.zeros(1, BOARD)
    clear_board(source[0], width, height)
    boards, owned = np.zeros(2, PATTERN_BOARD), np.zeros(MAX_POINTS, np.float32)
    state = np.uint64(seed | 1)
    return int(run_rollouts(boards, source[0], shipped_policy(), games, owned, state))
