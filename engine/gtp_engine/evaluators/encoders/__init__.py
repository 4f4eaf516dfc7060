"""How positions become the inputs of nets: one module an encoder, found by the name nets use.

A module is imported when its encoder is first asked for, so that nobody waits for the kernels of
encoders that are not in use.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gtp_engine.evaluators.encoders.inputs import Encode


def find_encoder(name: str) -> "Encode":
    """Return the kernel of an encoder.

    Args:
        name: A key of `net_info.ENCODERS`; the module of that name holds it.
    """
    encode: Encode = import_module(f"{__name__}.{name}").encode
    return encode
