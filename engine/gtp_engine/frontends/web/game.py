"""The game that pages show and play: what they ask for is done one by one, in a thread of its own.

Pages send wishes, small JSON objects whose `do` names a method `_do_...` here, or the bytes of an
SGF file. They are told the whole state as one JSON text, whenever it has changed.
"""

import json
import queue
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from gtp_engine.arguments import parse_count, parse_size
from gtp_engine.coords import BLACK, COLOR_NAMES, EMPTY, PASS, WHITE, parse_vertex
from gtp_engine.evaluators.human_profile import HumanProfile
from gtp_engine.evaluators.nets.net_files import DEFAULT_NET, whole_nets
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.games import FIVE
from gtp_engine.go.handicap import fixed_handicap_points
from gtp_engine.go.rules import GO, PRESETS, Rules, parse_komi
from gtp_engine.play.engine import Engine
from gtp_engine.play.game_recorder import NAME_IN_RECORDS, OWN_NAME
from gtp_engine.play.levels import find_level, highest_level
from gtp_engine.play.loading import EngineUnavailableError
from gtp_engine.play.settings import customary_komi
from gtp_engine.play.table import NO_RESULT_MESSAGE, SEATS, Table
from gtp_engine.search.analysis import Analysis
from gtp_engine.search.request import ReportRequest
from gtp_engine.search.stopping import Limits

if TYPE_CHECKING:
    from gtp_engine.go.game_record import GameRecord
    from gtp_engine.play.adjudication.status import FinalStatus

MOST_WISHES = 64  # that wait; more are dropped, and it is said
MOST_TEXT = 100  # characters of a value in a wish
MOST_MOVES = 1500  # of a game that is loaded
MOST_PLAYOUTS = 10_000  # of a move
MOST_SECONDS = 60.0  # of a move, and of an analysis
ANALYSIS_VISITS = 20_000
MOST_REVIEW_VISITS = 400
REVIEW_MB = 256  # of trees, beside the game's
REPORT_SECONDS = 0.25
TOO_BUSY = "Too much waits already: the engine is busy, try again later."

_URGENT = ("load", "new", "undo", "redo", "resign", "go", "stop", "score", "seat")
"""Wishes that make the engine move at once."""


class WebGame:
    """One engine, one game, any number of pages.

    Args:
        engine: Knows the game; its loading has begun.
        seat: Which colors people play at first, one of SEATS.
        notices: Lines that the engine says; they are shown and removed.
    """

    def __init__(self, engine: Engine, seat: str, notices: list[str]) -> None:
        self._engine = engine
        named = {name: name for name in whole_nets() if name != FIVE}
        own = engine.settings.net or DEFAULT_NET
        self._nets = named if own in named else {"as started": own, **named}
        """What pages call the nets that they may choose."""
        self._playouts = engine.settings.playouts
        """Of a move, where pages name no number."""
        self._table = Table(engine, SEATS[seat])
        self._notices = notices
        self._wishes: queue.Queue[dict[str, Any] | bytes] = queue.Queue(MOST_WISHES)
        self._look_wish: dict[str, Any] | None = None
        """The newest wish to look, while one is in line."""
        self._stop: threading.Event | None = None
        """Cuts short what runs at the moment."""
        self._is_moving = False
        """Whether that is a move of the engine."""
        self._is_waiting = False  # the engine failed, and does not try again by itself
        self._helps = False  # the engine moves for a person
        self._status: FinalStatus | None = None
        """The latest count."""
        self._looks_at: int | None = None
        """After how many moves the position is that pages want analysed."""
        self._is_other = False  # than the game that pages were told of
        self._names: dict[int, str] = {}
        self._comments: dict[int, str] = {}
        self._told: dict[str, str] = {}
        """What else a record says that was loaded, as `format_sgf` takes it."""
        self._cancel: threading.Event | None = None
        """Ends the review that is being made."""
        self._guard = threading.Lock()
        self._state: dict[str, Any] = {
            "game": 0,
            "size": engine.size,
            "moves": [],
            "seat": self._seats(),
            "said": [],
            "doing": "loading the engine",
            "found": None,
            "looking": False,  # at what is analysed, in all pages
            "count": None,
            "review": None,
            "rules": _title(engine.settings.rules),  # as fields of the page begin
        }
        self.on_change: Callable[[], None] = lambda: None
        """Called from any thread whenever `text` is another one."""
        self.text = json.dumps(self._state)
        self.sgf = ""
        self.review_page = ""
        """The latest review, as a page."""

    def start(self) -> None:
        """Begin to work, for as long as the process lives."""
        threading.Thread(target=self._work, daemon=True).start()

    def choices(self) -> dict[str, Any]:
        """Return what a page can choose from, by the names of its fields."""
        return {
            "net": list(self._nets),
            "rules": [rules.title for rules in PRESETS.values()],
            "level": [str(n) for n in range(highest_level(), 0, -1)],
        }

    def wish(self, message: str | bytes) -> None:
        """Put a wish in line, from any thread; an analysis ends, and what is in the wish's way."""
        try:
            wish = message if isinstance(message, bytes) else json.loads(message)
        except (ValueError, RecursionError):
            return
        if not isinstance(wish, bytes | dict):
            return
        does = "load" if isinstance(wish, bytes) else wish.get("do")
        self._put_in_line(wish)
        if does == "cancel":
            self._do_cancel({})
        stop = self._stop
        if stop is not None and (does in _URGENT or not self._is_moving):
            stop.set()

    def _put_in_line(self, wish: dict[str, Any] | bytes) -> None:
        """Put a wish in line; of those to look, which a slider sends by the dozen, one waits."""
        if isinstance(wish, dict) and wish.get("do") == "look":
            with self._guard:
                waits, self._look_wish = self._look_wish is not None, wish
            if waits:
                return
        try:
            self._wishes.put_nowait(wish)
        except queue.Full:
            with self._guard:
                if wish is self._look_wish:
                    self._look_wish = None
            if TOO_BUSY not in self._state["said"]:  # a flood of wishes is no flood of news
                self._say(TOO_BUSY.removesuffix("."))

    # The engine's thread --------------------------------------------------------------------------

    def _work(self) -> None:
        try:
            while not self._engine.wait_ready(REPORT_SECONDS):
                self._show(doing=self._engine.progress)
        except EngineUnavailableError as error:
            self._show(doing=str(error))
            return
        self._attempt(self._resume)
        while True:
            self._attempt(self._refresh)
            task = self._next_task()
            self._stop = threading.Event()  # before the look at what waits, so that none is missed
            if task is not None and self._wishes.empty():
                self._attempt(task)
                self._stop = None
            else:
                self._stop = None
                self._attempt(partial(self._obey, self._wishes.get()))

    def _attempt(self, task: Callable[[], None]) -> None:
        """Do something; whatever goes wrong is said, and the game goes on."""
        try:
            task()
        except Exception as error:
            is_refused = isinstance(error, ValueError) and not isinstance(error, NetFileError)
            self._is_waiting = not is_refused
            if not isinstance(error, ValueError | EngineUnavailableError):
                traceback.print_exc()
            self._say(str(error))

    def _next_task(self) -> Callable[[], None] | None:
        """Return what there is to do without being asked."""
        table = self._table
        self._is_moving = self._helps or (table.is_engines_turn and not self._is_waiting)
        if self._is_moving:
            return self._generate
        if table.position.is_over and not table.result and not self._is_waiting:
            return self._count
        return self._look if self._looks_at is not None else None

    def _generate(self) -> None:
        self._helps = False
        self._show(doing="thinking")
        color = self._table.position.to_play
        decision = self._table.let_engine_move(stop=self._stop)
        if decision.point is None or decision.point == PASS:
            said = "resigns" if decision.point is None else "passes"
            self._say(f"{COLOR_NAMES[color]} {said}")

    def _look(self) -> None:
        position = self._table.position
        turn, self._looks_at = self._looks_at, None
        if turn is None or turn > position.ply:
            return
        is_the_end = self._table.result and turn == position.ply  # who has won is still to be seen
        self._show(doing="analysing", count=self._state["count"] if is_the_end else None)
        request = ReportRequest(REPORT_SECONDS, partial(self._report, turn), ownership=True)
        limits = Limits(visits=ANALYSIS_VISITS, seconds=MOST_SECONDS)
        back = position.ply - turn
        self._engine.analyze(position.to_play, request, limits, stop=self._stop, back=back)
        if self._stop is not None and self._stop.is_set():  # by a wish, which may change nothing
            self._looks_at = turn

    def _report(self, turn: int, analysis: Analysis) -> None:
        from gtp_engine.frontends.review.findings import position_report
        from gtp_engine.frontends.review.judgement import judgement_of
        from gtp_engine.frontends.review.page import position_data

        size = analysis.width, analysis.height
        report = position_report(judgement_of(analysis), analysis.vertex)
        found = position_data(report, *size)
        self._show(found={"turn": turn, "visits": analysis.visits, **found})

    def _count(self) -> None:
        """Count the game as it stands, and end it if both have passed."""
        self._show(doing="counting")
        table = self._table
        ends = table.position.is_over and not table.result
        self._tell_count(table.count() if ends else self._engine.final_status())

    def _tell_count(self, status: "FinalStatus") -> None:
        from gtp_engine.frontends.review.page import letters
        from gtp_engine.go.scoring import format_result

        self._status, position = status, self._table.position
        count: dict[str, Any] = {"turn": position.ply}
        for key in ("dead", "black_territory", "white_territory"):
            points = getattr(status, key)
            count[key] = "".join(letters(point, position.width) for point in points)
        self._show(count=count)
        said = f"counted as it stands: {format_result(status.white_score)}"
        self._say(NO_RESULT_MESSAGE if position.is_void else said)

    # Wishes ---------------------------------------------------------------------------------------

    def _obey(self, wish: dict[str, Any] | bytes) -> None:
        does = "load" if isinstance(wish, bytes) else _text(wish, "do")
        if does != "look":  # as pages do by themselves, of which another one may have been told
            self._show(said=[])
        if isinstance(wish, bytes):
            return self._load(wish)
        handler = getattr(self, f"_do_{does}", None)
        if handler is None:
            raise ValueError("the page wishes what nobody knows")
        self._is_waiting = False
        handler(wish)

    def _do_play(self, wish: dict[str, Any]) -> None:
        """Make a person's move, unless the page showed another position than the present one."""
        table, position = self._table, self._table.position
        if wish.get("turn") != position.ply or position.to_play not in table.colors:
            return
        if table.result:
            raise ValueError("the game is over")
        table.play(parse_vertex(_text(wish, "at"), position.width, position.height))

    def _do_undo(self, wish: dict[str, Any]) -> None:
        if not self._table.take_back():
            raise ValueError("there is no move of yours to take back")

    def _do_redo(self, wish: dict[str, Any]) -> None:
        """Make again what was taken back, up to the next move of people."""
        table = self._table
        if not table.step_forward():
            raise ValueError("there is no move to make again")
        while table.position.to_play not in table.colors and table.step_forward():
            pass

    def _do_resign(self, wish: dict[str, Any]) -> None:
        if not self._table.result:
            self._table.resign()

    def _do_go(self, wish: dict[str, Any]) -> None:
        self._helps = not (self._table.result or self._table.position.is_over)

    def _do_stop(self, wish: dict[str, Any]) -> None:
        """Do nothing: the wish itself has ended what was thought about."""

    def _do_score(self, wish: dict[str, Any]) -> None:
        self._looks_at = None  # the count is shown in its place
        self._show(looking=False)
        self._count()

    def _do_dead(self, wish: dict[str, Any]) -> None:
        """Count again with the stones at a point dead, or alive after all."""
        position, count = self._table.position, self._state["count"] or {}
        point = parse_vertex(_text(wish, "at"), position.width, position.height)
        if self._status is None or count.get("turn") != position.ply:
            raise ValueError("there is no count to change")
        if point == PASS or position.color_at(point) == EMPTY:
            raise ValueError("there are no stones")
        self._tell_count(self._table.turn_status(self._status, point))

    def _do_look(self, wish: dict[str, Any]) -> None:
        with self._guard:
            newest, self._look_wish = self._look_wish or wish, None
        turn = newest.get("turn")
        self._looks_at = turn if isinstance(turn, int) and turn >= 0 else None
        self._show(looking=self._looks_at is not None)

    def _do_seat(self, wish: dict[str, Any], size: tuple[int, int] | None = None) -> None:
        """Change who plays which color, and how strong the engine is.

        Args:
            size: Of the board that is played on then, if it is another one.
        """
        engine = self._engine
        you, name, level, playouts, profile = (
            _text(wish, key) for key in ("you", "net", "level", "playouts", "profile")
        )
        find_level(parse_count(level))
        most = min(parse_count(playouts), MOST_PLAYOUTS) if playouts else self._playouts
        whom = HumanProfile.parse(profile) if profile else None
        net = self._nets.get(name)
        if you not in SEATS or net is None:
            raise ValueError("the page offers no such color or net")
        before = engine.settings.net or DEFAULT_NET
        if net != before:
            self._show(doing="loading the net")
            engine.open_net(net)
        width, height = size or engine.size
        opened = engine.net()
        if opened is not None and not opened.info.accepts(width, height):
            if net != before:
                engine.open_net(before)
            raise ValueError(f"the net {name} does not play on {width}x{height}")
        if profile != self._seats()["profile"]:
            try:
                engine.set_human_profile(whom)
            except EngineUnavailableError:
                if whom is not None:
                    if net != before:
                        engine.open_net(before)
                    raise
                engine.settings = replace(engine.settings, human_profile=None)  # of another net
        engine.settings = replace(engine.settings, playouts=most)
        if level != self._seats()["level"]:  # a page may leave open how moves are chosen else
            engine.set_level(int(level))
        self._table.colors = SEATS[you]
        if not self._table.result:
            self._table.begin()  # nobody looks back any more: the engine may move

    def _do_new(self, wish: dict[str, Any]) -> None:
        """Begin another game, with new seats."""
        from gtp_engine.games import new_game

        size, rules = parse_size(_text(wish, "size")), Rules.parse(_text(wish, "rules"))
        handicap, komi = _text(wish, "handicap"), _text(wish, "komi")
        n_stones = parse_count(handicap) if handicap != "0" else 0
        stones = fixed_handicap_points(*size, n_stones) if n_stones > 1 else []
        usual = self._engine.settings.komi
        if usual is None:
            usual = customary_komi(rules, *size, has_handicap=bool(stones))
        game = new_game(GO, *size, replace(rules, komi=parse_komi(komi) if komi else usual))
        if stones:
            game.set_up(stones, (), WHITE)
        self._do_seat(wish, size)
        self._engine.adopt(game, is_record=False)
        self._take_up()

    def _load(self, data: bytes) -> None:
        """Take over a game, which people go through and go on with."""
        from gtp_engine.go.sgf import parse_sgf

        record = parse_sgf(data)
        if len(record.moves) > MOST_MOVES:
            raise ValueError(f"the game has more than {MOST_MOVES} moves")
        self._engine.adopt(self._engine.position_of(record))
        self._take_up(SEATS["both"], record.result)
        self._names = {BLACK: record.black_name, WHITE: record.white_name}
        kept = ("date", "black_rank", "white_rank")
        self._told = {name: getattr(record, name) for name in kept}
        self._comments = dict(record.comments)

    def _resume(self) -> None:
        """Go on with the game that an earlier run has left unfinished."""
        from gtp_engine.go.sgf import load_sgf

        folder = self._engine.settings.keep_games
        files = [] if folder is None else list(folder.glob("*.sgf"))
        if not files:
            return
        path = max(files, key=lambda file: file.stat().st_mtime)
        record = load_sgf(path)
        if record.moves and not record.result:
            names = {BLACK: record.black_name, WHITE: record.white_name}
            mine = {color for color, name in names.items() if name.startswith(OWN_NAME)}
            seats = SEATS["both"] - mine or SEATS["both"]  # it may have lent a hand
            self._engine.go_on(path, record)
            self._take_up(seats)
            self._say(f"the game of {path.name} goes on")

    def _take_up(self, seats: frozenset[int] | None = None, result: str = "") -> None:
        """Show the engine's game, which is another one than before."""
        if seats is not None:
            self._table.colors = seats
        self._table.begin(result)
        self._names, self._comments, self._told = {}, {}, {}
        self._looks_at = None
        self._is_other = True
        if self._cancel is None:
            self._show(review=None)  # that of the game before

    # Reviews --------------------------------------------------------------------------------------

    def _do_review(self, wish: dict[str, Any]) -> None:
        from gtp_engine.go.sgf import parse_sgf

        visits = min(parse_count(_text(wish, "visits")), MOST_REVIEW_VISITS)
        record = parse_sgf(self.sgf)
        if self._cancel is not None or not record.moves:
            raise ValueError("there are no moves to review, or a review is being made")
        self._cancel = threading.Event()
        arguments = (record, visits, self._cancel)
        threading.Thread(target=self._review, args=arguments, daemon=True).start()

    def _do_cancel(self, wish: dict[str, Any]) -> None:
        """End the review that is being made, from any thread."""
        cancel = self._cancel
        if cancel is not None:
            cancel.set()

    def _review(self, record: "GameRecord", visits: int, cancel: threading.Event) -> None:
        """Make a review, in a thread of its own: the game goes on meanwhile."""
        from gtp_engine.frontends.review.findings import make_report
        from gtp_engine.frontends.review.page import game_page
        from gtp_engine.frontends.review.stages import Material, Wish, reckoned_visits
        from gtp_engine.frontends.review.work import ReviewTask, SearchLog, run_reviews
        from gtp_engine.play.analysis_scheduler import AnalysisScheduler

        done, total = 0, reckoned_visits(record, visits)
        found: list[Material | None] = []

        def count(task: ReviewTask, wish: Wish) -> None:
            nonlocal done
            if cancel.is_set():
                raise InterruptedError
            done += wish.visits
            self._show(review={"done": min(99, 100 * done // total)})

        try:
            net, evaluator = self._engine.describe(), self._engine.search.evaluator
            task = ReviewTask(record, visits, SearchLog(None, {}))
            scheduler = AnalysisScheduler(evaluator, memory_mb=REVIEW_MB)
            run_reviews(scheduler, [task], count, lambda task, material: found.append(material))
            task.log.close(remove=True)
            if found[0] is None:
                raise task.failure or RuntimeError("the review ended without a word")
            report = make_report(record, found[0], name="game", digest="")
            self.review_page = game_page(record, {"net": net, "visits": visits, **report})
            outcome: dict[str, Any] | None = {"done": 100}
        except InterruptedError:
            outcome = None
        except Exception as error:
            traceback.print_exc()
            outcome = {"done": 0, "error": str(error)}
        # Before pages know: they may want another review at once, or a new game.
        self._cancel = None
        self._show(review=outcome)

    # What pages are told --------------------------------------------------------------------------

    def _refresh(self) -> None:
        """Tell the game as it stands."""
        from gtp_engine.frontends.review.page import letters
        from gtp_engine.go.sgf import format_sgf

        table, position = self._table, self._table.position
        rules = position.rules
        moves = [f"{move.color}{letters(move.point, position.width)}" for move in position.moves]
        names = {
            color: self._names.get(color, "you" if color in table.colors else NAME_IN_RECORDS)
            for color in COLOR_NAMES
        }
        before = [] if self._is_other else self._state["moves"]
        pairs = zip(before, moves, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        if len(before) > same:  # what was said of other moves goes
            same_in_all = len(position.all_moves) - position.ply + same
            self._comments = {n: text for n, text in self._comments.items() if n <= same_in_all}
        if moves != self._state["moves"]:
            self._looks_at = None  # pages say anew what they show
        stale = {
            name: None
            for name in ("found", "count")
            if self._is_other or (self._state[name] or {"turn": 0})["turn"] > same
        }
        self.sgf = format_sgf(
            position,
            black_name=names[BLACK],
            white_name=names[WHITE],
            result=table.result,
            comments=self._comments,
            **{"date": time.strftime("%Y-%m-%d"), **self._told},
        )
        while self._notices:
            self._say(self._notices.pop(0))
        self._show(
            size=(position.width, position.height),
            start="".join(str(color) for color in position.grid(0).ravel()),
            moves=moves,
            to_play=position.to_play,
            captured=[position.captured(color) for color in (WHITE, BLACK)],
            names=[names[BLACK], names[WHITE]],
            rules=_title(rules),
            komi=position.komi,
            result=table.result,
            is_ready=True,
            doing="",
            seat=self._seats(),
            game=self._state["game"] + self._is_other,
            **stale,
        )
        self._is_other = False

    def _seats(self) -> dict[str, str]:
        """Return what the fields of the page say of who plays."""
        settings, net = self._engine.settings, self._engine.settings.net or DEFAULT_NET
        return {
            "you": next(name for name, colors in SEATS.items() if colors == self._table.colors),
            "net": next(name for name, file in self._nets.items() if file == net),
            "level": str(settings.level or highest_level()),
            "playouts": str(settings.playouts or ""),
            "profile": "" if settings.human_profile is None else settings.human_profile.name,
        }

    def _say(self, sentence: str) -> None:
        self._show(said=[*self._state["said"][-4:], f"{sentence[:1].upper()}{sentence[1:]}."])

    def _show(self, **changes: Any) -> None:
        """Tell what has changed, from any thread."""
        with self._guard:
            self._state.update(changes)
            self.text = json.dumps(self._state, separators=(",", ":"))
        self.on_change()


def _text(wish: dict[str, Any], key: str) -> str:
    """Return a text of a wish.

    Raises:
        ValueError: There is none, or it is too long.
    """
    text = wish.get(key)
    if not isinstance(text, str) or len(text) > MOST_TEXT:
        raise ValueError(f"the page does not say {key}, or too much")
    return text.strip()


def _title(rules: Rules) -> str:
    """Return what pages call rules."""
    return rules.title or "other"
