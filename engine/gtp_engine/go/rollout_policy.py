"""Two linear policies over patterns: a fast one that plays rollouts, and one for a tree's priors.

Both are a softmax over a sum of weights for what is seen of a move (Silver et al. 2016, extended
data table 4). Both see its 3x3 surroundings with liberties, and what it has to do with the last
moves, the *local* features: captures, escapes, nakade, and where it lies in the pattern around the
last move. The tree policy sees the diamond around every move and the distances to the last two
moves as well.

One move of a rollout: `find_local` lists what the last move brought up, `_boost` multiplies the
weights of those moves, `_draw` draws one, the weights are put back, and
`pattern_board.play_stone` plays it. Own eyes are never filled and nothing is suicide: such moves
have no weight. A move that leaves its chain in atari is drawn again with the chance that its
weight says. A rollout ends after two passes or `MOST_MOVES_PER_POINT` moves a point, and counts
by area.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import BLACK, EMPTY, PASS, WALL, WHITE
from gtp_engine.go.board import BoardRecord, corners, neighbors
from gtp_engine.go.pattern_board import (
    BLOCK_SHIFT,
    MOST_LOCAL,
    MOST_TAKEN,
    PatternRecord,
    play_stone,
    set_up,
    set_weight,
)
from gtp_engine.go.patterns import DIAMOND, DIAMOND_BITS, DIAMOND_ORIGINS
from gtp_engine.kernels import inline_kernel, int64, kernel, uint64
from gtp_engine.random_numbers import next_random, random_below

MOST_MOVES_PER_POINT = 3
HIGHEST_WEIGHT = 1 << 22
"""Of one move; 625 of them add up to less than 2^32."""

# Local features, by number.
CAPTURE_LAST = 0
"""Takes the chain of the last move, of one stone or (+ 1) of more."""
ATARI_LAST = 2
"""Puts it in atari."""
ESCAPE = 3
"""Extends a chain that the last move put in atari, to 1, 2, or 3 and more liberties."""
SAVE_BY_CAPTURE = 6
"""Takes a chain in atari next to one that the last move put in atari."""
EXTEND = 7
"""On a liberty of a chain that the last move left with two, giving 1, 2, or 3 and more."""
KNIGHT, FAR = 10, 11
"""A knight's move from the last one, and two lines off both ways."""
BY_PREVIOUS = 12
"""Beside the player's own last move, or (+ 1) diagonally."""
NAKADE = 14
"""Where the last move took 2 to 6 stones: (stones - 2) * 5 + how many of them were beside it."""
SELF_ATARI = 39
"""Leaves the stone in atari: alone, in a chain of 2 or 3, in a larger one."""
RESPONSES = 42
"""By the diamond around the last move: 12 for each row, the first three for patterns unknown."""

PLAIN_ROWS = 3
"""Rows for what has no pattern, by the liberties of the last move's chain."""
N_DISTANCES = 18
"""Classes of the distance between two moves, dx + dy + max(dx, dy); the last is all beyond."""

_DOWN = np.array([row for row, _ in DIAMOND], np.int64)
_RIGHT = np.array([col for _, col in DIAMOND], np.int64)
_RING = [(r, c) for r in range(-2, 3) for c in range(-2, 3) if abs(r) + abs(c) > 2]
_RING_DOWN = np.array([row for row, _ in _RING], np.int64)
_RING_RIGHT = np.array([col for _, col in _RING], np.int64)
_ORIGINS = np.ascontiguousarray(DIAMOND_ORIGINS)
_GOLDEN = 0x9E3779B1


class Policy(NamedTuple):
    """Weights of both policies, laid out for lookups."""

    weights: npt.NDArray[np.int32]
    """[2, near codes] of the rollout policy, for Black and for White; see `pattern_board`."""
    factors: npt.NDArray[np.float32]
    """[local features] that the weights are multiplied by."""
    tree: npt.NDArray[np.float32]
    """[2, near codes] logarithms of the tree policy's weights."""
    tree_local: npt.NDArray[np.float32]
    """[local features] likewise."""
    distances: npt.NDArray[np.float32]
    """[2, N_DISTANCES] likewise, by the distance to the last move and the one before."""
    response_keys: npt.NDArray[np.uint32]
    """[a power of 2] hash table of the diamonds around last moves; 0 is a free place."""
    response_rows: npt.NDArray[np.int32]
    """[likewise] row * 8 + symmetry."""
    diamond_keys: npt.NDArray[np.uint32]
    """[a power of 2] hash table of the diamonds around moves; 0 is a free place."""
    diamonds: npt.NDArray[np.float32]
    """[likewise] logarithms of the tree policy's weights."""


@inline_kernel
def find_key(keys: npt.NDArray[np.uint32], code: int) -> int:
    """Return the place of a code in a hash table, or of the free place where it belongs."""
    mask = int64(keys.shape[0]) - 1
    wanted = code + 1
    place = ((wanted * _GOLDEN) >> 12) & mask
    while keys[place] != 0 and int64(keys[place]) != wanted:
        place = (place + 1) & mask
    return place


@kernel
def fill_table(
    keys: npt.NDArray[np.uint32], places: npt.NDArray[np.int32], codes: npt.NDArray[np.uint32]
) -> None:
    """Enter codes [n] into a hash table and write into `places` which of them is where."""
    for i in range(len(codes)):
        place = find_key(keys, int64(codes[i]))
        keys[place] = codes[i] + 1
        places[place] = i


# What is seen of a move ------------------------------------------------------------------------


@kernel
def diamond_code(board: PatternRecord, point: int, color: int) -> int:
    """Return the diamond code around a point, seen by a player."""
    stride = int64(board["stride"])
    row = point // stride
    col = point - row * stride
    code = int64(0)
    for i in range(12):
        to_row, to_col = row + _DOWN[i], col + _RIGHT[i]
        value = int64(WALL)
        if 1 <= to_row <= board["height"] and 1 <= to_col <= board["width"]:
            value = int64(board["color"][to_row * stride + to_col])
            if color == WHITE and value != EMPTY:
                value = 3 - value
        code |= value << (2 * i)
    return code


@kernel
def liberties_after(board: PatternRecord, point: int, color: int) -> int:
    """Return how many liberties a move gives its chain, 3 at most.

    Of captured stones only those next to the move are counted.
    """
    found = (int64(0), int64(0), int64(0))
    n = 0
    for near in neighbors(board, point):
        beside = board["color"][near]
        is_taken = beside == 3 - color and board["liberties"][board["head"][near]] == 1
        if beside == EMPTY or is_taken:
            found = (near, found[0], found[1])
            n += 1
            if n == 3:
                return n
    for near in neighbors(board, point):
        if board["color"][near] == color:
            head = int64(board["head"][near])
            if board["liberties"][head] > 3:
                return int64(3)
            if board["liberties"][head] == 1:
                continue
            stone = head
            while True:
                for free in neighbors(board, stone):
                    if (
                        board["color"][free] == EMPTY
                        and free != point
                        and not (n > 0 and free == found[0])
                        and not (n > 1 and free == found[1])
                    ):
                        found = (free, found[0], found[1])
                        n += 1
                        if n == 3:
                            return n
                stone = int64(board["next"][stone])
                if stone == head:
                    break
    return n


@kernel
def self_atari(board: PatternRecord, point: int, color: int) -> int:
    """Return the number of the local feature if a move leaves its chain in atari; else -1."""
    for near in neighbors(board, point):
        beside = board["color"][near]
        if beside == color and board["liberties"][board["head"][near]] > 2:
            return int64(-1)
    free = 0  # most moves have two free points beside them
    for near in neighbors(board, point):
        free += 1 if board["color"][near] == EMPTY else 0
    if free > 1 or liberties_after(board, point, color) > 1:
        return int64(-1)
    stones = int64(1)
    for near in neighbors(board, point):
        if board["color"][near] == color:
            stones += int64(board["size"][board["head"][near]])
    return SELF_ATARI + (0 if stones == 1 else (1 if stones < 4 else 2))


@inline_kernel
def distance_class(board: PatternRecord, point: int, other: int) -> int:
    """Return the class of the distance between two points on the board."""
    stride = int64(board["stride"])
    down = abs(point // stride - other // stride)
    right = abs(point % stride - other % stride)
    return min(down + right + max(down, right), int64(N_DISTANCES - 1))


@inline_kernel
def _add(board: PatternRecord, point: int, feature: int) -> None:
    if board["color"][point] == EMPTY and board["n_local"] < MOST_LOCAL:
        board["local_point"][board["n_local"]] = point
        board["local_feature"][board["n_local"]] = feature
        board["n_local"] += 1


@inline_kernel
def _add_once(board: PatternRecord, point: int, feature: int) -> None:
    for i in range(int64(board["n_local"])):
        if board["local_point"][i] == point and board["local_feature"][i] == feature:
            return
    _add(board, point, feature)


@kernel
def _add_liberties(
    board: PatternRecord, head: int, color: int, feature: int, by_gain: bool
) -> None:
    """Add a feature for each liberty of a chain, the next ones by the liberties a move gives."""
    stone = head
    while True:
        for near in neighbors(board, stone):
            if board["color"][near] == EMPTY:
                gain = liberties_after(board, near, color) - 1 if by_gain else int64(0)
                _add_once(board, near, feature + max(int64(0), gain))
        stone = int64(board["next"][stone])
        if stone == head:
            return


@kernel
def _add_rescues(board: PatternRecord, head: int, color: int) -> None:
    """Add the captures of chains in atari next to a chain in atari."""
    stone = head
    while True:
        for near in neighbors(board, stone):
            if board["color"][near] == 3 - color:
                other = int64(board["head"][near])
                if board["liberties"][other] == 1:
                    _add_liberties(board, other, color, int64(SAVE_BY_CAPTURE), False)
        stone = int64(board["next"][stone])
        if stone == head:
            return


@kernel
def _add_nakade(board: PatternRecord) -> None:
    """Add the points of two to six stones just captured."""
    n = int64(board["n_taken"])
    if n < 2 or n > 6:
        return
    for i in range(n):
        beside = 0
        for j in range(n):
            for near in neighbors(board, int64(board["taken"][i])):
                beside += 1 if int64(board["taken"][j]) == near else 0
        _add(board, int64(board["taken"][i]), NAKADE + (n - 2) * 5 + beside)


@kernel
def find_local(
    board: PatternRecord,
    keys: npt.NDArray[np.uint32],
    rows: npt.NDArray[np.int32],
    last: int,
    previous: int,
    color: int,
) -> None:
    """List what the last moves bring up, pairs of a point and a feature, in the board.

    Args:
        board: The position; `taken` holds what the last move captured.
        keys: `Policy.response_keys`.
        rows: `Policy.response_rows`.
        last: The opponent's last move; PASS where there is none.
        previous: The player's own, likewise.
    """
    board["n_local"] = 0
    stride = int64(board["stride"])
    if previous != PASS and board["color"][previous] == color:
        for near in neighbors(board, previous):
            _add(board, near, int64(BY_PREVIOUS))
        for near in corners(board, previous):
            _add(board, near, int64(BY_PREVIOUS + 1))
    if last == PASS or board["color"][last] != 3 - color:
        return
    _add_nakade(board)
    head = int64(board["head"][last])
    liberties = int64(board["liberties"][head])
    if liberties == 1:
        several = int64(1 if board["size"][head] > 1 else 0)
        _add_liberties(board, head, color, CAPTURE_LAST + several, False)
    elif liberties == 2:
        _add_liberties(board, head, color, int64(ATARI_LAST), False)
    for near in neighbors(board, last):
        if board["color"][near] == color:
            own = int64(board["head"][near])
            if board["liberties"][own] == 1:
                _add_liberties(board, own, color, int64(ESCAPE), True)
                _add_rescues(board, own, color)
            elif board["liberties"][own] == 2:
                _add_liberties(board, own, color, int64(EXTEND), True)
    # Where the move lies around the last one.
    shown = min(int64(3), liberties)
    code = diamond_code(board, last, color) | ((shown - 1) << DIAMOND_BITS)
    place = find_key(keys, code)
    row, symmetry = shown - 1, int64(0)
    if keys[place] != 0:
        row, symmetry = int64(rows[place]) >> 3, int64(rows[place]) & 7
    at_row = last // stride
    at_col = last - at_row * stride
    for i in range(12):
        to_row, to_col = at_row + _DOWN[i], at_col + _RIGHT[i]
        if 1 <= to_row <= board["height"] and 1 <= to_col <= board["width"]:
            feature = RESPONSES + 12 * row + _ORIGINS[symmetry, i]
            _add(board, to_row * stride + to_col, feature)
    for i in range(12):
        to_row, to_col = at_row + _RING_DOWN[i], at_col + _RING_RIGHT[i]
        if 1 <= to_row <= board["height"] and 1 <= to_col <= board["width"]:
            is_far = abs(_RING_DOWN[i]) == abs(_RING_RIGHT[i])
            _add(board, to_row * stride + to_col, int64(FAR) if is_far else int64(KNIGHT))


# Rollouts --------------------------------------------------------------------------------------


@inline_kernel
def _boost(board: PatternRecord, player: int, factors: npt.NDArray[np.float32]) -> None:
    """Multiply the weights of local moves, keeping the old ones."""
    for i in range(int64(board["n_local"])):
        point = int64(board["local_point"][i])
        weight = int64(board["weight"][player, point])
        board["local_weight"][i] = weight
        boosted = np.float32(weight) * factors[board["local_feature"][i]]
        set_weight(board, player, point, int64(min(boosted, np.float32(HIGHEST_WEIGHT))))


@inline_kernel
def _put_back(board: PatternRecord, player: int) -> None:
    for i in range(int64(board["n_local"]) - 1, -1, -1):
        point = int64(board["local_point"][i])
        set_weight(board, player, point, int64(board["local_weight"][i]))


@inline_kernel
def _leave_out(board: PatternRecord, player: int, point: int) -> None:
    """Give a move no weight this turn; `_put_back` undoes it."""
    if board["n_local"] < MOST_LOCAL:
        i = int64(board["n_local"])
        board["local_point"][i] = point
        board["local_weight"][i] = board["weight"][player, point]
        board["n_local"] = i + 1
        set_weight(board, player, point, int64(0))


@inline_kernel
def _draw(board: PatternRecord, player: int, state: int) -> int:
    """Return a point drawn by the weights; PASS where none has any."""
    total = int64(0)
    n_blocks = (int64(board["n_points"]) >> BLOCK_SHIFT) + 1
    for block in range(n_blocks):
        total += board["sum"][player, block]
    if total == 0:
        return int64(PASS)
    left = random_below(state, total)
    block = 0
    while left >= board["sum"][player, block]:
        left -= board["sum"][player, block]
        block += 1
    point = block << BLOCK_SHIFT
    while left >= board["weight"][player, point]:
        left -= board["weight"][player, point]
        point += 1
    return int64(point)


@kernel
def draw_move(
    board: PatternRecord, policy: Policy, last: int, previous: int, color: int, state: int
) -> tuple[int, int]:
    """Return a move drawn from the rollout policy, PASS where there is none, and the new state."""
    player = color - 1
    find_local(board, policy.response_keys, policy.response_rows, last, previous, color)
    _boost(board, player, policy.factors)
    if board["ko_point"] != 0:
        _leave_out(board, player, int64(board["ko_point"]))
    point = int64(PASS)
    while True:
        state = next_random(state)
        point = _draw(board, player, state)
        if point == PASS or board["n_local"] == MOST_LOCAL:
            break
        feature = self_atari(board, point, color)
        if feature < 0:
            break
        state = next_random(state)
        if random_below(state, int64(1 << 20)) < policy.factors[feature] * np.float32(1 << 20):
            break
        _leave_out(board, player, point)
    if point == board["ko_point"]:
        point = int64(PASS)
    _put_back(board, player)
    return point, state


@kernel
def roll_out(
    board: PatternRecord, policy: Policy, last: int, previous: int, color: int, state: int
) -> tuple[int, int]:
    """Play a board to its end by the rollout policy, in place; return the state and the moves."""
    limit = MOST_MOVES_PER_POINT * int64(board["width"]) * int64(board["height"])
    moves = int64(0)
    passes = 0
    x = uint64(state)
    while passes < 2 and moves < limit:
        point, x = draw_move(board, policy, last, previous, color, x)
        if point == PASS:
            passes += 1
            board["ko_point"] = 0
            board["n_taken"] = 0
        else:
            passes = 0
            play_stone(board, policy.weights, point, color)
        previous, last = last, point
        color = 3 - color
        moves += 1
    return x, moves


@kernel
def count_area(board: PatternRecord, owned: npt.NDArray[np.float32]) -> int:
    """Return Black's points minus White's where a rollout has ended, and add up who owns what.

    An empty point belongs to the color that all stones beside it have.

    Args:
        owned: [points or more] gets 1 more for each of Black's points, and 1 less for White's.
    """
    difference = int64(0)
    for point in range(int64(board["n_points"])):
        color = int64(board["color"][point])
        if color == EMPTY:
            seen = int64(0)
            for near in neighbors(board, point):
                if board["color"][near] != WALL:
                    seen |= int64(board["color"][near])
            color = seen if seen != BLACK | WHITE else int64(EMPTY)
        if color == BLACK:
            difference += 1
            owned[point] += np.float32(1.0)
        elif color == WHITE:
            difference -= 1
            owned[point] -= np.float32(1.0)
    return difference


@kernel
def remember_captures(board: PatternRecord, before: BoardRecord, after: BoardRecord) -> None:
    """Note what the move between two boards captured, as `play_stone` would have."""
    board["n_taken"] = 0
    for point in range(int64(after["n_points"])):
        if after["color"][point] == EMPTY and before["color"][point] != EMPTY:
            if board["n_taken"] < MOST_TAKEN:
                board["taken"][board["n_taken"]] = point
            board["n_taken"] += 1


@kernel
def run_rollouts(
    boards: npt.NDArray[np.void],
    source: BoardRecord,
    policy: Policy,
    games: int,
    owned: npt.NDArray[np.float32],
    state: int,
) -> int:
    """Play and count rollouts from a board with Black to move; return the moves in all.

    Args:
        boards: [2] of PATTERN_BOARD, to play on.
        owned: [MAX_POINTS] see `count_area`.
        state: The random generator's.
    """
    set_up(boards[0], source, int64(0), policy.weights)
    moves = int64(0)
    x = uint64(state)
    for _ in range(games):
        boards[1] = boards[0]
        x, played = roll_out(boards[1], policy, int64(PASS), int64(PASS), int64(BLACK), x)
        moves += played
        count_area(boards[1], owned)
    return moves


# The tree policy -------------------------------------------------------------------------------


@kernel
def score_moves(
    board: PatternRecord,
    policy: Policy,
    last: int,
    previous: int,
    color: int,
    scores: npt.NDArray[np.float32],
) -> None:
    """Write the tree policy's logarithms of the weights of all empty points.

    Args:
        last: The opponent's last move; PASS where there is none.
        previous: The player's own, likewise.
        scores: [points or more] of the board; those of moves that are never played are untouched.
    """
    player = color - 1
    for point in range(int64(board["n_points"])):
        if board["color"][point] == EMPTY:
            score = policy.tree[player, board["code"][point]]
            place = find_key(policy.diamond_keys, diamond_code(board, point, color))
            if policy.diamond_keys[place] != 0:
                score += policy.diamonds[place]
            feature = self_atari(board, point, color)
            if feature >= 0:
                score += policy.tree_local[feature]
            if last != PASS:
                score += policy.distances[0, distance_class(board, point, last)]
            if previous != PASS:
                score += policy.distances[1, distance_class(board, point, previous)]
            scores[point] = score
    find_local(board, policy.response_keys, policy.response_rows, last, previous, color)
    for i in range(int64(board["n_local"])):
        scores[board["local_point"][i]] += policy.tree_local[board["local_feature"][i]]
