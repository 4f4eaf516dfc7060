"""How a run goes, told from its files by anybody at any time, and its games as SGF files."""

import json
import logging
from pathlib import Path
from typing import Any

from gtp_engine.arena.ratings import rate_players
from gtp_engine.coords import format_vertex
from gtp_engine.files import write_whole
from gtp_engine.games import game_of
from gtp_engine.go.rules import GO
from gtp_engine.go.sgf import format_sgf
from gtp_engine.messages import counted
from gtp_export.zero.catalogue import newest_net_query, rows
from gtp_export.zero.part import COORDINATE, spent_by
from gtp_export.zero.settings import NO_GATE, RunFolder
from gtp_export.zero.shards import SUFFIX, ShardError, age, read_shard

logger = logging.getLogger(__name__)

RATED_MATCHES = 400
"""Newest matches that ratings are from, so that they are there at once in long runs too."""


def read_status(run: RunFolder) -> dict[str, Any]:
    """Return how a run goes, as `zero status --json` has it.

    Raises:
        NetFileError: There is no run, or its catalogue cannot be read.
    """
    settings = run.settings()
    shards, games, positions = rows(
        run,
        "select count(*), coalesce(sum(games), 0), coalesce(sum(positions), 0) from shards",
    )[0]
    nets = rows(
        run, "select name, steps, samples, losses, value, lead, komi from nets order by steps"
    )
    promotions = rows(run, "select count(*) from matches where promoted")[0][0]
    best = next((name for (name,) in rows(run, newest_net_query(settings.gate != NO_GATE))), None)
    known = next((net for net in nets if net[0] == best), None)
    spent = spent_by(run)
    seconds = spent_by(run, COORDINATE).seconds
    ladder = read_ladder(run, nets)
    newest = nets[-1] if nets else None
    return {
        "game": settings.game,
        "size": settings.size,
        "recipe": settings.recipe,
        "games": games,
        "positions": positions,
        "shards": shards,
        "nets": len(nets),
        "best": best,
        "promotions": promotions,
        "core_hours": round(spent.core_seconds / 3600.0, 4),
        "core_hours_by_part": {
            kind: round(spent_by(run, kind).core_seconds / 3600.0, 4)
            for kind in ("work", "train", "judge", COORDINATE)
        },
        "hours": round(seconds / 3600.0, 4),
        "games_per_hour": round(games / seconds * 3600.0, 1) if seconds else None,
        "positions_per_hour": round(positions / seconds * 3600.0, 1) if seconds else None,
        "samples": newest[2] if newest else 0,
        "losses": json.loads(newest[3]) if newest else None,
        "fair_komi": run.fair_komi(settings) if settings.has_komi else None,
        "empty_board_komi": known[6] if known else None,
        "empty_board_value": known[4] if known else None,
        "empty_board_lead": known[5] if known else None,
        "elo": ladder,
        "problems": rows(run, "select count(*) from problems")[0][0],
    }


def read_ladder(run: RunFolder, nets: list[Any]) -> dict[str, list[float | None]]:
    """Return low, estimate and high of the Elo of all who met, above the first net among them."""
    matches = rows(
        run,
        "select net, other, points, games from matches where games > 0 order by rowid desc limit ?",
        RATED_MATCHES,
    )
    if not nets or not matches:
        return {}
    met = {name for match in matches for name in match[:2]}
    anchor = next((net[0] for net in nets if net[0] in met), nets[0][0])
    ratings = rate_players(matches, anchor)
    return {
        name: [None if x is None else round(x, 1) for x in interval.to_json()]
        for name, interval in ratings.items()
    }


def describe(status: dict[str, Any]) -> str:
    """Return the status in a line."""
    words = [
        f"{counted(status['games'], 'game')} ({status['games_per_hour'] or 0:,.0f} an hour)",
        counted(status["positions"], "position"),
        f"{counted(status['nets'], 'net')}, {status['promotions']} promoted",
    ]
    losses = status["losses"] or {}
    told = [f"{name} {losses[name]:.3f}" for name in ("policy", "value") if name in losses]
    if told:
        words.append(f"loss {' '.join(told)}")
    elo = status["elo"].get(status["best"])
    if elo is not None:
        words.append(f"Elo {elo[1]:+z.0f} ({elo[0]:+z.0f} to {elo[2]:+z.0f})")
    if status["empty_board_value"] is not None:
        text = f"empty board {status['empty_board_value']:+z.2f}"
        if status["empty_board_komi"] is not None:
            text += f" at {status['empty_board_komi']:g}"
        if status["empty_board_lead"] is not None:
            text += f", lead {status['empty_board_lead']:+z.1f}"
        words.append(text)
    return ", ".join(words)


def newest_game(run: RunFolder) -> str:
    """Return the first game of the newest shard in a line."""
    paths = sorted(run.shards.glob(f"*{SUFFIX}"), key=age)
    if not paths:
        return "no game yet"
    try:
        shard = read_shard(paths[-1])
    except ShardError as error:
        return str(error)
    record = shard.games.record(0)
    moves = [format_vertex(move.point, record.width, record.height) for move in record.moves]
    is_go = record.rules is None or game_of(record.rules) == GO
    komi = f" at komi {record.komi:g}" if is_go else ""
    return f"a game, {record.result}{komi}: {' '.join(moves)}"


def write_games(run: RunFolder, folder: Path) -> int:
    """Write the games of each shard to a file of its name; return how many are new.

    A shard that cannot be read is told and left out; a file that is there is not written again.

    Raises:
        RunError: There is no such run.
        OSError: A file cannot be written.
    """
    settings = run.settings()
    folder.mkdir(parents=True, exist_ok=True)
    n = 0
    for path in sorted(run.shards.glob(f"*{SUFFIX}")):
        try:
            shard = read_shard(path, settings.boards)
        except ShardError as error:
            logger.warning(str(error))
            continue
        file = folder / f"{path.stem}.sgf"
        if not file.exists():
            n += len(shard.games)
            nets = "+".join(net or "random" for net in shard.header.nets)
            records = map(shard.games.record, range(len(shard.games)))
            texts = [
                format_sgf(one.position(), black_name=nets, white_name=nets, result=one.result)
                for one in records
            ]
            write_whole(file, "".join(texts))
    return n


def plot(run: RunFolder, folder: Path) -> list[Path]:
    """Draw the run to a folder; return the pictures."""
    from gtp_export.pictures import draw_curves

    folder.mkdir(parents=True, exist_ok=True)
    nets = rows(run, "select name, positions, losses, value, lead from nets order by steps")
    ladder = read_ladder(run, nets)
    at = {net[0]: net[1] for net in nets}
    curves = {
        "elo": {"Elo": [(at[name], elo[1]) for name, elo in ladder.items() if name in at]},
        "empty-board": {"value": [(net[1], net[3]) for net in nets]},
        "lead": {"lead": [(net[1], net[4]) for net in nets if net[4] is not None]},
        "losses": {
            name: [(net[1], losses[name]) for net, losses in _losses(nets) if name in losses]
            for name in ("policy", "value", "score", "ownership")
        },
    }
    written = []
    for name, lines in curves.items():
        known = {what: sorted(points) for what, points in lines.items() if points}
        if known:  # other games than Go have no lead
            written.append(folder / f"{name}.png")
            draw_curves(written[-1], known, "positions", name)
    return written


def _losses(nets: list[Any]) -> list[tuple[Any, dict[str, float]]]:
    return [(net, json.loads(net[2])) for net in nets if net[2] not in (None, "null")]
