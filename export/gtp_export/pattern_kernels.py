"""The kernels that count patterns in games, learn their weights and ask policies about positions.

A board follows the moves of a record; see `pattern_fit` for what is made of it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import EMPTY, PASS
from gtp_engine.go.board import BOARD, clear_board
from gtp_engine.go.pattern_board import PATTERN_BOARD, PatternRecord, play_stone, set_up
from gtp_engine.go.patterns import DIAMOND_BITS
from gtp_engine.go.rollout_policy import (
    N_DISTANCES,
    Policy,
    diamond_code,
    distance_class,
    find_local,
    score_moves,
    self_atari,
)
from gtp_engine.kernels import Result, int64, kernel
from gtp_export.records.games import Games, GameTable
from gtp_export.records.replay import move_at, place_setups

LEARNING_RATE = 0.1
_BASE = 6
"""Features of a move besides the local ones, at most."""


def _kernel(function: Callable[..., Result]) -> Callable[..., Result]:
    return kernel(function, keep=False)  # the cache does not notice changes here


class Ids(NamedTuple):
    """Which weight belongs to what; -1 for none."""

    near: npt.NDArray[np.int32]
    """[2, near codes]"""
    colors: npt.NDArray[np.int32]
    """[2, near codes]"""
    diamonds: npt.NDArray[np.int32]
    """[diamond codes]"""
    starts: npt.NDArray[np.int64]
    """[3] where the weights of local features, distances and diamonds begin."""
    keys: npt.NDArray[np.uint32]
    """`Policy.response_keys`."""
    rows: npt.NDArray[np.int32]
    """`Policy.response_rows`."""


@_kernel
def begin_game(
    table: GameTable,
    game: int,
    allowed: npt.NDArray[np.int32],
    board: PatternRecord,
    source: Any,
) -> None:
    """Put a game's first position on a board."""
    clear_board(source, int64(table.width[game]), int64(table.height[game]))
    place_setups(table, game, source)
    set_up(board, source, int64(0), allowed)


@_kernel
def _has_room(code: int, color: int) -> bool:
    """Whether a stone with this near code is no suicide."""
    for i in range(4):
        side = (code >> (8 + 3 * i)) & 7
        first = 1 if color == 1 else 4
        enemy = 5 - first
        if side == 0 or side == enemy or side == first + 1 or side == first + 2:
            return True
    return False


@_kernel
def follow(
    board: PatternRecord,
    allowed: npt.NDArray[np.int32],
    point: int,
    color: int,
) -> bool:
    """Play a move of a record; say whether the board can hold it."""
    if point == PASS:
        board["n_taken"] = 0
        board["ko_point"] = 0
        return True
    if board["color"][point] != EMPTY:
        return False
    code = int64(board["code"][point])
    if allowed[color - 1, code] == 0 and not _has_room(code, color):
        return False
    play_stone(board, allowed, point, color)
    return True


@_kernel
def count(
    table: GameTable,
    games: npt.NDArray[np.int64],
    allowed: npt.NDArray[np.int32],
    swapped: npt.NDArray[np.uint32],
    near: npt.NDArray[np.int32],
    responses: npt.NDArray[np.int32],
    diamonds: npt.NDArray[np.int32],
    most: int,
) -> int:
    """Count the codes of all moves, with Black to move, in about so many positions."""
    boards = np.zeros(1, PATTERN_BOARD)
    sources = np.zeros(1, BOARD)
    board = boards[0]
    n = int64(0)
    for game in games:
        if n >= most:
            break
        begin_game(table, game, allowed, board, sources[0])
        expected = int64(table.first[game])
        last = int64(PASS)
        for at in range(table.starts[game], table.starts[game + 1]):
            point, color = move_at(table, game, int64(at), expected)
            n += 1
            for candidate in range(int64(board["n_points"])):
                code = int64(board["code"][candidate])
                if board["color"][candidate] == EMPTY and allowed[color - 1, code] != 0:
                    near[code if color == 1 else int64(swapped[code])] += 1
                    diamonds[diamond_code(board, candidate, color)] += 1
            if last != PASS and board["color"][last] == 3 - color:
                liberties = int64(board["liberties"][board["head"][last]])
                shown = min(int64(3), liberties) - 1
                responses[diamond_code(board, last, color) | (shown << DIAMOND_BITS)] += 1
            if not follow(board, allowed, point, color):
                break
            last = point
            expected = 3 - color
    return n


@_kernel
def fit(
    table: GameTable,
    games: npt.NDArray[np.int64],
    allowed: npt.NDArray[np.int32],
    ids: Ids,
    is_tree: int,
    theta: npt.NDArray[np.float32],
    squares: npt.NDArray[np.float32],
) -> tuple[int, int, float]:
    """Learn from games: move the weights `theta`, and add up the squares of what pushed them.

    Returns:
        Positions, those whose move was the likeliest, and the sum of the cross-entropies.
    """
    boards = np.zeros(1, PATTERN_BOARD)
    sources = np.zeros(1, BOARD)
    board = boards[0]
    features = np.zeros((boards["color"].shape[1], _BASE), np.int32)
    scores = np.zeros(boards["color"].shape[1], np.float32)
    candidates = np.zeros(boards["color"].shape[1], np.int64)
    n, right, loss = int64(0), int64(0), 0.0
    for game in games:
        begin_game(table, game, allowed, board, sources[0])
        expected = int64(table.first[game])
        last, previous = int64(PASS), int64(PASS)
        for at in range(table.starts[game], table.starts[game + 1]):
            point, color = move_at(table, game, int64(at), expected)
            # 1. What is seen of every move.
            n_moves = 0
            is_candidate = False
            for candidate in range(int64(board["n_points"])):
                code = int64(board["code"][candidate])
                if (
                    board["color"][candidate] != EMPTY
                    or allowed[color - 1, code] == 0
                    or candidate == board["ko_point"]
                ):
                    continue
                candidates[n_moves] = candidate
                n_moves += 1
                is_candidate = is_candidate or candidate == point
                row = features[candidate]
                row[0] = ids.near[color - 1, code]
                row[1] = ids.colors[color - 1, code]
                local = self_atari(board, int64(candidate), color)
                row[2] = -1 if local < 0 else ids.starts[0] + local
                row[3:] = -1
                if is_tree:
                    if last != PASS:
                        row[3] = ids.starts[1] + distance_class(board, int64(candidate), last)
                    if previous != PASS:
                        distance = distance_class(board, int64(candidate), previous)
                        row[4] = ids.starts[1] + N_DISTANCES + distance
                    row[5] = ids.diamonds[diamond_code(board, int64(candidate), color)]
                score = np.float32(0.0)
                for feature in row:
                    if feature >= 0:
                        score += theta[feature]
                scores[candidate] = score
            if is_candidate:
                find_local(board, ids.keys, ids.rows, last, previous, color)
                for i in range(int64(board["n_local"])):
                    feature = ids.starts[0] + board["local_feature"][i]
                    scores[board["local_point"][i]] += theta[feature]
                # 2. Chances.
                best = candidates[0]
                for i in range(n_moves):
                    if scores[candidates[i]] > scores[best]:
                        best = candidates[i]
                highest = scores[best]
                total = np.float32(0.0)
                played = scores[point]
                for i in range(n_moves):
                    share = np.exp(scores[candidates[i]] - highest)
                    scores[candidates[i]] = share
                    total += share
                n += 1
                right += 1 if best == point else 0
                loss -= np.float64(played - highest) - np.log(np.float64(total))
                # 3. A step for every feature of every move.
                for i in range(n_moves):
                    candidate = candidates[i]
                    push = scores[candidate] / total - np.float32(candidate == point)
                    scores[candidate] = push
                    for feature in features[candidate]:
                        if feature >= 0:
                            squares[feature] += push * push
                            step = np.float32(LEARNING_RATE) * push / np.sqrt(squares[feature])
                            theta[feature] -= step
                for i in range(int64(board["n_local"])):
                    near = int64(board["local_point"][i])
                    code = int64(board["code"][near])
                    if allowed[color - 1, code] != 0 and near != board["ko_point"]:
                        feature = ids.starts[0] + board["local_feature"][i]
                        push = scores[near]
                        squares[feature] += push * push
                        step = np.float32(LEARNING_RATE) * push / np.sqrt(squares[feature])
                        theta[feature] -= step
            # 4. The move.
            if not follow(board, allowed, point, color):
                break
            previous, last = last, point
            expected = 3 - color
    return n, right, loss


@_kernel
def score_rollout(
    board: PatternRecord,
    policy: Policy,
    last: int,
    previous: int,
    color: int,
    scores: npt.NDArray[np.float32],
) -> None:
    """Write the logarithms of the chances of all moves in a rollout, as `score_moves` does."""
    for point in range(int64(board["n_points"])):
        code = int64(board["code"][point])
        if board["color"][point] == EMPTY and policy.weights[color - 1, code] != 0:
            score = np.log(np.float64(policy.weights[color - 1, code]))
            local = self_atari(board, int64(point), color)
            if local >= 0:
                score += min(0.0, np.log(np.float64(policy.factors[local])))
            scores[point] = np.float32(score)
    find_local(board, policy.response_keys, policy.response_rows, last, previous, color)
    for i in range(int64(board["n_local"])):
        factor = np.float64(policy.factors[board["local_feature"][i]])
        scores[board["local_point"][i]] += np.float32(np.log(factor))


@_kernel
def judge(
    table: GameTable,
    games: npt.NDArray[np.int64],
    plies: npt.NDArray[np.int64],
    policy: Policy,
    is_tree: int,
    found: npt.NDArray[np.float64],
) -> None:
    """Ask a policy about positions of games.

    Args:
        games: [n] which, those of one game together.
        plies: [n] after how many moves, rising within a game.
        found: [n, 3] receives how many of the moves a rollout might play are liked better than
            the move played, how many as much, itself too, and its cross-entropy; NaN where it is a
            pass or none of them.
    """
    boards = np.zeros(1, PATTERN_BOARD)
    sources = np.zeros(1, BOARD)
    board = boards[0]
    allowed = policy.weights
    scores = np.zeros(boards["color"].shape[1], np.float32)
    game = int64(-1)
    ply = int64(0)
    expected, last, previous = int64(0), int64(PASS), int64(PASS)
    for slot in range(len(games)):
        if games[slot] != game:
            game, ply = games[slot], int64(0)
            begin_game(table, game, allowed, board, sources[0])
            expected, last, previous = int64(table.first[game]), int64(PASS), int64(PASS)
        while True:
            point, color = move_at(table, game, int64(table.starts[game] + ply), expected)
            if ply == plies[slot] or not follow(board, allowed, point, color):
                break
            previous, last, expected, ply = last, point, 3 - color, ply + 1
        found[slot] = np.nan
        is_move = point != PASS and board["color"][point] == EMPTY and ply == plies[slot]
        if not is_move or allowed[color - 1, int64(board["code"][point])] == 0:
            continue
        if is_tree:
            score_moves(board, policy, last, previous, color, scores)
        else:
            score_rollout(board, policy, last, previous, color, scores)
        total, better, equal = 0.0, 0, 0
        for other in range(int64(board["n_points"])):
            code = int64(board["code"][other])
            is_free = board["color"][other] == EMPTY and other != board["ko_point"]
            if is_free and allowed[color - 1, code] != 0:
                total += np.exp(np.float64(scores[other] - scores[point]))
                better += 1 if scores[other] > scores[point] else 0
                equal += 1 if scores[other] == scores[point] else 0
        found[slot, 0] = better
        found[slot, 1] = equal
        found[slot, 2] = np.log(total)


def measure(
    policy: Policy, games: Games, pairs: npt.NDArray[np.int64], which: int
) -> npt.NDArray[np.float64]:
    """Return [n, 3] what `judge` finds of the moves at [n, 2] games and plies."""
    found = np.zeros((len(pairs), 3))
    judge(games.table, pairs[:, 0].copy(), pairs[:, 1].copy(), policy, which, found)
    return found
