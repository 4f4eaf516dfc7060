"""Counting: what the stones on the board are worth under the rules, for White minus Black.

Two ways. `white_score` counts the board as it stands, which is how a game ends that both players
have played out: under territory scoring that is exact after the encores. `agreed_score` counts
as people do at a table: the dead stones are named and come off first.
"""

import re
from collections.abc import Iterable
from typing import Protocol

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import BLACK, EMPTY, WALL, WHITE
from gtp_engine.go.board import MAX_POINTS, BoardRecord
from gtp_engine.go.history import AREA, TERRITORY, History, TurnRecord, white_komi
from gtp_engine.go.life import fill_area, mark_area, mark_independent_life
from gtp_engine.go.rules import RuleFlags, Rules, Tax
from gtp_engine.kernels import int64, kernel

TAX_NONE = int(Tax.NONE)
TAX_ALL = int(Tax.ALL)

Owners = npt.NDArray[np.uint8]


class Counted(Protocol):
    """A game that is counted."""

    @property
    def board(self) -> BoardRecord:
        """The board."""

    @property
    def turn(self) -> TurnRecord:
        """Its turn."""

    @property
    def rules(self) -> Rules:
        """The rules."""

    @property
    def is_void(self) -> bool:
        """Whether it has ended without result."""


@kernel
def find_area(
    board: BoardRecord, turn: TurnRecord, rules: RuleFlags, suicide_legal: int, area: Owners
) -> int:
    """Write whose each point is if the game ends here.

    Under territory scoring a stone counts for itself if it stood when the second encore began:
    what it costs was settled before.

    Args:
        suicide_legal: Whether pass-alive stones must hold against suicide too.
        area: [points] result.

    Returns:
        The points White pays for its living groups minus those Black pays.
    """
    if rules.scoring == AREA and rules.tax == TAX_NONE:
        mark_area(board, int64(1), int64(1), suicide_legal, area)
        return int64(0)
    keep_territories = 1 if rules.tax == TAX_NONE else 0
    keep_stones = 1 if rules.scoring == AREA else 0
    groups = mark_independent_life(board, keep_territories, keep_stones, suicide_legal, area)
    if rules.scoring == TERRITORY:
        for point in range(board["n_points"]):
            color = board["color"][point]
            counts = turn["phase"] < 2 or turn["encore_start"][point] == color
            if counts and color != WALL and area[point] == EMPTY:
                area[point] = color
    return int64(2 * groups) if rules.tax == TAX_ALL else int64(0)


@kernel
def _count_owned(board: BoardRecord, owners: Owners) -> int:
    """Return White's points minus Black's, each point counting for its owner."""
    points = 0
    for point in range(board["n_points"]):
        if owners[point] == WHITE:
            points += 1
        elif owners[point] == BLACK:
            points -= 1
    return points


@kernel
def white_board_points(
    board: BoardRecord, turn: TurnRecord, rules: RuleFlags, suicide_legal: int
) -> int:
    """Return White's points on the board minus Black's, komi and bonuses left out."""
    area = np.empty(MAX_POINTS, np.uint8)
    if rules.scoring == AREA and rules.tax == TAX_NONE and not rules.friendly_pass_ok:
        mark_agreed(board, np.zeros(MAX_POINTS, np.uint8), area)
        return _count_owned(board, area)
    tax = find_area(board, turn, rules, suicide_legal, area)
    return _count_owned(board, area) - tax


@kernel
def white_score(history: History, ply: int, rules: RuleFlags) -> float:
    """Return White's score minus Black's if the game ends at a ply, every stone left on it alive.

    Where nobody need capture dead stones, or groups are taxed, those that a pass-alive chain
    encloses for good count as dead all the same, as KataGo has it. A button that nobody has
    taken goes to the player to move.
    """
    turn = history.turns[ply]
    points = white_board_points(history.boards[ply], turn, rules, rules.multi_stone_suicide)
    return points + _unclaimed_button(turn) + white_komi(turn, rules)


@kernel
def _unclaimed_button(turn: TurnRecord) -> float:
    if not turn["has_button"]:
        return 0.0
    return 0.5 if turn["to_play"] == WHITE else -0.5


# Counting by agreement ---------------------------------------------------------------------------


@kernel
def _fill_region(colors: Owners, start: int, stride: int, visited: Owners, owners: Owners) -> None:
    """Give the empty region at a point to the only color around it, if there is just one."""
    region = np.empty(len(colors), np.int16)
    region[0] = start
    visited[start] = 1
    n = 1
    at = 0
    black = False
    white = False
    while at < n:
        point = int64(region[at])
        at += 1
        for near in (point - stride, point - 1, point + 1, point + stride):
            if colors[near] == BLACK:
                black = True
            elif colors[near] == WHITE:
                white = True
            elif colors[near] == EMPTY and not visited[near]:
                visited[near] = 1
                region[n] = near
                n += 1
    if black != white:
        for i in range(n):
            owners[region[i]] = BLACK if black else WHITE


@kernel
def mark_agreed(board: BoardRecord, dead: Owners, owners: Owners) -> None:
    """Write whose each point is once the dead stones are off.

    Args:
        dead: [points] non-zero on dead stones.
        owners: [points] result: living stones, and empty regions that touch one color only.
    """
    n_points = int64(board["n_points"])
    colors = board["color"][:n_points].copy()
    for point in range(n_points):
        if dead[point] and colors[point] != WALL:
            colors[point] = EMPTY
    owners[:n_points] = EMPTY
    visited = np.zeros(n_points, np.uint8)
    for point in range(n_points):
        if colors[point] == BLACK or colors[point] == WHITE:
            owners[point] = colors[point]
        elif colors[point] == EMPTY and not visited[point]:
            _fill_region(colors, point, int64(board["stride"]), visited, owners)


@kernel
def _agreed_tax(board: BoardRecord, dead: Owners, owners: Owners) -> int:
    """Return what White pays minus what Black pays for groups: two points each.

    A group that has fewer, as in a seki, pays these.
    """
    n_points = int64(board["n_points"])
    difference = int64(0)
    seen = np.zeros(n_points, np.uint8)
    for start in range(n_points):
        if owners[start] == EMPTY or seen[start]:
            continue
        group = np.zeros(n_points, np.uint8)
        fill_area(board, start, owners, group)
        points = 0
        for point in range(n_points):
            if group[point]:
                seen[point] = 1
                points += 1 if dead[point] or board["color"][point] == EMPTY else 0
        tax = min(points, 2)
        difference += tax if owners[start] == WHITE else -tax
    return difference


def agreed_owners(position: Counted, dead: Iterable[int]) -> Owners:
    """Return [points] whose each point is once these stones are off: BLACK, WHITE or EMPTY."""
    return _agreed(position, dead)[1]


def _agreed(position: Counted, dead: Iterable[int]) -> tuple[Owners, Owners]:
    """Return [points] 1 on dead stones, and [points] whose each point is once they are off."""
    marks = np.zeros(MAX_POINTS, np.uint8)
    marks[list(dead)] = 1
    owners = np.zeros(MAX_POINTS, np.uint8)
    mark_agreed(position.board, marks, owners)
    return marks, owners


def agreed_score(position: Counted, dead: Iterable[int] = ()) -> float:
    """Return White's score minus Black's when both agree which stones are dead.

    Everything else lives; an empty region that touches one color only belongs to it, eyes in seki
    too. Where groups are taxed each pays two points, or what it has. Dead stones of both colors
    are named by their points.
    """
    flags, turn = position.rules.flags, position.turn
    marks, owners = _agreed(position, dead)
    # By territory too, for there the bonus takes back a point for each stone ever played: what is
    # left of the area is the empty points and the prisoners.
    score = _count_owned(position.board, owners) + float(white_komi(turn, flags))
    if flags.tax == TAX_ALL:
        score -= int(_agreed_tax(position.board, marks, owners))
    return float(score + _unclaimed_button(turn))


VOID = "Void"
"""How SGF spells that a game has ended without result."""


def format_result(white_margin: float) -> str:
    """Return White's margin as SGF spells a result: "W+3.5", "B+12", "0"."""
    if white_margin == 0:
        return "0"
    return f"{'W' if white_margin > 0 else 'B'}+{abs(white_margin):g}"


def result_of(position: Counted, white_margin: float) -> str:
    """Return how a game that has ended stands in records, counted so."""
    return VOID if position.is_void else format_result(white_margin)


def resulting_margin(text: str) -> float | None:
    """Return White's score minus Black's of a recorded result such as "B+3.5"; None if not counted.

    A draw, "0" or "Draw", is 0.
    """
    result = text.strip().upper().replace(",", ".")
    if result in ("0", "DRAW", "JIGO"):
        return 0.0
    counted = re.fullmatch(r"([BW])\+([0-9]{1,3}(?:\.[0-9]*)?|\.[0-9]+)", result)
    if counted is None:
        return None
    points = float(counted[2])
    return points if counted[1] == "W" else -points
