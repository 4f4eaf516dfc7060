"""What is hanging: chains that can be captured or saved, how, and by which moves.

`attack` and `defend` answer for one chain, `threats` for a whole board. They read with
`reading.py` and say how an attack works.
"""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum, StrEnum

import numpy as np

from gtp_engine.coords import BLACK, EMPTY, PASS, WHITE, opponent, row_col
from gtp_engine.go.board import BoardRecord, count_liberties, is_own_eye, neighbors, place_stone
from gtp_engine.go.history import ko_ban
from gtp_engine.go.position import Move, Position
from gtp_engine.go.reading import MET_KO, OUT, Memory, follow, new_memory, search
from gtp_engine.go.regions import Chain, RegionMap, map_regions

NODE_BUDGET = 100_000
"""Positions that one search of a question looks at; a question takes up to nine, below a second."""

SCAN_BUDGET = 1_800
"""Positions looked at for one chain when all chains of a board are read."""


class Verdict(IntEnum):
    """How a reading ends for the side that moves first; the numbers are GNU Go's."""

    FAILS = 0
    WORKS = 1
    KO = 2
    """It hangs on a ko that the other side must find the first threat for."""
    KO_THREAT = 3
    """It hangs on a ko for which this side must find the first threat."""
    UNSETTLED = 4
    """Not settled within the budget."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What came of reading one chain."""

    verdict: Verdict
    line: tuple[Move, ...] = ()
    """Both sides' moves from the first on; empty where it fails. A pass is a move elsewhere."""

    @property
    def move(self) -> int:
        """The first move; PASS where there is none, or none is needed."""
        return self.line[0].point if self.line else PASS

    @property
    def works(self) -> bool:
        """Whether it works, be it by a ko."""
        return self.verdict in (Verdict.WORKS, Verdict.KO, Verdict.KO_THREAT)


def attack(position: Position, chain: int, budget: int = NODE_BUDGET) -> Reading:
    """Read out whether the chain at a stone is captured if the other side moves first.

    Raises:
        ValueError: There is no stone.
    """
    return _read(position, chain, opponent(_color_of(position, chain)), budget)


def defend(position: Position, chain: int) -> Reading:
    """Read out whether the chain at a stone is safe if its own side moves first.

    Where every move nearby harms it, as in a seki, it is safe if it cannot be attacked: its side
    plays elsewhere.

    Raises:
        ValueError: There is no stone.
    """
    found = _read(position, chain, _color_of(position, chain), NODE_BUDGET)
    if found.verdict is Verdict.WORKS:
        return found
    is_safe = attack(position, chain).verdict is Verdict.FAILS
    return Reading(Verdict.WORKS) if is_safe else found


def _color_of(position: Position, chain: int) -> int:
    color = position.color_at(chain)
    if color not in (BLACK, WHITE):  # a point off the board is a wall
        raise ValueError("there is no stone")
    return color


_local = threading.local()


def _memory() -> Memory:
    """Return this thread's memory."""
    if not hasattr(_local, "memory"):
        _local.memory = new_memory()
    memory: Memory = _local.memory
    return memory


def _read(position: Position, chain: int, first: int, budget: int) -> Reading:
    """Read with the ko going ever more in favor of the side that moves first."""
    memory = _memory()
    color = position.color_at(chain)
    budget = min(budget, len(memory.nodes) // 2)
    line = np.empty(64, np.int16)
    wanted = int(first != color)
    is_settled = True
    for verdict, ko_master in (
        (Verdict.WORKS, opponent(first)),
        (Verdict.KO, EMPTY),
        (Verdict.KO_THREAT, first),
    ):
        memory.counts[MET_KO] = 0
        for tiers, share in ((1, 4), (2, 2), (3, 1)):
            memory.board[0] = position.board
            memory.board[0]["ko_point"] = ko_ban(position.board, position.turn, first)
            result = search(memory, chain, first, ko_master, tiers, budget // share)
            if result == 1:
                break
        if result == wanted:
            n = follow(memory, chain, first, line)
            colors = (first, opponent(first))
            moves = tuple(Move(colors[i % 2], int(line[i])) for i in range(n))
            return Reading(verdict, moves)
        is_settled &= result >= 0
        if not memory.counts[MET_KO]:
            break
    return Reading(Verdict.FAILS if is_settled else Verdict.UNSETTLED)


# How an attack works ----------------------------------------------------------------------------


class Kind(StrEnum):
    """What a move does."""

    CAPTURE = "capture"
    """Takes a chain in atari."""
    LADDER = "ladder"
    """Gives atari after atari."""
    NET = "net"
    """Leaves the chain liberties and no way out."""
    SNAPBACK = "snapback"
    """Offers stones; what takes them is taken."""
    CONNECT_AND_DIE = "connect and die"
    """Gives an atari; the chain that connects is in atari still."""
    CHASE = "chase"
    """Captures in some other way."""
    SAVE = "save"
    """Gets an own chain out of danger."""
    DOUBLE_ATARI = "double atari"
    """Puts two chains or more in atari."""
    NAKADE = "nakade"
    """Takes the point that makes two eyes of one."""


NO_ATTACK = (Kind.SAVE, Kind.DOUBLE_ATARI, Kind.NAKADE)
"""What captures nothing by itself."""

_WAYS = {
    Kind.LADDER: " in a ladder",
    Kind.NET: " in a net",
    Kind.SNAPBACK: " by a snapback",
    Kind.CONNECT_AND_DIE: ", for connecting does not help",
}
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True, slots=True)
class Tactic:
    """A move that captures, saves or threatens stones."""

    kind: Kind
    color: int
    """Who plays it."""
    chain: tuple[int, ...]
    """The stones that it is about, in reading order."""
    line: tuple[Move, ...]
    """Both sides' moves as read, from this one on."""
    verdict: Verdict = Verdict.WORKS

    @property
    def move(self) -> int:
        """The move."""
        return self.line[0].point

    @property
    def text(self) -> str:
        """What it does in a few words: "captures three stones in a ladder"."""
        n = len(self.chain)
        stones = f"{_NUMBERS[n] if n < len(_NUMBERS) else n} stone{'s' if n > 1 else ''}"
        match self.kind:
            case Kind.SAVE:
                text = f"saves {stones}"
            case Kind.DOUBLE_ATARI:
                text = f"gives a double atari on {stones}"
            case Kind.NAKADE:
                text = f"takes the vital point of the eye of {stones}"
            case _:
                text = f"captures {stones}{_WAYS.get(self.kind, '')}"
        return text if self.verdict is Verdict.WORKS else f"{text}, by a ko"


def kind_of_attack(position: Position, chain: int, line: tuple[Move, ...]) -> Kind:
    """Say how the line of an attack on the chain at a stone works."""
    board = position.board.copy()
    color = int(board["color"][chain])
    before = int(count_liberties(board, chain, OUT))
    first = line[0]
    if before == 1:
        return Kind.CAPTURE if first.point == _last_liberty(board, chain) else Kind.CHASE
    behind = _points_behind(board, chain)
    place_stone(board, first.point, first.color)
    if board["color"][chain] == color and count_liberties(board, first.point, 2) == 1:
        bait = board.copy()
        place_stone(bait, _last_liberty(bait, first.point), color)
        is_taken = bait["color"][first.point] != first.color
        if is_taken and bait["color"][chain] == color and count_liberties(bait, chain, 2) == 1:
            return Kind.SNAPBACK
    if count_liberties(board, chain, 2) == 1 and before == 2:
        size = _size(board, chain)
        extended = board.copy()
        out = _last_liberty(extended, chain)
        place_stone(extended, out, color)
        in_atari = extended["color"][chain] == color and count_liberties(extended, chain, 2) == 1
        if in_atari and _size(extended, chain) > size + 1:
            return Kind.CONNECT_AND_DIE
    if _is_all_atari(position.board.copy(), chain, line):
        return Kind.LADDER
    return Kind.NET if first.point in behind else Kind.CHASE


def _is_all_atari(board: BoardRecord, chain: int, line: tuple[Move, ...]) -> bool:
    """Whether each move of the attack leaves the chain one liberty or none. The board is used."""
    color = board["color"][chain]
    for move in line:
        if move.point != PASS:
            place_stone(board, move.point, move.color)
        if board["color"][chain] != color:
            break
        if move.color != color and count_liberties(board, chain, 2) != 1:
            return False
    return True


def _size(board: BoardRecord, point: int) -> int:
    return int(board["size"][board["head"][point]])


def _stones_beside(board: BoardRecord, point: int, color: int) -> set[int]:
    """Return the stones of the chains of a color that touch a point."""
    found: set[int] = set()
    for near in map(int, neighbors(board, point)):
        if board["color"][near] == color:
            found |= _stones_of(board, near)
    return found


def _stones_of(board: BoardRecord, point: int) -> set[int]:
    """Return the stones of the chain at a stone."""
    found: set[int] = set()
    while point not in found:
        found.add(point)
        point = int(board["next"][point])
    return found


def _points_behind(board: BoardRecord, chain: int) -> set[int]:
    """Return the empty points beside the liberties of a chain that are no liberties themselves."""
    liberties = _empty_beside(board, _stones_of(board, chain))
    return _empty_beside(board, liberties) - liberties


def _empty_beside(board: BoardRecord, points: set[int]) -> set[int]:
    near = {int(q) for point in points for q in neighbors(board, point)}
    return {point for point in near if board["color"][point] == EMPTY}


def _last_liberty(board: BoardRecord, point: int) -> int:
    """Return the only liberty of the chain at a stone."""
    return _empty_beside(board, _stones_of(board, point)).pop()


# Whole boards -----------------------------------------------------------------------------------


def threats(position: Position, color: int | None = None) -> list[Tactic]:
    """Return what a player can do to chains at once, or either player if they were to move.

    Captures of chains that can be captured come first, those of more stones before those of fewer;
    then what saves such chains, double ataris and vital points.

    Args:
        position: The position; whose turn it is does not matter.
        color: Who is to move; both players, one after the other, when None.
    """
    shown = map_regions(position)
    found: list[Tactic] = []
    for player in (BLACK, WHITE) if color is None else (color,):
        found += _attacks(position, shown, player)
        found += _rescues(position, shown, player)
        found += double_ataris(position, player)
        found += _vital_points(position, shown, player)
    return sorted(
        (tactic for tactic in found if position.is_legal(tactic.color, tactic.move)),
        key=lambda tactic: (_rank(tactic.kind), -len(tactic.chain)),
    )


def _rank(kind: Kind) -> int:
    return 1 + NO_ATTACK.index(kind) if kind in NO_ATTACK else 0


def _attacks(position: Position, shown: RegionMap, player: int) -> Iterator[Tactic]:
    for chain in shown.chains:
        if chain.color != player and len(chain.liberties) < OUT:
            found = attack(position, chain.stones[0], SCAN_BUDGET)
            if found.works:
                kind = kind_of_attack(position, chain.stones[0], found.line)
                yield Tactic(kind, player, chain.stones, found.line, found.verdict)


def _rescues(position: Position, shown: RegionMap, player: int) -> Iterator[Tactic]:
    for chain in shown.chains:
        stone = chain.stones[0]
        if chain.color == player and attack(position, stone, SCAN_BUDGET).works:
            found = _read(position, stone, player, SCAN_BUDGET)
            if found.works and found.move != PASS:
                yield Tactic(Kind.SAVE, player, chain.stones, found.line, found.verdict)


def double_ataris(position: Position, player: int) -> Iterator[Tactic]:
    """Yield the moves that put two chains in atari or more and are not in atari themselves."""
    enemy = opponent(player)
    for point in position.points():
        if position.color_at(point) != EMPTY:
            continue
        beside = _stones_beside(position.board, point, enemy)
        if not beside or not position.is_legal(player, point):
            continue
        board = position.board.copy()
        place_stone(board, point, player)
        if count_liberties(board, point, 2) < 2:
            continue
        heads = {
            int(board["head"][stone])
            for stone in beside
            if board["color"][stone] == enemy and count_liberties(board, stone, 2) == 1
        }
        if len(heads) > 1:
            stones = sorted(stone for stone in beside if int(board["head"][stone]) in heads)
            yield Tactic(Kind.DOUBLE_ATARI, player, tuple(stones), (Move(player, point),))


def nakade_point(points: tuple[int, ...], stride: int) -> int:
    """Return the point of an eye space that makes two eyes of it, or one; PASS if there is none.

    Such shapes are three points, and four to six that all but one touch no more than two others.
    """
    near = {
        point: sum(point + step in points for step in (-stride, -1, 1, stride)) for point in points
    }
    shape = (len(points), *sorted(near.values(), reverse=True))
    vital = {
        (3, 2, 1, 1),
        (4, 3, 1, 1, 1),
        (5, 3, 2, 2, 2, 1),
        (5, 4, 1, 1, 1, 1),
        (6, 4, 2, 2, 2, 1, 1),
    }
    return max(points, key=lambda point: near[point]) if shape in vital else PASS


def _vital_points(position: Position, shown: RegionMap, player: int) -> Iterator[Tactic]:
    """Yield vital points of eyes that are the only one of chains with hardly a liberty outside."""
    for region in shown.regions:
        move = nakade_point(region.points, position.width + 1)
        if region.owner == EMPTY or move == PASS:
            continue
        around: list[Chain] = [
            chain
            for chain in shown.chains
            if chain.color == region.owner and set(chain.liberties) & set(region.points)
        ]
        outside = {point for chain in around for point in chain.liberties} - set(region.points)
        if all(chain.eyes == 1 for chain in around) and len(outside) < 3:
            stones = tuple(sorted(stone for chain in around for stone in chain.stones))
            yield Tactic(Kind.NAKADE, player, stones, (Move(player, move),))


def reflexes(position: Position, player: int) -> list[Tactic]:
    """Return what a player does without thinking, first things first, and never in an own eye.

    Captures the largest chain in atari; saves an own chain in atari if that gains it liberties off
    the first line; gives a double atari.
    """
    shown = map_regions(position)
    in_atari = [chain for chain in shown.chains if len(chain.liberties) == 1]
    found = []
    for chain in sorted(in_atari, key=lambda chain: (chain.color == player, -len(chain.stones))):
        move = chain.liberties[0]
        if chain.color == player:
            board = position.board.copy()
            row, col = row_col(move, position.width)
            on_edge = row in (0, position.height - 1) or col in (0, position.width - 1)
            if on_edge or not position.is_legal(player, move):
                continue
            place_stone(board, move, player)
            is_suicide = board["color"][move] == EMPTY
            if is_suicide or count_liberties(board, move, 2) < 2:
                continue
        kind = Kind.SAVE if chain.color == player else Kind.CAPTURE
        found.append(Tactic(kind, player, chain.stones, (Move(player, move),)))
    found += double_ataris(position, player)
    return [
        tactic
        for tactic in found
        if position.is_legal(player, tactic.move)
        and not is_own_eye(position.board, tactic.move, player)
    ]
