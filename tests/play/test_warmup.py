"""The first start compiles in several processes; all parts run, and a bad net breaks nothing."""

import os
from pathlib import Path

import pytest

from gtp_engine.evaluators.net_evaluator import open_net
from gtp_engine.go import jit
from gtp_engine.play.settings import Settings
from gtp_engine.play.warmup import compile_outputs, compile_search, precompile, start_children

TINY_NET = str(Path(__file__).resolve().parent.parent / "data" / "tiny.onnx")


@pytest.mark.parametrize("cores, parts", [(2, 1), (3, 2)])
def test_all_parts_run(cores: int, parts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    children = start_children(TINY_NET)
    assert len(children) == parts
    compile_search()
    evaluator = open_net(TINY_NET, "cpu", say=print)
    compile_outputs(evaluator)
    assert evaluator.queue.evaluations == 1
    assert [child.wait(timeout=600) for child in children] == [0] * parts


def test_a_child_without_a_net_ends_by_itself(tmp_path: Path) -> None:
    children = start_children(str(tmp_path / "missing.onnx"))
    assert children[0].wait(timeout=600) != 0
    for child in children[1:]:
        child.wait(timeout=600)


def test_everything_can_be_compiled_beforehand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jit, "CACHE_FOLDER", tmp_path)
    assert not jit.cache_is_warm()
    said: list[str] = []
    precompile(Settings(net=TINY_NET, device="cpu"), said.append)
    assert len(said) == 1 and said[0].startswith("net tiny ")
    assert jit.cache_is_warm()
