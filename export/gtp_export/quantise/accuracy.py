"""How far a net in lower precision is from the original, by board size."""

from dataclasses import fields

from gtp_engine.evaluators.accuracy import Accuracy, Opinion, compare
from gtp_engine.text_table import align
from gtp_export.quantise.positions import Positions


def by_size(
    positions: Positions, original: list[Opinion], other: list[Opinion]
) -> dict[str, Accuracy]:
    """Return the accuracy by board size, and over all as "all"."""
    groups: dict[str, tuple[list[Opinion], list[Opinion]]] = {}
    for batch, a, b in zip(positions, original, other, strict=True):
        height, width = batch.spatial.shape[2:]
        for name in (f"{width}x{height}", "all"):
            mine, theirs = groups.setdefault(name, ([], []))
            mine.append(a)
            theirs.append(b)
    names = sorted(groups, key=lambda name: (name == "all", len(name), name))
    return {name: compare(*groups[name]) for name in names}


def accuracy_table(found: dict[str, Accuracy]) -> str:
    """Return the accuracy by board size as text."""
    titles = ["board", *(item.name for item in fields(Accuracy))]
    rows = [titles]
    for name, one in found.items():
        rows.append(
            [
                name,
                str(one.positions),
                f"{one.policy_kl:.4f}",
                f"{one.top1:.1%}",
                f"{one.win_error:.2%}",
                f"{one.win_error_p99:.1%}",
                f"{one.lead_error:.2f}",
                f"{one.ownership_error:.4f}",
            ]
        )
    return align(rows)
