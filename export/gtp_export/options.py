"""Options of commands, each described once: as a field of what the command's work is given.

`add_options` gives a parser the options of such a dataclass, and `read_options` makes one of what
was parsed. The classes are in `plans`.
"""

import argparse
import math
from collections.abc import Callable, Collection
from dataclasses import MISSING, field, fields
from functools import partial
from typing import Any, TypeVar, cast, get_args, get_origin

from gtp_engine.arguments import (
    BadValueError,
    parse_count,
    parse_names,
    parse_number,
    parse_size,
)
from gtp_export.span import Span

Plan = TypeVar("Plan")

SPAN_UNITS = {
    "samples": ("N", "length of {} in {}"),
    "core-hours": ("H", "length of {} in hours of processor time, all processes together"),
    "minutes": ("M", "length of {} in minutes"),
}


def option(text: str, default: Any = MISSING, *, shown: str = "", **how: Any) -> Any:
    """Describe a field that is an option.

    Args:
        text: What `--help` says of it, without the default; of a span, what it is of.
        default: Without one the option is required.
        shown: How `--help` tells the default, where the value itself does not.
        how: `flag`, the option's name where it is not the field's; `old`, a name that it had;
            `prefix` and `samples` of the three options of a span; all else goes to `add_argument`.
    """
    return field(default=default, metadata={"text": text, "shown": shown, **how})


def again(described: Any, name: str, **changes: Any) -> Any:
    """Describe a field as another class does, but for some changes."""
    one = described.__dataclass_fields__[name]
    return option(**{"default": one.default, **one.metadata, **changes})


def add_options(
    parser: argparse.ArgumentParser, plan: type, left_out: Collection[str] = ()
) -> None:
    """Give a parser the options of a class, those of some fields left out."""
    for one in fields(plan):
        name = one.name
        if not one.metadata or name in left_out:
            continue
        how = dict(one.metadata)
        text, shown = how.pop("text"), how.pop("shown")
        default = None if one.default is MISSING else one.default
        if not shown and default not in (None, "", ()) and not isinstance(default, bool):
            shown = f"{default:g}" if isinstance(default, float) else str(default)
        if "samples" in how:
            _add_span(parser, name, text, shown, **how)
            continue
        how = _of_type(one.type) | {"dest": name} | how
        flag = how.pop("flag", f"--{name.replace('_', '-')}")
        old = how.pop("old", None)
        if not flag.startswith("--"):
            del how["dest"]
        elif one.default is MISSING:
            how["required"] = True
        parser.add_argument(flag, help=f"{text} ({shown})" if shown else text, **how)
        if old is not None:
            parser.add_argument(old, help=argparse.SUPPRESS, **how)


def _of_type(annotation: Any) -> dict[str, Any]:
    """Return what `add_argument` is told of a field's type; names stand with commas between."""
    if bool in (annotation, *get_args(annotation)):
        return {"action": "store_true"}
    if get_args(annotation) == (str, ...):
        return {"type": parse_names}
    inner = next(iter(get_args(annotation)), annotation)
    many = {"nargs": "+"} if get_origin(annotation) is tuple else {}
    return {"type": {int: parse_count, float: parse_finite}.get(inner, inner), **many}


def _add_span(
    parser: argparse.ArgumentParser, name: str, what: str, shown: str, prefix: str, samples: str
) -> None:
    group = parser.add_mutually_exclusive_group()
    for unit, (metavar, text) in SPAN_UNITS.items():
        group.add_argument(
            f"--{prefix}{samples if unit == 'samples' else unit}",
            dest=name,
            metavar=metavar,
            type=partial(_parse_span, unit=unit),
            help=text.format(what, samples) + (f" ({shown})" if unit == "minutes" else ""),
        )


def _parse_span(text: str, unit: str) -> Span:
    return Span(parse_positive(text), unit)


def read_options(plan: Callable[..., Plan], arguments: argparse.Namespace, **more: Any) -> Plan:
    """Return the class with what was given of its options, and with more fields."""
    given = {
        one.name: tuple(value) if isinstance(value, list) else value
        for one in fields(cast(Any, plan))
        if (value := getattr(arguments, one.name, None)) is not None
    }
    return plan(**given | more)


def parse_finite(text: str) -> float:
    """Return a number.

    Raises:
        BadValueError: It is none, or infinite.
    """
    number = parse_number(text)
    if math.isnan(number):
        raise BadValueError(f"{text[:20]!r} is not a number")
    return number


def parse_positive(text: str) -> float:
    """Return a number above 0.

    Raises:
        BadValueError: It is something else.
    """
    number = parse_number(text)
    if not 0 < number < math.inf:
        raise BadValueError(f"{text[:20]!r} is not a number above 0")
    return number


def parse_share(text: str) -> float:
    """Return a number from 0 to below 1.

    Raises:
        BadValueError: It is something else.
    """
    number = parse_number(text)
    if not 0 <= number < 1:
        raise BadValueError(f"{text[:20]!r} is not at least 0 and below 1")
    return number


def parse_side(text: str) -> int:
    """Return the side of a square board.

    Raises:
        BadValueError: It is none from 2 to 25.
    """
    width, height = parse_size(text)
    if width != height:
        raise BadValueError(f"{text[:20]!r} is no side of a square board")
    return width
