"""Which of a net's files a device runs, and that the reasons are remembered."""

import itertools
import json
import os
import shutil
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.paths import TINY

from gtp_engine.evaluators.net_evaluator import open_net
from gtp_engine.evaluators.nets import onnx_net, precision
from gtp_engine.evaluators.nets.measurements import (
    KEPT_SECONDS,
    measurements_folder,
    recall,
    remember,
)
from gtp_engine.evaluators.nets.net_files import NetFiles
from gtp_engine.evaluators.nets.net_info import GoldenCase, NetFileError
from gtp_engine.evaluators.nets.onnx_net import OnnxNet, difference
from gtp_engine.evaluators.nets.precision import (
    Check,
    Choice,
    choose,
    has_to_measure,
    open_best,
)
from gtp_engine.evaluators.nets.self_check import Difference, differences_of
from gtp_engine.evaluators.runtimes import openvino_runtime
from gtp_engine.evaluators.runtimes.sessions import AUTO, ONNX_RUNTIME, OPENVINO, OPENVINO_BF16


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> NetFiles:
    """The files of a net in all precisions, which are copies of one, and a cache folder."""
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / "cache"))
    for name in ("net", "net-int8", "net-fp16"):
        shutil.copy(TINY, tmp_path / f"{name}.onnx")
    return NetFiles(tmp_path / "net.onnx", tmp_path / "net-int8.onnx", tmp_path / "net-fp16.onnx")


def measure_as(speed_up: float, monkeypatch: pytest.MonkeyPatch, **speed_ups: float) -> list[str]:
    """Let every way measure so fast, or as fast as is said of `int8_openvino`, say.

    Returns:
        A list that grows by the name of each way that is timed.
    """
    measured: list[str] = []

    def speeds(original: OnnxNet, other: OnnxNet) -> dict[str, float]:
        kind = "int8" if other.path.stem.endswith("int8") else "fp32"
        name = f"{kind}_{other.runtime}".replace("-", "_")
        measured.append(name)
        return {"9x9 by 1": speed_ups.get(name, speed_up)}

    monkeypatch.setattr(precision, "_speed_ups", speeds)
    return measured


def int8_check(files: NetFiles) -> Check:
    """Return what is found of a net's int8 file in ONNX Runtime."""
    assert files.int8 is not None
    return precision._check(files, files.int8, ONNX_RUNTIME)


def damage_golden(path: Path) -> None:
    """Make a net compute something else than it says."""
    onnx = pytest.importorskip("onnx")
    model = onnx.load(path)
    for item in model.metadata_props:
        if item.key == "gtp_engine.golden":
            document = json.loads(item.value)
            first, second = document["cases"][0]["outputs"], document["cases"][1]["outputs"]
            first["policy"], second["policy"] = second["policy"], first["policy"]
            item.value = json.dumps(document)
    onnx.save(model, path)


def test_a_gpu_runs_fp16_where_there_is_such_a_file(files: NetFiles) -> None:
    assert choose(files, on_gpu=True).path == files.fp16
    plain = NetFiles(files.fp32, files.int8)
    choice = choose(plain, on_gpu=True)
    assert (choice.path, choice.precision) == (files.fp32, "fp32")
    assert choice.why == "the net has no fp16 file"


@pytest.mark.parametrize("speed_up, taken", [(2.5, "int8"), (1.1, "int8"), (1.05, "fp32")])
def test_a_processor_runs_int8_where_it_is_faster(
    speed_up: float, taken: str, files: NetFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure_as(speed_up, monkeypatch)
    choice = choose(files, on_gpu=False)
    assert choice.precision == taken and f"{speed_up:.2f} times as fast" in choice.why
    assert choice.path == (files.int8 if taken == "int8" else files.fp32)


def test_a_processor_runs_fp32_where_there_is_nothing_else(files: NetFiles) -> None:
    choice = choose(NetFiles(files.fp32, None, files.fp16), on_gpu=False)
    assert (choice.path, choice.why) == (files.fp32, "the net has no int8 file")


@pytest.mark.parametrize("named", ["tflite", "openvino-bf16", "CPU"])
def test_an_unknown_runtime_in_the_environment_is_named(
    named: str, files: NetFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(precision.RUNTIME_VARIABLE, named)
    for ask in (has_to_measure, open_net):
        with pytest.raises(NetFileError, match=f"GTP_ENGINE_RUNTIME: unknown runtime '{named}'"):
            ask(str(files.fp32), "cpu")
    assert open_best(files, "cpu", ONNX_RUNTIME).runtime == ONNX_RUNTIME  # an option goes first
    monkeypatch.setenv(precision.RUNTIME_VARIABLE, "")
    measure_as(1.0, monkeypatch)
    assert choose(files, on_gpu=False).runtime == ONNX_RUNTIME


@pytest.mark.parametrize("on_gpu", [False, True])
def test_a_file_that_was_asked_for_is_taken(on_gpu: bool, files: NetFiles) -> None:
    assert choose(NetFiles(files.fp32, is_exact=True), on_gpu).path == files.fp32


def test_a_net_without_recorded_inputs_is_not_timed(files: NetFiles) -> None:
    onnx = pytest.importorskip("onnx")
    model = onnx.load(files.fp32)
    (golden,) = (item for item in model.metadata_props if item.key == "gtp_engine.golden")
    model.metadata_props.remove(golden)
    onnx.save(model, files.fp32)
    choice = choose(files, on_gpu=False)
    assert choice.path == files.fp32
    assert choice.why == "int8 was not timed: net.onnx holds no inputs"


def test_int8_that_computes_something_else_is_not_used(
    files: NetFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert files.int8 is not None
    damage_golden(files.int8)
    assert not measure_as(9.0, monkeypatch)
    choice = choose(files, on_gpu=False)
    assert choice.precision == "fp32" and "self-check: FAILED" in choice.why


def test_int8_asked_for_by_name_that_computes_something_else_is_told(
    files: NetFiles, said: list[str]
) -> None:
    onnx = pytest.importorskip("onnx")
    assert files.int8 is not None
    model = onnx.load(files.int8)
    for item in model.metadata_props:
        if item.key == "gtp_engine.net":
            item.value = json.dumps(json.loads(item.value) | {"precision": "int8"})
    onnx.save(model, files.int8)
    open_best(NetFiles(files.int8), "cpu", ONNX_RUNTIME)
    assert not said
    damage_golden(files.int8)
    for runtime in (AUTO, ONNX_RUNTIME):
        open_best(NetFiles(files.int8), "cpu", runtime)
        assert "self-check: FAILED" in said.pop()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nothing_is_near_to_what_is_no_number(bad: float) -> None:
    good, odd = np.ones(2, np.float32), np.array([1.0, bad], np.float32)
    for output, expected in ((good, odd), (odd, good), (odd, odd)):
        assert not Difference("value", *difference(output, expected), tolerance=0.05).is_right
        assert max(0.0, difference(output, expected)[1]) > 0.05, "as it is gathered over cases"


@pytest.mark.parametrize(
    ("kind", "output", "off", "is_right"),
    [
        ("int8", "ownership", 3, True),
        ("int8", "ownership", 4, False),
        ("int8", "value", 1, False),
        ("fp32", "ownership", 1, False),
    ],
)
def test_of_hundreds_of_numbers_a_few_may_be_off_where_rounding_is_coarse(
    kind: str, output: str, off: int, is_right: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = OnnxNet(TINY, "cpu")
    net.info = replace(net.info, precision=kind)
    case = net.golden_cases()[-1]
    changed = case.outputs[output].copy()
    changed.flat[:off] += 0.2 * max(1.0, np.abs(changed).max())
    golden = GoldenCase(case.inputs, {**case.outputs, output: changed})
    monkeypatch.setattr(net, "golden_cases", lambda: [golden])
    assert all(one.is_right for one in differences_of(net)) == is_right


def test_int8_that_does_not_load_is_not_used(files: NetFiles) -> None:
    assert files.int8 is not None
    files.int8.write_bytes(b"noise")
    choice = choose(files, on_gpu=False)
    assert choice.precision == "fp32" and "does not work" in choice.why


def test_fp32_that_does_not_load_is_an_error(files: NetFiles) -> None:
    files.fp32.write_bytes(b"noise")
    with pytest.raises(NetFileError, match=r"net\.onnx: is no ONNX file"):
        choose(files, on_gpu=False)


def test_the_check_is_made_once_for_a_net(files: NetFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    assert files.int8 is not None
    measured = measure_as(2.0, monkeypatch)
    first = int8_check(files)
    assert int8_check(files) == first and len(measured) == 1
    finding = "int8 is 2.00 times as fast as fp32 here (2.00 on 9x9 by 1)"
    assert first == Check(True, first.speed_up, finding) and first.speed_up == pytest.approx(2.0)
    files.int8.write_bytes(TINY.read_bytes() + b"")  # a new file of the same content
    int8_check(files)
    assert len(measured) == 2


def test_a_damaged_memory_is_made_anew(files: NetFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    assert files.int8 is not None
    measured = measure_as(2.0, monkeypatch)
    int8_check(files)
    (fact,) = measurements_folder().iterdir()
    for text in ("", "[]", "{}", fact.read_text().replace("speed_up", "speed_down")):
        fact.write_text(text)
        assert int8_check(files).speed_up == pytest.approx(2.0)
    assert len(measured) == 5


def test_what_was_measured_long_ago_goes(files: NetFiles) -> None:
    remember("old", {"speed_up": 2.0})
    (old,) = measurements_folder().iterdir()
    remember("of last month", {"speed_up": 3.0})
    os.utime(old, (0.0, time.time() - 1.01 * KEPT_SECONDS))
    assert recall("old") is None and old.exists(), "until something else is measured"
    remember("new", {"speed_up": 4.0})
    assert [recall(subject) for subject in ("old", "of last month", "new")] == [
        None,
        {"speed_up": 3.0},
        {"speed_up": 4.0},
    ]
    assert not old.exists()


def test_what_cannot_be_kept_leaves_nothing_behind(
    files: NetFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    def held_open(old: str, new: Path) -> None:
        raise PermissionError("the file is in use")

    monkeypatch.setattr("os.replace", held_open)
    remember("subject", {"speed_up": 2.0})
    assert recall("subject") is None
    assert list(measurements_folder().iterdir()) == []


def test_where_nothing_can_be_kept_all_works(
    files: NetFiles, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert files.int8 is not None
    (tmp_path / "cache").write_text("in the way of the folder")
    measured = measure_as(2.0, monkeypatch)
    for _ in range(2):
        assert int8_check(files).speed_up == pytest.approx(2.0)
    assert len(measured) == 2


def test_a_measurement_is_a_ratio_of_processor_times(
    files: NetFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = itertools.cycle([3.0, 1.5])
    monkeypatch.setattr(precision, "_turn", lambda net, feed: next(turns))
    check = int8_check(files)
    assert check.is_right and check.speed_up == pytest.approx(2.0)


def test_the_first_run_of_a_turn_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    net, runs = OnnxNet(TINY, "cpu"), list[object]()
    monkeypatch.setattr(net, "run_feed", runs.append)
    monkeypatch.setattr(precision, "cpu_clock", lambda: float(len(runs)))
    assert precision._turn(net, {}) == precision.RUNS
    assert len(runs) == precision.RUNS + 1


def test_a_net_has_to_be_measured_once(files: NetFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GTP_ENGINE_NETS", str(files.fp32.parent))
    measure_as(2.0, monkeypatch)
    assert has_to_measure("net", "cpu")
    assert not has_to_measure("net-fp32", "cpu")
    assert not has_to_measure(str(files.fp32), "cpu")
    choose(files, on_gpu=False)
    assert not has_to_measure("net", "cpu")
    monkeypatch.setattr(precision, "cuda_obstacle", lambda: "none here")
    assert has_to_measure("net-fp32+net-int8", "auto") is False
    assert files.int8 is not None
    os.utime(files.int8, (1, 1))
    assert has_to_measure("net", "auto")
    monkeypatch.setattr(precision, "cuda_obstacle", lambda: None)
    assert not has_to_measure("net", "auto")


# The runtime -------------------------------------------------------------------------------------


@pytest.fixture
def auto(monkeypatch: pytest.MonkeyPatch) -> None:
    """The choice that a user has who says nothing."""
    monkeypatch.delenv(precision.RUNTIME_VARIABLE)


def runtime_of(path: Path, wanted: str = AUTO) -> Choice:
    """Return what is chosen for a file that was asked for."""
    return choose(NetFiles(path, is_exact=True), on_gpu=False, runtime=wanted)


@pytest.mark.parametrize("speed_up, taken", [(1.3, OPENVINO_BF16), (1.05, ONNX_RUNTIME)])
def test_the_faster_runtime_is_taken_and_remembered(
    speed_up: float, taken: str, files: NetFiles, auto: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openvino_runtime, "has_bf16", lambda: True)
    measured = measure_as(speed_up, monkeypatch)
    assert has_to_measure(str(files.fp32), "cpu")
    assert runtime_of(files.fp32).runtime == taken
    n_measured = len(measured)
    assert n_measured and not has_to_measure(str(files.fp32), "cpu")
    assert open_best(NetFiles(files.fp32, is_exact=True), "cpu").runtime == taken
    assert len(measured) == n_measured


@pytest.mark.parametrize(
    "int8, int8_openvino, bf16, wanted, precision_taken, taken",
    [
        (2.0, 2.5, 3.0, AUTO, "fp32", OPENVINO_BF16),
        (2.0, 2.5, 2.7, AUTO, "int8", OPENVINO),  # less than a tenth faster
        (2.0, 2.1, 2.1, AUTO, "int8", ONNX_RUNTIME),
        (0.8, 0.9, 1.5, AUTO, "fp32", OPENVINO_BF16),
        (0.8, 0.9, 1.0, AUTO, "fp32", ONNX_RUNTIME),
        (2.0, 9.0, 9.0, ONNX_RUNTIME, "int8", ONNX_RUNTIME),
        (2.0, 0.5, 0.6, OPENVINO, "fp32", OPENVINO_BF16),
        (2.0, 0.6, 0.5, OPENVINO, "int8", OPENVINO),
    ],
)
def test_the_fastest_of_all_files_in_all_runtimes_is_taken(
    int8: float,
    int8_openvino: float,
    bf16: float,
    wanted: str,
    precision_taken: str,
    taken: str,
    files: NetFiles,
    auto: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(openvino_runtime, "has_bf16", lambda: True)
    speeds = {"int8_openvino": int8_openvino, "fp32_openvino_bf16": bf16}
    measured = measure_as(1.0, monkeypatch, int8_onnxruntime=int8, **speeds)
    choice = choose(files, on_gpu=False, runtime=wanted)
    assert (choice.precision, choice.runtime) == (precision_taken, taken)
    assert choice.path == (files.int8 if precision_taken == "int8" else files.fp32)
    assert len(measured) == len(set(measured)), "each way once"
    assert all(wanted in name for name in measured) or wanted == AUTO


def test_bfloat16_is_not_tried_where_the_processor_lacks_it(
    files: NetFiles, auto: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openvino_runtime, "has_bf16", lambda: False)
    measured = measure_as(1.3, monkeypatch)
    choice = runtime_of(files.fp32)
    assert (choice.runtime, measured) == (OPENVINO, ["fp32_openvino"])


def test_a_runtime_that_computes_something_else_is_not_taken(
    files: NetFiles, auto: None, monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    damage_golden(files.fp32)
    measured = measure_as(9.0, monkeypatch)
    choice = runtime_of(files.fp32)
    assert choice.runtime == ONNX_RUNTIME and "self-check: FAILED" in choice.why
    assert not measured and not said


@pytest.mark.parametrize("asked", [AUTO, OPENVINO])
def test_what_was_asked_for_and_computes_something_else_is_told_of(
    asked: str, files: NetFiles, auto: None, monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    damage_golden(files.fp32)
    measure_as(1.0, monkeypatch)
    net = open_best(NetFiles(files.fp32, is_exact=True), "cpu", asked)
    assert net.runtime == (ONNX_RUNTIME if asked == AUTO else OPENVINO)
    told = [text for text in said if "self-check: FAILED" in text]
    assert len(told) == (asked == OPENVINO), "fp32 in ONNX Runtime is what others are judged by"


def test_a_runtime_that_fails_is_not_taken_and_not_spoken_of(
    files: NetFiles, auto: None, monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("no kernel for it")

    monkeypatch.setattr(openvino_runtime.OpenVinoSession, "request_for", fail)
    choice = runtime_of(files.fp32)
    assert choice.runtime == ONNX_RUNTIME and "no kernel for it" in choice.why and not said


def test_without_openvino_auto_says_nothing(
    files: NetFiles, auto: None, monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    monkeypatch.setattr(openvino_runtime, "INSTALLED", False)
    assert not has_to_measure(str(files.fp32), "cpu")
    assert runtime_of(files.fp32).runtime == ONNX_RUNTIME and not said
    measure_as(2.0, monkeypatch)
    for asked in (files, NetFiles(files.fp32, is_exact=True)):
        choice = choose(asked, on_gpu=False, runtime=OPENVINO)
        assert choice.runtime == OPENVINO, "who opens it says what it needs"
        assert choice.path == (asked.int8 or asked.fp32), "and runs the best in ONNX Runtime"


def test_a_runtime_that_somebody_added_runs_what_it_is_asked_to(
    files: NetFiles, auto: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = measure_as(2.0, monkeypatch)
    assert runtime_of(files.fp32, "reference") == Choice(
        files.fp32, "", "the file that was asked for", "reference"
    )
    assert not measured
    choice = choose(files, on_gpu=False, runtime="reference")
    assert (choice.path, choice.runtime) == (files.int8, "reference")


@pytest.mark.parametrize("device", ["auto", "cuda"])
@pytest.mark.parametrize("named, asked", [("", OPENVINO), ("openvino", AUTO), ("", AUTO)])
def test_where_cuda_does_not_open_the_runtime_is_the_one_asked_for(
    device: str, named: str, asked: str, files: NetFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (precision, onnx_net):
        monkeypatch.setattr(module, "cuda_obstacle", lambda: None)
    monkeypatch.setattr(onnx_net, "is_built_with", lambda provider: False)
    monkeypatch.setattr(openvino_runtime, "has_bf16", lambda: False)
    monkeypatch.setenv(precision.RUNTIME_VARIABLE, named)
    measure_as(1.0, monkeypatch, int8_onnxruntime=1.5, int8_openvino=2.0)
    net = open_best(files, device, asked, threads=1)
    assert (net.device, net.runtime, net.path) == ("cpu", OPENVINO, files.int8)
    assert open_best(files, device, ONNX_RUNTIME).runtime == ONNX_RUNTIME


def test_a_gpu_that_fails_on_the_way_is_replaced_by_onnx_runtime(
    files: NetFiles, monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    monkeypatch.setattr(openvino_runtime, "list_devices", lambda: ["CPU", "GPU"])
    measure_as(1.0, monkeypatch, int8_onnxruntime=0.5, int8_openvino=2.0)
    net = open_best(files, "gpu", OPENVINO)
    assert (net.device, net.path) == ("gpu", files.fp16)
    (case, *_) = net.golden_cases()
    net.run_feed(case.inputs)
    assert (net.device, net.runtime, net.path) == ("cpu", ONNX_RUNTIME, files.fp32)
    assert len(said) == 1
