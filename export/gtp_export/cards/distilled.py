"""The card of a distilled net: what it is, how it was made, what it can do."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gtp_engine.evaluators.net_info import NetInfo
from gtp_export.cards.tables import describe_in_table, table

COLUMNS = {
    "positions": "positions",
    "policy_kl": "policy KL",
    "top1": "same best move",
    "win_error": "winrate error",
    "lead_error": "lead error",
    "ownership_sign": "same owner",
}
"""Measures by name to the heading of their column."""
KIND_NAMES = {
    "records": "game records",
    "student": "games of the student with itself",
    "other": "self-play, other sizes 2 to 25, square and rectangular",
}


def format_card(info: NetInfo, facts: Mapping[str, Any], metrics: Mapping[str, Any]) -> str:
    """Return a card in Markdown.

    Args:
        info: The net's description.
        facts: What `distillation.write_facts` wrote.
        metrics: The last entry of the run's `metrics.jsonl`.
    """
    parts = [
        f"# {info.name}",
        describe_in_table(info),
        "## Data",
        f"{info.trained_on[:1].upper()}{info.trained_on[1:]}.",
        _data_table(facts["positions"]),
        "## Training",
        _training(facts, metrics),
        f"    {facts['command']}",
        "## How close it is to its teacher",
        "On positions of games it was not trained on (random moves, odd komi and all rules "
        "included); policy KL in nats, winrate error in winning chances, lead error in points, "
        "owner by point:",
        _metrics_table(metrics["valid"]),
        "## Strength",
        f"{info.strength or 'Not measured yet'}.",
        "## Licence",
        f"{info.licence}.",
    ]
    return "\n\n".join(parts) + "\n"


def write_card(target: Path, run: Path, info: NetInfo) -> None:
    """Write the card of a finished run's net.

    Args:
        target: The Markdown file.
        run: The run's folder, with `facts.json` and `metrics.jsonl`.
        info: The net's description.

    Raises:
        OSError: A file cannot be read or written.
    """
    facts = json.loads((run / "facts.json").read_text(encoding="utf-8"))
    last = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()[-1]
    target.write_text(format_card(info, facts, json.loads(last)), encoding="utf-8")


def _data_table(positions: Mapping[str, Mapping[str, int]]) -> str:
    train, valid = positions["train"], positions["valid"]
    rows = [
        (KIND_NAMES.get(kind, f"self-play, {kind}"), f"{count:,}", f"{valid.get(kind, 0):,}")
        for kind, count in sorted(train.items())
    ]
    total = (f"{sum(train.values()):,}", f"{sum(valid.values()):,}")
    return table(("positions", "to train on", "to measure on"), [*rows, ("all", *total)])


def _training(facts: Mapping[str, Any], metrics: Mapping[str, Any]) -> str:
    losses = ", ".join(
        f"{name} {loss}" for name, loss in metrics["losses"].items() if name != "gradient"
    )
    return (
        f"{metrics['steps']:,} steps and {metrics['samples']:,} samples in "
        f"{metrics['seconds'] / 60:.0f} minutes ({metrics['core_hours']:.1f} core-hours) with "
        f"{facts['processes']} processes on {facts['device']}: SGD with Nesterov momentum, "
        f"learning rate {facts['learning_rate']} falling along a cosine, batch renormalisation, "
        f"{facts['precision']}, the eight symmetries, averaged weights. "
        f"Last losses: {losses} (the ownership's includes the targets' own entropy)."
    )


def _metrics_table(valid: Mapping[str, Mapping[str, float]]) -> str:
    rows = [
        (group, *(f"{figures[name]:g}" for name in COLUMNS)) for group, figures in valid.items()
    ]
    return table(("boards", *COLUMNS.values()), rows)
