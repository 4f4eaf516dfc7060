"""What is left of a game: whose the points are, what two passes would count, what is still open.

An `Endgame` is made once a move, from the position and what the search expects of it, and works
out each answer when it is first asked for. Points by which somebody leads are those of the player
to move.
"""

from functools import cached_property

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import BLACK, EMPTY, WALL, WHITE, opponent, row_col
from gtp_engine.go.board import count_liberties, is_own_eye
from gtp_engine.go.history import AREA, pass_ends_phase
from gtp_engine.go.position import Position
from gtp_engine.go.regions import around, regions
from gtp_engine.go.rules import Rules
from gtp_engine.play.adjudication.chains import pass_alive
from gtp_engine.play.adjudication.explanation import SETTLED, Ownership
from gtp_engine.play.adjudication.status import FinalStatus, adjudicate

LARGEST_GAP = 4
"""Points of a neutral region between two players that may be left open."""

BORDER_GAIN = 2.0
"""Points by which closing a border must raise the count."""

SWING = 2.0
"""Points that the count changes by when a point or a stone changes its owner."""


class Endgame:
    """A position, judged as if the game were over."""

    def __init__(self, position: Position, ownership: Ownership | None) -> None:
        """Judge nothing yet.

        Args:
            position: The player that `to_play` names is to move; it must not change.
            ownership: [height, width] what is expected, 1 for Black; None when the net has no such
                head.
        """
        self.position = position
        self.ownership = ownership
        self.is_friendly = counts_dead_stones(position)
        flags = position.rules.flags
        self.ends_phase = bool(pass_ends_phase(position.history, position.ply, flags))
        """Whether a pass ends the game or its phase."""

    @cached_property
    def status(self) -> FinalStatus:
        """Which stones are dead and whose the points are."""
        return adjudicate(self.position, self.ownership)

    @cached_property
    def lead_as_it_stands(self) -> float:
        """The lead if every stone counts as alive."""
        position = self.position
        score = position.white_margin()
        return score if position.to_play == WHITE else -score

    @property
    def lead_without_dead(self) -> float:
        """The lead once the dead stones are off."""
        score = self.status.white_score
        return score if self.position.to_play == WHITE else -score

    @property
    def lead(self) -> float:
        """The lead if both players pass now."""
        return self.lead_without_dead if self.is_friendly else self.lead_as_it_stands

    @cached_property
    def lead_behind_borders(self) -> float:
        """The lead once the borders are closed, and land behind them is its expected owner's."""
        sign = 1.0 if self.position.to_play == BLACK else -1.0
        assert self.ownership is not None
        land = (p for p in self.status.dame if self.is_settled_point(p))
        width = self.position.width
        return self.lead_without_dead + sum(
            sign if self.ownership[row_col(p, width)] > 0.0 else -sign for p in land
        )

    @cached_property
    def open_points(self) -> frozenset[int]:
        """The points, empty or not, that are not somebody's beyond doubt."""
        return frozenset(p for p in self.position.points() if not self.is_settled_point(p))

    def is_settled_point(self, point: int) -> bool:
        """Whether a point is somebody's beyond doubt."""
        if self.ownership is None:
            return False
        return abs(float(self.ownership[row_col(point, self.position.width)])) >= SETTLED

    @cached_property
    def is_settled(self) -> bool:
        """Whether nothing is left to play for but neutral points.

        Every stone and every larger region is somebody's beyond doubt; what is open are small gaps
        between settled points of both players.
        """
        position, ownership = self.position, self.ownership
        if ownership is None or any(position.color_at(p) != EMPTY for p in self.open_points):
            return False
        for gap in regions(self.open_points, position.width):
            around_it = {q for p in gap for q in around(p, position.width)}.difference(gap)
            borders = {
                bool(ownership[row_col(q, position.width)] > 0)
                for q in around_it
                if position.color_at(q) != WALL
            }
            if len(gap) > LARGEST_GAP or len(borders) < 2:
                return False
        return True

    @property
    def is_won_for_sure(self) -> bool:
        """Whether two passes win, whatever becomes of the open points."""
        return self.lead > SWING * len(self.open_points)

    @property
    def is_lost_for_sure(self) -> bool:
        """Whether the count is lost, whatever becomes of open points, borders and dead stones.

        On a settled board the open points are neutral, and each is worth one to who fills it.
        """
        most = max(self.lead, self.lead_without_dead)
        if self.ownership is not None:
            most = max(most, self.lead_behind_borders)
        swing = 1.0 if self.is_friendly and self.is_settled else SWING
        return most < -swing * len(self.open_points)

    @property
    def forgets_stones(self) -> bool:
        """Whether two passes would lose a game that is won once the dead stones are captured."""
        return not self.is_friendly and self.lead <= 0 < self.lead_without_dead

    @property
    def liberties_of_dead(self) -> set[int]:
        """The points on which the enemy's dead stones can be captured sooner or later."""
        position = self.position
        return {
            near
            for point in self.status.dead
            if position.color_at(point) == opponent(position.to_play)
            for near in around(point, position.width)
            if position.color_at(near) == EMPTY and position.is_legal(position.to_play, near)
        }

    def closing_move(self) -> int | None:
        """Return the move that closes a border best where the count would leave land to nobody.

        Land counts for who surrounds it. Where a border has a gap that an answer would close,
        nobody does, and after two passes all of it would be lost. None where no move gains
        BORDER_GAIN points, and where all stones count as they stand: there the search itself sees
        the end of the game.
        """
        position, ownership, status = self.position, self.ownership, self.status
        if ownership is None or not self.is_friendly:
            return None
        sign = 1.0 if position.to_play == BLACK else -1.0
        open_land = {
            p
            for p in status.dame
            if position.color_at(p) == EMPTY
            and sign * float(ownership[row_col(p, position.width)]) >= SETTLED
        }
        if len(open_land) < BORDER_GAIN:
            return None
        gains = {}
        for p in self._gaps(open_land):
            if position.is_legal(position.to_play, p):
                after = position.copy()
                after.play(position.to_play, p)
                gains[p] = sign * (status.white_score - adjudicate(after, ownership).white_score)
        best = max(gains, key=lambda p: gains[p], default=None)
        return best if best is not None and gains[best] >= BORDER_GAIN else None

    def _gaps(self, land: set[int]) -> list[int]:
        """Return empty points in or next to some land, two steps at most from a living enemy."""
        position, status = self.position, self.status
        width = position.width
        enemy = opponent(position.to_play)
        living = [p for p in (*status.alive, *status.seki) if position.color_at(p) == enemy]
        near = {q for p in living for q in around(p, width)}
        behind = {q for p in near if position.color_at(p) == EMPTY for q in around(p, width)}
        edge = {q for p in land for q in around(p, width) if position.color_at(q) == EMPTY}
        return sorted((near | behind) & (land | edge))


# What can be said without any expectation ---------------------------------------------------------


def own_moves_cost(rules: Rules) -> bool:
    """Whether a needless move in own land costs its player a point."""
    return rules.flags.scoring != AREA


def counts_dead_stones(position: Position) -> bool:
    """Whether dead stones come off the board without being captured when both have passed."""
    rules = position.rules
    return rules.friendly_pass_ok or rules.flags.scoring != AREA


def territory_to_leave(position: Position, *, strict: bool) -> set[int]:
    """Return the points a player has no business filling: safe territory and own eyes.

    Args:
        strict: Dead stones must be captured, so territory that holds some may be entered.
    """
    color = position.to_play
    board = position.board
    secure = pass_alive(position)
    enemy_near = _points_with_enemies_in_region(position, secure, color) if strict else set()
    return {
        point
        for point in position.points()
        if position.color_at(point) == EMPTY
        and (
            (secure[point] == color and point not in enemy_near)
            or (is_own_eye(board, point, color) and not _saves_a_chain(position, point))
        )
    }


def _saves_a_chain(position: Position, point: int) -> bool:
    """Whether a stone in an own eye would save a chain that is in atari."""
    stones = [q for q in around(point, position.width) if position.color_at(q) in (BLACK, WHITE)]
    return any(count_liberties(position.board, q, 2) == 1 for q in stones)


def _points_with_enemies_in_region(
    position: Position, secure: npt.NDArray[np.uint8], color: int
) -> set[int]:
    """Return the empty points of own regions that hold enemy stones.

    Args:
        secure: [MAX_POINTS] who owns a point that nobody can contest, else EMPTY.
    """
    inside = {p for p in position.points() if secure[p] == color and position.color_at(p) != color}
    return {
        p
        for region in regions(inside, position.width)
        if any(position.color_at(q) != EMPTY for q in region)
        for p in region
        if position.color_at(p) == EMPTY
    }
