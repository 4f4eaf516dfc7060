"""A Go engine: GTP front-end, Numba board and search, ONNX nets."""

__version__ = "0.15.0"
