"""KataGo's input features, version 4: 22 planes and 14 globals, for nets of version 5.

They are those of version 3, except that the area planes show pass-alive stones and their
territory whatever the rules.
"""

from gtp_engine.evaluators.encoders.inputs import Features, Options, Planes, SymmetryMap
from gtp_engine.evaluators.encoders.katago_v3 import fill
from gtp_engine.go.history import History
from gtp_engine.go.ladders import Reader
from gtp_engine.go.rules import RuleFlags
from gtp_engine.kernels import hot_kernel


@hot_kernel
def encode(
    history: History,
    ply: int,
    rules: RuleFlags,
    options: Options,
    reader: Reader,
    symmetry_map: SymmetryMap,
    spatial: Planes,
    features: Features,
) -> None:
    """Fill the inputs of one position; see `inputs.Encode`."""
    fill(history, ply, rules, options, reader, symmetry_map, 0, spatial, features)
