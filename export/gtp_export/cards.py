"""Cards: what a net is, how it was made and what it can do, in Markdown."""

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gtp_engine.evaluators.net_info import NetInfo
from gtp_engine.files import write_whole

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
SHARES = {
    "top1 all": "the recorded move is the net's first",
    "top5 all": "among its first five",
    "winner all": "the winner is the side it favours",
    "ownership all": "points given to their final owner, over all moves",
    "ownership quarter 4": "the same in the last quarter of the game",
    "ownership end": "the same on the final board",
}
NUMBERS = {
    "cross_entropy all": "cross-entropy of the recorded move, nats",
    "win_log_loss all": "log loss of the winner, nats",
    "score_error all": "mean error of the score, points",
}


# Distilled nets ----------------------------------------------------------------------------------


def format_card(info: NetInfo, facts: Mapping[str, Any], metrics: Mapping[str, Any]) -> str:
    """Return a card in Markdown.

    Args:
        info: The net's description.
        facts: What `distillation.write_facts` wrote.
        metrics: The last entry of the run's `metrics.jsonl`.
    """
    parts = [
        f"# {info.name}",
        _net_table(info),
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
    write_whole(target, format_card(info, facts, json.loads(last)))


def _data_table(positions: Mapping[str, Mapping[str, int]]) -> str:
    train, valid = positions["train"], positions["valid"]
    rows = [
        (KIND_NAMES.get(kind, f"self-play, {kind}"), f"{count:,}", f"{valid.get(kind, 0):,}")
        for kind, count in sorted(train.items())
    ]
    total = (f"{sum(train.values()):,}", f"{sum(valid.values()):,}")
    return _table(("positions", "to train on", "to measure on"), [*rows, ("all", *total)])


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
    return _table(("boards", *COLUMNS.values()), rows)


# Nets trained on game records --------------------------------------------------------------------


def format_record_card(info: NetInfo, facts: Mapping[str, Any]) -> str:
    """Return a card in Markdown.

    Args:
        info: The net's description.
        facts: What a run's `metrics.json` holds.
    """
    run = facts["run"]
    files = " ".join(facts["games"])
    parts = [
        f"# {info.name}",
        _net_table(info),
        "## Data",
        f"{facts['learned_games']:,} games to learn from and {facts['measured_games']:,} others "
        f"to measure on, divided by game: {files}.",
        "## Training",
        f"{run['steps']:,} steps and {run['samples']:,} samples in {run['seconds'] / 60:.0f} "
        f"minutes ({run['core_hours']:.1f} core-hours) on {facts['device']}: {facts['optimizer']}, "
        f"learning rate {facts['learning_rate']:g} falling along a cosine, batch "
        "renormalisation, the eight symmetries, averaged weights. The trainer waited "
        f"{run['waited']:.1%} of the time for positions.",
        f"    {facts['command']}",
        "## Predicting games",
        "On games it did not learn from; 95 % intervals over games:",
        _figures_table(facts["figures"]),
        *_tuned(facts.get("tuned", ())),
        "## Other precisions",
        _smaller(facts["smaller"]),
        "## Strength",
        f"{info.strength or 'Not measured yet'}.",
        "## Licence",
        f"{info.licence}.",
    ]
    return "\n\n".join(parts) + "\n"


def _figures_table(figures: Mapping[str, Mapping[str, float]]) -> str:
    rows = []
    for name, text in SHARES.items():
        if name in figures:
            mean, low, high = (100 * figures[name][key] for key in ("mean", "low", "high"))
            rows.append((text, f"{mean:.1f} % ({low:.1f} to {high:.1f})"))
    for name, text in NUMBERS.items():
        if name in figures:
            mean, low, high = (figures[name][key] for key in ("mean", "low", "high"))
            rows.append((text, f"{mean:.3f} ({low:.3f} to {high:.3f})"))
    return _table(("what", "figure"), rows)


def _tuned(lines: Sequence[str]) -> list[str]:
    """Return what a tuned net does otherwise than the one that it was begun with."""
    return ["## Before and after", "\n".join(f"    {line}" for line in lines)] if lines else []


def _smaller(found: Mapping[str, str]) -> str:
    if not found:
        return "None was made."
    return "\n".join(f"- {kind}: {text}" for kind, text in found.items())


# Reinforced nets ---------------------------------------------------------------------------------


def format_reinforced_card(info: NetInfo, facts: Mapping[str, Any]) -> str:
    """Return a card in Markdown; the facts are those that `Reinforcement` gathers."""
    rows = [
        (one["net"], one["other"], f"{one['points']:g} of {one['games']}", f"{one['core_hours']:g}")
        for one in facts["ladder"]
    ]
    parts = [
        f"# {info.name}",
        _net_table(info),
        "## Training",
        f"{facts['rounds']:,} rounds, {facts['games']:,} games against a pool of past selves "
        f"without search, {facts['core_hours']:.2f} core-hours, learning rate "
        f"{facts['learning_rate']:g} falling along a cosine: REINFORCE, the value as baseline.",
        f"    {facts['command']}",
        "## Strength",
        f"{info.strength}.",
        _table(("net, by round", "against", "won", "core-hours"), rows),
        "## Licence",
        f"{info.licence}.",
    ]
    return "\n\n".join(parts) + "\n"


# Patterns ----------------------------------------------------------------------------------------


def format_pattern_card(header: Mapping[str, Any], size: int, figures: Mapping[str, Any]) -> str:
    """Return a card of a file of patterns.

    Args:
        header: What the file says of itself.
        size: Its bytes.
        figures: `evaluation.Figure` by name, as in "rollout top1 all".
    """
    counts = header["features"]
    rows = []
    for kind, text in (*SHARES.items(), *NUMBERS.items()):
        found = [one for policy in ("rollout", "tree") if (one := figures.get(f"{policy} {kind}"))]
        scale, unit = (100.0, " %") if kind in SHARES else (1.0, "")
        cells = [
            f"{scale * f.mean:.4g}{unit} ({scale * f.low:.4g} to {scale * f.high:.4g})"
            for f in found
        ]
        if found:
            rows.append((text, *cells))
    parts = [
        f"# {header['name']}",
        _table(
            ("", ""),
            [
                ("What", "weights of two pattern policies: for rollouts, and for a tree's priors"),
                (
                    "Patterns",
                    f"{counts['near']:,} of 3x3, {counts['responses']:,} diamonds around "
                    f"the last move, {counts['diamonds']:,} around any move",
                ),
                ("Size", f"{size:,} bytes"),
                ("Boards", "2 to 25, rectangles too"),
                ("Learnt from", header["trained_on"]),
                ("Made by", f"`{header['created_by']}`"),
            ],
        ),
        "## Predicting games",
        "On games it did not learn from; 95 % intervals over games. Passes and moves that a "
        "rollout never plays are left out.",
        _table(("what", "rollout policy", "tree policy"), rows),
        "## Licence",
        f"{header['licence']}.",
    ]
    return "\n\n".join(parts) + "\n"


# Both --------------------------------------------------------------------------------------------


def _net_table(info: NetInfo) -> str:
    """Return what a net is, as a table."""
    rows = {
        "Architecture": info.architecture,
        "Weights": f"{info.parameters:,}, {info.precision}",
        "Inputs": f"{info.encoder}: {info.spatial_planes} planes, {info.global_features} globals",
        "Outputs": ", ".join(info.heads),
        "Boards": _boards(info),
        "Source": info.source,
        "Made by": f"`{info.created_by}`",
    }
    return _table(("", ""), rows.items())


def _boards(info: NetInfo) -> str:
    if info.board_min == info.board_max and info.square_only:
        return f"{info.board_min}x{info.board_max}"
    kind = "squares" if info.square_only else "rectangles too"
    return f"{info.board_min} to {info.board_max}, {kind}"


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a table in Markdown."""
    lines = [header, ("---",) * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def command_line(words: Iterable[str]) -> str:
    """Return a command of `gtp-export`, as it was given, for a shell on one line.

    Folders are left out of paths, as they mean nothing to who reads a card.

    >>> command_line(["train", "--games", __file__, "--int8"])
    'gtp-export train --games cards.py --int8'
    """
    return shlex.join(["gtp-export", *map(_without_folder, words)])


def _without_folder(word: str) -> str:
    path = Path(word)
    try:
        return path.name if path.name and path.parent.exists() else word
    except OSError:  # too long for a name
        return word
