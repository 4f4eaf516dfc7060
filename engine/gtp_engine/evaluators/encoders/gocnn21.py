"""GoCNN's input with the history its author wished for: 21 planes.

0-7  those of gocnn8      8-12  the last five moves, newest first; a pass leaves its plane empty
13-20  stones by their age in turns: 0, 1, .. 6, 7 or more
"""

import numpy as np

from gtp_engine.evaluators.encoders import gocnn8
from gtp_engine.evaluators.encoders.inputs import Features, Options, Planes, SymmetryMap
from gtp_engine.go.coords import BLACK, WHITE
from gtp_engine.go.history import History
from gtp_engine.go.ladders import Reader
from gtp_engine.go.rules import RuleFlags
from gtp_engine.kernels import hot_kernel, int64

N_PLANES = 21
RECENT, N_RECENT = 8, 5
AGE, N_AGES = 13, 8

encode_stones = gocnn8.encode


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
    points = int64(board["width"]) * int64(board["height"])
    planes = spatial.reshape(N_PLANES, points)
    encode_stones(history, ply, rules, options, reader, symmetry_map, planes[:RECENT], features)
    planes[RECENT:] = 0
    n_points = int64(board["n_points"])
    age = np.full(n_points, N_AGES - 1, np.int8)
    for ago in range(min(N_AGES - 1, ply) - 1, -1, -1):
        turn = history.turns[ply - ago]
        if turn["move"] > 0 and not turn["pass_for_ko"]:
            age[turn["move"]] = ago
            if ago < N_RECENT:
                planes[RECENT + ago, symmetry_map[turn["move"]]] = 1
    for point in range(n_points):
        if board["color"][point] == BLACK or board["color"][point] == WHITE:
            planes[AGE + age[point], symmetry_map[point]] = 1
