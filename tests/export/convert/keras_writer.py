"""Write HDF5 files as Keras and the book's code do, and compute their nets slowly."""

import io
import json
from typing import Any

import h5py
import numpy as np


def conv_config(name: str, filters: int, kernel: int, **more: Any) -> dict[str, Any]:
    config = {"name": name, "filters": filters, "kernel_size": [kernel, kernel]}
    return {"class_name": "Conv2D", "config": config | more}


def layer_config(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"class_name": kind, "config": {"name": name} | more}


def write_keras(
    layers: list[dict[str, Any]],
    weights: dict[str, list[np.ndarray]],
    encoder: str | None = None,
    size: int = 5,
    kind: str = "Sequential",
) -> bytes:
    """Return the file; with an encoder's name it is laid out as the book's agents are."""
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        model = file
        if encoder is not None:
            file.create_group("encoder").attrs["name"] = encoder
            file["encoder"].attrs["board_width"] = size
            file["encoder"].attrs["board_height"] = size
            model = file.create_group("model/kerasmodel")
        model.attrs["model_config"] = json.dumps(
            {"class_name": kind, "config": {"name": "net", "layers": layers}}
        )
        group = model.create_group("model_weights")
        for layer in layers:
            name = layer["config"]["name"]
            inner = group.create_group(name)
            tensors = weights.get(name, [])
            names = [f"{name}/tensor_{index}:0" for index in range(len(tensors))]
            inner.attrs["weight_names"] = [each.encode() for each in names]
            for each, tensor in zip(names, tensors, strict=True):
                inner[each] = tensor.astype(np.float32)
    return buffer.getvalue()


def slow_conv(x: np.ndarray, kernel: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Slide a kernel [ky, kx, in, out] over a map [H, W, in], as Keras defines `valid`."""
    height, width, _, filters = kernel.shape
    out = np.zeros((x.shape[0] - height + 1, x.shape[1] - width + 1, filters))
    for row in range(out.shape[0]):
        for column in range(out.shape[1]):
            window = x[row : row + height, column : column + width]
            out[row, column] = np.tensordot(window, kernel, 3) + bias
    return out


def slow_max_pool(x: np.ndarray, size: int) -> np.ndarray:
    rows, columns = x.shape[0] // size, x.shape[1] // size
    cut = x[: rows * size, : columns * size]
    return cut.reshape(rows, size, columns, size, -1).max(axis=(1, 3))
