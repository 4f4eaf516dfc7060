"""Compile kernels on several cores at once, the first time that a version of the code runs.

Numba compiles one function at a time in a process, so other processes compile too. Each leaves its
code in the cache folder and loads from there what another has finished by the time it wants it.
The order sees to it that two seldom want the same at once:

    this process   areas and scores; the tree; what becomes of outputs
    encoder        legal moves; the net's encoder, ladders included unless a third core reads them
    ladders        ladders alone
"""

import gc
import os
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from gtp_engine.play.call_room import with_room

if TYPE_CHECKING:
    from gtp_engine.evaluators.eval_batch import EvalBatch
    from gtp_engine.evaluators.net_evaluator import NetEvaluator
    from gtp_engine.go.history import History
    from gtp_engine.go.rules import RuleFlags
    from gtp_engine.play.settings import Settings

WARMUP_SIZE = 5
"""Board on which the kernels are tried out; the code is the same for all sizes."""
WARMUP_PLAYOUTS = 8

ENCODER, LADDERS = "encoder", "ladders"


def start_children(net: str | None) -> "list[subprocess.Popen[bytes]]":
    """Start compiling the net's side in other processes; fewer or none if there can be no more.

    Args:
        net: The net by file or name, whose encoder is wanted.
    """
    roles = [ENCODER] if (os.cpu_count() or 1) < 3 else [ENCODER, LADDERS]
    quiet = subprocess.DEVNULL
    children = []
    for role in roles:
        command = [sys.executable, "-P", "-m", __name__, role, *([] if net is None else [net])]
        try:
            children.append(subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet))
        except OSError:
            break
    return children


class PlainEvaluator:
    """Likes to pass, and needs no kernel that a game does not need: it exists to try the search."""

    name = "plain"
    has_ownership = True
    has_optimism = False

    def new_batch(self, slots: int, width: int, height: int) -> "EvalBatch":
        """Return a batch for boards of this size."""
        from gtp_engine.evaluators.eval_batch import new_eval_batch

        return new_eval_batch(slots, width, height, 0, 0, self.has_ownership)

    def encode(
        self,
        batch: "EvalBatch",
        slot: int,
        history: "History",
        ply: int,
        rules: "RuleFlags",
        symmetry: int,
        optimism: float,
    ) -> None:
        """List every empty point, legal or not: a few playouts from an empty board do no harm."""
        from gtp_engine.coords import PASS

        board = history.boards[ply]
        n = int(board["n_empty"])
        batch.moves[slot, :n] = board["empty"][:n]
        batch.moves[slot, n] = PASS
        batch.n_moves[slot] = n + 1

    def suggest(self, threads: int | None, batch: int | None) -> tuple[int, int]:
        """Return one worker and one leaf at a time."""
        return 1, 1

    def evaluate(self, batch: "EvalBatch", n: int, *, use_cache: bool = True) -> None:
        """Prefer the pass so much that games end within a few playouts."""
        for slot in range(n):
            last = batch.n_moves[slot] - 1
            batch.priors[slot, :last] = 0.25 / last
            batch.priors[slot, last] = 0.75


def compile_search() -> None:
    """Compile the search's side: areas, a few playouts, choices."""
    from gtp_engine.go.position import Position
    from gtp_engine.go.scoring import white_score
    from gtp_engine.play.move_choice import decide
    from gtp_engine.play.quick_move import criticality
    from gtp_engine.search.search import Search
    from gtp_engine.search.stopping import Limits

    position = Position(WARMUP_SIZE)
    white_score(position.history, position.ply, position.rules.flags)
    decide(Search(PlainEvaluator()), position, Limits(playouts=WARMUP_PLAYOUTS))
    criticality(position)


def compile_outputs(evaluator: "NetEvaluator") -> None:
    """Compile what becomes of outputs: evaluate inputs that nobody encoded, with one legal move.

    Raises:
        NetFileError: The net fails, or takes no board of the size tried.
    """
    batch = evaluator.new_batch(1, WARMUP_SIZE, WARMUP_SIZE)
    batch.n_moves[0] = 1
    batch.spatial[:] = 1  # inputs of zeros alone look like a free place of the cache
    evaluator.evaluate(batch, 1)
    evaluator.clear_cache()


def compile_encoder(net: str | None) -> None:
    """Compile legal moves, then a net's encoder.

    Raises:
        NetFileError: The net cannot be used.
    """
    from gtp_engine.evaluators.net_evaluator import open_net
    from gtp_engine.go.position import Position

    evaluator = open_net(net, "cpu", cache_mb=0)
    position = Position(WARMUP_SIZE)
    batch = evaluator.new_batch(1, WARMUP_SIZE, WARMUP_SIZE)
    evaluator.encode(batch, 0, position.history, position.ply, position.rules.flags, 0, 0.0)


def compile_ladders() -> None:
    """Compile what reads ladders, which most encoders want."""
    from gtp_engine.go.ladders import find_ladders, new_reader
    from gtp_engine.go.position import Position

    find_ladders(new_reader(), Position(WARMUP_SIZE).board)


def precompile(settings: "Settings") -> None:
    """Compile whatever a game with these settings may come to need, and check that the net works.

    Raises:
        EngineUnavailableError: The net cannot be used.
        NetFileError: The net fails.
    """
    from gtp_engine.coords import BLACK, WHITE
    from gtp_engine.play.engine import Engine
    from gtp_engine.search.request import ReportRequest
    from gtp_engine.search.stopping import Limits

    size = (WARMUP_SIZE, WARMUP_SIZE)
    engine = Engine(replace(settings, size=size, playouts=WARMUP_PLAYOUTS, time=None))
    engine.wait_ready()
    report = ReportRequest(callback=lambda analysis: None, interval=0.0, ownership=True)
    engine.genmove(BLACK)
    engine.genmove(WHITE, cleanup=True)
    engine.analyze(engine.position.to_play, report, Limits(playouts=WARMUP_PLAYOUTS))
    engine.final_status()
    engine.close()


def main(words: list[str]) -> None:
    """Play the part that the first word names, with the net that the second one names."""
    gc.disable()  # compiling makes many objects that live on, and this process ends soon
    if words[0] == LADDERS:
        compile_ladders()
    else:
        compile_encoder(words[1] if len(words) > 1 else None)


if __name__ == "__main__":
    with_room(main)(sys.argv[1:])
