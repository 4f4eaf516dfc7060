"""How far a net in lower precision is from the original, in what a search makes of it."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gtp_engine.evaluators.leaves import LeafBatch
from gtp_engine.evaluators.net_evaluator import NetEvaluator
from gtp_export.quantise.positions import PositionSet

TINY = 1e-12
"""Added to probabilities before taking logarithms."""

Floats = NDArray[np.float32]


class Opinion(NamedTuple):
    """What a net says about a batch of positions, for the side to move."""

    policy: Floats
    """[B, A + 1] over the legal moves as they stand in the batch, zeros behind."""
    winrate: Floats
    """[B] 0..1."""
    lead: Floats
    """[B] points."""
    ownership: Floats
    """[B, A] or [B, 0]."""


@dataclass(frozen=True)
class Accuracy:
    """Means over positions of the distance between two nets."""

    positions: int
    policy_kl: float
    """Kullback-Leibler divergence from the original's policy, nats."""
    top1: float
    """Share of positions where both like the same move best."""
    win_error: float
    """Difference of the winning chances, 0..1."""
    win_error_p99: float
    """The same in the worst position of a hundred."""
    lead_error: float
    """Difference in points."""
    ownership_error: float
    """Difference a point of the board, of a range from -1 to 1."""


@dataclass(frozen=True)
class Bounds:
    """What a net in lower precision must keep to."""

    max_kl: float = 0.03
    min_top1: float = 0.87
    max_win_error: float = 0.01

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
        return complaints


def opinions(net: NetEvaluator, positions: PositionSet) -> list[Opinion]:
    """Return what a net says about every batch of positions."""
    return [_opinion(net, batch) for batch in positions.batches]


def _opinion(net: NetEvaluator, batch: LeafBatch) -> Opinion:
    net.evaluate(batch, len(batch.features), use_cache=False)
    legal = np.arange(batch.priors.shape[1])[None, :] < batch.n_moves[:, None]
    return Opinion(
        policy=np.where(legal, batch.priors, 0.0).astype(np.float32),
        winrate=(1.0 + batch.value) / 2.0,
        lead=batch.lead.copy(),
        ownership=batch.ownership.copy(),
    )


def compare(original: Iterable[Opinion], other: Iterable[Opinion]) -> Accuracy:
    """Return how far two nets are apart on the same positions."""
    columns = [_distances(a, b) for a, b in zip(original, other, strict=True)]
    kl, same, win, lead, owned = (np.concatenate(column) for column in zip(*columns, strict=True))
    return Accuracy(
        positions=len(kl),
        policy_kl=float(kl.mean()),
        top1=float(same.mean()),
        win_error=float(win.mean()),
        win_error_p99=float(np.quantile(win, 0.99)),
        lead_error=float(lead.mean()),
        ownership_error=float(owned.mean()),
    )


def _distances(a: Opinion, b: Opinion) -> tuple[Floats, ...]:
    """Return the distances of each position: KL, same best move, win, lead, ownership."""
    ratio = np.log(a.policy + TINY) - np.log(b.policy + TINY)
    kl = (a.policy * ratio).sum(axis=1)
    same = a.policy.argmax(axis=1) == b.policy.argmax(axis=1)
    none = np.zeros(len(kl), np.float32)
    owned = np.abs(a.ownership - b.ownership).mean(axis=1) if a.ownership.size else none
    return kl, same, np.abs(a.winrate - b.winrate), np.abs(a.lead - b.lead), owned


def by_size(
    positions: PositionSet, original: list[Opinion], other: list[Opinion]
) -> dict[str, Accuracy]:
    """Return the accuracy by board size, and over all as "all"."""
    groups: dict[str, tuple[list[Opinion], list[Opinion]]] = {}
    for batch, a, b in zip(positions.batches, original, other, strict=True):
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


def align(rows: list[list[str]]) -> str:
    """Return a table with its columns aligned, the first one to the left."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
