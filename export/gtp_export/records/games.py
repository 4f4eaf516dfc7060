"""Many games as a few flat arrays, which kernels read and pack files hold.

A *code* is how a move is stored: its action (row * width + column, width * height for the pass),
plus `OUT_OF_TURN` where the player moved who was not to move.
"""

import hashlib
import logging
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gtp_engine.coords import BLACK, COLOR_LETTERS, EMPTY, WHITE, action_to_point, point_to_action
from gtp_engine.games import game_of, position_type
from gtp_engine.go.game_record import GameRecord, Setup, SgfError
from gtp_engine.go.position import Move
from gtp_engine.go.rules import Rules
from gtp_engine.messages import counted

logger = logging.getLogger(__name__)

OUT_OF_TURN = 1024
ACTION_MASK = OUT_OF_TURN - 1
UNKNOWN_WINNER = 3
"""In place of a color, where nobody knows who won or the game is void."""
MOST_SOURCES = 1000
"""Names of sources that are told apart in a file; games of all others have none. Some collections
have one for every game."""
MOST_JOINED_SOURCES = 32_767
"""The same of all files together, for which a table's column has room."""
DEFAULT_RULES = "chinese"
"""For records that name no rules."""


class GameTable(NamedTuple):
    """N games with M moves in all; ranges of the flat arrays are [starts[i], starts[i + 1])."""

    width: NDArray[np.uint8]
    """[N]"""
    height: NDArray[np.uint8]
    """[N]"""
    rules: NDArray[np.int16]
    """[N] index into `Games.rules`."""
    komi: NDArray[np.float32]
    """[N] points to White."""
    first: NDArray[np.uint8]
    """[N] who moves first."""
    winner: NDArray[np.uint8]
    """[N] a color, EMPTY for a draw, UNKNOWN_WINNER."""
    score: NDArray[np.float32]
    """[N] points by which Black won; NaN where the game was not counted."""
    settled: NDArray[np.uint8]
    """[N] whether `dead` lists the dead stones of the last board."""
    source: NDArray[np.int16]
    """[N] index into `Games.sources`."""
    starts: NDArray[np.int64]
    """[N + 1] into moves."""
    moves: NDArray[np.int16]
    """[M] codes."""
    setup_starts: NDArray[np.int64]
    """[N + 1] into setups."""
    setups: NDArray[np.int16]
    """Stones there before the first move: 2 * action, plus 1 for White's."""
    dead_starts: NDArray[np.int64]
    """[N + 1] into dead."""
    dead: NDArray[np.int16]
    """Actions."""


RANGES = {"starts": "moves", "setup_starts": "setups", "dead_starts": "dead"}
"""Array of starts to the array that it divides."""
PER_GAME = {
    "width": np.uint8,
    "height": np.uint8,
    "rules": np.int16,
    "komi": np.float32,
    "first": np.uint8,
    "winner": np.uint8,
    "score": np.float32,
    "settled": np.uint8,
    "source": np.int16,
}
"""Array with an element a game to what it holds."""


VALID_SHARE = 0.03
"""Share of the games that is not learned from, without games given for that."""
FEWEST_VALID = 30
"""About so many are not learned from where that is more, ..."""
LARGEST_VALID_SHARE = 0.2
"""... but no larger share."""
HASHED_MOVES = 50
"""By so many a game is known again: copies of it end sooner or later, with passes or without."""


def valid_share(games: int) -> float:
    """Return which share of so many games is set aside to measure on."""
    return max(VALID_SHARE, min(LARGEST_VALID_SHARE, FEWEST_VALID / max(1, games)))


@dataclass(frozen=True)
class Games:
    """A table of games with the names that its numbers stand for."""

    table: GameTable
    rules: tuple[Rules, ...]
    """Komi left at whatever it is: every game has its own."""
    sources: tuple[str, ...]
    whose: NDArray[np.uint8] | None = None
    """[N] whose moves count, EMPTY for both players'; None: both players' in all games."""

    def __len__(self) -> int:
        return len(self.table.width)

    @property
    def n_moves(self) -> int:
        """Moves of all games, passes included."""
        return len(self.table.moves)

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """Width and height of the boards that games are on, rising."""
        return sorted({*zip(self.table.width.tolist(), self.table.height.tolist(), strict=True)})

    @property
    def longest_side(self) -> int:
        """Of the boards."""
        return max(max(size) for size in self.sizes)

    def fingerprint(self) -> str:
        """Return what tells these games from others: a hash of boards, moves and whose count."""
        table = self.table
        known = hashlib.sha256()
        for array in (table.width, table.height, table.starts, table.moves, self.whose):
            known.update(b"" if array is None else array.tobytes())
        return known.hexdigest()[:16]

    def of_size(self, width: int, height: int) -> NDArray[np.int64]:
        """Return [n] which games are on boards of a size."""
        return np.flatnonzero((self.table.width == width) & (self.table.height == height))

    def on_boards(self, fits: Callable[[int, int], bool]) -> "Games":
        """Return the games on boards whose width and height fit; there may be none."""
        chosen = [self.of_size(*size) for size in self.sizes if fits(*size)]
        return self.take(np.sort(np.concatenate([np.empty(0, np.int64), *chosen])))

    def plies(self) -> NDArray[np.int64]:
        """Return [M, 2] which game each move is of, and after how many moves it came."""
        starts = self.table.starts
        games = np.repeat(np.arange(len(self)), np.diff(starts))
        return np.stack([games, np.arange(self.n_moves) - starts[games]], 1)

    def record(self, game: int) -> GameRecord:
        """Return a game as a record; names, ranks and dates are not kept."""
        table = self.table
        width, height = int(table.width[game]), int(table.height[game])
        komi = float(table.komi[game])
        score = float(table.score[game])
        rules = replace(self.rules[table.rules[game]], komi=komi)
        setups: dict[int, Setup] = {}
        stones = self._range("setup_starts", game)
        if len(stones):
            setups[0] = Setup(
                {
                    action_to_point(int(stone) >> 1, width, height): BLACK + (int(stone) & 1)
                    for stone in stones
                }
            )
        dead = [
            action_to_point(int(action), width, height)
            for action in self._range("dead_starts", game)
        ]
        return GameRecord(
            width=width,
            height=height,
            komi=komi,
            rules=rules,
            setups=setups,
            moves=list(self._moves(game, width, height)),
            result=_format_result(int(table.winner[game]), score),
            source=self.sources[table.source[game]],
            dead=tuple(dead) if table.settled[game] else None,
            kind=position_type(game_of(rules)),
        )

    def take(self, chosen: NDArray[np.int64]) -> "Games":
        """Return the games of an index [n], in that order."""
        table = self.table
        arrays = {name: getattr(table, name)[chosen] for name in PER_GAME}
        for starts_name, flat_name in RANGES.items():
            starts, flat = getattr(table, starts_name), getattr(table, flat_name)
            lengths = (starts[1:] - starts[:-1])[chosen]
            new_starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
            shift = np.repeat(starts[chosen] - new_starts[:-1], lengths)
            arrays[starts_name] = new_starts
            arrays[flat_name] = flat[np.arange(new_starts[-1]) + shift]
        whose = None if self.whose is None else self.whose[chosen]
        return replace(self, table=GameTable(**arrays), whose=whose)

    def counts(self, chosen: NDArray[np.int64], color: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return [n] whether the moves of these colors count in these games."""
        if self.whose is None:
            return np.ones(len(chosen), np.bool_)
        whose = self.whose[chosen]
        return np.asarray((whose == EMPTY) | (whose == color))

    @property
    def n_counted(self) -> int:
        """Moves that count, passes included."""
        table, (games, plies) = self.table, self.plies().T
        turned = np.cumsum(np.append(0, table.moves & OUT_OF_TURN != 0))
        changes = plies + turned[1:] - turned[table.starts[games]]  # of the color, since the first
        color = np.where(changes % 2 == 0, table.first[games], 3 - table.first[games])
        return int(self.counts(games, color).sum())

    def split(self, valid: "Games | None" = None) -> tuple["Games", "Games"]:
        """Divide the games into those to learn from and those to measure on; see `is_valid`.

        Args:
            valid: Others to measure on; games that are among these are not learned from.
        """
        if valid is None:
            is_valid = self.is_valid(valid_share(len(self)))
            return self.take(np.flatnonzero(~is_valid)), self.take(np.flatnonzero(is_valid))
        is_left_out = np.isin(self._hashes(), valid._hashes())
        if is_left_out.any():
            logger.info(
                f"{counted(int(is_left_out.sum()), 'game')} to measure on are not learned from"
            )
        return self.take(np.flatnonzero(~is_left_out)), valid

    def is_valid(self, share: float) -> NDArray[np.bool_]:
        """Return [N] which games are to measure on, about that share of them.

        A game's side depends on its first moves alone, so it never changes sides, a game that
        stands twice is on one side only, also where its end is missing, and a smaller share is part
        of a larger one.
        """
        return self._hashes() < share * 2.0**32

    def _hashes(self) -> NDArray[np.uint32]:
        """Return [N] what tells the games apart: the first moves, without passes at their end."""
        table = self.table
        starts = table.starts[:-1]
        stops = np.minimum(table.starts[1:], starts + HASHED_MOVES)
        area = table.width.astype(np.int64) * table.height
        hashes = []
        for start, stop, the_pass in zip(starts, stops, area, strict=True):
            codes = table.moves[start:stop]
            played = np.flatnonzero(codes & ACTION_MASK != the_pass)
            hashes.append(zlib.crc32(codes[: played[-1] + 1 if len(played) else 0].tobytes()))
        return np.array(hashes, np.uint32)

    def _range(self, starts: str, game: int) -> NDArray[np.int16]:
        bounds = getattr(self.table, starts)
        flat: NDArray[np.int16] = getattr(self.table, RANGES[starts])
        return flat[bounds[game] : bounds[game + 1]]

    def _moves(self, game: int, width: int, height: int) -> Iterator[Move]:
        color = int(self.table.first[game])
        for code in self._range("starts", game):
            if code & OUT_OF_TURN:
                color = 3 - color
            yield Move(color, action_to_point(int(code) & ACTION_MASK, width, height))
            color = 3 - color


def _format_result(winner: int, score: float) -> str:
    if winner == EMPTY:
        return "0"
    if winner == UNKNOWN_WINNER:
        return ""
    return f"{COLOR_LETTERS[winner]}+{'R' if np.isnan(score) else f'{abs(score):g}'}"


class GameCollector:
    """Gathers games one by one and makes a table of them."""

    def __init__(self, choose: Callable[[GameRecord], int | None] | None = None) -> None:
        """Start with no game.

        Args:
            choose: Says whose moves of a game count, EMPTY for both players'; None for nobody's,
                and the game is left out.
        """
        self._choose = choose
        self._whose: list[int] = []
        self._rows: list[tuple[float, ...]] = []
        self._flat: dict[str, list[NDArray[np.int16]]] = {name: [] for name in RANGES}
        self._rules: dict[Rules, int] = {}
        self._sources: dict[str, int] = {}

    def add(self, record: GameRecord, codes: NDArray[np.int16] | None = None) -> None:
        """Add a game.

        Args:
            record: The game; its moves are not looked at if codes are given.
            codes: [moves] its moves as codes, made by `first_of(record)` and then in turn.

        Raises:
            SgfError: It has stones set up in the middle, which a table cannot hold.
        """
        if any(number > 0 for number in record.setups):
            raise SgfError("stones are set up in the middle of the game")
        first = first_of(record)
        if codes is None:
            codes = _encode_moves(record, first)
        if self._choose is not None:
            color = self._choose(record)
            if color is None:
                return
            self._whose.append(color)
        rules = record.rules or Rules.parse(DEFAULT_RULES)
        komi = rules.komi if record.komi is None else record.komi
        score = record.score_black
        winner = UNKNOWN_WINNER if record.winner is None else record.winner
        dead = record.dead if record.dead is not None else _dead_by_territory(record)
        actions = [point_to_action(point, record.width, record.height) for point in dead or ()]
        source = record.source
        if source not in self._sources and len(self._sources) >= MOST_SOURCES:
            source = ""
        self._rows.append(
            (
                record.width,
                record.height,
                self._rules.setdefault(replace(rules, komi=0.0), len(self._rules)),
                komi,
                first,
                winner,
                np.nan if score is None else score,
                dead is not None,
                self._sources.setdefault(source, len(self._sources)),
            )
        )
        self._flat["starts"].append(codes)
        self._flat["setup_starts"].append(_encode_stones(record))
        self._flat["dead_starts"].append(np.array(actions, np.int16))

    def games(self) -> Games:
        rows = np.array(self._rows, np.float64).reshape(-1, len(PER_GAME))
        arrays = {name: rows[:, i].astype(kind) for i, (name, kind) in enumerate(PER_GAME.items())}
        for starts_name, flat_name in RANGES.items():
            parts = self._flat[starts_name]
            lengths = [len(part) for part in parts]
            arrays[starts_name] = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
            arrays[flat_name] = np.concatenate([np.zeros(0, np.int16), *parts])
        whose = None if self._choose is None else np.array(self._whose, np.uint8)
        return Games(GameTable(**arrays), tuple(self._rules), tuple(self._sources), whose)


def first_of(record: GameRecord) -> int:
    """Return who moves first in a record."""
    return record.to_play_at(0) or (WHITE if record.handicap > 1 else BLACK)


def join_games(parts: Sequence[Games]) -> Games:
    """Return the games of all parts, one after another."""
    rules = _places(one for part in parts for one in part.rules)
    names = dict.fromkeys(name for part in parts for name in part.sources)
    kept = _places(["", *names] if len(names) > MOST_JOINED_SOURCES else names)
    sources = {name: i if i < MOST_JOINED_SOURCES else kept[""] for name, i in kept.items()}
    arrays = {}
    for name in PER_GAME:
        columns = [getattr(part.table, name) for part in parts]
        if name == "rules":
            columns = [_renumber(c, p.rules, rules) for c, p in zip(columns, parts, strict=True)]
        elif name == "source":
            pairs = zip(columns, parts, strict=True)
            columns = [_renumber(c, p.sources, sources) for c, p in pairs]
        arrays[name] = np.concatenate(columns)
    for starts_name, flat_name in RANGES.items():
        lengths = [np.diff(getattr(part.table, starts_name)) for part in parts]
        total = np.cumsum(np.concatenate(lengths))
        arrays[starts_name] = np.concatenate([[0], total]).astype(np.int64)
        arrays[flat_name] = np.concatenate([getattr(part.table, flat_name) for part in parts])
    whose = None
    if any(part.whose is not None for part in parts):
        both = [np.full(len(part), EMPTY, np.uint8) for part in parts]
        given = [b if p.whose is None else p.whose for p, b in zip(parts, both, strict=True)]
        whose = np.concatenate(given)
    return Games(GameTable(**arrays), tuple(rules), tuple(kept)[:MOST_JOINED_SOURCES], whose)


def _places(names: Iterable[Any]) -> dict[Any, int]:
    return {name: i for i, name in enumerate(dict.fromkeys(names))}


def _renumber(
    column: NDArray[np.int16], names: Sequence[object], places: Mapping[Any, int]
) -> NDArray[np.int16]:
    return np.array([places[name] for name in names], np.int16)[column]


def _encode_moves(record: GameRecord, first: int) -> NDArray[np.int16]:
    codes = np.empty(len(record.moves), np.int16)
    expected = first
    for i, (color, point) in enumerate(record.moves):
        code = point_to_action(point, record.width, record.height)
        codes[i] = code if color == expected else code | OUT_OF_TURN
        expected = 3 - color
    return codes


def _encode_stones(record: GameRecord) -> NDArray[np.int16]:
    stones = [
        2 * point_to_action(point, record.width, record.height) + (color == WHITE)
        for color in (BLACK, WHITE)
        for point in record.initial_stones(color)
    ]
    return np.array(stones, np.int16)


def _dead_by_territory(record: GameRecord) -> tuple[int, ...] | None:
    """Return the stones that stand in territory marked as the other player's.

    None when the record marks no territory, or has a move that the board cannot hold.
    """
    if not record.black_territory and not record.white_territory:
        return None
    try:
        final = record.position()
    except SgfError:
        return None  # the game ends before that move
    owners = ((BLACK, record.black_territory), (WHITE, record.white_territory))
    return tuple(
        point for owner, points in owners for point in points if final.color_at(point) == 3 - owner
    )
