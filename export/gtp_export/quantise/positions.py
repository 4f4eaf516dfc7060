"""Real positions of several sizes, played by the net that is to be quantised.

Games run side by side, so that the net is asked about many positions at once. Calibration and the
judgement of the result use different games.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gtp_engine.evaluators.decoding import prior_by_action
from gtp_engine.evaluators.eval_batch import EvalBatch
from gtp_engine.evaluators.evaluator import encode_positions
from gtp_engine.evaluators.net_evaluator import NetEvaluator
from gtp_engine.evaluators.nets.net_info import NetInfo
from gtp_engine.evaluators.policy_play import draw_opening
from gtp_engine.games import FIVE, game_shown
from gtp_engine.go.position import Position
from gtp_engine.go.rules import FIVE_RULES, Rules, Scoring
from gtp_engine.go.symmetry import point_table
from gtp_export.labelling.selfplay import GamePlan, QuickGame, draw_plan

SIZE_SHARES = ((9, 0.4), (13, 0.25), (19, 0.35))
"""Board sizes and their shares of the positions, where the net takes them."""
OTHER_SIZES = (5, 7, 11, 15, 17, 25, 2)
"""Tried in turn for nets that take none of the sizes above."""
MOVES_BETWEEN = 5
"""One position in so many of a game is kept; its neighbours would say little more."""
BATCH_POINTS = 16 * 361
"""Points of the boards in one batch, about."""
KEPT_PER_GAME = {9: 14, 13: 26, 19: 50}

Positions = Sequence[EvalBatch]
"""Encoded positions, in batches of one board size each."""


def sizes_for(info: NetInfo) -> list[tuple[int, float]]:
    """Return the board sizes to play on and their shares, which sum to 1.

    They are sizes that the net was trained on, where it says so.
    """
    smallest, largest = info.trained_sizes or (0, info.board_max)

    def is_taken(size: int) -> bool:
        return smallest <= size <= largest and info.accepts(size, size)

    taken = [(size, share) for size, share in SIZE_SHARES if is_taken(size)]
    if not taken:
        others = [size for size in OTHER_SIZES if is_taken(size)]
        taken = [(size, 1.0) for size in others[:1] or [largest]]
    total = sum(share for _, share in taken)
    return [(size, share / total) for size, share in taken]


def play_positions(evaluator: NetEvaluator, count: int, seed: int) -> Positions:
    """Let a net play games against itself and return about `count` positions of them.

    Args:
        seed: Makes the games; the same seed and net give the same positions.

    Raises:
        NetFileError: The net failed.
    """
    batches: list[EvalBatch] = []
    play = _play_five if game_shown(evaluator.net.info.encoder) == FIVE else _play_size
    for size, share in sizes_for(evaluator.net.info):
        wanted = max(1, round(count * share))
        generator = np.random.Generator(np.random.PCG64([seed, size]))
        batches += play(evaluator, size, wanted, generator)
    return batches


def _play_five(
    evaluator: NetEvaluator, size: int, wanted: int, generator: np.random.Generator
) -> list[EvalBatch]:
    """Return positions of five in a row, each of a game of its own, under all rules."""
    rules, kept = list(FIVE_RULES.values()), list[Position]()
    while len(kept) < wanted:
        one, moves = rules[len(kept) % len(rules)], int(generator.integers(size * size // 2))
        seed = int(generator.integers(2**31))
        position = draw_opening(evaluator, size, size, one, moves, seed, FIVE)
        if not position.is_over:
            kept.append(position)
    return list(_encoded(evaluator, kept, generator.integers(8, size=wanted)))


def _play_size(
    evaluator: NetEvaluator, size: int, wanted: int, generator: np.random.Generator
) -> list[EvalBatch]:
    kept: list[EvalBatch] = []
    while wanted > 0:  # games may be short
        played = itertools.islice(_play_games(evaluator, size, wanted, generator), wanted)
        # Positions hold whole games; so few of them at a time.
        while group := list(itertools.islice(played, _slots(size, size))):
            kept += _encoded(evaluator, group, generator.integers(8, size=len(group)))
            wanted -= len(group)
    return kept


def _play_games(
    evaluator: NetEvaluator, size: int, wanted: int, generator: np.random.Generator
) -> Iterator[Position]:
    """Yield positions of as many games as have about so many."""
    per_game = KEPT_PER_GAME.get(size, max(2, size * size // 6))
    n_games = -(-wanted // per_game)
    plans = [_plan(generator, evaluator.net.info, size) for _ in range(n_games)]
    seeds = generator.integers(2**31, size=n_games)
    games = [QuickGame(plan, size, size, int(one)) for plan, one in zip(plans, seeds, strict=True)]
    due = generator.integers(MOVES_BETWEEN, size=n_games)
    while running := [i for i, game in enumerate(games) if not game.is_over]:
        positions = [games[i].position for i in running]
        for i, position in zip(running, positions, strict=True):
            if position.ply % MOVES_BETWEEN == due[i]:
                yield position.copy()
        for i, (policy, lead) in zip(running, _judge(evaluator, positions), strict=True):
            games[i].advance(policy, lead)


def _plan(generator: np.random.Generator, info: NetInfo, size: int) -> GamePlan:
    """Draw a game that the net was made for."""
    plan = draw_plan(generator, size, size)
    rules = plan.rules
    if info.rules != "any":
        rules = replace(Rules() if info.rules == "area" else _preset(info.rules), komi=rules.komi)
    low = -np.inf if info.komi_min is None else info.komi_min
    high = np.inf if info.komi_max is None else info.komi_max
    fair = plan.fair_komi and low == -np.inf and high == np.inf
    rules = replace(rules, komi=float(np.clip(rules.komi, low, high)))
    encores = plan.encores and rules.scoring == Scoring.TERRITORY
    return replace(plan, rules=rules, encores=encores, fair_komi=fair)


def _preset(name: str) -> Rules:
    try:
        return Rules.parse(name)
    except ValueError:
        return Rules()


def _judge(
    evaluator: NetEvaluator, positions: Sequence[Position]
) -> Iterator[tuple[NDArray[np.float32], float]]:
    """Yield the policy [A + 1] and the lead of each position, for the side to move."""
    for batch in _encoded(evaluator, positions, np.zeros(len(positions), np.int64)):
        evaluator.evaluate(batch, len(batch.features), use_cache=False)
        height, width = batch.spatial.shape[2:]
        actions = point_table(width, height)[0]
        for slot in range(len(batch.features)):
            policy = prior_by_action(batch, slot, actions, width * height)
            yield np.nan_to_num(policy, nan=0.0), float(batch.lead[slot])


def _slots(width: int, height: int) -> int:
    """Return how many positions make a batch."""
    return max(1, BATCH_POINTS // (width * height))


def _encoded(
    evaluator: NetEvaluator, positions: Sequence[Position], symmetries: NDArray[np.int64]
) -> Iterator[EvalBatch]:
    """Yield the positions, which share one size, in batches; each under its symmetry."""
    if not positions:
        return
    slots = _slots(positions[0].width, positions[0].height)
    for start in range(0, len(positions), slots):
        part = slice(start, start + slots)
        yield encode_positions(evaluator, positions[part], symmetries[part].tolist())
