"""The first start compiles in several processes; all parts run, and a bad net breaks nothing."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gtp_engine.evaluators.net_evaluator import open_net
from gtp_engine.go import jit
from gtp_engine.play.settings import Settings
from gtp_engine.play.warmup import compile_outputs, compile_search, precompile, start_children

SEARCHED = """
import json, sys
from gtp_engine.play.warmup import compile_search
from gtp_engine.evaluators import fake
from gtp_engine.go import scoring
from gtp_engine.play import move_choice
from gtp_engine.search import leaf
compile_search()
wanted = [leaf.gather, leaf.prepare, leaf.finish_leaves, leaf.finish_game, leaf.mean_ownership]
wanted += [scoring.white_score]
json.dump({"missing": [each.__name__ for each in wanted if not each.signatures],
           "for the fake alone": len(fake._encode.signatures)}, sys.stdout)
"""

LOADED = """
import gc, json, sys
from gtp_engine.play.engine import Engine
from gtp_engine.play.settings import Settings
engine = Engine(Settings(net=sys.argv[1], device="cpu", size=(5, 5)))
full = gc.get_stats()[2]["collections"]
engine.wait_ready()
json.dump({"full": gc.get_stats()[2]["collections"] - full, "enabled": gc.isenabled(),
           "frozen": gc.get_freeze_count()}, sys.stdout)
"""

TINY_NET = str(Path(__file__).resolve().parent.parent / "data" / "tiny.onnx")


@pytest.mark.parametrize("cores, parts", [(2, 1), (3, 2)])
def test_all_parts_run(cores: int, parts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    children = start_children(TINY_NET)
    assert len(children) == parts
    compile_search()
    evaluator = open_net(TINY_NET, "cpu")
    compile_outputs(evaluator)
    assert evaluator.batcher.evaluations == 1
    assert [child.wait(timeout=600) for child in children] == [0] * parts


def test_a_child_without_a_net_ends_by_itself(tmp_path: Path) -> None:
    children = start_children(str(tmp_path / "missing.onnx"))
    assert children[0].wait(timeout=600) != 0
    for child in children[1:]:
        child.wait(timeout=600)


def test_everything_can_be_compiled_beforehand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    monkeypatch.setattr(jit, "CACHE_FOLDER", tmp_path)
    assert not jit.cache_is_warm()
    precompile(Settings(net=TINY_NET, device="cpu"))
    assert len(said) == 1 and said[0].startswith("net tiny ")
    assert jit.cache_is_warm()


def answer(program: str, *words: str) -> dict[str, Any]:
    """Run a program in a process of its own, which has loaded nothing yet."""
    command = [sys.executable, "-W", "error", "-c", program, *words]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(run.stdout)
    return found


@pytest.mark.skipif(not jit.JIT_ENABLED, reason="kernels run as plain Python")
def test_the_search_is_compiled_whole_and_nothing_for_tests_alone() -> None:
    assert answer(SEARCHED) == {"missing": [], "for the fake alone": 0}


@pytest.mark.skipif(jit.CACHE_FOLDER is None or not jit.JIT_ENABLED, reason="nothing is kept")
def test_loading_is_no_work_for_the_garbage_collector() -> None:
    answer(LOADED, TINY_NET)  # may compile what no other test has
    found = answer(LOADED, TINY_NET)
    assert found["full"] == 0 and found["enabled"]
    assert found["frozen"] > 50_000, "nor is it any work later"
