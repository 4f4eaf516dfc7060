"""Queries: what a client wants analysed, read from one line of JSON.

Only the standard library is imported here, so that a line is judged before kernels are loaded.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gtp_engine.coords import BLACK, MAX_SIZE, MIN_SIZE, WHITE
from gtp_engine.frontends.analysis.fields import Fields, QueryError, Stone
from gtp_engine.frontends.analysis.overrides import (
    LONGEST_PV,
    MOST_VISITS,
    AnalysisSettings,
    OverrideError,
)
from gtp_engine.go.rules import MAX_KOMI, InvalidRulesError, Rules, Scoring
from gtp_engine.search.request import AvoidRule, ReportRequest

MOST_PRIORITY = (1 << 62) - 1
MOST_DEPTH = 10**9
DEEPEST = 50
"""Arrays and objects within one another in a line; queries have four."""
SHORTEST_REPORT, LONGEST_REPORT = 0.001, 1e6
"""Seconds between reports during a search."""
NEVER = 1e9
"""The same where there are to be none but the first and the final one."""

_FLAGS = {
    "includeOwnership": "ownership",
    "includeOwnershipStdev": "ownership_stdev",
    "includeMovesOwnership": "moves_ownership",
    "includeMovesOwnershipStdev": "moves_ownership_stdev",
    "includePolicy": "policy",
    "includePVVisits": "pv_visits",
    "includeNoResultValue": "no_result",
}

KNOWN_FIELDS = frozenset(
    {
        *_FLAGS,
        *("id", "action", "terminateId", "turnNumbers"),
        *("boardXSize", "boardYSize", "initialStones", "initialPlayer", "moves", "rules", "komi"),
        *("whiteHandicapBonus", "analyzeTurns", "priority", "priorities"),
        *("maxVisits", "rootPolicyTemperature", "rootFpuReductionMax", "analysisPVLen"),
        *("avoidMoves", "allowMoves", "overrideSettings"),
        *("reportDuringSearchEvery", "firstReportDuringSearchAfter"),
    }
)


@dataclass(frozen=True, slots=True)
class Wanted(ReportRequest):
    """What an answer contains besides the usual, and when there are reports during the search."""

    interval: float = NEVER
    policy: bool = False
    pv_visits: bool = False
    no_result: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """A game and the turns of it that are to be analysed."""

    id: str
    width: int
    height: int
    rules: Rules
    """With the komi."""
    stones: tuple[Stone, ...] = ()
    """On the board before the first move; a later one on the same point takes its place."""
    moves: tuple[Stone, ...] = ()
    first_player: int | None = None
    """Who moves at turn 0; None: who moves first, or White against handicap stones."""
    turns: tuple[int, ...] = (0,)
    """How many moves were made in each position that is wanted."""
    priorities: tuple[int, ...] = (0,)
    """Of each turn; the highest is analysed first."""
    settings: AnalysisSettings = field(default_factory=AnalysisSettings)
    wanted: Wanted = field(default_factory=Wanted)
    warnings: tuple[tuple[str, str], ...] = ()
    """Fields and what is odd about them."""


def parse_line(line: str | bytes) -> dict[str, Any]:
    """Return the JSON object of a line, which has an id.

    Raises:
        QueryError: It is none.
    """
    try:
        found = json.loads(line, parse_constant=_refuse_number, parse_float=_finite)
        if _is_deeper(found, DEEPEST):
            raise RecursionError  # it could be read, but not everything can be done with it
    except (ValueError, RecursionError) as error:
        reason = str(error).partition(":")[0] or "too deep"
        raise QueryError(f"the line is not valid JSON: {reason}") from None
    if not isinstance(found, dict):
        raise QueryError("the line is not a JSON object")
    if not isinstance(found.get("id"), str):
        raise QueryError('a query needs an "id", which is a string', "id")
    return found


def _is_deeper(value: Any, levels: int) -> bool:
    """Whether arrays and objects stand in one another more than so many levels deep."""
    if not isinstance(value, list | dict):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_is_deeper(one, levels - 1) for one in inner)


def _finite(text: str) -> float:
    """Return a number; JSON can spell larger ones than there are, and could not write them back."""
    number = float(text)
    if math.isinf(number):
        _refuse_number(text)
    return number


def _refuse_number(text: str) -> None:
    raise ValueError(f"{text[:20]} is no number")


def parse_query(values: Mapping[str, Any], settings: AnalysisSettings) -> Query:
    """Return the query of a JSON object.

    Args:
        settings: What holds where the query says nothing.

    Raises:
        QueryError: It cannot be answered; says which field is to blame.
    """
    fields = Fields(values)
    width = fields.integer("boardXSize", MIN_SIZE, MAX_SIZE)
    height = fields.integer("boardYSize", MIN_SIZE, MAX_SIZE)
    stones: list[Stone] = []
    if "initialStones" in fields:
        stones = fields.stones("initialStones", width, height, passes=False)
    moves = fields.stones("moves", width, height, passes=True)
    turns, priorities = _turns(fields, len(moves))
    settings, unknown = _settings(fields, settings)
    warnings = [("overrideSettings", f"not known here: {', '.join(unknown)}")] if unknown else []
    warnings += [(name, "unknown field") for name in values if name not in KNOWN_FIELDS]
    return Query(
        id=values["id"],
        width=width,
        height=height,
        rules=_rules(fields),
        stones=tuple(stones),
        moves=tuple(moves),
        first_player=fields.color("initialPlayer") if "initialPlayer" in fields else None,
        turns=turns,
        priorities=priorities,
        settings=settings,
        wanted=_wanted(fields, width, height, settings.pv_length + 1),
        warnings=tuple(warnings),
    )


def _wanted(fields: Fields, width: int, height: int, pv_length: int) -> Wanted:
    found: dict[str, Any] = {"avoid": _avoid_rules(fields, width, height)}
    found |= {name: fields.boolean(key) for key, name in _FLAGS.items()}
    interval = _seconds(fields, "reportDuringSearchEvery") or NEVER
    first_after = _seconds(fields, "firstReportDuringSearchAfter")
    return Wanted(interval=interval, first_after=first_after, pv_length=pv_length, **found)


def _rules(fields: Fields) -> Rules:
    described = fields.raw("rules")
    try:
        if isinstance(described, dict):
            rules = Rules.from_kata(described)
        elif isinstance(described, str):
            rules = Rules.parse(described)
        else:
            raise fields.error("rules", "must be a name like chinese, or a JSON object")
    except (InvalidRulesError, OverflowError) as error:  # a komi may be a huge whole number
        raise fields.error("rules", str(error)) from None
    rules = replace(rules, komi=_komi(fields, rules, described))
    if "whiteHandicapBonus" in fields:
        try:
            bonus = fields.raw("whiteHandicapBonus")
            rules = rules.with_option("whiteHandicapBonus", bonus)
        except InvalidRulesError:
            raise fields.error("whiteHandicapBonus", 'must be "0", "N" or "N-1"') from None
    return rules


def _komi(fields: Fields, rules: Rules, described: Any) -> float:
    """Return the komi: the query's, that of its rules, or what is usual on 19x19."""
    if "komi" in fields:
        komi = fields.number("komi", -MAX_KOMI, MAX_KOMI)
        if komi * 2 != round(komi * 2):
            raise fields.error("komi", "must be whole or half points")
        return komi
    if isinstance(described, dict) and "komi" in described:
        return rules.komi
    if rules.scoring is Scoring.TERRITORY:
        return 6.5
    return 7.0 if rules.button else 7.5


def _turns(fields: Fields, n_moves: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the turns to analyse, each once, and their priorities."""
    turns = [n_moves]
    if "analyzeTurns" in fields:
        turns = fields.integers("analyzeTurns", 0, n_moves)
    if "priorities" in fields:
        if "priority" in fields:
            raise fields.error("priority", "does not go with priorities")
        priorities = fields.integers("priorities", -MOST_PRIORITY, MOST_PRIORITY)
        if "analyzeTurns" not in fields or len(priorities) != len(turns):
            raise fields.error("priorities", "must be as many as analyzeTurns")
    else:
        priority = fields.integer("priority", -MOST_PRIORITY, MOST_PRIORITY, default=0)
        priorities = [priority] * len(turns)
    by_turn = dict(zip(turns, priorities, strict=True))
    return tuple(sorted(by_turn)), tuple(by_turn[turn] for turn in sorted(by_turn))


def _settings(fields: Fields, settings: AnalysisSettings) -> tuple[AnalysisSettings, list[str]]:
    """Return the settings as the query wants them, and what it names that is not known."""
    unknown: list[str] = []
    overrides = fields.raw("overrideSettings")
    if "overrideSettings" in fields:
        if not isinstance(overrides, dict):
            raise fields.error("overrideSettings", "must be a JSON object")
        try:
            settings, unknown = settings.with_overrides(overrides)
        except OverrideError as error:
            raise fields.error("overrideSettings", str(error)) from None
    if "maxVisits" in fields:
        settings = settings.with_limits(visits=fields.integer("maxVisits", 1, MOST_VISITS))
    changes: dict[str, Any] = {}
    if "analysisPVLen" in fields:
        changes["analysisPVLen"] = fields.integer("analysisPVLen", 1, LONGEST_PV)
    if "rootPolicyTemperature" in fields:
        changes["rootPolicyTemperature"] = fields.number("rootPolicyTemperature", 0.01, 100.0)
    if "rootFpuReductionMax" in fields:
        changes["rootFpuReductionMax"] = fields.number("rootFpuReductionMax", 0.0, 2.0)
    return settings.with_overrides(changes)[0], unknown


def _avoid_rules(fields: Fields, width: int, height: int) -> tuple[AvoidRule, ...]:
    if "avoidMoves" in fields and "allowMoves" in fields:
        raise fields.error("allowMoves", "does not go with avoidMoves")
    name = "allowMoves" if "allowMoves" in fields else "avoidMoves"
    described = fields.raw(name)
    if name not in fields:
        return ()
    if not isinstance(described, list) or not all(isinstance(one, dict) for one in described):
        raise fields.error(name, "must be a list of objects with player, moves and untilDepth")
    rules = []
    for one in described:
        parts = Fields(one, within=name)
        rules.append(
            AvoidRule(
                color=parts.color("player"),
                points=parts.vertices("moves", width, height),
                depth=parts.integer("untilDepth", 1, MOST_DEPTH),
                allow=name == "allowMoves",
            )
        )
    if name == "allowMoves" and len({rule.color for rule in rules}) < len(rules):
        raise fields.error(name, "may say but once what a player is allowed")
    return tuple(rules)


def _seconds(fields: Fields, name: str) -> float | None:
    return fields.number(name, SHORTEST_REPORT, LONGEST_REPORT) if name in fields else None


def first_to_play(query: Query) -> int:
    """Return who moves at turn 0."""
    if query.first_player is not None:
        return query.first_player
    if query.moves:
        return query.moves[0][0]
    black = sum(color == BLACK for color, _ in query.stones)
    return WHITE if black > 1 and black == len(query.stones) else BLACK
