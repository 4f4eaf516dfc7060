"""Every foreign net, converted and asked about positions, says what the original program said."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.evaluators.reference_rows import (
    PROBABILITY,
    Row,
    check_outputs,
    expected_policy,
    planes_of,
    position_of,
    read_rows,
)

from gtp_engine.coords import BLACK, WHITE, parse_color, parse_vertex
from gtp_engine.evaluators.human_profile import HumanProfile
from gtp_engine.evaluators.net_evaluator import NetEvaluator
from gtp_engine.evaluators.nets.onnx_net import OnnxNet
from gtp_engine.go.position import Position
from gtp_engine.go.symmetry import transform
from gtp_export.convert.conversion import convert_file

KATAGO_NETS = (
    "kata-repo-b7c96h3tfrs-test5-cnorm",
    "kata-repo-b7c96h6kv3qk32v16tflrs-fson-bnh",
    "kata-v10-b3c20-relu",
    "kata-v11-b2c24nbt-bng-mish",
    "kata-v12-b2c24nbt-bn-mish",
    "kata-v13-b2c24nbt-fixup-mish",
    "kata-v14-b2c24nbt-fson-mish-rvgl-bnh",
    "kata-v14as15-b3c24-fson-relu",
    "kata-v15-b2c24nbt-fson-mish-rvgl-bnh",
    "kata-v15-b2c24nbt-humansl-meta",
    "kata-v15-b3c24-fixup-silu",
    "kata-v16-b2c24nbt-q",
    "kata-v17-b2c24tflr-gqa-fson-bnh",
    "kata-v17-b2c24tfr-fixedrope-rmsnorm",
    "kata-v17-b2c32nbttflr-fson-silu-rsnh",
    "kata-v17-mixed-conv-tfr-q-passalive-meta",
    "kata-v3-b3c20-relu",
    "kata-v4-b3c20-relu",
    "kata-v5-b2c20-relu",
    "kata-v6-b2c20-relu",
    "kata-v7-b3c20-relu",
    "kata-v8-b3c20-relu",
    "kata-v9-b2c20-relu",
)
LEELA_ZERO_NETS = ("lz-v1-b2f16", "lz-v2-b2f16")

Open = Callable[[str], NetEvaluator]


@pytest.fixture
def open_tiny(reference_data: Path, tmp_path: Path) -> Open:
    """Convert a net of the reference data and open it."""

    def open_one(name: str) -> NetEvaluator:
        source, *_ = sorted((reference_data / "nets" / "tiny").glob(f"{name}.*.gz"))
        convert_file(source, tmp_path / f"{name}.onnx")
        return NetEvaluator(OnnxNet(tmp_path / f"{name}.onnx", "cpu"), streams=1, max_batch=8)

    return open_one


def rows_of(reference_data: Path, name: str) -> list[Row]:
    rows = read_rows(reference_data / "nets" / "tiny" / f"{name}.reference.jsonl")
    assert rows
    return rows


# KataGo ------------------------------------------------------------------------------------------


def check_inputs(evaluator: NetEvaluator, position: Position, row: Row) -> None:
    """Compare planes, globals and profile with what KataGo fed, before any symmetry."""
    batch = evaluator.new_batch(1, position.width, position.height)
    rules = position.rules.flags
    evaluator.encode(batch, 0, position.history, position.ply, rules, 0, 0.0)
    np.testing.assert_array_equal(batch.spatial[0], planes_of(row))
    profile = row["input"]["meta"] if evaluator.net.info.meta_features else []
    expected = row["input"]["global"] + profile
    np.testing.assert_allclose(batch.features[0], expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", KATAGO_NETS)
def test_katago(reference_data: Path, open_tiny: Open, name: str) -> None:
    evaluator = open_tiny(name)
    for row in rows_of(reference_data, name):
        if row.get("playout_doubling_advantage"):
            continue  # both players search alike here
        if "human_profile" in row:
            evaluator.human_profile = HumanProfile.parse(row["human_profile"])
        position = position_of(row)
        optimism = row.get("optimism", 0.0)
        found = evaluator.raw_evaluation(position, row["symmetry"], optimism)
        try:
            check_inputs(evaluator, position, row)
            check_outputs(found, row)
        except AssertionError as error:
            raise AssertionError(f"{name}, row {row['id']}: {error}") from error


def test_the_cache_tells_profiles_apart(reference_data: Path, open_tiny: Open) -> None:
    evaluator = open_tiny("kata-v15-b2c24nbt-humansl-meta")
    assert evaluator.takes_profile
    values = []
    for name in ("rank_20k", "rank_9d", "rank_20k", "rank_9d_20k", "rank_20k_9d"):
        evaluator.human_profile = HumanProfile.parse(name)
        batch = evaluator.new_batch(2, 9, 9)
        for slot, color in enumerate((BLACK, WHITE)):
            position = Position(9)
            position.to_play = color
            rules = position.rules.flags
            evaluator.encode(batch, slot, position.history, position.ply, rules, 0, 0.0)
        evaluator.evaluate(batch, 2)
        values.append([float(value) for value in batch.value])
    assert values[0] == values[2]
    assert len({black for black, _ in values}) == 4, "the mover's rank and the other's both count"
    assert len({white for _, white in values}) == 4
    assert evaluator.cache_hits == 2


# Leela Zero --------------------------------------------------------------------------------------


def leela_zero_position(row: Row) -> Position:
    position = Position(row["width"], row["height"])
    for color, vertex in row["moves"]:
        position.play(parse_color(color), parse_vertex(vertex, 19, 19), strict=False)
    assert position.to_play == parse_color(row["to_play"])
    return position


def our_symmetry(symmetry: int) -> int:
    """Return our number of the symmetry under which Leela Zero's net sees a position.

    Leela Zero says where each point of the net's board comes from: swap x and y (bit 2), then
    mirror x (bit 1), then y (bit 0). Undone from the end: flip the rows, flip the columns,
    transpose, which are our bits 0, 1 and 2; but it counts rows from the bottom, and so swaps
    along the other diagonal.
    """
    return symmetry ^ 3 if symmetry & 4 else symmetry


@pytest.mark.parametrize("name", LEELA_ZERO_NETS)
def test_leela_zero(reference_data: Path, open_tiny: Open, name: str) -> None:
    evaluator = open_tiny(name)
    for row in rows_of(reference_data, name):
        position = leela_zero_position(row)
        batch = evaluator.new_batch(1, 19, 19)
        rules = position.rules.flags
        evaluator.encode(batch, 0, position.history, position.ply, rules, 0, 0.0)
        # The reference counts rows from the bottom.
        theirs = planes_of(row | {"input": {"spatial": row["input"]["planes"]}})[:, ::-1]
        np.testing.assert_array_equal(batch.spatial[0], theirs)
        for result in row["results"]:
            whole = result["symmetry"] == "average"
            symmetry = None if whole else our_symmetry(result["symmetry"])
            found = evaluator.raw_evaluation(position, symmetry)
            assert found.win == pytest.approx(result["winrate"], abs=PROBABILITY)
            assert found.win + found.loss == pytest.approx(1.0)
            if not whole:  # Leela Zero averages before it leaves out what is illegal
                policy = np.append(found.policy, np.float32(found.policy_pass))
                expected = expected_policy(result)
                expected[np.isnan(policy)] = np.nan
                expected /= np.nansum(expected)
                np.testing.assert_allclose(policy, expected, rtol=0, atol=PROBABILITY)


@pytest.mark.parametrize("symmetry", range(8))
def test_our_symmetry_shows_what_leela_zero_shows(symmetry: int) -> None:
    y, x = np.divmod(np.arange(361), 19)
    if symmetry & 4:
        x, y = y, x
    if symmetry & 2:
        x = 18 - x
    if symmetry & 1:
        y = 18 - y
    board = np.arange(361).reshape(19, 19)
    theirs = board[y, x].reshape(19, 19)  # rows from the bottom
    ours = transform(np.ascontiguousarray(board[::-1]), our_symmetry(symmetry))
    np.testing.assert_array_equal(ours[::-1], theirs)
