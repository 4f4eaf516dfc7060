"""A game in progress: position, rules and komi, clock, handicap stones, the file that keeps it.

Nobody thinks here. Only the standard library is imported; boards are made once kernels are there.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gtp_engine.coords import BLACK, PASS, WHITE
from gtp_engine.go.handicap import HandicapError, fixed_handicap_points
from gtp_engine.go.rules import Rules, parse_komi
from gtp_engine.play.clock.clock import Clock
from gtp_engine.play.game_recorder import GameRecorder
from gtp_engine.play.settings import Settings, customary_komi

if TYPE_CHECKING:
    from gtp_engine.go.game_record import GameRecord
    from gtp_engine.go.position import Position


class Game:
    """The game that a client or a person plays, one after the other."""

    def __init__(self, settings: Settings) -> None:
        """Begin a game on the settings' board, which is made at the first use.

        Args:
            settings: The first board, rules and komi; where games are kept.
        """
        self.settings = settings
        self.clock = Clock()
        self._position: Position | None = None
        self._first_moves: list[tuple[int, int]] = []
        """Moves that were made before boards could be; the first board begins with them."""
        self._komi = settings.komi
        """That was asked for; None: the usual one."""
        self._own_rules: Rules | None = None
        """What was asked for, while a record's rules and komi are in force."""
        folder, keeps_all = settings.keep_games, settings.keep_all_games
        self._recorder = None if folder is None else GameRecorder(folder, keeps_all=keeps_all)

    def _wait_for_boards(self) -> None:
        """Wait until boards can be made; whoever loads them in the background says when."""

    def rest(self) -> None:
        """Leave the position alone; whoever thinks about it in the background does so no longer."""

    @property
    def position(self) -> "Position":
        """The game, once the kernels are there."""
        self._wait_for_boards()
        if self._position is None:
            from gtp_engine.games import new_game

            settings = self.settings
            rules = self._rules_of_a_new_game(*settings.size, settings.rules)
            self._position = new_game(settings.game, *settings.size, rules)
            self._position.play_all(self._first_moves, strict=False)
        return self._position

    @property
    def size(self) -> tuple[int, int]:
        """The board's width and height, which are known before it can be made."""
        if self._position is None:
            return self.settings.size
        return self._position.width, self._position.height

    @property
    def rules(self) -> Rules:
        """The rules in force, komi included."""
        return self.position.rules

    @rules.setter
    def rules(self, rules: Rules) -> None:
        """Change the rules, keeping the game, a komi that was set, a record's, an unusual one."""
        self.rest()
        position = self.position
        is_records = self._own_rules is not None
        is_usual = position.komi == self._customary(position.rules)
        keeps = self._komi is not None or is_records or not is_usual
        komi = position.komi if keeps else self._customary(rules)
        position.set_rules(replace(rules, komi=komi))
        if self._own_rules is not None:
            self._own_rules = rules

    @property
    def komi(self) -> float:
        """Points for White."""
        return self.position.komi

    @komi.setter
    def komi(self, komi: float) -> None:
        self.rest()
        self._komi = self.position.komi = parse_komi(komi)

    def _customary(self, rules: Rules) -> float:
        return customary_komi(rules, self.position.width, self.position.height)

    def new_game(self, width: int, height: int) -> None:
        """Clear the board and the clock; the komi and rules that were asked for stay.

        Raises:
            SetupError: A size that is not supported; the game is unchanged.
        """
        from gtp_engine.games import new_game

        self.rest()
        rules = self._rules_of_a_new_game(width, height)
        self._position, self._own_rules = new_game(self.settings.game, width, height, rules), None
        self._begin_game()

    def _rules_of_a_new_game(
        self, width: int, height: int, rules: Rules | None = None, *, has_handicap: bool = False
    ) -> Rules:
        """Return rules with the komi that was asked for, else the usual one.

        Args:
            rules: Those that were asked for when None.
        """
        rules, komi = rules or self._own_rules or self.rules, self._komi
        if komi is None:
            komi = customary_komi(rules, width, height, has_handicap=has_handicap)
        return replace(rules, komi=komi)

    def set_up(self, black: Iterable[int], white: Iterable[int], to_play: int = BLACK) -> None:
        """Start a game from these stones.

        Raises:
            SetupError: They cannot stand so; the game is unchanged.
        """
        self.rest()
        self.position.set_up(black, white, to_play)
        self._begin_game()

    def position_of(self, record: "GameRecord", before_move: int | None = None) -> "Position":
        """Play a record over, under the rules of a new game where it names none.

        Args:
            before_move: Stop before the move of this number, counted from 1.

        Raises:
            SgfError: A move or a set-up cannot be on the board; says which.
        """
        rules = self._rules_of_a_new_game(
            record.width, record.height, record.rules, has_handicap=record.has_handicap
        )
        return record.position_under(rules, before_move)

    def adopt(self, position: "Position", *, is_record: bool = True) -> None:
        """Go on with a game that was played elsewhere.

        Args:
            is_record: Whether its rules and komi hold for this game alone.

        Raises:
            SgfError: It is none of the game that is played here; the game is unchanged.
        """
        from gtp_engine.games import replayed

        position = replayed(self.settings.game, position)
        self.rest()
        self._own_rules = self._own_rules or self.rules if is_record else None
        self._position = position
        self._begin_game()

    def go_on(self, path: Path, record: "GameRecord") -> None:
        """Take up a game that was kept in a file and is not over, and go on in that file.

        Raises:
            SgfError: It cannot be played over; the game is unchanged.
        """
        self.adopt(self.position_of(record))
        if self._recorder is not None:
            self._recorder.go_on(path, record, self.position)

    def _begin_game(self) -> None:
        self.clock.reset()
        if self._recorder is not None:
            self._recorder.begin()

    def play(self, color: int, point: int) -> None:
        """Play a move of either player; repetitions that superko forbids are tolerated.

        Raises:
            IllegalMoveError: The move is refused; the game is unchanged.
        """
        self.rest()
        self.position.play(color, point, strict=False)
        self._keep_changes()

    def play_sequence(self, moves: Sequence[tuple[int, int]]) -> None:
        """Play several moves, or none of them.

        Raises:
            IllegalMoveError: A move is refused; the game is unchanged.
        """
        self.rest()
        self.position.play_all(moves, strict=False)
        self._keep_changes()

    def undo(self, count: int = 1) -> None:
        """Take back moves.

        Raises:
            IndexError: There are fewer; the game is unchanged.
        """
        self.rest()
        self.position.undo(count)
        self._keep_changes()

    def _keep_changes(self) -> None:
        if self._recorder is not None:
            self._recorder.changed(self.position)

    def note_result(self, result: str) -> None:
        """Take note of how the game ended, as SGF has it; empty where it goes on after all."""
        if self._recorder is not None:
            self._recorder.ended(self.position, result)

    # Handicap -------------------------------------------------------------------------------------

    def set_free_handicap(self, points: Sequence[int]) -> None:
        """Put Black's handicap stones on an empty board; White is to move.

        Raises:
            HandicapError: The board is not empty, or a point comes twice.
        """
        self._check_empty()
        if len(set(points)) != len(points) or PASS in points or len(points) < 1:
            raise HandicapError("bad vertex list")
        try:
            self.set_up(points, (), WHITE)
        except ValueError as error:
            raise HandicapError(f"bad vertex list: {error}") from None

    def fixed_handicap(self, count: int) -> list[int]:
        """Put handicap stones on the traditional places and return them.

        Raises:
            HandicapError: The board is not empty, or has no places for so many.
        """
        self._check_empty()
        points = fixed_handicap_points(self.position.width, self.position.height, count)
        self.set_free_handicap(points)
        return points

    def _check_empty(self) -> None:
        if self.position.ply or self.position.grid().any():
            raise HandicapError("board not empty")
