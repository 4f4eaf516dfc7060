"""The coordinator of a run: it keeps the catalogue, and says which net and komi are played with."""

import logging
import math
import time
from typing import Any

from gtp_engine.coords import BLACK, EMPTY
from gtp_engine.evaluators.net_evaluator import open_net
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.evaluators.runtimes.sessions import ONNX_RUNTIME
from gtp_engine.files import read_file, write_whole
from gtp_engine.games import new_game
from gtp_engine.go.rules import Rules
from gtp_export.records.games import UNKNOWN_WINNER
from gtp_export.span import PAUSE
from gtp_export.zero.catalogue import GNU_GO, Catalogue, EmptyBoard
from gtp_export.zero.nets import add_first_net
from gtp_export.zero.part import COORDINATE, Attempts, Part, share_spent
from gtp_export.zero.settings import MOST_NET_BYTES, NO_GATE, RunFolder
from gtp_export.zero.shards import Header

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
KOMI_GAMES = 30
"""After so many games with about the fair komi it is thought over."""
NEAR_KOMI = 1.0
"""Points from the fair komi within which a game counts for that."""
MOST_STEPS = 3.0
"""Points by which the fair komi moves under one net, which knows little of other komi: its games
there would lead further and further away."""
SURE_SHARE = 0.2
"""So far from half the games, the komi moves by a whole step; nearer, by less."""


class Coordinator:
    """Keeps a run's catalogue. One alone does: another one is refused."""

    def __init__(self, run: RunFolder, rebuild: bool = False, **changed: Any) -> None:
        """Take over a run.

        Args:
            rebuild: Whether to make the catalogue again from the files; the fair komi stays.

        Raises:
            NetFileError: Another coordinator is at work, or the run cannot be used.
            OSError: A file cannot be written.
        """
        self._run = run
        self.settings = run.settings()
        self.part = Part(run, COORDINATE, alone=True)
        self._near: list[float] = []
        """Black's shares of the games near the fair komi since it was last thought over."""
        self._looks, self._measures = Attempts(), Attempts()
        self._share = 0.0
        self._best = ""
        try:
            if changed:
                self.settings = run.change(**changed)
            self._komi_before = run.fair_komi(self.settings)
            if rebuild:
                run.catalogue.unlink(missing_ok=True)
            is_new = not run.catalogue.exists()
            self._catalogue = Catalogue(run, self.look_at_empty_board)
            if is_new:  # what there is has moved the komi already
                self._take_in(seek_komi=False)
        except BaseException:
            self.part.close()
            raise

    def close(self) -> None:
        """Let go of the run."""
        self._catalogue.close()
        self.part.close()

    def step(self) -> None:
        """Do as `look` does, once the run is not halted."""
        if self.part.is_halted():
            logger.info(f"halted until {self._run.path / PAUSE} is gone")
            self.part.wait_while_halted()
        self.look()

    def look(self) -> None:
        """Take in what is new and hand out nets; what fails now is tried again."""
        self.part.note()
        with self._looks.one():
            self._take_in(seek_komi=True)
            self._hand_out()

    @property
    def share(self) -> float:
        """Which share of the run has passed; while its files cannot be read, as before."""
        with self._measures.one():  # somebody may be writing run.toml just now
            self._share = share_spent(self._run)
        return self._share

    def _take_in(self, seek_komi: bool) -> None:
        try:
            for header in self._catalogue.add_shards(self.settings):
                if seek_komi and self.settings.has_komi:
                    self._seek_komi(header)
            for net in self._catalogue.add_nets():
                logger.debug(f"net {net.name} after {net.steps} steps")
            for match in self._catalogue.add_matches():
                says = "is the best now" if match.promoted else "stays behind"
                logger.info(
                    f"net {match.net} won {match.points:g} of {match.games} games against "
                    f"{match.other}" + ("" if match.other == GNU_GO else f" and {says}")
                )
        finally:
            for problem in self._catalogue.news:
                logger.warning(problem)
            self._catalogue.news.clear()

    def _hand_out(self) -> None:
        """Put the best net in its place, and name the one that is played with.

        Raises:
            OSError: That cannot be written, or no first net.
        """
        run, settings = self._run, self.settings
        best = self._catalogue.newest_net(promoted=settings.gate != NO_GATE)
        if best is None:
            add_first_net(run, settings)
            return
        if best != self._best or not run.best.exists():
            write_whole(run.best, read_file(run.net(best), MOST_NET_BYTES))
            self._best = best
        playing = self._catalogue.newest_net(promoted=False) if settings.newest_plays else best
        if playing is not None and run.playing_net() != run.net(playing):
            write_whole(run.playing, playing + "\n")
            self._komi_before = run.fair_komi(settings)

    def _seek_komi(self, header: Header) -> None:
        """Move the fair komi towards where both win as often, after enough games near it."""
        if not self.settings.komi_step:
            return
        fair = self._run.fair_komi(self.settings)
        for komi, winner, *_ in header.results:
            if abs(komi - fair) <= NEAR_KOMI and winner != UNKNOWN_WINNER:
                self._near.append(1.0 if winner == BLACK else 0.5 if winner == EMPTY else 0.0)
        if len(self._near) < KOMI_GAMES:
            return
        share = sum(self._near) / len(self._near)
        self._near.clear()
        step = self.settings.komi_step * max(-1.0, min(1.0, (share - 0.5) / SURE_SHARE))
        # Who moves first is never behind with best play: a pass would make it the other's turn.
        komi = max(0.0, min(self.settings.most_komi, fair + step, self._komi_before + MOST_STEPS))
        komi = max(komi, self._komi_before - MOST_STEPS)
        write_whole(self._run.komi, f"{komi:.2f}\n")

    def look_at_empty_board(self, name: str) -> EmptyBoard:
        """Return what a net says about the empty board at the fair komi, under the first rules.

        Raises:
            NetFileError: The net cannot be used, or puts out what is not finite.
        """
        settings, file = self.settings, str(self._run.net(name))
        komi = round(2.0 * self._run.fair_komi(settings)) / 2.0
        net = open_net(file, "cpu", ONNX_RUNTIME, threads=1, cache_mb=0)
        rules, *_ = settings.named_rules or [Rules(komi=komi)]
        board = new_game(settings.game, settings.size, settings.size, rules)
        raw = net.raw_evaluation(board)
        if not math.isfinite(raw.win + raw.lead):
            raise NetFileError(f"{file}: the net's outputs are not numbers")
        has_lead = settings.has_komi and "score" in net.net.info.heads
        lead = raw.lead + komi if has_lead else None
        return EmptyBoard(komi if settings.has_komi else None, raw.win - raw.loss, lead)


def coordinate_run(run: RunFolder, **changed: Any) -> int:
    """Keep the catalogue until the run's span is over, under settings some of which are new.

    Raises:
        NetFileError: Another coordinator is at work, or the run cannot be used.
    """
    coordinator = Coordinator(run, **changed)
    coordinator.part.end_with_parent()
    try:
        while coordinator.share < 1.0:
            coordinator.step()
            time.sleep(LOOK_SECONDS)
    finally:
        coordinator.close()
    return 0
