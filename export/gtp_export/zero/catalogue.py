"""What a run has, in SQLite: an index of its files, which alone are the truth.

The coordinator alone writes it, a small transaction for each file; `rebuild` makes it again.
"""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gtp_engine.coords import BLACK, EMPTY, WHITE
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_export.run_settings import read_record
from gtp_export.zero.nets import NetRecord, list_nets
from gtp_export.zero.settings import RunFolder, Settings, readable_net
from gtp_export.zero.shards import (
    Header,
    ShardError,
    UnreadableShardError,
    age,
    check_board,
    new_shards,
    read_header,
)

SCHEMA = """
create table if not exists shards (id integer primary key, name text unique, games integer,
    moves integer, positions integer, evaluations integer, core_seconds real, bytes integer,
    made real, engine text);
create table if not exists games (shard integer references shards, number integer, net text,
    komi real, winner text, black_points real, moves integer, reason text);
create table if not exists resignations (shard integer references shards, games integer,
    wrong integer);
create table if not exists nets (name text primary key, steps integer, samples integer,
    positions integer, losses text, precision text, komi real, value real, lead real);
create table if not exists matches (name text primary key, net text, other text, points real,
    games integer, visits integer, komi real, promoted integer);
create table if not exists problems (file text primary key, problem text);
"""
COLUMNS = {"shards": "name", "nets": "name", "matches": "name", "problems": "file"}
"""That names the rows of a table."""
GNU_GO = "GNU Go"
"""Its name in matches."""
COLORS = {BLACK: "black", WHITE: "white", EMPTY: "draw"}


@dataclass(frozen=True)
class EmptyBoard:
    """What a net says about the empty board."""

    komi: float | None
    """None in games that have none."""
    value: float
    """Black's win-loss value at that komi, -1..1."""
    lead: float | None
    """Black's points before komi; None where the net does not say."""


@dataclass(frozen=True)
class MatchRecord:
    """What the judge found; what stands in a file of matches/."""

    net: str
    other: str
    """The best net then, or GNU_GO."""
    points: float
    """Games that the net won, half a one for each draw."""
    games: int
    visits: int
    komi: float
    promoted: bool = False


def read_match(path: Path) -> MatchRecord | None:
    """Return what a file of matches/ says; None where it is none.

    Raises:
        OSError: It cannot be read now.
    """
    try:
        return read_record(path, MatchRecord)
    except ValueError:
        return None


class Catalogue:
    """An open catalogue."""

    def __init__(self, run: RunFolder, look: Callable[[str], EmptyBoard]) -> None:
        """Open it, or make it.

        Args:
            look: Asks a net, given by name, about the empty board.

        Raises:
            NetFileError: The file is no catalogue; `zero rebuild` makes it again.
        """
        self._run = run
        self._look = look
        self._nets: dict[str, NetRecord] = {}
        self.news: list[str] = []
        """What was found wrong with files, for whoever empties it."""
        self._put_off_for: set[str] = set()
        """Why files could not be read that may be soon."""
        try:
            self._db = sqlite3.connect(run.catalogue, isolation_level=None)
            self._db.executescript(SCHEMA)
            self._known = {
                kind: {row[0] for row in self._db.execute(f"select {column} from {kind}")}
                for kind, column in COLUMNS.items()
            }
        except sqlite3.DatabaseError as error:
            raise _failure(run, error) from None

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def add_shards(self, settings: Settings) -> Iterator[Header]:
        """Take in the shards that are new, oldest first, and yield what they say of themselves."""
        for path in new_shards(self._run.shards, self._known["shards"]):
            if path.name in self._known["problems"]:
                continue
            try:
                header = read_header(path)
                check_board(path, header, settings.boards)
            except UnreadableShardError as error:
                self._put_off(error)
                continue
            except ShardError as error:
                self._add_problem(path.name, str(error))
                continue
            self._add_shard(path, header)
            yield header

    def _add_shard(self, path: Path, header: Header) -> None:
        net = max(header.nets, key=header.nets.__getitem__)
        with self._transaction() as db:
            row = db.execute(
                "insert into shards values (null, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(path.stem, header.games, header.moves, header.positions),
                    *(header.evaluations, header.core_seconds, path.stat().st_size),
                    *(header.made, header.engine),
                ),
            )
            db.execute(
                "insert into resignations values (?, ?, ?)", (row.lastrowid, *header.resigning)
            )
            db.executemany(
                "insert into games values (?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (
                        *(row.lastrowid, i, net, one.komi, COLORS.get(one.winner)),
                        *(one.points, one.moves, one.reason),
                    )
                    for i, one in enumerate(header.results)
                ],
            )
        self._known["shards"].add(path.stem)

    def add_nets(self) -> Iterator[NetRecord]:
        """Take in the nets that are new and sound, and yield them."""
        for net in list_nets(self._run, self._nets):
            file = f"{net.name}.onnx"
            if net.name in self._known["nets"] or file in self._known["problems"]:
                continue
            try:
                readable_net(self._run.net(net.name))
                board = self._look(net.name)
            except NetFileError as error:
                self._add_problem(file, str(error))
                continue
            except OSError as error:
                self._put_off(error)
                continue
            self._add(
                "nets",
                *(net.name, net.steps, net.samples, net.positions),
                *(json.dumps(net.losses), net.precision),
                *(board.komi, board.value, board.lead),
            )
            yield net

    def add_matches(self) -> Iterator[MatchRecord]:
        """Take in the matches that are new, and yield them."""
        for path in sorted(self._run.matches.glob("*.json"), key=age):
            if path.stem in self._known["matches"] or path.name in self._known["problems"]:
                continue
            try:
                match = read_match(path)
            except OSError as error:
                self._put_off(error)
                continue
            if match is None:
                self._add_problem(path.name, f"{path}: is no match")
                continue
            self._add(
                "matches",
                *(path.stem, match.net, match.other, match.points),
                *(match.games, match.visits, match.komi, match.promoted),
            )
            yield match

    def _add(self, table: str, name: str, *values: Any) -> None:
        """Add a row, whose name is then known."""
        with self._transaction() as db:
            marks = ", ".join("?" for _ in (name, *values))
            db.execute(f"insert into {table} values ({marks})", (name, *values))
        self._known[table].add(name)

    def newest_net(self, promoted: bool) -> str | None:
        """Return what `newest_net_query` finds; None before there is a net.

        Raises:
            NetFileError: The catalogue cannot be read now, as while another process writes it.
        """
        try:
            row = self._db.execute(newest_net_query(promoted)).fetchone()
        except sqlite3.Error as error:
            raise _failure(self._run, error) from None
        return None if row is None else str(row[0])

    def _add_problem(self, file: str, problem: str) -> None:
        self._add("problems", file, problem)
        self.news.append(f"{problem}; left out")

    def _put_off(self, error: Exception) -> None:
        """Tell once of a file that cannot be read now; it is looked at again the next time."""
        if str(error) not in self._put_off_for:
            self._put_off_for.add(str(error))
            self.news.append(f"{error}; it is tried again")

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Return a context that writes all of what is done in it, or nothing.

        Raises:
            NetFileError: It cannot be written, as on a full disk.
        """
        try:
            self._db.execute("begin")
            yield self._db
            self._db.execute("commit")
        except BaseException as error:
            if self._db.in_transaction:
                self._db.execute("rollback")
            if isinstance(error, sqlite3.Error):
                raise _failure(self._run, error) from None
            raise


def newest_net_query(promoted: bool) -> str:
    """Return the query for the name of the newest net.

    Args:
        promoted: Whether nets but the first count only after a match that promoted them.
    """
    only = "steps = 0 or name in (select net from matches where promoted)" if promoted else "true"
    return f"select name from nets where {only} order by steps desc, name limit 1"


def rows(run: RunFolder, query: str, *values: Any) -> list[Any]:
    """Return what a query finds in a run's catalogue, which may be written meanwhile.

    Raises:
        NetFileError: There is no catalogue, or it is damaged.
    """
    if not run.catalogue.is_file():
        raise NetFileError(f"{run.path}: has no catalogue yet")
    try:
        # Writable, for what a killed coordinator left half written is taken back first.
        uri = f"{run.catalogue.absolute().as_uri()}?mode=rw"
        with closing(sqlite3.connect(uri, uri=True, timeout=30.0)) as db:
            return db.execute(query, values).fetchall()
    except sqlite3.Error as error:
        raise _failure(run, error) from None


def _failure(run: RunFolder, error: sqlite3.Error) -> NetFileError:
    """Return the error of a catalogue; one that is only locked, or on a full disk, is whole."""
    is_whole = isinstance(error, sqlite3.OperationalError)
    way_out = "" if is_whole else "; `gtp-export zero rebuild` makes it again"
    return NetFileError(f"{run.catalogue}: {error}{way_out}")
