"""KataGo's input features, version 6: 22 planes and 16 globals, for nets of version 7.

Planes and globals 0 to 14 are those of version 7, except that a move against the rules is not
shown, nor anything before it. Global 15 is the komi wave; own komi is told apart only one point
beyond the board's area.
"""

from gtp_engine.evaluators.encoders.inputs import Features, Options, Planes, SymmetryMap
from gtp_engine.evaluators.encoders.katago_features import AREA, clip, komi_wave, own_komi
from gtp_engine.evaluators.encoders.katago_v7 import fill_planes, write_rules_and_phase
from gtp_engine.go.history import History
from gtp_engine.go.ladders import Reader
from gtp_engine.go.rules import RuleFlags
from gtp_engine.kernels import hot_kernel, int64


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
    hides = fill_planes(history, ply, rules, options, reader, symmetry_map, 1, spatial, features)
    board = history.boards[ply]
    turn = history.turns[ply]
    points = int64(board["width"]) * int64(board["height"])
    komi = clip(own_komi(turn, rules, options.draw_wins), points + 1.0)
    features[5] = komi / 20.0
    write_rules_and_phase(history, ply, rules, hides, features)
    if rules.scoring == AREA or turn["phase"] >= 2:
        features[15] = komi_wave(points, komi)
