"""An engine with a real game but scripted thoughts, for tests of what stands in front of it."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gtp_engine.coords import PASS, action_to_point, parse_vertex
from gtp_engine.evaluators.net_evaluator import RawEvaluation
from gtp_engine.play.decision import Decision
from gtp_engine.play.engine import Engine
from gtp_engine.play.loading import EngineUnavailableError, Loader
from gtp_engine.play.settings import Settings
from gtp_engine.search.analysis import Analysis, MoveReport
from gtp_engine.search.request import ReportRequest
from gtp_engine.search.stopping import Limits


@dataclass
class FakeStatus:
    """The state of the points as the script has it."""

    dead: list[int]
    alive: list[int]
    seki: list[int]
    white_territory: list[int]
    black_territory: list[int]


class FakeLoader(Loader):
    """Loads the kernels, and no net."""

    def __init__(self, settings: Settings, net_error: str | None) -> None:
        """Begin.

        Args:
            settings: As for the real loader.
            net_error: Why there is no net; None pretends that there is one.
        """
        super().__init__(settings)
        self._reason = net_error

    def _begin_opening(self) -> None:
        """Open no net."""

    def _load_net(self) -> None:
        self._net_error = self._reason


class FakeEngine(Engine):
    """Plays scripted moves, then the first legal point; analyses until stopped."""

    def __init__(
        self,
        settings: Settings | None = None,
        moves: Sequence[str] = (),
        net_error: str | None = None,
        genmove_waits: bool = False,
        bug: Exception | None = None,
    ) -> None:
        """Begin.

        Args:
            settings: As for the real engine.
            moves: Vertices or "resign", one for each genmove.
            net_error: Why there is no net.
            genmove_waits: Whether genmove goes on until it is stopped.
            bug: What genmove and the analyses raise.
        """
        self.rests = 0
        super().__init__(settings)
        self._loader = FakeLoader(self.settings, net_error)
        self._script = list(moves)
        self._net_error = net_error
        self._genmove_waits = genmove_waits
        self._bug = bug
        self.is_thinking = threading.Event()
        self.stop: threading.Event | None = None
        """What ends the latest search."""
        self.was_stopped = False
        self.requests: list[ReportRequest] = []
        self.dead: list[str] = []
        self.black_territory: list[str] = []
        self.clearings = 0

    def genmove(
        self,
        color: int,
        *,
        report: ReportRequest | None = None,
        cleanup: bool = False,
        commit: bool = True,
        stop: threading.Event | None = None,
    ) -> Decision:
        self._think()
        self.stop = stop
        if self._genmove_waits:
            self.is_thinking.set()
            assert stop is not None
            self.was_stopped = stop.wait(20)
        point = self._next_move(color)
        analysis = self._analysis(color, is_final=True)
        if report is not None:
            self.requests.append(report)
            assert report.callback is not None
            report.callback(analysis)
        if commit and point is not None:
            self.position.play(color, point)
        return Decision(color, point, analysis, "cleanup" if cleanup else "script")

    def _think(self) -> None:
        if self._net_error is not None:
            raise EngineUnavailableError(self._net_error)
        if self._bug is not None:
            raise self._bug

    def _next_move(self, color: int) -> int | None:
        position = self.position
        if self._script:
            vertex = self._script.pop(0)
            if vertex == "resign":
                return None
            return parse_vertex(vertex, position.width, position.height)
        return position.legal_moves(color)[0]

    def analyze(
        self,
        color: int,
        report: ReportRequest,
        limits: Limits | None = None,
        *,
        stop: threading.Event | None = None,
    ) -> Analysis:
        self._think()
        self.requests.append(report)
        if limits is not None:
            return self._analysis(color, is_final=True)
        assert report.callback is not None
        report.callback(self._analysis(color))
        self.is_thinking.set()
        assert stop is not None and stop.wait(20)
        final = self._analysis(color, is_final=True)
        report.callback(final)
        return final

    def _analysis(self, color: int, is_final: bool = False) -> Analysis:
        """Return three moves: a good one, one that looks better but was hardly seen, a pass."""
        position = self.position
        width, height = position.width, position.height
        first, second = (action_to_point(action, width, height) for action in (0, 1))
        ownership = np.linspace(-1, 1, width * height, dtype=np.float32).reshape(height, width)
        common = {"score_lead": 1.0, "score_stdev": 8.0, "utility": 1e-7, "prior": 1 / 3}
        return Analysis(
            to_play=color,
            width=width,
            height=height,
            visits=100,
            playouts=90,
            nodes=95,
            elapsed=0.5,
            winrate=0.625,
            score_lead=1.0,
            score_stdev=8.0,
            utility=0.25,
            raw_winrate=0.5,
            raw_score_lead=0.0,
            is_final=is_final,
            moves=(
                MoveReport(
                    first,
                    visits=80,
                    winrate=0.625,
                    lcb=0.6,
                    order=0,
                    pv=(first, second, PASS),
                    pv_visits=(80, 20, 3),
                    ownership=ownership,
                    **common,
                ),
                MoveReport(second, visits=2, winrate=0.99, lcb=-0.5, order=1, **common),
                MoveReport(PASS, visits=17, winrate=0.5, lcb=0.4, order=2, pv=(PASS,), **common),
            ),
            ownership=ownership,
        )

    def final_status(self, stop: threading.Event | None = None) -> FakeStatus:
        position = self.position
        dead, black = (
            [parse_vertex(vertex, position.width, position.height) for vertex in vertices]
            for vertices in (self.dead, self.black_territory)
        )
        stones = position.stones(1) + position.stones(2)
        alive = [point for point in stones if point not in dead]
        return FakeStatus(dead, alive, [], [], black)

    def final_score(self, stop: threading.Event | None = None) -> float:
        return 3.5

    def rest(self) -> None:
        self.rests += 1

    def clear_cache(self) -> None:
        self.clearings += 1

    def raw_evaluation(
        self, symmetry: int | None, optimism: float | None, color: int | None = None
    ) -> RawEvaluation:
        position = self.position
        policy = np.full((position.height, position.width), 1 / 8, np.float32)
        policy[0, 0] = np.nan
        return RawEvaluation(
            to_play=color or position.to_play,
            symmetry=symmetry,
            win=0.6,
            loss=0.3,
            no_result=0.1,
            lead=2.0,
            score_mean=2.0,
            score_stdev=3.0,
            var_time=None,
            shortterm_winloss_error=None,
            shortterm_score_error=None,
            policy=policy,
            policy_pass=1 / 8,
            ownership=np.full((position.height, position.width), 0.5, np.float32),
        )
