"""How well a net predicts recorded games: their moves, winners, scores and final ownership.

Positions of one game are alike, so every interval comes from drawing whole games anew.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gtp_engine.go.coords import BLACK, EMPTY, WHITE, point_to_action
from gtp_engine.go.game_record import GameRecord, SgfError
from gtp_engine.go.position import Position
from gtp_engine.go.rules import Rules
from gtp_engine.go.scoring import agreed_owners
from gtp_export.labels import Labels, Teacher
from gtp_export.packs import games_of

QUARTERS = 4
RESAMPLES = 400
TOP = 5
SMALLEST_CHANCE = 1e-9


@dataclass(frozen=True)
class Figure:
    """A mean over positions, with the middle 95 % of what other games would have given."""

    mean: float
    low: float
    high: float
    positions: int
    games: int


@dataclass(frozen=True)
class _Question:
    """A position and what the record says about it."""

    game: int
    groups: tuple[str, ...]
    position: Position
    action: int
    winner: int | None
    score_black: float | None
    owners: NDArray[np.uint8] | None
    """[H, W] final owner; None when nobody knows."""


class Tally:
    """Collects answers by figure and group of positions."""

    def __init__(self) -> None:
        """Start with nothing."""
        self._values: dict[str, list[tuple[int, float]]] = {}

    def add(self, name: str, groups: Iterable[str], game: int, value: float) -> None:
        """Note a position's value of a figure, in every group it belongs to."""
        for group in groups:
            self._values.setdefault(f"{name} {group}", []).append((game, value))

    def figures(self, generator: np.random.Generator) -> dict[str, Figure]:
        """Return every figure by name and group, as in "top1 all"."""
        return {
            name: interval_over_games(np.array(pairs), generator)
            for name, pairs in sorted(self._values.items())
        }


def interval_over_games(pairs: NDArray[np.float64], generator: np.random.Generator) -> Figure:
    """Return the mean of [N, 2] pairs of game and value, with a bootstrap interval over games."""
    games, place = np.unique(pairs[:, 0], return_inverse=True)
    sums = np.bincount(place, pairs[:, 1])
    counts = np.bincount(place).astype(np.float64)
    drawn = generator.integers(len(games), size=(RESAMPLES, len(games)))
    means = sums[drawn].sum(1) / counts[drawn].sum(1)
    low, high = np.quantile(means, (0.025, 0.975))
    mean = float(sums.sum() / counts.sum())
    return Figure(mean, float(low), float(high), len(pairs), len(games))


def evaluate_net(
    net: Path, packs: Sequence[Path], positions: int, per_game: int, seed: int
) -> dict[str, Figure]:
    """Ask a net about random positions of random games.

    Args:
        net: A net with all heads.
        packs: Files or folders of games.
        positions: How many positions, at most.
        per_game: How many of each game; fewer give narrower intervals.
        seed: Picks games and positions.

    Returns:
        Figures by name and group. Names: `top1`, `top5` (the recorded move is the net's first, or
        among its first five), `cross_entropy` (nats), `winner` (share of games whose winner it
        favours), `win_log_loss` (nats), `score_error` (points, counted games), `ownership` (share
        of points whose final owner it favours). Groups: `all`, each source of games, and for
        ownership each quarter of the game.

    Raises:
        NetFileError: The net cannot be used.
        FileNotFoundError: A file of games does not exist.
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    teacher = Teacher(net)
    records = [record for record in games_of(packs) if record.moves]
    chosen = generator.permutation(len(records))[: -(-positions // per_game)]
    tally = Tally()
    for game in chosen:
        questions = _questions(records[game], int(game), per_game, generator)
        if questions:
            labels = teacher.label([question.position for question in questions])
            for i, question in enumerate(questions):
                _judge(question, labels, i, tally)
    return tally.figures(generator)


def _questions(
    record: GameRecord, game: int, per_game: int, generator: np.random.Generator
) -> list[_Question]:
    """Return some positions of a game; none if it cannot be played over."""
    length = len(record.moves)
    count = min(per_game, length)
    rules = record.rules or Rules.parse("chinese", record.komi)
    try:
        owners = _final_owners(record, rules)
        return [
            _Question(
                game=game,
                groups=(
                    "all",
                    record.source or "unnamed",
                    f"quarter {1 + QUARTERS * ply // length}",
                ),
                position=record.position(int(ply) + 1, rules),
                action=point_to_action(record.moves[ply].point, record.width, record.height),
                winner=record.winner,
                score_black=record.score_black,
                owners=owners,
            )
            for ply in generator.choice(length, size=count, replace=False)
        ]
    except SgfError:
        return []


def _final_owners(record: GameRecord, rules: Rules) -> NDArray[np.uint8] | None:
    if record.dead is None:
        return None
    final = record.position(rules=rules)
    owners = agreed_owners(final, record.dead)[final.points()]
    return owners.reshape(record.height, record.width)


def _judge(question: _Question, labels: Labels, i: int, tally: Tally) -> None:
    """Compare a net's answer with what was played and what came of it."""
    overall = question.groups[:2]
    policy = labels.policy[i]
    rank = int((policy > policy[question.action]).sum())
    chance = max(float(policy[question.action]), SMALLEST_CHANCE)
    tally.add("top1", overall, question.game, float(rank == 0))
    tally.add("top5", overall, question.game, float(rank < TOP))
    tally.add("cross_entropy", overall, question.game, -float(np.log(chance)))
    to_play = question.position.to_play
    if question.winner in (BLACK, WHITE):
        wins = float(labels.value[i, 0] + labels.value[i, 2] / 2.0)
        right = wins if question.winner == to_play else 1.0 - wins
        tally.add("winner", overall, question.game, float(right > 0.5))
        tally.add("win_log_loss", overall, question.game, -float(np.log(max(right, 1e-6))))
    if question.score_black is not None:
        score = question.score_black if to_play == BLACK else -question.score_black
        tally.add("score_error", overall, question.game, abs(float(labels.score[i, -1]) - score))
    if question.owners is not None:
        decided = question.owners != EMPTY
        mine = question.owners[decided] == to_play
        right_points = mine == (labels.ownership[i][decided] > 0)
        groups = ("all", question.groups[2])
        tally.add("ownership", groups, question.game, float(right_points.mean()))
