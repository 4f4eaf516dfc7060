"""What a net in lower precision must keep to, and how it does by board size, as a table."""

import math
from collections.abc import Container
from dataclasses import dataclass, fields, replace

from gtp_engine.evaluators.accuracy import Accuracy, Opinion, compare
from gtp_engine.text_table import align
from gtp_export.quantise.positions import Positions


@dataclass(frozen=True)
class Bounds:
    """What a net in lower precision must keep to."""

    max_kl: float = 0.03
    min_top1: float = 0.87
    max_win_error: float = 0.01
    max_ownership_error: float = 0.02

    def for_heads(self, heads: Container[str]) -> "Bounds":
        """Return the bounds for a net with these heads.

        Without a policy the engine draws priors from elsewhere, and how they fall is no measure.
        """
        return self if "policy" in heads else replace(self, max_kl=math.inf, min_top1=0.0)

    def tightened(self, margin: float) -> "Bounds":
        """Return bounds of which only a share, 0 to 1, may be used up."""
        return Bounds(
            self.max_kl * margin,
            1.0 - (1.0 - self.min_top1) * margin,
            self.max_win_error * margin,
            self.max_ownership_error * margin,
        )

    def broken(self, found: Accuracy) -> list[str]:
        """Return in words which bounds a net breaks."""
        complaints = []
        if not found.policy_kl <= self.max_kl:
            complaints.append(f"policy KL {found.policy_kl:.4f} is above {self.max_kl:g}")
        if not found.top1 >= self.min_top1:
            complaints.append(f"top-1 agreement {found.top1:.1%} is below {self.min_top1:.0%}")
        if not found.win_error <= self.max_win_error:
            limit = f"{self.max_win_error:.2%}"
            complaints.append(f"win-rate error {found.win_error:.2%} is above {limit}")
        if not found.ownership_error <= self.max_ownership_error:
            limit = f"{self.max_ownership_error:g}"
            complaints.append(f"ownership error {found.ownership_error:.4f} is above {limit}")
        return complaints


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
