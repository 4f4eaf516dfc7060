"""Which processors this machine has, asked of the system and of the driver alone.

Nothing here loads ONNX Runtime: asking CUDA of it in vain prints errors, so the driver is asked
first. Beside the standard library only llvmlite is imported.
"""

import ctypes
import os
import weakref
from functools import cache
from typing import TYPE_CHECKING, Any

from gtp_engine.platforms import CUDA_DRIVER, cpu_model

if TYPE_CHECKING:
    from numpy.typing import NDArray

DEVICES = ("auto", "cuda", "tensorrt", "gpu", "cpu")
"""What a user may ask for; auto never takes tensorrt, which is CUDA by way of a slow compiler, nor
gpu, one of Intel's, which OpenVINO serves."""
RUNTIMES = ("auto", "onnxruntime", "openvino")
"""What may run nets on a processor; auto takes the faster, and measures once which that is."""

_NAME_BYTES = 256
_FOR_ALL_CONTEXTS = 1
"""CU_MEMHOSTREGISTER_PORTABLE of the driver."""


def cuda_obstacle() -> str | None:
    """Return why CUDA cannot work here, in a phrase; None if a driver reports a device."""
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES")
    if hidden is not None and hidden.strip() in ("", "-1"):
        return "CUDA_VISIBLE_DEVICES hides every device"
    try:
        driver = _driver()
    except OSError:
        return "no NVIDIA driver is installed"
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return "the NVIDIA driver does not start"
    return None if count.value > 0 else "the NVIDIA driver finds no device"


def gpu_names() -> list[str]:
    """Return the names of the GPUs that CUDA may use, by their numbers; empty without any."""
    if cuda_obstacle() is not None:
        return []
    driver = _driver()
    count = ctypes.c_int(0)
    driver.cuDeviceGetCount(ctypes.byref(count))
    return [_gpu_name(driver, number) for number in range(count.value)]


def _driver() -> ctypes.CDLL:
    """Load CUDA's driver; raise OSError where there is none."""
    return ctypes.CDLL(CUDA_DRIVER)


def _gpu_name(driver: ctypes.CDLL, number: int) -> str:
    device = ctypes.c_int(0)
    name = ctypes.create_string_buffer(_NAME_BYTES)
    driver.cuDeviceGet(ctypes.byref(device), number)
    driver.cuDeviceGetName(name, _NAME_BYTES, device)
    return name.value.decode("utf-8", "replace") or f"GPU {number}"


def pin(array: "NDArray[Any]", gpu: int) -> None:
    """Keep an array [...] from being moved, for as long as it lives: a GPU copies it faster.

    Where the driver refuses, nothing but speed is lost.
    """
    if cuda_obstacle() is not None:
        return
    driver = _driver()
    device, context = ctypes.c_int(0), ctypes.c_void_p()
    address = ctypes.c_void_p(array.ctypes.data)
    if driver.cuDeviceGet(ctypes.byref(device), gpu) != 0:
        return
    if driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) != 0:
        return
    if driver.cuCtxPushCurrent_v2(context) != 0:
        return
    status = driver.cuMemHostRegister_v2(address, ctypes.c_size_t(array.nbytes), _FOR_ALL_CONTEXTS)
    driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))
    if status == 0:
        weakref.finalize(array, _unpin, driver, context, address).atexit = False


def _unpin(driver: ctypes.CDLL, context: ctypes.c_void_p, address: ctypes.c_void_p) -> None:
    """Let go of memory that was pinned."""
    if driver.cuCtxPushCurrent_v2(context) == 0:
        driver.cuMemHostUnregister(address)
        driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))


@cache
def cpu_name() -> str:
    """Return the processor's name, with the instructions for 8-bit products it has."""
    from llvmlite import binding

    features = binding.get_host_cpu_features()
    products = ("avx2", "avx512f", "avxvnni", "avx512vnni")
    return " ".join([cpu_model(), *(name for name in products if features.get(name))])


def int8_may_overflow() -> bool:
    """Whether the processor adds products of 8-bit weights in 16 bits: it has AVX2 but no VNNI."""
    return "avx2" in cpu_name() and "vnni" not in cpu_name()
