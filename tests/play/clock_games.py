"""Simulated games by the clock: clocks of all kinds, machines of all speeds, random stalls.

    python -m tests.play.clock_games --games 100000

plays whole games with the real planner and a searcher that does what the engine does: it ends
early when its choice is clear, goes on when it is in doubt, looks at the time only between two
evaluations, and knows the speed of its net only roughly; what a move takes besides differs from
machine to machine. The client says what is left before every
move, in half of the games in whole seconds, and stalls are the lag that the engine learns from it.
It prints how many flags fell, and how much of their main times the players used. With --short they
play absolute clocks that leave less than the usual lag for a move, and stalls are shorter: nobody
could keep such a time with the usual ones.
"""

import argparse
import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from gtp_engine.coords import BLACK
from gtp_engine.play.clock.clock import Clock
from gtp_engine.play.clock.planner import MoveTime, outlook
from gtp_engine.play.clock.systems import (
    Absolute,
    Byoyomi,
    Canadian,
    Fischer,
    PlayerTime,
    Simple,
    TimeSystem,
)

LONGEST_STALL = 0.3
"""Seconds."""
LEAST_OVERHEAD, OVERHEAD = 0.002, 0.03
"""Seconds that a move takes besides the search, in the machine itself, at least and at most."""
PLIES = 0.7
"""Length of an ordinary game, in plies a point."""
AREAS = (25, 81, 169, 361)


def between(rng: random.Random, low: float, high: float) -> float:
    """Draw a number whose logarithm is uniform."""
    return float(low * (high / low) ** rng.random())


def draw_absolute(rng: random.Random, area: int) -> TimeSystem:
    """Draw a main time, a third of a second a move of the longest game at least."""
    return Absolute(between(rng, 0.34 * longest_game(area), 7200.0))


def draw_short_absolute(rng: random.Random, area: int) -> TimeSystem:
    """Draw less than that: 5 to 30 s on 9x9, a sixteenth of a second a move of the longest game."""
    return Absolute(longest_game(area) * between(rng, 0.06, 0.34))


def longest_game(area: int) -> float:
    """Return how many moves of one player the longest games have."""
    return 0.5 * (1.1 * area + 80)


def longest_stall(kind: str, system: TimeSystem, area: int) -> float:
    """Return seconds that a move may stall.

    A short main time leaves room for stalls of half of what remains of it after the overhead of
    the longest game; with longer ones nobody could keep it, thinking or not.
    """
    if kind not in SHORT_KINDS or not isinstance(system, Absolute):
        return LONGEST_STALL
    return min(LONGEST_STALL, 0.5 * (system.main / longest_game(area) - OVERHEAD))


def draw_canadian(rng: random.Random, area: int) -> TimeSystem:
    """Draw periods of 0.6 s to a minute a stone."""
    stones = rng.randint(2, 50)
    return Canadian(draw_main(rng), stones * between(rng, 0.6, 60.0), stones)


def draw_byoyomi(rng: random.Random, area: int) -> TimeSystem:
    """Draw up to ten periods of half a second to a minute."""
    return Byoyomi(draw_main(rng), between(rng, 0.5, 60.0), rng.randint(1, 10))


def draw_fischer(rng: random.Random, area: int) -> TimeSystem:
    """Draw increments of half a second to half a minute."""
    return Fischer(between(rng, 2.0, 3600.0), between(rng, 0.5, 30.0))


def draw_capped_fischer(rng: random.Random, area: int) -> TimeSystem:
    """Draw a limit and a longest move besides."""
    main = between(rng, 2.0, 3600.0)
    limit = main * rng.choice((1.0, 1.5, 4.0))
    return Fischer(main, between(rng, 0.5, 30.0), limit, between(rng, 2.0, 600.0))


def draw_simple(rng: random.Random, area: int) -> TimeSystem:
    """Draw half a second to two minutes a move."""
    return Simple(between(rng, 0.5, 120.0))


def draw_main(rng: random.Random) -> float:
    """Draw the main time of a clock with overtime; a third have none."""
    return 0.0 if rng.random() < 1 / 3 else between(rng, 5.0, 7200.0)


KINDS: dict[str, Callable[[random.Random, int], TimeSystem]] = {
    "absolute": draw_absolute,
    "canadian": draw_canadian,
    "byoyomi": draw_byoyomi,
    "fischer": draw_fischer,
    "capped fischer": draw_capped_fischer,
    "simple": draw_simple,
}

SHORT_KINDS: dict[str, Callable[[random.Random, int], TimeSystem]] = {
    "short absolute": draw_short_absolute,
}
"""Clocks that leave less than the usual lag for a move, played with shorter stalls."""


@dataclass(frozen=True)
class ClockGame:
    """What became of one player's clock."""

    kind: str
    system: TimeSystem
    plies: int
    is_long: bool
    """Whether it was at least as long as games are expected to be."""
    lost_at: int | None
    """The ply at which the flag fell."""
    left: PlayerTime
    thought: float
    """Seconds spent searching."""
    urgent_moves: int
    """Moves made without any evaluation."""

    @property
    def main_used(self) -> float | None:
        """The part of the main time that was used; None where there is none."""
        main = getattr(self.system, "main", 0.0)
        if main <= 0 or isinstance(self.system, Fischer):
            return None
        return 1.0 - (0.0 if self.left.count else self.left.seconds / main)


def play_game(rng: random.Random, kind: str) -> ClockGame:
    """Play one player's moves of a game by the clock."""
    area = rng.choice(AREAS)
    system = (KINDS | SHORT_KINDS)[kind](rng, area)
    long_game = rng.random() < 0.05
    expected = PLIES * area
    plies = int(
        rng.uniform(expected, 1.1 * area + 80)
        if long_game
        else max(0.2 * expected, rng.gauss(expected, 0.2 * expected))
    )
    seconds_each = 1.0 / between(rng, 1.0, 10_000.0)
    stalls_in = rng.random()
    longest = longest_stall(kind, system, area)
    left = system.start()
    clock = Clock(system)
    overhead = between(rng, LEAST_OVERHEAD, OVERHEAD)
    says = rng.choice((float, math.floor))
    thought, urgent = 0.0, 0
    for ply in range(rng.randint(0, 1), plies, 2):
        guessed = seconds_each * rng.uniform(0.8, 1.25)
        clock.set_left(BLACK, says(left.seconds), left.count)
        lag = clock.lag
        plan = clock.plan(BLACK, outlook(area, ply, lag.largest, guessed, lag.usual))
        searched = 0.0 if plan.is_urgent else search_seconds(rng, plan, seconds_each)
        urgent += plan.is_urgent
        thought += searched
        stall = rng.uniform(0.0, longest) if rng.random() < stalls_in else 0.0
        elapsed = searched + overhead + stall
        clock.spend(BLACK, searched + overhead, overhead)
        if elapsed > system.budget(left).flag:
            return ClockGame(kind, system, plies, False, ply, left, thought, urgent)
        left = system.spend(left, elapsed)
    return ClockGame(kind, system, plies, plies >= expected, None, left, thought, urgent)


def search_seconds(rng: random.Random, plan: MoveTime, evaluation: float) -> float:
    """Return how long a search takes: whole evaluations, none begun past the limit."""
    mood = rng.random()
    if mood < 0.35:  # nothing can change the choice any more
        limit = plan.soft * rng.uniform(0.3, 1.0)
    elif mood < 0.85:
        limit = plan.soft
    else:
        limit = plan.soft + (plan.hard - plan.soft) * rng.random()
    evaluations = max(1, int(limit / evaluation) + 1)
    looks_at_pass = 3 * (rng.random() < 0.1)
    return (evaluations + looks_at_pass) * evaluation


def play_games(games: int, seed: int, kinds: Sequence[str] = tuple(KINDS)) -> Iterator[ClockGame]:
    """Play games of these kinds of clock in turn."""
    rng = random.Random(seed)
    for number in range(games):
        yield play_game(rng, kinds[number % len(kinds)])


def main() -> None:
    """Play and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--games", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--short", action="store_true", help="short clocks instead")
    arguments = parser.parse_args()
    kinds = SHORT_KINDS if arguments.short else KINDS
    played, lost, urgent, moves = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    used: dict[str, list[float]] = {kind: [] for kind in kinds}
    for game in play_games(arguments.games, arguments.seed, tuple(kinds)):
        played[game.kind] += 1
        urgent[game.kind] += game.urgent_moves
        moves[game.kind] += game.plies // 2
        if game.lost_at is not None:
            lost[game.kind] += 1
            print(f"flag fell: {game}")
        elif game.is_long and game.main_used is not None:
            used[game.kind].append(game.main_used)
    for kind in kinds:
        shares = used[kind]
        share = f"{sum(shares) / len(shares):.1%} in {len(shares)} long games" if shares else "-"
        print(
            f"{kind:15} {played[kind]} games, {lost[kind]} flags, main time used {share},"
            f" {urgent[kind] / moves[kind]:.2%} of moves without an evaluation"
        )
    everything = [share for shares in used.values() for share in shares]
    print(
        f"{'together':15} {played.total()} games, {lost.total()} flags,"
        f" main time used {sum(everything) / len(everything):.1%}"
    )


if __name__ == "__main__":
    main()
