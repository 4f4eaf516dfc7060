"""The search says the same when its kernels run as plain Python."""

import json
import os
import subprocess
import sys

from tests.paths import TINY_NET

PROBE = """
import json, sys
from pathlib import Path
from gtp_engine import kernels
from gtp_engine.evaluators.fake import FakeEvaluator
from gtp_engine.evaluators.net_evaluator import NetEvaluator
from gtp_engine.evaluators.nets.onnx_net import OnnxNet
from gtp_engine.go.position import Position
from gtp_engine.go.rules import Rules
from gtp_engine.search.stopping import Limits
from gtp_engine.search.search import Search

def visits(evaluator, position, playouts):
    search = Search(evaluator, seed=3)
    search.set_position(position)
    search.run(Limits(playouts=playouts))
    return sorted((child.move, child.visits) for child in search.children())

net = NetEvaluator(OnnxNet(Path(sys.argv[1]), "cpu"), streams=1, max_batch=4)
result = [
    visits(FakeEvaluator(), Position(4, 4, Rules.parse("tromp-taylor")), 80),
    visits(FakeEvaluator(), Position(3, 4, Rules.parse("japanese")), 80),
    visits(net, Position(4, 4), 15),
    net.cache_hits,
]
json.dump([bool(kernels.JIT_ENABLED), result], sys.stdout)
"""


def probe(tiny_net: str, **environment: str) -> list[object]:
    inherited = {name: value for name, value in os.environ.items() if name != "NUMBA_DISABLE_JIT"}
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROBE, tiny_net],
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    answer: list[object] = json.loads(run.stdout)
    return answer


def test_interpreted_kernels_search_alike() -> None:
    compiled, interpreted = probe(TINY_NET), probe(TINY_NET, NUMBA_DISABLE_JIT="1")
    assert (compiled[0], interpreted[0]) == (True, False)
    assert compiled[1] == interpreted[1]
