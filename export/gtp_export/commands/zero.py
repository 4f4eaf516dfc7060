"""Learn a game from nothing: play, train and judge in a loop until the span is over.

`gtp-export zero RUN` does it all on this machine; give it again to resume a run. Its parts are
commands too, for several machines that share the folder: `zero coordinate RUN`, `zero work RUN`,
`zero train RUN`, `zero judge RUN`. `zero status RUN` tells how the run goes, `zero games RUN`
writes games as SGF, `zero rebuild RUN` makes the catalogue again from the files. A file PAUSE in
the folder halts all parts.
"""

import argparse
import logging
from dataclasses import fields
from functools import partial
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.files import read_file
from gtp_engine.messages import counted
from gtp_engine.platforms import usable_cores
from gtp_export.options import add_options, parse_positive
from gtp_export.zero.settings import (
    MOST_NET_BYTES,
    RunError,
    RunFolder,
    Settings,
    content_name,
    parse_setting,
    settings_for,
)

logger = logging.getLogger(__name__)

PARTS = ("coordinate", "work", "train", "judge", "status", "rebuild", "games")
OPTIONS = [one.name for one in fields(Settings) if one.metadata]
TAKEN = {
    "": (*OPTIONS, "span", "set", "ray"),
    "coordinate": (*OPTIONS, "span", "set"),
    "work": ("ray",),
    "status": ("json", "plot"),
    "games": ("out",),
}
"""Which of the options a part takes; "" is a whole run, and a part that is not here takes none."""
SPANS = {
    "hours": "length of the run in hours (1)",
    "minutes": "length of the run in minutes",
    "core-hours": "length of the run in hours of processor time of all parts",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("named", nargs="+", metavar="[PART] RUN", help=f"{', '.join(PARTS)}; and the run's folder")
    spans = parser.add_mutually_exclusive_group()
    for name, text in SPANS.items():
        parse = partial(_parse_span, name)
        spans.add_argument(f"--{name}", dest="span", type=parse, metavar="N", help=text)
    add_options(parser, Settings)
    add(
        "--set",
        nargs=2,
        action="append",
        default=[],
        metavar=("NAME", "VALUE"),
        help="a setting of run.toml, at the start or changed on resuming; repeatable",
    )
    add(
        "--ray",
        metavar="ADDRESS",
        help="run the workers on this Ray cluster; local: on this machine",
    )
    add("--json", action="store_true", help="status: as JSON on stdout")
    add("--plot", type=Path, metavar="DIR", help="status: write pictures there too")
    add("--out", type=Path, metavar="DIR", help="games: where to write them")


def _parse_span(name: str, text: str) -> dict[str, Any]:
    amount = parse_positive(text)
    if name == "hours":
        return {"span": 60.0 * amount, "span_unit": "minutes"}
    return {"span": amount, "span_unit": name}


def run(arguments: argparse.Namespace) -> int:
    """Do what is asked for."""
    *parts, folder = arguments.named
    if len(parts) > 1 or (parts and parts[0] not in PARTS):
        raise NetFileError(f"zero {' '.join(parts)}: no such part; there are {', '.join(PARTS)}")
    if not parts and folder in PARTS:
        raise NetFileError(f"zero {folder}: the run's folder is missing")
    for name in dict.fromkeys(chain.from_iterable(TAKEN.values())):
        is_given = getattr(arguments, name) not in (None, False, [])
        if is_given and name not in TAKEN.get(parts[0] if parts else "", ()):
            what = {"start": "--from", "span": "the length of a run"}.get(name, f"--{name}")
            raise NetFileError(f"{' '.join(['zero', *parts])}: does not take {what}")
    host, _, port = (arguments.ray or "").rpartition(":")
    if arguments.ray not in (None, "local") and not (host and port.isdecimal()):
        raise NetFileError(f"--ray {arguments.ray}: is neither HOST:PORT nor local")
    run_folder = RunFolder(Path(folder))
    if parts:
        return _run_part(parts[0], run_folder, arguments)
    from gtp_export.zero.supervisor import supervise

    # Parts alone need these, and would end again and again.
    for package in ("torch", *(["ray"] if arguments.ray is not None else [])):
        if find_spec(package) is None:
            raise ModuleNotFoundError(f"No module named {package!r}", name=package)
    changed = _prepare(run_folder, arguments)
    return supervise(run_folder, arguments.ray, **changed)


def _run_part(part: str, run: RunFolder, arguments: argparse.Namespace) -> int:
    match part:
        case "coordinate":
            from gtp_export.zero.coordinator import coordinate_run

            return coordinate_run(run, **_prepare(run, arguments))
        case "work":
            if arguments.ray is not None:
                from gtp_export.zero.ray_workers import ray_run

                return ray_run(run, arguments.ray)
            from gtp_export.zero.work import Worker

            Worker(run).work()
            return 0
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
            from gtp_export.zero.status import write_games

            folder = arguments.out or run.path / "games"
            number = write_games(run, folder)
            logger.info(f"wrote {counted(number, 'game')} to {folder}")
            return 0


def _show_status(run: RunFolder, arguments: argparse.Namespace) -> int:
    import json

    from gtp_export.zero.status import describe, plot, read_status

    status = read_status(run)
    print(json.dumps(status, indent=1) if arguments.json else describe(status))
    if arguments.plot is not None:
        for path in plot(run, arguments.plot):
            logger.info(f"wrote {path}")
    return 0


def _prepare(run: RunFolder, arguments: argparse.Namespace) -> dict[str, Any]:
    """Write the settings of a new run; return what changes in those of an old one."""
    old = run.settings() if run.settings_file.exists() else None
    given: dict[str, Any] = {} if arguments.span is None else {**arguments.span}
    begun = Path("" if old is None else old.start)
    if arguments.start is not None and Path(arguments.start).absolute() != begun:  # it may be gone
        size = arguments.size or (Settings if old is None else old).size
        given |= _settings_from(arguments.start, size)
    words = {name: getattr(arguments, name) for name in OPTIONS if name != "start"}
    given |= {name: value for name, value in words.items() if value is not None}
    given |= dict(parse_setting(name, value) for name, value in arguments.set)
    if old is not None:
        if "start" in given and _began_with(run, Path(given["start"])):
            given["start"] = old.start  # which may lie elsewhere by now
        for name in ("start", "adam", *OPTIONS):
            before = getattr(old, name)
            if name != "workers" and given.get(name, before) != before:
                what = "--from" if name == "start" else name
                was = f"with {what} {before}, not {given[name]}" if before else f"without {what}"
                raise RunError(f"{run.path}: is a run {was}; choose another folder")
        return given
    if run.path.exists() and any(path.is_file() for path in run.path.rglob("*")):
        raise RunError(f"{run.path}: is no run's folder, and not empty")
    game, size, recipe = (
        given.pop(name, getattr(Settings, name)) for name in ("game", "size", "recipe")
    )
    settings = settings_for(game, size, recipe, **{"workers": usable_cores(), **given})
    from gtp_export.zero.nets import shape_of

    shape_of(settings)
    if settings.start:
        from gtp_export.zero.work import open_checked

        open_checked(Path(settings.start), settings)
        if find_spec("torch") is not None:  # where training is to be
            from gtp_export.learning.starting_weights import check_start

            check_start(shape_of(settings), Path(settings.start), ())
    run.create(settings)
    return {}


def _settings_from(name: str, size: int) -> dict[str, Any]:
    """Return what a run has from the net that it goes on from on boards of a size."""
    from gtp_engine.evaluators.nets.net_files import find_net
    from gtp_engine.evaluators.nets.onnx_net import OnnxNet
    from gtp_export.architectures.presets import preset_of

    start = find_net(name, size).resolve()
    info = OnnxNet(start, "cpu").info
    return {
        "start": str(start),
        "preset": preset_of(start, info),
        "licence": info.licence,
        "learned_before": info.trained_on,
    }


def _began_with(run: RunFolder, start: Path) -> bool:
    """Whether a net is the one that a run went on from, wherever it lies."""
    from gtp_export.zero.nets import first_net

    first = first_net(run)
    return first is not None and first.stem == content_name(read_file(start, MOST_NET_BYTES))
