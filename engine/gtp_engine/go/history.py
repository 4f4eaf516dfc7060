"""The plies of a game: one board and one turn record a ply, and the rules that need a history.

A `History` is three parallel arrays that share the ply as index. Ply 0 is the set-up position; the
kernel `play` reads ply and writes ply + 1. A search descends on a history of its own by writing
further plies behind the game's, and goes back by forgetting them: nothing is ever undone.

Here live superko, passes, the button, the points that territory scoring takes back per move, and
the phases of territory games: play until both pass, then two *encores* in which dead stones are
captured at no cost and kos are restricted so that the count is exact (the way KataGo scores
Japanese-like rules without asking the players). Phase 0 is the game proper.

Terms: a *situation* is the stones plus, under rules that care, the player to move (and in the
encores the ko-recapture marks). Its hash only nominates a repetition; the stones decide.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import BLACK, EMPTY, NULL_MOVE, PASS, WALL, WHITE
from gtp_engine.go.board import (
    BOARD,
    MAX_POINTS,
    ZOBRIST,
    BoardRecord,
    count_liberties,
    hash_after,
    is_playable,
    is_suicide,
    ko_target,
    place_stone,
    same_stones,
)
from gtp_engine.go.rules import HandicapBonus, Ko, RuleFlags, Scoring
from gtp_engine.kernels import inline_kernel, int64, kernel, uint64

# Kernels see plain integers.
SIMPLE = int(Ko.SIMPLE)
POSITIONAL = int(Ko.POSITIONAL)
AREA = int(Scoring.AREA)
TERRITORY = int(Scoring.TERRITORY)
BONUS_ZERO = int(HandicapBonus.ZERO)
BONUS_N = int(HandicapBonus.N)

PLAYING, ENDED, NO_RESULT = 0, 1, 2
"""What a turn's `status` says: the game goes on, is to be counted, or was a long cycle."""

TurnRecord = Any
"""A numpy record of dtype TURN."""

TURN = np.dtype(
    [
        ("situation", np.uint64),  # hash of the situation under the rules
        ("recapture_hash", np.uint64),  # hash of the ko-recapture marks
        ("white_bonus", np.float32),  # points for White: button, moves taken back by territory
        ("move", np.int16),  # the move that led here; NULL_MOVE at ply 0
        ("mover", np.uint8),  # who made it; EMPTY at ply 0
        ("to_play", np.uint8),
        ("passes", np.int16),  # consecutive passes that count towards the end
        ("status", np.uint8),  # PLAYING, ENDED or NO_RESULT
        ("phase", np.uint8),  # 0 the game, 1 and 2 the encores
        ("past_end", np.uint8),  # two passes were made but the encore was not entered
        ("has_button", np.uint8),  # the button is still to be taken
        ("pass_for_ko", np.uint8),  # the move only lifted a ko-recapture mark
        ("ko_capture", np.uint8),  # the move captured in a ko, in an encore
        ("white_moved", np.uint8),  # White has placed a stone
        ("handicap", np.int16),  # stones that count as handicap
        ("initial_black", np.int16),  # Black's stones at ply 0; -1 if White had some too
        ("opening_black", np.int16),  # Black's moves before White's first stone
        ("recent", np.int32),  # how many latest moves belong to this phase and kept the rules
        ("repetition_start", np.int32),  # first ply whose situation still counts as repeated
        ("phase_start", np.int32),  # ply at which the phase began
        ("occupied", np.uint8, (MAX_POINTS,)),  # points that ever held a stone
        ("recapture", np.uint8, (MAX_POINTS,)),  # encore: stones not to be taken back at once
        ("encore_start", np.uint8, (MAX_POINTS,)),  # colors when the second encore began
    ],
    align=True,
)

# Row 0 of ZOBRIST belongs to no color: its wall columns serve the two players.
_PLAYER_HASH = np.array([0, ZOBRIST[0, 0], ZOBRIST[0, 1]], np.uint64)


class History(NamedTuple):
    """Parallel arrays by ply."""

    boards: npt.NDArray[Any]
    """[capacity] of BOARD."""
    turns: npt.NDArray[Any]
    """[capacity] of TURN."""
    situations: npt.NDArray[np.uint64]
    """[capacity] the turns' situation hashes, side by side for a fast scan."""


def new_history(capacity: int) -> History:
    """Return an empty history with room for this many plies."""
    return History(
        np.zeros(capacity, BOARD), np.zeros(capacity, TURN), np.zeros(capacity, np.uint64)
    )


@kernel
def copy_ply(target: History, target_ply: int, source: History, source_ply: int) -> None:
    """Copy one ply of a history into another."""
    # Whole records: one block copy is ten times as fast as copying the used part of each field.
    target.boards[target_ply] = source.boards[source_ply]
    target.turns[target_ply] = source.turns[source_ply]
    target.situations[target_ply] = source.situations[source_ply]


@kernel
def copy_history(target: History, source: History, n_plies: int) -> None:
    """Copy the first plies of a history into another."""
    for ply in range(n_plies):
        copy_ply(target, ply, source, ply)


@inline_kernel
def situation_hash(
    board: BoardRecord, to_play: int, recapture_hash: int, phase: int, ko: int
) -> int:
    """Return the hash of a situation: the player to move counts unless superko is positional."""
    if ko == POSITIONAL and phase == 0:
        return uint64(board["hash"])
    return uint64(board["hash"]) ^ _PLAYER_HASH[to_play] ^ uint64(recapture_hash)


@kernel
def begin(history: History, to_play: int, rules: RuleFlags, has_button: int) -> None:
    """Make ply 0 the start of a game on the stones that its board holds."""
    board = history.boards[0]
    history.turns[0] = np.zeros(1, TURN)[0]
    turn = history.turns[0]
    n_points = board["n_points"]
    n_black = 0
    n_white = 0
    for point in range(n_points):
        color = board["color"][point]
        turn["occupied"][point] = 1 if color in (BLACK, WHITE) else 0
        if color == BLACK:
            n_black += 1
        elif color == WHITE:
            n_white += 1
    if rules.scoring == TERRITORY:
        # A stone on the board was a move, and each move costs its player a point.
        turn["white_bonus"] = n_black - n_white
    turn["move"] = NULL_MOVE
    turn["to_play"] = to_play
    turn["has_button"] = has_button
    turn["initial_black"] = -1 if n_white > 0 else n_black
    turn["handicap"] = n_black if n_white == 0 and n_black > 1 else 0
    turn["situation"] = situation_hash(board, to_play, uint64(0), int64(0), rules.ko)
    history.situations[0] = turn["situation"]


@kernel
def handicap_bonus(turn: TurnRecord, rules: RuleFlags) -> int:
    """Return the points White gets for the handicap stones."""
    n = int64(turn["handicap"])
    if rules.handicap_bonus == BONUS_ZERO or n == 0:
        return int64(0)
    return n if rules.handicap_bonus == BONUS_N else n - 1


@kernel
def white_komi(turn: TurnRecord, rules: RuleFlags) -> float:
    """Return all points that White has besides what the board shows."""
    return np.float64(turn["white_bonus"]) + handicap_bonus(turn, rules) + rules.komi


# Legality ------------------------------------------------------------------------------------


@kernel
def recapture_mark(board: BoardRecord, turn: TurnRecord, point: int, color: int) -> int:
    """Return the marked stone whose ban a move here would lift in an encore; 0 for none.

    Such a move is a *pass for ko*: it leaves the stones as they are. It may name the stone itself
    or the point from which it would be captured.
    """
    if turn["phase"] == 0 or point == PASS:
        return 0
    if (
        board["color"][point] == 3 - color
        and turn["recapture"][point]
        and board["size"][board["head"][point]] == 1
        and count_liberties(board, point, int64(2)) == 1
    ):
        return point
    target = ko_target(board, point, color)
    if target != 0 and turn["recapture"][target]:
        return target
    return 0


@kernel
def can_hold(history: History, ply: int, point: int, color: int, rules: RuleFlags) -> bool:
    """Whether the board can hold a stone of a color at any point number, ko rules aside."""
    board = history.boards[ply]
    if not 0 < point < board["n_points"]:
        return False
    if recapture_mark(board, history.turns[ply], point, color) != 0:
        return True
    return is_playable(board, point, color, rules.multi_stone_suicide)


@inline_kernel
def ko_ban(board: BoardRecord, turn: TurnRecord, color: int) -> int:
    """Return where simple ko forbids a player's next move; 0 for nowhere, as after an own move."""
    return int64(board["ko_point"]) if turn["mover"] != color else int64(0)


@inline_kernel
def may_repeat(board: BoardRecord, turn: TurnRecord, point: int, color: int) -> bool:
    """Whether a playable move can make a position that was there before.

    A stone where none ever stood makes a new one, unless it vanishes at once.
    """
    return bool(turn["occupied"][point]) or is_suicide(board, point, color)


@kernel
def repeats(history: History, ply: int, point: int, rules: RuleFlags) -> bool:
    """Whether a playable move of the side to move would repeat an earlier situation."""
    board = history.boards[ply]
    turn = history.turns[ply]
    color = int64(turn["to_play"])
    if not may_repeat(board, turn, point, color):
        return False
    after = hash_after(board, point, color)
    if rules.ko != POSITIONAL:
        after ^= _PLAYER_HASH[3 - color]
    played = False
    scratch = np.empty(1, BOARD)
    for earlier in range(ply, int64(turn["repetition_start"]) - 1, -1):
        if history.situations[earlier] == after:
            if not played:
                scratch[0] = board
                place_stone(scratch[0], point, color)
                played = True
            counts = rules.ko == POSITIONAL or history.turns[earlier]["to_play"] == 3 - color
            if counts and same_stones(history.boards[earlier], scratch[0]):
                return True
    return False


@kernel
def repeats_ko_capture(history: History, ply: int, point: int) -> bool:
    """Whether the side to move made this very ko capture before in this encore, on this board."""
    board = history.boards[ply]
    turn = history.turns[ply]
    for earlier in range(int64(turn["phase_start"]) + 1, ply + 1):
        made = history.turns[earlier]
        if (
            made["ko_capture"]
            and made["move"] == point
            and made["mover"] == turn["to_play"]
            and history.boards[earlier - 1]["hash"] == board["hash"]
            and same_stones(history.boards[earlier - 1], board)
        ):
            return True
    return False


@kernel
def is_banned(history: History, ply: int, point: int, rules: RuleFlags) -> bool:
    """Whether a playable move is forbidden by superko or by an encore's once-only ko rule.

    The simple-ko ban is not looked at here, see `ko_ban`.
    """
    turn = history.turns[ply]
    if turn["phase"] > 0:
        return repeats_ko_capture(history, ply, point)
    if rules.ko == SIMPLE:
        return False
    return repeats(history, ply, point, rules)


@kernel
def is_legal(history: History, ply: int, point: int, rules: RuleFlags) -> bool:
    """Whether the side to move may play here (a point on the board or PASS)."""
    if point == PASS:
        return True
    board = history.boards[ply]
    turn = history.turns[ply]
    color = int64(turn["to_play"])
    if turn["phase"] > 0:
        if recapture_mark(board, turn, point, color) != 0:
            return True
    elif point == ko_ban(board, turn, color):
        return False
    if not is_playable(board, point, color, rules.multi_stone_suicide):
        return False
    return not is_banned(history, ply, point, rules)


@kernel
def legal_points(history: History, ply: int, rules: RuleFlags, found: npt.NDArray[np.int16]) -> int:
    """Write the legal moves of the side to move but the pass into found [A]; return how many."""
    board = history.boards[ply]
    turn = history.turns[ply]
    n = 0
    if turn["phase"] == 0:
        # What `is_legal` says, with its checks in line: this runs for every leaf of a search.
        color = int64(turn["to_play"])
        ko_point = ko_ban(board, turn, color)
        for i in range(board["n_empty"]):
            point = int64(board["empty"][i])
            if (
                point != ko_point
                and is_playable(board, point, color, rules.multi_stone_suicide)
                and (
                    rules.ko == SIMPLE
                    or not may_repeat(board, turn, point, color)
                    or not repeats(history, ply, point, rules)
                )
            ):
                found[n] = point
                n += 1
        return n
    for point in range(int64(board["n_points"])):  # an encore's pass for ko may name a stone
        if board["color"][point] != WALL and is_legal(history, ply, point, rules):
            found[n] = point
            n += 1
    return n


@kernel
def legal_moves(history: History, ply: int, rules: RuleFlags, found: npt.NDArray[np.int16]) -> int:
    """Write all legal moves of the side to move into found [A + 1], the pass last; return how many.

    Whoever must move passes only without another move.
    """
    n = legal_points(history, ply, rules, found)
    if n == 0 or not rules.must_move:
        found[n] = PASS
        n += 1
    return n


# Passes and the end ----------------------------------------------------------------------------


@inline_kernel
def is_over(turn: TurnRecord) -> bool:
    """Whether the game, or the part of it that is played without encores, has ended."""
    return turn["status"] != PLAYING or turn["past_end"] != 0


@kernel
def passed_here_before(history: History, ply: int, color: int, rules: RuleFlags) -> bool:
    """Whether this player passed in this situation before, where that ends the phase.

    So it does in the encores and under simple ko, where passes lift repetition bans.
    """
    turn = history.turns[ply]
    if turn["phase"] == 0 and rules.ko != SIMPLE:
        return False
    board = history.boards[ply]
    phase = int64(turn["phase"])
    here = situation_hash(board, color, turn["recapture_hash"], phase, rules.ko)
    for earlier in range(int64(turn["phase_start"]) + 1, ply + 1):
        made = history.turns[earlier]
        before = history.turns[earlier - 1]
        if made["move"] != PASS or made["mover"] != color or before["has_button"]:
            continue
        then = situation_hash(
            history.boards[earlier - 1],
            color,
            before["recapture_hash"],
            int64(before["phase"]),
            rules.ko,
        )
        if then == here and same_stones(history.boards[earlier - 1], board):
            return True
    return False


@kernel
def pass_ends_phase(history: History, ply: int, rules: RuleFlags) -> bool:
    """Whether a pass of the side to move would end the game or its phase."""
    turn = history.turns[ply]
    if turn["passes"] >= 1:
        return True
    return passed_here_before(history, ply, int64(turn["to_play"]), rules)


@kernel
def pass_ends_game(history: History, ply: int, rules: RuleFlags) -> bool:
    """Whether a pass of the side to move would end the game for good."""
    if rules.scoring == TERRITORY and history.turns[ply]["phase"] < 2:
        return False
    return pass_ends_phase(history, ply, rules)


@kernel
def _count_occurrences(history: History, ply: int) -> int:
    """Return how often the situation at ply stands in the history since repetitions count."""
    n = 0
    turn = history.turns[ply]
    for earlier in range(int64(turn["repetition_start"]), ply + 1):
        if (
            history.situations[earlier] == turn["situation"]
            and history.turns[earlier]["to_play"] == turn["to_play"]
            and same_stones(history.boards[earlier], history.boards[ply])
        ):
            n += 1
    return n


# Playing --------------------------------------------------------------------------------------


@inline_kernel
def _mark_hash(point: int) -> int:
    return ZOBRIST[0, point]


@kernel
def _apply_pass(history: History, ply: int, color: int, rules: RuleFlags) -> bool:
    """Update ply + 1 for a pass; return whether it ends the phase by repeating an earlier pass."""
    turn = history.turns[ply + 1]
    if turn["has_button"]:
        turn["has_button"] = 0
        turn["white_bonus"] += 0.5 if color == WHITE else -0.5
        turn["passes"] = 0
        turn["repetition_start"] = ply + 1
        return False
    if turn["phase"] > 0 or rules.ko == SIMPLE:
        turn["repetition_start"] = ply + 1
    turn["passes"] += 1
    return passed_here_before(history, ply, color, rules)


@kernel
def _apply_stone(history: History, ply: int, point: int, color: int, rules: RuleFlags) -> None:
    """Update ply + 1 for a move that is not a pass."""
    board = history.boards[ply + 1]
    turn = history.turns[ply + 1]
    turn["passes"] = 0
    mark = recapture_mark(board, turn, point, color)
    if mark != 0:
        turn["recapture"][mark] = 0
        turn["recapture_hash"] ^= _mark_hash(mark)
        turn["pass_for_ko"] = 1
        board["ko_point"] = 0
    else:
        place_stone(board, point, color)
        turn["occupied"][point] = 1
        if turn["phase"] > 0:
            _update_recapture_marks(board, turn, point)
        if rules.scoring == TERRITORY and turn["phase"] < 2:
            turn["white_bonus"] += 1.0 if color == BLACK else -1.0
    if color == WHITE:
        turn["white_moved"] = 1
    elif not turn["white_moved"]:
        turn["opening_black"] += 1
        n = turn["initial_black"] + turn["opening_black"]
        turn["handicap"] = n if turn["initial_black"] >= 0 and n > 1 else 0


@kernel
def _update_recapture_marks(board: BoardRecord, turn: TurnRecord, point: int) -> None:
    """Mark a stone that just captured in a ko, and drop the marks of stones that are gone."""
    if board["ko_point"] != 0:
        if not turn["recapture"][point]:
            turn["recapture"][point] = 1
            turn["recapture_hash"] ^= _mark_hash(point)
        turn["ko_capture"] = 1
        board["ko_point"] = 0
    for marked in range(int64(board["n_points"])):
        if turn["recapture"][marked] and board["color"][marked] == EMPTY:
            turn["recapture"][marked] = 0
            turn["recapture_hash"] ^= _mark_hash(marked)


@kernel
def _enter_encore(history: History, ply: int) -> None:
    """Turn the end of a phase of a territory game at ply into the next phase's beginning."""
    board = history.boards[ply]
    turn = history.turns[ply]
    turn["phase"] += 1
    turn["recent"] = 0
    turn["passes"] = 0
    turn["phase_start"] = ply
    turn["repetition_start"] = ply
    turn["recapture_hash"] = uint64(0)
    # Point by point: a copy between slices would make the compiler bring its text formatting.
    for point in range(board["n_points"]):
        turn["recapture"][point] = 0
        turn["encore_start"][point] = EMPTY if turn["phase"] == 1 else board["color"][point]


@kernel
def play(
    history: History, ply: int, point: int, color: int, rules: RuleFlags, encores: int
) -> None:
    """Play a move at ply and write ply + 1.

    The move must be PASS, a pass for ko, or playable on the board; bans by ko and superko, turn
    order and an ended game are tolerated, so that foreign records can be followed.

    Args:
        encores: Whether two passes of a territory game lead into its encores; otherwise they end
            the game, to be counted by agreement.
    """
    # 1. Start from the present ply. Play going on after an end cuts the history in use.
    was_over = is_over(history.turns[ply])
    copy_ply(history, ply + 1, history, ply)
    board = history.boards[ply + 1]
    turn = history.turns[ply + 1]
    if was_over and turn["recent"] > 1:
        turn["recent"] = 1
    turn["status"] = PLAYING
    turn["past_end"] = 0
    turn["pass_for_ko"] = 0
    turn["ko_capture"] = 0

    # 2. The move.
    repeated_pass = False
    if point == PASS:
        repeated_pass = _apply_pass(history, ply, color, rules)
        board["ko_point"] = 0
    else:
        _apply_stone(history, ply, point, color, rules)
    turn["move"] = point
    turn["mover"] = color
    turn["to_play"] = 3 - color
    turn["recent"] += 1

    # 3. The end of the game or of a phase.
    if turn["passes"] >= 2 or repeated_pass:
        if rules.scoring == AREA or turn["phase"] >= 2:
            turn["status"] = ENDED
        elif encores:
            _enter_encore(history, ply + 1)
        else:
            turn["past_end"] = 1
            turn["recent"] = min(int64(turn["recent"]), 1)

    # 4. The new situation; where passes lift bans, the third time in a cycle is no result.
    turn["situation"] = situation_hash(
        board, 3 - color, turn["recapture_hash"], int64(turn["phase"]), rules.ko
    )
    history.situations[ply + 1] = turn["situation"]
    if (
        point != PASS
        and (turn["phase"] > 0 or rules.ko == SIMPLE)
        and _count_occurrences(history, ply + 1) >= 3
    ):
        turn["status"] = NO_RESULT
