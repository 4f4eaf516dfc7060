"""Priors in two bytes.

A prior lies between 0 and 1, so the two highest bits of its single-precision form are zero; the
code is the sixteen bits that follow, rounded. Nine bits of fraction keep a prior to one part in a
thousand, down to the smallest, and codes stand in the same order as the priors. Zero codes no
prior: an illegal move.
"""

import numpy as np

from gtp_engine.kernels import inline_kernel, int64


@inline_kernel
def prior_code(prior: float) -> int:
    """Return the code of a prior, 1 at least; the prior lies between 0 and 1."""
    bits = int64(np.float32(prior).view(np.uint32))
    return max(int64(1), (bits + 8192) >> 14)


@inline_kernel
def coded_prior(code: int) -> np.float32:
    """Return the prior that a code stands for, in single precision."""
    return np.uint32(int64(code) << 14).view(np.float32)
