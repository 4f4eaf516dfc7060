"""Strength over accuracy: nets play each other by their policies, and predict recorded games.

Figure 2a of D. Silver et al. 2016, Nature 529: little more accuracy was much more strength there.
What was played and measured is kept in the folder after each match, where a killed run goes on.
"""

import itertools
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gtp_engine.arena.policy_games import open_policy, play_policy_games, points_of_first
from gtp_engine.arena.ratings import rate_players
from gtp_engine.evaluators.nets.net_files import find_net
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.evaluators.nets.onnx_net import OnnxNet
from gtp_engine.files import write_json
from gtp_engine.go.rules import default_komi
from gtp_engine.text_table import align
from gtp_export.download import file_hash
from gtp_export.evaluation import evaluate_games
from gtp_export.pictures import can_draw, draw_intervals
from gtp_export.plans import EvaluationPlan, StrengthPlan
from gtp_export.records.reading import read_table
from gtp_export.run_settings import keep_settings, read_json

logger = logging.getLogger(__name__)


def list_nets(wanted: Sequence[Path]) -> dict[str, str]:
    """Return nets by what they are called here: those in `nets` of runs' folders, files and names.

    Raises:
        NetFileError: A folder holds none, or two are called the same.
    """
    found: dict[str, str] = {}
    for path in wanted:
        kept = sorted((path / "nets").glob("*.onnx"))
        if path.is_dir() and not kept:
            raise NetFileError(f"{path}: holds no nets; `train --keep-nets` keeps some")
        for one in map(str, kept or [path]):
            name = called(one)
            if name in found:
                raise NetFileError(f"{one}: another net has that name")
            found[name] = one
    return found


def called(wanted: str) -> str:
    """Return what a net given by file or by name is called here."""
    return Path(wanted).stem if Path(wanted).is_file() else wanted


def measure_strength(plan: StrengthPlan) -> str:
    """Play all pairs, measure all nets, and return both in a table; see the module.

    Raises:
        NetFileError: A net fails, has no policy, does not take the board, or is not the one that
            was measured under its name.
        SgfError: There is no game.
        OSError: A file cannot be read or written.
    """
    anchor = f"opponent {called(plan.opponent)}"
    nets = list_nets(plan.nets) | {anchor: plan.opponent}
    # Small boards and large ones may have weights of their own.
    playing = {name: find_net(net, plan.size) for name, net in nets.items()}
    players = {name: open_policy(path) for name, path in playing.items()}
    games = [path.resolve().name for path in plan.games]
    settings = {name: getattr(plan, name) for name in ("size", "each", "positions", "seed")}
    keep_settings(plan.out, games=games, **settings)
    file = plan.out / "strength.json"
    known: dict[str, Any] = {"nets": {}, "matches": {}, "accuracy": {}}
    if file.exists():
        known |= read_json(file)
    recorded = read_table(plan.games)
    predicting = {name: find_net(net, recorded.longest_side) for name, net in nets.items()}
    for name in nets:
        content = " ".join(map(file_hash, dict.fromkeys((playing[name], predicting[name]))))
        if known["nets"].setdefault(name, content) != content:
            raise NetFileError(f"{plan.out}: knows another net as {name}; choose another --out")
    for number, (one, other) in enumerate(itertools.combinations(players, 2)):
        if f"{one} / {other}" not in known["matches"]:
            generator = np.random.default_rng([plan.seed, number])
            komi, pair = default_komi(plan.size, plan.size), [players[one], players[other]]
            ended = play_policy_games(pair, plan.size, komi, plan.each, generator)
            known["matches"][f"{one} / {other}"] = one, other, points_of_first(ended), plan.each
            write_json(file, known)
            logger.info(f"{one} won {points_of_first(ended):g} of {plan.each} against {other}")
    asked = EvaluationPlan(plan.positions, seed=plan.seed)
    for name in players:
        if name not in known["accuracy"]:
            net = OnnxNet(predicting[name], "cpu")
            top1 = evaluate_games(net, recorded, asked).get("top1 all")
            if top1 is None:
                raise NetFileError(f"{name}: the games have no move that this net could name")
            known["accuracy"][name] = [100.0 * x for x in (top1.low, top1.mean, top1.high)]
            write_json(file, known)
            logger.info(f"{name} names {top1.mean:.1%} of the moves")
    met = [m for m in known["matches"].values() if m[0] in players and m[1] in players]
    ratings = rate_players(met, anchor)
    points = {name: (*known["accuracy"][name], *(ratings[name].to_json())) for name in players}
    if can_draw():
        axes = "recorded moves named, %", "Elo above the opponent"
        named = {"without search": list(points.values())}
        draw_intervals(plan.out / "strength.png", named, axes, tuple(points))
    rows = [["net", "moves named, %", "Elo above the opponent"]]
    for name, (low, mean, high, *elo) in points.items():
        rows.append(
            [
                name,
                f"{mean:.1f} ({low:.1f} to {high:.1f})",
                f"{elo[1]:+z.0f} ({elo[0]:+z.0f} to {elo[2]:+z.0f})",
            ]
        )
    return align(rows)
