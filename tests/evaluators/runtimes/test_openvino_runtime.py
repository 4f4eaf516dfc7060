"""Nets run by OpenVINO give what ONNX Runtime gives, in batches of any size."""

import ctypes
import gc
import sys
import threading
import weakref
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tests.evaluators.test_tiny_nets import KATAGO_NETS, LEELA_ZERO_NETS
from tests.paths import TINY

from gtp_engine.evaluators.nets.net_files import find_files, known_nets
from gtp_engine.evaluators.nets.net_info import OUTPUT_NAMES
from gtp_engine.evaluators.nets.onnx_net import OnnxNet, name_inputs
from gtp_engine.evaluators.nets.precision import open_best
from gtp_engine.evaluators.nets.self_check import differences_of
from gtp_engine.evaluators.runtimes import openvino_runtime
from gtp_engine.evaluators.runtimes.devices import int8_may_overflow
from gtp_engine.evaluators.runtimes.openvino_runtime import FP32, OpenVinoSession
from gtp_engine.evaluators.runtimes.sessions import (
    NEEDS_OPENVINO,
    ONNX_RUNTIME,
    OPENVINO,
    say_it_is_missing,
)
from gtp_engine.evaluators.runtimes.streams import Feed
from gtp_export.convert.conversion import convert_file

pytestmark = pytest.mark.skipif(
    not openvino_runtime.INSTALLED, reason="the extra openvino is missing"
)

BOARDS = ((9, 9), (19, 19), (7, 11))
ALL_KINDS = dict.fromkeys(KATAGO_NETS, (7, 11)) | dict.fromkeys(LEELA_ZERO_NETS, (19, 19))
"""The board of each."""


def inputs(net: OnnxNet, count: int, width: int, height: int) -> dict[str, np.ndarray]:
    """Return planes that are set here and there, the first on all of the board."""
    generator = np.random.Generator(np.random.PCG64(count))
    spatial = generator.integers(0, 2, (count, net.info.spatial_planes, height, width), np.uint8)
    spatial[:, 0] = 1
    features = generator.normal(size=(count, net.info.global_features)).astype(np.float32)
    profile = generator.normal(size=(count, net.info.meta_features)).astype(np.float32)
    return name_inputs(net.info, spatial, np.concatenate([features, profile], axis=1))


def run_in_both(path: Path, width: int, height: int, count: int = 3) -> set[str]:
    """Compare all outputs, and return their names."""
    plain, other = OnnxNet(path, "cpu"), OnnxNet(path, "cpu", runtime=OPENVINO, streams=1)
    assert (plain.runtime, other.runtime) == (ONNX_RUNTIME, OPENVINO)
    assert other.info == plain.info
    feed = inputs(plain, count, width, height)
    expected, found = plain.run_feed(feed), other.run_feed(feed)
    assert set(found) == set(expected)
    tolerance = 0.02 if "int8" in plain.info.precision else 1e-3
    for name, array in expected.items():
        scale = max(1.0, float(np.abs(array).max()))
        np.testing.assert_allclose(found[name], array, atol=tolerance * scale, err_msg=name)
    return set(found)


@pytest.mark.parametrize("name", sorted(known_nets()))
def test_shipped_nets_pass_their_self_check(name: str) -> None:
    net = OnnxNet(known_nets()[name], "cpu", runtime=OPENVINO, streams=1)
    found = differences_of(net)
    assert net.runtime == OPENVINO and found
    if not all(one.is_right for one in found):
        # Where sums of int8 may overflow another runtime or precision is taken in its place.
        assert int8_may_overflow() and net.info.precision.startswith("int8")
        chosen = open_best(find_files(name.removesuffix("-int8")), "cpu")
        assert all(one.is_right for one in differences_of(chosen))


def test_streams_share_what_was_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    session = OpenVinoSession(TINY, "CPU", 3, FP32)
    core, compiled = session._core, []

    def compile_model(*given: object) -> object:
        compiled.append(given)
        return core.compile_model(*given)

    only = SimpleNamespace(compile_model=compile_model, import_model=core.import_model)
    monkeypatch.setattr(session, "_core", only)
    feed = inputs(OnnxNet(TINY, "cpu"), 2, 9, 9)
    first, *others = [stream.run(feed, 2) for stream in session._streams]
    assert len(compiled) == 1 and not session._exported
    for one in others:
        for name, array in first.items():
            np.testing.assert_array_equal(one[name], array)


@pytest.mark.parametrize("width, height", BOARDS)
def test_both_runtimes_agree_on_boards_of_any_shape(width: int, height: int) -> None:
    run_in_both(TINY, width, height)


@pytest.mark.parametrize("name", ALL_KINDS)
def test_both_runtimes_agree_on_nets_of_all_kinds(
    reference_data: Path, tmp_path: Path, name: str
) -> None:
    source, *_ = sorted((reference_data / "nets" / "tiny").glob(f"{name}.*.gz"))
    convert_file(source, tmp_path / "net.onnx")
    heads = run_in_both(tmp_path / "net.onnx", *ALL_KINDS[name], count=1)
    assert {"policy", "value"} <= heads
    if name.startswith("kata-v16"):
        assert heads == {*OUTPUT_NAMES}


def test_a_row_is_the_same_in_any_batch() -> None:
    net = OnnxNet(TINY, "cpu", runtime=OPENVINO, streams=1)
    feed = inputs(net, 40, 9, 9)
    whole = net.run_feed(feed)
    for count in (1, 3, 8, 33):
        part = net.run_feed({name: rows[:count] for name, rows in feed.items()})
        for name, rows in part.items():
            np.testing.assert_allclose(rows, whole[name][:count], atol=1e-5, err_msg=name)


def test_a_batch_is_run_in_parts_that_need_no_padding(monkeypatch: pytest.MonkeyPatch) -> None:
    parts: list[int] = []
    run = openvino_runtime._Stream.run

    def note(stream: openvino_runtime._Stream, feed: Feed, bucket: int) -> dict[str, np.ndarray]:
        assert all(len(rows) == bucket for rows in feed.values())
        parts.append(bucket)
        return run(stream, feed, bucket)

    monkeypatch.setattr(openvino_runtime._Stream, "run", note)
    net = OnnxNet(TINY, "cpu", runtime=OPENVINO, streams=1)
    net.run_feed(inputs(net, 43, 9, 9))
    assert parts == [32, 8, 2, 1]


def test_a_net_that_nobody_needs_goes_without_the_collector() -> None:
    session = openvino_runtime.OpenVinoSession(TINY, "CPU", 2, openvino_runtime.FP32)
    session.run(inputs(OnnxNet(TINY, "cpu", runtime=ONNX_RUNTIME), 3, 9, 9))
    gc.disable()
    try:
        gone = weakref.ref(session)
        del session
        assert gone() is None
    finally:
        gc.enable()


def test_many_threads_share_a_net() -> None:
    net = OnnxNet(TINY, "cpu", runtime=OPENVINO, streams=2)
    feeds = [inputs(net, count, 9, 9) for count in (1, 2, 3, 4)]
    found: list[dict[str, np.ndarray] | None] = [None] * len(feeds)

    def call(number: int) -> None:
        for _ in range(5):
            found[number] = net.run_feed(feeds[number])

    threads = [threading.Thread(target=call, args=(number,)) for number in range(len(feeds))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for feed, outputs in zip(feeds, found, strict=True):
        assert outputs is not None
        np.testing.assert_allclose(outputs["policy"], net.run_feed(feed)["policy"], atol=1e-5)


def test_without_openvino_one_sentence_says_what_it_needs(
    monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    monkeypatch.setattr(openvino_runtime, "INSTALLED", False)
    say_it_is_missing.cache_clear()
    nets = [OnnxNet(TINY, "cpu", runtime=OPENVINO) for _ in range(2)]
    assert all(net.runtime == ONNX_RUNTIME for net in nets)
    assert said == [f"using ONNX Runtime instead of OpenVINO: {NEEDS_OPENVINO}"]


def test_a_net_that_does_not_compile_goes_on_with_onnx_runtime(
    monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    net = OnnxNet(TINY, "cpu", runtime=OPENVINO, streams=2)

    def fail(*_: object) -> None:
        raise RuntimeError("Exception from src/x.cpp:1:\nno kernel for it")

    monkeypatch.setattr(openvino_runtime.OpenVinoSession, "request_for", fail)
    assert net.run_feed(inputs(net, 1, 9, 9))["policy"].shape == (1, 82)
    assert net.runtime == ONNX_RUNTIME
    assert len(said) == 1 and said[0].startswith("using ONNX Runtime instead of OpenVINO: ")


def test_without_an_intel_gpu_one_sentence_says_so(
    monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    monkeypatch.setattr(openvino_runtime, "list_devices", lambda: ["CPU", "NPU"])
    assert OnnxNet(TINY, "gpu").device == "cpu"
    assert said == ["using the CPU instead of an Intel GPU: OpenVINO finds CPU, NPU"]


def test_an_openvino_that_does_not_start_leaves_nets_to_onnx_runtime(
    monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    def fail() -> None:
        raise ImportError("a library is missing")

    monkeypatch.setattr(openvino_runtime, "_openvino", fail)
    for device in ("cpu", "gpu"):
        net = OnnxNet(TINY, device, runtime=OPENVINO)
        assert (net.device, net.runtime) == ("cpu", ONNX_RUNTIME)
    assert not openvino_runtime.has_bf16()
    assert "using ONNX Runtime instead of OpenVINO: a library is missing" in said


def test_a_gpu_that_does_not_work_leaves_the_net_to_the_processor(
    monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    monkeypatch.setattr(openvino_runtime, "list_devices", lambda: ["CPU", "GPU"])
    net = OnnxNet(TINY, "gpu")
    assert (net.device, net.runtime) == ("gpu", OPENVINO)
    assert net.run_feed(inputs(net, 1, 9, 9))["policy"].shape == (1, 82)
    assert (net.device, net.runtime) == ("cpu", ONNX_RUNTIME) and len(said) == 1


class SignalStack(ctypes.Structure):
    """What Linux calls stack_t."""

    _fields_ = (("at", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t))


@pytest.mark.skipif(sys.platform != "linux", reason="Windows and macOS lay stack_t out otherwise")
def test_signals_find_the_stack_that_they_found_before() -> None:
    def signal_stack() -> tuple[int | None, int, int]:
        stack = SignalStack()
        assert ctypes.CDLL(None).sigaltstack(None, ctypes.byref(stack)) == 0
        return stack.at, stack.flags, stack.size

    before = signal_stack()
    net = OnnxNet(TINY, "cpu", runtime=OPENVINO, streams=1)
    net.run_feed(inputs(net, 1, 9, 9))
    assert (net.runtime, signal_stack()) == (OPENVINO, before)
