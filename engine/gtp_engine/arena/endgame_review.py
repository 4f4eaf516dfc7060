"""What the search of a judge says afterwards of the ends of games.

A move into own land may connect, make an eye or take away a threat. It was needless if a pass in
its place would have cost nothing; and a pass was wrong that lost points to the move in its place.
Worst is a pass that lost the game, as one may where dead stones have to be captured.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from gtp_engine.arena.many_games import Terms
from gtp_engine.arena.self_play import SelfPlayGame, parallel_map
from gtp_engine.coords import BLACK, PASS, WHITE
from gtp_engine.evaluators.evaluator import Evaluator
from gtp_engine.go.position import Position
from gtp_engine.play.endgame import own_moves_cost
from gtp_engine.play.move_choice import lead_over_pass
from gtp_engine.search.search import Search
from gtp_engine.search.stopping import Limits

MARGIN = 0.5
"""Points that a pass must cost to have been wrong, and a move in its place necessary: the counts
of two ends of a game differ by whole points."""


@dataclass(frozen=True)
class Verdict:
    """A move that was made, or that a pass was made in place of."""

    game: int
    """Number of the game."""
    ply: int
    """Moves made before it."""
    point: int
    """The move."""
    was_made: bool
    """False where the player passed in its place."""
    gain: float
    """Points of lead that the move is worth more than a pass, for its player."""

    @property
    def is_needless(self) -> bool:
        """Whether the move was made though a pass would have cost nothing."""
        return self.was_made and self.gain < MARGIN

    @property
    def is_wrong_pass(self) -> bool:
        """Whether the pass in place of the move cost something."""
        return not self.was_made and self.gain >= MARGIN


def judge_ends(
    evaluator: Evaluator,
    terms: Terms,
    games: Sequence[SelfPlayGame],
    visits: int,
    at_once: int,
    on_verdict: Callable[[], None] = lambda: None,
) -> list[Verdict]:
    """Judge the moves onto own points and the passes in place of moves, by game and ply.

    Args:
        visits: Of each search of the judge; a move takes two, after it and after the pass.
        on_verdict: Called after each, from the calling thread.

    Raises:
        NetFileError: The net failed.
    """
    jobs = [
        partial(_judge, evaluator, terms, game, ply, point, visits)
        for game in games
        for ply, point in doubts(game, terms)
    ]
    return parallel_map(jobs, at_once, lambda verdict: on_verdict())


def lost_by_passing(
    evaluator: Evaluator,
    terms: Terms,
    games: Sequence[SelfPlayGame],
    visits: int,
    at_once: int,
    on_game: Callable[[], None] = lambda: None,
) -> list[int]:
    """Return the numbers of games whose loser would rather have won where it passed last.

    Args:
        games: The games, ended by two passes.
        visits: Of the judge's search of that position.
        on_game: Called after each, from the calling thread.

    Raises:
        NetFileError: The net failed.
    """
    jobs = [partial(_could_win, evaluator, terms, game, visits) for game in games]
    could_win = parallel_map(jobs, at_once, lambda found: on_game())
    return [game.number for game, found in zip(games, could_win, strict=True) if found]


def _could_win(evaluator: Evaluator, terms: Terms, game: SelfPlayGame, visits: int) -> bool:
    """Whether the loser's chances were better than even before its last pass."""
    if game.white_margin == 0.0:
        return False
    loser = BLACK if game.white_margin > 0.0 else WHITE
    ply = max(ply for ply, move in enumerate(game.moves) if move == (loser, PASS))
    search = Search(evaluator, seed=terms.seed)
    search.set_position(_position_at(terms, game, ply))
    return search.run(Limits(visits=visits)).winrate > 0.5


def doubts(game: SelfPlayGame, terms: Terms) -> list[tuple[int, int]]:
    """Return by ply the moves to judge: those made, and those that a pass was made in place of.

    Where a move in own land costs nothing, by area scoring, those made are left alone.
    """
    own_moves = game.own_moves if own_moves_cost(terms.rules) else ()
    made = [(ply, game.moves[ply].point) for ply in own_moves]
    return sorted([*made, *game.overruled])


def _judge(
    evaluator: Evaluator,
    terms: Terms,
    game: SelfPlayGame,
    ply: int,
    point: int,
    visits: int,
) -> Verdict:
    position = _position_at(terms, game, ply)
    search = Search(evaluator, seed=terms.seed)
    gain = lead_over_pass(search, position, point, Limits(visits=visits))
    return Verdict(game.number, ply, point, game.moves[ply].point == point, gain)


def _position_at(terms: Terms, game: SelfPlayGame, ply: int) -> Position:
    position = Position(terms.width, terms.height, terms.rules)
    position.play_all(game.moves[:ply], strict=False)
    return position
