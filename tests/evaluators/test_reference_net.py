"""The whole way from moves to a net's judgement, against what KataGo says with the same net."""

from pathlib import Path

import pytest
from tests.evaluators.reference_rows import check_outputs, position_of, read_rows

from gtp_engine.evaluators.net_evaluator import NetEvaluator
from gtp_engine.evaluators.nets.onnx_net import OnnxNet
from gtp_export.convert.conversion import convert_file

NET = "g170-b6c96-s175395328-d26788732.bin.gz"
ROWS = "g170-b6c96.reference.jsonl"


@pytest.fixture(scope="module")
def evaluator(reference_data: Path, tmp_path_factory: pytest.TempPathFactory) -> NetEvaluator:
    path = tmp_path_factory.mktemp("nets") / "reference.onnx"
    convert_file(reference_data / "nets" / NET, path)
    return NetEvaluator(OnnxNet(path, "cpu"), streams=1, max_batch=8)


def test_every_row(reference_data: Path, evaluator: NetEvaluator) -> None:
    rows = read_rows(reference_data / "nets" / ROWS)
    assert len(rows) >= 70
    for number, row in enumerate(rows):
        position, optimism = position_of(row), row.get("optimism", 0.0)
        found = evaluator.raw_evaluation(position, row["symmetry"], optimism)
        try:
            check_outputs(found, row)
        except AssertionError as error:
            raise AssertionError(f"row {number}: {error}") from error
