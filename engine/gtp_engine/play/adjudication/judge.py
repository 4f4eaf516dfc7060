"""From a position to the status of every stone: the net's expectation, explained and read out."""

from gtp_engine.evaluators.evaluator import Evaluator
from gtp_engine.go.position import Position
from gtp_engine.play.adjudication.expectation import expected_ownership
from gtp_engine.play.adjudication.explanation import explain
from gtp_engine.play.adjudication.fights import read_fights
from gtp_engine.play.adjudication.status import FinalStatus, status_of


def judge(
    evaluator: Evaluator, position: Position, *, read: bool = True, close_borders: bool = False
) -> FinalStatus:
    """Judge a position as finished; the same stones are always judged alike.

    Args:
        evaluator: What it expects of the board decides what Benson's theorem leaves open.
        position: As it stands; moves, passes and who is to move do not matter.
        read: Whether groups in doubt are read out, which takes up to a few seconds.
        close_borders: Whether land behind an open border is its expected owner's; a count on the
            board gives it to nobody.

    Raises:
        NetFileError: The net does not take this board, or failed.
    """
    ownership = expected_ownership(evaluator, position)
    found = explain(position, ownership)
    dead = set(found.dead)
    if read and ownership is not None:
        for fight in read_fights(evaluator, position, found):
            dead = dead | fight.stones if fight.is_dead else dead - fight.stones
    expected = found.expected if close_borders else None
    return status_of(position, found.chains, dead, expected)
