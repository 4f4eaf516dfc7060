"""Tables in Markdown."""

from typing import Any

from gtp_engine.evaluators.net_info import NetInfo


def describe_in_table(info: NetInfo) -> str:
    """Return what a net is, as a table."""
    rows = {
        "Architecture": info.architecture,
        "Weights": f"{info.parameters:,}, {info.precision}",
        "Inputs": f"{info.encoder}: {info.spatial_planes} planes, {info.global_features} globals",
        "Outputs": ", ".join(info.heads),
        "Boards": _boards(info),
        "Source": info.source,
        "Made by": f"`{info.created_by}`",
    }
    return table(("", ""), rows.items())


def _boards(info: NetInfo) -> str:
    if info.board_min == info.board_max and info.square_only:
        return f"{info.board_min}x{info.board_max}"
    kind = "squares" if info.square_only else "rectangles too"
    return f"{info.board_min} to {info.board_max}, {kind}"


def table(header: tuple[str, ...], rows: Any) -> str:
    """Return a table in Markdown."""
    lines = [header, ("---",) * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
