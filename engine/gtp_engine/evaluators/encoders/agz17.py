"""AlphaGo Zero's input: 17 planes (Silver et al., "Mastering the game of Go without human
knowledge", Nature 550, 2017, Methods).

     0, 2, .. 14  own stones now and one to seven plies ago
     1, 3, .. 15  the opponent's
     16           ones if Black is to move
"""

from gtp_engine.evaluators.encoders.inputs import Features, Options, Planes, SymmetryMap
from gtp_engine.evaluators.encoders.stones import mark_past_stones
from gtp_engine.go.coords import BLACK
from gtp_engine.go.history import History
from gtp_engine.go.ladders import Reader
from gtp_engine.go.rules import RuleFlags
from gtp_engine.kernels import hot_kernel, int64

N_PLANES = 17


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
    mark_past_stones(history, ply, to_play, symmetry_map, planes, 0, 2)
    mark_past_stones(history, ply, 3 - to_play, symmetry_map, planes, 1, 2)
    if to_play == BLACK:
        planes[16, :] = 1
