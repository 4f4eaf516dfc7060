"""The encoders of five in a row, and the moves to choose from. `five` is for all boards and rules:

    0     ones: a net that pads with zeros sees the edge by it
    1, 2  own stones and the opponent's        3, 4  the latest move and the one before
    5-7   where an own stone makes a three, a four, a five; 8-10 the same of the opponent's
    11    where renju forbids Black a move

Its globals: whether Black is to move; whether only exact fives win for the player to move, and for
the opponent; whether Black has forbidden points; whether caro's condition holds; 0 where towers
look for a komi; which share of the board is full.

`five4` shows what Pierre's nets saw: occupied points, own stones, the opponent's, ones.
"""

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import BLACK, EMPTY, PASS
from gtp_engine.evaluators.encoders.inputs import Features, Planes, Seen
from gtp_engine.evaluators.encoders.stones import mark_color
from gtp_engine.evaluators.eval_batch import EvalBatch
from gtp_engine.evaluators.position_hash import write_position_hash
from gtp_engine.five.rules import CARO_BIT, EXACT, RENJU_BIT
from gtp_engine.five.shapes import (
    FIVE,
    FOUR,
    THREE,
    Shapes,
    best_class,
    is_allowed,
    is_win,
    new_shapes,
)
from gtp_engine.five.threats import moves_to_consider
from gtp_engine.go.history import PLAYING, History
from gtp_engine.go.rules import RuleFlags
from gtp_engine.kernels import hot_kernel, int64, kernel

PLANES = 12
OWN, OTHERS = 1, 2
"""Planes of the stones, in both encoders."""


@hot_kernel
def five(seen: Seen, spatial: Planes, features: Features) -> None:
    """Fill the [12, H, W] planes and the [7] globals of a position; see `inputs.Encode`."""
    history, ply, rules, symmetry_map = seen.history, seen.ply, seen.rules, seen.symmetry_map
    board = history.boards[ply]
    to_play = int64(history.turns[ply]["to_play"])
    kind = int64(rules.five)
    planes = spatial.reshape(PLANES, int64(board["width"]) * int64(board["height"]))
    planes[:] = 0
    planes[0, :] = 1
    mark_color(board, to_play, symmetry_map, planes[OWN])
    mark_color(board, 3 - to_play, symmetry_map, planes[OTHERS])
    for back in range(min(2, ply)):
        move = int64(history.turns[ply - back]["move"])
        if move != PASS:
            planes[3 + back, symmetry_map[move]] = 1
    shapes = new_shapes(board["color"], int64(board["stride"]), int64(board["n_points"]), kind)
    for point in range(len(shapes.colors)):
        if shapes.colors[point] != EMPTY:
            continue
        at = symmetry_map[point]
        for first, color in ((5, to_play), (8, 3 - to_play)):
            made = best_class(shapes, point, color)
            if made == FIVE:
                planes[first + 2, at] = is_win(shapes, point, color)
            elif made >= THREE:
                planes[first + (1 if made >= FOUR else 0), at] = 1
        planes[11, at] = not is_allowed(shapes, point, int64(BLACK))
    is_renju = kind & RENJU_BIT != 0
    features[0] = to_play == BLACK
    features[1] = kind & EXACT != 0 or (is_renju and to_play == BLACK)
    features[2] = kind & EXACT != 0 or (is_renju and to_play != BLACK)
    features[3] = is_renju
    features[4] = kind & CARO_BIT != 0
    features[5] = 0.0
    features[6] = 1.0 - np.float32(board["n_empty"]) / np.float32(planes.shape[1])


@hot_kernel
def five4(seen: Seen, spatial: Planes, features: Features) -> None:
    """Fill the [4, H, W] planes of a position; see `inputs.Encode`."""
    history, ply, symmetry_map = seen.history, seen.ply, seen.symmetry_map
    board = history.boards[ply]
    to_play = int64(history.turns[ply]["to_play"])
    planes = spatial.reshape(4, int64(board["width"]) * int64(board["height"]))
    planes[:3, :] = 0
    planes[3, :] = 1
    mark_color(board, to_play, symmetry_map, planes[OWN])
    mark_color(board, 3 - to_play, symmetry_map, planes[OTHERS])
    for at in range(planes.shape[1]):
        planes[0, at] = planes[OWN, at] + planes[OTHERS, at]


@kernel
def list_moves(
    batch: EvalBatch, slot: int, history: History, ply: int, rules: RuleFlags, nodes: int
) -> Shapes:
    """Write a position's moves to consider into a slot, its result where that is known, or 0.

    Returns:
        The position's shapes.
    """
    board = history.boards[ply]
    turn = history.turns[ply]
    to_play = int64(turn["to_play"])
    shapes = new_shapes(
        board["color"], int64(board["stride"]), int64(board["n_points"]), int64(rules.five)
    )
    numbers = batch.slots[slot]
    numbers["n_moves"] = 0
    numbers["komi"] = 0.0
    numbers["known_result"] = 0
    numbers["depth"] = 0
    numbers["five"] = rules.five
    numbers["to_play"] = to_play
    if turn["status"] != PLAYING:
        return shapes
    found = np.zeros(len(shapes.colors), np.int16)
    n_found, result = moves_to_consider(shapes, to_play, nodes, found)
    numbers["known_result"] = result
    is_found = np.zeros(len(shapes.colors), np.bool_)
    for i in range(n_found):
        is_found[found[i]] = True
    n = 0
    for i in range(board["n_empty"]):  # whose order the position hash relies on
        point = int64(board["empty"][i])
        if is_found[point]:
            batch.moves[slot, n] = point
            n += 1
    numbers["n_moves"] = n
    return shapes


@hot_kernel
def begin_slot(
    batch: EvalBatch,
    slot: int,
    history: History,
    ply: int,
    rules: RuleFlags,
    symmetry: int,
    optimism: float,
    symmetry_maps: npt.NDArray[np.int16],
    salt: int,
    nodes: int,
) -> None:
    """Write all of a slot but the inputs of a net; see `inputs.Begin`."""
    list_moves(batch, slot, history, ply, rules, nodes)
    numbers = batch.slots[slot]
    numbers["symmetry"] = symmetry
    numbers["optimism"] = optimism
    numbers["no_result_counts"] = False
    write_position_hash(batch, slot, history, ply, rules, symmetry_maps, salt + nodes)
