"""What a search found, as the JSON object that answers a query.

Searches speak for the player to move; answers speak for whom the settings name.
"""

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import BLACK, COLOR_LETTERS, WHITE, row_col
from gtp_engine.frontends.analysis.overrides import BLACK_VIEW, WHITE_VIEW
from gtp_engine.frontends.analysis.query import Query
from gtp_engine.go.position import Position
from gtp_engine.go.rules import Ko

if TYPE_CHECKING:
    from gtp_engine.evaluators.net_evaluator import RawEvaluation
    from gtp_engine.search.analysis import Analysis, MoveReport

DIGITS = 6
"""Decimals of the numbers in an answer."""

Json = dict[str, Any]


def answer(
    query: Query,
    turn: int,
    position: Position,
    analysis: "Analysis",
    policy: npt.NDArray[np.float32] | None,
    raw: "RawEvaluation | None" = None,
    is_human: bool = False,
) -> Json:
    """Return the answer about one turn of a query.

    Args:
        turn: Moves made in the position.
        policy: [A + 1] the net's policy, NaN for illegal moves; None leaves it out.
        raw: What the net says without a search; None leaves it out.
    """
    view = _View(query, analysis, raw, is_human)
    found: Json = {
        "id": query.id,
        "turnNumber": turn,
        "isDuringSearch": not analysis.is_final,
        "moveInfos": [view.move(move) for move in analysis.moves],
        "rootInfo": view.root(position),
    }
    if query.wanted.ownership and analysis.ownership is not None:
        found["ownership"] = view.owned(analysis.ownership)
    if query.wanted.ownership_stdev and analysis.ownership_stdev is not None:
        found["ownershipStdev"] = numbers(analysis.ownership_stdev.ravel())
    if policy is not None:
        found["policy"] = numbers(np.where(np.isnan(policy), -1.0, policy))
        if is_human:
            found["humanPolicy"] = found["policy"]
    return found


def no_answer(query: Query, turn: int) -> Json:
    """Return the answer about a turn that was terminated before it was looked at."""
    return {"id": query.id, "turnNumber": turn, "isDuringSearch": False, "noResults": True}


def numbers(values: Iterable[Any]) -> list[float]:
    """Return an array as JSON's numbers."""
    return [round(float(value), DIGITS) for value in values]


class _View:
    """The numbers of an analysis as the one whom the settings name sees them."""

    def __init__(
        self, query: Query, analysis: "Analysis", raw: "RawEvaluation | None", is_human: bool
    ) -> None:
        self._query = query
        self._analysis = analysis
        self._raw = raw
        self._is_human = is_human
        viewer = {BLACK_VIEW: BLACK, WHITE_VIEW: WHITE}.get(query.settings.perspective)
        self._is_turned = viewer is not None and viewer != analysis.to_play

    def move(self, move: "MoveReport") -> Json:
        """Return the entry of a move."""
        wanted = self._query.wanted
        entry: Json = {
            "move": self._analysis.vertex(move.point),
            "order": move.order,
            "visits": move.visits,
            "edgeVisits": move.visits,
            "weight": move.visits,
            "edgeWeight": move.visits,
            "winrate": self._rate(move.winrate),
            "scoreLead": self._signed(move.score_lead),
            "scoreMean": self._signed(move.score_lead),
            "scoreSelfplay": self._signed(move.score_lead),
            "scoreStdev": _rounded(move.score_stdev),
            "utility": self._signed(move.utility),
            "lcb": self._rate(move.lcb),
            "utilityLcb": self._signed(move.utility_lcb),
            "playSelectionValue": self._play_selection_value(move),
            "prior": _rounded(move.prior),
            "pv": [self._analysis.vertex(point) for point in move.pv],
        }
        if self._is_human:
            entry["humanPrior"] = entry["prior"]
        if wanted.no_result and self._raw is not None:
            entry["noResultValue"] = self._no_result
        if wanted.pv_visits:
            entry["pvVisits"] = list(move.pv_visits)
            entry["pvEdgeVisits"] = list(move.pv_edge_visits)
        if wanted.moves_ownership and move.ownership is not None:
            entry["ownership"] = self.owned(move.ownership)
        if wanted.moves_ownership_stdev and move.ownership_stdev is not None:
            entry["ownershipStdev"] = numbers(move.ownership_stdev.ravel())
        return entry

    def _play_selection_value(self, move: "MoveReport") -> int:
        """Return a number that is largest for the move to be played: visits, raised for the first.

        Bounds decide which is first, visits the rest; see `search.choice.ranked`.
        """
        if move.order > 0:
            return move.visits
        return max(each.visits for each in self._analysis.moves)

    def root(self, position: Position) -> Json:
        """Return the entry of the position itself."""
        analysis = self._analysis
        here, alike = position_hashes(position)
        found = {
            "currentPlayer": COLOR_LETTERS[analysis.to_play],
            "visits": analysis.visits,
            "weight": analysis.visits,
            "winrate": self._rate(analysis.winrate),
            "scoreLead": self._signed(analysis.score_lead),
            "scoreSelfplay": self._signed(analysis.score_lead),
            "scoreStdev": _rounded(analysis.score_stdev),
            "utility": self._signed(analysis.utility),
            "rawWinrate": self._rate(analysis.raw_winrate),
            "rawLead": self._signed(analysis.raw_score_lead),
            "thisHash": here,
            "symHash": alike,
        }
        return found | self._raw_numbers() if self._raw is not None else found

    def _raw_numbers(self) -> Json:
        """Return what the net says without a search, besides winrate and lead."""
        raw = self._raw
        assert raw is not None
        mean, stdev = self._signed(raw.score_mean), _rounded(raw.score_stdev)
        error, score_error = raw.shortterm_winloss_error, raw.shortterm_score_error
        found = {
            "rawScoreSelfplay": mean,
            "rawScoreSelfplayStdev": stdev,
            "rawNoResultProb": self._no_result,
        }
        if error is not None and score_error is not None:
            # Of a winrate, 0 to 1, where the net's is of a value, -1 to 1.
            found |= {"rawStWrError": _rounded(error / 2), "rawStScoreError": _rounded(score_error)}
        if raw.var_time is not None:
            found["rawVarTimeLeft"] = _rounded(raw.var_time)
        if self._is_human:
            winrate = raw.win + 0.5 * raw.no_result
            found |= {"humanWinrate": self._rate(winrate), "humanScoreMean": mean}
            found |= {"humanScoreStdev": stdev}
            for name in ("StWrError", "StScoreError"):
                if f"raw{name}" in found:
                    found[f"human{name}"] = found[f"raw{name}"]
        return found

    @property
    def _no_result(self) -> float:
        """The chance of no result that the net gives the position; none under superko."""
        assert self._raw is not None
        return _rounded(self._raw.no_result if self._query.rules.ko is Ko.SIMPLE else 0.0)

    def owned(self, ownership: npt.NDArray[Any]) -> list[float]:
        """Return an ownership row by row from the top."""
        return numbers((-ownership if self._is_turned else ownership).ravel())

    def _rate(self, rate: float) -> float:
        return _rounded(1.0 - rate if self._is_turned else rate)

    def _signed(self, number: float) -> float:
        return _rounded(-number if self._is_turned else number)


def _rounded(number: float) -> float:
    return round(float(number), DIGITS)


def position_hashes(position: Position) -> tuple[str, str]:
    """Return a hash of stones, player to move and simple ko, and one that mirrors share.

    Returns:
        32 hexadecimal digits each; the second is the same for all turned and mirrored positions.
    """
    grid = position.grid()
    ko_point = int(position.board["ko_point"])
    if ko_point:
        grid[row_col(ko_point, position.width)] = 3
    turned = [np.rot90(side, k) for side in (grid, grid.T) for k in range(4)]
    hashes = [_digest(one, position.to_play) for one in turned]
    return hashes[0], min(hashes)


def _digest(grid: npt.NDArray[np.uint8], to_play: int) -> str:
    content = bytes((to_play, *grid.shape)) + np.ascontiguousarray(grid).tobytes()
    return hashlib.blake2b(content, digest_size=16).hexdigest().upper()
