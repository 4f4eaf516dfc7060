"""Say which nets there are, what they are, how right and how fast."""

import argparse
from importlib import import_module

from gtp_engine.arguments import (
    parse_batch,
    parse_count,
    parse_net,
    parse_seconds,
    parse_setting,
)
from gtp_engine.commands.options import add_shared, add_sprt

_ACTIONS = {
    "list": ("gtp_engine.commands.net_info", "run_list"),
    "info": ("gtp_engine.commands.net_info", "run_info"),
    "check": ("gtp_engine.commands.net_info", "run_check"),
    "bench": ("gtp_engine.commands.net_bench", "run"),
    "match": ("gtp_engine.commands.net_match", "run"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="list the nets that are known by name")
    listing.description = "List the nets that `--net NAME` finds, and where they are."
    info = actions.add_parser("info", help="say what a net is, from whom, and what it takes")
    info.description = "Describe a net, and check its outputs against those recorded in it."
    told = "the default net if left out"
    info.add_argument("net", type=parse_net, metavar="FILE|NAME", nargs="?", help=told)
    _add_check(actions.add_parser("check", help="check that a net computes right on this machine"))
    _add_bench(actions.add_parser("bench", help="measure evaluations a second"))
    _add_match(actions.add_parser("match", help="let two nets play many games in one process"))
    for action in actions.choices.values():
        add_shared(action, "json")


def _add_check(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Compare what a net computes on this machine with the outputs recorded in its file, "
        "and, if the original of a quantised net is given, how far the two are apart. Of a NAME it "
        "takes the file that would play here; NAME-int8 and NAME-fp32 are those files."
    )
    add = parser.add_argument
    add("net", type=parse_net, metavar="FILE|NAME", help="the net to check")
    add("original", type=parse_net, metavar="ORIGINAL", nargs="?", help="the net in fp32")
    add_shared(parser, "device", "runtime")
    parser.add_argument(
        "--positions",
        type=parse_count,
        default=200,
        metavar="N",
        help="positions that the two judge (200)",
    )


def _add_bench(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Measure evaluations a second of the clock and a second of processor time, by device, "
        "board size and batch; on the CPU, and on CUDA if there is one, unless --device names one. "
        "Several nets take turns; the first is what the others are compared with."
    )
    add = parser.add_argument
    add("nets", type=parse_net, metavar="FILE|NAME", nargs="*", help="the default net if left out")
    repeatable = {"size": "9 and 19, where taken", "batch": "1 and 4; on a GPU 1 to 256"}
    add_shared(parser, "device", "runtime", repeatable=repeatable)
    add("--seconds", type=parse_seconds, default=2.0, help="processor time of each measurement (2)")


def _add_match(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Let two nets play each other at equal visits, many games at once. Games come in pairs "
        "from one opening drawn from the first net's policy, with the colors swapped."
    )
    add = parser.add_argument
    add("nets", type=parse_net, metavar="FILE|NAME", nargs=2, help="the two nets, A and B")
    add_shared(parser, "at-once", "komi", "policy-temperature", games=100, visits=50, size=(9, 9))
    leaves = "leaves that searches of the first and the second net have in flight at once (1 1)"
    add("--leaves", type=parse_batch, nargs=2, metavar="N", default=(1, 1), help=leaves)
    for letter, place in (("a", "first"), ("b", "second")):
        add(
            f"--set-{letter}",
            type=parse_setting,
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help=f"a search parameter of the {place} net, as kata-set-param names it; repeatable",
        )
    add_sprt(parser)
    add_shared(parser, "device", "runtime", seed=1)


def run(args: argparse.Namespace) -> int:
    """Print what was asked for; return 0, or 1 if a net computes wrongly."""
    module, function = _ACTIONS[args.action]
    status: int = getattr(import_module(module), function)(args)
    return status
