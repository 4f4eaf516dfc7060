"""Converted nets against the outputs the original programs gave for the same inputs."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

from gtp_engine.evaluators.nets.net_info import NetInfo
from gtp_export.convert.conversion import convert_file

RAW_LOGITS = 3e-4
PROBABILITY = 1e-4
LEAD = 0.01
OWNERSHIP = 1e-3


def unpack_planes(rows: list[str], height: int, width: int) -> np.ndarray:
    """Unpack one hex string a plane, most significant bit first."""
    points = height * width
    planes = []
    for row in rows:
        bits = np.unpackbits(np.frombuffer(bytes.fromhex(row + "0" * (len(row) % 2)), np.uint8))
        planes.append(bits[:points].reshape(height, width))
    return np.stack(planes)


def apply_symmetry(planes: np.ndarray, symmetry: int) -> np.ndarray:
    """Flip rows (bit 0), columns (bit 1), then transpose (bit 2) the last two axes."""
    if symmetry & 1:
        planes = planes[..., ::-1, :]
    if symmetry & 2:
        planes = planes[..., ::-1]
    if symmetry & 4:
        planes = planes.swapaxes(-1, -2)
    return np.ascontiguousarray(planes)


def undo_symmetry(planes: np.ndarray, symmetry: int) -> np.ndarray:
    """Invert `apply_symmetry`."""
    if symmetry & 4:
        planes = planes.swapaxes(-1, -2)
    if symmetry & 2:
        planes = planes[..., ::-1]
    if symmetry & 1:
        planes = planes[..., ::-1, :]
    return planes


def softmax(logits: np.ndarray) -> np.ndarray:
    shifted = np.exp(logits.astype(np.float64) - logits.max())
    return shifted / shifted.sum()


def softplus(value: float) -> float:
    return float(np.logaddexp(0.0, value))


class Net:
    """A converted net in a session, with the description it carries."""

    def __init__(self, path: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
        metadata = self.session.get_modelmeta().custom_metadata_map
        self.info = NetInfo.from_metadata(metadata)
        self.names = [output.name for output in self.session.get_outputs()]

    def run(self, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return dict(zip(self.names, self.session.run(None, inputs), strict=True))


def katago_row(net: Net, row: dict[str, Any]) -> dict[str, np.ndarray]:
    """Run one row and return its outputs with the symmetry undone, policies flat."""
    planes = unpack_planes(row["input"]["spatial"], row["height"], row["width"])
    symmetry = row["symmetry"]
    inputs = {
        "spatial_in": apply_symmetry(planes, symmetry)[None],
        "global_in": np.array([row["input"]["global"]], np.float32),
    }
    if net.info.meta_features:
        inputs["meta_in"] = np.array([row["input"]["meta"]], np.float32)
    outputs = {name: array[0] for name, array in net.run(inputs).items()}
    shape = inputs["spatial_in"].shape[2:]
    for name in ("policy", "policy_optimistic", "q_winloss", "q_score"):
        if name in outputs:
            board = undo_symmetry(outputs[name][:-1].reshape(shape), symmetry)
            outputs[name] = np.append(board.ravel(), outputs[name][-1])
    outputs["ownership"] = undo_symmetry(outputs["ownership"], symmetry)
    return outputs


def mixed_policy(outputs: dict[str, np.ndarray], optimism: float) -> np.ndarray:
    policy = outputs["policy"]
    if optimism == 0:
        return policy
    return policy + (outputs["policy_optimistic"] - policy) * optimism


def check_policy(row: dict[str, Any], logits: np.ndarray) -> None:
    expected = [p for line in row["policy"] for p in line] + [row["policy_pass"]]
    legal = np.array([p is not None for p in expected])
    found = softmax(logits[legal])
    np.testing.assert_allclose(found, [p for p in expected if p is not None], atol=PROBABILITY)


def check_value(net: Net, row: dict[str, Any], outputs: dict[str, np.ndarray]) -> None:
    """Compare win chances and scores after the treatment of no result that the rules ask for."""
    logits = outputs["value"].astype(np.float64)
    rules = row["rules"]
    by_rules = net.info.no_result == "by_rules"
    if by_rules and rules["ko"] != "SIMPLE" and rules["scoring"] != "TERRITORY":
        logits[2] = -np.inf
    win, loss, no_result = softmax(logits)
    if row["to_play"] == "B":
        win, loss = loss, win
    assert win == pytest.approx(row["white_win"], abs=PROBABILITY)
    assert loss == pytest.approx(row["white_loss"], abs=PROBABILITY)
    assert no_result == pytest.approx(row["no_result"], abs=PROBABILITY)
    sign = 1 if row["to_play"] == "W" else -1
    result = 1 - no_result if by_rules else 1.0
    score = dict(zip(net.info.score_columns, outputs["score"].tolist(), strict=True))
    assert sign * score["lead"] * result == pytest.approx(row["white_lead"], abs=LEAD)
    assert sign * score["score_mean"] * result == pytest.approx(row["white_score"], abs=LEAD)
    square = (score["score_mean"] ** 2 + score.get("score_stdev", 0.0) ** 2) * result
    assert square == pytest.approx(row["white_score_sq"], rel=2e-4, abs=LEAD)
    for column, key in (
        ("var_time", "var_time_left"),
        ("shortterm_winloss_error", "shortterm_winloss_error"),
        ("shortterm_score_error", "shortterm_score_error"),
    ):
        if row[key] == -1.0:  # KataGo's word for what a version does not tell
            assert column not in score
        else:
            assert score[column] == pytest.approx(row[key], rel=2e-4, abs=1e-3)


def check_katago_row(net: Net, row: dict[str, Any]) -> None:
    outputs = katago_row(net, row)
    raw = row["raw"]
    logits = mixed_policy(outputs, row.get("optimism", 0.0))
    np.testing.assert_allclose(logits, raw["policy"], atol=RAW_LOGITS)
    np.testing.assert_allclose(outputs["value"], raw["value"], atol=RAW_LOGITS)
    ownership = np.array(raw["ownership"]).reshape(outputs["ownership"].shape)
    np.testing.assert_allclose(outputs["ownership"], np.tanh(ownership), atol=PROBABILITY)
    if "q_winloss" in raw and "q_winloss" in outputs:
        np.testing.assert_allclose(outputs["q_winloss"], np.tanh(raw["q_winloss"]), atol=RAW_LOGITS)
        np.testing.assert_allclose(
            outputs["q_score"], 20 * np.array(raw["q_score"]), atol=20 * RAW_LOGITS
        )
    check_policy(row, logits)
    check_value(net, row, outputs)
    sign = 1 if row["to_play"] == "W" else -1
    np.testing.assert_allclose(sign * outputs["ownership"], row["white_ownership"], atol=OWNERSHIP)


def rows_of(path: Path) -> Iterator[dict[str, Any]]:
    with path.open() as lines:
        for line in lines:
            yield json.loads(line)


def tiny_nets(reference_data: Path, pattern: str) -> list[Path]:
    found = sorted((reference_data / "nets" / "tiny").glob(pattern))
    assert found, f"no {pattern} in the reference data"
    return found


def reference_of(net: Path) -> Path:
    return net.with_name(net.name.split(".")[0] + ".reference.jsonl")


def test_katago_nets_agree_with_katago(reference_data: Path, tmp_path: Path) -> None:
    checked = 0
    for source in tiny_nets(reference_data, "kata-*.gz"):
        target = tmp_path / (source.name + ".onnx")
        convert_file(source, target)
        net = Net(target)
        for row in rows_of(reference_of(source)):
            try:
                check_katago_row(net, row)
            except AssertionError as error:
                raise AssertionError(f"{source.name}, row {row['id']}: {error}") from error
            checked += 1
    assert checked > 0


def leela_zero_map(symmetry: int) -> np.ndarray:
    """Return where each point goes: swap x, y (bit 2), mirror x (bit 1), mirror y (bit 0)."""
    y, x = np.divmod(np.arange(361), 19)
    if symmetry & 4:
        x, y = y, x
    if symmetry & 2:
        x = 18 - x
    if symmetry & 1:
        y = 18 - y
    return y * 19 + x


def run_leela_zero(net: Net, planes: np.ndarray) -> tuple[np.ndarray, float]:
    """Run planes [18, 361] counted from the bottom; return logits counted so, and the value."""
    board = planes.reshape(1, 18, 19, 19)[:, :, ::-1]
    outputs = net.run({"spatial_in": np.ascontiguousarray(board)})
    policy = outputs["policy"][0]
    moves = policy[:361].reshape(19, 19)[::-1].ravel()
    return np.append(moves, policy[361]), float(outputs["value"][0, 0])


def check_leela_zero_row(net: Net, row: dict[str, Any]) -> None:
    planes = unpack_planes(row["input"]["planes"], 19, 19).reshape(18, 361)
    logits, value = run_leela_zero(net, planes)
    np.testing.assert_allclose(logits, row["raw"]["policy"], atol=RAW_LOGITS)
    blacks = "format 2" in net.info.source
    sign = -1 if blacks and row["to_play"] == "W" else 1
    assert value == pytest.approx(sign * np.tanh(row["raw"]["value"]), abs=PROBABILITY)
    for result in row["results"]:
        average = result["symmetry"] == "average"
        symmetries = range(8) if average else [result["symmetry"]]
        policy, winrate = np.zeros(362), 0.0
        for symmetry in symmetries:
            mapped = leela_zero_map(symmetry)
            logits, value = run_leela_zero(net, planes[:, mapped])
            probabilities = softmax(logits)
            policy[mapped] += probabilities[:361] / len(symmetries)
            policy[361] += probabilities[361] / len(symmetries)
            winrate += (1 + value) / 2 / len(symmetries)
        # Rows of the reference count from the top.
        expected = np.array(result["policy"])[::-1].ravel()
        np.testing.assert_allclose(policy[:361], expected, atol=PROBABILITY)
        assert policy[361] == pytest.approx(result["policy_pass"], abs=PROBABILITY)
        assert winrate == pytest.approx(result["winrate"], abs=PROBABILITY)


def test_leela_zero_nets_agree_with_leela_zero(reference_data: Path, tmp_path: Path) -> None:
    for source in tiny_nets(reference_data, "lz-*.gz"):
        target = tmp_path / (source.name + ".onnx")
        convert_file(source, target)
        net = Net(target)
        for row in rows_of(reference_of(source)):
            check_leela_zero_row(net, row)


def test_teacher_converts(reference_data: Path, tmp_path: Path) -> None:
    (source,) = (reference_data / "nets").glob("g170-b6c96*.bin.gz")
    target = tmp_path / "teacher.onnx"
    info = convert_file(source, target).info
    assert (info.encoder, info.parameters) == ("katago_v7", 1_027_911)
    net = Net(target)
    for height, width in ((2, 2), (9, 9), (7, 25), (19, 19)):
        inputs = {
            "spatial_in": np.ones((3, 22, height, width), np.uint8),
            "global_in": np.zeros((3, 19), np.float32),
        }
        outputs = net.run(inputs)
        assert outputs["policy"].shape == (3, height * width + 1)
        assert outputs["ownership"].shape == (3, height, width)
        assert outputs["score"].shape == (3, 3)
