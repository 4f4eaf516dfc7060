"""Converted KataGo nets against a slow float64 evaluation of the same layers."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from tests.export.convert import katago_oracle
from tests.export.convert.katago_writer import (
    ATTENTION,
    FEED_FORWARD,
    ORDINARY,
    POOLING,
    Nested,
    NetPlan,
    write_net,
)

from gtp_engine.evaluators.nets.net_info import NetInfo, golden_from_metadata
from gtp_export.convert.conversion import convert_file
from gtp_export.convert.katago_file import read_katago
from gtp_export.convert.katago_heads import score_columns
from gtp_export.convert.katago_net import Multipliers

TRANSFORMER = (ATTENTION, FEED_FORWARD)
PLANS = {
    **{f"version {version}": NetPlan(version=version) for version in range(3, 18)},
    "5x5 stem, relu": NetPlan(version=8, kernel=5),
    "silu": NetPlan(version=15, activation="SILU"),
    "identity": NetPlan(version=14, activation="IDENTITY"),
    "player metadata": NetPlan(version=15, meta=True),
    "nested": NetPlan(version=14, blocks=(Nested((ORDINARY, POOLING)), Nested((ORDINARY,)))),
    "nested twice": NetPlan(version=14, blocks=(Nested((Nested((ORDINARY,)), POOLING)),)),
    "learned rotation": NetPlan(version=17, blocks=TRANSFORMER * 2),
    "fixed rotation": NetPlan(version=17, blocks=TRANSFORMER, learned_rope=False),
    "no rotation": NetPlan(version=17, blocks=TRANSFORMER, learned_rope=None),
    "no gate": NetPlan(version=17, blocks=TRANSFORMER, gated=False),
    "dilated": NetPlan(version=8, dilation=(2, 3)),
    "norm a point at the tip": NetPlan(version=17, blocks=TRANSFORMER, rms_tip=0),
    "norm over the board at the tip": NetPlan(version=17, blocks=(ORDINARY,), rms_tip=1),
    "mixed kinds": NetPlan(
        version=17,
        blocks=(ORDINARY, *TRANSFORMER, POOLING, Nested((*TRANSFORMER, ORDINARY))),
        policy_channels=4,
        meta=True,
    ),
    "own multipliers": NetPlan(version=16, multipliers=(19, 21, 17, 23, 37, 0.3, 140)),
}


def convert(plan: NetPlan, folder: Path) -> Path:
    source = folder / "net"
    source.write_bytes(write_net(plan))
    target = folder / "net.onnx"
    convert_file(source, target)
    return target


def open_session(path: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def run(
    session: onnxruntime.InferenceSession, inputs: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, inputs), strict=True))


def random_inputs(info: NetInfo, batch: int, height: int, width: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(7)
    planes = (random.random((batch, info.spatial_planes, height, width)) < 0.3).astype(np.uint8)
    planes[:, 0] = 1
    inputs = {"spatial_in": planes}
    for name, count in (("global_in", info.global_features), ("meta_in", info.meta_features)):
        if count:
            inputs[name] = random.standard_normal((batch, count), np.float32)
    return inputs


def natural_score(misc: np.ndarray, version: int, by: Multipliers, points: int) -> dict[str, float]:
    """Return the score outputs in points, spelled out version by version."""

    def soft(x: float) -> float:
        return float(np.logaddexp(0, x))

    if version == 3:
        mean = 2 * np.sqrt(points) * misc[0]
        return {"score_mean": mean, "lead": mean}
    result = {
        "score_mean": misc[0] * by.score_mean,
        "score_stdev": soft(misc[1]) * by.score_stdev,
        "lead": misc[2] * by.lead if version >= 8 else misc[0] * by.score_mean,
    }
    if version >= 9:
        result["var_time"] = soft(misc[3]) * by.var_time
    factors = (by.shortterm_winloss, by.shortterm_score)
    for index, name in enumerate(("shortterm_winloss_error", "shortterm_score_error")):
        if version == 9:
            result[name] = soft(misc[4 + index]) * (1, 10)[index]
        elif version in range(10, 14):
            result[name] = np.sqrt(soft(misc[4 + index]) * factors[index])
        elif version >= 14:
            result[name] = np.sqrt(soft(misc[4 + index] / 2) ** 2 * factors[index])
    return result


@pytest.mark.parametrize("title", PLANS)
def test_graph_computes_what_the_layers_say(title: str, tmp_path: Path) -> None:
    plan = PLANS[title]
    path = convert(plan, tmp_path)
    onnx.checker.check_model(onnx.load(path), full_check=True)
    net = read_katago(tmp_path / "net", (tmp_path / "net").read_bytes())
    session = open_session(path)
    info = NetInfo.from_metadata(session.get_modelmeta().custom_metadata_map)
    for height, width in ((5, 5), (4, 7)):
        inputs = random_inputs(info, 1, height, width)
        found = {name: array[0] for name, array in run(session, inputs).items()}
        meta = inputs["meta_in"][0] if "meta_in" in inputs else None
        raw = katago_oracle.evaluate(net, inputs["spatial_in"][0], inputs["global_in"][0], meta)
        expected = {
            "policy": raw["policy"][0],
            "value": raw["value"],
            "ownership": np.tanh(raw["ownership"]),
        }
        if net.policy.channels >= 2:
            expected["policy_optimistic"] = raw["policy"][1]
        if net.policy.channels == 4:
            expected["q_winloss"] = np.tanh(raw["policy"][2])
            expected["q_score"] = 20 * raw["policy"][3]
        score = natural_score(raw["misc"], net.version, net.multipliers, height * width)
        expected["score"] = np.array([score[name] for name in info.score_columns])
        assert set(score) == set(info.score_columns)
        assert set(found) == set(expected) == set(info.heads)
        for name, values in expected.items():
            np.testing.assert_allclose(found[name], values, rtol=1e-4, atol=1e-4, err_msg=name)


def test_batches_do_not_mix(tmp_path: Path) -> None:
    plan = NetPlan(version=17, blocks=(ORDINARY, POOLING, *TRANSFORMER, Nested((POOLING,))))
    session = open_session(convert(plan, tmp_path))
    info = NetInfo.from_metadata(session.get_modelmeta().custom_metadata_map)
    inputs = random_inputs(info, 3, 6, 9)
    together = run(session, inputs)
    for row in range(3):
        alone = run(session, {name: array[row : row + 1] for name, array in inputs.items()})
        for name, values in alone.items():
            np.testing.assert_allclose(values[0], together[name][row], rtol=1e-5, atol=1e-5)


def test_text_and_binary_give_the_same(tmp_path: Path) -> None:
    nets = [
        read_katago(tmp_path, write_net(NetPlan(version=15, text=text))) for text in (False, True)
    ]
    for layers in zip(nets[0].trunk.blocks, nets[1].trunk.blocks, strict=True):
        first, second = (layer.conv1.weights for layer in layers)
        np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(*(net.value.bias2 for net in nets))


def test_no_mask_and_no_layout_work_on_a_full_board(tmp_path: Path) -> None:
    """A plain residual net is convolutions, norms, activations and sums, and nothing besides."""
    model = onnx.load(convert(NetPlan(version=8, blocks=(ORDINARY,) * 3), tmp_path))
    trunk = [node.op_type for node in model.graph.node]
    assert trunk.count("Conv") == 1 + 3 * 2 + 3 + 2
    assert trunk.count("BatchNormalization") == 3 + 1
    assert not {"Transpose", "Where", "Expand", "Tile"} & set(trunk)
    assert trunk.count("Cast") == 2


def test_golden_data_match_what_the_net_computes(tmp_path: Path) -> None:
    session = open_session(convert(NetPlan(version=15, meta=True), tmp_path))
    cases = golden_from_metadata(session.get_modelmeta().custom_metadata_map)
    assert [case.inputs["spatial_in"].shape[2] for case in cases] == [9, 19]
    for case in cases:
        for name, values in run(session, dict(case.inputs)).items():
            np.testing.assert_allclose(values, case.outputs[name], rtol=1e-4, atol=1e-5)


def test_description_tells_the_versions_apart(tmp_path: Path) -> None:
    encoders = {3: "katago_v3", 4: "katago_v3", 5: "katago_v4", 6: "katago_v5", 7: "katago_v6"}
    for version in range(3, 18):
        path = convert(NetPlan(version=version), tmp_path)
        metadata = open_session(path).get_modelmeta().custom_metadata_map
        info = NetInfo.from_metadata(metadata)
        assert info.encoder == encoders.get(version, "katago_v7")
        assert info.rules == ("area" if version <= 6 else "any")
        assert info.no_result == ("always" if version == 3 else "by_rules")
        assert len(info.score_columns) == len(score_columns(version, Multipliers()))
        assert info.parameters > 0


def test_nets_with_player_metadata_say_how_many(tmp_path: Path) -> None:
    path = convert(NetPlan(version=15, meta=True), tmp_path)
    info = NetInfo.from_metadata(open_session(path).get_modelmeta().custom_metadata_map)
    assert info.meta_features == 192
