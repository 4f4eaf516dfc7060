"""What `gtp-engine benchmark` prints: one table, the ratios that matter, the signature.

It can be drawn, too; nothing else imports matplotlib.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from gtp_engine.commands.benchmark_speeds import (
    ENCODING,
    FAKE,
    PATTERNS,
    RAW,
    RAW_FP32,
    ROLLOUTS,
    SEARCH,
    Row,
)
from gtp_engine.text_table import align

HEADINGS = (
    ("", "", "", "", "", "per", "per CPU-", "evals", "cache", "mean", "colli-", "lock", ""),
    (
        "board",
        "what",
        "threads",
        "batch",
        "cache",
        "second",
        "second",
        "/second",
        "hits",
        "batch",
        "sions",
        "wait",
        "MiB",
    ),
)
WHATS = {
    ROLLOUTS: "random games",
    PATTERNS: "rollouts",
    FAKE: "visits, no net",
    ENCODING: "visits, inputs only",
    RAW: "evaluations",
    RAW_FP32: "the same in fp32",
    SEARCH: "visits",
}


@dataclass(frozen=True)
class Report:
    """Everything that was measured."""

    signature: str
    net: str
    """What was measured, in a line."""
    rows: list[Row]


@dataclass(frozen=True)
class Ratios:
    """How a search compares with the net alone on one board, per CPU-second, with one thread."""

    board: str
    visits_over_raw: float
    """Without the cache, over evaluations one at a time in the same precision."""
    cached_over_raw_fp32: float | None
    """With the cache, over evaluations in fp32; None where either was not measured."""
    scaling: float | None
    """Visits a second of the clock with the most threads over those with one; None with one."""
    most_threads: int


def ratios_of(rows: Sequence[Row]) -> list[Ratios]:
    """Return the ratios of each board that a net was measured on."""
    found = []
    for board in dict.fromkeys(row.board for row in rows):
        raw = [row for row in rows if row.board == board and row.kind == RAW and row.batch == 1]
        fp32 = [row for row in rows if row.board == board and row.is_fp32 and row.batch == 1]
        searches = [row for row in rows if row.board == board and row.kind == SEARCH]
        plain = [row for row in searches if not row.use_cache]
        cached = [row for row in searches if row.use_cache]
        alone = [row for row in cached if row.threads == 1]
        if not raw or not plain or not cached:
            continue
        most = max(row.threads for row in cached)
        fastest = max(row.per_second for row in cached if row.threads == most)
        single = max((row.per_cpu_second for row in alone), default=None)
        scaling = fastest / max(row.per_second for row in alone) if alone and most > 1 else None
        found.append(
            Ratios(
                board,
                plain[0].per_cpu_second / raw[0].per_cpu_second,
                single / fp32[0].per_cpu_second if single is not None and fp32 else None,
                scaling,
                most,
            )
        )
    return found


def to_json(report: Report) -> dict[str, object]:
    """Return a report as a JSON document."""
    return {
        "signature": report.signature,
        "net": report.net,
        "rows": [
            {**asdict(row), "per_second": row.per_second, "per_cpu_second": row.per_cpu_second}
            for row in report.rows
        ],
        "ratios": [asdict(one) for one in ratios_of(report.rows)],
    }


def to_text(report: Report) -> str:
    """Return a report as a table and a few lines."""
    table = align([*HEADINGS, *map(_cells, report.rows)], left=(0, 1))
    lines = [report.net, "", *_with_gaps(table.splitlines(), report.rows), ""]
    for row in report.rows:
        if row.moves:
            took = 1e6 * row.cpu_seconds / row.moves
            lines.append(f"{row.board}: a move of a rollout takes {took:.2f} microseconds")
    for one in ratios_of(report.rows):
        lines.append(
            f"{one.board}: per CPU-second and with one thread, visits are "
            f"{one.visits_over_raw:.3f} of the raw evaluations without the cache"
        )
        if one.cached_over_raw_fp32 is not None:
            lines.append(
                f"  and {one.cached_over_raw_fp32:.2f} times the raw evaluations in fp32 with it"
            )
        if one.scaling is not None:
            lines.append(f"  {one.most_threads} threads against one: {one.scaling:.2f} times")
    return "\n".join([*lines, f"signature {report.signature}"])


def _with_gaps(lines: Sequence[str], rows: Sequence[Row]) -> list[str]:
    """Return the table's lines with an empty one between boards."""
    found = list(lines[: len(HEADINGS)])
    for i, row in enumerate(rows):
        if i and row.board != rows[i - 1].board:
            found.append("")
        found.append(lines[len(HEADINGS) + i])
    return found


def _cells(row: Row) -> list[str]:
    speeds = [f"{row.per_second:,.0f}", f"{row.per_cpu_second:,.0f}"]
    if row.kind in (ROLLOUTS, PATTERNS, RAW, RAW_FP32):
        batch = "" if row.kind in (ROLLOUTS, PATTERNS) else str(row.batch)
        return [row.board, WHATS[row.kind], "1", batch, "", *speeds, *[""] * 6]
    counts = [""] * 3
    if row.kind == SEARCH:
        evaluations = row.evaluations / max(row.wall_seconds, 1e-9)
        counts = [f"{evaluations:,.0f}", str(row.cache_hits), f"{row.mean_batch:.2f}"]
    return [
        row.board,
        WHATS[row.kind],
        str(row.threads),
        str(row.batch),
        ("on" if row.use_cache else "off") if row.kind == SEARCH else "",
        *speeds,
        *counts,
        str(row.collisions),
        f"{row.lock_wait:.1%}",
        f"{row.memory_mb:.0f}",
    ]


def kinds_of_pictures() -> list[str]:
    """Return the endings of files that can be drawn into, without the dot."""
    from matplotlib.backend_bases import FigureCanvasBase

    return sorted(FigureCanvasBase.get_supported_filetypes())


def draw(report: Report, path: Path) -> None:
    """Draw visits a second by threads, a line a batch and a panel a board, into a file."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    boards = list(dict.fromkeys(row.board for row in report.rows))
    figure, panels = pyplot.subplots(
        1, len(boards), figsize=(5.0 * len(boards), 4.0), squeeze=False, layout="constrained"
    )
    figure.suptitle(report.net, fontsize=9, wrap=True)
    for panel, board in zip(panels[0], boards, strict=True):
        rows = [row for row in report.rows if row.board == board]
        cached = [row for row in rows if row.kind == SEARCH and row.use_cache]
        for batch in sorted({row.batch for row in cached}):
            line = sorted((row.threads, row.per_second) for row in cached if row.batch == batch)
            panel.plot(*zip(*line, strict=True), marker="o", label=f"visits, batch {batch}")
        raw = [row.per_second for row in rows if row.kind == RAW]
        if raw:
            panel.axhline(max(raw), color="grey", linestyle=":", label="evaluations, one thread")
        threads = sorted({row.threads for row in cached}) or [1]
        panel.set(title=board, xlabel="threads", ylabel="per second", xticks=threads)
        panel.set_ylim(bottom=0)
        if panel.get_legend_handles_labels()[0]:
            panel.legend(fontsize=8)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
