"""The best batch for a GPU, with a net on the CPU that takes itself for one."""

from pathlib import Path

import pytest
from tests.paths import TINY

from gtp_engine.evaluators import batch_tuning
from gtp_engine.evaluators.batch_tuning import (
    best_batch,
    measure_batches,
    recall_batch,
)
from gtp_engine.evaluators.net_evaluator import GPU_BATCH, NetEvaluator
from gtp_engine.evaluators.nets.composition import Net, members_of
from gtp_engine.evaluators.nets.onnx_net import OnnxNet

PATIENCE = 60.0


@pytest.fixture
def evaluator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> NetEvaluator:
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", "HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setattr(batch_tuning, "MEASURED_SECONDS", 0.005)
    monkeypatch.setattr(batch_tuning, "PAUSE_SECONDS", 0.0)
    net = OnnxNet(TINY, "cpu")
    net.device = "cuda"
    return NetEvaluator(net, streams=2, max_batch=256)


def tune(evaluator: NetEvaluator) -> None:
    thread = evaluator.tune_batch(5, 5)
    assert thread is not None
    thread.join(PATIENCE)


@pytest.mark.parametrize(
    "speeds, batch",
    [
        ({8: 100.0, 16: 150.0, 32: 190.0, 64: 200.0}, 32),
        ({8: 100.0, 16: 150.0, 32: 179.0, 64: 200.0}, 64),
        ({8: 100.0, 16: 90.0}, 8),
    ],
)
def test_the_smallest_batch_near_the_greatest_speed(speeds: dict[int, float], batch: int) -> None:
    assert best_batch(speeds) == batch


def test_the_batch_is_measured_and_remembered(evaluator: NetEvaluator) -> None:
    assert recall_batch(evaluator.net) is None and evaluator.suggest(None, None) == (2, GPU_BATCH)
    evaluator.gpu_batch = 1
    tune(evaluator)
    batch = evaluator.gpu_batch
    assert batch in batch_tuning.CANDIDATES
    assert recall_batch(evaluator.net) == batch
    assert evaluator.suggest(None, None) == (2, batch)
    assert evaluator.tune_batch(5, 5) is None, "it is known"
    assert evaluator.suggest(7, 3) == (7, 3), "what the user says goes first"


def test_a_net_whose_file_is_gone_is_measured_all_the_same(
    evaluator: NetEvaluator, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    net = members_of(evaluator.net)[0]
    net.path = tmp_path / "removed.onnx"
    evaluator.gpu_batch = 1
    tune(evaluator)
    assert evaluator.gpu_batch == recall_batch(evaluator.net) in batch_tuning.CANDIDATES


def test_a_search_meanwhile_spoils_the_measurement(
    evaluator: NetEvaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = evaluator.new_batch(1, 5, 5)
    assert measure_batches(evaluator.net, evaluator.batcher, 5, 5) is not None
    measure = batch_tuning._speed

    def disturbed(*args: object) -> float:
        evaluator.batcher.evaluate(batch.spatial, batch.features)
        return measure(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(batch_tuning, "_speed", disturbed)
    assert measure_batches(evaluator.net, evaluator.batcher, 5, 5) is None
    tune(evaluator)
    assert recall_batch(evaluator.net) is None and evaluator.gpu_batch == GPU_BATCH


def test_a_net_that_has_left_the_gpu_is_not_measured(
    evaluator: NetEvaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[int] = []

    def fail(net: Net, streams: int, width: int, height: int, batch: int) -> float:
        tried.append(batch)
        net.device = "cpu"
        return 1.0

    monkeypatch.setattr(batch_tuning, "_speed", fail)
    tune(evaluator)
    assert len(tried) == 1 and recall_batch(evaluator.net) is None
    assert measure_batches(evaluator.net, evaluator.batcher, 5, 5) is None
