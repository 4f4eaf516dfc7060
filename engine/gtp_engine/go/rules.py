"""Orthogonal rules of Go and the presets players know by name.

The presets and their meaning are those that KataGo's `kata-set-rules` made common among clients.
Only the standard library is imported here.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, NamedTuple

from gtp_engine.arguments import BadValueError, parse_number, parse_switch


class Ko(IntEnum):
    """Which repetitions are forbidden."""

    SIMPLE = 0
    """Only taking back a single stone at once; a long cycle has no result."""
    POSITIONAL = 1
    """No earlier whole-board position may return."""
    SITUATIONAL = 2
    """No earlier position may return with the same player to move."""


class Scoring(IntEnum):
    """What is counted."""

    AREA = 0
    TERRITORY = 1


class Tax(IntEnum):
    """Which empty points of living groups do not count."""

    NONE = 0
    SEKI = 1
    """Surrounded points in seki."""
    ALL = 2
    """Points in seki, and two points for every living group."""


class HandicapBonus(IntEnum):
    """What White gets for the handicap stones, in points."""

    ZERO = 0
    N = 1
    N_MINUS_ONE = 2


GO, ATARI_GO = "go", "atari-go"
"""The games on Go's boards and by its moves, as users name them; see `atari_go.py`."""

NO_FIVE = -1
_FIVE_NAMES = {0: "freestyle", 1: "standard", 4: "renju", 8: "caro", 9: "caro-exact"}


class RuleFlags(NamedTuple):
    """`Rules` as plain numbers, for kernels."""

    ko: int
    scoring: int
    tax: int
    multi_stone_suicide: int
    handicap_bonus: int
    friendly_pass_ok: int
    komi: float
    must_move: int = 0
    five: int = -1


class InvalidRulesError(ValueError):
    """The rules named or described do not exist."""


MAX_KOMI = 400.0


def read_object(text: str) -> Any:
    """Return the JSON object that describes rules.

    Raises:
        InvalidRulesError: It is malformed.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidRulesError(f"the rules are not valid JSON: {error}") from None


def parse_komi(text: str | float) -> float:
    """Return a komi.

    Raises:
        BadValueError: It is not a number, not finite, or beyond 400 points.
    """
    komi = parse_number(str(text))
    if not abs(komi) <= MAX_KOMI:
        raise BadValueError(f"{str(text)[:20]!r} is no komi from {-MAX_KOMI:g} to {MAX_KOMI:g}")
    return komi + 0.0  # no -0.0


@dataclass(frozen=True, slots=True)
class Rules:
    """One set of rules."""

    ko: Ko = Ko.POSITIONAL
    scoring: Scoring = Scoring.AREA
    tax: Tax = Tax.NONE
    multi_stone_suicide: bool = False
    """Whether a move may remove its own chain of two or more stones. One stone never may."""
    button: bool = False
    """Whether the first pass takes a button worth half a point."""
    handicap_bonus: HandicapBonus = HandicapBonus.ZERO
    friendly_pass_ok: bool = True
    """Whether dead stones may be left on the board when both players pass."""
    komi: float = 7.5
    """Points added to White."""
    must_move: bool = False
    """Whether only those may pass who have no other move; so it is in Atari Go."""
    five: int = NO_FIVE
    """Gomocup's number of the rules where five in a row is played; see `five/rules.py`."""

    @classmethod
    def parse(cls, text: str, komi: float | None = None) -> "Rules":
        """Return the rules of a preset's name or of a JSON object in `kata-get-rules` form.

        Args:
            text: A name such as "japanese", in any case, or a JSON object.
            komi: The komi when the text does not set one; the preset's own when None.

        Raises:
            InvalidRulesError: No such preset, or a malformed object.
        """
        stripped = text.strip()
        if stripped.startswith("{"):
            return cls.from_kata(read_object(stripped), komi)
        preset = _BY_LETTERS.get(re.sub(r"[ _-]", "", stripped.lower()))
        if preset is None:
            known = ", ".join(sorted({*PRESETS, *_ALIASES}))
            raise InvalidRulesError(f"unknown rules {stripped[:40]!r}; known are {known}")
        return preset if komi is None else replace(preset, komi=komi)

    @classmethod
    def from_kata(cls, described: Mapping[str, Any], komi: float | None = None) -> "Rules":
        """Return the rules of an object as `kata-get-rules` prints it.

        Absent keys are as in Tromp-Taylor rules, and by territory there is a tax on seki, as in
        KataGo.

        Raises:
            InvalidRulesError: An unknown key or value.
        """
        rules = PRESETS["tromp-taylor"]
        if komi is not None:
            rules = replace(rules, komi=komi)
        for key, value in described.items():
            rules = rules.with_option(str(key), value)
        if rules.scoring is Scoring.TERRITORY and "tax" not in described:
            rules = replace(rules, tax=Tax.SEKI)
        return rules

    def with_option(self, key: str, value: Any) -> "Rules":
        """Return the rules with one field changed, named and valued as in `kata-set-rule`.

        Raises:
            InvalidRulesError: An unknown key or value.
        """
        if key not in _OPTIONS:
            raise InvalidRulesError(f"unknown rule {key[:40]!r}")
        name, parse = _OPTIONS[key]
        try:
            return replace(self, **{name: parse(value)})
        except (KeyError, ValueError, TypeError):
            shown = repr(value)[:40]
            raise InvalidRulesError(f"invalid value {shown} for the rule {key!r}") from None

    def to_kata(self) -> dict[str, str | bool]:
        """Return the rules as `kata-get-rules` prints them, komi left out."""
        if self.five != NO_FIVE:
            return {"rules": self.describe()}
        return {
            "ko": self.ko.name,
            "scoring": self.scoring.name,
            "tax": self.tax.name,
            "suicide": self.multi_stone_suicide,
            "hasButton": self.button,
            "whiteHandicapBonus": _NAME_BY_HANDICAP_BONUS[self.handicap_bonus],
            "friendlyPassOk": self.friendly_pass_ok,
        }

    @property
    def flags(self) -> RuleFlags:
        """The rules as kernels take them."""
        return RuleFlags(
            int(self.ko),
            int(self.scoring),
            int(self.tax),
            int(self.multi_stone_suicide),
            int(self.handicap_bonus),
            int(self.friendly_pass_ok),
            float(self.komi),
            int(self.must_move),
            self.five,
        )

    def describe(self) -> str:
        """Return the name of the preset, or what a mixture of rules consists of; without komi."""
        if self.five != NO_FIVE:
            return _FIVE_NAMES[self.five]
        if self.must_move:
            return "the first capture wins"
        if (title := self.title) is not None:
            return title
        parts = [f"{self.ko.name.lower()} ko", f"{self.scoring.name.lower()} scoring"]
        if self.tax is not Tax.NONE:
            parts.append(f"tax on {self.tax.name.lower()}")
        if self.multi_stone_suicide:
            parts.append("suicide")
        if self.button:
            parts.append("button")
        if self.handicap_bonus is not HandicapBonus.ZERO:
            parts.append(f"handicap bonus {_NAME_BY_HANDICAP_BONUS[self.handicap_bonus]}")
        if self.scoring is Scoring.AREA and not self.friendly_pass_ok:
            parts.append("dead stones are to be captured")
        return ", ".join(parts)

    @property
    def preset(self) -> str | None:
        """The name of the preset these are, whatever the komi; None for a mixture."""
        for name, preset in PRESETS.items():
            if replace(preset, komi=self.komi) == self:
                return name
        return None

    @property
    def title(self) -> str | None:
        """The preset's name as people are shown it, which `parse` knows too."""
        return _TITLES.get(self.preset or "", self.preset)


_HANDICAP_BONUS_BY_NAME = {
    "0": HandicapBonus.ZERO,
    "N": HandicapBonus.N,
    "N-1": HandicapBonus.N_MINUS_ONE,
}
_NAME_BY_HANDICAP_BONUS = {bonus: name for name, bonus in _HANDICAP_BONUS_BY_NAME.items()}


def _parse_switch(value: Any) -> bool:
    return parse_switch(str(value))


def _parse_scoring(value: Any) -> Scoring:
    return Scoring[str(value).upper()]


_OPTIONS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "ko": ("ko", lambda value: Ko[str(value).upper()]),
    "score": ("scoring", _parse_scoring),
    "scoring": ("scoring", _parse_scoring),
    "tax": ("tax", lambda value: Tax[str(value).upper()]),
    "whiteHandicapBonus": ("handicap_bonus", lambda value: _HANDICAP_BONUS_BY_NAME[str(value)]),
    "komi": ("komi", parse_komi),
    "suicide": ("multi_stone_suicide", _parse_switch),
    "multiStoneSuicideLegal": ("multi_stone_suicide", _parse_switch),
    "hasButton": ("button", _parse_switch),
    "button": ("button", _parse_switch),
    "friendlyPassOk": ("friendly_pass_ok", _parse_switch),
}
"""By the key of `kata-set-rule`: the field, and what makes its value."""

_TERRITORY = Rules(
    ko=Ko.SIMPLE, scoring=Scoring.TERRITORY, tax=Tax.SEKI, friendly_pass_ok=False, komi=6.5
)
_AGA = Rules(ko=Ko.SITUATIONAL, handicap_bonus=HandicapBonus.N_MINUS_ONE)

PRESETS: dict[str, Rules] = {
    "default": Rules(),
    "tromp-taylor": Rules(multi_stone_suicide=True, friendly_pass_ok=False),
    "chinese": Rules(ko=Ko.SIMPLE, handicap_bonus=HandicapBonus.N),
    "chinese-ogs": Rules(handicap_bonus=HandicapBonus.N),
    "japanese": _TERRITORY,
    "aga": _AGA,
    "aga-button": replace(_AGA, button=True, komi=7.0),
    "new-zealand": Rules(ko=Ko.SITUATIONAL, multi_stone_suicide=True, komi=7.0),
    "stone-scoring": Rules(ko=Ko.SIMPLE, tax=Tax.ALL),
    "ancient-territory": replace(_TERRITORY, tax=Tax.ALL),
    "ing": Rules(multi_stone_suicide=True),
    # Area scoring as CGOS counts it: every stone left on the board is alive.
    "cgos": Rules(friendly_pass_ok=False),
}
"""Named rules. Each carries its customary komi for 19x19."""

FIVE_RULES = {
    name: Rules(ko=Ko.SIMPLE, komi=0.0, must_move=True, five=number)
    for number, name in _FIVE_NAMES.items()
}
"""The rules of five in a row by name; what Go alone goes by means nothing there."""

_TITLES = {"chinese-ogs": "chinese-superko"}
"""Names to show in place of those that name one of several servers with the same rules."""

_ALIASES = {
    "chinese-superko": "chinese-ogs",
    "chinese-kgs": "chinese-ogs",
    "korean": "japanese",
    "bga": "aga",
    "french": "aga",
    "nz": "new-zealand",
    "ancient-area": "stone-scoring",
    "goe": "ing",
}

_BY_LETTERS = {
    name.replace("-", ""): PRESETS[_ALIASES.get(name, name)] for name in (*PRESETS, *_ALIASES)
}
"""The presets by their names without hyphens, which users may leave out."""


LONGEST_GAME = 3
"""Moves a point of the board after which programs that play each other stop and count."""


def default_komi(width: int, height: int) -> float:
    """Return the komi used where nobody set one: 7.5, and 7 on 9x9 and below."""
    return 7.0 if max(width, height) <= 9 else 7.5
