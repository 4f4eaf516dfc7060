"""Net files: those that open, and one clear sentence for each that does not."""

import ctypes
import gc
import re
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.paths import TINY

from gtp_engine.evaluators.nets import onnx_net, precision
from gtp_engine.evaluators.nets.net_files import NetFiles
from gtp_engine.evaluators.nets.net_info import MetadataError, NetFileError
from gtp_engine.evaluators.nets.onnx_net import OnnxNet
from gtp_engine.evaluators.runtimes.devices import cuda_obstacle
from gtp_engine.evaluators.runtimes.external_data import names_other_files
from gtp_engine.evaluators.runtimes.streams import SessionStream


def assert_one_sentence(error: Exception, path: Path) -> None:
    text = str(error)
    assert text.startswith(f"{path}: ") and "\n" not in text and len(text) < 400


def refused(path: Path) -> str:
    """Open a net that cannot be used and return the message without the file's name."""
    with pytest.raises(NetFileError) as caught:
        OnnxNet(path, "cpu")
    assert_one_sentence(caught.value, path)
    return str(caught.value).removeprefix(f"{path}: ")


def altered(path: Path, change: Callable[[Any], None]) -> Path:
    """Write the tiny net with something changed."""
    onnx = pytest.importorskip("onnx")
    model = onnx.load(TINY)
    change(model)
    onnx.save(model, path)
    return path


def test_golden_outputs_are_met() -> None:
    net = OnnxNet(TINY, "cpu")
    cases = net.golden_cases()
    assert cases
    for case in cases:
        found = net.run_feed(case.inputs)
        assert set(found) == set(case.outputs)
        for name, expected in case.outputs.items():
            np.testing.assert_allclose(found[name], expected, atol=1e-4, err_msg=name)


@pytest.mark.parametrize("width, height", [(9, 9), (2, 2), (5, 7), (19, 19)])
def test_outputs_have_the_shapes_of_the_contract_in_any_batch(width: int, height: int) -> None:
    net = OnnxNet(TINY, "cpu")
    generator = np.random.Generator(np.random.PCG64(1))
    spatial = generator.integers(0, 2, (3, 22, height, width), np.uint8)
    features = generator.normal(size=(3, 19)).astype(np.float32)
    found = net.run(spatial, features)
    assert found.policy.shape == (3, height * width + 1) and found.policy_optimistic is None
    assert found.value is not None and found.value.shape == (3, 3)
    assert found.score is not None and found.score.shape == (3, 3)
    assert found.ownership is not None and found.ownership.shape == (3, height, width)
    assert np.abs(found.ownership).max() <= 1.0
    alone = net.run(spatial[1:2], features[1:2])
    np.testing.assert_allclose(alone.policy[0], found.policy[1], atol=1e-5)


def test_a_missing_file(tmp_path: Path) -> None:
    assert refused(tmp_path / "none.onnx") == "there is no such net file"
    assert refused(tmp_path) == "there is no such net file"


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_a_truncated_file(share: float, tmp_path: Path) -> None:
    path = tmp_path / "short.onnx"
    data = TINY.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    refused(path)


@pytest.mark.parametrize("content", [b"\x00" * 100, b"(;GM[1]SZ[19])", bytes(range(256)) * 40])
def test_a_file_that_is_no_net(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "noise.onnx"
    path.write_bytes(content)
    assert re.search("is no ONNX file|is not a net that can be loaded", refused(path))


def elsewhere(model: Any) -> None:
    """Let the first weights of a model come from another file."""
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = 1
    tensor.external_data.add(key="location", value="../weights")


def in_a_node(model: Any) -> None:
    """The same for a tensor that is a node's attribute, in a graph that is one of another."""
    from onnx import helper

    tensor = model.graph.initializer[0]
    elsewhere(model)
    constant = helper.make_node("Constant", [], ["w"], value=tensor)
    graph = helper.make_graph([constant], "inner", [], [])
    model.graph.node.append(helper.make_node("If", ["x"], ["y"], then_branch=graph))
    del model.graph.initializer[0]


def test_a_field_whose_number_others_would_cut_off_is_refused() -> None:
    # Field 14 with bit 32 set, which a reader of 32 bits does not see.
    assert not names_other_files(memoryview(b"\x70\x01"))
    with pytest.raises(ValueError, match="number is too large"):
        names_other_files(memoryview(b"\xf0\x80\x80\x80\x10\x01"))


@pytest.mark.parametrize("change", [elsewhere, in_a_node])
def test_a_net_never_opens_another_file(change: Callable[[Any], None], tmp_path: Path) -> None:
    path = altered(tmp_path / "net.onnx", lambda model: None)
    onnx = pytest.importorskip("onnx")
    model = onnx.load(path)
    change(model)
    path.write_bytes(model.SerializeToString())
    assert refused(path) == "keeps its weights in another file; save it as one file"


@pytest.mark.parametrize(
    ("word", "times"), [(b'"name"', -1), (b"ownership", -1), (b"global_in", 1)]
)
def test_a_net_whose_words_are_no_text(
    word: bytes, times: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "net.onnx"
    content = TINY.read_bytes()
    path.write_bytes(content.replace(word, b"\xff" + word[1:], times))
    assert refused(path) == "its names or its metadata are not text"
    assert capsys.readouterr().out == ""


def test_an_onnx_file_that_says_nothing_about_itself(tmp_path: Path) -> None:
    path = altered(tmp_path / "plain.onnx", lambda model: model.ClearField("metadata_props"))
    assert "gtp-export describe" in refused(path)
    with pytest.raises(MetadataError):
        OnnxNet(path, "cpu")


def change_metadata(old: str, new: str) -> Callable[[Any], None]:
    def change(model: Any) -> None:
        for item in model.metadata_props:
            if item.key == "gtp_engine.net":
                assert old in item.value
                item.value = item.value.replace(old, new)

    return change


@pytest.mark.parametrize(
    "old, new, message",
    [
        ('"schema": 1', '"schema": 99', "schema"),
        ('"katago_v7"', '"katago_v99"', "unknown encoder"),
        ("{", "[", "not JSON"),
        ('"meta_features": 0', '"meta_features": 192', "'meta_in'"),
        ('"ownership": "', '"policy_optimistic": "", "ownership": "', "'policy_optimistic'"),
    ],
)
def test_a_description_that_does_not_fit(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert message in refused(altered(tmp_path / "odd.onnx", change_metadata(old, new)))


def test_a_graph_without_the_inputs_it_promises(tmp_path: Path) -> None:
    def rename(model: Any) -> None:
        for node in model.graph.node:
            node.input[:] = ["planes" if name == "spatial_in" else name for name in node.input]
        for item in model.graph.input:
            item.name = "planes" if item.name == "spatial_in" else item.name

    assert refused(altered(tmp_path / "odd.onnx", rename)) == "the graph has no 'spatial_in'"


def test_inputs_that_the_net_cannot_take() -> None:
    net = OnnxNet(TINY, "cpu")
    with pytest.raises(NetFileError, match="the net failed to run") as caught:
        net.run(np.zeros((1, 7, 9, 9), np.uint8), np.zeros((1, 19), np.float32))
    assert_one_sentence(caught.value, TINY)


@pytest.mark.parametrize("head", ["policy", "value", "ownership"])
@pytest.mark.parametrize(
    "operator, kind, attributes",
    [
        ("ReduceMax", "FLOAT", {"keepdims": 1}),  # one row for all positions
        ("ReduceMax", "FLOAT", {"keepdims": 0}),  # a single number
        ("Cast", "FLOAT16", {"to": 10}),
        ("Shape", "INT64", {}),
        ("SequenceConstruct", None, {}),
    ],
)
def test_outputs_that_are_no_rows_of_numbers_are_refused(
    head: str, operator: str, kind: str | None, attributes: dict[str, int], tmp_path: Path
) -> None:
    onnx = pytest.importorskip("onnx")

    def change(model: Any) -> None:
        for node in model.graph.node:
            node.output[:] = ["before" if name == head else name for name in node.output]
        model.graph.node.append(onnx.helper.make_node(operator, ["before"], [head], **attributes))
        index = [output.name for output in model.graph.output].index(head)
        if kind is None:
            row = onnx.helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, None)
            whole = onnx.helper.make_sequence_type_proto(row)
            changed = onnx.helper.make_value_info(head, whole)
        else:
            number = getattr(onnx.TensorProto, kind)
            changed = onnx.helper.make_tensor_value_info(head, number, None)
        model.graph.output[index].CopyFrom(changed)

    path = altered(tmp_path / "odd.onnx", change)
    net = OnnxNet(path, "cpu")
    with pytest.raises(NetFileError, match=f"'{head}' has an unexpected shape") as caught:
        net.run(np.zeros((3, 22, 9, 9), np.uint8), np.zeros((3, 19), np.float32))
    assert_one_sentence(caught.value, path)


def test_unknown_devices_are_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="unknown device"):
        OnnxNet(TINY, "tpu")


# CUDA --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device, lines", [("cuda", 1), ("auto", 0), ("cpu", 0)])
def test_without_a_driver_the_cpu_is_used(
    device: str,
    lines: int,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    said: list[str],
) -> None:
    monkeypatch.setattr(onnx_net, "cuda_obstacle", lambda: "no NVIDIA driver is installed")
    net = OnnxNet(TINY, device)
    assert net.device == "cpu" and len(said) == lines
    assert said == ["using the CPU instead of CUDA: no NVIDIA driver is installed"][:lines]
    assert capfd.readouterr() == ("", ""), "nothing but what was said"


@pytest.mark.parametrize("failure", ["not built in", "does not load", "falls back"])
@pytest.mark.parametrize("device", ["cuda", "auto"])
def test_cuda_that_fails_is_explained_in_one_line(
    failure: str, device: str, monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    import onnxruntime

    real = onnxruntime.InferenceSession

    def session(path: str, options: Any, providers: list[Any], **_: int) -> Any:
        if len(providers) > 1 and failure == "does not load":
            raise RuntimeError("[ONNXRuntimeError] : 1 : FAIL : libcublas is missing\nat line 7")
        return real(path, options, providers=["CPUExecutionProvider"])

    names = ["CPUExecutionProvider"] + ["CUDAExecutionProvider"] * (failure != "not built in")
    monkeypatch.setattr(onnx_net, "cuda_obstacle", lambda: None)
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: names)
    monkeypatch.setattr(onnxruntime, "preload_dlls", lambda: None, raising=False)
    monkeypatch.setattr(onnxruntime, "InferenceSession", session)
    net = OnnxNet(TINY, device)
    assert net.device == "cpu" and len(said) == 1 and "\n" not in said[0]
    assert said[0].startswith("using the CPU instead of CUDA: ")
    assert net.run(np.zeros((1, 22, 5, 5), np.uint8), np.zeros((1, 19), np.float32)).policy.size


class CpuStream(SessionStream):
    """A stream whose session runs on the CPU."""

    def __init__(self, session: Any, gpu: int) -> None:
        super().__init__(session, gpu, "cpu")


class FakeCudaSession:
    """A session on the CPU that takes itself for one on a GPU."""

    def __init__(self, session: Any, providers: list[Any]) -> None:
        self._session = session
        self.asked = providers

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def get_providers(self) -> list[str]:
        return [item if isinstance(item, str) else item[0] for item in self.asked]


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> list[FakeCudaSession]:
    """Two GPUs that are the CPU; the sessions that are opened on them."""
    import onnxruntime

    real = onnxruntime.InferenceSession
    opened: list[FakeCudaSession] = []

    def session(path: str, options: Any, providers: list[Any], **_: int) -> Any:
        made = real(path, options, providers=["CPUExecutionProvider"])
        if len(providers) == 1:
            return made
        opened.append(FakeCudaSession(made, providers))
        return opened[-1]

    names = ["TensorrtExecutionProvider", "CUDAExecutionProvider", "CPUExecutionProvider"]
    monkeypatch.setattr(onnx_net, "cuda_obstacle", lambda: None)
    monkeypatch.setattr(onnx_net, "gpu_names", lambda: ["first", "second"])
    monkeypatch.setattr(onnx_net, "SessionStream", CpuStream)
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: names)
    monkeypatch.setattr(onnxruntime, "preload_dlls", lambda: None, raising=False)
    monkeypatch.setattr(onnxruntime, "InferenceSession", session)
    return opened


def test_each_gpu_has_sessions_of_its_own(gpus: list[FakeCudaSession], said: list[str]) -> None:
    net = OnnxNet(TINY, "auto")
    assert net.device == "cuda" and not said
    assert [session.asked[0][1]["device_id"] for session in gpus] == ["0"] * 3 + ["1"] * 3
    plain = OnnxNet(TINY, "cpu")
    for case in net.golden_cases():
        found = net.run_feed(case.inputs)
        for name, expected in plain.run_feed(case.inputs).items():
            np.testing.assert_allclose(found[name], expected, atol=1e-5)


def test_a_session_that_finds_no_memory_leaves_the_others(
    gpus: list[FakeCudaSession], monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    real = onnx_net.open_session

    def open_three(path: Path, providers: Any) -> Any:
        if len(gpus) == 3:
            raise NetFileError(f"{path}: CUDA out of memory")
        return real(path, providers)

    monkeypatch.setattr(onnx_net, "open_session", open_three)
    assert OnnxNet(TINY, "auto").device == "cuda"
    assert len(said) == 3
    assert said[0] == f"GPU 1 cannot have another batch in flight: {TINY}: CUDA out of memory"


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_gpu_that_computes_no_numbers_is_left(
    gpus: list[FakeCudaSession], monkeypatch: pytest.MonkeyPatch, said: list[str], wrong: float
) -> None:
    net = OnnxNet(TINY, "cuda")
    real = CpuStream.run

    def spoil(self: Any, feed: Any, bucket: int) -> Any:
        found = real(self, feed, bucket)
        found["value"][0, 0] = wrong
        return found

    monkeypatch.setattr(CpuStream, "run", spoil)
    found = net.run(np.zeros((2, 22, 5, 5), np.uint8), np.zeros((2, 19), np.float32))
    assert found.value is not None and np.isfinite(found.value).all() and net.device == "cpu"
    assert said == ["using the CPU instead of CUDA from now on: it computes what are no numbers"]


@pytest.mark.parametrize("factor", [1.0, 3.0])
def test_a_gpu_that_computes_wrong_numbers_is_not_begun_with(
    gpus: list[FakeCudaSession], monkeypatch: pytest.MonkeyPatch, said: list[str], factor: float
) -> None:
    monkeypatch.setattr(precision, "cuda_obstacle", lambda: None)
    real = CpuStream.run

    def spoil(self: Any, feed: Any, bucket: int) -> Any:
        return {name: factor * array for name, array in real(self, feed, bucket).items()}

    monkeypatch.setattr(CpuStream, "run", spoil)
    net = precision.open_best(NetFiles(TINY), "cuda")
    assert net.device == ("cuda" if factor == 1.0 else "cpu")
    assert len(said) == (factor != 1.0) and all("self-check: " in line for line in said)


def test_gpus_that_fail_on_the_way_are_replaced_by_the_cpu_in_one_line(
    gpus: list[FakeCudaSession], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: list[str]
) -> None:
    spare = tmp_path / "spare.onnx"
    spare.write_bytes(TINY.read_bytes())
    net = OnnxNet(TINY, "cuda", spare=lambda runtime: (spare, runtime))
    assert net.path == TINY and not said
    pool = weakref.ref(net._run.__self__)

    def fail(self: Any, feed: Any, bucket: int) -> Any:
        raise RuntimeError("[ONNXRuntimeError] : 1 : FAIL : CUDA failure 999: unknown error")

    monkeypatch.setattr(CpuStream, "run", fail)
    inputs = np.zeros((2, 22, 5, 5), np.uint8), np.zeros((2, 19), np.float32)
    found = net.run(*inputs)
    assert found.policy is not None and len(found.policy) == 2
    first, last = said
    assert re.fullmatch(r"GPU [01] has failed, the others go on: CUDA .* unknown error", first)
    assert last == "using the CPU instead of CUDA from now on: CUDA failure 999: unknown error"
    assert (net.device, net.path) == ("cpu", spare)
    net.run(*inputs)
    assert len(said) == 2, "said once"
    gc.collect()
    assert pool() is None, "their memory is free for others"


def test_threads_that_meet_a_failing_gpu_get_the_outputs_by_their_names(
    gpus: list[FakeCudaSession], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def turn(model: Any) -> None:
        outputs = list(model.graph.output)[::-1]
        del model.graph.output[:]
        model.graph.output.extend(outputs)

    spare = altered(tmp_path / "spare.onnx", turn)
    net = OnnxNet(TINY, "cuda", spare=lambda runtime: (spare, runtime))
    inputs = np.zeros((2, 22, 5, 5), np.uint8), np.zeros((2, 19), np.float32)
    expected = net.run(*inputs)

    def fail(self: Any, feed: Any, bucket: int) -> Any:
        raise RuntimeError("CUDA failure 999: unknown error")

    read = onnx_net.NetInfo.from_metadata
    found: list[Any] = []
    threads: list[threading.Thread] = []

    def read_while_another_runs(metadata: Any) -> Any:
        threads.append(threading.Thread(target=lambda: found.append(net.run(*inputs))))
        threads[-1].start()
        threads[-1].join(0.2)  # it may be done by now, or wait for what is read here
        return read(metadata)

    monkeypatch.setattr(CpuStream, "run", fail)
    monkeypatch.setattr(onnx_net.NetInfo, "from_metadata", read_while_another_runs)
    found.append(net.run(*inputs))
    threads[0].join(30.0)
    assert len(found) == 2 and net.path == spare
    for outputs in found:
        for one, other in zip(outputs, expected, strict=True):
            assert (one is None and other is None) or np.allclose(one, other, atol=1e-5)


def test_where_tensorrt_can_keep_nothing_cuda_is_used(
    gpus: list[FakeCudaSession], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: list[str]
) -> None:
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / "file"))
    (tmp_path / "file").write_text("in the way of the folder")
    assert OnnxNet(TINY, "tensorrt").device == "cuda"
    (line,) = said
    assert line.startswith("using CUDA instead of TensorRT: no folder for what it builds: ")


def test_tensorrt_is_asked_for_by_name(
    gpus: list[FakeCudaSession], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: list[str]
) -> None:
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", "HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    OnnxNet(TINY, "tensorrt")
    assert not said
    assert {session.get_providers()[0] for session in gpus} == {"TensorrtExecutionProvider"}
    gpus.clear()
    monkeypatch.setattr(onnx_net, "is_built_with", lambda name: name == "CUDAExecutionProvider")
    assert OnnxNet(TINY, "tensorrt").device == "cuda"
    assert said == ["using CUDA instead of TensorRT: its libraries do not load"]


class Driver:
    """A CUDA driver that answers as told."""

    def __init__(self, init: int, count_status: int, count: int) -> None:
        self._answers = (init, count_status, count)

    def cuInit(self, flags: int) -> int:
        return self._answers[0]

    def cuDeviceGetCount(self, pointer: Any) -> int:
        pointer._obj.value = self._answers[2]
        return self._answers[1]


@pytest.mark.parametrize(
    "driver, obstacle",
    [
        (None, "no NVIDIA driver is installed"),
        (Driver(100, 0, 0), "the NVIDIA driver does not start"),
        (Driver(0, 3, 0), "the NVIDIA driver does not start"),
        (Driver(0, 0, 0), "the NVIDIA driver finds no device"),
        (Driver(0, 0, 2), None),
    ],
)
def test_what_stands_in_the_way_of_cuda(
    driver: Driver | None, obstacle: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(name: str) -> Driver:
        assert "cuda" in name
        if driver is None:
            raise OSError("cannot open shared object file")
        return driver

    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(ctypes, "CDLL", load)
    assert cuda_obstacle() == obstacle
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert cuda_obstacle() == "CUDA_VISIBLE_DEVICES hides every device"


def test_nets_from_the_future(tmp_path: Path) -> None:
    def newer_opset(model: Any) -> None:
        model.opset_import[0].version = 999

    def newer_format(model: Any) -> None:
        model.ir_version = 99

    text = refused(altered(tmp_path / "opset.onnx", newer_opset))
    assert text.startswith("is not a net that can be loaded: ") and "pset 999" in text
    text = refused(altered(tmp_path / "format.onnx", newer_format))
    assert "IR version: 99" in text
    assert "onnxruntime" not in text, "no place in the runtime's source"
