"""Write random nets in Leela Zero's file format for tests to convert."""

import numpy as np

POINTS = 361


def write_leela_zero(version: int, blocks: int = 1, filters: int = 2, hidden: int = 3) -> bytes:
    """Return the content of a small net's file; its first weight is 0.5."""
    random = np.random.default_rng(version)

    def unit(inputs: int, outputs: int, kernel: int) -> list[np.ndarray]:
        weights = random.standard_normal(outputs * inputs * kernel * kernel) / np.sqrt(inputs)
        return [
            weights,
            random.standard_normal(outputs) * 0.1,
            random.standard_normal(outputs) * 0.1,
            0.5 + random.random(outputs),
        ]

    tensors = unit(18, filters, 3)
    tensors[0][0] = 0.5
    for _ in range(2 * blocks):
        tensors += unit(filters, filters, 3)
    tensors += unit(filters, 2, 1)
    tensors += [random.standard_normal(362 * 722) * 0.02, random.standard_normal(362)]
    tensors += unit(filters, 1, 1)
    tensors += [random.standard_normal(hidden * POINTS) * 0.05, random.standard_normal(hidden)]
    tensors += [random.standard_normal(hidden) * 0.5, random.standard_normal(1) * 0.1]
    lines = [" ".join(f"{value:.6g}" for value in tensor) for tensor in tensors]
    return "\n".join([str(version), *lines, ""]).encode()
