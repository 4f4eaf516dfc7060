"""Which rows win: the rules of five in a row, by name and by the number Gomocup gives them.

Only the standard library is imported here.
"""

from gtp_engine.go.rules import FIVE_RULES, InvalidRulesError, Rules

EXACT, RENJU_BIT, CARO_BIT = 1, 4, 8
"""Gomocup's number of a rule is the sum of these: runs over five win nothing; Black has forbidden
points and only his runs have to be exact; a five between two of the opponent's stones wins nothing.
"""

LEAST_SIZE = 5

FREESTYLE, STANDARD, RENJU = (FIVE_RULES[name] for name in ("freestyle", "standard", "renju"))


def find_rules(name: str) -> Rules:
    """Return the rules of a name, in any case.

    Raises:
        InvalidRulesError: There are none.
    """
    try:
        return FIVE_RULES[name.strip().lower()]
    except KeyError:
        known = ", ".join(FIVE_RULES)
        raise InvalidRulesError(f"there are no rules {name[:20]!r}; known are {known}") from None
