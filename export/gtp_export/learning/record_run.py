"""From game records to finished nets in a given span: train, evaluate, export, write the card."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from gtp_engine.evaluators.nets.net_files import version_file
from gtp_engine.evaluators.nets.net_info import NetFileError, NetInfo
from gtp_engine.evaluators.nets.onnx_net import OnnxNet
from gtp_engine.files import write_json, write_whole
from gtp_engine.games import game_shown, position_type
from gtp_engine.messages import counted
from gtp_export.architectures.net_file import describe_net
from gtp_export.architectures.presets import Preset, find_preset
from gtp_export.cards import format_record_card
from gtp_export.convert.onnx_file import remove_smaller
from gtp_export.evaluation import Figure, evaluate_games
from gtp_export.learning.net_export import NetExport, check_parity
from gtp_export.learning.record_task import RecordTask
from gtp_export.learning.starting_weights import licence_of, read_checkpoint
from gtp_export.learning.torch_layers import Net
from gtp_export.learning.trainer import CHECKPOINT, TrainPlan
from gtp_export.learning.training import read_metrics, train
from gtp_export.pictures import can_draw, draw_by_move_number, draw_run
from gtp_export.plans import FP16, INT8, EvaluationPlan, QuantisePlan, RecordRun
from gtp_export.records.games import Games
from gtp_export.records.reading import read_table
from gtp_export.run_settings import alone_in, keep_settings

logger = logging.getLogger(__name__)

TRAIN_SHARE = 0.85
"""Share of the minutes that trains; the rest evaluates and exports."""
PARITY_SEED = 10
"""Draws the positions on which a written net is compared with the one in training."""


def run_records(run: RecordRun) -> None:
    """Train, evaluate and export; a run that was killed goes on from its last checkpoint.

    In the run's folder: NAME-latest.onnx until it is finished; NAME.onnx, and NAME-int8.onnx and
    NAME-fp16.onnx where asked for and good enough; the card NAME.md; metrics.jsonl and
    metrics.json; pictures, if the extra `plots` is installed.

    Raises:
        NetFileError: The preset or the device is not there, or training cannot go on.
        SgfError: There is no game to learn from.
        OSError: A file cannot be read or written.
    """
    task = prepare(run)
    with alone_in(run.out):
        run_task(run, task, describe_trained(task, run, run.name or run.preset))


def run_task(
    run: RecordRun,
    task: RecordTask,
    info: NetInfo,
    compare: Callable[[Path], list[str]] | None = None,
) -> None:
    """Train, evaluate and export what was prepared, as `run_records`.

    Nobody else may be at work in the run's folder, see `alone_in`.

    Args:
        compare: Returns in lines what the written net does better and worse than another one.
    """
    plan = TrainPlan.of(
        run,
        task=task,
        span=run.span.times(TRAIN_SHARE) if run.span.unit == "minutes" else run.span,
        learning_rate=run.learning_rate or task.preset.learning_rate,
        adam=task.preset.adam,
        loss_weights=task.preset.loss_weights,
        stem=info.name,
    )
    begun = {"from": run.start.name if run.start else ""}
    keep_settings(run.out, games=task.train.fingerprint(), **begun)
    train(plan, NetExport(run.out, info))
    facts, target = finish(run, plan, task), run.out / f"{plan.stem}.onnx"
    if compare is not None:
        facts["tuned"] = compare(target)
        for line in facts["tuned"]:
            logger.info(line)
    write_json(run.out / "metrics.json", facts)
    write_whole(target.with_suffix(".md"), format_record_card(info, facts))
    logger.info(f"wrote {target}")


def prepare(run: RecordRun) -> RecordTask:
    """Read the games and fit the preset to their board.

    Raises:
        NetFileError: There is no such preset, or no game is left for one side.
        SgfError: There is no game.
        OSError: A file cannot be read.
    """
    preset = find_preset(run.preset)
    kind = position_type(game_shown(preset.shape.encoder))
    games = read_table(run.games, kind=kind)
    if preset.shape.board_size is not None:
        preset, games = fit_board(preset, games)
    valid = read_table(run.valid, kind=kind) if run.valid else None
    return divide(run, preset, games, valid)


def divide(run: RecordRun, preset: Preset, games: Games, valid: Games | None) -> RecordTask:
    """Set games aside to measure on, unless there are others for that: then those among them.

    Raises:
        NetFileError: No game is left for one side.
    """
    size = preset.shape.board_size
    if valid is not None and size is not None:
        valid = valid.take(valid.of_size(size, size))
    learned, measured = games.split(valid)
    where = "--valid" if run.valid else counted(len(games), "game")
    if not len(learned) or not len(measured):
        raise NetFileError(
            f"{where}: too few games to learn from some and measure on others; --valid names more"
        )
    if set(preset.shape.heads) == {"ownership"} and not measured.table.settled.any():
        raise NetFileError(
            f"{where}: none of the games to measure on says who owns the final board (XD, or TB "
            "and TW)"
        )
    logger.info(f"{counted(len(learned), 'game')} to learn from, {len(measured):,} to measure on")
    return RecordTask(preset, learned, measured, run.threads)


def fit_board(preset: Preset, games: Games) -> tuple[Preset, Games]:
    """Return a preset for the most common square board, and the games on it."""
    table = games.table
    square = table.width[table.width == table.height]
    if not len(square):
        raise NetFileError("this preset takes square boards only, and no game is on one")
    size = int(np.bincount(square).argmax())
    return preset.for_size(size), games.take(games.of_size(size, size))


def describe_trained(task: RecordTask, run: RecordRun, name: str) -> NetInfo:
    """Return the description of a net trained on records."""
    table = task.train.table
    sides = np.concatenate([table.width, table.height])
    files = ", ".join(path.name for path in run.games)
    begun = f", begun with {run.start.name}" if run.start else ""
    return describe_net(
        task.shape,
        name,
        trained_sizes=(int(sides.min()), int(sides.max())),
        source=f"preset {run.preset}{begun}",
        trained_on=f"{len(task.train):,} recorded games ({files})",
        licence=licence_of(run, run.start),
        created_by=run.created_by,
    )


def finish(run: RecordRun, plan: TrainPlan, task: RecordTask) -> dict[str, Any]:
    """Evaluate a trained net, put it in place with what goes with it; return what its card says."""
    target = run.out / f"{plan.stem}.onnx"
    written = run.out / f"{plan.stem}-final.onnx"
    batch = task.source(plan.batch_points, PARITY_SEED).draw(np.random.default_rng(0))
    parity = check_parity(trained_net(plan), written, batch)
    evaluation = EvaluationPlan(run.positions, seed=run.seed)
    figures = evaluate_games(OnnxNet(written, "cpu"), task.valid, evaluation)
    remove_smaller(target)  # made by an earlier, shorter run
    written.replace(target)
    (run.out / f"{plan.stem}-latest.onnx").unlink(missing_ok=True)
    kinds = {INT8: run.int8, FP16: run.fp16}
    smaller = {kind: quantise(target, kind) for kind, wanted in kinds.items() if wanted}
    entries = read_metrics(run.out)
    draw_pictures(run.out, plan.stem, entries, figures)
    return {
        "command": run.command_line,
        "games": [path.name for path in run.games],
        "learned_games": len(task.train),
        "measured_games": len(task.valid),
        "learning_rate": plan.learning_rate,
        "optimizer": "AdamW" if plan.adam else "SGD with Nesterov momentum",
        "device": plan.device,
        "parity": parity,
        "smaller": smaller,
        "run": entries[-1],
        "figures": {name: asdict(figure) for name, figure in figures.items()},
    }


def trained_net(plan: TrainPlan) -> Net:
    """Return the averaged net of a run's checkpoint, on the CPU."""
    net = Net(plan.task.shape)
    net.load_state_dict(read_checkpoint(plan.out / CHECKPOINT)["average"])
    net.eval()
    return net


def quantise(source: Path, kind: str) -> str:
    """Write a net in lower precision beside its source; say in a phrase what came of it."""
    from gtp_export.quantise.quantisation import quantise_file

    target = version_file(source, kind)
    try:
        outcome = quantise_file(source, target, QuantisePlan(precision=kind))
    except NetFileError as error:
        logger.info(f"no {kind} net: {error}")
        return f"not written: {error}"
    found = outcome.accuracy["all"]
    return f"{target.name}: policy KL {found.policy_kl:.4f}, same best move {found.top1:.1%}"


def draw_pictures(
    folder: Path,
    stem: str,
    entries: list[dict[str, Any]],
    figures: Mapping[str, Figure],
) -> None:
    """Draw loss and accuracy by step, and accuracy by move number."""
    if not can_draw():
        return
    draw_run(folder / "losses.png", entries, ("policy", "value", "score", "ownership"))
    draw_run(folder / "accuracy.png", entries, ("top1", "owned"))
    for what, title in (("top1", "recorded moves"), ("ownership", "final owners")):
        if any(key.startswith(f"{what} moves ") for key in figures):
            path = folder / f"{what}-by-move.png"
            draw_by_move_number(path, {stem: figures}, what, f"{title} named right")
