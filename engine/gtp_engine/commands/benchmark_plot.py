"""A picture of what `gtp-engine benchmark` measured; the only module that imports matplotlib."""

from pathlib import Path

from gtp_engine.commands.benchmark_report import Report
from gtp_engine.commands.benchmark_speeds import RAW, SEARCH


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
