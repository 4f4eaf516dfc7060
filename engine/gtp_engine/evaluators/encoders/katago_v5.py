"""KataGo's input features, version 5: 13 planes and 12 globals, for nets of version 6.

Planes, in terms of the player to move:

     0 board                      4 stones not to be recaptured
     1 own stones                 5 unused
     2 the opponent's          6-10 the last five moves
     3 ko and superko bans    11-12 own and opponent's stones when the second encore began

The globals are the first twelve of version 3.
"""

from gtp_engine.evaluators.encoders.inputs import Features, Options, Planes, SymmetryMap
from gtp_engine.evaluators.encoders.katago_features import (
    mark_bans,
    mark_early_history,
    mark_encore_start,
    mark_stones,
    write_early_features,
)
from gtp_engine.go.history import History
from gtp_engine.go.ladders import Reader
from gtp_engine.go.rules import RuleFlags
from gtp_engine.kernels import hot_kernel, int64

N_PLANES = 13


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
    turn = history.turns[ply]
    planes = spatial.reshape(N_PLANES, int64(board["width"]) * int64(board["height"]))
    planes[1:] = 0
    features[:] = 0.0

    mark_stones(board, int64(turn["to_play"]), symmetry_map, planes)
    mark_bans(history, ply, rules, symmetry_map, planes[3], planes[4])
    mark_early_history(history, ply, rules, options, symmetry_map, planes, 6, features)
    mark_encore_start(board, turn, planes[11], planes[12], symmetry_map)
    write_early_features(board, turn, rules, options, features)
