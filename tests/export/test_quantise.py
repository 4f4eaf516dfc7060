"""Nets in lower precision: the graph they become, what it costs, and who refuses them."""

import copy
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from tests.export.convert.katago_writer import (
    ATTENTION,
    FEED_FORWARD,
    ORDINARY,
    POOLING,
    Nested,
    NetPlan,
    write_net,
)
from tests.export.convert.leela_zero_writer import write_leela_zero
from tests.paths import TINY, TINY_NET

from gtp_engine.coords import PASS
from gtp_engine.evaluators.accuracy import Accuracy
from gtp_engine.evaluators.net_evaluator import NetEvaluator
from gtp_engine.evaluators.nets.net_files import shipped_folder
from gtp_engine.evaluators.nets.net_info import NetFileError, NetInfo
from gtp_engine.evaluators.nets.onnx_net import OnnxNet
from gtp_engine.evaluators.nets.self_check import differences_of
from gtp_export.architectures.net_file import describe_net
from gtp_export.architectures.net_file import write_net as write_tower
from gtp_export.architectures.presets import find_preset
from gtp_export.architectures.tower import random_weights
from gtp_export.commands import run
from gtp_export.convert.conversion import convert_file
from gtp_export.convert.golden import add_golden, golden_inputs
from gtp_export.convert.graph import Graph
from gtp_export.convert.onnx_file import load_model, read_info
from gtp_export.labelling.selfplay import QuickGame
from gtp_export.plans import FP16, MIN_MAX, Bounds, QuantisePlan
from gtp_export.quantise import laboratory, sensitivity
from gtp_export.quantise.folding import fold_norms
from gtp_export.quantise.graph_edit import GraphEdit
from gtp_export.quantise.half import tensors_in_half, to_half
from gtp_export.quantise.int8 import (
    PERCENTILE,
    Int8Settings,
    Step,
    quantise_int8,
    step_of,
    tensors_to_watch,
)
from gtp_export.quantise.laboratory import Laboratory
from gtp_export.quantise.layers import choose_layers, group_names, list_layers, name_nodes
from gtp_export.quantise.positions import play_positions, sizes_for
from gtp_export.quantise.quantisation import quantise_file
from gtp_export.quantise.ranges import Range, largest_values, watch_tensors
from gtp_export.quantise.rounding import inputs_met, round_matrix, round_weights
from gtp_export.quantise.smoothing import smooth_products

LOOSE = Bounds(max_kl=10.0, min_top1=0.0, max_win_error=1.0, max_ownership_error=float("inf"))


def convert(folder: Path, content: bytes) -> Path:
    source, target = folder / "net", folder / "net.onnx"
    source.write_bytes(content)
    convert_file(source, target)
    return target


def folded(path: Path) -> onnx.ModelProto:
    model = load_model(path)
    name_nodes(model)
    edit = GraphEdit(model)
    fold_norms(edit)
    return edit.finish()


def outputs_of(model: onnx.ModelProto, info: NetInfo, size: int = 9) -> list[np.ndarray]:
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    found: list[np.ndarray] = session.run(None, dict(golden_inputs(info, size)))
    return found


def ops_of(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]


def quantised(path: Path, keep: tuple[str, ...], bits: int = 8) -> onnx.ModelProto:
    model, info = folded(path), read_info(path, load_model(path))
    layers = frozenset(choose_layers(list_layers(GraphEdit(model)), keep))
    net = NetEvaluator(OnnxNet(path, "cpu"), streams=1, max_batch=16, cache_mb=0)
    positions = play_positions(net, 12, seed=1)
    ranges = watch_tensors(model, info, tensors_to_watch(GraphEdit(model), layers), positions)
    weights = round_weights(model, info, layers, bits, positions)
    return quantise_int8(model, ranges, weights, Int8Settings(layers, weight_bits=bits))


# Folding ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plan", "norms_left"),
    [
        (NetPlan(activation="RELU"), 0),
        (NetPlan(version=3, text=True), 0),
        (NetPlan(activation="RELU", version=15, blocks=(Nested((ORDINARY, POOLING)),)), None),
        (NetPlan(activation="MISH", version=14), None),
    ],
)
def test_folding_changes_nothing(plan: NetPlan, norms_left: int | None, tmp_path: Path) -> None:
    path = convert(tmp_path, write_net(plan))
    model = load_model(path)
    info = read_info(path, model)
    without = folded(path)
    for a, b in zip(outputs_of(model, info), outputs_of(without, info), strict=True):
        assert np.abs(a - b).max() <= 2e-4 * max(1.0, np.abs(a).max())
    if norms_left is not None:
        assert "BatchNormalization" in ops_of(model)
        assert ops_of(without).count("BatchNormalization") == norms_left


def test_a_norm_with_a_negative_scale_stays() -> None:
    model = load_model(TINY)
    name_nodes(model)
    edit = GraphEdit(model)
    relu = next(node for node in edit.nodes if node.op_type == "Relu")
    names = [
        edit.add_constant(np.full(8, value, np.float32), "norm") for value in (-1.0, 0.5, 0.0, 1.0)
    ]
    source = relu.input[0]
    norm = edit.node("BatchNormalization", [source, *names], edit.fresh("normed"))
    edit.replace_input(relu, source, norm.output[0])
    edit.set_nodes([part for node in edit.nodes for part in _before(node, relu, norm)])
    info = read_info(TINY, model)
    before = outputs_of(edit.finish(), info)
    again = GraphEdit(copy.deepcopy(edit.model))
    fold_norms(again)
    after = outputs_of(again.finish(), info)
    assert "BatchNormalization" in ops_of(again.model)
    for a, b in zip(before, after, strict=True):
        assert np.allclose(a, b, atol=1e-4)


def _before(
    node: onnx.NodeProto, reader: onnx.NodeProto, new: onnx.NodeProto
) -> list[onnx.NodeProto]:
    return [new, node] if node is reader else [node]


def test_norms_and_convolutions_that_are_computed_or_unread_stay() -> None:
    model = load_model(TINY)
    edit = GraphEdit(model)
    conv = next(node for node in edit.nodes if node.op_type == "Conv")
    unread = edit.node("Conv", list(conv.input), edit.fresh("unread"))
    unread.attribute.extend(conv.attribute)
    weights = edit.node("Identity", [conv.output[0]], edit.fresh("computed"))
    computed = edit.node("Conv", [conv.input[0], weights.output[0]], edit.fresh("mixed"))
    ones = [edit.add_constant(np.ones(8, np.float32), "norm") for _ in range(4)]
    after = edit.node("BatchNormalization", [computed.output[0], *ones], edit.fresh("normed"))
    bias = edit.node("Identity", [ones[0]], edit.fresh("bias"))
    shifted = edit.node("Conv", [*conv.input[:2], bias.output[0]], edit.fresh("shifted"))
    shifted.attribute.extend(conv.attribute)
    last = edit.node("BatchNormalization", [shifted.output[0], *ones], edit.fresh("last"))
    mean = edit.node("ReduceMean", [conv.output[0]], edit.fresh("mean"))
    moved = edit.node(
        "BatchNormalization", [conv.output[0], *[mean.output[0]] * 4], edit.fresh("moved")
    )
    extra = [unread, weights, computed, after, bias, shifted, last, mean, moved]
    edit.set_nodes([*edit.nodes, *extra])
    layers = list_layers(edit)
    assert [layer.name for layer in layers] == [
        layer.name for layer in list_layers(GraphEdit(load_model(TINY)))
    ]
    fold_norms(edit)
    assert ops_of(edit.finish()).count("BatchNormalization") == 3


# Layers -----------------------------------------------------------------------------------------


def test_layers_and_their_groups() -> None:
    layers = list_layers(GraphEdit(load_model(TINY)))
    assert group_names(layers)[:3] == ["stem", "blocks.0", "blocks.1"]
    heads = {layer.name for layer in layers if layer.is_head}
    assert heads == {
        "policy.gather",
        "policy.conv",
        "policy.out",
        "value.conv",
        "value.ownership",
    }


def test_the_choice_of_layers() -> None:
    layers = list_layers(GraphEdit(load_model(TINY)))
    everything = {layer.name for layer in layers}
    assert choose_layers(layers, ("none",)) == everything
    by_default = choose_layers(layers, ("stem", "heads"))
    assert by_default == {name for name in everything if name.startswith("blocks.")}
    assert "blocks.1.conv2" not in choose_layers(layers, ("blocks.1",))
    assert everything - choose_layers(layers, ("policy.out",)) == {"policy.out"}
    of_policy = {name for name in everything if name.startswith("policy.")}
    assert everything - choose_layers(layers, ("policy",)) == of_policy
    with pytest.raises(NetFileError, match=r"no layer is called 'attic'; groups are stem, heads"):
        choose_layers(layers, ("stem", "attic"))


# int8 -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", [("stem", "heads"), ("none",), ("blocks.0", "policy.out")])
def test_the_runtime_makes_integer_kernels_of_the_chosen_layers_alone(
    keep: tuple[str, ...], tmp_path: Path
) -> None:
    layers = list_layers(GraphEdit(load_model(TINY)))
    chosen = choose_layers(layers, keep)
    path, optimised = tmp_path / "int8.onnx", tmp_path / "optimised.onnx"
    onnx.save(quantised(TINY, keep), path)
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(optimised)
    options.log_severity_level = 4
    onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    ops = ops_of(onnx.load(optimised))
    assert ops.count("QLinearConv") == len(chosen)
    floats = sum(op in ("Conv", "FusedConv") for op in ops)
    assert floats == len(layers) - len(chosen)


def test_the_original_stays_as_it_is() -> None:
    before = load_model(TINY).SerializeToString()
    model = folded(TINY)
    kept = model.SerializeToString()
    quantised(TINY, ("none",))
    assert model.SerializeToString() == kept
    assert TINY.read_bytes() == load_model(TINY).SerializeToString() == before


@pytest.mark.parametrize(("bits", "limit"), [(8, 127), (7, 63)])
def test_integer_weights_keep_to_their_bits(bits: int, limit: int) -> None:
    model = quantised(TINY, ("none",), bits)
    weights = [
        numpy_helper.to_array(tensor)
        for tensor in model.graph.initializer
        if tensor.data_type == TensorProto.INT8 and len(tensor.dims) == 4
    ]
    assert len(weights) == len(list_layers(GraphEdit(load_model(TINY))))
    (stem,) = (one for one in weights if one.shape[1] == 22)
    for one in weights:
        most = 127 if one is stem else limit  # ones and zeros cannot make a sum overflow
        assert most - 1 <= np.abs(one.astype(int)).max() <= most


def test_a_channel_of_hardly_any_weight_keeps_its_bias(tmp_path: Path) -> None:
    model = folded(TINY)
    layer = list_layers(GraphEdit(model))[1].name
    conv = next(node for node in model.graph.node if node.name == layer)
    for place, factor, bias in ((1, 1e-9, 0.0), (2, 0.0, 1.0)):
        tensor = _initializer(model, conv.input[place])
        array = numpy_helper.to_array(tensor).copy()
        array[0] = array[0] * factor + bias
        tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    path = tmp_path / "net.onnx"
    onnx.save(model, path)
    edit = GraphEdit(quantised(path, ("none",)))
    back = edit.producer(next(node for node in edit.nodes if node.name == layer).input[2])
    assert back is not None
    integers, scales = (edit.constant(name) for name in back.input[:2])
    assert integers is not None and scales is not None
    assert (integers * scales)[0] == pytest.approx(1.0, rel=1e-6)


def a_range(low: float, high: float) -> Range:
    ends = np.array([low], np.float32), np.array([high], np.float32)
    return Range(low, high, 0.5 * low, 0.5 * high, *ends)


@pytest.mark.parametrize(
    ("seen", "calibration", "after_relu", "expected"),
    [
        (a_range(0.0, 5.1), MIN_MAX, True, Step(0.02, 0)),
        (a_range(-3.0, 5.1), MIN_MAX, True, Step(0.02, 0)),
        (a_range(-5.1, 5.1), MIN_MAX, False, Step(0.04, 128)),
        (a_range(-5.1, 5.1), PERCENTILE, False, Step(0.02, 128)),
        (a_range(1.0, 2.55), MIN_MAX, False, Step(0.01, 0)),
        (a_range(-2.55, -1.0), MIN_MAX, False, Step(0.01, 255)),
    ],
)
def test_the_steps_of_activations(
    seen: Range, calibration: str, after_relu: bool, expected: Step
) -> None:
    found = step_of(seen, calibration, after_relu)
    assert found.scale == pytest.approx(expected.scale)
    assert abs(found.zero_point - expected.zero_point) <= 1


def test_a_channel_that_is_always_zero_does_no_harm() -> None:
    assert step_of(a_range(0.0, 0.0), MIN_MAX, True).scale > 0


@pytest.mark.parametrize("keep", [("stem", "heads"), ("none",)])
def test_int8_says_nearly_the_same(keep: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "int8.onnx"
    onnx.save(quantised(TINY, keep), path)
    says_nearly_the_same(TINY, path)


def says_nearly_the_same(original: Path, path: Path, within: float = 0.05) -> None:
    exact, rounded = OnnxNet(original, "cpu"), OnnxNet(path, "cpu")
    net = NetEvaluator(exact, streams=1, max_batch=16, cache_mb=0)
    for batch in play_positions(net, 12, seed=2):
        a = exact.run(batch.spatial, batch.features)
        b = rounded.run(batch.spatial, batch.features)
        for name in ("policy", "value", "score", "ownership"):
            one, other = getattr(a, name), getattr(b, name)
            assert 0 < np.abs(one - other).max() < within * max(1.0, np.abs(one).max()), name


def test_recorded_outputs_of_int8_are_the_same_on_every_processor() -> None:
    path = shipped_folder() / "default-int8.onnx"
    recorded = OnnxNet(path, "cpu").golden_cases()
    model = load_model(path)
    for case, before in zip(add_golden(model, read_info(path, model)), recorded, strict=True):
        for name, values in before.outputs.items():
            # Where sums of 8-bit products overflow, the ownership is 2 % off.
            np.testing.assert_allclose(case.outputs[name], values, atol=2e-3, rtol=1e-3)


def attention_net(folder: Path) -> Path:
    blocks = (ATTENTION, POOLING, FEED_FORWARD)
    return convert(folder, write_net(NetPlan(version=17, blocks=blocks, activation="RELU")))


def test_matrix_products_over_points_are_layers(tmp_path: Path) -> None:
    model = folded(attention_net(tmp_path))
    layers = list_layers(GraphEdit(model))
    products = [layer for layer in layers if layer_op(model, layer.name) == "MatMul"]
    # query, key, value and what is made of them; two layers of the feed-forward block, gated.
    assert len(products) == 4 + 3
    assert not any(layer.is_head for layer in products)
    once_a_board = ops_of(model).count("MatMul") - len(products) - 2
    assert once_a_board >= 3  # the globals, and the pooled biases of trunk and policy
    assert layers[0].group == "stem"


def layer_op(model: onnx.ModelProto, name: str) -> str:
    return str(next(node.op_type for node in model.graph.node if node.name == name))


def test_the_runtime_multiplies_integers_in_attention_nets(tmp_path: Path) -> None:
    source = attention_net(tmp_path)
    path, optimised = tmp_path / "int8.onnx", tmp_path / "optimised.onnx"
    # Of 8 bits sums would overflow on processors without VNNI.
    model = quantised(source, ("stem", "heads"), bits=7)
    onnx.save(model, path)
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(optimised)
    options.log_severity_level = 4
    onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    assert ops_of(onnx.load(optimised)).count("MatMulIntegerToFloat") == 7
    weights = [
        numpy_helper.to_array(tensor)
        for tensor in model.graph.initializer
        if tensor.data_type == TensorProto.INT8 and len(tensor.dims) == 2
    ]
    assert len(weights) == 7
    says_nearly_the_same(source, path, within=0.1)


@pytest.mark.parametrize("dilation", [1, 2])
def test_inputs_met_are_those_of_a_convolution(dilation: int) -> None:
    generator = np.random.Generator(np.random.PCG64(1))
    values = generator.normal(size=(2, 3, 7, 5)).astype(np.float32)
    weights = generator.normal(size=(4, 3, 3, 3)).astype(np.float32)
    node = helper.make_node(
        "Conv", ["x", "w"], ["y"], pads=[dilation] * 4, dilations=[dilation] * 2
    )
    tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "xwy"]
    graph = helper.make_graph([node], "one", tensors[:2], tensors[2:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (expected,) = session.run(None, {"x": values, "w": weights})
    found = inputs_met(values, weights, (dilation, dilation)) @ weights.reshape(4, -1).T
    np.testing.assert_allclose(found, expected.transpose(0, 2, 3, 1).reshape(-1, 4), atol=1e-4)


def test_weights_are_rounded_for_the_inputs_they_meet() -> None:
    generator = np.random.Generator(np.random.PCG64(1))
    inputs = generator.normal(size=(500, 6)) @ generator.normal(size=(6, 24))  # much alike
    weights = generator.normal(size=(8, 24)).astype(np.float32)
    values, scales = round_matrix(weights, inputs.T @ inputs, 63)
    assert np.abs(values).max() <= 63
    nearest = np.rint(weights / scales[:, None])
    errors = [
        np.square(inputs @ (weights - scales[:, None] * integers).T).mean()
        for integers in (values, nearest)
    ]
    assert errors[0] < 0.5 * errors[1]


def test_an_input_that_is_always_zero_does_no_harm() -> None:
    weights = np.ones((2, 3), np.float32)
    values, scales = round_matrix(weights, np.zeros((3, 3)), 127)
    assert (values == 127).all() and np.isfinite(scales).all()


def test_moving_widths_changes_nothing(tmp_path: Path) -> None:
    path = attention_net(tmp_path)
    model, info = folded(path), read_info(path, load_model(path))
    before = outputs_of(model, info)
    net = NetEvaluator(OnnxNet(path, "cpu"), streams=1, max_batch=16, cache_mb=0)
    smooth = smooth_products(model, info, play_positions(net, 12, seed=1))
    for a, b in zip(before, outputs_of(smooth, info), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-4 * max(1.0, np.abs(a).max()))
    moved = [node for node in smooth.graph.node if node.input[-1].startswith(f"{node.name}/smooth")]
    # Two norms' factors, and what query, key, value and a gated feed-forward block read.
    assert Counter(node.op_type for node in moved) == {"Mul": 2, "MatMul": 6}


# fp16 -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        write_net(NetPlan(version=16, policy_channels=4)),
        write_net(NetPlan(version=15, meta=True)),
        write_net(NetPlan(version=17, blocks=(Nested((ORDINARY,)),), rms_tip=1)),
        write_leela_zero(2),
    ],
)
def test_fp16_keeps_the_contract(content: bytes, tmp_path: Path) -> None:
    path = convert(tmp_path, content)
    model = load_model(path)
    info = read_info(path, model)
    half = to_half(folded(path))
    onnx.checker.check_model(half)
    assert list(half.graph.input) == list(model.graph.input)
    assert list(half.graph.output) == list(model.graph.output)
    wide = [t.name for t in half.graph.initializer if t.data_type == TensorProto.FLOAT]
    large = [n for n in wide if numpy_helper.to_array(_initializer(half, n)).size > 64]
    assert not large
    size = info.board_max if info.board_min > 9 else 9
    for a, b in zip(outputs_of(model, info, size), outputs_of(half, info, size), strict=True):
        assert b.dtype == np.float32
        assert np.abs(a - b).max() <= 0.03 * max(1.0, np.abs(a).max())


def test_chains_are_pooled_in_fp16_too(tmp_path: Path) -> None:
    source, target = tmp_path / "net.onnx", tmp_path / "half.onnx"
    shape = find_preset("gocnn-chain").shape
    write_tower(source, shape, random_weights(shape, 1), describe_net(shape, "chain"))
    quantise_file(source, target, plan(precision="fp16"))
    assert OnnxNet(target, "cpu").info.precision == "fp16"


def test_what_a_gpu_could_not_hold_in_fp16_is_not_written(tmp_path: Path) -> None:
    # The processor computes in fp32, where nothing is the matter.
    model = load_model(TINY)
    name_nodes(model)
    edit = GraphEdit(model)
    relu = next(node for node in edit.nodes if node.op_type == "Relu")
    up, down = (edit.add_constant(np.array(k, np.float32), "k") for k in (1e3, 1e-6))
    chain = [
        edit.node("Mul", [relu.output[0], up], "wide"),
        edit.node("Mul", ["wide", up], "large"),
    ]
    chain.append(edit.node("Mul", ["large", down], "back"))
    for reader in edit.consumers(relu.output[0]):
        edit.replace_input(reader, relu.output[0], "back")
    at = edit.nodes.index(relu) + 1
    edit.set_nodes([*edit.nodes[:at], *chain, *edit.nodes[at:]])
    source = tmp_path / "net.onnx"
    onnx.save(edit.finish(), source)
    with pytest.raises(NetFileError, match=r"net.onnx: not .* fp16: large reaches .*65,504"):
        quantise_file(source, tmp_path / "half.onnx", plan(precision="fp16"))
    outcome = quantise_file(source, tmp_path / "half.onnx", plan(precision="fp16", force=True))
    assert len(outcome.broken) == 1


def test_what_fp16_holds_is_judged_with_a_margin_and_on_all_positions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    net = Laboratory(TINY, 2, 60, "tiny")
    net.calibration.clear()
    names = tensors_in_half(net.model)
    most = max(largest_values(net.model, net.info, names, net.judged).values())
    for held, broken in ((1.9 * most, 1), (2.1 * most, 0)):
        monkeypatch.setattr(laboratory, "LARGEST_HALF", held)
        assert len(net.beyond_half()) == broken


def test_norms_by_mean_squares_stay_in_fp32(tmp_path: Path) -> None:
    blocks = (Nested((ORDINARY,)),)
    path = convert(tmp_path, write_net(NetPlan(version=17, blocks=blocks, rms_tip=1)))
    half = GraphEdit(to_half(folded(path)))
    roots = [node for node in half.nodes if node.op_type == "Sqrt"]
    in_half = set(tensors_in_half(folded(path)))
    assert roots and in_half
    assert in_half.isdisjoint(name for node in roots for name in (*node.input, *node.output))


def test_logarithms_of_small_shares_stay_in_fp32() -> None:
    model = load_model(TINY)
    for node in model.graph.node:
        node.output[:] = ["given" if name == "policy" else name for name in node.output]
    weights = {"factor": 100.0, "least": 1e-30}
    model.graph.initializer.extend(
        numpy_helper.from_array(np.array(value, np.float32), name)
        for name, value in weights.items()
    )
    model.graph.node.extend(
        [
            helper.make_node("Mul", ["given", "factor"], ["sharp"]),
            helper.make_node("Softmax", ["sharp"], ["shares"], axis=1),
            helper.make_node("Max", ["shares", "least"], ["above"]),
            helper.make_node("Log", ["above"], ["policy"]),
        ]
    )
    info = read_info(TINY, model)
    for a, b in zip(outputs_of(model, info), outputs_of(to_half(model), info), strict=True):
        assert np.isfinite(b).all() and np.abs(a - b).max() <= 0.05 * np.abs(a).max()


def _initializer(model: onnx.ModelProto, name: str) -> TensorProto:
    return next(tensor for tensor in model.graph.initializer if tensor.name == name)


# Positions --------------------------------------------------------------------------------------


def test_positions_of_several_sizes_the_same_each_time() -> None:
    net = NetEvaluator(OnnxNet(TINY, "cpu"), streams=1, max_batch=16, cache_mb=0)
    first, second = (play_positions(net, 40, seed) for seed in (3, 3))
    sizes = Counter[tuple[int, ...]]()
    for batch in first:
        sizes[batch.spatial.shape[2:]] += len(batch.features)
    assert sizes == {(9, 9): 16, (13, 13): 10, (19, 19): 14}
    for a, b in zip(first, second, strict=True):
        assert np.array_equal(a.spatial, b.spatial) and np.array_equal(a.features, b.features)
    other = play_positions(net, 40, seed=4)
    assert not np.array_equal(first[0].spatial, other[0].spatial)
    stones = [int(batch.spatial[:, 1:3].sum(axis=(1, 2, 3)).max()) for batch in first]
    assert max(stones) > 40


def test_short_games_are_followed_by_more(monkeypatch: pytest.MonkeyPatch) -> None:
    net = NetEvaluator(OnnxNet(TINY, "cpu"), streams=1, max_batch=16, cache_mb=0)
    monkeypatch.setattr("gtp_export.quantise.positions.QuickGame.advance", pass_on)
    assert sum(len(batch.features) for batch in play_positions(net, 40, seed=3)) == 40


def pass_on(game: QuickGame, policy: object, lead: float) -> None:
    game.position.play(game.position.to_play, PASS)


def test_only_boards_that_the_net_takes(tmp_path: Path) -> None:
    path = convert(tmp_path, write_leela_zero(1))
    info = OnnxNet(path, "cpu").info
    assert sizes_for(info) == [(19, 1.0)]
    sevens = replace(info, board_min=7, board_max=7, board_sizes=(), trained_sizes=None)
    assert sizes_for(sevens) == [(7, 1.0)]
    all_sizes = replace(sevens, board_min=2, board_max=25)
    assert len(sizes_for(all_sizes)) == 3
    for size in (5, 6, 9):
        assert sizes_for(replace(all_sizes, trained_sizes=(size, size))) == [(size, 1.0)]


# The whole --------------------------------------------------------------------------------------


def test_bounds() -> None:
    good = Accuracy(100, 0.01, 0.95, 0.005, 0.05, 0.3, 0.01)
    assert Bounds().broken(good) == []
    assert len(Bounds().broken(replace(good, policy_kl=0.1, top1=0.5, win_error=0.02))) == 3
    assert Bounds().broken(replace(good, policy_kl=float("nan"))) != []
    assert Bounds().broken(replace(good, ownership_error=0.03)) == [
        "ownership error 0.0300 is above 0.02"
    ]


def test_a_net_without_policy_is_judged_by_what_it_says() -> None:
    found = Accuracy(100, 0.5, 0.1, 0.005, 0.05, 0.3, 0.01)
    bounds = Bounds().for_heads({"ownership": ""})
    assert bounds.broken(found) == []
    assert len(bounds.broken(replace(found, win_error=0.02, ownership_error=0.03))) == 2
    assert Bounds().for_heads({"policy": "", "ownership": ""}) == Bounds()
    assert sensitivity.loss_of(found, replace(OnnxNet(TINY, "cpu").info, heads={})) == 0.015


def test_tightened_bounds_leave_a_margin() -> None:
    assert Bounds(0.1, 0.8, 0.02, 0.04).tightened(0.5) == Bounds(0.05, 0.9, 0.01, 0.02)


def plan(**changes: object) -> QuantisePlan:
    return replace(QuantisePlan(positions=12, judged=24, bounds=LOOSE), **changes)  # type: ignore[arg-type]


def test_a_quantised_file_describes_and_checks_itself(tmp_path: Path) -> None:
    target = tmp_path / "int8.onnx"
    outcome = quantise_file(TINY, target, plan(seven_bit=True))
    net = OnnxNet(target, "cpu")
    assert net.info == outcome.info
    assert net.info.precision == "int8 (7-bit weights), fp32: stem, heads"
    assert net.info.name == OnnxNet(TINY, "cpu").info.name
    found = differences_of(net)
    assert found and all(one.is_right for one in found)
    assert set(outcome.accuracy) == {"9x9", "13x13", "19x19", "all"}
    assert 0.0 < outcome.accuracy["all"].policy_kl < 0.1
    with pytest.raises(NetFileError, match=r"is in int8 .* already; start from fp32"):
        quantise_file(target, tmp_path / "again.onnx", plan())


@pytest.mark.parametrize("precision", ["int8", "fp16"])
def test_constants_may_be_nodes(precision: str, tmp_path: Path) -> None:
    model = load_model(TINY)
    tensors = list(model.graph.initializer)
    nodes = []
    for one in tensors:  # some exporters name constants that are alike by an Identity
        nodes.append(helper.make_node("Constant", [], [f"{one.name}/held"], value=one))
        nodes.append(helper.make_node("Identity", [f"{one.name}/held"], [one.name]))
    nodes += model.graph.node
    del model.graph.initializer[:], model.graph.node[:]
    model.graph.node.extend(nodes)
    onnx.save(model, tmp_path / "nodes.onnx")
    made = []
    for source in (TINY, tmp_path / "nodes.onnx"):
        target = tmp_path / f"{source.stem}-{precision}.onnx"
        quantise_file(source, target, plan(precision=precision))
        made.append(ops_of(load_model(target)))
    assert made[0] == made[1]


@pytest.mark.parametrize(("positions", "judged"), [(1, 800), (450, 900)])
def test_enough_positions_judge_whatever_calibrates(
    positions: int, judged: int, tmp_path: Path
) -> None:
    more = QuantisePlan(positions=positions, precision=FP16)
    outcome = quantise_file(TINY, tmp_path / "half.onnx", more)
    assert outcome.accuracy["all"].positions == judged


def test_a_net_beyond_its_bounds_is_not_written(tmp_path: Path) -> None:
    target = tmp_path / "int8.onnx"
    target.write_bytes(b"what was there")
    strict = Bounds(max_kl=0.0)
    with pytest.raises(NetFileError, match=r"tiny.onnx: not written as int8: policy KL .* --force"):
        quantise_file(TINY, target, plan(bounds=strict))
    assert target.read_bytes() == b"what was there"
    outcome = quantise_file(TINY, target, plan(bounds=strict, force=True))
    assert outcome.broken[0].startswith("policy KL")
    assert OnnxNet(target, "cpu").info.precision.startswith("int8")
    assert [path.name for path in tmp_path.iterdir()] == ["int8.onnx"]


@pytest.mark.parametrize(
    ("processor", "seven_bit", "is_advised"),
    [("EPYC avx2", False, True), ("EPYC avx2", True, False), ("i7 avx2 avx_vnni", False, False)],
)
def test_seven_bits_are_advised_where_eight_overflow(
    processor: str,
    seven_bit: bool,
    is_advised: bool,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr("gtp_engine.evaluators.runtimes.devices.cpu_name", lambda: processor)
    with pytest.raises(NetFileError) as refused:
        strict = plan(bounds=Bounds(max_kl=0.0), seven_bit=seven_bit)
        quantise_file(TINY, tmp_path / "int8.onnx", strict)
    assert ("--seven-bit" in str(refused.value)) == is_advised


def test_mistakes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "out.onnx"
    target.write_bytes(TINY.read_bytes())
    with pytest.raises(NetFileError, match=r"there is no folder .*nowhere"):
        quantise_file(TINY, tmp_path / "nowhere" / "o.onnx", plan())
    with pytest.raises(NetFileError, match="over itself"):
        quantise_file(target, target, plan())
    with pytest.raises(NetFileError, match="no convolution or matrix product over points is left"):
        words = ("stem", "heads", "blocks.0", "blocks.1")
        quantise_file(TINY, tmp_path / "o.onnx", plan(keep_fp32=words))
    (tmp_path / "text").write_text("no net")
    with pytest.raises(NetFileError, match="is not an ONNX file"):
        quantise_file(tmp_path / "text", tmp_path / "o.onnx", plan())
    assert not (tmp_path / "o.onnx").exists()
    both = ["quantise", str(TINY), str(tmp_path / "o.onnx"), "--fp16", "--sensitivity"]
    assert run(both) == 1
    assert "--sensitivity is for --int8 alone" in capsys.readouterr().err
    with pytest.raises(NetFileError, match=r"\(--force writes it all the same\)"):
        strict = plan(precision="fp16", bounds=Bounds(max_kl=-1.0))
        quantise_file(TINY, tmp_path / "o.onnx", strict)


def test_what_goes_through_a_gate_once_a_board_stays_as_it_is(tmp_path: Path) -> None:
    graph = Graph("gated", 11)
    generator = np.random.default_rng(1)

    def weights(*shape: int) -> str:
        return graph.floats(generator.normal(0.0, 0.3, shape).astype(np.float32))

    spatial = graph.input("spatial_in", TensorProto.UINT8, ["batch", 22, "height", "width"])
    features = graph.input("global_in", TensorProto.FLOAT, ["batch", 19])
    planes = graph.node("Cast", spatial, to=TensorProto.FLOAT)
    kernel = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    trunk = graph.node("Relu", graph.node("Conv", planes, weights(8, 22, 3, 3), **kernel))
    trunk = graph.node("Relu", graph.node("Conv", trunk, weights(8, 8, 3, 3), **kernel))
    means = graph.node("Flatten", graph.node("GlobalAveragePool", trunk))
    both = graph.node("Concat", means, features, axis=1)
    gate = graph.node("Sigmoid", graph.node("MatMul", both, weights(27, 16)))
    gated = graph.node("Mul", graph.node("MatMul", both, weights(27, 16)), gate)
    graph.output("value", graph.node("MatMul", gated, weights(16, 3)), ["batch", 3])
    info = replace(OnnxNet(TINY, "cpu").info, heads={"value": "logits"}, score_columns=())
    source, target = tmp_path / "gated.onnx", tmp_path / "int8.onnx"
    onnx.save(graph.model(info.to_metadata()), source)
    # Its opset, 11, has no scales by channel.
    outcome = quantise_file(source, target, plan(keep_fp32=("none",)))
    assert outcome.info.precision.startswith("int8") and "QuantizeLinear" in ops_of(
        onnx.load(target)
    )


def test_a_net_without_layers_is_refused(tmp_path: Path) -> None:
    graph = Graph("counts")
    spatial = graph.input("spatial_in", TensorProto.UINT8, ["batch", 22, "height", "width"])
    features = graph.input("global_in", TensorProto.FLOAT, ["batch", 19])
    planes = graph.node("Cast", spatial, to=TensorProto.FLOAT)
    means = graph.node("Flatten", graph.node("GlobalAveragePool", planes))
    both = graph.node("Concat", means, features, axis=1)
    value = graph.node("MatMul", both, graph.floats(np.full((41, 3), 0.1)))
    graph.output("value", value, ["batch", 3])
    info = replace(OnnxNet(TINY, "cpu").info, heads={"value": "logits"}, score_columns=())
    source, target = tmp_path / "counts.onnx", tmp_path / "int8.onnx"
    onnx.save(graph.model(info.to_metadata()), source)
    with pytest.raises(NetFileError, match=r"counts.onnx: no convolution or matrix product .*"):
        quantise_file(source, target, plan())
    assert not target.exists()


def test_mixed_precision_gives_up_groups_until_the_bounds_hold(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: list[str]
) -> None:
    monkeypatch.setattr(sensitivity, "SECONDS_PER_ROUND", 1e-4)
    target = tmp_path / "int8.onnx"
    quantise_file(TINY, target, plan(keep_fp32=("auto",)))
    assert OnnxNet(target, "cpu").info.precision == "int8"
    table = said[1]
    assert "everything" in table and "blocks.1" in table and "us saved 19x19" in table
    monkeypatch.setattr(sensitivity, "MARGIN", 1e-6)
    quantise_file(TINY, target, plan(keep_fp32=("auto",)))
    kept = sum("stays in fp32" in line for line in said)
    assert 0 < kept <= len(group_names(list_layers(GraphEdit(load_model(TINY)))))
    assert ", fp32: " in OnnxNet(target, "cpu").info.precision


def test_the_command(tmp_path: Path, said: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "half.onnx"
    assert run(["quantise", TINY_NET, str(target), "--fp16", "--positions", "6"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "" and "policy_kl" in captured.err and "fp16" in said[-1]
    assert OnnxNet(target, "cpu").info.precision == "fp16"
    for wrong in (["--positions", "0"], ["--fp16", "--int8"]):
        with pytest.raises(SystemExit):
            run(["quantise", TINY_NET, str(target), *wrong])
    assert "--positions: '0' is not a whole number" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        run(["quantise", TINY_NET, str(target), "--max-kl", "nan"])
    assert "--max-kl: 'nan' is not a number" in capsys.readouterr().err


def test_converting_and_quantising_at_once(
    tmp_path: Path, said: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = tmp_path / "net.bin", tmp_path / "int8.onnx"
    source.write_bytes(write_net(NetPlan(version=10, activation="RELU")))
    options = ["--int8", "--positions", "6", "--force", "--name", "mine"]
    assert run(["convert", str(source), str(target), *options]) == 0
    info = OnnxNet(target, "cpu").info
    assert info.name == "mine" and info.precision.startswith("int8")
    target.unlink()
    told = "\n".join(said)
    assert f"wrote {target}" in told and "whole.onnx" not in told
    assert run(["convert", str(source), str(target), *options[:-3], "--max-kl", "0"]) == 1
    message = capsys.readouterr().err.splitlines()[-1]
    assert message.startswith(f"gtp-export: {source}: not written as int8")
    assert not target.exists()
