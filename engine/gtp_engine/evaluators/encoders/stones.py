"""Planes of stones, as encoders without rules and komi show them."""

from gtp_engine.evaluators.encoders.inputs import Planes, SymmetryMap
from gtp_engine.go.board import BoardRecord
from gtp_engine.go.history import History
from gtp_engine.kernels import inline_kernel, kernel


@inline_kernel
def mark_color(board: BoardRecord, color: int, symmetry_map: SymmetryMap, plane: Planes) -> None:
    """Set the points of a plane that hold this colour."""
    for point in range(board["n_points"]):
        if board["color"][point] == color:
            plane[symmetry_map[point]] = 1


@kernel
def mark_past_stones(
    history: History,
    ply: int,
    color: int,
    symmetry_map: SymmetryMap,
    planes: Planes,
    first: int,
    step: int,
) -> None:
    """Fill eight planes with a colour's stones now and one to seven plies ago.

    A pass is a ply like any other. Planes from before the game began stay zero.

    Args:
        history: The game and the path to the position.
        ply: The position.
        color: Whose stones.
        symmetry_map: [points] the symmetry to show.
        planes: [C, H*W] result, zero so far.
        first: The plane of the present stones.
        step: From there to the plane of a ply earlier.
    """
    for ago in range(min(8, ply + 1)):
        mark_color(history.boards[ply - ago], color, symmetry_map, planes[first + step * ago])
