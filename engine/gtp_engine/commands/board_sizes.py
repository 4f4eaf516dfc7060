"""Which boards speeds are measured on where nobody says."""

from collections.abc import Sequence

from gtp_engine.evaluators.net_info import NetInfo

SIZES = ((9, 9), (19, 19))
"""Width and height of each, where the nets take them."""


def usual_sizes(infos: Sequence[NetInfo]) -> Sequence[tuple[int, int]]:
    """Return those of SIZES that one of the nets takes, or else the first net's largest board."""
    able = [size for size in SIZES if not infos or any(info.accepts(*size) for info in infos)]
    if able:
        return able
    largest = max(infos[0].board_sizes or (infos[0].board_max,))
    return [(largest, largest)]
