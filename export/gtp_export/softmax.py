"""From logits to chances, where some are of no use."""

import numpy as np
from numpy.typing import NDArray


def masked_softmax(logits: NDArray[np.float32], mask: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Return the softmax over the last axis of what the mask admits."""
    masked = np.where(mask, logits, -np.inf)
    weights = np.exp(masked - masked.max(axis=-1, keepdims=True))
    chances: NDArray[np.float32] = weights / weights.sum(axis=-1, keepdims=True)
    return chances.astype(np.float32)
