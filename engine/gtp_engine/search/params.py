"""The numbers that steer a search. Only the standard library is imported here.

Utilities are for the side to move at a node: the win-loss value in [-1, 1] plus a small reward
for points.
"""

import math
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

from gtp_engine.arguments import BadValueError, parse_number, parse_switch


def _within(default: Any, low: float, high: float) -> Any:
    """Return a field with the lowest and the highest value that `kata-set-param` accepts."""
    return field(default=default, metadata={"range": (low, high)})


@dataclass(frozen=True, slots=True)
class SearchParams:
    """Parameters of one search."""

    cpuct: float = _within(1.0, 0, 10)
    """Exploration constant at few visits."""
    cpuct_growth: float = _within(1.0, 0, 10)
    """How much the constant grows with the parent's visits; see `puct.exploration`."""
    fpu_reduction: float = _within(0.2, 0, 2)
    """How far below its parent an unvisited child is rated, at full visited policy."""
    root_fpu_reduction: float = _within(0.1, 0, 2)
    """The same at the root."""
    virtual_loss: float = _within(1.0, 0, 10)
    """Losses that a descent in flight counts as on every edge of its path."""
    expansion_visits: int = _within(1, 1, 1000)
    """Visits after which a node gets its children; until then each asks the evaluator."""
    policy_temperature: float = _within(1.0, 0.01, 10)
    """The priors of all nodes are raised to 1 / this and renormalised."""
    score_utility: float = _within(0.1, 0, 1)
    """Weight of the expected score around zero."""
    dynamic_score_utility: float = _within(0.3, 0, 1)
    """Weight of the expected score around the root's present score."""
    score_scale: float = _within(1.0, 0.01, 100)
    """Points, in units of twice the square root of the board's area, that earn half the weight."""
    root_policy_temperature: float = _within(1.0, 0.01, 100)
    """The root's priors are raised to 1 / this and renormalised."""
    root_noise_weight: float = _within(0.0, 0, 1)
    """Share of the root's priors that is Dirichlet noise; for self-play."""
    root_noise_total: float = _within(10.83, 0.01, 1000)
    """Sum of the Dirichlet parameters over the legal moves (0.03 x 361)."""
    policy_optimism: float = _within(1.0, 0, 1)
    """Share of the optimistic policy inside the tree, where the net has one."""
    root_policy_optimism: float = _within(0.2, 0, 1)
    """The same at the root."""
    wide_root_noise: float = _within(0.0, 0, 10)
    """How much more of the root's moves are looked at; for analysis, see `puct.widened`."""
    root_symmetries: int = _within(1, 1, 8)
    """Symmetries under which the net is shown the root; what it says is averaged."""
    lcb_stdevs: float = _within(4.0, 0, 10)
    """Standard errors below the mean at which the choice of the move compares."""
    lcb_min_visit_share: float = _within(0.15, 0, 1)
    """Only moves with this share of the most visited move's visits may win by LCB."""
    pierre: bool = _within(False, 0, 1)
    """Select and choose moves as Pierre did; see `puct.pierre_child` and `choice.ranked`."""
    random_symmetry: bool = _within(True, 0, 1)
    """Show the net each leaf under a random symmetry; the identity otherwise."""
    use_cache: bool = _within(True, 0, 1)
    """Look evaluations up in the cache."""
    threat_nodes: int = _within(20_000, 0, 10**9)
    """Positions that a game may look at before the search to find a win it can prove; a leaf gets
    a share of what was set when the engine loaded; 0 proves nothing."""
    shape_share: float = _within(0.5, 0, 1)
    """Share of priors and values that comes from shapes where a net plays five in a row; as set
    when the engine loaded."""
    told: frozenset[str] = field(default=frozenset(), compare=False)
    """Names of the fields that somebody set, perhaps to the usual value."""

    def with_option(self, name: str, text: str) -> "SearchParams":
        """Return a copy with one field set from text.

        Raises:
            ValueError: No such field, or a value outside its range.
        """
        if name not in RANGES:
            raise ValueError(f"unknown parameter {name[:40]!r}")
        low, high = RANGES[name]
        told = self.told | {name}
        value: Any
        if isinstance(getattr(self, name), bool):
            try:
                return replace(self, told=told, **{name: parse_switch(text)})
            except BadValueError as error:
                raise ValueError(f"{name}: {error}") from None
        value = parse_number(text)
        if math.isnan(value):
            raise ValueError(f"{name} is a number, not {text[:20]!r}")
        if not low <= value <= high:
            raise ValueError(f"{name} lies between {low:g} and {high:g}")
        if isinstance(getattr(self, name), int):
            if value != int(value):
                raise ValueError(f"{name} is a whole number, not {text[:20]!r}")
            value = int(value)
        return replace(self, told=told, **{name: value})

    def changed_by(self, others: "SearchParams") -> "SearchParams":
        """Return a copy with every field that others set: by name, or to an unusual value."""
        usual = SearchParams()
        values = {name: getattr(others, name) for name in RANGES}
        changed = {
            name: value
            for name, value in values.items()
            if name in others.told or value != getattr(usual, name)
        }
        return replace(self, told=self.told | others.told, **changed)

    def score_around(self, center_white: float, area: int) -> "ScoreUtility":
        """Return how points count around White's lead, on a board of so many points."""
        scale = self.score_scale * 2.0 * area**0.5
        weights = float(self.score_utility), float(self.dynamic_score_utility)
        return ScoreUtility(*weights, float(scale), center_white)

    @property
    def numbers(self) -> "PuctNumbers":
        """What the selection kernel needs."""
        return PuctNumbers(*(float(getattr(self, name)) for name in PuctNumbers._fields))


class PuctNumbers(NamedTuple):
    """The part of `SearchParams` that kernels take; meanings there."""

    cpuct: float
    cpuct_growth: float
    fpu_reduction: float
    root_fpu_reduction: float
    virtual_loss: float
    wide_root_noise: float
    pierre: float


class ScoreUtility(NamedTuple):
    """How points count towards utility in one search."""

    static_weight: float
    dynamic_weight: float
    scale: float
    """Points that earn half a weight."""
    center_white: float
    """White's expected lead, in points, around which the dynamic part is measured."""


RANGES: dict[str, tuple[float, float]] = {
    each.name: each.metadata["range"] for each in fields(SearchParams) if each.metadata
}
"""Lowest and highest value of every parameter that may be set."""


ANALYSIS_WIDTH = 0.04
"""`wide_root_noise` of analyses that are made for people, who want to see several moves; as
KataGo's."""


ROLLOUT_PARAMS = SearchParams(
    cpuct=2.5,
    score_utility=0.0,
    dynamic_score_utility=0.0,
    lcb_min_visit_share=1.0,
)
"""For a search whose values come from rollouts alone: a few say little of a score, and of a move
that was hardly tried."""
