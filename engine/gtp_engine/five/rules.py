"""Which rows win: the rules of five in a row, by name and by the number Gomocup gives them.

Only the standard library is imported here.
"""

from gtp_engine.go.rules import FIVE_RULES, InvalidRulesError, Rules, read_object

EXACT, CONTINUOUS_BIT, RENJU_BIT, CARO_BIT = 1, 2, 4, 8
"""Gomocup's number of a rule is the sum of these: runs over five win nothing; a game goes on after
a five, which none does here; Black has forbidden points and only his runs have to be exact; a five
between two of the opponent's stones wins nothing.
"""

NO_LIMIT = 2147483647
"""Gomocup's milliseconds that are left for a match without a clock; no number is larger."""

LEAST_SIZE = 5

FREESTYLE, STANDARD, RENJU = (FIVE_RULES[name] for name in ("freestyle", "standard", "renju"))


def find_rules(name: str) -> Rules:
    """Return the rules of a name, in any case, or of an object as `kata-get-rules` prints it.

    Raises:
        InvalidRulesError: There are none, or the object is malformed.
    """
    name = name.strip()
    if name.startswith("{"):
        described = read_object(name)
        if set(described) != {"rules"}:
            raise InvalidRulesError('an object of these rules has the key "rules" alone')
        name = str(described["rules"])
    try:
        return FIVE_RULES[name.lower()]
    except KeyError:
        known = ", ".join(FIVE_RULES)
        raise InvalidRulesError(f"there are no rules {name[:20]!r}; known are {known}") from None
