"""Judge finished boards whose dead stones are known, and say where the two differ.

Only the stones are looked at: no moves, no passes, nobody to move.
"""

import argparse
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from gtp_engine.arena.statistics import wilson
from gtp_engine.arguments import UsageError, parse_count
from gtp_engine.commands.options import add_shared
from gtp_engine.commands.progress import shown_progress
from gtp_engine.coords import EMPTY

if TYPE_CHECKING:
    from gtp_engine.arena.marked_boards import MarkedBoard
    from gtp_engine.play.adjudication.status import FinalStatus

logger = logging.getLogger(__name__)


MOST_NAMED = 12
"""Stones of a board that are named; further ones are counted."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="games with TB and TW or dead stones (SGF, packs, folders), or boards in JSON",
    )
    add_shared(parser, "net", "device", "runtime")
    parser.add_argument("--no-reading", action="store_true", help="do not read out groups in doubt")
    parser.add_argument(
        "--limit", type=parse_count, metavar="N", help="most boards of a file (all)"
    )
    parser.add_argument("--misses", action="store_true", help="name the boards judged wrongly")


def run(args: argparse.Namespace) -> int:
    """Print a line for each file; return the exit status, 1 if something could not be read."""
    from gtp_engine.arena.marked_boards import read_marked
    from gtp_engine.evaluators.rollouts.go import open_evaluator
    from gtp_engine.play.adjudication.status import judge

    for file in args.files:
        if not file.exists():
            raise UsageError(f"cannot read {str(file)!r}: No such file or directory")
    net = open_evaluator(args.net, args.device, args.runtime)
    # All is read twice: thousands of games do not fit into memory together.
    problems: list[str] = []
    n_boards = sum(1 for file in args.files for _ in read_marked(file, problems.append, args.limit))
    for sentence in problems:
        logger.warning(sentence)
    with shown_progress("boards", n_boards) as advance:
        for file in args.files:
            tally = _Tally()
            for board in read_marked(file, lambda said: None, args.limit):
                status = judge(net, board.position, read=not args.no_reading)
                wrong = tally.add(board, status)
                if wrong and args.misses:
                    print(f"{board.name}: {_name_stones(board, wrong)}", flush=True)
                advance()
            print(f"{file}: {tally}", flush=True)
    return 1 if problems else 0


class _Tally:
    """Boards and points judged, and those judged as marked."""

    def __init__(self) -> None:
        self.boards = self.exact = 0
        self.points = self.agreed = 0

    def add(self, board: "MarkedBoard", status: "FinalStatus") -> set[int]:
        """Count a board; return the stones whose status is wrong."""
        from gtp_engine.go.scoring import agreed_owners

        wrong = (set(status.dead) ^ board.dead) - board.undecided
        found = agreed_owners(board.position, status.dead)
        known = [p for p, owner in board.owners.items() if owner != EMPTY]
        self.boards += 1
        self.exact += not wrong
        self.points += len(known)
        self.agreed += sum(int(found[p]) == board.owners[p] for p in known)
        return wrong

    def __str__(self) -> str:
        if not self.boards:
            return "nothing is marked"
        return (
            f"dead stones as marked on {self.exact} of {self.boards} boards, "
            f"{wilson(self.exact, self.boards):.1%}; "
            f"the owner of {self.agreed / max(1, self.points):.2%} of the {self.points} points "
            "that are somebody's"
        )


def _name_stones(board: "MarkedBoard", wrong: set[int]) -> str:
    """Return which stones were called dead and alive wrongly."""
    parts = []
    for said, stones in (("alive", wrong & board.dead), ("dead", wrong - board.dead)):
        if stones:
            names = [board.position.vertex(p) for p in sorted(stones)[:MOST_NAMED]]
            more = f" and {len(stones) - MOST_NAMED} more" if len(stones) > MOST_NAMED else ""
            parts.append(f"taken for {said}: {' '.join(names)}{more}")
    return "; ".join(parts)
