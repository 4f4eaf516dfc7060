"""How positions become the inputs of nets: a kernel an encoder, under the name that nets use.

A family of encoders is imported when one of it is first asked for: nobody waits for the others.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gtp_engine.evaluators.encoders.inputs import Encode


def find_encoder(name: str) -> "Encode":
    """Return the kernel of an encoder.

    Args:
        name: A key of `net_info.ENCODERS`.
    """
    family = next((each for each in ("katago", "alphago") if name.startswith(each)), "stones")
    encode: Encode = getattr(import_module(f"{__name__}.{family}"), name)
    return encode
