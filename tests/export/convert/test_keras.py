"""Sequential Keras nets from HDF5 files."""

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.export.convert import katago_writer

from gtp_engine.evaluators.nets.net_info import NetFileError, NetInfo
from gtp_export.convert.container import NetFormat, read_net_file
from gtp_export.convert.conversion import convert_file
from gtp_export.convert.keras_file import read_keras

h5py = pytest.importorskip("h5py", reason="Keras files need the extra `keras`")
keras_writer = pytest.importorskip("tests.export.convert.keras_writer")

SIZE = 5
RANDOM = np.random.default_rng(3)


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32) * 0.3


def book_net(
    last: bool, outputs: int, activation: str, planes: int = 1, **flatten: str
) -> tuple[list[Any], dict[str, Any]]:
    """Return a net like the book's: padded convolutions, pooling, norm, two dense layers.

    Args:
        last: Whether channels come last.
        flatten: What else the layer says that flattens.
    """
    order = "channels_last" if last else "channels_first"
    shape = [None, SIZE, SIZE, planes] if last else [None, planes, SIZE, SIZE]
    write = keras_writer
    layers = [
        write.layer_config(
            "ZeroPadding2D",
            "pad",
            padding=[[1, 1], [1, 1]],
            data_format=order,
            batch_input_shape=shape,
        ),
        write.conv_config("conv1", 4, 3, data_format=order, activation="relu"),
        write.layer_config("Dropout", "drop", rate=0.5),
        write.conv_config("conv2", 3, 2, data_format=order, padding="same"),
        write.layer_config("BatchNormalization", "norm", axis=-1 if last else 1, epsilon=1e-3),
        write.layer_config("Activation", "act", activation="tanh"),
        write.layer_config("MaxPooling2D", "pool", pool_size=[2, 2], data_format=order),
        write.layer_config("Flatten", "flat", **flatten),
        write.layer_config("Dense", "dense1", units=6, activation="relu"),
        write.layer_config("Dense", "dense2", units=outputs, activation=activation),
    ]
    weights = {
        "conv1": [normal(3, 3, planes, 4), normal(4)],
        "conv2": [normal(2, 2, 4, 3), normal(3)],
        "norm": [1 + normal(3), normal(3), normal(3), 1 + normal(3) ** 2],
        "dense1": [normal(12, 6), normal(6)],
        "dense2": [normal(6, outputs), normal(outputs)],
    }
    return layers, weights


def compute(weights: dict[str, Any], last: bool, board: np.ndarray) -> np.ndarray:
    """Evaluate `book_net` up to its last activation.

    Args:
        board: [H, W, C], rows from the bottom.
    """
    x = np.pad(board.astype(float), ((1, 1), (1, 1), (0, 0)))
    x = np.maximum(keras_writer.slow_conv(x, *weights["conv1"]), 0)
    # Keras pads a 2x2 window of `same` on the far sides.
    x = keras_writer.slow_conv(np.pad(x, ((0, 1), (0, 1), (0, 0))), *weights["conv2"])
    gamma, beta, mean, variance = weights["norm"]
    x = np.tanh((x - mean) / np.sqrt(variance + 1e-3) * gamma + beta)
    x = keras_writer.slow_max_pool(x, 2)
    flat = x.ravel() if last else x.transpose(2, 0, 1).ravel()
    hidden = np.maximum(flat @ weights["dense1"][0] + weights["dense1"][1], 0)
    return hidden @ weights["dense2"][0] + weights["dense2"][1]


def convert(
    content: bytes, folder: Path, encoder: str | None = None
) -> tuple[onnxruntime.InferenceSession, NetInfo]:
    (folder / "net.h5").write_bytes(content)
    convert_file(folder / "net.h5", folder / "net.onnx", encoder=encoder)
    session = onnxruntime.InferenceSession(
        str(folder / "net.onnx"), providers=["CPUExecutionProvider"]
    )
    return session, NetInfo.from_metadata(session.get_modelmeta().custom_metadata_map)


def random_board() -> tuple[np.ndarray, np.ndarray]:
    """Return planes [1, 2, H, W] with rows from the top, and the book's board from the bottom."""
    board = np.random.default_rng(5).integers(-1, 2, (SIZE, SIZE))
    planes = np.stack([board == 1, board == -1])[None].astype(np.uint8)
    return planes, board[::-1, :, None]


@pytest.mark.parametrize("order", ["channels_last", "channels_first"])
def test_the_order_that_keras_flattens_in(order: str, tmp_path: Path) -> None:
    layers, weights = book_net(False, SIZE * SIZE, "softmax", data_format=order)
    session, info = convert(keras_writer.write_keras(layers, weights), tmp_path)
    assert info.board_sizes == (SIZE,)
    planes, board = random_board()
    (policy,) = session.run(["policy"], {"spatial_in": planes})
    # Told that channels come first, as they do here, it puts them last.
    expected = compute(weights, order == "channels_first", board)
    np.testing.assert_allclose(policy[0], expected.reshape(SIZE, SIZE)[::-1].ravel(), atol=1e-5)


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("has_pass", [False, True])
@pytest.mark.parametrize("encoder", [None, "oneplane"])
def test_policy_nets(last: bool, has_pass: bool, encoder: str | None, tmp_path: Path) -> None:
    layers, weights = book_net(last, SIZE * SIZE + has_pass, "softmax")
    session, info = convert(keras_writer.write_keras(layers, weights, encoder), tmp_path)
    assert (info.encoder, info.has_pass, info.board_sizes) == ("dlgo1", has_pass, (SIZE,))
    planes, board = random_board()
    (policy,) = session.run(["policy"], {"spatial_in": planes})
    expected = compute(weights, last, board)
    points = expected[: SIZE * SIZE].reshape(SIZE, SIZE)[::-1].ravel()
    np.testing.assert_allclose(policy[0, : SIZE * SIZE], points, atol=1e-5)
    if has_pass:
        assert policy[0, -1] == pytest.approx(expected[-1], abs=1e-5)


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("is_named", [False, True])
@pytest.mark.parametrize(
    ("encoder", "ours", "planes"),
    [("sevenplane", "dlgo7", 7), ("betago", "dlgo7", 7), ("simple", "dlgo11", 11)],
)
def test_nets_of_many_planes(
    last: bool, is_named: bool, encoder: str, ours: str, planes: int, tmp_path: Path
) -> None:
    layers, weights = book_net(last, SIZE * SIZE, "softmax", planes)
    content = keras_writer.write_keras(layers, weights, encoder if is_named else None)
    session, info = convert(content, tmp_path, None if is_named else encoder)
    assert (info.encoder, info.spatial_planes, info.has_pass) == (ours, planes, False)
    shown = np.random.default_rng(5).integers(0, 2, (planes, SIZE, SIZE), np.uint8)
    (policy,) = session.run(["policy"], {"spatial_in": shown[None]})
    expected = compute(weights, last, shown.transpose(1, 2, 0)[::-1])
    points = expected.reshape(SIZE, SIZE)[::-1].ravel()
    np.testing.assert_allclose(policy[0], points, atol=1e-5)


@pytest.mark.parametrize(
    ("named", "given", "planes", "reason"),
    [
        (None, None, 7, "takes 7 planes and does not say whose; --encoder does"),
        (None, "simple", 7, "takes 7 planes, but the encoder 'simple' makes 11"),
        (None, "oneplane", 7, "takes 7 planes, but the encoder 'oneplane' makes 1"),
        ("sevenplane", "simple", 7, "names its own encoder: 'sevenplane'"),
        ("alphago", None, 49, "was trained with the encoder 'alphago'; known are oneplane,"),
    ],
)
def test_encoders_that_do_not_fit(
    named: str | None, given: str | None, planes: int, reason: str, tmp_path: Path
) -> None:
    layers, weights = book_net(False, SIZE * SIZE, "softmax", planes)
    with pytest.raises(NetFileError) as caught:
        convert(keras_writer.write_keras(layers, weights, named), tmp_path, given)
    assert reason in str(caught.value)


def test_other_formats_need_no_encoder(tmp_path: Path) -> None:
    (tmp_path / "net").write_bytes(katago_writer.write_net(katago_writer.NetPlan()))
    with pytest.raises(NetFileError, match="is a KataGo net, which needs no --encoder"):
        convert_file(tmp_path / "net", tmp_path / "net.onnx", encoder="simple")


@pytest.mark.parametrize("activation", ["tanh", "sigmoid"])
def test_value_nets(activation: str, tmp_path: Path) -> None:
    layers, weights = book_net(False, 1, activation)
    session, info = convert(keras_writer.write_keras(layers, weights), tmp_path)
    assert set(info.heads) == {"value"} and info.value_kind == "scalar"
    planes, board = random_board()
    (value,) = session.run(["value"], {"spatial_in": planes})
    raw = compute(weights, False, board)[0]
    expected = np.tanh(raw) if activation == "tanh" else 2 / (1 + np.exp(-raw)) - 1
    assert value[0, 0] == pytest.approx(expected, abs=1e-5)


def changed(index: int, **values: Any) -> bytes:
    layers, weights = book_net(False, 25, "softmax")
    layers[index]["config"] |= values
    return keras_writer.write_keras(layers, weights)


def with_layer(kind: str, **config: Any) -> bytes:
    layers, weights = book_net(False, 25, "softmax")
    layers.insert(3, keras_writer.layer_config(kind, "odd", function="import os", **config))
    return keras_writer.write_keras(layers, weights)


def with_weights(name: str, tensors: list[np.ndarray]) -> bytes:
    layers, weights = book_net(False, 25, "softmax")
    return keras_writer.write_keras(layers, weights | {name: tensors})


def elsewhere() -> bytes:
    """Return a file whose weights are a link into another file."""
    import io

    buffer = io.BytesIO(with_weights("none", []))
    with h5py.File(buffer, "a") as file:
        del file["model_weights/conv1"]
        file["model_weights/conv1"] = h5py.ExternalLink("/etc/passwd", "/")
    return buffer.getvalue()


def huge() -> bytes:
    """Return a file that claims a tensor of a terabyte and stores none of it."""
    import io

    buffer = io.BytesIO(with_weights("none", []))
    with h5py.File(buffer, "a") as file:
        del file["model_weights/conv1/conv1/tensor_0:0"]
        file["model_weights/conv1"].create_dataset(
            "conv1/tensor_0:0", shape=(1 << 19, 1 << 19), dtype="f4", chunks=(1024, 1024)
        )
    return buffer.getvalue()


def weights_only() -> bytes:
    import io

    buffer = io.BytesIO(with_weights("none", []))
    with h5py.File(buffer, "a") as file:
        del file.attrs["model_config"]
    return buffer.getvalue()


BROKEN = {
    "code": (lambda: with_layer("Lambda"), "'Lambda', which cannot be converted"),
    "custom layer": (lambda: with_layer("MyOwnLayer"), "'MyOwnLayer'"),
    "custom activation": (lambda: changed(1, activation="my_relu"), "'my_relu'"),
    "functional": (
        lambda: keras_writer.write_keras(*book_net(False, 25, "softmax"), kind="Functional"),
        "'Functional'",
    ),
    "other encoder": (
        lambda: keras_writer.write_keras(*book_net(False, 25, "softmax"), "sevenplane"),
        "takes 1 planes, but the encoder 'sevenplane' makes 7",
    ),
    "encoder of another size": (
        lambda: keras_writer.write_keras(*book_net(False, 25, "softmax"), "oneplane", 9),
        "9 lines",
    ),
    "wrong weights": (lambda: with_weights("conv1", [normal(3, 3, 2, 4), normal(4)]), "conv1"),
    "no weights": (lambda: with_weights("conv1", []), "conv1"),
    "NaN": (lambda: with_weights("conv1", [normal(3, 3, 1, 4) * np.nan, normal(4)]), "NaN"),
    "too many filters": (lambda: changed(1, filters=1 << 40), "filters"),
    "stride that is no number": (lambda: changed(1, strides=True), "has True stride"),
    "kernel too large": (lambda: changed(1, kernel_size=[50, 50]), "conv1"),
    "rectangular": (lambda: changed(0, batch_input_shape=[None, 1, 5, 6]), "5x6"),
    "dynamic size": (lambda: changed(0, batch_input_shape=[None, 1, None, None]), "takes in"),
    "planes unknown": (lambda: changed(0, batch_input_shape=[None, 7, 5, 5]), "conv1"),
    "flattened otherwise": (
        lambda: keras_writer.write_keras(
            *book_net(True, 25, "softmax", data_format="channels_first")
        ),
        "an order that is not known",
    ),
    "a ReLU that is cut off": (lambda: with_layer("ReLU", max_value=6.0), "max_value"),
    "strange outputs": (
        lambda: keras_writer.write_keras(*book_net(False, 7, "softmax")),
        "7 outputs",
    ),
    "value without bounds": (
        lambda: keras_writer.write_keras(*book_net(False, 1, "linear")),
        "without bounds",
    ),
    "weights in another file": (elsewhere, "'conv1' of its own"),
    "weights that are not there": (huge, "more than the file holds"),
    "weights alone": (weights_only, "without the architecture"),
    "truncated": (lambda: with_weights("none", [])[:3000], "damaged"),
    "nothing but the magic": (lambda: b"\x89HDF\r\n\x1a\n", "damaged"),
}


@pytest.mark.parametrize("title", BROKEN)
def test_broken_files_are_refused_in_one_sentence(title: str, tmp_path: Path) -> None:
    make, reason = BROKEN[title]
    source, target = tmp_path / "net.h5", tmp_path / "net.onnx"
    source.write_bytes(make())
    with pytest.raises(NetFileError) as caught:
        convert_file(source, target)
    assert reason in str(caught.value)
    assert str(caught.value).startswith(f"{source}: ") and "\n" not in str(caught.value)
    assert not target.exists()


def test_format_is_told_from_content(tmp_path: Path) -> None:
    (tmp_path / "net.txt").write_bytes(with_weights("none", []))
    assert read_net_file(tmp_path / "net.txt")[0] is NetFormat.KERAS


WHOLE = keras_writer.write_keras(*book_net(True, 26, "softmax"), "oneplane")


@settings(max_examples=100)
@given(
    st.lists(st.tuples(st.floats(0, 1), st.binary(min_size=1, max_size=8)), min_size=1, max_size=4)
)
@example([(0.004058, b"\xff" * 8)])  # an offset that h5py passes to its C library
def test_mutated_files_parse_or_are_refused(mutations: list[tuple[float, bytes]]) -> None:
    content = bytearray(WHOLE)
    for place, data in mutations:
        start = int(place * (len(content) - len(data)))
        content[start : start + len(data)] = data
    try:
        read_keras(Path("some-net"), bytes(content))
    except NetFileError as error:
        assert str(error).startswith("some-net: ") and "\n" not in str(error)
