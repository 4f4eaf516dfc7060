"""Pictures of what a net thinks and of how it learned; needs the extra `plots`.

A picture's file name says what it is: `.png`, `.svg` or `.pdf`.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtp_engine.coords import BLACK, COLUMN_LETTERS, WHITE
from gtp_engine.files import whole_file
from gtp_export.evaluation import Figure

logger = logging.getLogger(__name__)

BOARD_COLOR, LINE_COLOR, MARK_COLOR = "#e3b566", "#4a3510", "#b3202c"
STONE_COLORS = {BLACK: "#111111", WHITE: "#fdfdfd"}
SMALLEST_MARK = 0.002
"""Policy below this is not drawn."""
LEARNED = "learned from"
"""Curves whose names end so are dashed."""


def can_draw() -> bool:
    """Whether the extra is there; otherwise say so."""
    if find_spec("matplotlib") is None:
        logger.info("no pictures: `pip install 'gtp-engine[plots]'` brings what draws them")
        return False
    return True


@contextmanager
def _drawing(path: Path, width: float = 7.0, height: float = 4.2) -> Iterator[Any]:
    """Give axes to draw on, without a display, and write the picture, all of it or nothing.

    Raises:
        OSError: The picture cannot be written.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Drawing

    drawing = Drawing(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(drawing)
    yield drawing.subplots()
    with whole_file(path) as file:
        drawing.savefig(file, dpi=110, format=path.suffix[1:])


@contextmanager
def _plot(path: Path, **texts: str) -> Iterator[Any]:
    """Give axes for lines with names, and write the plot with these texts; see `_drawing`."""
    with _drawing(path) as axes:
        yield axes
        axes.set(**texts)
        axes.grid(alpha=0.3)
        if axes.has_data():
            axes.legend()


def draw_board(
    path: Path,
    grid: NDArray[np.uint8],
    *,
    ownership_black: NDArray[np.float32] | None = None,
    policy: NDArray[np.float32] | None = None,
    title: str = "",
) -> None:
    """Draw a board with what a net makes of it.

    Args:
        grid: [H, W] colors, top row first.
        ownership_black: [H, W] in -1..1, 1 is Black's: squares in the owner's color, whose side
            is the confidence.
        policy: [H, W] chances: discs whose area is the chance.
    """
    from matplotlib.patches import Circle, Rectangle

    def add(kind: Any, at: tuple[float, float], *size: float, **look: Any) -> None:
        axes.add_patch(kind(at, *size, **look))

    height, width = grid.shape
    with _drawing(path, 0.36 * width + 0.8, 0.36 * height + 0.8) as axes:
        axes.set_facecolor(BOARD_COLOR)
        axes.hlines(range(height), 0, width - 1, color=LINE_COLOR, linewidth=0.7)
        axes.vlines(range(width), 0, height - 1, color=LINE_COLOR, linewidth=0.7)
        axes.set(xlim=(-0.7, width - 0.3), ylim=(height - 0.3, -0.7), aspect="equal", title=title)
        axes.set_xticks(range(width), COLUMN_LETTERS[:width])
        axes.set_yticks(range(height), range(height, 0, -1))
        axes.tick_params(length=0)
        for row, col in np.argwhere(grid > 0):
            color = STONE_COLORS[int(grid[row, col])]
            add(Circle, (col, row), 0.46, fc=color, ec=LINE_COLOR, lw=0.6, zorder=2)
        if ownership_black is not None:
            for (row, col), owner in np.ndenumerate(ownership_black):
                side = 0.62 * abs(float(owner))
                colors = (BLACK, WHITE) if owner > 0 else (WHITE, BLACK)
                face, edge = (STONE_COLORS[color] for color in colors)
                corner = (col - side / 2, row - side / 2)
                add(Rectangle, corner, side, side, fc=face, ec=edge, lw=0.5, zorder=3)
        if policy is not None:
            for row, col in np.argwhere(policy >= SMALLEST_MARK):
                radius = max(0.48 * float(policy[row, col]) ** 0.5, 0.03)
                add(Circle, (col, row), radius, fc=MARK_COLOR, ec=MARK_COLOR, lw=0.6, zorder=4)


def draw_by_move_number(
    path: Path, figures: Mapping[str, Mapping[str, Figure]], what: str, title: str
) -> None:
    """Plot a share of right answers by move number, with intervals, one line a net.

    Args:
        figures: Figures of `evaluation.evaluate_games` by the net's name.
        what: Which figure, such as "ownership" or "top1".
    """
    with _plot(path, xlabel="move number", ylabel="right, %", title=title) as axes:
        for name, found in figures.items():
            stages = sorted(key for key in found if key.startswith(f"{what} moves "))
            middle = [np.mean([int(n) for n in key.split()[-1].split("-")]) for key in stages]
            low, mean, high = (
                [100 * getattr(found[key], which) for key in stages]
                for which in ("low", "mean", "high")
            )
            axes.plot(middle, mean, marker="o", markersize=3, label=name)
            axes.fill_between(middle, low, high, alpha=0.2)


def draw_run(path: Path, entries: Sequence[Mapping[str, Any]], names: Sequence[str]) -> None:
    """Plot what a run measured, by step: what it learned from and other games.

    Args:
        names: Which numbers, such as "policy" or "top1"; those that are missing are left out.
    """
    steps = [entry["steps"] for entry in entries]
    curves = {}
    for name in names:
        for kind, label in (("losses", LEARNED), ("valid", "other games")):
            values = [entry[kind].get(name) for entry in entries]
            if None not in values:
                curves[f"{name}, {label}"] = list(zip(steps, values, strict=True))
    draw_curves(path, curves, "steps", " and ".join(names))


def draw_intervals(
    path: Path,
    points: Mapping[str, Sequence[tuple[float, ...]]],
    axes_names: tuple[str, str],
    names: Sequence[str] = (),
) -> None:
    """Plot points with the intervals of their heights, and of their places where these have some.

    Args:
        points: By name, (x, low, y, high), or (low x, x, high x, low, y, high).
        names: Written beside the points of the first kind.
    """
    with _plot(path, xlabel=axes_names[0], ylabel=axes_names[1]) as axes:
        for label, found in points.items():
            *places, low, y, high = map(np.array, zip(*found, strict=True))
            x = places[len(places) // 2]
            wide = None if len(places) == 1 else [x - places[0], places[2] - x]
            look = {"fmt": "o-" if wide is None else "o", "markersize": 3, "capsize": 2}
            axes.errorbar(x, y, [y - low, high - y], wide, label=label, **look)
            for name, *at in zip(names, x, y, strict=False):
                axes.annotate(name, at, textcoords="offset points", xytext=(4, 4), fontsize=7)


def draw_curves(
    path: Path, curves: Mapping[str, Sequence[tuple[float, float]]], along: str, title: str
) -> None:
    """Plot curves of points (x, y) by name; `along` is what the x axis is called."""
    with _plot(path, xlabel=along, title=title) as axes:
        for name, curve in curves.items():
            style = "--" if name.endswith(LEARNED) else "-"
            axes.plot(*zip(*curve, strict=True), style, marker="o", markersize=3, label=name)
