"""The groups of planes and globals that KataGo's encoders share.

Everything is in terms of the player to move ("own") and the opponent. Kernels write ones into
planes that are zero so far. `planes` is [C, H*W]; `symmetry_map` [points] gives the column of a
point under the symmetry in use, so that symmetry costs nothing.
"""

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import NULL_MOVE, PASS, WHITE
from gtp_engine.evaluators.encoders.inputs import Features, Planes, SymmetryMap
from gtp_engine.evaluators.encoders.stones import mark_chain
from gtp_engine.go.board import (
    BoardRecord,
    collect_liberties,
    has_few_liberties,
    is_head,
)
from gtp_engine.go.history import (
    AREA,
    POSITIONAL,
    TERRITORY,
    History,
    TurnRecord,
    is_legal,
    is_over,
    pass_ends_game,
    passed_here_before,
    white_komi,
)
from gtp_engine.go.ladders import WORDS, Reader, find_ladders
from gtp_engine.go.rules import Ko, RuleFlags
from gtp_engine.kernels import inline_kernel, int64, kernel, uint64

SITUATIONAL = int(Ko.SITUATIONAL)

N_HISTORY = 5


@kernel
def mark_stones(
    board: BoardRecord, to_play: int, symmetry_map: SymmetryMap, planes: Planes
) -> None:
    """Fill planes 0 to 2 of [C, H*W]: the board, own stones, the opponent's."""
    planes[0, :] = 1
    for point in range(board["n_points"]):
        color = board["color"][point]
        if color == to_play:
            planes[1, symmetry_map[point]] = 1
        elif color == 3 - to_play:
            planes[2, symmetry_map[point]] = 1


@kernel
def mark_liberties(board: BoardRecord, symmetry_map: SymmetryMap, planes: Planes) -> None:
    """Fill planes 3 to 5 of [C, H*W]: stones of chains with one, two and three liberties."""
    found = np.empty(4, np.int16)
    for point in range(int64(board["n_points"])):
        if is_head(board, point) and has_few_liberties(board, point, 3):
            n = collect_liberties(board, point, int64(4), found)
            if n < 4:
                mark_chain(board, point, symmetry_map, planes[2 + n])


# History -----------------------------------------------------------------------------------------


@kernel
def hides_pass(history: History, ply: int, rules: RuleFlags) -> bool:
    """Whether the net should not see that a pass would end the game.

    So it is where dead stones may be left on the board and a pass is friendly.
    """
    turn = history.turns[ply]
    return bool(
        pass_ends_game(history, ply, rules)
        and rules.friendly_pass_ok
        and rules.scoring == AREA
        and turn["passes"] == 1
        and not passed_here_before(history, ply, int64(turn["to_play"]), rules)
    )


@kernel
def count_lawful(history: History, ply: int, limit: int, rules: RuleFlags) -> int:
    """Return how many latest moves, up to a limit, kept the rules.

    A move out of turn begins a new history: it counts itself, and nothing before it.
    """
    for n in range(limit):
        made = history.turns[ply - n]
        before = ply - n - 1
        if made["mover"] != history.turns[before]["to_play"]:
            return n + 1
        if not is_legal(history, before, int64(made["move"]), rules):
            return n
    return limit


@kernel
def mark_history(
    history: History,
    ply: int,
    limit: int,
    symmetry_map: SymmetryMap,
    planes: Planes,
    first_plane: int,
    features: Features,
) -> int:
    """Fill five of [C, H*W] planes with the latest moves; passes set globals 0 to 4 of [G] instead.

    The chain of moves stops where a player moved twice in a row.

    Returns:
        How many moves are shown.
    """
    expected = 3 - int64(history.turns[ply]["to_play"])
    for i in range(limit):
        turn = history.turns[ply - i]
        if turn["mover"] != expected:
            return i
        move = int64(turn["move"])
        if move == PASS:
            features[i] = 1.0
        elif move != NULL_MOVE:
            planes[first_plane + i, symmetry_map[move]] = 1
        expected = 3 - expected
    return limit


@kernel
def mark_early_history(
    history: History,
    ply: int,
    rules: RuleFlags,
    symmetry_map: SymmetryMap,
    planes: Planes,
    first_plane: int,
    features: Features,
) -> tuple[bool, int]:
    """Fill [C, H*W] and [G] with the latest moves as versions 3 to 5 do, across phases.

    Nothing is shown after the end.

    Returns:
        Whether the net is not to see that a pass ends the phase, and how many moves are shown.
    """
    hides = is_over(history.turns[ply]) or hides_pass(history, ply, rules)
    limit = 0 if hides else N_HISTORY
    return hides, mark_history(history, ply, limit, symmetry_map, planes, first_plane, features)


# Ladders -----------------------------------------------------------------------------------------


@kernel
def _mark_bits(
    words: npt.NDArray[np.uint64], symmetry_map: SymmetryMap, plane: npt.NDArray[np.uint8]
) -> None:
    for i in range(WORDS):
        word = words[i]
        point = 64 * i
        while word != uint64(0):
            if word & uint64(0xFF) == uint64(0):
                word >>= uint64(8)
                point += 8
                continue
            if word & uint64(1):
                plane[symmetry_map[point]] = 1
            word >>= uint64(1)
            point += 1


@kernel
def mark_ladders(
    board: BoardRecord, to_play: int, reader: Reader, symmetry_map: SymmetryMap, planes: Planes
) -> None:
    """Fill planes 14 and 17 of [C, H*W]: ladders now, and moves that work now."""
    slot = find_ladders(reader, board)
    _mark_bits(reader.memory[slot]["chains"], symmetry_map, planes[14])
    _mark_bits(reader.memory[slot]["working"][3 - to_play], symmetry_map, planes[17])


@kernel
def mark_past_ladders(
    history: History,
    ply: int,
    shown: int,
    reader: Reader,
    symmetry_map: SymmetryMap,
    planes: Planes,
) -> None:
    """Fill planes 15 and 16 of [C, H*W]: ladders one and two turns ago.

    Args:
        shown: How many latest moves are shown; without them the newer board is repeated.
    """
    slot = find_ladders(reader, history.boards[ply - min(shown, 1)])
    _mark_bits(reader.memory[slot]["chains"], symmetry_map, planes[15])
    slot = find_ladders(reader, history.boards[ply - min(shown, 2)])
    _mark_bits(reader.memory[slot]["chains"], symmetry_map, planes[16])


# Areas -------------------------------------------------------------------------------------------


@kernel
def mark_owners(
    board: BoardRecord,
    to_play: int,
    area: npt.NDArray[np.uint8],
    symmetry_map: SymmetryMap,
    planes: Planes,
) -> None:
    """Fill planes 18 and 19 of [C, H*W] from an area [points]."""
    for point in range(board["n_points"]):
        if area[point] == to_play:
            planes[18, symmetry_map[point]] = 1
        elif area[point] == 3 - to_play:
            planes[19, symmetry_map[point]] = 1


@kernel
def mark_encore_start(
    board: BoardRecord,
    turn: TurnRecord,
    own_plane: npt.NDArray[np.uint8],
    other_plane: npt.NDArray[np.uint8],
    symmetry_map: SymmetryMap,
) -> None:
    """Fill two planes [H*W] with the stones that stood when the second encore began."""
    if turn["phase"] < 2:
        return
    for point in range(board["n_points"]):
        color = turn["encore_start"][point]
        if color == turn["to_play"]:
            own_plane[symmetry_map[point]] = 1
        elif color == 3 - turn["to_play"]:
            other_plane[symmetry_map[point]] = 1


# Globals -----------------------------------------------------------------------------------------


@kernel
def own_komi(turn: TurnRecord, rules: RuleFlags) -> float:
    """Return all points beyond the board for the player to move; none where only a capture wins."""
    if rules.must_move:
        return 0.0
    komi = np.float64(np.float32(white_komi(turn, rules)))  # nets were trained on single precision
    return komi if turn["to_play"] == WHITE else -komi


@inline_kernel
def clip(value: float, bound: float) -> float:
    """Return the value, at most `bound` away from zero."""
    return min(max(value, -bound), bound)


@kernel
def write_ko_and_scoring(rules: RuleFlags, features: Features) -> None:
    """Fill globals 6 to 9 of [G]: the ko rule (two), suicide, territory scoring."""
    if rules.ko == POSITIONAL:
        features[6] = 1.0
        features[7] = 0.5
    elif rules.ko == SITUATIONAL:
        features[6] = 1.0
        features[7] = -0.5
    features[8] = 1.0 if rules.multi_stone_suicide else 0.0
    features[9] = 1.0 if rules.scoring == TERRITORY else 0.0


@kernel
def komi_wave(area: int, komi: float) -> float:
    """Return how far a komi is from one that allows a draw: a triangle wave, -0.5 to 0.5.

    A draw is possible where komi has the parity of the board's area. The wave has period 2, is
    zero there and rises to its peak half a point above, because there the draws are won.
    """
    parity = area % 2
    above = komi - (np.floor((komi - parity) / 2.0) * 2.0 + parity)
    if above < 0.5:
        return above
    if above < 1.5:
        return 1.0 - above
    return above - 2.0


@kernel
def write_early_features(
    board: BoardRecord, turn: TurnRecord, rules: RuleFlags, features: Features
) -> float:
    """Fill globals 5 to 11 of [G] as versions 3 to 5 do; return own komi, points, as shown."""
    points = int64(board["width"]) * int64(board["height"])
    komi = clip(own_komi(turn, rules), points + 1.0)
    features[5] = komi / 15.0
    write_ko_and_scoring(rules, features)
    features[10] = 1.0 if turn["phase"] > 0 else 0.0
    features[11] = 1.0 if turn["phase"] > 1 else 0.0
    return komi
