"""KataGo's input features, version 3: 22 planes and 14 globals, for nets of versions 3 and 4.

Planes, in terms of the player to move:

     0 board                       9-13 the last five moves
     1 own stones                 14-16 laddered chains now, one and two turns ago
     2 the opponent's             17    moves that ladder an opponent's chain
     3-5 1, 2, 3 liberties        18-19 own and opponent's area
     6 ko and superko bans        20-21 own and opponent's stones when the second encore began
     7 stones not to be recaptured   8 unused

Globals:

     0-4 the last five moves were passes    8 suicide
     5 own komi / 15                        9 territory scoring
     6-7 ko rule                        10-11 first, second encore
                                        12 a pass ends the phase     13 komi wave

There is nothing about taxes and the button: these nets do not know such rules.
"""

import numpy as np

from gtp_engine.evaluators.encoders.inputs import Features, Options, Planes, SymmetryMap
from gtp_engine.evaluators.encoders.katago_features import (
    AREA,
    komi_wave,
    mark_bans,
    mark_early_history,
    mark_encore_start,
    mark_ladders,
    mark_liberties,
    mark_owners,
    mark_past_ladders,
    mark_stones,
    write_early_features,
)
from gtp_engine.go.board import MAX_POINTS
from gtp_engine.go.history import History, pass_ends_phase
from gtp_engine.go.ladders import Reader
from gtp_engine.go.life import mark_area
from gtp_engine.go.rules import RuleFlags
from gtp_engine.kernels import hot_kernel, int64, kernel

N_PLANES = 22


@kernel
def fill(
    history: History,
    ply: int,
    rules: RuleFlags,
    options: Options,
    reader: Reader,
    symmetry_map: SymmetryMap,
    whole_area: int,
    spatial: Planes,
    features: Features,
) -> None:
    """Fill the inputs of one position.

    Args:
        history: The game and the path to the position.
        ply: The position.
        rules: The rules.
        options: What else the net is told.
        reader: This thread's memory for reading ladders.
        symmetry_map: [points] the symmetry to show.
        whole_area: Whether the area planes show what would be counted if the game ended here,
            and not only what is pass-alive.
        spatial: [22, H, W] result.
        features: [14] result.
    """
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
    hides, shown = mark_early_history(
        history, ply, rules, options, symmetry_map, planes, 9, features
    )
    mark_ladders(board, to_play, reader, symmetry_map, planes)
    mark_past_ladders(history, ply, shown, reader, symmetry_map, planes)
    area = np.empty(MAX_POINTS, np.uint8)
    suicide_legal = rules.multi_stone_suicide or options.suicide_alive
    mark_area(board, int64(1), whole_area, whole_area, suicide_legal, area)
    mark_owners(board, to_play, area, symmetry_map, planes)
    mark_encore_start(board, turn, planes[20], planes[21], symmetry_map)

    komi = write_early_features(board, turn, rules, options, features)
    features[12] = 1.0 if not hides and pass_ends_phase(history, ply, rules) else 0.0
    if rules.scoring == AREA or turn["phase"] >= 2:
        features[13] = komi_wave(points, komi)


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
    whole_area = 1 if rules.scoring == AREA else 0
    fill(history, ply, rules, options, reader, symmetry_map, whole_area, spatial, features)
