"""People and the engine at one board: whose turn it is, how the game ends, what is taken back."""

import threading
from typing import TYPE_CHECKING

from gtp_engine.coords import BLACK, EMPTY, WHITE, opponent
from gtp_engine.play.decision import Decision, resignation
from gtp_engine.play.engine import Engine
from gtp_engine.search.request import ReportRequest

if TYPE_CHECKING:
    from gtp_engine.go.position import Move, Position
    from gtp_engine.go.rules import Rules
    from gtp_engine.play.adjudication.status import FinalStatus

NO_RESULT_MESSAGE = "The same positions have come again and again: the game has no result."

SEATS = {
    "black": frozenset((BLACK,)),
    "white": frozenset((WHITE,)),
    "both": frozenset((BLACK, WHITE)),
}
"""The colors that people may play, by name."""


class Table:
    """The game of an engine, some of whose colors people play."""

    def __init__(self, engine: Engine, colors: frozenset[int]) -> None:
        """Let people play these colors, and the engine the others."""
        self.engine = engine
        self.colors = colors
        self.result = ""
        """How the game ended, as SGF has it; empty while it goes on."""
        self._ahead: list[Move] = []
        """Moves that were taken back, the next one last."""
        self._end: tuple[int, str] | None = None
        """How many moves the game has and how it ended, while an earlier position is shown."""

    @property
    def position(self) -> "Position":
        """The game as it stands."""
        return self.engine.position

    @property
    def is_engines_turn(self) -> bool:
        """Whether the engine is to move; not while somebody looks at earlier positions."""
        position = self.position
        is_on = not position.is_over and not self.result and not self._ahead
        return position.to_play not in self.colors and is_on

    def whole_game(self) -> "tuple[Position, str]":
        """Return the game and its result, also while an earlier position is shown."""
        if self._end is None:
            return self.position, self.result
        n_moves, result = self._end
        game = self.position.copy()
        game.play_all(self._ahead[game.ply - n_moves :][::-1], strict=False)
        return game, result

    def begin(self, result: str = "") -> None:
        """Take note of another game on the board.

        Args:
            result: How it ended, as a record says it.
        """
        self.result = "" if result in ("?", "Void") else result.replace("+Resign", "+R")
        self._ahead, self._end = [], None

    def play(self, point: int) -> None:
        """Make a person's move.

        Raises:
            IllegalMoveError: It is illegal, by superko too.
        """
        position = self.position
        position.copy().play(position.to_play, point)
        self._cut_off()
        self.engine.play(position.to_play, point)
        self._ahead = []

    def let_engine_move(
        self, report: ReportRequest | None = None, stop: threading.Event | None = None
    ) -> Decision:
        """Have the engine make the next move, whosever it is; see `Engine.genmove`."""
        color = self.position.to_play
        decision = self.engine.genmove(color, report=report, stop=stop)
        self._ahead, self._end = [], None
        if decision.point is None:
            self.result = resignation(color)
        return decision

    def resign(self) -> None:
        """Give the game up, all of it, for a person: the player to move, if it is one."""
        while self._end is not None:
            self.step_forward()
        if self.result or self.position.is_over:
            return
        to_play = self.position.to_play
        self._ahead = []
        self.end(resignation(to_play if to_play in self.colors else opponent(to_play)))

    def take_back(self) -> bool:
        """Take back a person's resignation, else the latest move of people and what followed.

        Returns:
            Whether there was one.
        """
        if self.result in map(resignation, self.colors):
            self.end("")
            return True
        moves = self.position.moves
        count = 1
        while count < len(moves) and moves[-count].color not in self.colors:
            count += 1
        if len(moves) < count or moves[-count].color not in self.colors:
            return False
        for _ in range(count):
            self.step_back()
        self._cut_off()
        return True

    def step_back(self) -> bool:
        """Show the position a move earlier, whosever it was; return whether there was one.

        The game stays whole until another move is made there.
        """
        position = self.position
        if not position.ply:
            return False
        if self._end is None:
            self._end = position.ply, self.result
        self._ahead.append(position.moves[-1])
        self.engine.rest()
        position.undo()
        self.result = ""
        return True

    def step_forward(self) -> bool:
        """Make again the next of the moves that were taken back; return whether there was one."""
        if not self._ahead:
            return False
        move = self._ahead.pop()
        if self._end is None:
            self.engine.play(move.color, move.point)
            return True
        self.engine.rest()
        self.position.play(move.color, move.point, strict=False)
        if self.position.ply == self._end[0]:
            (_, self.result), self._end = self._end, None
        return True

    def _cut_off(self) -> None:
        """End the game at the position that is shown."""
        if self._end is not None:
            self._end = None
            self.engine.undo(0)  # so that the file that keeps it ends there too

    def count(self) -> "FinalStatus":
        """Count a game that has ended, and end it; one without result is Void whatever the count.

        Raises:
            EngineUnavailableError: There is no usable net.
        """
        from gtp_engine.go.scoring import result_of

        status = self.engine.final_status()
        self.end(result_of(self.position, status.white_score))
        return status

    def set_komi(self, komi: float) -> None:
        """Change the points for White; a game that was counted is to be counted again."""
        self.engine.komi = komi
        self._forget_count()

    def set_rules(self, rules: "Rules") -> None:
        """Change the rules, but not a komi that was set; else as `set_komi`.

        Raises:
            SetupError: A move that was made or taken back does not fit; the rules stay.
        """
        game = self.position.copy()
        game.play_all(self._ahead[::-1], strict=False)
        game.set_rules(rules)
        self.engine.rules = rules
        self._forget_count()

    def _forget_count(self) -> None:
        from gtp_engine.go.scoring import resulting_margin

        if self._end is not None and resulting_margin(self._end[1]) is not None:
            self._end = self._end[0], ""
        if resulting_margin(self.result) is not None:
            self.end("")

    def turn_status(self, status: "FinalStatus", point: int) -> "FinalStatus":
        """Count again with a group the other way, dead for alive or alive for dead.

        The group are the stones of one color that no stone of the other parts. Land behind an open
        border stays whose it is. A game that was ended by a count has the new result.

        Args:
            point: One of the stones.
        """
        import numpy as np

        from gtp_engine.go.regions import regions
        from gtp_engine.go.scoring import agreed_owners, format_result, resulting_margin
        from gtp_engine.play.adjudication.explanation import explain
        from gtp_engine.play.adjudication.status import status_of

        position = self.position
        color = position.color_at(point)
        open_points = [p for p in position.points() if position.color_at(p) in (EMPTY, color)]
        (region,) = (each for each in regions(open_points, position.width) if point in each)
        group = {p for p in region if position.color_at(p) == color}
        dead = set(status.dead)
        on_the_board = agreed_owners(position, dead)
        expected = np.zeros(len(on_the_board))
        for land, sign in ((status.black_territory, 1.0), (status.white_territory, -1.0)):
            expected[[p for p in land if on_the_board[p] == EMPTY]] = sign
        dead = dead - group if point in dead else dead | group
        found = status_of(position, explain(position, None).chains, dead, expected)
        if resulting_margin(self.result) is not None:
            self.end(format_result(found.white_score))
        return found

    def end(self, result: str) -> None:
        """Take note of how the game ended, or with an empty result that it goes on."""
        self.result = result
        self.engine.note_result(result)
