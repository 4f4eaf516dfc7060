"""The whole way from moves to a net's judgement, against what KataGo says with the same net."""

from pathlib import Path

import numpy as np
import pytest
from tests.evaluators.reference_rows import Row, position_of, read_rows

from gtp_engine.coords import WHITE
from gtp_engine.evaluators.net_evaluator import NetEvaluator
from gtp_engine.evaluators.onnx_net import OnnxNet
from gtp_export.convert.conversion import convert_file

NET = "g170-b6c96-s175395328-d26788732.bin.gz"
ROWS = "g170-b6c96.reference.jsonl"
PROBABILITY = 1e-4
LEAD = 0.01
OWNERSHIP = 1e-3


@pytest.fixture(scope="module")
def evaluator(reference_data: Path, tmp_path_factory: pytest.TempPathFactory) -> NetEvaluator:
    path = tmp_path_factory.mktemp("nets") / "reference.onnx"
    convert_file(reference_data / "nets" / NET, path)
    return NetEvaluator(OnnxNet(path, "cpu"), streams=1, max_batch=8)


def check_row(evaluator: NetEvaluator, row: Row) -> None:
    position = position_of(row)
    found = evaluator.raw_evaluation(position, row["symmetry"], row.get("optimism", 0.0))
    is_white = position.to_play == WHITE
    sign = 1 if is_white else -1
    win, loss = (found.win, found.loss) if is_white else (found.loss, found.win)
    assert win == pytest.approx(row["white_win"], abs=PROBABILITY)
    assert loss == pytest.approx(row["white_loss"], abs=PROBABILITY)
    assert found.no_result == pytest.approx(row["no_result"], abs=PROBABILITY)
    assert sign * found.lead == pytest.approx(row["white_lead"], abs=LEAD)
    assert sign * found.score_mean == pytest.approx(row["white_score"], abs=LEAD)
    square = found.score_stdev**2 + found.score_mean**2
    assert square == pytest.approx(row["white_score_sq"], rel=1e-3, abs=LEAD)

    expected = np.array(
        [[np.nan if p is None else p for p in line] for line in row["policy"]], np.float32
    )
    assert (np.isnan(found.policy) == np.isnan(expected)).all(), "other moves are legal"
    np.testing.assert_allclose(found.policy, expected, rtol=0, atol=PROBABILITY)
    assert found.policy_pass == pytest.approx(row["policy_pass"], abs=PROBABILITY)
    assert found.ownership is not None
    np.testing.assert_allclose(
        sign * found.ownership, row["white_ownership"], rtol=0, atol=OWNERSHIP
    )


def test_every_row(reference_data: Path, evaluator: NetEvaluator) -> None:
    rows = read_rows(reference_data / "nets" / ROWS)
    assert len(rows) >= 70
    for number, row in enumerate(rows):
        try:
            check_row(evaluator, row)
        except AssertionError as error:
            raise AssertionError(f"row {number}: {error}") from error
