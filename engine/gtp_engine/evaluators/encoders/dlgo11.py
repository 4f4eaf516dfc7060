"""The eleven planes of the book "Deep Learning and the Game of Go" (`simple`).

0-3 Black's stones with one, two, three, four or more liberties     8 ones if Black is to move
4-7 White's                                                         9 ones if White is to move
                                                 10 where ko or superko forbids a move
"""

import numpy as np

from gtp_engine.evaluators.encoders.inputs import Features, Options, Planes, SymmetryMap
from gtp_engine.evaluators.encoders.katago_features import mark_bans
from gtp_engine.evaluators.encoders.liberties import mark_by_liberties
from gtp_engine.go.coords import BLACK, WHITE
from gtp_engine.go.history import History
from gtp_engine.go.ladders import Reader
from gtp_engine.go.rules import RuleFlags
from gtp_engine.kernels import hot_kernel, int64

N_PLANES = 11


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
    points = int64(board["width"]) * int64(board["height"])
    planes = spatial.reshape(N_PLANES, points)
    planes[:] = 0
    mark_by_liberties(board, BLACK, 4, symmetry_map, planes, 0)
    mark_by_liberties(board, WHITE, 4, symmetry_map, planes, 4)
    planes[8 if to_play == BLACK else 9, :] = 1
    barred = np.zeros(points, np.uint8)  # known to KataGo's encores alone
    mark_bans(history, ply, rules, symmetry_map, planes[10], barred)
