"""AlphaGo's value net: one position of a game, against many positions of few games.

D. Silver et al. 2016, Nature 529, Methods: U is drawn, U - 1 moves are the supervised policy's, one
is any legal move, the rest are the reinforced policy's; the position after the random move is
learned with the result. A net that learns many positions of each of few games learns these by
heart instead: its error falls on them alone, which both runs together show.

Games are made in shards, so that a kill costs one of them; then two runs of training follow.
"""

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gtp_engine.arena.policy_games import AT_RANDOM, open_policy, play_policy_games
from gtp_engine.coords import MAX_SIZE
from gtp_engine.evaluators.net_evaluator import NetEvaluator
from gtp_engine.evaluators.nets.net_files import find_net
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.files import write_json, write_whole
from gtp_engine.go.position import Position
from gtp_engine.go.rules import default_komi
from gtp_export.architectures.net_file import describe_net
from gtp_export.architectures.presets import PRESETS, Preset
from gtp_export.architectures.shape import Shape
from gtp_export.learning.batch import Batch, NetOutputs
from gtp_export.learning.net_export import NetExport
from gtp_export.learning.pair_source import PairSource, collect
from gtp_export.learning.record_losses import RecordTargets, record_losses
from gtp_export.learning.starting_weights import check_start
from gtp_export.learning.torch_layers import Net
from gtp_export.learning.trainer import CHECKPOINT, TrainPlan, spent_in
from gtp_export.learning.training import read_metrics, train
from gtp_export.pictures import LEARNED, can_draw, draw_curves
from gtp_export.plans import TrainRun
from gtp_export.records.games import Games, join_games
from gtp_export.records.pack_file import read_pack, write_pack
from gtp_export.run_settings import alone_in, keep_settings
from gtp_export.span import Meter

logger = logging.getLogger(__name__)

PRESET = "alphago-value"
SMALLEST_SIZE = 5
LATEST_START = 450 / 361
"""U is drawn up to so many moves a point of the board."""
SHARD_GAMES = 250
VALID_EVERY = 10
"""One shard in so many is to measure on, the first one too; it stays so if more games are made."""
MEASUREMENTS = 10
"""In the course of each training, for the picture."""
MEASURED = 2000
"""Positions that a measurement looks at, of those learned from and of the others."""
SINGLE, MANY = "single positions", "many positions of few games"

Pairs = NDArray[np.int64]
"""[n, 2] games and plies."""


@dataclass(frozen=True)
class ValueTask:
    """What a value net learns, and what it is measured on."""

    preset: Preset
    learned: tuple[Games, Pairs]
    others: tuple[Games, Pairs]

    @property
    def shape(self) -> Shape:
        return self.preset.shape

    def source(self, batch_points: int, seed: int, rank: int = 0, processes: int = 1) -> PairSource:
        return self._source(self.learned, batch_points)

    def _source(self, of: tuple[Games, Pairs], points: int) -> PairSource:
        source = PairSource(self.shape.encoder)
        source.feed(*of, max(2, points // (self.shape.board_size or 1) ** 2))
        return source

    def losses(self, outputs: NetOutputs, targets: RecordTargets) -> dict[str, Tensor]:
        """Return the mean squared error of the result, -1 to 1."""
        return record_losses(outputs, targets, squared_ownership=False)

    def measure(self, net: Net, device: str) -> dict[str, Any]:
        """Return that error on positions learned from and on others, as many of each."""
        return {
            "learned": self._error(net, self.learned, device),
            "value": self._error(net, self.others, device),
        }

    def _error(self, net: Net, of: tuple[Games, Pairs], device: str) -> float:
        points = MEASURED * (self.shape.board_size or 1) ** 2
        batch: Batch = self._source(of, points).draw(np.random.default_rng(1)).to(device)
        with torch.no_grad():
            found = self.losses(net(batch.spatial, batch.features), batch.targets)
        return round(float(found["value"]), 4)


def make_shard(run: TrainRun, players: list[NetEvaluator], number: int) -> tuple[Games, Pairs]:
    """Return the games of a shard, made unless they are there, and the position of each."""
    path = run.out / "games" / f"{number:05}.games"
    last = max(1, round(LATEST_START * run.size**2))
    starts = np.random.default_rng([run.seed, number]).integers(1, last + 1, size=SHARD_GAMES)

    def choose(game: int, position: Position) -> int:
        if position.ply == starts[game] - 1:
            return AT_RANDOM
        return int(position.ply >= starts[game])

    if path.exists():
        games = read_pack(path)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        generator = np.random.default_rng([run.seed, number, 1])
        komi = default_komi(run.size, run.size)
        games = collect(play_policy_games(players, run.size, komi, SHARD_GAMES, generator, choose))
        write_pack(path, games)
    # Games that were over before are of no use.
    usable = np.flatnonzero(np.diff(games.table.starts) > starts)
    return games, np.stack([usable, starts[usable]], 1)


def many_positions(games: Games, count: int) -> Pairs:
    """Return so many positions of as few games as have them, all but the empty board."""
    pairs = games.plies()
    return pairs[pairs[:, 1] > 0][:count]


def run_single_positions(run: TrainRun) -> None:
    """Make the games, train on one position of each and on many of few, and plot the errors.

    Each training has the run's span.

    Raises:
        NetFileError: A net does not take the board or has no policy, there are too few games, or
            the folder has games that were made otherwise.
        OSError: A file cannot be written.
    """
    if run.size < SMALLEST_SIZE:
        raise NetFileError(f"--size must be between {SMALLEST_SIZE} and {MAX_SIZE}")
    torch.set_num_threads(1)
    policies = [find_net(name, run.size) for name in run.policies or ()]
    players = [open_policy(path) for path in policies]
    if run.make <= SHARD_GAMES:
        raise NetFileError(f"too few games to make; give {2 * SHARD_GAMES} or more")
    names = [path.name for path in policies]
    has_begun = (_folder(run, MANY) / CHECKPOINT).exists()
    shape = PRESETS[PRESET].for_size(run.size).shape
    check_start(shape, None if has_begun else run.start, run.freeze)
    with alone_in(run.out):
        keep_settings(run.out / "games", size=run.size, seed=run.seed, policies=names)
        _make_and_train(run, policies, players)


def _make_and_train(run: TrainRun, policies: list[Path], players: list[NetEvaluator]) -> None:
    """Make what is missing of the games, train on them, and put the net in place."""
    shards = -(-run.make // SHARD_GAMES)
    meter = Meter(run.out)
    made = []
    for number in range(shards):
        meter.wait_while_halted()
        made.append(make_shard(run, players, number))
        logger.info(f"{(number + 1) * SHARD_GAMES:,} of {shards * SHARD_GAMES:,} games")
    others = _joined(made[::VALID_EVERY])
    learned = _joined([one for number, one in enumerate(made) if number % VALID_EVERY])
    many = learned[0], many_positions(learned[0], len(learned[1]))
    few = len(np.unique(many[1][:, 0]))
    logger.info(f"{len(learned[1]):,} positions to learn from, one of a game or of {few} games")
    entries = {}
    supervised, reinforced = (path.stem for path in policies)
    source = f"games by {supervised}, a random move and {reinforced}"
    for name, pairs in ((SINGLE, learned), (MANY, many)):
        entries[name] = _train(run, name, pairs, others, source)
    last = {name: found[-1]["valid"] for name, found in entries.items()}
    for name, one in last.items():
        logger.info(
            f"{name}: error {one['learned']:.3f} on what it learned, {one['value']:.3f} on others"
        )
    write_json(run.out / "errors.json", last)
    _draw(run.out / "errors.png", entries)
    target = run.out / f"{PRESET}.onnx"
    write_whole(target, (_folder(run, SINGLE) / f"{PRESET}-final.onnx").read_bytes())
    logger.info(f"wrote {target}")


def _joined(parts: list[tuple[Games, Pairs]]) -> tuple[Games, Pairs]:
    shifts = np.cumsum([0, *(len(games) for games, _ in parts)])
    pairs = [
        np.stack([pairs[:, 0] + shift, pairs[:, 1]], 1)
        for (_, pairs), shift in zip(parts, shifts, strict=False)
    ]
    return join_games([games for games, _ in parts]), np.concatenate(pairs)


def _folder(run: TrainRun, name: str) -> Path:
    """Return where one of both trainings, SINGLE and MANY, keeps its files."""
    return run.out / name.split()[0]


def _train(
    run: TrainRun,
    name: str,
    learned: tuple[Games, Pairs],
    others: tuple[Games, Pairs],
    source: str,
) -> list[dict[str, Any]]:
    """Train on these positions, going on from a checkpoint; return what was measured."""
    preset = PRESETS[PRESET].for_size(run.size)
    info = describe_net(
        preset.shape,
        PRESET,
        trained_sizes=(run.size, run.size),
        source=f"preset {PRESET}",
        trained_on=f"{len(learned[1]):,} positions ({name}) of {source}",
        licence=run.licence,
        created_by="gtp-export train --recipe single-position",
    )
    out = _folder(run, name)
    plan = TrainPlan.of(
        run,
        task=ValueTask(preset, learned, others),
        out=out,
        device="cpu",
        processes=1,
        learning_rate=run.learning_rate or preset.learning_rate,
        loss_weights=preset.loss_weights,
        stem=PRESET,
        halt=run.out,
    )
    for part in range(1, MEASUREMENTS + 1):
        until, is_last = part / MEASUREMENTS, part == MEASUREMENTS
        is_made = run.span.share(spent_in(out)) >= until
        if not is_made or (is_last and not (out / f"{PRESET}-final.onnx").exists()):
            logger.info(f"{name}, part {part} of {MEASUREMENTS}")
            train(plan, NetExport(out, info), until=until)
    return read_metrics(out)


def _draw(path: Path, entries: dict[str, list[dict[str, Any]]]) -> None:
    """Plot the errors of both runs, on what was learned and on other games."""
    curves = {
        f"{name}, {label}": [(entry["steps"], entry["valid"][kind]) for entry in found]
        for name, found in entries.items()
        for kind, label in (("learned", LEARNED), ("value", "other games"))
    }
    if can_draw():
        draw_curves(path, curves, "steps", "mean squared error of the result, -1 to 1")
