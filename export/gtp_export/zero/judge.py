"""The judge of a run: matches of new nets against the best so far, and of the best with GNU Go."""

import json
import logging
import shutil
import subprocess
import tempfile
import time
from dataclasses import asdict, replace
from pathlib import Path

from gtp_engine.arena.many_games import Contestant, PlayedGame, Terms, play_games, points
from gtp_engine.arena.statistics import Sprt
from gtp_engine.children import own_command
from gtp_engine.evaluators.net_evaluator import open_net
from gtp_engine.evaluators.net_info import NetFileError
from gtp_engine.files import write_whole
from gtp_engine.go.rules import GO, Rules
from gtp_engine.search.stopping import Limits
from gtp_export.zero.catalogue import MatchRecord
from gtp_export.zero.nets import NetRecord, list_nets
from gtp_export.zero.part import Part, spent_by
from gtp_export.zero.settings import NO_GATE, SHARE, SPRT, RunFolder, Settings, content_name

logger = logging.getLogger(__name__)

JUDGE = "judge"
GNU_GO = "GNU Go"
GNU_GO_COMMAND = "gnugo --mode gtp --level 10 --chinese-rules"
LOOK_SECONDS = 1.0
ROUND = 20
"""Games at once; a match is a number of rounds."""
ERROR_RATE = 0.1
"""Of the sequential test, either way: a net wrongly put off has a better one behind it soon."""
OPENING_SHARE = 0.07
"""Moves a point of the board that openings are long."""
FREE_SECONDS = 60.0
"""Of a processor, beyond the judge's share, for its start and the first nets."""
GNU_GO_SECONDS = 1800.0
"""After so long a match with GNU Go is given up."""


class Judge:
    """Decides which match is next, and plays it."""

    def __init__(self, run: RunFolder, settings: Settings) -> None:
        """Begin with the matches that there are."""
        self._run = run
        self._settings = settings
        self._nets: dict[str, NetRecord] = {}
        self._matches: dict[str, MatchRecord] = {}

    def step(self, with_anchor: bool = True) -> bool:
        """Play a match if one is due; return whether one was.

        Args:
            with_anchor: Whether one against GNU Go may be.

        Raises:
            NetFileError: A net cannot be used; it is counted as beaten.
            OSError: The result cannot be written.
        """
        self._look()
        nets = {net.name: net for net in list_nets(self._run, self._nets)}
        judged = {match.net for match in self._matches.values()}
        promoted = {match.net for match in self._matches.values() if match.promoted}
        line = [net for net in nets.values() if net.steps == 0 or net.name in promoted]
        if not line:
            return False
        best = line[-1]
        new = [net for net in nets.values() if net.steps > best.steps and net.name not in judged]
        if new:
            self._write(self._match(new[-1].name, best.name))
            return True
        if with_anchor and self._is_anchor_due(len(line)):
            found = self._play_gnu_go(best.name)
            if found is not None:
                self._write(found)
            return True
        return False

    def _match(self, net: str, best: str) -> MatchRecord:
        """Play a net against the best one; without a gate every net becomes that."""
        settings = self._settings
        komi = round(self._run.fair_komi(settings)) + 0.5
        test = Sprt(-settings.gate_elo, settings.gate_elo, ERROR_RATE, ERROR_RATE)
        area = settings.size**2
        terms = Terms(
            *(settings.size, settings.size),
            Rules(komi=komi),
            max(1, round(OPENING_SHARE * area)),
            seed=int(content_name(net.encode())[:7], 16),
            game=settings.game,
        )
        limits = Limits(visits=settings.judge_visits)
        games: list[PlayedGame] = []
        verdict: str | None = None
        try:
            players = [
                Contestant(name, open_net(str(self._run.net(name)), "cpu", threads=1), limits)
                for name in (net, best)
            ]
            # Looked at after whole rounds, for the games that end first are the short ones.
            while verdict is None and len(games) < settings.gate_games:
                these = replace(terms, seed=terms.seed + len(games))
                games += play_games(players, these, ROUND, ROUND, threads=1)
                if settings.gate != SHARE:
                    verdict = test.verdict(points(games), len(games))
        except NetFileError as error:
            logger.warning(f"{error}; it is not promoted")
            return MatchRecord(net, best, 0.0, 0, settings.judge_visits, komi)
        share = points(games) / len(games)
        passes = {
            NO_GATE: True,
            SHARE: share >= settings.gate_share,
            SPRT: verdict == "elo1" or (verdict is None and share >= 0.5),
        }
        return MatchRecord(
            *(net, best, points(games), len(games), settings.judge_visits, komi),
            promoted=passes[settings.gate],
        )

    def _is_anchor_due(self, promotions: int) -> bool:
        """Whether the promotions have doubled since the last match with GNU Go."""
        settings = self._settings
        if settings.game != GO or not settings.anchor_games or _find_gnu_go() is None:
            return False
        before = sum(match.other == GNU_GO for match in self._matches.values())
        return promotions >= 2 << before

    def _play_gnu_go(self, net: str) -> MatchRecord | None:
        settings, komi = self._settings, round(self._run.fair_komi(self._settings)) + 0.5
        mine = own_command("--net", str(self._run.net(net)), "--device", "cpu", "--threads", "1")
        mine += ["--playouts", str(settings.judge_visits)]
        theirs = [str(_find_gnu_go()), *GNU_GO_COMMAND.split()[1:]]
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.json"
            words = ["--games", str(settings.anchor_games), "--size", str(settings.size)]
            words += ["--komi", f"{komi:g}", "--json", str(report)]
            lines = [" ".join(f'"{word}"' for word in line) for line in (mine, theirs)]
            try:
                subprocess.run(
                    own_command("match", *lines, *words),
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=GNU_GO_SECONDS,
                )
                found = json.loads(report.read_text(encoding="utf-8"))
            except (subprocess.SubprocessError, OSError, ValueError) as error:
                logger.warning(f"no match with GNU Go: {error}")
                return MatchRecord(net, GNU_GO, 0.0, 0, settings.judge_visits, komi)
        won = found["wins"][0] + 0.5 * found["draws"]
        played = sum(found["wins"]) + found["draws"]
        return MatchRecord(net, GNU_GO, won, played, settings.judge_visits, komi)

    def _look(self) -> None:
        for path in self._run.matches.glob("*.json"):
            if path.stem not in self._matches:
                try:
                    found = json.loads(path.read_text(encoding="utf-8"))
                    self._matches[path.stem] = MatchRecord(**found)
                except (ValueError, TypeError, OSError):
                    continue

    def _write(self, match: MatchRecord) -> None:
        content = json.dumps(asdict(match)).encode()
        write_whole(self._run.matches / f"{content_name(content)}.json", content)


def _find_gnu_go() -> str | None:
    return shutil.which("gnugo") or shutil.which("gnugo", path="/usr/games")


def judge_run(run: RunFolder) -> int:
    """Judge until the run is over or this process is ended.

    Raises:
        NetFileError: The run cannot be used.
    """
    settings = run.settings()
    part = Part(run, JUDGE, with_children=True)
    part.end_with_parent()
    judge = Judge(run, settings)
    while not part.is_over:
        part.wait_while_halted()
        part.note()
        mine, bound = spent_by(run, JUDGE).core_seconds, settings.judge_share
        bound = bound * spent_by(run).core_seconds + FREE_SECONDS
        try:
            if mine <= bound and judge.step(with_anchor=2.0 * mine <= bound):
                part.note(0.0)
                continue
        except OSError as error:
            logger.warning(f"{error}; judging goes on")
        time.sleep(LOOK_SECONDS)
    return 0
