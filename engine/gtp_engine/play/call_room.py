"""Room for the deep calls that compiling makes.

CPython keeps the frames of Python functions in blocks of 16 KB. It takes a block from the system
when a call does not fit into the last one, and gives it back as soon as that call returns. A loop
that happens to run at the edge of a block pays for both in every round: in a thread that compiles
kernels, one pass over one of them took ten times as long as need be.
"""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_SLOTS = 1 << 16
"""Values that the roomy frame claims to hold, 512 KB; its block is twice as large."""


def with_room(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Return a function that does the same, with the frames of all calls below it in one block.

    That holds down to some hundreds of calls. Memory that they do not reach is never touched.
    """

    def roomy(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        return function(*args, **kwargs)

    roomy.__code__ = roomy.__code__.replace(co_stacksize=_SLOTS)
    return roomy
