"""Draw what a net makes of a position, or how nets do by move number.

--sgf draws a board: squares are the final owners that the net expects, larger where it is surer;
discs are the moves it likes, larger where they are likelier. --games plots a line for each net by
move number: the share of points given to their final owner, or of moves foreseen.
"""

import argparse
import logging
from pathlib import Path

from gtp_engine.arguments import parse_count
from gtp_engine.evaluators.nets.net_info import NetFileError

logger = logging.getLogger(__name__)

POSITIONS = 2000
"""That a plot asks about, where nothing else is said."""
OF_BOARDS = ("move", "show")
OF_PLOTS = ("figure", "positions")
"""Options that do nothing for the other picture."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--net", action="append", required=True, metavar="NET", help="file or name; may be repeated"
    )
    add("--out", type=Path, required=True, metavar="FILE", help="ends in .png, .svg or .pdf")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--sgf", type=Path, metavar="FILE", help="the game whose position to draw")
    what.add_argument("--games", type=Path, nargs="+", metavar="FILE", help="games to plot over")
    add(
        "--move",
        type=parse_count,
        metavar="N",
        help="the position before move N; the last if left out",
    )
    add(
        "--show",
        choices=("ownership", "policy", "both"),
        help="what a board shows (both)",
    )
    add(
        "--figure",
        choices=("ownership", "top1", "winner"),
        help="what a plot shows (ownership)",
    )
    add(
        "--positions",
        type=parse_count,
        metavar="N",
        help=f"how many positions to ask about ({POSITIONS})",
    )


def run(arguments: argparse.Namespace) -> int:
    """Draw, and say on stderr what was written."""
    if arguments.out.suffix not in (".png", ".svg", ".pdf"):
        raise NetFileError(f"{arguments.out}: a picture's name ends in .png, .svg or .pdf")
    is_board = arguments.sgf is not None
    for name in OF_PLOTS if is_board else OF_BOARDS:
        if getattr(arguments, name) is not None:
            source = "--sgf" if is_board else "--games"
            raise NetFileError(f"--{name} does nothing with {source}")
    draw = _draw_board if is_board else _draw_plot
    draw(arguments)
    logger.info(f"wrote {arguments.out}")
    return 0


def _draw_board(arguments: argparse.Namespace) -> None:
    from gtp_engine.coords import BLACK
    from gtp_engine.evaluators.net_evaluator import open_net
    from gtp_engine.games import game_shown, position_type
    from gtp_engine.go.sgf import load_sgf
    from gtp_export.pictures import draw_board

    if len(arguments.net) != 1:
        raise NetFileError("a board shows what one net thinks; give --net once")
    evaluator = open_net(arguments.net[0])
    kind = position_type(game_shown(evaluator.net.info.encoder))
    position = load_sgf(arguments.sgf, kind).position(arguments.move)
    found = evaluator.raw_evaluation(position)
    owner = found.ownership if arguments.show != "policy" else None
    if owner is not None and found.to_play != BLACK:
        owner = -owner
    draw_board(
        arguments.out,
        position.grid(),
        ownership_black=owner,
        policy=found.policy if arguments.show != "ownership" else None,
        title=f"{evaluator.name}, before move {position.ply + 1}",
    )


def _draw_plot(arguments: argparse.Namespace) -> None:
    from gtp_engine.evaluators.nets.net_files import find_net
    from gtp_engine.evaluators.nets.onnx_net import OnnxNet
    from gtp_export.evaluation import evaluate_games, read_games_for
    from gtp_export.pictures import draw_by_move_number
    from gtp_export.plans import EvaluationPlan

    games = read_games_for(arguments.net[0], arguments.games)
    plan = EvaluationPlan(arguments.positions or POSITIONS)
    figure = arguments.figure or "ownership"
    nets = [OnnxNet(find_net(name, games.longest_side), "auto") for name in arguments.net]
    labels = [net.info.name for net in nets]
    if len(set(labels)) < len(labels):  # an int8 net has the name of the one it was made of
        labels = arguments.net
    figures = {
        label: evaluate_games(net, games, plan) for label, net in zip(labels, nets, strict=True)
    }
    for label, found in figures.items():
        if not any(key.startswith(f"{figure} moves ") for key in found):
            raise NetFileError(f"{label}: the games, or this net, tell nothing of {figure}")
    title = {
        "ownership": "points given to their final owner",
        "top1": "moves foreseen",
        "winner": "winners foreseen",
    }
    draw_by_move_number(arguments.out, figures, figure, title[figure])
