"""Encoders of the stones and a few marks about them, for nets that know no komi.

`dlgo1`, 2 planes: own stones and the opponent's. It is the one plane of the book "Deep Learning and
the Game of Go" taken apart: its 1, -1 and 0 are the first plane minus the second, which a converted
net's graph works out.

`dlgo7`, the book's seven planes (`sevenplane`, `betago`):

    0-2 own stones with one, two, three or more liberties     6 where ko or superko forbids a move
    3-5 the opponent's

`dlgo11`, the book's eleven planes (`simple`):

    0-3 Black's stones with one, two, three, four or more liberties     8 ones if Black is to move
    4-7 White's                                                         9 ones if White is to move
                                                     10 where ko or superko forbids a move

`gocnn8`, GoCNN's input:

    0-2 own stones with one, two, three or more liberties     6 where simple ko forbids a move
    3-5 the opponent's                                        7 ones

`gocnn21`, the same with the history its author wished for:

    0-7   those of gocnn8      8-12 the last five moves, newest first; a pass leaves its plane empty
    13-20 stones by their age in turns: 0, 1, .. 6, 7 or more

`agz17`, AlphaGo Zero's input (Silver et al., "Mastering the game of Go without human knowledge",
Nature 550, 2017, Methods):

    0, 2, .. 14 own stones now and one to seven plies ago     16 ones if Black is to move
    1, 3, .. 15 the opponent's

`lz18`, Leela Zero's input. Rows count from the top here, as everywhere; a converted net is turned
accordingly.

    0-7  own stones now and one to seven plies ago     16 ones if Black is to move
    8-15 the opponent's                                17 ones if White is to move
"""

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import BLACK, WHITE
from gtp_engine.evaluators.encoders.inputs import Features, Planes, Seen, SymmetryMap
from gtp_engine.go.board import (
    BoardRecord,
    count_liberties,
    is_head,
    is_playable,
)
from gtp_engine.go.history import SIMPLE, History, ko_ban, may_repeat, repeats, repeats_ko_capture
from gtp_engine.go.rules import RuleFlags
from gtp_engine.kernels import hot_kernel, inline_kernel, int64, kernel

RECENT, N_RECENT = 8, 5
"""First plane of the latest moves of gocnn21, and how many there are."""
AGE, N_AGES = 13, 8
"""First plane of the stones by their age of gocnn21, and how many there are."""


@inline_kernel
def mark_color(board: BoardRecord, color: int, symmetry_map: SymmetryMap, plane: Planes) -> None:
    """Set the points of a plane [H*W] that hold this color."""
    for point in range(board["n_points"]):
        if board["color"][point] == color:
            plane[symmetry_map[point]] = 1


@inline_kernel
def mark_chain(
    board: BoardRecord, head: int, symmetry_map: SymmetryMap, plane: npt.NDArray[np.uint8]
) -> None:
    """Set the points of a chain in a plane [H*W]."""
    stone = int64(head)
    while True:
        plane[symmetry_map[stone]] = 1
        stone = int64(board["next"][stone])
        if stone == head:
            return


@kernel
def mark_by_liberties(
    board: BoardRecord,
    color: int,
    levels: int,
    symmetry_map: SymmetryMap,
    planes: Planes,
    first: int,
) -> None:
    """Fill planes with a color's stones by the liberties of their chains: 1, 2, .. and more.

    Args:
        levels: How many planes; the last one stands for so many liberties or more.
        planes: [C, H*W] result, zero so far.
        first: The plane of chains in atari.
    """
    for point in range(board["n_points"]):
        if is_head(board, point) and board["color"][point] == color:
            n = count_liberties(board, point, levels)
            mark_chain(board, point, symmetry_map, planes[first + n - 1])


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
    """Fill eight planes with a color's stones now and one to seven plies ago.

    A pass is a ply like any other. Planes from before the game began stay zero.

    Args:
        planes: [C, H*W] result, zero so far.
        first: The plane of the present stones.
        step: From there to the plane of a ply earlier.
    """
    for ago in range(min(8, ply + 1)):
        mark_color(history.boards[ply - ago], color, symmetry_map, planes[first + step * ago])


@kernel
def mark_ages(
    history: History, ply: int, symmetry_map: SymmetryMap, planes: Planes, first: int
) -> None:
    """Fill eight of [C, H*W] planes with stones by their age in turns: 0, 1, .. 6, 7 or more."""
    board = history.boards[ply]
    n_points = int64(board["n_points"])
    age = np.full(n_points, N_AGES - 1, np.int8)
    for ago in range(min(N_AGES - 1, ply) - 1, -1, -1):
        turn = history.turns[ply - ago]
        if turn["move"] > 0 and not turn["pass_for_ko"]:
            age[turn["move"]] = ago
    for point in range(n_points):
        if board["color"][point] == BLACK or board["color"][point] == WHITE:
            planes[first + age[point], symmetry_map[point]] = 1


@kernel
def mark_bans(
    history: History,
    ply: int,
    rules: RuleFlags,
    symmetry_map: SymmetryMap,
    bans: npt.NDArray[np.uint8],
    recaptures: npt.NDArray[np.uint8],
) -> None:
    """Fill [H*W] the moves that ko or superko forbids, [H*W] the stones barred from recapture."""
    turn = history.turns[ply]
    board = history.boards[ply]
    if turn["phase"] > 0:
        for earlier in range(int64(turn["phase_start"]) + 1, ply + 1):
            made = history.turns[earlier]
            if made["ko_capture"] and repeats_ko_capture(history, ply, int64(made["move"])):
                bans[symmetry_map[made["move"]]] = 1
        for point in range(board["n_points"]):
            if turn["recapture"][point]:
                recaptures[symmetry_map[point]] = 1
        return
    color = int64(turn["to_play"])
    ko_point = ko_ban(board, turn, color)
    if ko_point != 0:
        bans[symmetry_map[ko_point]] = 1
    if rules.ko == SIMPLE:
        return
    for i in range(board["n_empty"]):
        point = int64(board["empty"][i])
        if (
            may_repeat(board, turn, point, color)
            and point != ko_point
            and is_playable(board, point, color, rules.multi_stone_suicide)
            and repeats(history, ply, point, rules)
        ):
            bans[symmetry_map[point]] = 1


# Encoders ----------------------------------------------------------------------------------------


@hot_kernel
def dlgo1(seen: Seen, spatial: Planes, features: Features) -> None:
    """Fill [2, H, W] planes; see above and `inputs.Encode`."""
    history, ply, symmetry_map = seen.history, seen.ply, seen.symmetry_map
    board = history.boards[ply]
    to_play = int64(history.turns[ply]["to_play"])
    planes = spatial.reshape(2, int64(board["width"]) * int64(board["height"]))
    planes[:] = 0
    mark_color(board, to_play, symmetry_map, planes[0])
    mark_color(board, 3 - to_play, symmetry_map, planes[1])


@hot_kernel
def dlgo7(seen: Seen, spatial: Planes, features: Features) -> None:
    """Fill [7, H, W] planes; see above and `inputs.Encode`."""
    history, ply, rules, symmetry_map = seen.history, seen.ply, seen.rules, seen.symmetry_map
    board = history.boards[ply]
    to_play = int64(history.turns[ply]["to_play"])
    points = int64(board["width"]) * int64(board["height"])
    planes = spatial.reshape(7, points)
    planes[:] = 0
    mark_by_liberties(board, to_play, 3, symmetry_map, planes, 0)
    mark_by_liberties(board, 3 - to_play, 3, symmetry_map, planes, 3)
    barred = np.zeros(points, np.uint8)  # known to KataGo's encores alone
    mark_bans(history, ply, rules, symmetry_map, planes[6], barred)


@hot_kernel
def dlgo11(seen: Seen, spatial: Planes, features: Features) -> None:
    """Fill [11, H, W] planes; see above and `inputs.Encode`."""
    history, ply, rules, symmetry_map = seen.history, seen.ply, seen.rules, seen.symmetry_map
    board = history.boards[ply]
    to_play = int64(history.turns[ply]["to_play"])
    points = int64(board["width"]) * int64(board["height"])
    planes = spatial.reshape(11, points)
    planes[:] = 0
    mark_by_liberties(board, BLACK, 4, symmetry_map, planes, 0)
    mark_by_liberties(board, WHITE, 4, symmetry_map, planes, 4)
    planes[8 if to_play == BLACK else 9, :] = 1
    barred = np.zeros(points, np.uint8)  # known to KataGo's encores alone
    mark_bans(history, ply, rules, symmetry_map, planes[10], barred)


@hot_kernel
def gocnn8(seen: Seen, spatial: Planes, features: Features) -> None:
    """Fill [8, H, W] planes; see above and `inputs.Encode`."""
    history, ply, symmetry_map = seen.history, seen.ply, seen.symmetry_map
    board = history.boards[ply]
    to_play = int64(history.turns[ply]["to_play"])
    planes = spatial.reshape(8, int64(board["width"]) * int64(board["height"]))
    planes[:] = 0
    mark_by_liberties(board, to_play, 3, symmetry_map, planes, 0)
    mark_by_liberties(board, 3 - to_play, 3, symmetry_map, planes, 3)
    ko_point = ko_ban(board, history.turns[ply], to_play)
    if ko_point != 0:
        planes[6, symmetry_map[ko_point]] = 1
    planes[7, :] = 1


@hot_kernel
def gocnn21(seen: Seen, spatial: Planes, features: Features) -> None:
    """Fill [21, H, W] planes; see above and `inputs.Encode`."""
    history, ply, symmetry_map = seen.history, seen.ply, seen.symmetry_map
    board = history.boards[ply]
    points = int64(board["width"]) * int64(board["height"])
    planes = spatial.reshape(21, points)
    gocnn8(seen, planes[:RECENT], features)
    planes[RECENT:] = 0
    for ago in range(min(N_RECENT, ply)):
        turn = history.turns[ply - ago]
        if turn["move"] > 0 and not turn["pass_for_ko"]:
            planes[RECENT + ago, symmetry_map[turn["move"]]] = 1
    mark_ages(history, ply, symmetry_map, planes, int64(AGE))


@hot_kernel
def agz17(seen: Seen, spatial: Planes, features: Features) -> None:
    """Fill [17, H, W] planes; see above and `inputs.Encode`."""
    history, ply, symmetry_map = seen.history, seen.ply, seen.symmetry_map
    board = history.boards[ply]
    to_play = int64(history.turns[ply]["to_play"])
    planes = spatial.reshape(17, int64(board["width"]) * int64(board["height"]))
    planes[:] = 0
    mark_past_stones(history, ply, to_play, symmetry_map, planes, 0, 2)
    mark_past_stones(history, ply, 3 - to_play, symmetry_map, planes, 1, 2)
    if to_play == BLACK:
        planes[16, :] = 1


@hot_kernel
def lz18(seen: Seen, spatial: Planes, features: Features) -> None:
    """Fill [18, H, W] planes; see above and `inputs.Encode`."""
    history, ply, symmetry_map = seen.history, seen.ply, seen.symmetry_map
    board = history.boards[ply]
    to_play = int64(history.turns[ply]["to_play"])
    planes = spatial.reshape(18, int64(board["width"]) * int64(board["height"]))
    planes[:] = 0
    mark_past_stones(history, ply, to_play, symmetry_map, planes, 0, 1)
    mark_past_stones(history, ply, 3 - to_play, symmetry_map, planes, 8, 1)
    planes[16 if to_play == BLACK else 17, :] = 1
