"""Tables in Markdown."""

from typing import Any

from gtp_engine.evaluators.contract import NetInfo


def describe_in_table(info: NetInfo) -> str:
    """Return what a net is, as a table."""
    rows = {
        "Architecture": info.architecture,
        "Weights": f"{info.parameters:,}, {info.precision}",
        "Inputs": f"{info.encoder}: {info.spatial_planes} planes, {info.global_features} globals",
        "Outputs": ", ".join(info.heads),
        "Boards": f"{info.board_min} to {info.board_max}, rectangles too",
        "Source": info.source,
        "Made by": f"`{info.created_by}`",
    }
    return table(("", ""), rows.items())


def table(header: tuple[str, ...], rows: Any) -> str:
    """Return a table in Markdown."""
    lines = [header, ("---",) * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
