"""The judge of a run: matches of new nets against the best so far, and of the best with GNU Go."""

import contextlib
import json
import logging
import math
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, replace

from gtp_engine.arena.gtp_client import Engines
from gtp_engine.arena.many_games import Contestant, PlayedGame, Terms, play_games, points
from gtp_engine.arena.match import Pairing, play_match
from gtp_engine.arena.referee import MatchGame, MatchTerms
from gtp_engine.arena.statistics import Sprt
from gtp_engine.children import own_command
from gtp_engine.evaluators.net_evaluator import open_net
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.evaluators.runtimes.sessions import ONNX_RUNTIME
from gtp_engine.files import write_whole
from gtp_engine.go.rules import LONGEST_GAME, Rules
from gtp_engine.search.stopping import Limits
from gtp_export.zero.catalogue import GNU_GO, MatchRecord, read_match
from gtp_export.zero.nets import NetRecord, list_nets
from gtp_export.zero.part import Attempts, Part, spent_by
from gtp_export.zero.settings import (
    NO_GATE,
    SHARE,
    SPRT,
    RunFolder,
    Settings,
    content_name,
    readable_net,
)

logger = logging.getLogger(__name__)

JUDGE = "judge"
GNU_GO_OPTIONS = ("--mode", "gtp", "--level", "10", "--chinese-rules")
LOOK_SECONDS = 1.0
ROUND = 20
"""Games at once; a match is a number of rounds."""
ERROR_RATE = 0.1
"""Of the sequential test, either way: a net wrongly put off has a better one behind it soon."""
FREE_SECONDS = 60.0
"""Of a processor, beyond the judge's share, for its start and the first nets."""
ANSWER_SECONDS = 300.0
"""Who takes longer for a move in a match with GNU Go loses."""


class Judge:
    """Decides which match is next, and plays it."""

    def __init__(
        self, run: RunFolder, settings: Settings, wait: Callable[[], object] = lambda: None
    ) -> None:
        """Begin with the matches that there are.

        Args:
            wait: Called again and again; returns when the run is not halted.
        """
        self._wait = wait
        self._run = run
        self._settings = settings
        self._nets: dict[str, NetRecord] = {}
        self._matches: dict[str, MatchRecord] = {}
        self._unwritten: MatchRecord | None = None
        """A match that was played, but could not be written."""

    def step(self, *, with_anchor: bool = True, last_only: bool = False) -> bool:
        """Play a match if one is due, also against GNU Go if so wanted; return whether one was.

        A net that cannot be used is counted as beaten.

        Args:
            last_only: Whether of the nets none but the last is due.

        Raises:
            NetFileError: The fair komi is damaged.
            OSError: A net cannot be read or the result not be written; the next step tries again.
        """
        if self._unwritten is not None:
            self._write(self._unwritten)
        self._look()
        nets = {net.name: net for net in list_nets(self._run, self._nets)}
        judged = {match.net for match in self._matches.values()}
        promoted = {match.net for match in self._matches.values() if match.promoted}
        line = [net for net in nets.values() if net.steps == 0 or net.name in promoted]
        if not line:
            return False
        best = line[-1]
        new = [net for net in nets.values() if net.steps > best.steps and net.name not in judged]
        if new and not (last_only and new[-1].name != [*nets][-1]):
            self._write(self._match(new[-1].name, best.name, is_first=best.steps == 0))
            return True
        if with_anchor and self._is_anchor_due(best.name, len(line)):
            self._write(self._play_gnu_go(best.name))
            return True
        return False

    def _match(self, net: str, best: str, *, is_first: bool) -> MatchRecord:
        """Play a net against the best one; without a gate every net becomes that.

        Args:
            is_first: Whether the best one is what the run began with.
        """
        settings = self._settings
        komi = self._deciding_komi if settings.has_komi else 0.0
        test = Sprt(-settings.gate_elo, settings.gate_elo, ERROR_RATE, ERROR_RATE)
        all_rules = settings.named_rules or [Rules(komi=komi, friendly_pass_ok=False)]
        limits = Limits(visits=settings.judge_visits)
        games: list[PlayedGame] = []
        verdict: str | None = None

        def player(name: str) -> Contestant:
            file = readable_net(self._run.net(name))
            # OpenVINO compiles longer for a net than a match of it takes.
            opened = open_net(str(file), "cpu", ONNX_RUNTIME, threads=1)
            opened.threat_nodes = settings.threat_nodes
            return Contestant(name, opened, limits)

        def terms(number: int) -> Terms:
            size = settings.sizes[number % len(settings.sizes)]
            return Terms(
                *(size, size),
                all_rules[number // len(settings.sizes) % len(all_rules)],
                max(1, round(settings.judge_openings * size**2)),
                seed=int(content_name(net.encode())[:7], 16),
                game=settings.game,
            )

        def plays(name: str) -> bool:
            with contextlib.suppress(NetFileError):
                return bool(play_games([player(name)] * 2, terms(0), 2, 2, threads=1))
            return False

        try:
            players = [player(net), player(best)]
            # Looked at after whole rounds, for the games that end first are the short ones.
            while verdict is None and len(games) < settings.gate_games:
                self._wait()
                now = terms(len(games) // ROUND)
                games += play_games(players, now, ROUND, ROUND, threads=1, first=len(games))
                if settings.gate != SHARE:
                    verdict = test.verdict(points(games), len(games))
        except NetFileError as error:
            passes_by = plays(net) and not plays(best)
            says = "the next one takes its place" if passes_by else "it is not promoted"
            logger.warning(f"{error}; {says}")
            return MatchRecord(net, best, 0.0, 0, settings.judge_visits, komi, passes_by)
        share = points(games) / len(games)
        # A search with a net that likes all moves alike counts the ends of games exactly: the
        # first that learned may lose to it, and yet only those after it get any better.
        knew_nothing = is_first and not settings.start
        passes = {
            NO_GATE: True,
            SHARE: share >= settings.gate_share,
            SPRT: knew_nothing or verdict == "elo1" or (verdict is None and share >= 0.5),
        }
        return MatchRecord(
            *(net, best, points(games), len(games), settings.judge_visits, komi),
            promoted=passes[settings.gate],
        )

    def _is_anchor_due(self, best: str, promotions: int) -> bool:
        """Whether the promotions have doubled since a net met GNU Go, and this one has not yet."""
        settings = self._settings
        if not settings.has_komi or not settings.anchor_games or _find_gnu_go() is None:
            return False
        met = {match.net for match in self._matches.values() if match.other == GNU_GO}
        return best not in met and promotions >= 2 << len(met)

    @property
    def _deciding_komi(self) -> float:
        """The komi nearest to the fair one with which no game is drawn, and both can win."""
        komi = math.floor(self._run.fair_komi(self._settings)) + 0.5
        return min(komi, self._settings.most_komi - 0.5)

    def _play_gnu_go(self, net: str) -> MatchRecord:
        """Play a net against GNU Go, both as programs: they end when this one does, however."""
        settings, komi = self._settings, self._deciding_komi
        size = settings.size
        options = ("--device", "cpu", "--threads", "1", "--playouts", str(settings.judge_visits))
        mine = own_command("--net", str(self._run.net(net)), *options)
        theirs = [str(_find_gnu_go()), *GNU_GO_OPTIONS]
        rules = replace(Rules.parse("chinese"), komi=komi)
        opening = max(1, round(settings.judge_openings * size**2))
        terms = MatchTerms(size, size, rules, None, LONGEST_GAME * size**2, opening)
        games: list[MatchGame] = []

        def note(game: MatchGame) -> None:
            games.append(game)
            self._wait()

        with Engines() as engines:
            pairing = Pairing(engines, [mine, theirs], ANSWER_SECONDS)
            names, games_wanted = (net, GNU_GO), settings.anchor_games
            failure = play_match(
                engines, [pairing], names, terms, games_wanted, settings.seed, note
            )
        if engines.signal is not None:
            raise KeyboardInterrupt
        if failure is not None:
            logger.warning(f"no match with {GNU_GO}: {failure}")
        won = sum(0.5 if game.is_draw else game.winner == 0 for game in games)
        played = sum(not game.is_void for game in games)
        return MatchRecord(net, GNU_GO, won, played, settings.judge_visits, komi)

    def _look(self) -> None:
        for path in self._run.matches.glob("*.json"):
            if path.stem in self._matches:
                continue
            with contextlib.suppress(OSError):
                if (match := read_match(path)) is not None:
                    self._matches[path.stem] = match

    def _write(self, match: MatchRecord) -> None:
        self._unwritten = match
        content = json.dumps(asdict(match)).encode()
        write_whole(self._run.matches / f"{content_name(content)}.json", content)
        self._unwritten = None


def _find_gnu_go() -> str | None:
    return shutil.which("gnugo") or shutil.which("gnugo", path="/usr/games")


def judge_last_net(run: RunFolder, settings: Settings, wait: Callable[[], object]) -> None:
    """Let the last net of a run whose span is over play the best one, if it has not yet.

    It was trained at the lowest learning rate, and is often the best. A failure is told.

    Args:
        wait: Called again and again; returns when the run is not halted.
    """
    try:
        Judge(run, settings, wait).step(with_anchor=False, last_only=True)
    except (NetFileError, OSError) as error:
        logger.warning(f"{error}; the last net is not judged")


def judge_run(run: RunFolder) -> int:
    """Judge until the run is over or this process is ended.

    Raises:
        NetFileError: Another judge is at work, or the run cannot be used.
    """
    settings = run.settings()
    part = Part(run, JUDGE, alone=True, with_children=True)
    part.end_with_parent()
    judge = Judge(run, settings, part.wait_while_halted)
    attempts = Attempts()
    while not part.is_over:
        part.wait_while_halted()
        part.note()
        mine, bound = spent_by(run, JUDGE).core_seconds, settings.judge_share
        bound = bound * spent_by(run).core_seconds + FREE_SECONDS
        with attempts.one():
            if mine <= bound and judge.step(with_anchor=2.0 * mine <= bound):
                part.note(0.0)
                continue
        time.sleep(LOOK_SECONDS)
    return 0
