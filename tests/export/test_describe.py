"""Plain ONNX files fitted to the names of `net_info` by `gtp-export describe`."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from gtp_engine.evaluators.nets.net_files import find_net
from gtp_engine.evaluators.nets.net_info import NetInfo, golden_from_metadata
from gtp_engine.evaluators.nets.onnx_net import OnnxNet
from gtp_export.commands import run

SIZE = 5


def plain_net(path: Path, planes: int = 1, size: int = SIZE, opset: int = 17) -> None:
    """Write a net as other programs make them: float planes, a softmax, a win rate."""
    random = np.random.default_rng(1)
    points = size * size
    weights = {
        "w": random.standard_normal((planes * points, points)).astype(np.float32) * 0.1,
        "v": random.standard_normal((planes * points, 1)).astype(np.float32) * 0.1,
    }
    nodes = [
        helper.make_node("Flatten", ["board"], ["policy"]),
        helper.make_node("MatMul", ["policy", "w"], ["logits"]),
        helper.make_node("Softmax", ["logits"], ["moves"]),
        helper.make_node("MatMul", ["policy", "v"], ["value_logit"]),
        helper.make_node("Sigmoid", ["value_logit"], ["win"]),
    ]
    graph = helper.make_graph(
        nodes,
        "plain",
        [helper.make_tensor_value_info("board", TensorProto.FLOAT, ["n", planes, size, size])],
        [
            helper.make_tensor_value_info("moves", TensorProto.FLOAT, ["n", points]),
            helper.make_tensor_value_info("win", TensorProto.FLOAT, ["n", 1]),
        ],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    imports = [helper.make_opsetid("", opset)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=8)
    path.write_bytes(model.SerializeToString())


ARGUMENTS = [
    *("--encoder", "dlgo1"),
    *("--rename", "board=spatial_in"),
    *("--rename", "moves=policy"),
    *("--rename", "win=value"),
    "--no-has-pass",
    *("--policy", "probabilities"),
    *("--value-kind", "scalar"),
    *("--value-range", "0..1"),
]


@pytest.mark.parametrize("opset", [12, 13, 18, 20])
def test_a_plain_net_becomes_a_described_one(tmp_path: Path, opset: int) -> None:
    source, target = tmp_path / "plain.onnx", tmp_path / "described.onnx"
    plain_net(source, opset=opset)
    assert run(["describe", str(source), "--out", str(target), *ARGUMENTS]) == 0
    before = onnxruntime.InferenceSession(str(source), providers=["CPUExecutionProvider"])
    after = onnxruntime.InferenceSession(str(target), providers=["CPUExecutionProvider"])
    metadata = after.get_modelmeta().custom_metadata_map
    info = NetInfo.from_metadata(metadata)
    assert (info.encoder, info.board_sizes, info.has_pass) == ("dlgo1", (SIZE,), False)
    assert set(info.heads) == {"policy", "value"}
    assert len(golden_from_metadata(metadata)) == 1
    planes = (np.random.default_rng(2).random((3, 2, SIZE, SIZE)) < 0.3).astype(np.uint8)
    board = planes[:, :1].astype(np.float32) - planes[:, 1:]
    moves, win = before.run(["moves", "win"], {"board": board})
    policy, value = after.run(["policy", "value"], {"spatial_in": planes})
    np.testing.assert_allclose(np.exp(policy), moves, rtol=1e-5)
    np.testing.assert_allclose(value, 2 * win - 1, atol=1e-6)


def test_describing_in_place_and_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "net.onnx"
    plain_net(path)
    assert run(["describe", str(path), *ARGUMENTS, "--name", "first"]) == 0
    again = ["--encoder", "dlgo1", "--no-has-pass", "--value-kind", "scalar", "--name", "second"]
    assert run(["describe", str(path), *again]) == 0
    metadata = {item.key: item.value for item in onnx.load(path).metadata_props}
    assert NetInfo.from_metadata(metadata).name == "second"
    assert len(metadata) == 2
    before = path.read_bytes()
    assert run(["describe", str(path), "--encoder", "lz18"]) == 1
    assert "with the encoder dlgo1" in capsys.readouterr().err
    for option in (["--policy", "probabilities"], ["--value-range", "0..1"]):
        assert run(["describe", str(path), *again, *option]) == 1
        assert f"leave {option[0]} out" in capsys.readouterr().err
    assert path.read_bytes() == before


@pytest.mark.parametrize("kind", [TensorProto.FLOAT16, TensorProto.DOUBLE])
def test_outputs_of_other_precisions_come_as_float32(tmp_path: Path, kind: int) -> None:
    path = tmp_path / "net.onnx"
    plain_net(path)
    model = onnx.load(path)
    for output in model.graph.output:
        given = f"{output.name}/single"
        for node in model.graph.node:
            node.output[:] = [given if name == output.name else name for name in node.output]
        model.graph.node.append(helper.make_node("Cast", [given], [output.name], to=kind))
        output.type.tensor_type.elem_type = kind
    onnx.save(model, path)
    assert run(["describe", str(path), *ARGUMENTS]) == 0
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    assert {output.type for output in session.get_outputs()} == {"tensor(float)"}


def test_inputs_may_be_read_in_branches(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    plain_net(path)
    model = onnx.load(path)
    graph = model.graph
    branches = [
        helper.make_graph(
            [helper.make_node("Flatten", ["board"], [name])],
            name,
            [],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)],
        )
        for name in ("then", "else")
    ]
    graph.initializer.append(numpy_helper.from_array(np.array(True), "is_flat"))
    graph.node[0].CopyFrom(
        helper.make_node(
            "If", ["is_flat"], ["policy"], then_branch=branches[0], else_branch=branches[1]
        )
    )
    onnx.save(model, path)
    assert run(["describe", str(path), *ARGUMENTS]) == 0
    assert set(OnnxNet(path, "cpu").info.heads) == {"policy", "value"}


@pytest.mark.parametrize("opset", [11, 17, 20])
def test_a_net_of_ownership_alone(tmp_path: Path, opset: int) -> None:
    # A sigmoid over a map with one channel, as GoCNN has it.
    path = tmp_path / "owner.onnx"
    kernel = np.random.default_rng(1).standard_normal((1, 8, 3, 3)).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["planes", "kernel"], ["map"], pads=[1, 1, 1, 1]),
        helper.make_node("Sigmoid", ["map"], ["owner"]),
    ]
    shapes = {"planes": ["n", 8, "h", "w"], "owner": ["n", 1, "h", "w"]}
    planes, owner = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in shapes.items()
    )
    weights = [numpy_helper.from_array(kernel, "kernel")]
    graph = helper.make_graph(nodes, "owner", [planes], [owner], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    before = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    renames = ["--rename", "planes=spatial_in", "--rename", "owner=ownership"]
    ranged = ["--encoder", "gocnn8", "--ownership-range", "0..1"]
    assert run(["describe", str(path), *renames, *ranged]) == 0
    net = OnnxNet(path, "cpu")
    assert set(net.info.heads) == {"ownership"} and net.info.accepts(9, 13)
    shown = np.random.default_rng(2).integers(0, 2, (2, 8, 4, 5), np.uint8)
    (expected,) = before.run(None, {"planes": shown.astype(np.float32)})
    found = net.run(shown, np.zeros((2, 0), np.float32)).ownership
    np.testing.assert_allclose(found, 2 * expected[:, 0] - 1, atol=1e-6)


def test_what_is_not_said_anew_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    before = OnnxNet(find_net("small-int8"), "cpu").info
    source = str(find_net("small-int8"))
    assert run(["describe", source, "--out", str(path), "--strength", "some"]) == 0
    assert OnnxNet(path, "cpu").info == replace(before, strength="some")
    assert run(["describe", str(path), "--encoder", before.encoder, "--board-sizes", "7,9"]) == 0
    found = OnnxNet(path, "cpu").info
    assert (found.board_sizes, found.board_min, found.board_max) == ((7, 9), 7, 9)


def test_who_describes_a_file_first_says_what_fills_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "net.onnx"
    plain_net(path)
    before = path.read_bytes()
    assert run(["describe", str(path), *ARGUMENTS[2:]]) == 1
    told = capsys.readouterr().err
    assert told == f"gtp-export: {path}: does not say what fills its planes; --encoder does\n"
    assert path.read_bytes() == before


def test_what_is_said_anew_may_be_the_default(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    plain_net(path)
    assert run(["describe", str(path), *ARGUMENTS, "--rules", "area"]) == 0
    assert OnnxNet(path, "cpu").info.rules == "area"
    assert run(["describe", str(path), "--encoder", "dlgo1", "--rules", "any"]) == 0
    info = OnnxNet(path, "cpu").info
    assert (info.rules, info.has_pass, info.value_kind) == ("any", False, "scalar")


def test_a_graph_in_lower_precision_is_described_as_one(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    model = onnx.load(find_net("small").with_name("small-int8.onnx"))
    del model.metadata_props[:]
    onnx.save(model, path)
    columns = ["--score-columns", "score_mean,score_stdev,lead"]
    assert run(["describe", str(path), "--encoder", "katago_v7", *columns]) == 0
    assert OnnxNet(path, "cpu").info.precision == "int8"


def test_a_value_of_three_probabilities_becomes_logits(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    planes = helper.make_tensor_value_info("spatial_in", TensorProto.FLOAT, ["n", 2, SIZE, SIZE])
    value = helper.make_tensor_value_info("value", TensorProto.FLOAT, ["n", 3])
    kernel = np.random.default_rng(1).standard_normal((2 * SIZE * SIZE, 3)).astype(np.float32)
    nodes = [
        helper.make_node("Flatten", ["spatial_in"], ["flat"]),
        helper.make_node("MatMul", ["flat", "kernel"], ["logits"]),
        helper.make_node("Softmax", ["logits"], ["value"]),
    ]
    weights = [numpy_helper.from_array(kernel, "kernel")]
    graph = helper.make_graph(nodes, "value", [planes], [value], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    before = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    assert run(["describe", str(path), "--encoder", "dlgo1", "--value-range", "0..1"]) == 0
    shown = np.random.default_rng(2).integers(0, 2, (3, 2, SIZE, SIZE), np.uint8)
    (expected,) = before.run(None, {"spatial_in": shown.astype(np.float32)})
    found = OnnxNet(path, "cpu").run(shown, np.zeros((3, 0), np.float32)).value
    assert found is not None
    np.testing.assert_allclose(np.exp(found), expected, rtol=1e-4)


def test_a_net_of_one_position_at_a_time_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "net.onnx"
    plain_net(path)
    model = onnx.load(path)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1
    path.write_bytes(model.SerializeToString())
    assert run(["describe", str(path), *ARGUMENTS]) == 1
    assert "takes 1 of spatial_in at a time" in capsys.readouterr().err


def arguments_without(option: str, value: str | None = None) -> list[str]:
    kept = list(ARGUMENTS)
    at = kept.index(option) if value is None else kept.index(value) - 1
    del kept[at : at + (1 if value is None else 2)]
    return kept


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (arguments_without("", "board=spatial_in"), "no input 'spatial_in' but board"),
        (arguments_without("", "moves=policy"), "which net files do not have"),
        (arguments_without("--no-has-pass"), "policy of shape (1, 25) where (1, 26)"),
        (arguments_without("", "scalar"), "value of shape (1, 1) where (1, 3)"),
        ([*ARGUMENTS, "--rename", "nothing=value"], "no input or output 'nothing'"),
        ([*ARGUMENTS, "--rename", "nonsense"], "YOURS=NAME"),
        ([*ARGUMENTS, "--rename", "policy=value"], "'value' already"),
        ([*ARGUMENTS, "--board-sizes", "9"], "5x5 alone"),
        ([*ARGUMENTS, "--board-sizes", "nine"], "takes numbers"),
        ([*ARGUMENTS, "--board-sizes", "²"], "takes numbers from 2 to 25, not '²'"),
        ([*ARGUMENTS, "--board-sizes", "100000"], "takes numbers from 2 to 25"),
        ([*ARGUMENTS, "--encoder", "lz18"], "1 channels, but lz18 makes 18"),
        ([*ARGUMENTS, "--encoder", "katago_v7"], "1 channels, but katago_v7 makes 22"),
        ([*ARGUMENTS, "--score-columns", "luck"], "unknown score column 'luck'"),
    ],
)
def test_what_does_not_fit_is_refused(
    arguments: list[str], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "net.onnx"
    plain_net(path)
    content = path.read_bytes()
    assert run(["describe", str(path), *arguments]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"gtp-export: {path}: ") and error.count("\n") == 1
    assert reason in error
    assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["net.onnx"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not an ONNX file"),
        (b"no net at all", "not an ONNX file"),
        (b"\x08\x08", "not an ONNX file"),
        (None, "opset 999"),
    ],
)
def test_files_that_are_no_onnx(
    content: bytes | None, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "net.onnx"
    if content is None:
        plain_net(path, opset=999)
    else:
        path.write_bytes(content)
    assert run(["describe", str(path), *ARGUMENTS]) == 1
    assert reason in capsys.readouterr().err


def test_names_that_are_no_text_are_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "net.onnx"
    plain_net(path)
    path.write_bytes(path.read_bytes().replace(b"board", b"\xffoard"))
    assert run(["describe", str(path), *ARGUMENTS]) == 1
    assert capsys.readouterr().err == f"gtp-export: {path}: its names are no text\n"
