"""Many games at once between two players in one process, all evaluations through shared queues.

Each game has a thread and a search a player; the players' evaluators merge what the games ask
into batches. Games come in pairs that begin from the same opening with the colours swapped.
"""

import random
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field

from gtp_engine.evaluators.evaluator import Evaluator
from gtp_engine.evaluators.policy_play import draw_opening
from gtp_engine.go.coords import BLACK, WHITE
from gtp_engine.go.position import Move, Position
from gtp_engine.go.rules import Rules
from gtp_engine.go.scoring import white_score
from gtp_engine.play.levels import Level
from gtp_engine.play.move_choice import decide
from gtp_engine.search.limits import Limits
from gtp_engine.search.params import SearchParams
from gtp_engine.search.search import Search

LONGEST_GAME = 3.0
"""Moves a point of the board after which a game is counted as it stands."""
SURE = 0.98
"""Winrate at which a player takes the game for decided."""
SURE_MOVES = 6
"""Moves in a row after which a game is given to a player whom both take for the winner."""


@dataclass(frozen=True)
class Contestant:
    """One of the two players."""

    name: str
    evaluator: Evaluator
    limits: Limits
    """When each of its searches ends."""
    params: SearchParams = field(default_factory=SearchParams)
    level: Level | None = None
    """Plays at this level and with its manners; None: the best move of the search."""
    leaves: int = 1
    """Leaves that each of its searches has in flight at once."""


@dataclass(frozen=True)
class Terms:
    """What the games are played under."""

    width: int = 9
    height: int = 9
    rules: Rules = field(default_factory=Rules)
    """With the komi; dead stones are not taken off, so let it be area scoring."""
    opening_moves: int = 6
    """Moves drawn from the first player's policy before the game proper."""
    seed: int = 1


@dataclass(frozen=True)
class PlayedGame:
    """A finished game."""

    number: int
    black: int
    """Index of the contestant who was Black."""
    winner: int | None
    """Index of the contestant who won; None for a draw."""
    reason: str
    """"count", "decided" or "length"."""
    moves: tuple[Move, ...]


def play_games(
    contestants: Sequence[Contestant],
    terms: Terms,
    games: int,
    at_once: int,
    on_game: Callable[[PlayedGame], None] = lambda game: None,
) -> list[PlayedGame]:
    """Play games and return them by number.

    Args:
        contestants: Two; the first is Black in the games of even number.
        terms: Board, rules and openings.
        games: How many; an even number is fair.
        at_once: Games under way at a time.
        on_game: Called with each finished game, from the calling thread.

    Raises:
        NetFileError: A net failed.
    """
    stop = threading.Event()
    finished: list[PlayedGame] = []
    with ThreadPoolExecutor(at_once) as pool:
        waiting = [pool.submit(_play, contestants, terms, n, stop) for n in range(games)]
        try:
            for one in as_completed(waiting):
                game = one.result()
                if game is not None:
                    finished.append(game)
                    on_game(game)
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    return sorted(finished, key=lambda game: game.number)


def _play(
    contestants: Sequence[Contestant], terms: Terms, number: int, stop: threading.Event
) -> PlayedGame | None:
    """Play one game; None if it was broken off."""
    position = draw_opening(
        contestants[0].evaluator,
        terms.width,
        terms.height,
        terms.rules,
        terms.opening_moves,
        terms.seed + number // 2,
    )
    black = number % 2
    by_color = {BLACK: black, WHITE: 1 - black}
    searches = [
        Search(
            one.evaluator,
            one.params if one.level is None else one.level.params(one.params),
            batch=one.leaves,
            seed=terms.seed + number,
        )
        for one in contestants
    ]
    generator = random.Random(terms.seed + number)
    white_winrates: list[float] = []
    while not position.is_over and position.ply < LONGEST_GAME * position.area:
        if stop.is_set():
            return None
        color = position.to_play
        player = by_color[color]
        move, winrate = _choose(contestants[player], searches[player], position, generator)
        white_winrates.append(winrate if color == WHITE else 1.0 - winrate)
        favourite = _decided(white_winrates)
        if favourite is not None:
            return _record(number, black, by_color[favourite], "decided", position)
        position.play(color, move)
    score = float(white_score(position.line, position.ply, position.rules.flags))
    winner = None if score == 0 else by_color[WHITE if score > 0 else BLACK]
    return _record(number, black, winner, "count" if position.is_over else "length", position)


def _choose(
    player: Contestant, search: Search, position: Position, generator: random.Random
) -> tuple[int, float]:
    """Return a player's move and the winrate that its search found."""
    level = player.level
    if level is None:
        search.set_position(position)
        found = search.run(player.limits)
        move = found.moves[0].point if found.moves else search.root_moves()[0]
        return move, found.winrate
    search.clear()
    limits = level.limits(player.limits)
    decision = decide(search, position, limits, order=lambda found: level.order(found, generator))
    assert decision.point is not None and decision.analysis is not None
    return decision.point, decision.analysis.winrate


def _decided(white_winrates: list[float]) -> int | None:
    """Return the colour that both players have long taken for the winner, if any."""
    latest = white_winrates[-SURE_MOVES:]
    if len(latest) < SURE_MOVES:
        return None
    if min(latest) >= SURE:
        return WHITE
    return BLACK if max(latest) <= 1.0 - SURE else None


def _record(
    number: int, black: int, winner: int | None, reason: str, position: Position
) -> PlayedGame:
    return PlayedGame(number, black, winner, reason, tuple(position.moves))
