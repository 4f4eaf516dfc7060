"""Fit the weights of pattern policies to game records: multinomial regression, without torch.

First the patterns are counted, and those seen often enough get a weight; the others share what is
known of their colors. Then the games are played over once, in random order: at every position all
moves that a rollout might play compete in a softmax, and each feature of a move is pushed by the
difference between what was played and its chance, with steps that shrink as Adagrad says (Duchi et
al. 2011). The rollout policy and the tree policy are fitted one after the other.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import EMPTY, PASS
from gtp_engine.evaluators.nets.net_files import PATTERN_SUFFIX
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.evaluators.rollouts.pattern_file import Arrays, build_policy, load_policy, pack
from gtp_engine.files import write_whole
from gtp_engine.go.board import BOARD, clear_board
from gtp_engine.go.pattern_board import PATTERN_BOARD, PatternRecord, play_stone, set_up
from gtp_engine.go.patterns import (
    DIAMOND_BITS,
    NEAR_BITS,
    diamond_symmetries,
    is_refused,
    near_colors,
    near_swapped,
    near_symmetries,
)
from gtp_engine.go.rollout_policy import (
    N_DISTANCES,
    PLAIN_ROWS,
    RESPONSES,
    Policy,
    diamond_code,
    distance_class,
    find_local,
    score_moves,
    self_atari,
)
from gtp_engine.kernels import Result, int64, kernel
from gtp_export.cards import format_pattern_card
from gtp_export.evaluation import ALL, TOP, Figure, among_first, draw_plies, interval_over_games
from gtp_export.plans import EvaluationPlan, RecordRun
from gtp_export.records.games import Games, GameTable
from gtp_export.records.reading import read_table
from gtp_export.records.replay import move_at, place_setups
from gtp_export.span import HOUR

logger = logging.getLogger(__name__)

ROLLOUT, TREE = 0, 1
"""Which policy; also the row of arrays that hold both."""
MOST_NEAR, MOST_RESPONSES, MOST_DIAMONDS = 48_000, 6_000, 80_000
"""How many patterns of each kind get weights, the most frequent ones."""
FEWEST = 20
"""Times that a pattern must be seen for that."""
COUNTED_POSITIONS = 1_000_000
LEARNING_RATE = 0.1
POSITIONS = 2_000_000
"""To learn from, unless somebody says otherwise."""
VALID_SHARE, PER_GAME = 0.02, 4
POLICIES = ("rollout", "tree")
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
def replay(
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
        replay(table, game, allowed, board, sources[0])
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
    rate: float,
) -> tuple[int, int, float]:
    """Learn from games, or only look where the rate is 0.

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
        replay(table, game, allowed, board, sources[0])
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
                if rate > 0.0:
                    for i in range(n_moves):
                        candidate = candidates[i]
                        push = scores[candidate] / total - np.float32(candidate == point)
                        scores[candidate] = push
                        for feature in features[candidate]:
                            if feature >= 0:
                                squares[feature] += push * push
                                step = np.float32(rate) * push / np.sqrt(squares[feature])
                                theta[feature] -= step
                    for i in range(int64(board["n_local"])):
                        near = int64(board["local_point"][i])
                        code = int64(board["code"][near])
                        if allowed[color - 1, code] != 0 and near != board["ko_point"]:
                            feature = ids.starts[0] + board["local_feature"][i]
                            push = scores[near]
                            squares[feature] += push * push
                            theta[feature] -= np.float32(rate) * push / np.sqrt(squares[feature])
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
            replay(table, game, allowed, board, sources[0])
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


# What Python does ------------------------------------------------------------------------------


def frequent(
    counts: npt.NDArray[np.int32],
    symmetries: Callable[[npt.NDArray[np.uint32]], npt.NDArray[np.uint32]],
    most: int,
) -> npt.NDArray[np.uint32]:
    """Return the canonical codes seen most often, rising; counts are by code."""
    seen = np.flatnonzero(counts).astype(np.uint32)
    canonical, place = np.unique(symmetries(seen).min(axis=0), return_inverse=True)
    total = np.bincount(place, counts[seen])
    order = np.argsort(-total, kind="stable")[:most]
    return np.sort(canonical[order[total[order] >= FEWEST]])


def _numbered(codes: npt.NDArray[np.uint32], bits: int, *, start: int) -> npt.NDArray[np.int32]:
    """Return [codes of so many bits] the number of each of [8, n] codes, from start; else -1."""
    found = np.full(1 << bits, -1, np.int32)
    found[codes] = start + np.arange(codes.shape[1], dtype=np.int32)
    return found


def fit_policies(games: Games, seed: int, most: int) -> tuple[Arrays, int]:
    """Return the arrays of a pattern file learnt from games, and from how many positions.

    Args:
        seed: Fixes the order of the games.
        most: Positions for each policy, at most.
    """
    codes = np.arange(1 << NEAR_BITS, dtype=np.uint32)
    swapped = near_swapped(codes)
    free = (~is_refused(codes)).astype(np.int32)
    allowed = np.stack([free, free[swapped]])
    order = np.random.default_rng(seed).permutation(len(games))
    near, responses, diamonds = (
        np.zeros(1 << bits, np.int32) for bits in (NEAR_BITS, DIAMOND_BITS + 2, DIAMOND_BITS)
    )
    table = games.table
    counted = count(
        table, order, allowed, swapped, near, responses, diamonds, min(most, COUNTED_POSITIONS)
    )
    kinds = {
        "near": frequent(near, near_symmetries, MOST_NEAR),
        "colors": np.unique(near_symmetries(near_colors(codes[near > 0])).min(axis=0)),
        "responses": frequent(responses, diamond_symmetries, MOST_RESPONSES),
        "diamonds": frequent(diamonds, diamond_symmetries, MOST_DIAMONDS),
    }
    del near, responses, diamonds
    sizes = {name: len(found) for name, found in kinds.items()}
    logger.info(f"patterns seen often in {counted:,} positions: {sizes}")
    n_local = RESPONSES + 12 * (PLAIN_ROWS + sizes["responses"])
    local_at = sizes["near"] + sizes["colors"]
    starts = np.cumsum([local_at, n_local, 2 * N_DISTANCES])
    by_near = _numbered(near_symmetries(kinds["near"]), NEAR_BITS, start=0)
    by_color = _numbered(near_symmetries(kinds["colors"]), NEAR_BITS, start=sizes["near"])
    by_color = by_color[near_colors(codes)]
    empty = build_policy(_arrays(kinds, {}))
    ids = Ids(
        np.stack([by_near, by_near[swapped]]),
        np.stack([by_color, by_color[swapped]]),
        _numbered(diamond_symmetries(kinds["diamonds"]), DIAMOND_BITS, start=int(starts[2])),
        starts,
        empty.response_keys,
        empty.response_rows,
    )
    learned: dict[int, npt.NDArray[np.float32]] = {}
    positions = 0
    chosen = order[: 1 + int(np.searchsorted(np.cumsum(np.diff(table.starts)[order]), most))]
    for which in (ROLLOUT, TREE):
        theta = np.zeros(starts[2] + sizes["diamonds"], np.float32)
        squares = np.ones_like(theta)
        positions = 0
        for part in np.array_split(chosen, 10):
            n, right, loss = fit(table, part, allowed, ids, which, theta, squares, LEARNING_RATE)
            positions += n
            logger.info(
                f"{POLICIES[which]} policy: {positions:,} positions, top-1 {right / max(n, 1):.1%},"
                f" cross-entropy {loss / max(n, 1):.3f}"
            )
        learned[which] = theta
    by_color = by_color[kinds["near"]]
    weights = {
        "near_weights": [
            w[: sizes["near"]] + np.where(by_color < 0, 0, w[by_color]) for w in learned.values()
        ],
        "colors_weights": [w[sizes["near"] : local_at] for w in learned.values()],
        "local": [w[starts[0] :][: RESPONSES + 12 * PLAIN_ROWS] for w in learned.values()],
        "response_weights": [
            w[starts[0] + RESPONSES + 12 * PLAIN_ROWS : starts[1]].reshape(-1, 12)
            for w in learned.values()
        ],
        "distances": learned[TREE][starts[1] : starts[2]].reshape(2, N_DISTANCES),
        "diamond_weights": learned[TREE][starts[2] :],
    }
    return _arrays(kinds, weights), positions


def _arrays(kinds: dict[str, Any], weights: dict[str, Any]) -> Arrays:
    """Return the arrays of a file, weights that are missing as zeros."""
    n, m, r, d = (len(kinds[name]) for name in ("near", "colors", "responses", "diamonds"))
    shapes = {
        "near_weights": (2, n),
        "colors_weights": (2, m),
        "local": (2, RESPONSES + 12 * PLAIN_ROWS),
        "response_weights": (2, r, 12),
        "distances": (2, N_DISTANCES),
        "diamond_weights": (d,),
    }
    made = {name: np.asarray(weights.get(name, np.zeros(s))) for name, s in shapes.items()}
    return {**kinds, **made}


# A run --------------------------------------------------------------------------------------------


def evaluate_patterns(path: Path, packs: Sequence[Path], plan: EvaluationPlan) -> dict[str, Figure]:
    """Ask both policies of a file about random positions of random games, all sizes alike.

    Returns:
        `top1`, `top5` and `cross_entropy` (nats, over the moves that a rollout might play), of the
        rollout policy and the tree policy, as in "rollout top1 all"; passes are left out, and of
        moves liked alike each counts in part.

    Raises:
        NetFileError: The file cannot be used.
        FileNotFoundError: A file of games does not exist.
        SgfError: There is no game in the files.
    """
    policy, games = load_policy(path), read_table(packs)
    generator = np.random.default_rng(plan.seed)
    usable = np.flatnonzero(np.diff(games.table.starts) > 0)
    chosen = np.sort(generator.permutation(usable)[: -(-plan.positions // plan.per_game)])
    return _figures(policy, games, draw_plies(games, chosen, plan.per_game, generator), generator)


def _figures(
    policy: Policy, games: Games, pairs: npt.NDArray[np.int64], generator: np.random.Generator
) -> dict[str, Figure]:
    figures = {}
    for which, name in enumerate(POLICIES):
        found = measure(policy, games, pairs, which)
        is_move = ~np.isnan(found[:, 0])
        if not is_move.any():
            continue
        better, equal, loss = found[is_move].T
        top1, top5 = (among_first(better, equal, places) for places in (1, TOP))
        kinds = {"top1": top1, "top5": top5, "cross_entropy": loss}
        for kind, values in kinds.items():
            told = np.stack([pairs[is_move, 0], values], axis=1)
            figures[f"{name} {kind} {ALL}"] = interval_over_games(told, generator)
    return figures


def run_fit(run: RecordRun) -> None:
    """Fit both policies to games, measure them on others, and write the file and its card.

    Raises:
        NetFileError: There are too few games, too many patterns for a file, or options for nets.
        OSError: A file cannot be written; one that was there is as it was.
    """
    if run.span is not HOUR and run.span.unit != "samples":
        raise NetFileError(
            f"--preset {run.preset}: reads the games once; only --samples ends it earlier"
        )
    if run.start is not None:
        raise NetFileError(f"--preset {run.preset}: begins from nothing; --from is for nets")
    positions = POSITIONS if run.span is HOUR else int(run.span.amount)
    learned, others = read_table(run.games), read_table(run.valid) if run.valid else None
    if others is None:
        learned, others = learned.split(VALID_SHARE)
    if not len(learned) or not len(others):
        raise NetFileError("too few games to learn from some and measure on others")
    arrays, n = fit_policies(learned, run.seed, positions)
    generator = np.random.default_rng(run.seed)
    chosen = np.sort(generator.permutation(len(others))[: -(-run.positions // PER_GAME)])
    pairs = draw_plies(others, chosen, PER_GAME, generator)
    figures = _figures(build_policy(arrays), others, pairs, generator)
    header = {
        "name": run.name or run.preset,
        "boards": [2, 25],
        "features": {kind: len(arrays[kind]) for kind in ("near", "responses", "diamonds")},
        "trained_on": f"{n:,} positions of {len(learned):,} games "
        f"({', '.join(path.name for path in run.games)})",
        "licence": run.licence,
        "accuracy": {kind: round(figure.mean, 4) for kind, figure in figures.items()},
        "created_by": "gtp-export train --preset rollout",
    }
    content = pack(header, arrays)
    columns = [
        {name.removeprefix(f"{policy} "): asdict(figure) for name, figure in figures.items()}
        for policy in POLICIES
    ]
    run.out.mkdir(parents=True, exist_ok=True)
    target = run.out / f"{header['name']}{PATTERN_SUFFIX}"
    write_whole(target, content)
    write_whole(target.with_suffix(".md"), format_pattern_card(header, len(content), *columns))
    logger.info(f"wrote {target}")
