"""What the engine decided, and why. Only the standard library is imported here."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gtp_engine.coords import BLACK, COLOR_LETTERS, WHITE, opponent

if TYPE_CHECKING:
    from gtp_engine.go.position import Move, Position
    from gtp_engine.search.analysis import Analysis


@dataclass(frozen=True, slots=True)
class Decision:
    """A move or a resignation."""

    color: int
    point: int | None
    """The move; PASS is 0, None resigns."""
    analysis: "Analysis | None"
    """What the search found; None when none was needed."""
    reason: str
    """Why, in a few words: "search", "resign" ..."""


@dataclass(frozen=True, slots=True)
class ResignRule:
    """When to give up: after a number of own turns in a row below a threshold."""

    enabled: bool = True
    threshold: float = -0.8
    """Mean win-loss value of the best move, -1..1, below which a turn counts."""
    turns: int = 3
    """Own turns in a row that must count."""

    def earliest_ply(self, area: int, handicap: int = 0) -> int:
        """Return before which move nobody resigns: a fifth of the board's points.

        Twice that in a handicap game, where the opening looks lost to White and is not.
        """
        return 2 * area // 5 if handicap > 1 else area // 5

    def counts(self, analysis: "Analysis", ply: int, handicap: int = 0) -> bool:
        """Whether a turn is a hopeless one.

        Args:
            handicap: Stones Black had before White's first, however they came on the board.
        """
        area = analysis.width * analysis.height
        if not self.enabled or ply < self.earliest_ply(area, handicap):
            return False
        return best_value(analysis) < self.threshold


class ResignCounter:
    """Counts the hopeless turns in a row of both players.

    Turns are known by the moves before them: some clients take moves back, or play all of a game
    anew before each turn.
    """

    def __init__(self) -> None:
        """Begin with no turn."""
        self._latest: dict[int, tuple[list[Move], int]] = {BLACK: ([], 0), WHITE: ([], 0)}
        """The moves before a player's latest turn, and how many hopeless ones in a row it ended."""

    def resign_or(
        self, decision: Decision, rule: ResignRule, position: "Position", *, commit: bool
    ) -> Decision:
        """Return the decision, or a resignation where enough hopeless turns came in a row.

        Args:
            position: In which it was made.
            commit: Whether the turn is one of the game, and counts for the next ones too.
        """
        color, found = decision.color, decision.analysis
        moves = position.moves
        before, count = self._latest[color]
        if moves == before:  # the same turn again
            count = max(0, count - 1)
        elif len(moves) > len(before) + 2 or moves[: len(before)] != before:
            count = 0
        hopeless = found is not None and rule.counts(found, len(moves), position.handicap)
        count = count + 1 if hopeless else 0
        if commit:
            self._latest[color] = (moves, count)
        if count < rule.turns or not hopeless:
            return decision
        return Decision(color, None, found, "resign")


def resignation(color: int) -> str:
    """Return the result of a game that a player has given up, as SGF has it."""
    return f"{COLOR_LETTERS[opponent(color)]}+R"


def best_value(analysis: "Analysis") -> float:
    """Return the mean win-loss value of the best move, -1..1; the net's own where none was visited.

    Judged by the moves that have at least a tenth of the visits, or as many as any; a move with
    few visits says little.
    """
    visits = [move.visits for move in analysis.moves]
    most = max(visits, default=0)
    if most == 0:
        return 2.0 * analysis.winrate - 1.0
    enough = min(0.1 * sum(visits), most)
    return 2.0 * max(move.winrate for move in analysis.moves if move.visits >= enough) - 1.0
