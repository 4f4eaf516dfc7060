"""Play nets of a run against each other and a fixed opponent; plot strength over accuracy.

Moves are drawn from the policies, without search. Give the same command again to go on.
"""

from gtp_export.plans import StrengthPlan

PLAN = StrengthPlan


def run(plan: StrengthPlan) -> int:
    """Print a table on stdout, with 95 % intervals."""
    from gtp_export.strength import measure_strength

    print(measure_strength(plan))
    return 0
