"""What a search asks of a game: the seam between `search` and the games, which it does not know.

A game in progress is a `Game`; `Search.set_position` takes one. A search copies it, and each of its
workers plays on from there on a `Branch` of its own:

    what a legal move is       the evaluator's `encode` lists them, with the game's own kernel: each
                               game brings its encoders
    play a move                `Branch.follow`, a whole path at a time: one call a leaf
    is it over                 `Branch.follow` too, which says OVER
    who won, by how much       `Branch.white_lead`
    which symmetries           `Branch.symmetries`; which one shows a leaf, `Branch.follow` draws

Moves are points of a board of up to 25x25, or PASS, and two players take turns: `gtp_engine.coords`
says how they are numbered. Positions are numbered by *ply*. What a history and its rules look like
is between a game and its encoders; the search only hands them on.
"""

from collections.abc import Sequence
from typing import Any, Protocol, Self

import numpy.typing as npt


class Branch(Protocol):
    """A copy of a game on which one worker plays on. Not for use from several threads at once."""

    @property
    def history(self) -> Any:
        """The plies of the game and of the path played last, for the evaluator."""

    @property
    def rules(self) -> Any:
        """The rules, for the evaluator."""

    root_ply: int
    """The ply from which paths begin; whoever holds the branch may move it along a path played."""

    @property
    def symmetries(self) -> int:
        """How many ways there are to show the board; they are numbered from 0, the board as is."""

    def follow(
        self,
        paths: npt.NDArray[Any],
        slot: int,
        root_at: int,
        symmetries: int,
        seed: int,
    ) -> tuple[int, int]:
        """Play a path of legal moves from the root on, and draw a symmetry for its end.

        The path played before is forgotten, apart from what both have in common.

        Args:
            paths: [slots] records: `length`, the number of nodes, and `moves`, the one that led to
                each node.
            slot: Which of the paths.
            root_at: Where in the path the root stands; the move behind it is played first.
            symmetries: How many to draw from.
            seed: Goes into the draw, which is the same for the same position and seed.

        Returns:
            The ply reached, and the symmetry or OVER. A root is never taken for over.
        """

    def white_lead(self, ply: int) -> float:
        """Return by how many points White has won where the game is over; below 0, Black has."""


class Game(Protocol):
    """A game in progress, at the position to be searched."""

    @property
    def width(self) -> int:
        """Columns."""

    @property
    def height(self) -> int:
        """Rows."""

    @property
    def ply(self) -> int:
        """How many moves were made."""

    @property
    def to_play(self) -> int:
        """Who is to move, BLACK or WHITE."""

    def copy(self) -> Self:
        """Return an independent game in the same state."""

    def moves_since(self, earlier: Any, ply: int) -> Sequence[tuple[int, int]] | None:
        """Return moves, colors and points, from a ply on if a search of another game met them too.

        Args:
            earlier: A game, of whatever kind.
            ply: How far back to look.

        Returns:
            None unless both games are one and the same up to the ply, and a `Branch` of the other
            that follows the moves comes to the very positions of this game.
        """

    def branch(self, plies: int, spare: Any = None) -> Branch:
        """Return a branch with room for paths of so many moves.

        Args:
            plies: Length of the longest path.
            spare: A branch that nobody needs any more, of whatever game, whose arrays may be used.
        """
