"""A match between two GTP engines: games at one or several tables, colors alternating."""

import threading
from collections.abc import Callable, Sequence

from gtp_engine.arena.gtp_client import (
    WAITING_SECONDS,
    EngineFailure,
    EngineRefusal,
    Engines,
    GtpClient,
)
from gtp_engine.arena.match_report import FAILURES
from gtp_engine.arena.referee import Game, Referee, Terms
from gtp_engine.arena.statistics import Sprt

LONGEST_NAME = 100
"""Characters of what an engine calls itself that are kept."""


class Table:
    """A place where games are played: both engines, started anew if one of them failed."""

    def __init__(self, engines: Engines, commands: Sequence[list[str]], timeout: float) -> None:
        self._started = engines
        self._commands = commands
        self._timeout = timeout
        self._players: list[GtpClient] = []

    def players(self) -> list[GtpClient]:
        """Return both engines, started if they are not running.

        Raises:
            EngineDied: One of them cannot be started.
        """
        while len(self._players) < len(self._commands):
            command = self._commands[len(self._players)]
            self._players.append(self._started.start(command, self._timeout))
        return self._players

    def names(self) -> list[str]:
        """Return what the engines call themselves, told apart.

        Raises:
            EngineFailure: One of them cannot be talked to; the message says which.
        """
        names = []
        for player, letter in zip(self.players(), "AB", strict=True):
            words = []
            for command in ("name", "version"):
                try:
                    words.append(player.ask(command)[:LONGEST_NAME])
                except EngineRefusal:
                    continue
                except EngineFailure as failure:
                    raise EngineFailure(f"{letter}: {failure}") from None
            names.append(" ".join(filter(None, words)) or "unknown")
        if names[0] == names[1]:
            names = [f"{name} ({letter})" for name, letter in zip(names, "AB", strict=True)]
        return names

    def clear(self) -> None:
        """End both engines."""
        for player in self._players:
            player.dismiss()
        for player in self._players:
            player.close()
        self._players.clear()


class Match:
    """A number of games at one or several tables."""

    def __init__(
        self,
        engines: Engines,
        tables: Sequence[Table],
        names: Sequence[str],
        terms: Terms,
        n_games: int,
        seed: int,
        sprt: Sprt | None,
    ) -> None:
        """Set the tables.

        Args:
            engines: Those at the tables; a signal that ends them ends the match.
            sprt: Ends the match with its verdict.
        """
        self._engines = engines
        self._tables = tables
        self._names = names
        self._terms = terms
        self._seed = seed
        self._sprt = sprt
        self._lock = threading.Lock()
        self._numbers = iter(range(1, n_games + 1))
        self._is_decided = False
        self._points = 0.0
        self._decided = 0
        self.failure: str | None = None
        """Why the match broke off, if it did by itself."""

    def play(self, on_game: Callable[[Game], None]) -> None:
        """Play the games; a signal ends the match with those that are finished.

        Args:
            on_game: Called with each finished game, one at a time.
        """
        threads = [
            threading.Thread(target=self._serve, args=(table, on_game), daemon=True)
            for table in self._tables
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(WAITING_SECONDS)

    def _serve(self, table: Table, on_game: Callable[[Game], None]) -> None:
        try:
            while (number := self._next_number()) is not None:
                game = self._play_one(table, number)
                with self._lock:
                    # A player who was sent away in the middle has not lost.
                    if self._engines.signal is None:
                        self._score(game)
                        on_game(game)
        except Exception as error:
            with self._lock:  # what goes wrong later follows from the first failure
                self.failure = self.failure or str(error) or type(error).__name__
        finally:
            table.clear()

    def _next_number(self) -> int | None:
        with self._lock:
            if self.failure is not None or self._is_decided or self._engines.signal is not None:
                return None
            return next(self._numbers, None)

    def _play_one(self, table: Table, number: int) -> Game:
        game = Game(number, black=(number - 1) % 2)
        opening_seed = f"{self._seed}/{(number - 1) // 2}"
        players = table.players()
        Referee(players, self._names, self._terms, game).conduct(opening_seed)
        if game.reason in FAILURES or any(player.has_failed for player in players):
            table.clear()
        return game

    def _score(self, game: Game) -> None:
        if game.winner is None and not game.is_draw:
            return
        self._decided += 1
        self._points += 0.5 if game.is_draw else 1.0 - (game.winner or 0)
        if self._sprt is not None and self._sprt.verdict(self._points, self._decided):
            self._is_decided = True
