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


def doubts(game: SelfPlayGame, terms: Terms) -> list[tuple[int, int]]:
    """Return by ply the moves to judge: those made, and those that a pass was made in place of.

    Where a move in own land costs nothing, by area scoring, those made are left alone.
    """
    own_moves = game.own_moves if own_moves_cost(terms.rules) else ()
    made = [(ply, game.moves[ply].point) for ply in own_moves]
    return sorted([*made, *game.overruled])


@dataclass(frozen=True)
class Judge:
    """Looks at games afterwards; raises NetFileError where its net fails."""

    evaluator: Evaluator
    terms: Terms
    """What the games were played under."""
    visits: int
    """Of each search; a move takes two, after it and after the pass."""
    at_once: int
    """Searches under way at a time."""
    on_step: Callable[[], None] = lambda: None
    """Called after each move and each game, from the calling thread."""

    def judge_ends(self, games: Sequence[SelfPlayGame]) -> list[Verdict]:
        """Judge moves onto own points and passes in place of moves, by game and ply."""
        jobs = [
            partial(self._judge, game, ply, point)
            for game in games
            for ply, point in doubts(game, self.terms)
        ]
        return parallel_map(jobs, self.at_once, lambda verdict: self.on_step())

    def lost_by_passing(self, games: Sequence[SelfPlayGame]) -> list[int]:
        """Return the numbers of games whose loser would rather have won where it passed last.

        Args:
            games: Ended by two passes.
        """
        jobs = [partial(self._could_win, game) for game in games]
        could_win = parallel_map(jobs, self.at_once, lambda found: self.on_step())
        return [game.number for game, found in zip(games, could_win, strict=True) if found]

    def _judge(self, game: SelfPlayGame, ply: int, point: int) -> Verdict:
        search, limits = Search(self.evaluator, seed=self.terms.seed), Limits(visits=self.visits)
        gain = lead_over_pass(search, self._position_at(game, ply), point, limits)
        return Verdict(game.number, ply, point, game.moves[ply].point == point, gain)

    def _could_win(self, game: SelfPlayGame) -> bool:
        """Whether the loser's chances were better than even before its last pass."""
        if game.white_margin == 0.0:
            return False
        loser = BLACK if game.white_margin > 0.0 else WHITE
        ply = max(ply for ply, move in enumerate(game.moves) if move == (loser, PASS))
        search = Search(self.evaluator, seed=self.terms.seed)
        search.set_position(self._position_at(game, ply))
        return search.run(Limits(visits=self.visits)).winrate > 0.5

    def _position_at(self, game: SelfPlayGame, ply: int) -> Position:
        position = Position(self.terms.width, self.terms.height, self.terms.rules)
        position.play_all(game.moves[:ply], strict=False)
        return position
