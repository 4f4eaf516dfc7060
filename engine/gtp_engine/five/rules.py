"""Which rows win: the rules of five in a row by name, and by the number Gomocup gives them.

Only the standard library is imported here.
"""

from gtp_engine.go.rules import FIVE_NAMES, Ko, Rules

EXACT, RENJU_BIT, CARO_BIT = 1, 4, 8
"""Gomocup's number of a rule is the sum of these: runs over five win nothing; Black has forbidden
points and only his runs have to be exact; a five between two of the opponent's stones wins nothing.
"""

RULES = {
    name: Rules(ko=Ko.SIMPLE, komi=0.0, must_move=True, five=kind)
    for kind, name in FIVE_NAMES.items()
}
"""By name. What other games go by means nothing here."""

FREESTYLE, STANDARD, RENJU = RULES["freestyle"], RULES["standard"], RULES["renju"]


def find_rules(name: str) -> Rules:
    """Return the rules of a name.

    Raises:
        ValueError: There are none.
    """
    try:
        return RULES[name]
    except KeyError:
        known = ", ".join(RULES)
        raise ValueError(f"there are no rules {name[:20]!r}; known are {known}") from None
