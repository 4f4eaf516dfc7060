"""KataGo's encoders: input features of versions 3 to 7.

`katago_v7`, 22 planes and 19 globals, for nets of version 8 and later: all board sizes, all rules.
Planes, in terms of the player to move:

     0 board                       9-13 the last five moves
     1 own stones                 14-16 laddered chains now, one and two turns ago
     2 the opponent's             17    moves that ladder an opponent's chain
     3-5 1, 2, 3 liberties        18-19 own and opponent's area
     6 ko and superko bans        20-21 own and opponent's stones when the second encore began
     7 stones not to be recaptured   8 unused

Globals:

     0-4 the last five moves were passes   12-13 first, second encore
     5 own komi / 20                       14    a pass ends the phase
     6-7 ko rule                           15-16 playout doubling advantage: never told
     8 suicide                             17    the button is to be taken
     9 territory scoring                   18    komi wave
    10-11 tax in seki, on all groups

`katago_v6`, 22 planes and 16 globals, for nets of version 7: planes and globals 0 to 14 are those
of version 7, except that a move against the rules is not shown, nor anything before it. Global 15
is the komi wave; own komi is told apart only one point beyond the board's area.

`katago_v3`, 22 planes and 14 globals, for nets of versions 3 and 4: the planes of version 7, and as
globals

     0-4 the last five moves were passes    8 suicide
     5 own komi / 15                        9 territory scoring
     6-7 ko rule                        10-11 first, second encore
                                        12 a pass ends the phase     13 komi wave

There is nothing about taxes and the button: these nets do not know such rules.

`katago_v4`, for nets of version 5: those of version 3, except that the area planes show pass-alive
stones and their territory whatever the rules.

`katago_v5`, 13 planes and 12 globals, for nets of version 6: the first twelve globals of version 3,
and as planes

     0 board                      4 stones not to be recaptured
     1 own stones                 5 unused
     2 the opponent's          6-10 the last five moves
     3 ko and superko bans    11-12 own and opponent's stones when the second encore began
"""

import numpy as np

from gtp_engine.evaluators.encoders.inputs import Features, Planes, Seen
from gtp_engine.evaluators.encoders.katago_features import (
    N_HISTORY,
    clip,
    count_lawful,
    hides_pass,
    komi_wave,
    mark_early_history,
    mark_encore_start,
    mark_history,
    mark_ladders,
    mark_liberties,
    mark_owners,
    mark_past_ladders,
    mark_stones,
    own_komi,
    write_early_features,
    write_ko_and_scoring,
)
from gtp_engine.evaluators.encoders.stones import mark_bans
from gtp_engine.go.board import MAX_POINTS
from gtp_engine.go.history import AREA, TERRITORY, is_over, pass_ends_phase
from gtp_engine.go.life import mark_area
from gtp_engine.go.scoring import TAX_ALL, TAX_NONE, find_area
from gtp_engine.kernels import hot_kernel, int64, kernel

N_PLANES = 22
"""Planes of all versions but the fifth, which has 13."""
KOMI_MARGIN = 20.0
"""How far beyond the board's area version 7 tells komi apart."""


@kernel
def _fill_early(seen: Seen, whole_area: int, spatial: Planes, features: Features) -> None:
    """Fill the inputs of one position.

    Args:
        whole_area: Whether the area planes show what would be counted if the game ended here,
            and not only what is pass-alive.
        spatial: [22, H, W] result.
        features: [14] result.
    """
    history, ply, rules, reader, symmetry_map, suicide_alive = seen
    board = history.boards[ply]
    turn = history.turns[ply]
    to_play = int64(turn["to_play"])
    points = int64(board["width"]) * int64(board["height"])
    planes = spatial.reshape(N_PLANES, points)
    planes[1:] = 0
    features[:] = 0.0

    mark_stones(board, to_play, symmetry_map, planes)
    mark_liberties(board, symmetry_map, planes)
    mark_bans(history, ply, rules, symmetry_map, planes[6], planes[7])
    hides, shown = mark_early_history(history, ply, rules, symmetry_map, planes, 9, features)
    mark_ladders(board, to_play, reader, symmetry_map, planes)
    mark_past_ladders(history, ply, shown, reader, symmetry_map, planes)
    area = np.empty(MAX_POINTS, np.uint8)
    suicide_legal = rules.multi_stone_suicide or suicide_alive
    mark_area(board, int64(1), whole_area, suicide_legal, area)
    mark_owners(board, to_play, area, symmetry_map, planes)
    mark_encore_start(board, turn, planes[20], planes[21], symmetry_map)

    komi = write_early_features(board, turn, rules, features)
    features[12] = 1.0 if not hides and pass_ends_phase(history, ply, rules) else 0.0
    if rules.scoring == AREA or turn["phase"] >= 2:
        features[13] = komi_wave(points, komi)


@hot_kernel
def katago_v3(seen: Seen, spatial: Planes, features: Features) -> None:
    """Fill [22, H, W] planes and [14] globals; see `inputs.Encode`."""
    whole_area = 1 if seen.rules.scoring == AREA else 0
    _fill_early(seen, whole_area, spatial, features)


@hot_kernel
def katago_v4(seen: Seen, spatial: Planes, features: Features) -> None:
    """Fill [22, H, W] planes and [14] globals; see `inputs.Encode`."""
    _fill_early(seen, 0, spatial, features)


@hot_kernel
def katago_v5(seen: Seen, spatial: Planes, features: Features) -> None:
    """Fill [13, H, W] planes and [12] globals; see `inputs.Encode`."""
    history, ply, rules, symmetry_map = seen.history, seen.ply, seen.rules, seen.symmetry_map
    board = history.boards[ply]
    turn = history.turns[ply]
    planes = spatial.reshape(13, int64(board["width"]) * int64(board["height"]))
    planes[1:] = 0
    features[:] = 0.0

    mark_stones(board, int64(turn["to_play"]), symmetry_map, planes)
    mark_bans(history, ply, rules, symmetry_map, planes[3], planes[4])
    mark_early_history(history, ply, rules, symmetry_map, planes, 6, features)
    mark_encore_start(board, turn, planes[11], planes[12], symmetry_map)
    write_early_features(board, turn, rules, features)


@kernel
def _mark_area(seen: Seen, planes: Planes) -> None:
    """Fill planes 18 and 19; under territory scoring only the second encore shows areas."""
    rules = seen.rules
    board = seen.history.boards[seen.ply]
    turn = seen.history.turns[seen.ply]
    if rules.scoring == TERRITORY and turn["phase"] < 2:
        return
    area = np.empty(MAX_POINTS, np.uint8)
    suicide_legal = rules.multi_stone_suicide or seen.suicide_alive
    find_area(board, turn, rules, suicide_legal, area)
    mark_owners(board, int64(turn["to_play"]), area, seen.symmetry_map, planes)


@kernel
def _fill_late(seen: Seen, version: int, spatial: Planes, features: Features) -> None:
    """Fill the inputs of version 6 or 7."""
    history, ply, rules, reader, symmetry_map, _ = seen
    # 1. The planes, and globals 0 to 4.
    board = history.boards[ply]
    turn = history.turns[ply]
    to_play = int64(turn["to_play"])
    points = int64(board["width"]) * int64(board["height"])
    planes = spatial.reshape(N_PLANES, points)
    planes[1:] = 0
    features[:] = 0.0
    mark_stones(board, to_play, symmetry_map, planes)
    mark_liberties(board, symmetry_map, planes)
    mark_bans(history, ply, rules, symmetry_map, planes[6], planes[7])
    # Kernels are compiled in the order of their calls: this one here, while another process
    # compiles areas, which then are there.
    mark_ladders(board, to_play, reader, symmetry_map, planes)
    _mark_area(seen, planes)

    hides = hides_pass(history, ply, rules)
    limit = 0 if hides else 1 if is_over(turn) else N_HISTORY
    limit = min(limit, int64(turn["recent"]))
    if version == 6:
        limit = count_lawful(history, ply, limit, rules)
    shown = mark_history(history, ply, limit, symmetry_map, planes, 9, features)
    mark_past_ladders(history, ply, shown, reader, symmetry_map, planes)
    mark_encore_start(board, turn, planes[20], planes[21], symmetry_map)

    # 2. The other globals.
    margin = 1.0 if version == 6 else KOMI_MARGIN
    komi = clip(own_komi(turn, rules), points + margin)
    features[5] = komi / 20.0
    write_ko_and_scoring(rules, features)
    features[10] = 0.0 if rules.tax == TAX_NONE else 1.0
    features[11] = 1.0 if rules.tax == TAX_ALL else 0.0
    features[12] = 1.0 if turn["phase"] > 0 else 0.0
    features[13] = 1.0 if turn["phase"] > 1 else 0.0
    features[14] = 1.0 if not hides and pass_ends_phase(history, ply, rules) else 0.0
    if version == 7:
        features[17] = 1.0 if turn["has_button"] else 0.0
    if rules.scoring == AREA or turn["phase"] >= 2:
        features[18 if version == 7 else 15] = komi_wave(points, komi)


@hot_kernel
def katago_v6(seen: Seen, spatial: Planes, features: Features) -> None:
    """Fill [22, H, W] planes and [16] globals; see `inputs.Encode`."""
    _fill_late(seen, int64(6), spatial, features)


@hot_kernel
def katago_v7(seen: Seen, spatial: Planes, features: Features) -> None:
    """Fill [22, H, W] planes and [19] globals; see `inputs.Encode`."""
    _fill_late(seen, int64(7), spatial, features)
