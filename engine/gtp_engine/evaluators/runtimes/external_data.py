"""Whether an ONNX file names other files for its weights.

Some versions of ONNX Runtime open whatever file a net names, so that is looked at before. An ONNX
file is a protobuf message: fields of a number, a kind and a value, some of them messages. Only
what may hold a tensor is looked into.
"""

from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5

_EXTERNAL_DATA, _DATA_LOCATION = 13, 14
"""Fields of a tensor: where it is, and whether that is elsewhere."""

_INSIDE = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", 5: "tensor", 15: "sparse tensor"},
    "node": {5: "attribute"},
    "attribute": {
        5: "tensor",
        6: "graph",
        10: "tensor",
        11: "graph",
        22: "sparse tensor",
        23: "sparse tensor",
    },
    "sparse tensor": {1: "tensor", 2: "tensor"},
}
"""By message, the numbers of the fields that may hold a tensor, and what they are."""


def names_other_files(model: memoryview) -> bool:
    """Whether a tensor of a model is in another file.

    Raises:
        ValueError: It is no model.
    """
    pending = [("model", model)]
    while pending:
        kind, message = pending.pop()
        inside = _INSIDE.get(kind, {})
        for number, value in _fields(message):
            if kind == "tensor" and (
                number == _EXTERNAL_DATA or (number == _DATA_LOCATION and value)
            ):
                return True
            if number in inside and isinstance(value, memoryview):
                pending.append((inside[number], value))
    return False


def _fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Yield the number and the value of each field."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        if tag >> 32:  # other readers would cut it off, and see another field
            raise ValueError("a field's number is too large")
        number, kind = tag >> 3, tag & 7
        value: int | memoryview = 0
        if kind == VARINT:
            value, at = _varint(message, at)
        elif kind == BYTES:
            size, at = _varint(message, at)
            value = message[at : at + size]
            at += size
        elif kind in (FIXED64, FIXED32):
            at += 8 if kind == FIXED64 else 4
        else:
            raise ValueError(f"a field of kind {kind}")
        if at > len(message):
            raise ValueError("it breaks off")
        yield number, value


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    """Return a number, and where it ends."""
    found = 0
    for shift in range(0, 70, 7):
        if at == len(message):
            raise ValueError("it breaks off")
        byte = message[at]
        at += 1
        found |= (byte & 127) << shift
        if byte < 128:
            return found, at
    raise ValueError("a number is too long")
