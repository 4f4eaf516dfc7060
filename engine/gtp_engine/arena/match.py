"""A match between two GTP engines: one game or several at once, colors alternating."""

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
from gtp_engine.arena.referee import MatchGame, MatchTerms, Referee

LONGEST_NAME = 100
"""Characters of what an engine calls itself that are kept."""


class Pairing:
    """Two engines that play one game after the other, started anew if one of them failed."""

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

    def play_game(
        self, number: int, names: Sequence[str], terms: MatchTerms, seed: int
    ) -> MatchGame:
        """Play a game; engines change colors from game to game, and openings every second game.

        Args:
            number: From 1.
            names: What records call the engines.
            seed: Of the openings.

        Raises:
            EngineDied: An engine cannot be started.
            EngineFailure: One refuses the first game before it has made a move: so it would all.
        """
        game = MatchGame(number, black=(number - 1) % 2)
        players = self.players()
        Referee(players, names, terms, game).conduct(f"{seed}/{(number - 1) // 2}")
        loser = int(game.winner == 0)
        if number == 1 and game.reason == "refusal" and not game.thoughts[loser]:
            raise EngineFailure(game.detail)
        if game.reason in FAILURES or any(player.has_failed for player in players):
            self.clear()
        return game

    def clear(self) -> None:
        """End both engines."""
        for player in self._players:
            player.dismiss()
        for player in self._players:
            player.close()
        self._players.clear()


def play_match(
    engines: Engines,
    pairings: Sequence[Pairing],
    names: Sequence[str],
    terms: MatchTerms,
    n_games: int,
    seed: int,
    on_game: Callable[[MatchGame], object],
) -> str | None:
    """Play games in all pairings, and return why the match broke off if it did by itself.

    Args:
        engines: Those of the pairings; a signal ends them, and the match with the finished games.
        names: What records call the engines.
        seed: Of the openings.
        on_game: Called with each finished game, one at a time. Where it returns False, no game is
            begun any more.
    """
    lock = threading.Lock()
    numbers = iter(range(1, n_games + 1))
    is_decided = threading.Event()
    failures: list[str] = []

    def next_number() -> int | None:
        with lock:
            if failures or is_decided.is_set() or engines.signal is not None:
                return None
            return next(numbers, None)

    def serve(pairing: Pairing) -> None:
        try:
            while (number := next_number()) is not None:
                game = pairing.play_game(number, names, terms, seed)
                with lock:
                    # A player who was sent away in the middle has not lost.
                    if engines.signal is None and on_game(game) is False:
                        is_decided.set()
        except Exception as error:
            with lock:
                failures.append(str(error) or type(error).__name__)
        finally:
            pairing.clear()

    threads = [threading.Thread(target=serve, args=(pairing,), daemon=True) for pairing in pairings]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():
            thread.join(WAITING_SECONDS)
    return failures[0] if failures else None  # what goes wrong later follows from the first
