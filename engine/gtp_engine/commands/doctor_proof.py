"""`gtp-engine doctor --prove`: show on a machine with a GPU that what is said of it holds.

Each proof is a function that returns what it saw in a phrase, or raises ProofError. tests/gpu runs
the same ones. Without a GPU all but the last are skipped, with the reason.
"""

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import asdict, dataclass

from gtp_engine.children import own_command
from gtp_engine.messages import collected

MAX_KL = 0.01
"""Largest mean policy KL between a GPU's shortened numbers and the CPU's fp32, nats."""
MAX_WIN_ERROR = 0.01
POSITIONS = 24
GAME_SIZE = 9
GAME_PLAYOUTS = 32
MAX_MOVES = 250
SMALL_MEMORIES_MB = (512, 256, 128, 64, 32, 16)
"""Memory limits tried until the largest batch no longer fits."""
TIMEOUT_SECONDS = 600


class ProofError(AssertionError):
    """Something about the GPU is not as it should be."""


@dataclass(frozen=True)
class Proof:
    """The outcome of one proof."""

    what: str
    outcome: str
    """passed, FAILED or skipped."""
    details: str


def run_proofs(wanted: str | None, *, as_json: bool) -> int:
    """Print a line a proof; return 1 if one failed."""
    from gtp_engine.evaluators.runtimes.devices import cuda_obstacle

    obstacle = cuda_obstacle()
    done = []
    for what, needs_gpu, prove in PROOFS:
        if needs_gpu and obstacle is not None:
            done.append(Proof(what, "skipped", obstacle))
        else:
            done.append(_attempt(what, prove, wanted))
        if not as_json:
            print(f"{done[-1].outcome:8} {what}: {done[-1].details}", flush=True)
    if as_json:
        print(json.dumps([asdict(one) for one in done], indent=1))
    return 1 if any(one.outcome == "FAILED" for one in done) else 0


def _attempt(what: str, prove: Callable[[str | None], str], wanted: str | None) -> Proof:
    try:
        return Proof(what, "passed", prove(wanted))
    except Exception as error:  # a proof that breaks is a proof that fails
        return Proof(what, "FAILED", f"{type(error).__name__}: {error}")


def _check(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ProofError(otherwise)


def outputs_agree(wanted: str | None) -> str:
    """Compare the GPU with the CPU in fp32, on positions that the net plays."""
    from gtp_engine.evaluators.accuracy import compare_nets
    from gtp_engine.evaluators.nets.net_files import find_files
    from gtp_engine.evaluators.nets.onnx_net import OnnxNet
    from gtp_engine.evaluators.nets.precision import open_best

    files = find_files(wanted)
    with collected() as said:
        net = open_best(files, "cuda")
    _check(net.device == "cuda", said[0] if said else "the net is not on the GPU")
    found = compare_nets(net, OnnxNet(files.fp32, "cpu"), POSITIONS)
    _check(net.device == "cuda", "the GPU failed on the way")
    _check(found.policy_kl <= MAX_KL, f"policy KL {found.policy_kl:.4f}")
    _check(found.win_error <= MAX_WIN_ERROR, f"win-rate error {found.win_error:.2%}")
    return (
        f"{net.path.name}: policy KL {found.policy_kl:.5f} nats, win rate {found.win_error:.3%}, "
        f"{found.positions} positions"
    )


def plays_a_game(wanted: str | None) -> str:
    """Play a whole game against itself on the GPU."""
    from gtp_engine.evaluators.net_evaluator import NetEvaluator
    from gtp_engine.play.engine import Engine
    from gtp_engine.play.settings import Settings

    size = (GAME_SIZE, GAME_SIZE)
    settings = Settings(net=wanted, device="cuda", size=size, playouts=GAME_PLAYOUTS)
    engine = Engine(settings)
    moves = 0
    with collected() as said:
        while not engine.position.is_over and moves < MAX_MOVES:
            if engine.genmove(engine.position.to_play).point is None:
                break  # resigned
            moves += 1
    evaluator = engine.search.evaluator
    engine.close()
    _check(moves < MAX_MOVES, f"the game did not end within {MAX_MOVES} moves")
    is_on_gpu = isinstance(evaluator, NetEvaluator) and evaluator.net.device == "cuda"
    _check(is_on_gpu, said[-1] if said else "the net is not on the GPU")
    return f"{moves} moves on {GAME_SIZE}x{GAME_SIZE}"


def survives_want_of_memory(wanted: str | None) -> str:
    """Let the GPU run out of memory for real, and see smaller batches give the same."""
    import numpy as np

    from gtp_engine.evaluators.nets.net_files import find_files
    from gtp_engine.evaluators.nets.onnx_net import OnnxNet, difference
    from gtp_engine.evaluators.nets.self_check import OTHERWISE
    from gtp_engine.evaluators.runtimes.onnx_runtime import (
        cuda_providers,
        open_session,
        preload_cuda,
    )
    from gtp_engine.evaluators.runtimes.streams import BUCKETS, SessionStream, StreamPool

    path = find_files(wanted).fp32
    cpu = OnnxNet(path, "cpu")
    largest = BUCKETS[-1]
    case = max(cpu.golden_cases(), key=lambda one: one.inputs["spatial_in"].size)
    feed = {name: np.repeat(array[:1], largest, axis=0) for name, array in case.inputs.items()}
    one = cpu.run_feed({name: array[:1] for name, array in case.inputs.items()})
    preload_cuda()
    for limit in SMALL_MEMORIES_MB:
        providers = cuda_providers(0, memory_limit=limit << 20)
        pool = StreamPool([SessionStream(open_session(path, providers), 0)])
        with collected() as said:
            found = pool.run(feed)
        if pool.largest < largest:
            expected = np.repeat(one["policy"], largest, axis=0)
            _, error = difference(found["policy"], expected)
            _check(error <= OTHERWISE, f"outputs are {error:.1%} of their range off")
            return f"with {limit} MB: {said[-1]}"
    raise ProofError(f"batches of {largest} fit into {SMALL_MEMORIES_MB[-1]} MB")


def does_without_a_gpu(wanted: str | None) -> str:
    """Take the GPU away: one line says so, and a move comes all the same."""
    command = own_command("--device", "cuda", "--playouts", "2")
    found = subprocess.run(
        [*command, *([] if wanted is None else ["--net", wanted])],
        input="boardsize 9\ngenmove black\nquit\n",
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=True,
    )
    answers = [line for line in found.stdout.splitlines() if line]
    _check(len(answers) == 3 and len(answers[1]) > 2, f"answered {answers}")
    lines = [line for line in found.stderr.splitlines() if "instead of CUDA" in line]
    _check(len(lines) == 1, f"said {found.stderr!r}")
    return lines[0].removeprefix("gtp-engine: ")


PROOFS: tuple[tuple[str, bool, Callable[[str | None], str]], ...] = (
    ("the GPU computes what the CPU computes", True, outputs_agree),
    ("a whole game runs on the GPU", True, plays_a_game),
    ("want of memory is answered by smaller batches", True, survives_want_of_memory),
    ("without the GPU the CPU plays", False, does_without_a_gpu),
)
"""What is proved, whether it needs a GPU, and how."""
