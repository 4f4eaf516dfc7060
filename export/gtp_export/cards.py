"""Cards: what a net is, how it was made and what it can do, in Markdown."""

import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gtp_engine.evaluators.nets.net_info import NetInfo

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
    "other": "self-play, other sizes, square and rectangular",
}
FIGURES = {
    "top1 all": ("the recorded move is the net's first", 100.0, " %"),
    "top5 all": ("among its first five", 100.0, " %"),
    "winner all": ("the winner is the side it favours", 100.0, " %"),
    "ownership all": ("points given to their final owner, over all moves", 100.0, " %"),
    "ownership quarter 4": ("the same in the last quarter of the game", 100.0, " %"),
    "ownership end": ("the same on the final board", 100.0, " %"),
    "cross_entropy all": ("cross-entropy of the recorded move, nats", 1.0, ""),
    "win_log_loss all": ("log loss of the winner, nats", 1.0, ""),
    "score_error all": ("mean error of the score, points", 1.0, ""),
}
"""Figures of `evaluation` by name: what is told of each, its factor and unit."""

Figures = Mapping[str, Mapping[str, float]]
"""`mean`, `low` and `high` by name."""


def format_distilled_card(info: NetInfo, facts: Mapping[str, Any]) -> str:
    """Return a card in Markdown; the facts are those that `distillation.distil` gathers."""
    run = facts["run"]
    losses = ", ".join(f"{name} {x}" for name, x in run["losses"].items() if name != "gradient")
    processes = facts["processes"]
    many = "one process" if processes == 1 else f"{processes} processes"
    rows = [
        (group, *(f"{figures[name]:g}" for name in COLUMNS))
        for group, figures in run["valid"].items()
    ]
    return _net_card(
        info,
        "## Data",
        f"{info.trained_on[:1].upper()}{info.trained_on[1:]}.",
        _data_table(facts["positions"]),
        "## Training",
        f"{run['steps']:,} steps and {run['samples']:,} samples in "
        f"{run['seconds'] / 60:.0f} minutes ({run['core_hours']:.1f} core-hours) with "
        f"{many} on {facts['device']}: SGD with Nesterov momentum, "
        f"learning rate {facts['learning_rate']} falling along a cosine, batch renormalisation, "
        f"{facts['precision']}, the eight symmetries, averaged weights. "
        f"Last losses: {losses} (the ownership's includes the targets' own entropy).",
        f"    {facts['command']}",
        "## How close it is to its teacher",
        "On positions of games it was not trained on (random moves, odd komi and all rules "
        "included); policy KL in nats, winrate error in winning chances, lead error in points, "
        "owner by point:",
        _table(("boards", *COLUMNS.values()), rows),
    )


def _data_table(positions: Mapping[str, Mapping[str, int]]) -> str:
    train, valid = positions["train"], positions["valid"]
    rows = [
        (KIND_NAMES.get(kind, f"self-play, {kind}"), f"{count:,}", f"{valid.get(kind, 0):,}")
        for kind, count in sorted(train.items())
    ]
    total = (f"{sum(train.values()):,}", f"{sum(valid.values()):,}")
    return _table(("positions", "to train on", "to measure on"), [*rows, ("all", *total)])


def format_record_card(info: NetInfo, facts: Mapping[str, Any]) -> str:
    """Return a card in Markdown; the facts are what a run's `metrics.json` holds."""
    run = facts["run"]
    tuned = [f"    {line}" for line in facts.get("tuned", ())]
    smaller = [f"- {kind}: {text}" for kind, text in facts["smaller"].items()]
    return _net_card(
        info,
        "## Data",
        f"{facts['learned_games']:,} games to learn from and {facts['measured_games']:,} others "
        f"to measure on, divided by game: {' '.join(facts['games'])}.",
        "## Training",
        f"{run['steps']:,} steps and {run['samples']:,} samples in {run['seconds'] / 60:.0f} "
        f"minutes ({run['core_hours']:.1f} core-hours) on {facts['device']}: {facts['optimizer']}, "
        f"learning rate {facts['learning_rate']:g} falling along a cosine, batch "
        "renormalisation, the eight symmetries, averaged weights. The trainer waited "
        f"{run['waited']:.1%} of the time for positions.",
        f"    {facts['command']}",
        "## Predicting games",
        "On games it did not learn from; 95 % intervals over games:",
        _table(("what", "figure"), _figure_rows(facts["figures"])),
        *(["## Before and after", "\n".join(tuned)] if tuned else []),
        "## Other precisions",
        "\n".join(smaller) or "None was made.",
    )


def format_reinforced_card(info: NetInfo, facts: Mapping[str, Any]) -> str:
    """Return a card in Markdown; the facts are those that `Reinforcement` gathers."""
    baseline = "the value" if "value" in info.heads else "the mean result of the batch"
    rows = [
        (one["net"], one["other"], f"{one['points']:g} of {one['games']}", f"{one['core_hours']:g}")
        for one in facts["ladder"]
    ]
    return _net_card(
        info,
        "## Training",
        f"{facts['rounds']:,} rounds, {facts['games']:,} games against a pool of past selves "
        f"without search, {facts['core_hours']:.2f} core-hours, learning rate "
        f"{facts['learning_rate']:g} falling along a cosine: REINFORCE, {baseline} as baseline.",
        f"    {facts['command']}",
        "## Games",
        _table(("net, by round", "against", "won", "core-hours"), rows),
    )


def format_pattern_card(header: Mapping[str, Any], size: int, *policies: Figures) -> str:
    """Return a card of a file of patterns.

    Args:
        policies: Figures of the rollout policy and of the tree policy.
    """
    counts = header["features"]
    rows = {
        "What": "weights of two pattern policies: for rollouts, and for a tree's priors",
        "Patterns": f"{counts['near']:,} of 3x3, {counts['responses']:,} diamonds around "
        f"the last move, {counts['diamonds']:,} around any move",
        "Size": f"{size:,} bytes",
        "Boards": "2 to 25, rectangles too",
        "Learnt from": header["trained_on"],
        "Made by": f"`{header['created_by']}`",
    }
    return _card(
        f"# {header['name']}",
        _table(("", ""), rows.items()),
        "## Predicting games",
        "On games it did not learn from; 95 % intervals over games. Passes and moves that a "
        "rollout never plays are left out.",
        _table(("what", "rollout policy", "tree policy"), _figure_rows(*policies)),
        "## Licence",
        f"{header['licence']}.",
    )


def _card(*parts: str) -> str:
    return "\n\n".join(parts) + "\n"


def _net_card(info: NetInfo, *parts: str) -> str:
    """Return a net's card with these parts in the middle."""
    strength = ["## Strength", f"{info.strength or 'Not measured yet'}."]
    licence = ["## Licence", f"{info.licence}."]
    return _card(f"# {info.name}", _net_table(info), *parts, *strength, *licence)


def _figure_rows(*columns: Figures) -> list[tuple[str, ...]]:
    """Return a row for each of FIGURES that all columns have."""
    rows = []
    for name, (text, scale, unit) in FIGURES.items():
        found = [column[name] for column in columns if name in column]
        cells = [
            f"{scale * f['mean']:.4g}{unit} ({scale * f['low']:.4g} to {scale * f['high']:.4g})"
            for f in found
        ]
        if len(cells) == len(columns):
            rows.append((text, *cells))
    return rows


def _net_table(info: NetInfo) -> str:
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
    text = f"{info.board_min} to {info.board_max}, {kind}"
    smallest, largest = info.trained_sizes or (info.board_min, info.board_max)
    if info.board_min < smallest or largest < info.board_max:
        text += f"; it learned on {smallest} to {largest}"
    return text


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
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
