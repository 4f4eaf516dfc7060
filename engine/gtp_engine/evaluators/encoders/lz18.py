"""Leela Zero's input: 18 planes.

     0-7  own stones now and one to seven plies ago     16 ones if Black is to move
     8-15 the opponent's                                17 ones if White is to move

Rows count from the top here, as everywhere; a converted net is turned accordingly. Leela Zero
knows neither komi nor rules.
"""

from gtp_engine.evaluators.encoders.inputs import Features, Options, Planes, SymmetryMap
from gtp_engine.evaluators.encoders.stones import mark_past_stones
from gtp_engine.go.coords import BLACK
from gtp_engine.go.history import History
from gtp_engine.go.ladders import Reader
from gtp_engine.go.rules import RuleFlags
from gtp_engine.kernels import hot_kernel, int64

N_PLANES = 18


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
    mark_past_stones(history, ply, to_play, symmetry_map, planes, 0, 1)
    mark_past_stones(history, ply, 3 - to_play, symmetry_map, planes, 8, 1)
    planes[16 if to_play == BLACK else 17, :] = 1
