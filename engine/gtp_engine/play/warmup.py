"""Run whatever a game may need once, so that its kernels are compiled before a clock runs."""

from gtp_engine.coords import BLACK, PASS, WHITE, point_at
from gtp_engine.evaluators.evaluator import Evaluator
from gtp_engine.evaluators.fake import FakeEvaluator
from gtp_engine.go.position import Position
from gtp_engine.go.rules import Rules
from gtp_engine.go.scoring import agreed_score
from gtp_engine.play.adjudication.status import judge
from gtp_engine.play.endgame import territory_to_leave
from gtp_engine.play.fallback_move import criticality
from gtp_engine.play.move_choice import decide
from gtp_engine.search.request import AvoidRule, ReportRequest
from gtp_engine.search.search import Search
from gtp_engine.search.stopping import Limits

PLAYOUTS = 8
ENDING_SIZE = 2
"""A board so small that a search sees games end."""
TREE_PLAYOUTS = 300
"""They fill a tree that has hardly any memory, also on that board."""


def compile_boards() -> None:
    """Compile what a game needs before anybody thinks: moves, rules, handicap stones, a count."""
    position = Position(ENDING_SIZE)
    position.set_up([point_at(0, 0, ENDING_SIZE)], [])
    position.set_rules(Rules.parse("stone-scoring"))
    position.play(WHITE, position.legal_moves()[0])
    position.play(BLACK, PASS)
    position.is_legal(WHITE, PASS)
    agreed_score(position)


def compile_tree(evaluator: Evaluator, game: Position) -> None:
    """Compile what any game's search needs of its tree, full or kept after a move, which is made.

    Raises:
        NetFileError: The net fails, or does not take the board.
    """
    search = Search(evaluator, memory_mb=0)
    search.set_position(game)
    search.run(Limits(playouts=TREE_PLAYOUTS))
    game.play(game.to_play, search.root_moves()[0])
    search.set_position(game)


def compile_search(evaluator: Evaluator, width: int, height: int) -> None:
    """Compile what thinking needs, on a board of this size.

    Raises:
        NetFileError: The net fails, or does not take the board.
    """
    eye = Position(ENDING_SIZE)
    eye.set_up(eye.points()[1:], [])
    territory_to_leave(eye, strict=True)
    compile_tree(FakeEvaluator(), Position(ENDING_SIZE))
    position = Position(width, height)
    criticality(position)
    search = Search(evaluator)
    corner = position.points()[0]
    avoid = (AvoidRule(BLACK, frozenset([corner]), depth=1),)
    report = ReportRequest(
        callback=lambda analysis: None, interval=0.0, ownership=True, avoid=avoid
    )
    limits = Limits(playouts=PLAYOUTS)
    decide(search, position, limits, report, cleanup=True)
    decision = decide(search, position, limits)
    search.set_position(position, forbidden=[corner])
    position.play(BLACK, PASS if decision.point is None else decision.point)
    decide(search, position, limits)  # with what the tree knows
    judge(evaluator, position, close_borders=True)
