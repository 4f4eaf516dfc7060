"""People and the engine at one board: whose turn it is, how the game ends, what is taken back."""

import threading
from typing import TYPE_CHECKING

from gtp_engine.coords import COLOR_NAMES, opponent
from gtp_engine.play.decision import Decision
from gtp_engine.play.engine import Engine
from gtp_engine.search.request import ReportRequest

if TYPE_CHECKING:
    from gtp_engine.go.position import Position
    from gtp_engine.play.adjudication.status import FinalStatus

HANDICAP_KOMI = 0.5
"""Points for White in a game with handicap stones, where no komi was asked for."""


class Table:
    """The game of an engine, some of whose colors people play."""

    def __init__(self, engine: Engine, colors: frozenset[int]) -> None:
        """Sit down.

        Args:
            engine: Knows the game, and plays the other colors.
            colors: Those that people play.
        """
        self.engine = engine
        self.colors = colors
        self.result = ""
        """How the game ended, as SGF has it; empty while it goes on."""

    @property
    def position(self) -> "Position":
        """The game as it stands."""
        return self.engine.position

    @property
    def is_engines_turn(self) -> bool:
        """Whether the engine is to move."""
        position = self.position
        return position.to_play not in self.colors and not position.is_over and not self.result

    def play(self, point: int) -> None:
        """Make a person's move.

        Raises:
            IllegalMoveError: It is illegal, by superko too.
        """
        position = self.position
        position.copy().play(position.to_play, point)
        self.engine.play(position.to_play, point)

    def let_engine_move(
        self, report: ReportRequest | None = None, stop: threading.Event | None = None
    ) -> Decision:
        """Have the engine make the next move, whosever it is; see `Engine.genmove`."""
        color = self.position.to_play
        decision = self.engine.genmove(color, report=report, stop=stop)
        if decision.point is None:
            self.result = _resignation(color)
        return decision

    def resign(self) -> None:
        """Give the game up for the player to move."""
        self.end(_resignation(self.position.to_play))

    def take_back(self) -> bool:
        """Take back a person's resignation, else the latest move of people and what followed.

        Returns:
            Whether there was one.
        """
        if self.result.endswith("+R") and self.position.to_play in self.colors:
            self.end("")
            return True
        moves = self.position.moves
        count = 1
        while count < len(moves) and moves[-count].color not in self.colors:
            count += 1
        if len(moves) < count or moves[-count].color not in self.colors:
            return False
        self.engine.undo(count)
        self.result = ""
        return True

    def count(self) -> "FinalStatus":
        """Count a game that has ended by passes, and end it.

        Raises:
            EngineUnavailableError: There is no usable net.
        """
        from gtp_engine.go.scoring import format_result

        status = self.engine.final_status()
        self.end(format_result(status.white_score))
        return status

    def end(self, result: str) -> None:
        """Take note of how the game ended, or with an empty result that it goes on."""
        self.result = result
        self.engine.note_result(result)


def _resignation(color: int) -> str:
    return f"{COLOR_NAMES[opponent(color)][0].upper()}+R"
