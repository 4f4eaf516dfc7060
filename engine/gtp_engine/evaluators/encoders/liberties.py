"""Planes of stones by the liberties of their chains."""

from gtp_engine.evaluators.encoders.inputs import Planes, SymmetryMap
from gtp_engine.evaluators.encoders.katago_features import mark_chain
from gtp_engine.go.board import BoardRecord, count_liberties, is_head
from gtp_engine.kernels import kernel


@kernel
def mark_by_liberties(
    board: BoardRecord,
    color: int,
    levels: int,
    symmetry_map: SymmetryMap,
    planes: Planes,
    first: int,
) -> None:
    """Fill planes with a colour's stones by the liberties of their chains: 1, 2, .. and more.

    Args:
        board: The position.
        color: Whose stones.
        levels: How many planes; the last one stands for so many liberties or more.
        symmetry_map: [points] the symmetry to show.
        planes: [C, H*W] result, zero so far.
        first: The plane of chains in atari.
    """
    for point in range(board["n_points"]):
        if is_head(board, point) and board["color"][point] == color:
            n = count_liberties(board, point, levels)
            mark_chain(board, point, symmetry_map, planes[first + n - 1])
