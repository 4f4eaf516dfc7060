"""Learn a game from nothing: play, train and judge in a loop until the span is over.

`gtp-export zero RUN` does it all on this machine; started again, it goes on where it was. Its parts
are commands too, to run on several machines that share the folder: `zero coordinate RUN`,
`zero work RUN`, `zero train RUN`, `zero judge RUN`. `zero status RUN` tells from outside how it
goes, `zero games RUN` writes games as SGF, `zero rebuild RUN` makes the catalogue again from the
files. While a file PAUSE lies in the folder, all parts stand still.
"""

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gtp_engine.arguments import parse_count
from gtp_engine.evaluators.net_info import NetFileError

if TYPE_CHECKING:
    from gtp_export.zero.settings import RunFolder

PARTS = ("coordinate", "work", "train", "judge", "status", "rebuild", "games")
RECIPES = ("ours", "supergo", "gumbel")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `gtp-export zero` takes."""
    add = parser.add_argument
    add("named", nargs="+", metavar="[PART] RUN", help=f"{', '.join(PARTS)}; and the run's folder")
    add("--game", metavar="NAME", help="go, atari-go or five (go)")
    add("--rules", metavar="NAMES", help="five: freestyle, standard, renju, caro, joined by commas")
    add("--size", type=parse_count, metavar="N", help="of the square board (9)")
    span = parser.add_mutually_exclusive_group().add_argument
    span("--hours", type=float, metavar="H", help="length of the whole run on the wall (1)")
    span("--minutes", type=float, metavar="M", help="the same in minutes")
    span("--core-hours", type=float, metavar="H", help="the same in processor time of all parts")
    add("--workers", type=parse_count, metavar="N", help="processes that play (one a processor)")
    add("--preset", metavar="NAME", help="the net's architecture (what suits the board)")
    add("--recipe", choices=RECIPES, help="how to learn (ours)")
    add("--set", nargs=2, action="append", default=[], metavar=("NAME", "VALUE"), help="a setting")
    add("--from", dest="start", metavar="NET", help="net to go on from; `default`: the shipped one")
    add("--seed", type=parse_count, metavar="N", help="draws what is random (1)")
    add("--ray", metavar="ADDRESS", help="workers on a Ray cluster, or on `local`: one of here")
    add("--json", action="store_true", help="status: as JSON on stdout")
    add("--plot", type=Path, metavar="DIR", help="status: draw it too")
    add("--out", type=Path, metavar="DIR", help="games: where to write them")


def run(arguments: argparse.Namespace) -> int:
    """Do what is asked for."""
    from gtp_export.zero.settings import RunFolder

    *parts, folder = arguments.named
    if len(parts) > 1 or (parts and parts[0] not in PARTS):
        raise NetFileError(f"zero {' '.join(parts)}: no such part; there are {', '.join(PARTS)}")
    if not parts and folder in PARTS:
        raise NetFileError(f"zero {folder}: the run's folder is missing")
    run_folder = RunFolder(Path(folder))
    if parts:
        return _run_part(parts[0], run_folder, arguments)
    from gtp_export.zero.supervisor import supervise

    changed = _prepare(run_folder, arguments)
    return supervise(run_folder, sys.stderr.isatty(), arguments.ray, **changed)


def _run_part(part: str, run: "RunFolder", arguments: argparse.Namespace) -> int:
    match part:
        case "coordinate":
            from gtp_export.zero.coordinator import coordinate_run

            return coordinate_run(run, **_prepare(run, arguments))
        case "work":
            if arguments.ray is not None:
                from gtp_export.zero.ray_workers import ray_run

                return ray_run(run, arguments.ray)
            from gtp_export.zero.work import work_run

            return work_run(run)
        case "train":
            from gtp_export.learning.zero_training import train_run

            return train_run(run)
        case "judge":
            from gtp_export.zero.judge import judge_run

            return judge_run(run)
        case "status":
            return _show_status(run, arguments)
        case "rebuild":
            from gtp_export.zero.coordinator import Coordinator

            Coordinator(run, rebuild=True).close()
            return 0
        case _:
            from gtp_export.zero.games import write_games

            folder = arguments.out or run.path / "games"
            number = write_games(run, folder)
            print(f"gtp-export: wrote {number} games to {folder}", file=sys.stderr)
            return 0


def _show_status(run: "RunFolder", arguments: argparse.Namespace) -> int:
    import json

    from gtp_export.zero.status import describe, plot, read_status

    status = read_status(run)
    print(json.dumps(status, indent=1) if arguments.json else describe(status))
    if arguments.plot is not None:
        for path in plot(run, arguments.plot):
            print(f"gtp-export: wrote {path}", file=sys.stderr)
    return 0


def _prepare(run: "RunFolder", arguments: argparse.Namespace) -> dict[str, Any]:
    """Write the settings of a new run; return what changes in those of an old one.

    Raises:
        NetFileError: An old run is another one than is asked for, or settings make no sense.
        OSError: They cannot be written.
    """
    from gtp_export.zero.settings import RunError, settings_for

    span = _read_span(arguments)
    changed = {} if span is None else {"span": span[0], "span_unit": span[1]}
    if arguments.start is not None:
        from gtp_engine.evaluators.nets import find_net
        from gtp_engine.evaluators.onnx_net import OnnxNet
        from gtp_export.architectures.presets import preset_of

        start = find_net(arguments.start).resolve()
        changed |= {"start": str(start), "preset": preset_of(start, OnnxNet(start, "cpu").info)}
    given = {name: getattr(arguments, name) for name in ("workers", "preset", "seed")}
    changed |= {name: value for name, value in given.items() if value is not None}
    changed |= _read_wanted(arguments)
    fixed = {name: getattr(arguments, name) for name in ("game", "size", "rules", "recipe")}
    if run.settings_file.exists():
        settings = run.settings()
        fixed |= {name: changed.get(name) for name in ("preset", "seed", "start")}
        for name, wanted in fixed.items():
            if wanted not in (None, getattr(settings, name)):
                raise RunError(
                    f"{run.path}: is a run with {name} {getattr(settings, name)}, not {wanted}; "
                    "choose another folder"
                )
        return changed
    if run.path.exists() and any(run.path.iterdir()):
        raise RunError(f"{run.path}: is no run's folder, and not empty")
    game, size, recipe = fixed["game"] or "go", fixed["size"] or 9, fixed["recipe"] or "ours"
    if fixed["rules"] is not None:
        changed["rules"] = fixed["rules"]
    settings = settings_for(game, size, recipe, **{"workers": os.cpu_count() or 1, **changed})
    from gtp_export.zero.nets import shape_of

    shape_of(settings)
    run.create(settings)
    return {}


def _read_wanted(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what --set names, as its kind of value.

    Raises:
        NetFileError: There is no such setting, or the value makes no sense.
    """
    from gtp_export.zero.settings import parse_setting

    return dict(parse_setting(name, value) for name, value in arguments.set)


def _read_span(arguments: argparse.Namespace) -> tuple[float, str] | None:
    """Return the run's length and its unit.

    Raises:
        NetFileError: It is not positive.
    """
    spans = (
        (arguments.hours, 60.0, "minutes"),
        (arguments.minutes, 1.0, "minutes"),
        (arguments.core_hours, 1.0, "core-hours"),
    )
    for amount, scale, unit in spans:
        if amount is not None:
            if not 0 < amount < float("inf"):  # nan is not either
                raise NetFileError("the length of a run must be positive")
            return amount * scale, unit
    return None
