"""Many games at once between two players in one process, with few threads.

A game has a search a player. Each thread has several games and steps their searches together, so
that the leaves of different games are evaluated as one batch; the evaluators' batchers merge what
the threads ask. Games come in pairs that begin from the same opening with the colors swapped.
"""

import queue
import random
import threading
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from gtp_engine.coords import BLACK, WHITE
from gtp_engine.evaluators.evaluator import Evaluator
from gtp_engine.evaluators.net_evaluator import NetEvaluator
from gtp_engine.evaluators.policy_play import draw_opening
from gtp_engine.games import new_game
from gtp_engine.go.position import Move, Position
from gtp_engine.go.rules import GO, LONGEST_GAME, Rules
from gtp_engine.platforms import usable_cores
from gtp_engine.play.levels import Level, decide_at_level
from gtp_engine.play.settings import default_memory
from gtp_engine.search.batching import TreeBatcher
from gtp_engine.search.params import SearchParams
from gtp_engine.search.run import Run
from gtp_engine.search.search import Search
from gtp_engine.search.stopping import Limits

SURE = 0.98
"""Winrate at which a player takes the game for decided."""
SURE_MOVES = 6
"""Moves in a row after which a game is given to a player whom both take for the winner."""
OPENING_ATTEMPTS = 20
"""Openings drawn for a pair before one that another pair has is taken."""
_SEED_STRIDE = 1_000_003
"""Between the seeds of two attempts, lest they are those of other pairs."""
GAMES_AT_ONCE = {"cpu": 16, "cuda": 256}
"""By device; on a CPU for each processor."""
LEAST_MEMORY_MB = 8
"""Room for a search's tree, however many games there are."""


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
    game: str = GO
    """One of `games.GAMES`."""


@dataclass(frozen=True)
class PlayedGame:
    """A finished game."""

    number: int
    black: int
    """Index of the contestant who was Black."""
    winner: int | None
    """Index of the contestant who won; None for a draw."""
    reason: str
    """"count", "decided", "length", or "cycle" for a long cycle, which is a draw here."""
    moves: tuple[Move, ...]


def games_at_once(nets: Sequence[Evaluator]) -> int:
    """Return how many games at once suit the machine and the nets."""
    if all(isinstance(net, NetEvaluator) and net.net.device == "cuda" for net in nets):
        return GAMES_AT_ONCE["cuda"]
    return GAMES_AT_ONCE["cpu"] * usable_cores()


def points(games: Sequence[PlayedGame]) -> float:
    """Return how many games the first contestant won, half a one for each draw."""
    return sum(0.5 if game.winner is None else float(game.winner == 0) for game in games)


def play_games(
    contestants: Sequence[Contestant],
    terms: Terms,
    games: int,
    at_once: int,
    on_game: Callable[[PlayedGame], object] = lambda game: None,
    threads: int | None = None,
    first: int = 0,
) -> list[PlayedGame]:
    """Play games and return them by number.

    Args:
        contestants: Two; the first is Black in the games of even number.
        games: How many; an even number is fair.
        on_game: Called with each finished game, from the calling thread. Where it returns False,
            no game is begun any more; those under way are played to their ends, for the short ones
            among them have other results than the long ones.
        threads: That play; as many as there are processors when None.
        first: Number of the first game, where others were played before: it decides their openings,
            which none of these has then.

    Raises:
        NetFileError: A net failed.
    """
    at_once = min(at_once, games)
    one_by_one = any(one.level is not None for one in contestants)
    n_threads = max(1, at_once if one_by_one else min(at_once, threads or usable_cores()))
    memory_mb = max(LEAST_MEMORY_MB, default_memory() // max(1, at_once * len(contestants)))
    numbers = iter(range(first, first + games))
    openings: list[tuple[Move, ...]] = []
    """By pair; not as positions, of which one on 19x19 takes 400 kB."""
    guard = threading.Lock()
    is_enough = threading.Event()

    def begin_game() -> _Game | None:
        with guard:
            number = None if is_enough.is_set() else next(numbers, None)
            if number is None:
                return None
            while len(openings) <= number // 2:
                openings.append(_draw_opening(contestants[0].evaluator, terms, openings))
            opening = openings[number // 2]
        return _play(contestants, terms, number, opening, memory_mb)

    stop = threading.Event()
    told: queue.SimpleQueue[PlayedGame | None] = queue.SimpleQueue()
    finished: list[PlayedGame] = []
    with ThreadPoolExecutor(n_threads) as pool:
        shares = [at_once // n_threads + (i < at_once % n_threads) for i in range(n_threads)]
        workers = [pool.submit(_work, begin_game, share, told.put, stop) for share in shares]
        for worker in workers:
            worker.add_done_callback(lambda _: told.put(None))
        try:
            for game in _told(told, n_threads):
                finished.append(game)
                if on_game(game) is False:
                    is_enough.set()
        finally:
            stop.set()
        for worker in workers:
            worker.result()
    return sorted(finished, key=lambda game: game.number)


def _told(told: "queue.SimpleQueue[PlayedGame | None]", n_threads: int) -> Iterator[PlayedGame]:
    """Yield what threads report until each has said None, which is its last word."""
    while n_threads:
        game = told.get()
        if game is None:
            n_threads -= 1
        else:
            yield game


_Game = Generator[Run | None, None, "PlayedGame"]
"""A game under way: yields runs of searches, each to be stepped until it is over, and None where it
has searched by itself."""


def _work(
    begin_game: Callable[[], _Game | None],
    at_once: int,
    tell: Callable[[PlayedGame], None],
    stop: threading.Event,
) -> None:
    """Play games until there are no more of them, so many at a time; the first failure ends all."""
    batchers: dict[Evaluator, TreeBatcher] = {}
    playing: dict[_Game, Run | None] = {}

    def go_on(game: _Game) -> None:
        """Let a game come to its next search, or to its end."""
        try:
            playing[game] = next(game)
        except StopIteration as end:
            playing.pop(game, None)
            tell(end.value)

    try:
        while not stop.is_set():
            while len(playing) < at_once and (game := begin_game()) is not None:
                go_on(game)
            if not playing:
                return
            moving: dict[Evaluator, list[Run]] = defaultdict(list)
            for run in playing.values():
                if run is not None:
                    moving[run.leader.evaluator].append(run)
            for evaluator, runs in moving.items():
                batcher = batchers.setdefault(evaluator, TreeBatcher(evaluator))
                for failure in batcher.step(runs).values():
                    raise failure
            for game, run in list(playing.items()):
                if run is None or run.is_over:
                    go_on(game)
    except BaseException:
        stop.set()
        raise


def _draw_opening(
    evaluator: Evaluator, terms: Terms, drawn: Sequence[tuple[Move, ...]]
) -> tuple[Move, ...]:
    """Return an opening that is not among those drawn, as far as the board has so many."""
    opening: tuple[Move, ...] = ()
    for attempt in range(OPENING_ATTEMPTS):
        position = draw_opening(
            evaluator,
            terms.width,
            terms.height,
            terms.rules,
            terms.opening_moves,
            terms.seed + len(drawn) + attempt * _SEED_STRIDE,
            terms.game,
        )
        opening = tuple(position.moves)
        if opening not in drawn:
            break
    return opening


def _play(
    contestants: Sequence[Contestant],
    terms: Terms,
    number: int,
    opening: Sequence[Move],
    memory_mb: int,
) -> _Game:
    """Play one game; see `_Game`.

    Args:
        opening: Its first moves; the game goes on there.
        memory_mb: Room for the tree of each player's search.
    """
    position = new_game(terms.game, terms.width, terms.height, terms.rules)
    position.play_all(opening)
    black = number % 2
    by_color = {BLACK: black, WHITE: 1 - black}
    searches = [
        Search(
            one.evaluator,
            one.params,
            batch=one.leaves,
            memory_mb=memory_mb,
            seed=terms.seed + number,
        )
        for one in contestants
    ]
    generator = random.Random(terms.seed + number)
    white_winrates: list[float] = []

    def ended(winner: int | None, reason: str) -> PlayedGame:
        return PlayedGame(number, black, winner, reason, tuple(position.moves))

    while not position.is_over and position.ply < LONGEST_GAME * position.area:
        color = position.to_play
        player = by_color[color]
        move, winrate = yield from _choose(
            contestants[player], searches[player], position, generator
        )
        white_winrates.append(winrate if color == WHITE else 1.0 - winrate)
        favourite = _decided(white_winrates)
        if favourite is not None:
            return ended(by_color[favourite], "decided")
        position.play(color, move)
    score = position.white_margin()
    winner = None if score == 0 else by_color[WHITE if score > 0 else BLACK]
    if position.is_void:
        return ended(winner, "cycle")
    return ended(winner, "count" if position.is_over else "length")


def _choose(
    player: Contestant, search: Search, position: Position, generator: random.Random
) -> Generator[Run | None, None, tuple[int, float]]:
    """Return a player's move and the winrate that its search found; yield as a game does."""
    level = player.level
    if level is None:
        search.set_position(position)
        run = search.begin(player.limits)
        yield run
        found = run.end()
        move = found.moves[0].point if found.moves else search.root_moves()[0]
        return move, found.winrate
    yield None
    decision = decide_at_level(level, generator, search, position, player.limits)
    assert decision.point is not None and decision.analysis is not None
    return decision.point, decision.analysis.winrate


def _decided(white_winrates: list[float]) -> int | None:
    """Return the color that both players have long taken for the winner, if any."""
    latest = white_winrates[-SURE_MOVES:]
    if len(latest) < SURE_MOVES:
        return None
    if min(latest) >= SURE:
        return WHITE
    return BLACK if max(latest) <= 1.0 - SURE else None
