"""What holds for every encoder."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from tests.evaluators.encoders.encoding import encoded
from tests.go.random_positions import random_position
from tests.paths import ROOT

from gtp_engine.evaluators.nets.net_info import ENCODERS
from gtp_engine.go.symmetry import symmetries, transform


@pytest.mark.parametrize("name", sorted(ENCODERS))
def test_planes_are_bits_and_turn_with_the_board(name: str) -> None:
    for seed in range(12):
        position = random_position(seed)
        planes, features = encoded(name, position)
        assert planes.max() == 1
        assert np.isfinite(features).all() and (features != 9).all()
        for symmetry in symmetries(position.width, position.height):
            turned, same = encoded(name, position, symmetry)
            np.testing.assert_array_equal(turned, transform(planes, symmetry))
            np.testing.assert_array_equal(same, features)


def probe(code: str, **environment: str) -> str:
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_encoders_not_in_use_are_not_imported() -> None:
    code = """
import sys
from gtp_engine.evaluators.encoders.inputs import find_encoder
find_encoder("lz18")
print([name for name in sys.modules if "encoders.katago" in name or "encoders.alphago" in name])
"""
    assert probe(code).strip() == "[]"


SUMS = """
import json, sys
import numpy as np
from tests.evaluators.encoders.encoding import encoded
from tests.go.random_positions import random_position
from gtp_engine.evaluators.nets.net_info import ENCODERS
sums = {}
for name in sorted(ENCODERS):
    sums[name] = []
    for seed in (3, 5, 8):
        planes, features = encoded(name, random_position(seed, (4, 5)))
        weights = np.arange(planes.size).reshape(planes.shape)
        sums[name] += [int((planes * weights).sum()), [float(number) for number in features]]
json.dump(sums, sys.stdout)
"""


def test_interpreted_kernels_agree() -> None:
    interpreted = json.loads(probe(SUMS, NUMBA_DISABLE_JIT="1", PYTHONPATH=str(ROOT)))
    assert interpreted == json.loads(probe(SUMS, PYTHONPATH=str(ROOT)))
    assert len(interpreted) == len(ENCODERS)
