"""A game between a person and the engine: what is typed, what happens, what is shown."""

import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gtp_engine.arguments import parse_size
from gtp_engine.coords import (
    BLACK,
    COLOR_NAMES,
    COLUMN_LETTERS,
    EMPTY,
    PASS,
    WHITE,
    opponent,
    parse_vertex,
    point_at,
    row_col,
)
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.frontends.terminal.board_view import OTHERS_LETTERS, Marks
from gtp_engine.frontends.terminal.game_file import GameFile, path_of
from gtp_engine.frontends.terminal.keyboard import Keyboard, Leaving, explain, find_key
from gtp_engine.frontends.terminal.screen import (
    Scene,
    Screen,
    candidate_points,
    describe_candidates,
    describe_chances,
    describe_game,
    describe_score,
)
from gtp_engine.games import parse_rules, position_type
from gtp_engine.go.game_record import GameRecord
from gtp_engine.go.position import IllegalMoveError, Position, SetupError
from gtp_engine.go.rules import NO_FIVE, InvalidRulesError, parse_komi
from gtp_engine.go.scoring import format_result
from gtp_engine.go.sgf import SgfError, load_sgf
from gtp_engine.go.tactics import Tactic, threats
from gtp_engine.messages import counted, describe_lead
from gtp_engine.play.adjudication.status import FinalStatus
from gtp_engine.play.engine import Engine
from gtp_engine.play.game_recorder import NAME_IN_RECORDS
from gtp_engine.play.levels import highest_level
from gtp_engine.play.loading import EngineUnavailableError
from gtp_engine.play.settings import HANDICAP_KOMI
from gtp_engine.play.table import NO_RESULT_MESSAGE, Table
from gtp_engine.search.analysis import Analysis
from gtp_engine.search.request import ReportRequest
from gtp_engine.search.stopping import Limits

MOST_TACTICS = 3
"""Sentences about captures and rescues with a hint."""
READING = "please wait: reading what can be captured (compiled once, which takes some seconds)"
"""Said while that is read for a hint."""

LOOK_SECONDS = 2.0
"""How long the engine looks at a person's move where no playouts are set."""

REPORT_SECONDS = 0.25
"""How often it says what it thinks meanwhile."""

_NUMBER = re.compile(r"[0-9]{1,4}")
_VERTEX = re.compile(r"[A-Za-z][0-9]{1,2}")


@dataclass
class View:
    """What is shown beside the stones, until something changes the game."""

    analysis: Analysis | None = None
    """What the engine thought last, perhaps about the position before its move."""
    status: FinalStatus | None = None
    """The count that was asked for."""
    line: tuple[int, ...] = ()
    """Moves to be numbered on the board in place of the candidates."""
    others: Analysis | None = None
    """What the opponent would do, were it to move."""


class TerminalGame:
    """One person, one terminal, one engine, which may still be loading.

    Args:
        colors: Which the person plays; the engine has the others.
        notices: Lines that the engine says; they are shown and removed.
        note: Called with what is typed and said, for a log.
    """

    def __init__(
        self,
        engine: Engine,
        screen: Screen,
        colors: frozenset[int],
        notices: list[str],
        note: Callable[[str, str], None] = lambda mark, text: None,
    ) -> None:
        self._engine = engine
        self._table = Table(engine, colors)
        self._screen = screen
        self._notices = notices
        self._note = note
        self._keyboard = Keyboard(
            self._stop_thinking, self._show, self._move_cursor, self._name_cursor
        )
        self._cursor: tuple[int, int] | None = None
        """Row and column to which the arrow keys have led."""
        self._stop: threading.Event | None = None
        """Cuts short what runs at the moment."""
        self._is_waiting = False  # the engine failed, and does not try again by itself
        self._shows_candidates = False
        self._shows_territory = False
        self._view = View()
        self._was_asked = False  # for candidates, by a key
        self._message: list[str] = []
        self._file = GameFile(
            {c: "you" if c in colors else NAME_IN_RECORDS for c in (BLACK, WHITE)}
        )
        self._handlers: dict[str, Callable[[str], None]] = {
            "pass": lambda rest: self._play(PASS),
            "undo": self._undo,
            "redo": lambda rest: self._step(self._table.step_forward, None),
            "back": lambda rest: self._step_some(self._table.step_back, rest),
            "forward": lambda rest: self._step_some(self._table.step_forward, rest),
            "hint": self._hint,
            "line": self._show_line,
            "both": self._hint_both,
            "candidates": self._toggle_candidates,
            "territory": self._toggle_territory,
            "score": self._count,
            "dead": self._turn_dead,
            "go": self._go,
            "resign": self._resign,
            "level": self._set_level,
            "komi": self._set_komi,
            "rules": self._set_rules,
            "save": self._save,
            "load": self._load_file,
            "new": self._new,
            "help": lambda rest: self._message.extend(explain(has_count=self._has_count)),
            "quit": self._quit,
        }

    # The conversation -----------------------------------------------------------------------------

    def run(self, resume: Path | None = None, handicap: int = 0) -> None:
        """Play until the person leaves.

        Args:
            handicap: Stones that Black begins with, on the customary places.

        Raises:
            EngineUnavailableError: There is no usable net.
            SgfError: The game cannot be resumed.
            HandicapError: There are no places for so many stones.
        """
        with self._keyboard.listening():
            try:
                self._wait_for_engine()
                if resume is not None:
                    self._adopt(resume)
                elif handicap:
                    if handicap > 1:  # one stone is Black's first move
                        self._engine.fixed_handicap(handicap)
                    if self._engine.settings.komi is None:  # the next game has the usual one again
                        self._position.komi = HANDICAP_KOMI
                while True:
                    self._let_engine_move()
                    self._show()
                    line = self._keyboard.read()
                    self._message = []
                    self._obey(line)
            except Leaving as leaving:
                self._leave(leaving.is_terminal_gone)
            except OSError:  # nobody reads any more
                self._leave(is_terminal_gone=True)

    def _wait_for_engine(self) -> None:
        self._engine.load()
        while not self._engine.is_ready:
            self._screen.progress(f"please wait: {self._engine.progress}")
            time.sleep(0.05)
            self._keyboard.check()
        self._engine.wait_ready()

    def _obey(self, line: str) -> None:
        self._note(">", line)
        if not self._keyboard.is_echoed:
            self._screen.echo(line)
        word, _, rest = line.partition(" ")
        if not word:
            return
        self._is_waiting = False
        key = find_key(word)
        if key is not None and key.needs_count and not self._has_count and key.name != "pass":
            self._message.append("Nothing is counted in this game.")
        elif key is not None:
            self._handlers[key.name](rest.strip())
        elif (point := self._point(word)) is not None:
            self._play(point)

    def _point(self, word: str) -> int | None:
        """Return the point that a word names; say why if it names none."""
        width, height = self._position.width, self._position.height
        try:
            return parse_vertex(word, width, height)
        except ValueError:
            if _VERTEX.fullmatch(word):
                columns = COLUMN_LETTERS[:width]
                without = ", without I" if width > 8 else ""
                self._message.append(
                    f"{word.upper()} is off the board: columns are A to {columns[-1]}{without},"
                    f" rows 1 to {height}."
                )
            else:
                self._message.append(f"{word[:20]!r} is neither a move nor a command; ? explains")
        return None

    def _leave(self, is_terminal_gone: bool) -> None:
        """Save what is not on file, and say where it is."""
        said = []
        if self._engine.has_kernels:
            said = self._file.save_changes(*self._table.whole_game())
        if is_terminal_gone:
            return
        try:
            for line in said or ["Good-bye."]:
                self._screen.say(line)
        except OSError:
            return

    # Showing --------------------------------------------------------------------------------------

    @property
    def _position(self) -> Position:
        return self._engine.position

    @property
    def _has_count(self) -> bool:
        """Whether the game ends with a count of points."""
        return not self._position.rules.must_move

    def _show(self) -> None:
        names = {
            color: "you" if color in self._table.colors else "gtp-engine"
            for color in (BLACK, WHITE)
        }
        position, view = self._position, self._view
        panel, has_count = describe_game(position, names), self._has_count
        if view.analysis is not None:
            panel += ["", *describe_chances(view.analysis, has_count=has_count)]
            if self._shows_moves(view.analysis):
                panel += ["", *describe_candidates(view.analysis, has_count=has_count)]
        if view.others is not None:
            panel += ["", *describe_candidates(view.others, OTHERS_LETTERS, has_count=has_count)]
        self._message += self._notices
        self._notices.clear()
        message = [*self._message]
        if self._table.result:
            message.append(f"The game is over: {self._table.result}. New, undo, save or quit?")
        who = "over" if self._table.result else COLOR_NAMES[position.to_play]
        marks = replace(self._marks(), cursor=self._cursor_point())
        self._screen.show(Scene(position, marks, panel, message, f"{who}> "))

    def _shows_moves(self, analysis: Analysis) -> bool:
        """Whether to show the moves of an analysis: they are of now, and were asked for."""
        is_about_now = analysis.to_play == self._position.to_play and not self._table.result
        return is_about_now and (self._was_asked or self._shows_candidates)

    def _marks(self) -> Marks:
        view = self._view
        if view.status is not None:
            return Marks(
                ownership=self._settled_owners(view.status), dead=frozenset(view.status.dead)
            )
        analysis = view.analysis
        if analysis is None:
            return Marks()
        ownership = analysis.ownership if self._shows_territory else None
        if ownership is not None and analysis.to_play == WHITE:
            ownership = -ownership
        points = candidate_points(analysis) if self._shows_moves(analysis) else ()
        others = candidate_points(view.others) if view.others is not None else ()
        return Marks(view.line or points, ownership, others=others)

    def _cursor_point(self) -> int | None:
        return None if self._cursor is None else point_at(*self._cursor, self._position.width)

    def _move_cursor(self, down: int, right: int) -> None:
        """Move the ring on the board, from its middle at first, and draw it."""
        width, height = self._position.width, self._position.height
        row, col = self._cursor or (height // 2 - down, width // 2 - right)
        self._cursor = min(max(row + down, 0), height - 1), min(max(col + right, 0), width - 1)
        self._show()

    def _name_cursor(self) -> str:
        """Return the vertex of the ring, which then goes; empty without one."""
        point, self._cursor = self._cursor_point(), None
        return "" if point is None else self._position.vertex(point)

    def _settled_owners(self, status: FinalStatus) -> npt.NDArray[np.float32]:
        """Return [height, width] 1 on Black's points and stones, -1 on White's, else 0."""
        position = self._position
        owners = np.zeros((position.height, position.width), np.float32)
        for points, owner in ((status.black_territory, 1.0), (status.white_territory, -1.0)):
            for point in points:
                owners[row_col(point, position.width)] = owner
        return owners

    # The engine -----------------------------------------------------------------------------------

    def _let_engine_move(self) -> None:
        """Let the engine play while it is to move, then look at the person's move if wanted."""
        while self._table.is_engines_turn and not self._is_waiting:
            if self._screen.is_live:
                self._show()
            self._let_it_think(self._generate)
        wants_look = self._shows_candidates or self._shows_territory
        known, is_over = self._view.analysis, self._position.is_over or bool(self._table.result)
        is_known = known is not None and known.to_play == self._position.to_play
        is_counted = self._view.status is not None
        if wants_look and not (is_over or is_known or is_counted or self._is_waiting):
            self._let_it_think(self._look)
        if self._position.is_over and not self._table.result:
            self._let_it_think(self._finish)

    def _let_it_think(self, task: Callable[[], None]) -> None:
        """Run something that takes a while, and which Ctrl-C cuts short."""
        self._stop = threading.Event()
        try:
            task()
        except (EngineUnavailableError, NetFileError) as error:
            self._message.append(str(error))
            self._is_waiting = True
        finally:
            self._stop = None
        self._screen.progress("")
        self._keyboard.check()

    def _stop_thinking(self) -> bool:
        stop = self._stop
        if stop is not None:
            stop.set()
        return stop is not None

    def _generate(self) -> None:
        color = self._position.to_play
        decision = self._table.let_engine_move(self._report_request(), self._stop)
        self._view, self._was_asked = View(decision.analysis), False
        name = COLOR_NAMES[color].capitalize()
        if decision.point is None:
            self._message.append(f"{name} resigns.")
        else:
            where = self._position.vertex(decision.point)
            self._message.append(f"{name} {'passes' if where == 'pass' else 'plays ' + where}.")

    def _look(self) -> None:
        self._view = View(self._analyze(self._position.to_play))

    def _look_at_both(self) -> None:
        self._look()
        self._view.others = self._analyze(opponent(self._position.to_play))

    def _analyze(self, color: int) -> Analysis:
        playouts = self._engine.settings.playouts
        limits = Limits(playouts=playouts, seconds=None if playouts else LOOK_SECONDS)
        return self._engine.analyze(color, self._report_request(), limits, stop=self._stop)

    def _finish(self) -> None:
        if not self._has_count:
            margin = self._engine.final_score()
            winner = COLOR_NAMES[WHITE if margin > 0 else BLACK].capitalize()
            self._message.append(f"{winner} has won." if margin else "A draw.")
            self._table.end(format_result(margin))
            return
        self._view.status = self._table.count()
        if self._position.is_void:
            self._message.append(NO_RESULT_MESSAGE)
        else:
            self._tell_score()

    def _tell_score(self) -> None:
        """Say the count, and why the engine expects another, if it was asked and does."""
        status, analysis = self._view.status, self._view.analysis
        assert status is not None
        self._message += describe_score(status.white_score, len(status.dead))
        if analysis is None or self._table.result:
            return
        expected = analysis.score_lead if analysis.to_play == WHITE else -analysis.score_lead
        if abs(expected - status.white_score) >= 1.0:
            self._message.append(
                f"The search said: {describe_lead(-expected)}. It thinks of the moves to come;"
                " a count takes the board as it is."
            )

    def _report_request(self) -> ReportRequest:
        return ReportRequest(
            interval=REPORT_SECONDS, callback=self._say_progress, ownership=True, pv_length=9
        )

    def _say_progress(self, analysis: Analysis) -> None:
        if analysis.moves and not analysis.is_final:
            best = analysis.vertex(analysis.moves[0].point)
            text = (
                f"thinking: {best}, {analysis.winrate:.0%} for"
                f" {COLOR_NAMES[analysis.to_play]}, {counted(analysis.visits, 'visit')}"
                " (Ctrl-C: move now)"
            )
            try:
                self._screen.progress(text)
            except OSError:  # the window was closed, and the signal has not come yet
                self._keyboard.lose_terminal()

    # The keys -------------------------------------------------------------------------------------

    def _play(self, point: int) -> None:
        """Make a person's move; one that superko forbids is refused."""
        if self._table.result:
            self._message.append("The game is over.")
            return
        if self._position.to_play not in self._table.colors:
            self._message.append("This is the engine's move; go lets it move here.")
            return
        try:
            self._table.play(point)
        except IllegalMoveError as error:
            self._message.append(f"Illegal move: {error}.")
            return
        self._view, self._was_asked = View(), False

    def _undo(self, rest: str) -> None:
        """Take back a person's resignation, else the latest move and what the engine answered."""
        if not self._table.take_back():
            self._message.append("There is no move of yours to take back.")
            return
        self._view, self._was_asked = View(), False
        self._message.append("Taken back.")

    def _step_some(self, step: Callable[[], bool], rest: str) -> None:
        """Go back or forward by the number that was typed, one move without."""
        if rest and not _NUMBER.fullmatch(rest):
            self._message.append(f"{rest[:20]!r} is no number of moves.")
        else:
            self._step(step, int(rest or 1))

    def _step(self, step: Callable[[], bool], most: int | None) -> None:
        done = 0
        while done != most and step():
            done += 1
        if not done:
            self._message.append("There is no such move.")
        self._view, self._was_asked = View(), False

    def _hint(self, rest: str) -> None:
        if not self._table.result:
            self._was_asked = True
            self._let_it_think(self._look)
            self._screen.progress(READING)
            self._message += self._tell_tactics()
            self._screen.progress("")

    def _hint_both(self, rest: str) -> None:
        if not self._table.result:
            self._was_asked = True
            self._let_it_think(self._look_at_both)

    def _show_line(self, rest: str) -> None:
        """Number the moves that follow a candidate on the board."""
        analysis = self._view.analysis
        number = int(rest or 1) if _NUMBER.fullmatch(rest or "1") else 0
        if analysis is None or not self._shows_moves(analysis):
            self._message.append("Ask for a hint first.")
        elif not 1 <= number <= len(candidate_points(analysis)):
            self._message.append(f"{rest[:20]!r} is none of the candidates.")
        else:
            self._view.line = analysis.moves[number - 1].pv
            self._message.append(" ".join(map(self._position.vertex, self._view.line)))

    def _tell_tactics(self) -> list[str]:
        """Return what the player to move can capture or save, a sentence for each move."""
        position = self._position
        first: dict[int, Tactic] = {}
        found = [] if position.rules.five != NO_FIVE else threats(position, position.to_play)
        for tactic in found:
            first.setdefault(tactic.move, tactic)
        return [
            f"{self._position.vertex(move)} {tactic.text}."
            for move, tactic in list(first.items())[:MOST_TACTICS]
        ]

    def _toggle_candidates(self, rest: str) -> None:
        self._shows_candidates = not self._shows_candidates
        self._view = View()

    def _toggle_territory(self, rest: str) -> None:
        self._shows_territory = not self._shows_territory
        self._view = View()

    def _count(self, rest: str) -> None:
        self._let_it_think(self._count_now)

    def _count_now(self) -> None:
        self._view.status = self._engine.final_status()
        self._tell_score()

    def _turn_dead(self, rest: str) -> None:
        """Count again with the stones that were named dead, or alive after all."""
        status = self._view.status
        if status is None:
            self._message.append("Count first: score.")
            return
        point = self._point(rest) if rest else None
        if point is None or point == PASS or self._position.color_at(point) == EMPTY:
            self._message.append("Which stones? dead D4")
            return
        self._view.status = self._table.turn_status(status, point)
        self._tell_score()

    def _set_level(self, rest: str) -> None:
        try:
            level = int(rest) if rest.isdecimal() else 0
            self._engine.set_level(level if rest else highest_level())
        except ValueError as error:
            self._message.append(f"{str(error).capitalize()}.")
        else:
            self._message.append(f"The engine plays at level {rest}." if rest else "At its best.")

    def _set_komi(self, rest: str) -> None:
        try:
            self._table.set_komi(parse_komi(rest))
        except ValueError:
            self._message.append("The komi is a number from -400 to 400.")
        self._view = View()

    def _set_rules(self, rest: str) -> None:
        try:
            self._table.set_rules(parse_rules(self._engine.settings.game, rest))
        except InvalidRulesError as error:
            self._message.append(f"No such rules: {error}.")
        except SetupError as error:
            self._message.append(f"The rules stay as they are: {error}.")
        self._view = View()

    def _go(self, rest: str) -> None:
        if not self._table.result:
            self._let_it_think(self._generate)

    def _resign(self, rest: str) -> None:
        if self._table.result:
            return
        self._table.resign()
        self._view = View()

    def _new(self, rest: str) -> None:
        try:
            size = parse_size(rest) if rest else self._engine.size
            if not self._lets_go():
                return
            self._engine.new_game(*size)
        except ValueError as error:
            self._message.append(f"No such board: {error}.")
            return
        self._begin()

    def _begin(self, record: GameRecord | None = None) -> None:
        self._table.begin(record.result if record else "")
        self._view, self._was_asked, self._cursor = View(), False, None
        self._file.begin(self._position, self._table.result, record)

    def _quit(self, rest: str) -> None:
        raise Leaving

    # Files ----------------------------------------------------------------------------------------

    def _save(self, rest: str) -> None:
        self._message.append(self._file.save(*self._table.whole_game(), rest))

    def _load_file(self, rest: str) -> None:
        if not rest:
            self._message.append("Which file? load FILE")
            return
        if not self._lets_go():
            return
        try:
            self._adopt(path_of(rest))
        except SgfError as error:
            self._message.append(f"Not loaded: {error}.")

    def _lets_go(self) -> bool:
        """Save the present game; return whether another may begin."""
        game = self._table.whole_game()
        self._message += self._file.save_changes(*game)
        is_free = self._file.lets_go(*game)
        if not is_free:
            self._message.append("The game goes on: save it elsewhere, or ask again to lose it.")
        return is_free

    def _adopt(self, path: Path) -> None:
        record = load_sgf(path, position_type(self._engine.settings.game))
        self._engine.adopt(self._engine.position_of(record))
        self._begin(record)
        self._message.append(f"{path} goes on after move {self._position.ply}.")
