"""Which rows win: the rules of five in a row by name, and by the number Gomocup gives them."""

from dataclasses import dataclass

EXACT, RENJU_BIT, CARO_BIT = 1, 4, 8
"""Gomocup's number of a rule is the sum of these: runs over five win nothing; Black has forbidden
points and only his runs have to be exact; a five between two of the opponent's stones wins nothing.
"""


@dataclass(frozen=True, slots=True)
class FiveRules:
    """How a game of five in a row is won."""

    name: str
    kind: int
    """Gomocup's number."""

    @property
    def is_renju(self) -> bool:
        """Whether Black has forbidden points."""
        return bool(self.kind & RENJU_BIT)


FREESTYLE = FiveRules("freestyle", 0)
STANDARD = FiveRules("standard", EXACT)
RENJU = FiveRules("renju", RENJU_BIT)
CARO = FiveRules("caro", CARO_BIT)
CARO_EXACT = FiveRules("caro-exact", CARO_BIT | EXACT)

RULES = {rules.name: rules for rules in (FREESTYLE, STANDARD, RENJU, CARO, CARO_EXACT)}


def find_rules(name: str) -> FiveRules:
    """Return the rules of a name.

    Raises:
        ValueError: There are none.
    """
    try:
        return RULES[name]
    except KeyError:
        known = ", ".join(RULES)
        raise ValueError(f"there are no rules {name[:20]!r}; known are {known}") from None
