"""The engine's options, on the command line and in a TOML file alike.

Every option is an entry of OPTIONS; its name is the TOML key (with `-` or `_`), and the field of
`Settings` that it sets. What the command line says goes before what the file says.
"""

import argparse
import math
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from gtp_engine.arguments import (
    UsageError,
    parse_count,
    parse_komi,
    parse_number,
    parse_seconds,
    parse_seed,
    parse_setting,
    parse_size,
    parse_threads,
)
from gtp_engine.evaluators.devices import DEVICES, RUNTIMES
from gtp_engine.evaluators.human_profile import DEFAULT_PROFILE, HumanProfile
from gtp_engine.evaluators.nets import DEFAULT_ROLLOUT_WEIGHT
from gtp_engine.files import read_file
from gtp_engine.five.rules import find_rules
from gtp_engine.games import FIVE, GAMES, usual_size
from gtp_engine.go.rules import FIVE_RULES, GO, NO_FIVE, Rules
from gtp_engine.play.clock.planner import DEFAULT_LAG
from gtp_engine.play.levels import find_level, highest_level
from gtp_engine.play.settings import DEFAULT_SECONDS_PER_MOVE, Settings
from gtp_engine.search.params import RECIPES, SearchParams


def _lag(text: str) -> float:
    seconds = parse_number(text)
    if not 0 <= seconds <= 60:
        raise ValueError(f"{text[:20]!r} is not a number of seconds from 0 to 60")
    return seconds


def _threshold(text: str) -> float:
    threshold = parse_number(text)
    if not -1 <= threshold <= 1:
        raise ValueError(f"{text[:20]!r} is not a number from -1 to 1")
    return threshold


def _level(text: str) -> int:
    level = parse_count(text)
    find_level(level)
    return level


def policy_temperature(text: str) -> float:
    """Return a temperature.

    Raises:
        ValueError: It is none that a search takes.
    """
    return SearchParams().with_option("policy_temperature", text).policy_temperature


def _parameters(text: str) -> SearchParams:
    params = SearchParams()
    for setting in text.split(","):
        name, value = parse_setting(setting)
        params = params.with_option(name.replace("-", "_"), value)
    return params


def _name(text: str) -> str:
    name = " ".join(text.split())
    if not (name and name.isprintable()):
        raise ValueError(f"{text[:20]!r} is no name")
    return name


def _share(text: str) -> float:
    share = parse_number(text)
    if not 0 <= share <= 1:
        raise ValueError(f"{text[:20]!r} is not a number from 0 to 1")
    return share


def _recipe(text: str) -> str:
    if text not in RECIPES:
        raise ValueError(f"{text[:20]!r} is not one of {', '.join(RECIPES)}")
    return text


def _path(text: str) -> Path:
    """Return a path; programs and files that name it have no shell that reads `~`."""
    return Path(os.path.expanduser(text))


def _game(text: str) -> str:
    if text not in GAMES:
        raise ValueError(f"{text[:20]!r} is not one of {', '.join(GAMES)}")
    return text


def _rules(text: str) -> Rules:
    """Return rules of any game; those of five in a row have names that Go has not."""
    try:
        return Rules.parse(text)
    except ValueError:
        if text.strip().lower() in FIVE_RULES:
            return find_rules(text)
        raise


def _device(text: str) -> str:
    if text not in DEVICES:
        raise ValueError(f"{text[:20]!r} is not one of {', '.join(DEVICES)}")
    return text


def _runtime(text: str) -> str:
    if text not in RUNTIMES:
        raise ValueError(f"{text[:20]!r} is not one of {', '.join(RUNTIMES)}")
    return text


@dataclass(frozen=True, slots=True)
class Option:
    """One thing to set."""

    name: str
    """As on the command line, without the dashes."""
    metavar: str
    """What stands for the value in the help; empty for a switch that takes none."""
    help: str
    parse: Callable[[str], Any]
    """Turns text into the value, or raises ValueError."""
    group: str

    @property
    def key(self) -> str:
        """The option's name as Python spells it."""
        return self.name.replace("-", "_")


_THINKING, _GAME, _RESIGNING, _MACHINE = "thinking", "the game", "resigning", "the machine"

OPTIONS = (
    Option("playouts", "N", "new playouts a move", parse_count, _THINKING),
    Option(
        "time",
        "SECONDS",
        f"seconds a move (without a clock or playouts: {DEFAULT_SECONDS_PER_MOVE:g})",
        parse_seconds,
        _THINKING,
    ),
    Option(
        "lag",
        "SECONDS",
        f"what a move on the clock loses on its way ({DEFAULT_LAG:g} until the clock shows it)",
        _lag,
        _THINKING,
    ),
    Option("level", "N", f"1, a beginner, to {highest_level()}, the net's best", _level, _THINKING),
    Option(
        "policy-temperature",
        "T",
        "no search: draw moves from the net's policy, at 1 as it is, below nearer its best",
        policy_temperature,
        _THINKING,
    ),
    Option("recipe", "NAME", f"search as published: {', '.join(RECIPES)}", _recipe, _THINKING),
    Option("ponder", "", "search on while the opponent thinks", bool, _THINKING),
    Option(
        "parameters",
        "NAME=VALUE,...",
        "the search's numbers, as kata-set-param names them; `gtp-engine tune` writes some",
        _parameters,
        _THINKING,
    ),
    Option("seed", "N", "with one thread: play the same game each time", parse_seed, _THINKING),
    Option(
        "game", "NAME", "go, atari-go: the first capture wins, or five in a row (go)", _game, _GAME
    ),
    Option("size", "N|WxH", "the first board (19; five in a row: 15)", parse_size, _GAME),
    Option(
        "rules",
        "NAME|JSON",
        "the first rules, as in kata-set-rules; five in a row: freestyle, standard, renju, caro",
        _rules,
        _GAME,
    ),
    Option("komi", "POINTS", "points for White (7.5; 7 up to 9x9)", parse_komi, _GAME),
    Option("keep-games", "DIR", "keep every game played there as SGF", _path, _GAME),
    Option(
        "resign-threshold",
        "VALUE",
        "resign below this mean result, -1 to 1 (-0.8)",
        _threshold,
        _RESIGNING,
    ),
    Option("resign-turns", "N", "after so many own turns below it (3)", parse_count, _RESIGNING),
    Option("no-resign", "", "never resign", bool, _RESIGNING),
    Option(
        "net",
        "FILE|NAME",
        "the net: a file, one that came along, or none: patterns and rollouts",
        str,
        _MACHINE,
    ),
    Option(
        "rollout-weight",
        "SHARE",
        f"share of rollouts in a net's value, 0 to 1 (0; NET+rollouts: {DEFAULT_ROLLOUT_WEIGHT:g})",
        _share,
        _MACHINE,
    ),
    Option(
        "human-profile",
        "NAME",
        f"for a net that plays like people: like whom, e.g. preaz_5k ({DEFAULT_PROFILE})",
        HumanProfile.parse,
        _MACHINE,
    ),
    Option("device", "DEVICE", ", ".join(DEVICES) + " (auto)", _device, _MACHINE),
    Option("runtime", "NAME", f"on a processor: {', '.join(RUNTIMES)} (auto)", _runtime, _MACHINE),
    Option("threads", "N", "search threads", parse_threads, _MACHINE),
    Option("batch", "N", "most positions evaluated at once", parse_count, _MACHINE),
    Option("memory", "MB", "most memory for tree and cache", parse_count, _MACHINE),
    Option("log", "FILE", "append a copy of the conversation to a file", _path, _MACHINE),
    Option("ogs-chat", "", "tell gtp2ogs winrate and score of each move", bool, _MACHINE),
    Option(
        "name", "NAME", "what to answer to `name`: Lizzie shows KataGo's territory", _name, _MACHINE
    ),
)
"""All options that set a field of `Settings`."""


def add_machine_options(parser: argparse.ArgumentParser, auto: str = "default") -> None:
    """Give a parser that has not all of the engine's options those that say what runs a net.

    Args:
        parser: The parser.
        auto: What the device auto is.
    """
    add = parser.add_argument
    add("--device", choices=DEVICES, default="auto", help=f"auto: {auto}")
    add("--runtime", choices=RUNTIMES, default="auto", help="auto: the faster on this processor")


def add_options(parser: argparse.ArgumentParser, names: Collection[str] | None = None) -> None:
    """Give a parser the engine's options and `--config`.

    Args:
        parser: The parser.
        names: Of the options that the command knows; the others keep their defaults. None: all.
    """
    groups: dict[str, Any] = {}
    for option in OPTIONS:
        if names is not None and option.name not in names:
            parser.set_defaults(**{option.key: None})
            continue
        group = groups.get(option.group) or parser.add_argument_group(option.group)
        groups[option.group] = group
        flag = f"--{option.name}"
        if option.metavar:
            group.add_argument(flag, dest=option.key, metavar=option.metavar, help=option.help)
        else:
            group.add_argument(
                flag, dest=option.key, action="store_const", const="true", help=option.help
            )
    groups[_MACHINE].add_argument(
        "--config", metavar="FILE.toml", help="take options from a file, e.g. playouts = 400"
    )


def read_settings(parsed: argparse.Namespace) -> Settings:
    """Return the settings of a command line, and of the file it names.

    Raises:
        UsageError: A value makes no sense, or the file cannot be used; in one sentence.
    """
    values: dict[str, Any] = {}
    if parsed.config is not None:
        values = _read_file(_path(parsed.config))
    for option in OPTIONS:
        text = getattr(parsed, option.key)
        if text is not None:
            values[option.key] = _parse(option, text, f"--{option.name}")
    if values.pop("no_resign", False):
        values["resign"] = False
    if "recipe" in values:
        recipe = RECIPES[values.pop("recipe")]
        told = values.pop("parameters", SearchParams())
        values = {field.name: getattr(recipe, field.name) for field in fields(recipe)} | values
        values["parameters"] = recipe.parameters.changed_by(told)
    game = values.get("game", GO)
    values.setdefault("size", (usual_size(game), usual_size(game)))
    settings = Settings(**values)
    if game != GO:
        with_nets = {"net"} if game == FIVE else set()
        needs = {"net", "level", "policy_temperature", "human_profile"} - with_nets
        for name in needs & set(values):
            dashed = name.replace("_", "-")
            raise UsageError(f"--{dashed}: {game} is searched without a net, which none knows")
    if "rules" in values and (settings.rules.five != NO_FIVE) != (game == FIVE):
        raise UsageError(f"--rules: {settings.rules.describe()} is not for the game {game}")
    return settings


def _parse(option: Option, text: str, where: str) -> Any:
    if "\0" in text:
        raise UsageError(f"{where}: holds a null byte")
    try:
        return option.parse(text)
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{where}: {error}") from None


def _read_file(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        document = tomllib.loads(read_file(path, 1 << 20).decode())
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except RecursionError:
        raise UsageError(f"{path}: not a TOML file: too deep") from None
    except ValueError as error:  # TOML, UTF-8, a number of thousands of digits
        raise UsageError(f"{path}: not a TOML file: {error}") from None
    return _file_values(path, document)


def _file_values(path: Path, document: Mapping[str, Any]) -> dict[str, Any]:
    by_key = {option.key: option for option in OPTIONS}
    values = {}
    for key, value in document.items():
        option = by_key.get(key.replace("-", "_"))
        if option is None:
            raise UsageError(f"{path}: unknown key {key!r}")
        where = f"{path}: {key}"
        if not option.metavar:
            if not isinstance(value, bool):
                raise UsageError(f"{where} must be true or false")
            values[option.key] = value
        else:
            values[option.key] = _parse(option, _file_text(value, where), where)
    return values


def _file_text(value: Any, where: str) -> str:
    """Return a TOML value as it would stand on the command line."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise UsageError(f"{where} must be a number or a string")
    if isinstance(value, int) and abs(value) >= 1 << 63:
        raise UsageError(f"{where} is too large")
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        return str(int(value))
    return str(value)
