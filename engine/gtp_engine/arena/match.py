"""A match between two GTP engines: games at one or several tables, colors alternating."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from gtp_engine.arena.gtp_client import EngineFailure, EngineRefusal, GtpClient
from gtp_engine.arena.match_report import FAILURES
from gtp_engine.arena.referee import Game, Referee, Terms
from gtp_engine.arena.statistics import Sprt


def names_of(engines: list[GtpClient]) -> list[str]:
    """Return what the engines call themselves, told apart.

    Raises:
        EngineFailure: One of them cannot be talked to; the message says which.
    """
    names = []
    for engine, letter in zip(engines, "AB", strict=True):
        words = []
        for command in ("name", "version"):
            try:
                words.append(engine.ask(command))
            except EngineRefusal:
                continue
            except EngineFailure as failure:
                raise EngineFailure(f"{letter}: {failure}") from None
        names.append(" ".join(filter(None, words)) or "unknown")
    if names[0] == names[1]:
        names = [f"{name} ({letter})" for name, letter in zip(names, "AB", strict=True)]
    return names


class Table:
    """A place where games are played: both engines, started anew if one of them failed."""

    def __init__(self, commands: list[list[str]], timeout: float) -> None:
        self._commands = commands
        self._timeout = timeout
        self._engines: list[GtpClient] = []

    def engines(self) -> list[GtpClient]:
        """Return both engines, started if they are not running.

        Raises:
            EngineDied: One of them cannot be started.
        """
        while len(self._engines) < len(self._commands):
            command = self._commands[len(self._engines)]
            self._engines.append(GtpClient(command, self._timeout))
        return self._engines

    @contextmanager
    def seated(self) -> Iterator[list[GtpClient]]:
        """Return a context with both engines, at whose end they leave.

        Raises:
            EngineDied: One of them cannot be started.
        """
        try:
            yield self.engines()
        finally:
            self.clear()

    def clear(self) -> None:
        """End both engines; two threads may wish that at once."""
        engines, self._engines = self._engines, []
        for engine in engines:
            engine.close()


@dataclass
class _Turnstile:
    """Hands out the numbers of games."""

    n_games: int
    next_number: int = 1
    is_closed: bool = False


class Match:
    """A number of games at one or several tables."""

    def __init__(
        self,
        tables: list[Table],
        names: list[str],
        terms: Terms,
        n_games: int,
        seed: int,
        sprt: Sprt | None,
    ) -> None:
        self._tables = tables
        self._names = names
        self._terms = terms
        self._seed = seed
        self._sprt = sprt
        self._lock = threading.Lock()
        self._turnstile = _Turnstile(n_games)
        self._points = 0.0
        self._decided = 0
        self.failure: str | None = None
        """Why the match broke off, if it did."""
        self.is_interrupted = False
        """Whether it was Ctrl-C that did it."""

    def play(self, on_game: Callable[[Game], None]) -> None:
        """Play the games; Ctrl-C ends the match with those that are finished.

        Args:
            on_game: Called with each finished game, one at a time.
        """
        threads = [
            threading.Thread(target=self._serve, args=(table, on_game), daemon=True)
            for table in self._tables
        ]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        except KeyboardInterrupt:
            with self._lock:
                self.is_interrupted = True
                self._break_off("interrupted")
            for table in self._tables:
                table.clear()

    def _serve(self, table: Table, on_game: Callable[[Game], None]) -> None:
        try:
            while (number := self._next_number()) is not None:
                game = self._play_one(table, number)
                with self._lock:
                    # A player who was sent away in the middle has not lost.
                    if not self.is_interrupted:
                        self._score(game)
                        on_game(game)
        except Exception as error:
            with self._lock:
                self._break_off(str(error) or type(error).__name__)
        finally:
            table.clear()

    def _break_off(self, why: str) -> None:
        """Begin no more games; what goes wrong later follows from the first failure."""
        self._turnstile.is_closed = True
        self.failure = self.failure or why

    def _next_number(self) -> int | None:
        with self._lock:
            turnstile = self._turnstile
            if turnstile.is_closed or turnstile.next_number > turnstile.n_games:
                return None
            turnstile.next_number += 1
            return turnstile.next_number - 1

    def _play_one(self, table: Table, number: int) -> Game:
        game = Game(number, black=(number - 1) % 2)
        opening_seed = f"{self._seed}/{(number - 1) // 2}"
        engines = table.engines()
        Referee(engines, self._names, self._terms, game).conduct(opening_seed)
        if game.reason in FAILURES or any(engine.has_failed for engine in engines):
            table.clear()
        return game

    def _score(self, game: Game) -> None:
        if game.winner is None and not game.is_draw:
            return
        self._decided += 1
        self._points += 0.5 if game.is_draw else 1.0 - (game.winner or 0)
        if self._sprt is not None and self._sprt.verdict(self._points, self._decided):
            self._turnstile.is_closed = True
