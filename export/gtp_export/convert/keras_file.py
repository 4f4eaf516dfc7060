"""Sequential Keras nets in HDF5 files, such as the book "Deep Learning and the Game of Go" makes.

Only the description (JSON) and the weights are read; layers that carry code are refused.
"""

import io
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from gtp_engine.coords import MAX_SIZE, MIN_SIZE
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_export.convert.token_stream import FloatArray

BOOK_ENCODERS = {
    "oneplane": "dlgo1",
    "sevenplane": "dlgo7",
    "betago": "dlgo7",
    "simple": "dlgo11",
}
"""The book's names of encoders to ours."""
ACTIVATIONS = ("linear", "relu", "tanh", "sigmoid", "softmax", "elu", "softplus")

_WITHOUT_EFFECT = ("Dropout", "SpatialDropout2D", "GaussianNoise", "GaussianDropout")
_MAX_LAYERS = 1000
_MAX_UNITS = 1 << 16


@dataclass(frozen=True)
class ConvLayer:
    """A convolution; `pads` are top, left, bottom, right."""

    name: str
    weights: FloatArray
    """[out, in, ky, kx]"""
    bias: FloatArray
    strides: tuple[int, int]
    pads: tuple[int, int, int, int]


@dataclass(frozen=True)
class PoolLayer:
    """A maximum or mean over windows; `pads` are top, left, bottom, right."""

    maximum: bool
    window: tuple[int, int]
    strides: tuple[int, int]
    pads: tuple[int, int, int, int]


@dataclass(frozen=True)
class PadLayer:
    """Zeros around the map; `pads` are top, left, bottom, right."""

    pads: tuple[int, int, int, int]


@dataclass(frozen=True)
class NormLayer:
    """A batch norm as scale and bias a channel."""

    name: str
    scale: NDArray[np.float64]
    bias: NDArray[np.float64]
    on_map: bool
    """Whether it works on maps, not on rows of numbers."""


@dataclass(frozen=True)
class FlattenLayer:
    """A map as one row of numbers, channel by channel."""


@dataclass(frozen=True)
class DenseLayer:
    """A fully connected layer."""

    name: str
    weights: FloatArray
    """[in, out], inputs in our order of a flattened map"""
    bias: FloatArray


@dataclass(frozen=True)
class ActivationLayer:
    """One of `ACTIVATIONS`."""

    kind: str


Layer = ConvLayer | PoolLayer | PadLayer | NormLayer | FlattenLayer | DenseLayer | ActivationLayer


@dataclass(frozen=True)
class KerasNet:
    """A chain of layers; rows of the board count from the bottom."""

    encoder: str | None
    """The book's name of its encoder, if the file says it."""
    planes: int
    size: int
    layers: tuple[Layer, ...]
    outputs: int
    parameters: int


def read_keras(path: Path, data: bytes) -> KerasNet:
    """Parse a sequential Keras net.

    Raises:
        NetFileError: the file is damaged, is no sequential net, or has a layer that is unknown
            or carries code.
        ModuleNotFoundError: h5py is not installed.
    """
    import h5py

    try:
        with h5py.File(io.BytesIO(data), "r") as file:
            return _Reader(path, file, len(data)).net()
    except NetFileError:
        raise
    except Exception as error:
        # h5py reports damage with whatever its C library happened to stumble over.
        reason = str(error).strip().strip("'\"").splitlines()[0] if str(error) else "no reason"
        raise NetFileError(f"{path}: is a damaged Keras file: {reason}") from None


class _Reader:
    """Walk the layers and keep the shape of what flows between them."""

    def __init__(self, path: Path, file: Any, length: int) -> None:
        self.path = path
        self.file = file
        self.length = length
        self.parameters = 0
        self.channels_last = False
        # (channels, height, width), or (numbers,) once flattened.
        self.shape: tuple[int, ...] = ()
        self.flattened_map: tuple[int, int, int] | None = None
        self.has_channels_inside = False
        """Whether channels come last in it."""

    def fail(self, problem: str) -> NoReturn:
        raise NetFileError(f"{self.path}: {problem}")

    # -- file ----------------------------------------------------------------------------------

    def net(self) -> KerasNet:
        model = self.file
        if "model" in model:
            model = self.group(self.group(model, "model"), "kerasmodel")
        if "model_config" not in model.attrs:
            self.fail("holds weights without the architecture of their net")
        weights = self.group(model, "model_weights")
        configs = self.layer_configs(json.loads(self.text(model.attrs["model_config"])))
        self.start(configs)
        planes, size = self.shape[0], self.shape[1]
        layers: list[Layer] = []
        for kind, config in configs:
            layers += self.layer(kind, config, weights)
        if len(self.shape) != 1:
            self.fail("puts out a map, where a row of moves or a value is meant")
        return KerasNet(
            encoder=self.encoder(size),
            planes=planes,
            size=size,
            layers=tuple(layers),
            outputs=self.shape[0],
            parameters=self.parameters,
        )

    def text(self, value: Any) -> str:
        return value.decode("utf-8") if isinstance(value, bytes) else str(value)

    def group(self, parent: Any, name: str) -> Any:
        """Open a group or data set that lies in this very file."""
        link = parent.get(name, getlink=True)
        if type(link).__name__ != "HardLink":
            self.fail(f"has no {name!r} of its own")
        return parent[name]

    def encoder(self, size: int) -> str | None:
        if "encoder" not in self.file:
            return None
        attributes = self.group(self.file, "encoder").attrs
        for side in ("board_width", "board_height"):
            if side in attributes and int(attributes[side]) != size:
                self.fail(f"says it is for {int(attributes[side])} lines and takes {size}")
        return self.text(attributes["name"]) if "name" in attributes else None

    def layer_configs(self, model: Any) -> list[tuple[str, dict[str, Any]]]:
        if not isinstance(model, dict) or model.get("class_name") != "Sequential":
            kind = model.get("class_name") if isinstance(model, dict) else model
            self.fail(f"is a Keras model of the kind {kind!r}; only Sequential ones are read")
        config = model["config"]
        layers = config["layers"] if isinstance(config, dict) else config
        if not 1 <= len(layers) <= _MAX_LAYERS:
            self.fail(f"has {len(layers)} layers")
        return [(str(layer["class_name"]), dict(layer["config"])) for layer in layers]

    def start(self, configs: list[tuple[str, dict[str, Any]]]) -> None:
        """Take the input's shape from whichever layer states it."""
        self.channels_last = any(
            config.get("data_format") == "channels_last"
            for kind, config in configs
            if kind != "Flatten"  # which has one of its own
        )
        for _, config in configs[:2]:
            shape = config.get("batch_input_shape") or config.get("batch_shape")
            if shape is not None:
                break
        else:
            self.fail("does not say what it takes in")
        if len(shape) != 4 or not all(isinstance(side, int) for side in shape[1:]):
            self.fail(f"takes in {shape[1:]}, where planes of a board are meant")
        planes, height, width = shape[1:]
        if self.channels_last:
            height, width, planes = shape[1:]
        if height != width or not MIN_SIZE <= height <= MAX_SIZE:
            self.fail(f"takes boards of {height}x{width}")
        self.shape = (self.limited(planes, "planes"), height, width)

    # -- layers --------------------------------------------------------------------------------

    def layer(self, kind: str, config: dict[str, Any], weights: Any) -> list[Layer]:
        """Return what one Keras layer turns into."""
        readers = {
            "Conv2D": self.conv,
            "Convolution2D": self.conv,
            "Dense": self.dense,
            "BatchNormalization": self.norm,
        }
        if kind in readers:
            name = str(config["name"])
            tensors = self.tensors(weights, name)
            return [*readers[kind](name, config, tensors), *self.activation(config)]
        if kind == "InputLayer" or kind in _WITHOUT_EFFECT:
            return []
        if kind == "ZeroPadding2D":
            return [self.padding(config)]
        if kind in ("MaxPooling2D", "AveragePooling2D"):
            return [self.pool(config, kind == "MaxPooling2D")]
        if kind == "Flatten":
            return [self.flatten(config)]
        if kind == "Activation":
            return self.activation(config)
        if kind == "ReLU":
            usual = {"max_value": None, "negative_slope": 0.0, "threshold": 0.0}
            for name, value in usual.items():
                if (config.get(name) or value) != value:
                    self.fail(f"has a ReLU with a {name}, which cannot be converted")
            return [ActivationLayer("relu")]
        self.fail(f"has a layer of the kind {kind!r}, which cannot be converted")

    def tensors(self, weights: Any, name: str) -> Iterator[FloatArray]:
        """Yield a layer's weights in the order Keras lists them."""
        group = self.group(weights, name)
        for raw in group.attrs["weight_names"]:
            data = group
            for part in self.text(raw).split("/"):
                data = self.group(data, part)
            if data.external or data.is_virtual or data.dtype.kind != "f":
                self.fail(f"{name} keeps its weights in an unknown way")
            if 2 * data.size > self.length:
                self.fail(f"{name} claims {data.size} weights, more than the file holds")
            values = np.asarray(data[()], np.float32)
            if not np.isfinite(values).all():
                self.fail(f"{name} has weights that are NaN or infinite")
            yield values

    def take(self, name: str, tensors: Iterator[FloatArray], *shape: int) -> FloatArray:
        values = next(tensors, None)
        if values is None or values.shape != shape:
            found = "nothing" if values is None else f"{values.shape}"
            self.fail(f"{name} has weights of {found} where {shape} fits")
        self.parameters += values.size
        return values

    def limited(self, count: Any, what: str) -> int:
        if type(count) is not int or not 1 <= count <= _MAX_UNITS:
            self.fail(f"has {str(count)[:40]} {what}")
        return count

    def map_shape(self, kind: str) -> tuple[int, int, int]:
        if len(self.shape) != 3:
            self.fail(f"has a {kind} where there is no map any more")
        return self.shape[0], self.shape[1], self.shape[2]

    def pair(self, value: Any, what: str) -> tuple[int, int]:
        pair = [value, value] if isinstance(value, int) else value
        if len(pair) != 2:
            self.fail(f"has a {what} of {value}")
        return self.limited(pair[0], what), self.limited(pair[1], what)

    def windows(
        self, config: dict[str, Any], window: tuple[int, int], strides: tuple[int, int]
    ) -> tuple[int, int, int, int]:
        """Return the pads of sliding windows, and note the size of the map they leave."""
        channels, *sides = self.map_shape("window")
        same = config.get("padding", "valid") == "same"
        if config.get("padding", "valid") not in ("same", "valid"):
            self.fail(f"has an unknown padding {config['padding']!r}")
        before, after, left = [], [], []
        for side, length, step in zip(sides, window, strides, strict=True):
            count = math.ceil(side / step) if same else (side - length) // step + 1
            if count < 1:
                self.fail(f"slides a window of {length} over {side} points")
            total = max((count - 1) * step + length - side, 0) if same else 0
            before.append(total // 2)
            after.append(total - total // 2)
            left.append(count)
        self.shape = (channels, left[0], left[1])
        return before[0], before[1], after[0], after[1]

    def conv(self, name: str, config: dict[str, Any], tensors: Iterator[FloatArray]) -> list[Layer]:
        channels = self.map_shape("convolution")[0]
        filters = self.limited(config["filters"], "filters")
        kernel = self.pair(config["kernel_size"], "kernel")
        strides = self.pair(config.get("strides", 1), "stride")
        if self.pair(config.get("dilation_rate", 1), "dilation") != (1, 1):
            self.fail(f"{name} is dilated, which is not known here")
        if config.get("groups", 1) != 1:
            self.fail(f"{name} is grouped, which is not known here")
        weights = self.take(name, tensors, *kernel, channels, filters).transpose(3, 2, 0, 1)
        bias = np.zeros(filters, np.float32)
        if config.get("use_bias", True):
            bias = self.take(name, tensors, filters)
        pads = self.windows(config, kernel, strides)
        self.shape = (filters, *self.shape[1:])
        return [ConvLayer(name, weights, bias, strides, pads)]

    def dense(
        self, name: str, config: dict[str, Any], tensors: Iterator[FloatArray]
    ) -> list[Layer]:
        if len(self.shape) != 1:
            self.fail(f"{name} is dense on a map that is not flattened")
        units = self.limited(config["units"], "units")
        weights = self.take(name, tensors, self.shape[0], units)
        bias = np.zeros(units, np.float32)
        if config.get("use_bias", True):
            bias = self.take(name, tensors, units)
        if self.flattened_map is not None and self.has_channels_inside:
            # Keras flattened rows, columns, channels; here channels come first.
            channels, height, width = self.flattened_map
            ordered = weights.reshape(height, width, channels, units).transpose(2, 0, 1, 3)
            weights = ordered.reshape(-1, units)
        self.flattened_map = None
        self.shape = (units,)
        return [DenseLayer(name, weights, bias)]

    def norm(self, name: str, config: dict[str, Any], tensors: Iterator[FloatArray]) -> list[Layer]:
        axis = config.get("axis", -1)
        axis = axis[0] if isinstance(axis, list) else axis
        wanted = (3, -1) if self.channels_last else (1, -3)
        if axis not in (wanted if len(self.shape) == 3 else (1, -1)):
            self.fail(f"{name} is a norm over axis {axis} that is not the channels")
        if self.flattened_map is not None and self.has_channels_inside:
            self.fail(f"{name} is a norm of a flattened map, which is not known here")
        channels = self.shape[0]
        gamma = np.ones(channels, np.float32)
        beta = np.zeros(channels, np.float32)
        if config.get("scale", True):
            gamma = self.take(name, tensors, channels)
        if config.get("center", True):
            beta = self.take(name, tensors, channels)
        mean, variance = (self.take(name, tensors, channels) for _ in range(2))
        spread = variance.astype(np.float64) + float(config.get("epsilon", 1e-3))
        if (spread <= 0).any():
            self.fail(f"{name} has a variance that is not positive")
        scale = gamma / np.sqrt(spread)
        return [NormLayer(name, scale, beta - mean * scale, len(self.shape) == 3)]

    def padding(self, config: dict[str, Any]) -> PadLayer:
        channels, height, width = self.map_shape("padding")
        sides = config["padding"]
        sides = [sides, sides] if isinstance(sides, int) else sides
        (top, bottom), (left, right) = (
            (side, side) if isinstance(side, int) else side for side in sides
        )
        if not all(type(side) is int and 0 <= side <= 64 for side in (top, bottom, left, right)):
            self.fail(f"has an impossible padding {sides}")
        self.shape = (channels, height + top + bottom, width + left + right)
        return PadLayer((top, left, bottom, right))

    def pool(self, config: dict[str, Any], maximum: bool) -> PoolLayer:
        window = self.pair(config.get("pool_size", 2), "pool")
        strides = self.pair(config.get("strides") or list(window), "stride")
        return PoolLayer(maximum, window, strides, self.windows(config, window, strides))

    def flatten(self, config: dict[str, Any]) -> FlattenLayer:
        # Told that channels come first, Keras moves them to the end before it flattens.
        moves_channels = config.get("data_format") == "channels_first"
        if moves_channels and self.channels_last:
            self.fail("flattens a map in an order that is not known here")
        self.has_channels_inside = self.channels_last or moves_channels
        self.flattened_map = self.map_shape("flattening")
        self.shape = (math.prod(self.flattened_map),)
        return FlattenLayer()

    def activation(self, config: dict[str, Any]) -> list[Layer]:
        kind = config.get("activation", "linear")
        if kind not in ACTIVATIONS:
            self.fail(f"has an activation {str(kind)[:40]!r}, which cannot be converted")
        return [] if kind == "linear" else [ActivationLayer(kind)]
