"""Positions from game records, labelled by a teacher."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gtp_engine.coords import EMPTY, PASS, point_to_action
from gtp_engine.go.game_record import GameRecord, SgfError
from gtp_engine.go.position import IllegalMoveError, Position
from gtp_engine.go.rules import Rules
from gtp_export.labelling.samples import Samples, join_samples
from gtp_export.labelling.selfplay import draw_rules
from gtp_export.labelling.teacher import Teacher

POSITIONS_PER_GAME = 4
LATE_WEIGHT = 2.0
"""How much likelier a position of the last third of a game is picked than another."""
END_RATE = 0.5
"""Share of the counted games of which the final board is picked too, which no move follows; every
other time after a pass. Most records leave the passes out."""
OTHER_RULES_RATE = 0.4
"""Share of games that are shown to the teacher under other rules than recorded."""
ASTRAY_RATE = 0.25
"""Share of positions that are led astray by random moves first, as a search would."""
MAX_ASTRAY_MOVES = 3
GAMES_AT_ONCE = 8
"""Games replayed before their positions are labelled; each position holds its whole line."""
GAMES_AT_ONCE_FOR_A_GPU = 28
"""The positions of so many nearly fill one of its batches."""


def label_records(
    teacher: Teacher,
    records: Sequence[GameRecord],
    seed: int,
    played_weight: float = 0.0,
) -> Samples | None:
    """Label a few random positions of each of some games, which share one board size.

    Half of them are from the last third of the games, and some after the last move. Games that do
    not fit the rules they are to be shown under are left out.

    Args:
        played_weight: Share of the recorded move in the policy, the rest being the teacher's,
            where it was played in just this position.

    Returns:
        The samples; None when no game is of use.
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    parts = []
    at_once = GAMES_AT_ONCE_FOR_A_GPU if teacher.net.device == "cuda" else GAMES_AT_ONCE
    for at in range(0, len(records), at_once):
        group = records[at : at + at_once]
        picked = [found for record in group for found in _pick_positions(record, generator)]
        if picked:
            labels = teacher.label([position for position, _ in picked])
            for policy, (_, played) in zip(labels.policy, picked, strict=True):
                if played is not None:
                    policy *= 1.0 - played_weight
                    policy[played] += played_weight
            parts.append(labels.samples())
    return join_samples(parts) if parts else None


def _pick_positions(
    record: GameRecord, generator: np.random.Generator
) -> Sequence[tuple[Position, int | None]]:
    """Return a few positions of a game, some of them some random moves off it.

    With each goes the action that was played there; None off the game.
    """
    rules = record.rules or Rules.parse("chinese")
    komi = rules.komi if record.komi is None else record.komi
    if generator.random() < OTHER_RULES_RATE:
        rules = draw_rules(generator)
    plies = _draw_plies(record, generator)
    picked: list[Position] = []
    try:
        for ply in plies:
            if picked:
                position = picked[-1].copy()
                position.play_all(record.moves[position.ply : ply], strict=False)
            else:
                position = record.position(int(ply) + 1, replace(rules, komi=komi))
            picked.append(position)
    except (IllegalMoveError, SgfError):
        return []
    found = []
    for position, ply in zip(picked, plies, strict=True):
        if ply == len(record.moves):
            if generator.random() < 0.5 and not position.is_over:
                position.play(position.to_play, PASS)
            color, point, played = EMPTY, PASS, None
        else:
            color, point = record.moves[int(ply)]
            played = point_to_action(point, position.width, position.height)
        off = _lead_astray(position, generator)
        if not off.is_over:
            is_on_record = color == position.to_play and off.ply == ply
            is_on_record = is_on_record and off.is_legal(color, point)  # under the rules drawn
            found.append((off, played if is_on_record else None))
    return found


def _draw_plies(record: GameRecord, generator: np.random.Generator) -> NDArray[np.int64]:
    """Return after how many moves positions are picked, [n] rising."""
    length = len(record.moves)
    if not length:
        return np.zeros(0, np.int64)
    weights = np.where(np.arange(length) >= 2 * length // 3, LATE_WEIGHT, 1.0)
    count = min(POSITIONS_PER_GAME, length)
    plies = generator.choice(length, size=count, replace=False, p=weights / weights.sum())
    if record.score_black is not None and generator.random() < END_RATE:
        plies = np.append(plies, length)
    return np.sort(plies)


def _lead_astray(position: Position, generator: np.random.Generator) -> Position:
    if generator.random() < ASTRAY_RATE:
        for _ in range(int(generator.integers(1, MAX_ASTRAY_MOVES + 1))):
            moves = position.legal_moves()
            position.play(position.to_play, moves[int(generator.integers(len(moves)))])
    return position
