"""Measure how well a net predicts recorded games."""

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.evaluators.runtimes.devices import RUNTIMES
from gtp_engine.messages import counted
from gtp_engine.text_table import align
from gtp_export.options import add_options, read_options
from gtp_export.plans import EvaluationPlan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gtp_export.evaluation import Figure


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--net", required=True, metavar="NET", help="file or name")
    parser.add_argument(
        "--games", type=Path, nargs="+", required=True, metavar="FILE", help="games to predict"
    )
    add_options(parser, EvaluationPlan)
    parser.add_argument(
        "--runtime",
        choices=RUNTIMES,
        default="auto",
        help="what runs the net on a processor (auto: the faster)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Print every figure with its 95 % interval on stdout."""
    from gtp_engine.evaluators.nets.net_files import find_patterns
    from gtp_export.evaluation import evaluate_net

    choice = arguments.games, read_options(EvaluationPlan, arguments)
    patterns = find_patterns(arguments.net)
    if patterns is None:
        figures = evaluate_net(arguments.net, *choice, arguments.runtime)
    else:
        from gtp_export.pattern_fit import evaluate_patterns

        figures = evaluate_patterns(patterns, *choice)
    if not figures:
        raise NetFileError(f"{arguments.net}: the games tell nothing of what this net says")
    if arguments.json:
        from dataclasses import asdict

        json.dump({name: asdict(figure) for name, figure in figures.items()}, sys.stdout)
        print()
    else:
        print(table(figures))
    return 0


def table(figures: "Mapping[str, Figure]") -> str:
    """Return the figures as lines for people, those of counted games' stages as a table below."""
    from gtp_export.evaluation import STAGE_FIGURES, STAGES

    ends = tuple(f" at {stage}" for stage in STAGES)
    lines = [
        f"{name:<28}{figure.mean:8.4f}  ({figure.low:.4f} to {figure.high:.4f})"
        f"  {counted(figure.positions, 'position')} of {counted(figure.games, 'game')}"
        for name, figure in figures.items()
        if not name.endswith(ends)
    ]
    rows = [("counted games", *(f"at {stage}" for stage in STAGES))]
    for name, text in STAGE_FIGURES.items():
        found = [figures.get(f"{name} at {stage}") for stage in STAGES]
        cells = ["-" if f is None else f"{f.mean:.3f} ({f.low:.3f}-{f.high:.3f})" for f in found]
        rows.append((text, *cells))
    if any(name.endswith(ends) for name in figures):
        lines += ["", align(rows)]
    return "\n".join(lines)
