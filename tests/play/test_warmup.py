"""The first start compiles in two processes; both halves run, and a bad net breaks nothing."""

from pathlib import Path

from gtp_engine.play.warmup import compile_search, start_child

TINY_NET = Path(__file__).resolve().parent.parent / "data" / "tiny.onnx"


def test_both_sides_run() -> None:
    child = start_child(str(TINY_NET))
    assert child is not None
    compile_search()
    assert child.wait(timeout=600) == 0


def test_a_child_without_a_net_ends_by_itself(tmp_path: Path) -> None:
    child = start_child(str(tmp_path / "missing.onnx"))
    assert child is not None
    assert child.wait(timeout=600) != 0
