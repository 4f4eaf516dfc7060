"""Shards: finished games of self-play with what the searches said, in files that never change.

    bytes 0-7    the magic number
    bytes 8-11   length of the header, little endian
    header       JSON: what the catalogue wants to know, and the list of the columns
    rest         zlib of the columns in that order, each an array of numpy's little-endian type

A shard is named by the hash of its content, so that a copy is told from another shard and damage
from both; it holds games of one game and board size that one process played, by one or more nets.
"""

import errno
import json
import os
import time
import zlib
from collections.abc import Collection, Container, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gtp_engine.coords import EMPTY, opponent
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.files import read_file, write_whole
from gtp_engine.go.game_record import GameRecord
from gtp_engine.go.rules import ATARI_GO
from gtp_engine.version import __version__
from gtp_export.records.games import UNKNOWN_WINNER, GameCollector, Games
from gtp_export.records.pack_file import (
    DAMAGE,
    KINDS,
    columns_in,
    columns_of,
    games_of,
    listed,
)
from gtp_export.zero.settings import content_name

FORMAT = 2
SUFFIX = ".shard"
MAGIC = b"gtpzero\x01"
MOST_BYTES = 256 << 20
"""Of a shard, packed and unpacked."""
NO_SEARCH, FAST, FULL = 0, 1, 2
"""Kinds of moves: not searched, searched only to choose a move, searched to learn its policy."""
REASONS = ("passes", "resigned", "length", "capture", "five", "draw", "void")
"""How a game ended: by two passes, resigned, broken off and counted as it stood, by a capture in
Atari Go, by a five in a row or without one, and without a result."""
COUNTED = ("passes", "length")
"""The reasons with a count of points."""
SHARE_UNIT = 65535
"""Policies are kept in parts of this."""


class ShardError(NetFileError):
    """A shard that cannot be used; the message names it."""


class UnreadableShardError(ShardError):
    """A file that could not be read just now, as happens on a network drive."""


class Searched(NamedTuple):
    """What a search said of a position, for the player to move."""

    kind: int
    """FAST or FULL."""
    value: float
    """Mean win-loss value of the root, -1 to 1."""
    actions: NDArray[np.int16]
    """[n] the moves that the target names; none of a fast search, from which nobody learns."""
    shares: NDArray[np.float64]
    """[n] the target; sums to 1 if there is one."""


@dataclass(frozen=True)
class LearnedGame:
    """A finished game of a worker, to be learned from."""

    record: GameRecord
    """With rules, komi, moves and result; `dead` is empty where the last board was counted, None
    where it was not."""
    searched: tuple[Searched | None, ...]
    """By move; None where none was asked."""
    net: str
    """Who played its last move; the hash that names the net, empty before there is one."""
    reason: str
    """One of REASONS."""
    begun: int = 0
    """Moves that it took over from an earlier game."""
    may_resign: bool = False
    given_up: int = EMPTY
    """Who resigned, or would have if the players might."""


class GameResult(NamedTuple):
    """How a game of a shard ended; a row of its header."""

    komi: float
    winner: int
    """A color, EMPTY for a draw, UNKNOWN_WINNER."""
    points: float | None
    """By which Black won; None where the game was not counted."""
    moves: int
    reason: str
    """One of REASONS."""
    given_up: int
    """Who resigned, or would have if the players might; EMPTY for nobody."""
    may_resign: bool


@dataclass(frozen=True)
class Header:
    """What a shard says of itself: all that a catalogue keeps."""

    game: str
    width: int
    height: int
    engine: str
    """The version that played."""
    nets: dict[str, int]
    """Games by the net that ended them; "" before there is one."""
    made: float
    """Seconds since 1970, as the machine's clock had it."""
    core_seconds: float
    """Processor time that the games took."""
    evaluations: int
    """Positions that the net was asked about."""
    games: int
    moves: int
    positions: int
    """Moves with a full search."""
    results: list[GameResult]
    format: int = FORMAT

    @property
    def resigning(self) -> tuple[int, int]:
        """In how many games somebody would have resigned but might not, and in how many wrongly."""
        tested = [one for one in self.results if one.given_up != EMPTY and not one.may_resign]
        wrong = (one.winner not in (UNKNOWN_WINNER, opponent(one.given_up)) for one in tested)
        return len(tested), sum(wrong)


@dataclass(frozen=True)
class Shard:
    """N games with M moves in all, P of whose moves are named by policies."""

    header: Header
    games: Games
    begun: NDArray[np.uint16]
    """[N] moves taken over from an earlier game."""
    kind: NDArray[np.uint8]
    """[M] NO_SEARCH, FAST or FULL."""
    value: NDArray[np.float16]
    """[M] mean win-loss value of the root for the mover; 0 without a search."""
    policy_starts: NDArray[np.int64]
    """[M + 1] into actions and shares; nothing where there was no full search."""
    actions: NDArray[np.int16]
    """[P]"""
    shares: NDArray[np.uint16]
    """[P] parts of SHARE_UNIT."""


_KINDS = {
    **KINDS,
    **dict.fromkeys(("begun", "policy_count", "shares"), "<u2"),
    "kind": "|u1",
    "value": "<f2",
    "actions": "<i2",
}


def new_shards(folder: Path, known: Container[str]) -> list[Path]:
    """Return the shards of a folder whose hashes are not known, oldest first.

    There may be many thousands, and they are looked for every second.
    """
    names = (name for name in os.listdir(folder) if name.endswith(SUFFIX))
    unknown = [folder / name for name in names if name.removesuffix(SUFFIX) not in known]
    return sorted(unknown, key=age)


def age(path: Path) -> tuple[int, str]:
    """Return what orders files by age: a clock that jumps mixes them up a little, that is all.

    A file that cannot be looked at, such as a link to a drive that is away, counts as old.
    """
    try:
        return path.stat().st_mtime_ns, path.name
    except OSError:
        return 0, path.name


def store_shard(folder: Path, content: bytes) -> Path:
    """Write a shard's content under its name; return its file.

    Raises:
        OSError: It cannot be written; nothing is left behind.
    """
    path = folder / (content_name(content) + SUFFIX)
    write_whole(path, content)
    return path


def write_shard(
    folder: Path,
    game: str,
    games: Sequence[LearnedGame],
    *,
    core_seconds: float = 0.0,
    evaluations: int = 0,
) -> Path:
    """Write games of one board size as a shard; return its file.

    Args:
        games: At least one.

    Raises:
        OSError: It cannot be written; nothing is left behind.
    """
    collector = GameCollector()
    for one in games:
        collector.add(one.record)
    table = collector.games()
    searched = [move for one in games for move in one.searched]
    found = [move for move in searched if move is not None]
    columns = columns_of(table)
    columns["begun"] = np.array([one.begun for one in games], "<u2")
    columns["kind"] = np.array([NO_SEARCH if s is None else s.kind for s in searched], "|u1")
    columns["value"] = np.array([0.0 if s is None else s.value for s in searched], "<f2")
    columns["policy_count"] = np.array(
        [0 if s is None else len(s.actions) for s in searched], "<u2"
    )
    columns["actions"] = np.concatenate([np.zeros(0), *(s.actions for s in found)]).astype("<i2")
    shares = np.concatenate([np.zeros(0), *(s.shares for s in found)])
    columns["shares"] = np.rint(shares * SHARE_UNIT).astype("<u2")
    nets = [one.net for one in games]
    header = Header(
        game=game,
        width=games[0].record.width,
        height=games[0].record.height,
        engine=__version__,
        nets={net: nets.count(net) for net in dict.fromkeys(nets)},
        made=round(time.time(), 1),
        core_seconds=round(core_seconds, 3),
        evaluations=evaluations,
        games=len(games),
        moves=len(searched),
        positions=sum(move.kind == FULL for move in found),
        results=[_result(one) for one in games],
    )
    rules = [one.to_kata() for one in table.rules]
    described = {"rules": rules, "sources": table.sources, "columns": listed(columns)}
    text = json.dumps(asdict(header) | described).encode()
    packed = zlib.compress(b"".join(array.tobytes() for array in columns.values()))
    return store_shard(folder, MAGIC + len(text).to_bytes(4, "little") + text + packed)


def _result(game: LearnedGame) -> GameResult:
    record = game.record
    assert record.komi is not None  # as `LearnedGame` says
    winner = UNKNOWN_WINNER if record.winner is None else record.winner
    return GameResult(
        *(record.komi, winner, record.score_black if game.reason in COUNTED else None),
        *(len(record.moves), game.reason),
        *(game.given_up, game.may_resign),
    )


def read_header(path: Path) -> Header:
    """Return what a shard says of itself.

    Raises:
        ShardError: It is no shard, damaged, or of another version, or cannot be read now.
    """
    return _unpacked(path)[0]


def read_shard(path: Path, wanted: Collection[tuple[str, int, int]] = ()) -> Shard:
    """Read what `write_shard` wrote.

    Args:
        wanted: Games, widths and heights, of which it must be one; without, any will do.

    Raises:
        ShardError: It is no shard, damaged, or of another version, game or size.
    """
    header, described, packed = _unpacked(path)
    if wanted:
        check_board(path, header, wanted)
    try:
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(packed, MOST_BYTES)
        columns = columns_in(data, 0, described, _KINDS)
        # Kernels are compiled for writable arrays of the machine's own byte order.
        own = {
            name: np.array(a, a.dtype.newbyteorder("="))
            for name, a in columns.items()
            if name not in KINDS
        }
        counts = own.pop("policy_count").astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        games = games_of(described, columns)
        if header.game == ATARI_GO:
            rules = tuple(replace(one, must_move=True) for one in games.rules)
            games = replace(games, rules=rules)
        shard = Shard(header=header, games=games, policy_starts=starts, **own)
        _check(shard)
        return shard
    except (*DAMAGE, zlib.error) as error:
        raise ShardError(f"{path}: is damaged: {error}") from None


def check_board(path: Path, header: Header, wanted: Collection[tuple[str, int, int]]) -> None:
    """Make sure that a shard is of one of these games and boards.

    Raises:
        ShardError: It is not.
    """
    found = header.game, header.width, header.height
    if found not in wanted:
        name, *names = ["{} on {}x{}".format(*one) for one in (found, *wanted)]
        raise ShardError(f"{path}: is a shard of {name}, not of {' or '.join(names)}")


def _unpacked(path: Path) -> tuple[Header, dict[str, Any], bytes]:
    """Return a shard's header, what it says of the columns, and the columns as they are packed."""
    try:
        content = read_file(path, MOST_BYTES)
    except OSError as error:
        is_no_shard = error.errno in (errno.EFBIG, errno.EINVAL)
        kind = ShardError if is_no_shard else UnreadableShardError
        raise kind(f"{path}: {error.strerror}") from None
    if not content.startswith(MAGIC):
        raise ShardError(f"{path}: is no shard of games")
    if path.stem != content_name(content):
        raise ShardError(f"{path}: is damaged: its content is not what its name says")
    start = len(MAGIC) + 4
    end = start + int.from_bytes(content[start - 4 : start], "little")
    try:
        described = json.loads(content[start:end])
        version, engine = described["format"], described["engine"]
        header = None
        if version == FORMAT:
            told = {name: described[name] for name in Header.__dataclass_fields__}
            results = [GameResult(*row) for row in told["results"]]
            header = Header(**told | {"results": results})
    except DAMAGE as error:
        raise ShardError(f"{path}: is damaged: {error}") from None
    if header is None:
        raise ShardError(f"{path}: was written by another version, {engine}")
    return header, described, content[end:]


def _check(shard: Shard) -> None:
    """Make sure that kernels, which check nothing, can follow every number of a shard.

    Raises:
        ValueError: They cannot.
    """
    table, header = shard.games.table, shard.header
    n_moves, n_named = len(table.moves), len(shard.actions)
    lengths = {len(shard.kind), len(shard.value)}
    fits = (
        lengths == {n_moves}
        and len(shard.policy_starts) == n_moves + 1
        and shard.policy_starts[-1] == n_named == len(shard.shares)
        and len(shard.begun) == len(shard.games) == header.games
        and bool((table.width == header.width).all() and (table.height == header.height).all())
        and bool(((shard.actions >= 0) & (shard.actions <= header.width * header.height)).all())
        and bool(np.isfinite(shard.value).all())
    )
    if not fits:
        raise ValueError("its columns do not fit together")
