"""GoCNN's input: 8 planes.

0-2 own stones with one, two, three or more liberties     6 where simple ko forbids a move
3-5 the opponent's                                        7 ones
"""

from gtp_engine.evaluators.encoders.inputs import Features, Options, Planes, SymmetryMap
from gtp_engine.evaluators.encoders.liberties import mark_by_liberties
from gtp_engine.go.history import History
from gtp_engine.go.ladders import Reader
from gtp_engine.go.rules import RuleFlags
from gtp_engine.kernels import hot_kernel, int64

N_PLANES = 8


@hot_kernel
def encode(
    history: History,
    ply: int,
    rules: RuleFlags,
    options: Options,
    reader: Reader,
    symmetry_map: SymmetryMap,
    spatial: Planes,
    features: Features,
) -> None:
    """Fill the inputs of one position; see `inputs.Encode`."""
    board = history.boards[ply]
    to_play = int64(history.turns[ply]["to_play"])
    planes = spatial.reshape(N_PLANES, int64(board["width"]) * int64(board["height"]))
    planes[:] = 0
    mark_by_liberties(board, to_play, 3, symmetry_map, planes, 0)
    mark_by_liberties(board, 3 - to_play, 3, symmetry_map, planes, 3)
    if board["ko_point"] != 0:
        planes[6, symmetry_map[board["ko_point"]]] = 1
    planes[7, :] = 1
