"""Plain tables for reports: columns aligned, readable in a terminal, a file and a pipe."""

from collections.abc import Sequence


def align(rows: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> str:
    """Return rows of equal length as lines, two spaces between the columns.

    Args:
        rows: The cells, headings included.
        left: Columns that are aligned to the left; the others are to the right.
    """
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
