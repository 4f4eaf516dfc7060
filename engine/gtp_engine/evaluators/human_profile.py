"""KataGo's human profiles: whom a net trained on people's games imitates.

A profile names the ranks of both players, or the year of professionals' games:

    rank_5k         two players of 5 kyu, in the style since AlphaZero
    rank_9d_3k      Black of 9 dan against White of 3 kyu; 20k to 9d
    preaz_5k        the same, in the style before AlphaZero
    preaz_9d_3k
    proyear_1950    professionals of that year, 1800 to 2023

Such a net takes 192 numbers besides planes and globals: who the two are, how fast they play,
when and where. Only the standard library is imported here.
"""

import math
import re
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from hashlib import blake2b

from gtp_engine.coords import WHITE

N_META = 192
"""Numbers that a net takes about the players."""

DEFAULT_PROFILE = "rank_9d"
"""Whom a net plays like if nobody says: the strongest amateurs."""

FIRST_YEAR, LAST_YEAR = 1800, 2023
_LAST_COLLECTED_YEAR = 2020
"""Professional games up to this year come from one collection, later ones from another."""

_EPOCH = date(1970, 1, 1)
_KGS, _GOGOD, _GO4GO = 2, 5, 6
"""Where games come from, as nets number it."""

_UNKNOWN_TIME, _BYO_YOMI = 0, 4
"""How time is kept, as nets number it."""

# Where things stand among the numbers.
_RANKS_AT, _RANKS = 6, 34
_RATED_AT = 74
_TIME_AT = 75
_AREA_AT = 86
_DATE_AT, _PERIODS = 87, 32
_SOURCE_AT = 151

_SHORTEST_PERIOD_DAYS = 7.0
_PERIOD_SPAN = 80000.0
"""Longest period by which dates are told apart, over the shortest."""


@dataclass(frozen=True)
class HumanProfile:
    """Two human players and the circumstances of their game."""

    name: str
    black_rank: int
    """1 is 9 dan, 9 is 1 dan, 10 is 1 kyu, 29 is 20 kyu."""
    white_rank: int
    date: date
    source: int
    time_system: int
    rated: float
    """0 rated, 0.5 unknown."""
    main_seconds: float = 0.0
    period_seconds: float = 0.0
    periods: int = 0

    @classmethod
    def parse(cls, name: str) -> "HumanProfile":
        """Return the profile of a name.

        Raises:
            ValueError: There is no such profile; the message is one sentence.
        """
        kind, _, rest = name.partition("_")
        if kind == "proyear" and re.fullmatch("[0-9]{4}", rest):
            year = int(rest)
            if FIRST_YEAR <= year <= LAST_YEAR:
                source = _GOGOD if year <= _LAST_COLLECTED_YEAR else _GO4GO
                return cls(name, 1, 1, date(year, 6, 1), source, _UNKNOWN_TIME, 0.0)
        if kind in ("rank", "preaz"):
            ranks = [_parse_rank(text) for text in rest.split("_")]
            if len(ranks) <= 2 and all(ranks):
                day = date(2016, 9, 1) if kind == "preaz" else date(2020, 3, 1)
                return cls(name, ranks[0], ranks[-1], day, _KGS, _BYO_YOMI, 0.5, 1200.0, 30.0, 5)
        raise ValueError(
            f"{name[:40]!r} is no human profile; profiles look like rank_5k, rank_9d_3k (Black"
            f" and White, 20k to 9d), preaz_5k or proyear_1950 ({FIRST_YEAR} to {LAST_YEAR})"
        )

    @cached_property
    def digest(self) -> int:
        """56 bits that tell profiles apart, the same in every run, as a `hash` of text is not."""
        return int.from_bytes(blake2b(repr(self).encode(), digest_size=7).digest(), "big")

    def inputs(self, to_play: int, area: int) -> list[float]:
        """Return the 192 numbers a net is told.

        Args:
            to_play: BLACK or WHITE, whose view is taken.
        """
        numbers = [0.0] * N_META
        numbers[0] = numbers[1] = 1.0
        own, other = self.black_rank, self.white_rank
        if to_play == WHITE:
            own, other = other, own
        for first, rank in ((_RANKS_AT, own), (_RANKS_AT + _RANKS, other)):
            numbers[first : first + rank] = [1.0] * rank
        numbers[_RATED_AT] = self.rated
        numbers[_TIME_AT + self.time_system] = 1.0
        numbers[82] = 0.4 * (math.log(self.main_seconds + 60.0) - 6.5)
        numbers[83] = 0.3 * (math.log(self.period_seconds + 1.0) - 3.0)
        numbers[84] = 0.5 * (math.log(self.periods + 2.0) - 1.5)
        numbers[85] = 0.25 * (math.log(2.0) - 1.5)  # no Canadian overtime
        numbers[_AREA_AT] = 0.5 * math.log(area / 361.0)
        numbers[_DATE_AT : _DATE_AT + 2 * _PERIODS] = _waves((self.date - _EPOCH).days)
        numbers[_SOURCE_AT + self.source] = 1.0
        return numbers


def _parse_rank(text: str) -> int:
    """Return 1 for 9d to 29 for 20k; 0 for what is no such rank."""
    found = re.fullmatch("([1-9][0-9]?)([dk])", text)
    if found is None:
        return 0
    number = int(found[1])
    if found[2] == "d":
        return 10 - number if number <= 9 else 0
    return 9 + number if number <= 20 else 0


def _waves(days: int) -> list[float]:
    """Return cosine and sine of a date, counted from 1970, at periods of a week and longer."""
    numbers = []
    period = _SHORTEST_PERIOD_DAYS
    for _ in range(_PERIODS):
        angle = days / period * 2.0 * math.pi
        numbers += [math.cos(angle), math.sin(angle)]
        period *= _PERIOD_SPAN ** (1.0 / (_PERIODS - 1))
    return numbers
