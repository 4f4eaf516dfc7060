"""Compile kernels on two cores at once, the first time that a version of the code runs.

Numba compiles one function at a time in a process, and encoders take as long as everything else
together. So a child process runs the net's side once (encode, evaluate, remember) while this one
runs the search's side on a fake evaluator; both leave their code in the cache folder, and what
the child compiled is loaded from there.
"""

import subprocess
import sys

WARMUP_SIZE = 5
"""Board on which the kernels are tried out; the code is the same for all sizes."""


def start_child(net: str | None) -> "subprocess.Popen[bytes] | None":
    """Start compiling the net's side in another process; None if there can be no other.

    Args:
        net: The net by file or name, whose encoder is wanted.
    """
    command = [sys.executable, "-m", __name__, *([] if net is None else [net])]
    quiet = subprocess.DEVNULL
    try:
        return subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet)
    except OSError:
        return None


def compile_search() -> None:
    """Compile the search's side: a few playouts, the judgement of a board, choices."""
    from gtp_engine.evaluators.fake import FakeEvaluator
    from gtp_engine.go.position import Position
    from gtp_engine.play.move_choice import decide
    from gtp_engine.play.quick_move import criticality
    from gtp_engine.search.limits import Limits
    from gtp_engine.search.search import Search

    decide(Search(FakeEvaluator()), Position(WARMUP_SIZE), Limits(playouts=8))
    criticality(Position(WARMUP_SIZE))


def compile_evaluation(net: str | None) -> None:
    """Compile the net's side: encode a position, evaluate it, and find it in the cache.

    Raises:
        NetFileError: The net cannot be used.
    """
    from gtp_engine.evaluators.net_evaluator import open_net
    from gtp_engine.go.position import Position

    evaluator = open_net(net, "cpu", say=lambda line: None, cache_mb=1)
    position = Position(WARMUP_SIZE)
    batch = evaluator.new_batch(1, WARMUP_SIZE, WARMUP_SIZE)
    for _ in range(2):  # the second time from the cache
        evaluator.encode(batch, 0, position.line, position.ply, position.rules.flags, 0, 0.0)
        evaluator.evaluate(batch, 1)


if __name__ == "__main__":
    compile_evaluation(sys.argv[1] if len(sys.argv) > 1 else None)
