"""Settings that a query, a configuration file or the command line may change.

The names are KataGo's where the engine has something of the kind, and those of `SearchParams`.
Only the standard library is imported here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gtp_engine.arguments import parse_number
from gtp_engine.files import read_file
from gtp_engine.search.params import ANALYSIS_WIDTH, RANGES, SearchParams
from gtp_engine.search.stopping import Limits

BLACK_VIEW, WHITE_VIEW, MOVER_VIEW = "BLACK", "WHITE", "SIDETOMOVE"
PERSPECTIVES = (BLACK_VIEW, WHITE_VIEW, MOVER_VIEW)
"""Whose winrate, score and ownership are reported."""

DEFAULT_VISITS = 500
"""Visits of a position where nobody says."""
MOST_VISITS = 1 << 50
LONGEST_PV = 1000

KATA_NAMES = {
    "cpuctExploration": "cpuct",
    "fpuReductionMax": "fpu_reduction",
    "rootFpuReductionMax": "root_fpu_reduction",
    "numVirtualLossesPerThread": "virtual_loss",
    "nnPolicyTemperature": "policy_temperature",
    "rootPolicyTemperature": "root_policy_temperature",
    "rootDirichletNoiseWeight": "root_noise_weight",
    "rootDirichletNoiseTotalConcentration": "root_noise_total",
    "wideRootNoise": "wide_root_noise",
    "staticScoreUtilityFactor": "score_utility",
    "dynamicScoreUtilityFactor": "dynamic_score_utility",
    "lcbStdevs": "lcb_stdevs",
    "minVisitPropForLCB": "lcb_min_visit_share",
    "policyOptimism": "policy_optimism",
    "rootPolicyOptimism": "root_policy_optimism",
    "rootNumSymmetriesToSample": "root_symmetries",
}
"""KataGo's names of what `SearchParams` has."""


class OverrideError(ValueError):
    """A setting with a value that it cannot have; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class AnalysisSettings:
    """How one position is analysed and reported."""

    params: SearchParams = field(
        default_factory=lambda: SearchParams(wide_root_noise=ANALYSIS_WIDTH)
    )
    limits: Limits = field(default_factory=lambda: Limits(visits=DEFAULT_VISITS))
    perspective: str = BLACK_VIEW
    """One of PERSPECTIVES."""
    pv_length: int = 15
    """Moves of a principal variation after its first."""

    def with_overrides(self, values: Mapping[str, Any]) -> tuple["AnalysisSettings", list[str]]:
        """Return the settings with some changed, and the names that mean nothing here.

        Raises:
            OverrideError: A value makes no sense.
        """
        changed, unknown = self, []
        for name, value in values.items():
            param = KATA_NAMES.get(name, name)
            if name in _LIMITS:
                limit, low, high, kind = _LIMITS[name]
                changed = changed.with_limits(**{limit: kind(_number(name, value, low, high))})
            elif name == "reportAnalysisWinratesAs":
                changed = replace(changed, perspective=_perspective(name, value))
            elif name == "analysisPVLen":
                changed = replace(changed, pv_length=int(_number(name, value, 1, LONGEST_PV)))
            elif param in RANGES:
                changed = replace(changed, params=_with_param(changed.params, name, param, value))
            else:
                unknown.append(name)
        return changed, unknown

    def with_limits(self, **limits: Any) -> "AnalysisSettings":
        """Return the settings with some limits changed."""
        return replace(self, limits=replace(self.limits, **limits))


_LIMITS: dict[str, tuple[str, float, float, type]] = {
    "maxVisits": ("visits", 1, MOST_VISITS, int),
    "maxPlayouts": ("playouts", 1, MOST_VISITS, int),
    "maxTime": ("seconds", 0.0, 1e20, float),
}
"""Fields of `Limits` by KataGo's names, each with its lowest and highest value."""


def _number(name: str, value: Any, low: float, high: float) -> float:
    number = parse_number(str(value))
    if not low <= number <= high:
        raise OverrideError(f"{name} must be a number from {low:g} to {high:g}")
    return number


def _perspective(name: str, value: Any) -> str:
    perspective = str(value).upper()
    if perspective not in PERSPECTIVES:
        raise OverrideError(f"{name} must be one of {', '.join(PERSPECTIVES)}")
    return perspective


def _with_param(params: SearchParams, name: str, param: str, value: Any) -> SearchParams:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    try:
        return params.with_option(param, text)
    except ValueError as error:
        low, high = RANGES[param]
        message = str(error) if param == name else f"{name} must be from {low:g} to {high:g}"
        raise OverrideError(message) from None


def read_config(path: Path) -> dict[str, str]:
    """Return the settings of a file in KataGo's form, lines of `name = value`.

    Raises:
        OverrideError: The file cannot be read.
    """
    try:
        text = read_file(path).decode("utf-8", "replace")
    except OSError as error:
        raise OverrideError(error.strerror or "cannot be read") from None
    return parse_config(text.splitlines())


def parse_config(lines: list[str]) -> dict[str, str]:
    """Return the settings of lines of `name = value`; `#` begins a comment."""
    values = {}
    for line in lines:
        name, separator, value = line.partition("#")[0].partition("=")
        if separator:
            values[name.strip()] = value.strip()
    return values
