"""What `gtp-engine doctor --prove` proves, as tests: skipped, with the reason, without a GPU."""

from collections.abc import Callable

import pytest

from gtp_engine.commands.doctor_proof import PROOFS
from gtp_engine.evaluators.runtimes.devices import cuda_obstacle

OBSTACLE = cuda_obstacle()


@pytest.mark.parametrize("prove", [prove for _, needs_gpu, prove in PROOFS if needs_gpu])
@pytest.mark.skipif(OBSTACLE is not None, reason=str(OBSTACLE))
def test_the_gpu(prove: Callable[[str | None], str]) -> None:
    assert prove(None)
