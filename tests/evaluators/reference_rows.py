"""Rows of reference files: positions with the inputs and outputs of the original programs."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gtp_engine.coords import WHITE, parse_color, parse_vertex
from gtp_engine.evaluators.net_evaluator import RawEvaluation
from gtp_engine.go.position import Position
from gtp_engine.go.rules import Rules

Row = dict[str, Any]

PROBABILITY = 1e-4
LEAD = 0.01
OWNERSHIP = 1e-3


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a reference file."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def position_of(row: Row) -> Position:
    """Replay a row's moves; two passes of a territory game lead into its encores."""
    rules = replace(Rules.from_kata(row["rules"]), komi=row["komi"])
    position = Position(row["width"], row["height"], rules, encores=True)
    for color, vertex in row["moves"]:
        position.play(parse_color(color), parse_vertex(vertex, position.width, position.height))
    assert position.to_play == parse_color(row["to_play"])
    return position


def planes_of(row: Row) -> np.ndarray:
    """Return [C, H, W] the planes that the original program filled, before any symmetry."""
    height, width = row["height"], row["width"]
    planes = []
    for text in row["input"]["spatial"]:
        bits = np.unpackbits(np.frombuffer(bytes.fromhex(text + "0" * (len(text) % 2)), np.uint8))
        planes.append(bits[: height * width].reshape(height, width))
    return np.stack(planes)


def expected_policy(result: Row) -> np.ndarray:
    """Return [H, W] and the pass in a row, NaN where a move is illegal."""
    flat = [p for line in result["policy"] for p in line] + [result["policy_pass"]]
    return np.array([np.nan if p is None else p for p in flat], np.float32)


def check_outputs(found: RawEvaluation, row: Row) -> None:
    """Compare what a net of KataGo's says with a row, which is in White's view."""
    policy = np.append(found.policy, np.float32(found.policy_pass))
    expected = expected_policy(row)
    assert (np.isnan(policy) == np.isnan(expected)).all(), "other moves are legal"
    np.testing.assert_allclose(policy, expected, rtol=0, atol=PROBABILITY)
    is_white = found.to_play == WHITE
    sign = 1 if is_white else -1
    win, loss = (found.win, found.loss) if is_white else (found.loss, found.win)
    assert win == pytest.approx(row["white_win"], abs=PROBABILITY)
    assert loss == pytest.approx(row["white_loss"], abs=PROBABILITY)
    assert found.no_result == pytest.approx(row["no_result"], abs=PROBABILITY)
    assert sign * found.lead == pytest.approx(row["white_lead"], abs=LEAD)
    assert sign * found.score_mean == pytest.approx(row["white_score"], abs=LEAD)
    square = found.score_stdev**2 + found.score_mean**2
    assert square == pytest.approx(row["white_score_sq"], rel=1e-3, abs=LEAD)
    for number, name in (
        (found.var_time, "var_time_left"),
        (found.shortterm_winloss_error, "shortterm_winloss_error"),
        (found.shortterm_score_error, "shortterm_score_error"),
    ):
        if row[name] == -1.0:  # the reference's word for what it does not tell
            assert number is None
        else:
            assert number == pytest.approx(row[name], rel=1e-3, abs=1e-3)
    assert found.ownership is not None
    np.testing.assert_allclose(
        sign * found.ownership, row["white_ownership"], rtol=0, atol=OWNERSHIP
    )
