"""The stones alone: 2 planes, own and the opponent's.

It is the one plane of the book "Deep Learning and the Game of Go" taken apart: its 1, -1 and 0
are the first plane minus the second, which a converted net's graph works out.
"""

from gtp_engine.evaluators.encoders.inputs import Features, Options, Planes, SymmetryMap
from gtp_engine.evaluators.encoders.stones import mark_color
from gtp_engine.go.history import History
from gtp_engine.go.ladders import Reader
from gtp_engine.go.rules import RuleFlags
from gtp_engine.kernels import hot_kernel, int64

N_PLANES = 2


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
    mark_color(board, to_play, symmetry_map, planes[0])
    mark_color(board, 3 - to_play, symmetry_map, planes[1])
