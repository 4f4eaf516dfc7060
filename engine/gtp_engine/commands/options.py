"""The options of `gtp-engine`, each described once.

Those of OPTIONS are the engine's, on the command line and in a TOML file alike: the name is the
TOML key (with `-` or `_`), and the field of `Settings` that it sets. What the command line says
goes before what the file says. Commands that measure take some of them by `add_shared`.
"""

import argparse
import math
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gtp_engine.arena.statistics import Sprt
from gtp_engine.arguments import (
    BadValueError,
    UsageError,
    parse_batch,
    parse_count,
    parse_net,
    parse_number,
    parse_seconds,
    parse_seed,
    parse_setting,
    parse_size,
    parse_threads,
)
from gtp_engine.evaluators.human_profile import DEFAULT_PROFILE, HumanProfile
from gtp_engine.evaluators.nets.net_files import (
    DEFAULT_ROLLOUT_WEIGHT,
    NO_NET,
    find_parts,
    without_rollouts,
)
from gtp_engine.evaluators.runtimes.devices import DEVICES, RUNTIMES
from gtp_engine.files import read_file
from gtp_engine.five.rules import find_rules
from gtp_engine.games import FIVE, GAMES, least_size, usual_size
from gtp_engine.go.rules import ATARI_GO, FIVE_RULES, GO, NO_FIVE, Rules, parse_komi
from gtp_engine.play.clock.planner import DEFAULT_LAG
from gtp_engine.play.levels import find_level, highest_level
from gtp_engine.play.settings import DEFAULT_SECONDS_PER_MOVE, RECIPES, Settings
from gtp_engine.play.table import SEATS
from gtp_engine.search.params import SearchParams


def _within(low: float, high: float) -> Callable[[str], float]:
    """Return what reads a number from `low` to `high`."""

    def parse(text: str) -> float:
        number = parse_number(text)
        if not low <= number <= high:
            raise ValueError(f"{text[:20]!r} is not a number from {low:g} to {high:g}")
        return number

    return parse


def _one_of(names: Collection[str]) -> Callable[[str], str]:
    """Return what reads one of these names."""

    def parse(text: str) -> str:
        if text not in names:
            raise ValueError(f"{text[:20]!r} is not one of {', '.join(names)}")
        return text

    return parse


def _level(text: str) -> int:
    level = parse_count(text)
    find_level(level)
    return level


def _policy_temperature(text: str) -> float:
    return SearchParams().with_option("policy_temperature", text).policy_temperature


def _parameters(text: str) -> dict[str, Any]:
    told = {}
    for setting in text.split(","):
        name, value = parse_setting(setting)
        name = name.replace("-", "_")
        told[name] = getattr(SearchParams().with_option(name, value), name)
    return told


def _name(text: str) -> str:
    name = " ".join(text.split())
    if not (name and name.isprintable()):
        raise ValueError(f"{text[:20]!r} is no name")
    return name


def _path(text: str) -> Path:
    """Return a path; programs and files that name it have no shell that reads `~`."""
    return Path(os.path.expanduser(text))


def _rules(text: str) -> Rules:
    """Return rules of any game; those of five in a row have names that Go has not."""
    try:
        return Rules.parse(text)
    except ValueError:
        if text.strip().lower() in FIVE_RULES:
            return find_rules(text)
        raise


@dataclass(frozen=True, slots=True)
class Option:
    """One thing to set."""

    name: str
    """As on the command line, without the dashes."""
    metavar: str
    """What stands for the value in the help; empty for a switch that takes none."""
    help: str
    default: str
    """What holds where nobody says, in words for the help; empty if that goes without saying."""
    parse: Callable[[str], Any]
    """Turns text into the value, or raises ValueError."""
    group: str = ""
    """Its heading in the help."""
    five: str = ""
    """What holds in five in a row where nobody says, or what there is; empty: as in Go."""

    @property
    def key(self) -> str:
        """The option's name as Python spells it."""
        return self.name.replace("-", "_")


_THINKING, _GAME, _RESIGNING, _MACHINE = "thinking", "the game", "resigning", "the machine"

_DRAWN = "no search: draw moves from the net's policy; 1: as it is, less: nearer its best move"
_NUMBERS = "the search's numbers, as kata-set-param names them; `gtp-engine tune` writes some"
_SEED = "fixes what is random; exact only with one thread and no time limit"
_WHOM = "whom a net that takes profiles imitates, e.g. preaz_5k"
_SECONDS = f"without a clock or playouts: {DEFAULT_SECONDS_PER_MOVE:g}"
_LAG = f"{DEFAULT_LAG:g} until the clock shows it"
_MEMORY = "a quarter of the machine's, 256 to 2048"
_WEIGHT = f"0; NET+rollouts: {DEFAULT_ROLLOUT_WEIGHT:g}"

# fmt: off
OPTIONS = (
    Option("playouts", "N", "new playouts a move", "", parse_count, _THINKING),
    Option("time", "SECONDS", "seconds a move", _SECONDS, parse_seconds, _THINKING),
    Option("lag", "SECONDS", "what a move on the clock loses on its way to the server", _LAG,
           _within(0, 60), _THINKING),
    Option("level", "N", f"1, a beginner, to {highest_level()}, the net's best", "", _level,
           _THINKING),
    Option("policy-temperature", "T", _DRAWN, "", _policy_temperature, _THINKING),
    Option("recipe", "NAME", f"search as published: {', '.join(RECIPES)}", "", _one_of(RECIPES),
           _THINKING),
    Option("ponder", "", "search on while the opponent thinks", "", bool, _THINKING),
    Option("parameters", "NAME=VALUE,...", _NUMBERS, "", _parameters, _THINKING),
    Option("seed", "N", _SEED, "", parse_seed, _THINKING),
    Option("game", "NAME", "go, atari-go (first capture wins), five (in a row)", "go",
           _one_of(GAMES), _GAME),
    Option("size", "N|WxH", "board", f"{usual_size(GO)}", parse_size, _GAME,
           f"{usual_size(FIVE)}"),
    Option("rules", "NAME|JSON", "rules, as in kata-set-rules", "area, positional superko", _rules,
           _GAME, "freestyle, standard, renju, caro, caro-exact"),
    Option("komi", "POINTS", "points for White", "7.5; 7 up to 9x9; 6.5 under territory rules",
           parse_komi, _GAME),
    Option("keep-games", "DIR", "keep every game that it plays in there as SGF", "", _path, _GAME),
    Option("resign-threshold", "VALUE", "resign below this mean result, -1 to 1", "-0.8",
           _within(-1, 1), _RESIGNING),
    Option("resign-turns", "N", "own turns in a row below it before that", "3", parse_count,
           _RESIGNING),
    Option("no-resign", "", "never resign", "", bool, _RESIGNING),
    Option("net", "FILE|NAME", "a file, or a name that `gtp-engine net list` prints",
           "the shipped one", parse_net, _MACHINE, "none"),
    Option("rollout-weight", "SHARE", "share of rollouts in a net's value, 0 to 1", _WEIGHT,
           _within(0, 1), _MACHINE),
    Option("human-profile", "NAME", _WHOM, DEFAULT_PROFILE, HumanProfile.parse, _MACHINE),
    Option("device", "NAME", ", ".join(DEVICES), "auto", _one_of(DEVICES), _MACHINE),
    Option("runtime", "NAME", f"on a processor: {', '.join(RUNTIMES)}", "auto: the faster",
           _one_of(RUNTIMES), _MACHINE),
    Option("threads", "N", "search threads", "as suits the device", parse_threads, _MACHINE),
    Option("batch", "N", "most positions evaluated at once", "as suits the device", parse_batch,
           _MACHINE),
    Option("memory", "MB", "most memory for tree and cache", _MEMORY, parse_count, _MACHINE),
    Option("log", "FILE", "append a copy of the conversation to a file, in GTP without info lines",
           "", _path, _MACHINE),
    Option("ogs-chat", "", "tell gtp2ogs winrate and score of each move", "", bool, _MACHINE),
    Option("name", "NAME", "the answer to `name`; with KataGo, Lizzie shows territory", "", _name,
           _MACHINE),
)
"""All options that set a field of `Settings`."""

DEFAULT_TIMEOUT = 300.0
"""Seconds that an answer of another engine may take before it counts as hanging."""

_BESIDES = (
    Option("color", "NAME", f"which you play: {', '.join(SEATS)}", "", _one_of(SEATS)),
    Option("visits", "N", "visits of each position searched", "", parse_count),
    Option("positions", "N", "positions searched at once", "as suits the device", parse_count),
    Option("games", "N", "games to play", "", parse_count),
    Option("at-once", "N", "games under way at once", "as suits the machine", parse_count),
    Option("timeout", "SECONDS", "longest wait for an engine's answer", "", parse_seconds),
    Option("json", "", "print one JSON document instead", "", bool),
)
"""What several commands know and `Settings` does not."""
# fmt: on
_BY_NAME = {option.name: option for option in (*OPTIONS, *_BESIDES)}


def add_shared(
    parser: "argparse._ActionsContainer",
    *names: str,
    repeatable: Mapping[str, str] | None = None,
    **defaults: Any,
) -> None:
    """Give a parser some of the options that several commands have, with values, not texts.

    Args:
        names: Options that are None, or false, where they are left out.
        repeatable: Those that may be given several times, with what their defaults are in words.
        defaults: Further options by their keys, with their values where they are left out.
    """
    words = repeatable or {}
    for name in (*names, *words, *(key.replace("_", "-") for key in defaults)):
        option = _BY_NAME[name]
        if not option.metavar:
            parser.add_argument(f"--{name}", action="store_true", help=option.help)
            continue
        value = defaults.get(option.key, "auto" if name in ("device", "runtime") else None)
        usual = _usual(option, has_five="game" in defaults)
        shown = _shown(value) if option.key in defaults else usual
        parser.add_argument(
            f"--{name}",
            type=_converter(option),
            default=value,
            metavar=option.metavar,
            action="append" if name in words else "store",
            help=_help(option.help, f"repeatable; {words[name]}" if name in words else shown),
        )


def _converter(option: Option) -> Callable[[str], Any]:
    """Return what reads an option's value, with complaints that argparse shows as they are."""

    def convert(text: str) -> Any:
        try:
            return option.parse(text)
        except ValueError as error:
            raise BadValueError(str(error)) from None

    return convert


def _shown(value: Any) -> str:
    if isinstance(value, tuple):  # a board
        return str(value[0]) if value[0] == value[1] else f"{value[0]}x{value[1]}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _usual(option: Option, *, has_five: bool) -> str:
    """Return an option's default in words, for a command that plays five in a row or does not."""
    five = f"five in a row: {option.five}" if has_five and option.five else ""
    return "; ".join(filter(None, (option.default, five)))


def _help(text: str, default: str) -> str:
    return f"{text} ({default})" if default else text


def add_sprt(parser: "argparse._ActionsContainer") -> None:
    """Give a parser `--sprt ELO0 ELO1`, which `read_sprt` reads."""
    parser.add_argument(
        "--sprt",
        type=float,
        nargs=2,
        metavar=("ELO0", "ELO1"),
        help="stop once it is clear whether A, the first, is ELO1 stronger or only ELO0 (both 5 %% "
        "error)",
    )


def read_sprt(bounds: Sequence[float] | None) -> Sprt | None:
    """Return the test that `--sprt ELO0 ELO1` asks for, if it does.

    Raises:
        UsageError: The bounds ask nothing.
    """
    try:
        return None if bounds is None else Sprt(*bounds)
    except ValueError as error:
        raise UsageError(f"--sprt: {error}") from None


def add_options(
    parser: argparse.ArgumentParser,
    names: Collection[str] | None = None,
    *,
    without: Collection[str] = (),
    usual: Mapping[str, str] | None = None,
) -> None:
    """Give a parser the engine's options and `--config`, as texts for `read_settings`.

    Args:
        names: Of the options that the command knows; the others keep their defaults. None: all.
            One that knows no `game` plays Go, whatever a file says.
        without: Those of them that it does not know either.
        usual: Defaults of the command's own, in words, by the options' names.
    """
    groups: dict[str, Any] = {}
    known = {option.name for option in OPTIONS if names is None or option.name in names}
    known -= set(without)
    for option in OPTIONS:
        if option.name not in known:
            parser.set_defaults(**{option.key: GO if option.name == "game" else None})
            continue
        group = groups.get(option.group) or parser.add_argument_group(option.group)
        groups[option.group] = group
        how: dict[str, Any] = {"metavar": option.metavar}
        if not option.metavar:
            how = {"action": "store_const", "const": "true"}
        shown = (usual or {}).get(option.name) or _usual(option, has_five="game" in known)
        group.add_argument(f"--{option.name}", help=_help(option.help, shown), **how)
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
    game = values.get("game", GO)
    if "recipe" in values:
        name = values.pop("recipe")
        recipe = RECIPES[name]
        if recipe["game"] != game:
            raise UsageError(f"--recipe: {name} is not for the game {game}")
        told = values.pop("parameters", {})
        values = recipe | values | {"parameters": recipe["parameters"] | told}
    values.setdefault("size", (usual_size(game), usual_size(game)))
    check_size(game, values["size"])
    settings = Settings(**values)
    if game != GO:
        of_go = {"level", "policy_temperature", "human_profile"}
        of_go |= {"rollout_weight"} if game == ATARI_GO else set()
        for name in of_go & set(values):
            raise UsageError(f"--{name.replace('_', '-')} is not for the game {game}")
    if "rules" in values and (settings.rules.five != NO_FIVE) != (game == FIVE):
        raise UsageError(f"--rules: {settings.rules.describe()} is not for the game {game}")
    return settings


def check_net(wanted: str | None) -> None:
    """See that a net that was asked for is there, before anything is loaded.

    Raises:
        NetFileError: It is not.
    """
    net, _ = without_rollouts(wanted)
    if net not in (None, NO_NET):
        find_parts(net)


def check_size(game: str, size: tuple[int, int]) -> None:
    """Make sure that a game is played on boards of a size.

    Raises:
        UsageError: It is not.
    """
    least = least_size(game)
    if min(size) < least:
        raise UsageError(f"--size: {game} is played on boards from {least}x{least} on")


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
        if option.key in values:
            raise UsageError(f"{path}: {key!r} is there twice, with a hyphen and without")
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
