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
from typing import Any

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import MAX_SIZE, MIN_SIZE
from gtp_engine.evaluators.nets.net_files import PATTERN_SUFFIX
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.evaluators.rollouts.pattern_file import Arrays, build_policy, load_policy, pack
from gtp_engine.files import write_whole
from gtp_engine.go.patterns import (
    DIAMOND_BITS,
    NEAR_BITS,
    diamond_symmetries,
    is_refused,
    near_colors,
    near_swapped,
    near_symmetries,
)
from gtp_engine.go.rollout_policy import N_DISTANCES, PLAIN_ROWS, RESPONSES, Policy
from gtp_export.cards import format_pattern_card
from gtp_export.evaluation import ALL, TOP, Figure, among_first, draw_plies, interval_over_games
from gtp_export.pattern_kernels import Ids, count, fit, measure
from gtp_export.plans import EvaluationPlan, RecordRun
from gtp_export.records.games import Games
from gtp_export.records.reading import read_table
from gtp_export.span import HOUR

logger = logging.getLogger(__name__)

ROLLOUT, TREE = 0, 1
"""Which policy; also the row of arrays that hold both."""
MOST_NEAR, MOST_RESPONSES, MOST_DIAMONDS = 48_000, 6_000, 80_000
"""How many patterns of each kind get weights, the most frequent ones."""
FEWEST = 20
"""Times that a pattern must be seen for that."""
COUNTED_POSITIONS = 1_000_000
POSITIONS = 2_000_000
"""To learn from, unless somebody says otherwise."""
POLICIES = ("rollout", "tree")


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
            n, right, loss = fit(table, part, allowed, ids, which, theta, squares)
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
    return _figures(load_policy(path), read_table(packs), plan)


def _figures(policy: Policy, games: Games, plan: EvaluationPlan) -> dict[str, Figure]:
    generator = np.random.default_rng(plan.seed)
    usable = np.flatnonzero(np.diff(games.table.starts) > 0)
    chosen = np.sort(generator.permutation(usable)[: -(-plan.positions // plan.per_game)])
    pairs = draw_plies(games, chosen, plan.per_game, generator)
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
    learned, others = read_table(run.games).split(read_table(run.valid) if run.valid else None)
    if not len(learned) or not len(others):
        raise NetFileError("too few games to learn from some and measure on others")
    arrays, n = fit_policies(learned, run.seed, positions)
    plan = EvaluationPlan(run.positions, seed=run.seed)
    figures = _figures(build_policy(arrays), others, plan)
    header = {
        "name": run.name or run.preset,
        "boards": [MIN_SIZE, MAX_SIZE],
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
