"""The card of a net that was trained on game records."""

from collections.abc import Mapping
from typing import Any

from gtp_engine.evaluators.net_info import NetInfo
from gtp_export.cards.tables import describe_in_table, table

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
        describe_in_table(info),
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
    return table(("what", "figure"), rows)


def _smaller(found: Mapping[str, str]) -> str:
    if not found:
        return "None was made."
    return "\n".join(f"- {kind}: {text}" for kind, text in found.items())
