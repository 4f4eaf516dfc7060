"""Quick self-play: games whose moves are drawn from a policy, with a teacher's label a position.

Games vary more than good play would, because a search asks a net about bad positions too: random
openings, random moves now and then, odd komi, all rules, passes in the middle of the game, and
games played on after everything is settled.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gtp_engine.coords import PASS, WHITE, action_to_point
from gtp_engine.go.position import Position
from gtp_engine.go.rules import HandicapBonus, Ko, Rules, Scoring, Tax, default_komi
from gtp_export.labelling.samples import Samples, join_samples
from gtp_export.labelling.searching_teacher import SearchingTeacher
from gtp_export.labelling.teacher import Teacher

MAX_MOVES_PER_POINT = 2.0
"""Games are broken off after this many moves a point of the board."""
LATE_PASS_PROBABILITY = 0.97
"""A reluctant player passes only when the policy is this sure."""
FAIR_KOMI_SPREAD = 2.0
"""Standard deviation, in points, of a komi fitted to the teacher's opinion of the opening."""
MAX_FAIR_KOMI = 90.0
"""Points; a fitted komi is never further from 0."""
POSITIONS_AHEAD = 4
"""Of those that a player looks at before it moves, so many are labelled too."""


@dataclass(frozen=True)
class GamePlan:
    """How one game of self-play is to go."""

    rules: Rules
    encores: bool
    """Whether a territory game is played on into its encores."""
    random_opening: int
    """Moves played uniformly at random before the first label."""
    fair_komi: bool
    """Whether the komi is fitted after the opening, so that either side may win."""
    early_temperature: float
    """Exponent 1 / temperature on the policy in the first sixth of the game's points."""
    late_temperature: float
    random_rate: float
    """Chance a move that it is drawn uniformly instead."""
    pass_rate: float
    """Chance a move that it is a pass, whatever the policy says."""
    reluctant_to_pass: bool


def draw_plan(generator: np.random.Generator, width: int, height: int) -> GamePlan:
    """Draw a game's rules, komi and habits."""
    area = width * height
    opening = int(generator.geometric(min(1.0, 20 / area))) if generator.random() < 0.5 else 0
    rules = replace(draw_rules(generator), komi=draw_komi(generator, width, height))
    return GamePlan(
        rules=rules,
        encores=rules.scoring == Scoring.TERRITORY and bool(generator.random() < 0.5),
        random_opening=min(opening, area // 3),
        fair_komi=bool(generator.random() < 0.5),
        early_temperature=float(generator.uniform(0.8, 1.4)),
        late_temperature=float(generator.uniform(0.3, 1.0)),
        random_rate=float(generator.choice([0.0, 0.02, 0.08, 0.25], p=[0.4, 0.3, 0.2, 0.1])),
        pass_rate=float(generator.choice([0.0, 0.01], p=[0.7, 0.3])),
        reluctant_to_pass=bool(generator.random() < 0.25),
    )


def draw_rules(generator: np.random.Generator) -> Rules:
    """Draw rules: mostly the everyday ones, sometimes any combination; the komi is left alone."""
    if generator.random() < 0.55:
        ko = Ko.POSITIONAL if generator.random() < 0.7 else Ko.SIMPLE
        return Rules(ko=ko)
    if generator.random() < 0.3:
        return Rules.parse("japanese")
    territory = generator.random() < 0.35
    return Rules(
        ko=Ko(int(generator.integers(3))),
        scoring=Scoring.TERRITORY if territory else Scoring.AREA,
        tax=Tax(int(generator.choice(3, p=[0.6, 0.2, 0.2]))),
        multi_stone_suicide=bool(generator.random() < 0.5),
        button=not territory and bool(generator.random() < 0.2),
        handicap_bonus=HandicapBonus(int(generator.integers(3))),
        friendly_pass_ok=bool(generator.random() < 0.5),
    )


def draw_komi(generator: np.random.Generator, width: int, height: int) -> float:
    """Draw a komi in half points: a customary one, one near it, or a wild one."""
    kind = generator.random()
    if kind < 0.5:
        return float(generator.choice([5.5, 6.5, 7.0, 7.5]))
    spread = 2.0 if kind < 0.85 else 0.8 * (width * height) ** 0.5
    return _half_points(default_komi(width, height) + generator.normal(0.0, spread))


def _half_points(points: float) -> float:
    return float(np.round(2.0 * points) / 2.0)


class QuickGame:
    """A game under way."""

    def __init__(self, plan: GamePlan, width: int, height: int, seed: int) -> None:
        """Begin a game and play its random opening."""
        self.plan = plan
        self.position = Position(width, height, plan.rules, encores=plan.encores)
        self._generator = np.random.Generator(np.random.PCG64(seed))
        self._komi_is_due = plan.fair_komi
        for _ in range(plan.random_opening):
            self._play(self._random_move(with_pass=False))

    @property
    def is_over(self) -> bool:
        """Whether the game has ended or gone on for too long."""
        limit = MAX_MOVES_PER_POINT * self.position.area
        return self.position.is_over or self.position.ply >= limit

    def advance(self, policy: NDArray[np.float32], lead: float) -> None:
        """Make a move, or first a fair komi, given what the teacher says to the mover.

        Args:
            policy: [A + 1] over legal moves, pass last.
            lead: Points by which the mover leads.
        """
        position = self.position
        if self._komi_is_due:
            self._komi_is_due = False
            white_lead = lead if position.to_play == WHITE else -lead
            fair = position.komi - white_lead + self._generator.normal(0.0, FAIR_KOMI_SPREAD)
            position.komi = _half_points(max(-MAX_FAIR_KOMI, min(MAX_FAIR_KOMI, fair)))
            return
        self._play(self._choose(policy))

    def _choose(self, policy: NDArray[np.float32]) -> int:
        plan, position = self.plan, self.position
        draw = self._generator.random()
        if draw < plan.pass_rate:
            return PASS
        if draw < plan.pass_rate + plan.random_rate:
            return self._random_move(with_pass=True)
        early = position.ply < plan.random_opening + position.area / 6
        temperature = plan.early_temperature if early else plan.late_temperature
        chances = policy.astype(np.float64)
        if plan.reluctant_to_pass and policy[-1] < LATE_PASS_PROBABILITY and policy[:-1].any():
            chances[-1] = 0.0
        # Scaled to a maximum of 1, so that low temperatures do not underflow.
        chances = (chances / chances.max()) ** (1.0 / temperature)
        action = int(self._generator.choice(len(chances), p=chances / chances.sum()))
        return action_to_point(action, position.width, position.height)

    def _random_move(self, with_pass: bool) -> int:
        moves = self.position.legal_moves()
        count = len(moves) if with_pass or len(moves) == 1 else len(moves) - 1
        return moves[int(self._generator.integers(count))]

    def _play(self, point: int) -> None:
        self.position.play(self.position.to_play, point)


def play_games(
    teacher: Teacher,
    plans: Sequence[GamePlan],
    width: int,
    height: int,
    seed: int,
    player: Teacher | None = None,
) -> Samples:
    """Play games side by side to their ends and return every position the teacher was asked about.

    Args:
        seed: Makes the games; the same seed and nets give the same samples.
        player: Whose policy, or shares of visits, the moves are drawn from; the teacher's if None.
            If it searches, positions of its searches are labelled too.
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    games = [QuickGame(plan, width, height, seed + i) for i, plan in enumerate(plans)]
    parts: list[Samples] = []
    while True:
        running = [game for game in games if not game.is_over]
        if not running:
            return join_samples(parts)
        positions = [game.position for game in running]
        labels = teacher.label(positions)
        parts.append(labels.samples())
        policies = labels.policy if player is None else player.label(positions).policy
        if isinstance(player, SearchingTeacher):
            ahead = player.draw_ahead(positions, POSITIONS_AHEAD, generator)
            if ahead:
                parts.append(teacher.label(ahead).samples())
        for game, policy, score in zip(running, policies, labels.score, strict=True):
            game.advance(policy, float(score[-1]))
