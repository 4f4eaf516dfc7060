"""`gtp-export add`: from a file or an address to a net that `--net NAME` finds."""

import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from tests.export.convert.katago_writer import NetPlan, write_net
from tests.export.flaky_server import FlakyServer, Habits
from tests.paths import TINY, TINY_NET

from gtp_engine.evaluators.nets import self_check
from gtp_engine.evaluators.nets.net_files import find_net
from gtp_engine.evaluators.nets.onnx_net import OnnxNet
from gtp_engine.evaluators.runtimes import devices
from gtp_export.commands import run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the user's nets, which is not there yet."""
    folder = tmp_path / "home" / "nets"
    monkeypatch.setenv("GTP_ENGINE_NETS", str(folder))
    return folder


def test_a_net_of_ours(folder: Path, said: list[str]) -> None:
    assert run(["add", TINY_NET, "--name", "mine"]) == 0
    assert find_net("mine") == folder / "mine.onnx"
    assert (folder / "mine.onnx").read_bytes() == TINY.read_bytes()
    assert [path.name for path in folder.iterdir()] == ["mine.onnx"]
    assert "gtp-engine --net mine" in said[-1]


def test_a_foreign_net_is_converted(folder: Path, tmp_path: Path) -> None:
    source = tmp_path / "net.bin.gz"
    source.write_bytes(write_net(NetPlan(version=10)))
    assert run(["add", str(source), "--name", "foreign"]) == 0
    assert find_net("foreign").read_bytes()[:1] == b"\x08"


@pytest.mark.parametrize(("overflows", "bits"), [(True, " (7-bit weights)"), (False, "")])
def test_int8_is_such_that_this_processor_computes_it(
    folder: Path, overflows: bool, bits: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "int8_may_overflow", lambda: overflows)
    monkeypatch.setattr(self_check, "OTHERWISE", 1.0)  # whatever this one makes of it
    assert run(["add", TINY_NET, "--name", "mine", "--int8"]) == 0
    precision = OnnxNet(folder / "mine.onnx", "cpu").info.precision
    assert precision.split(",")[0] == f"int8{bits}"


def test_a_net_that_is_replaced_leaves_no_version_behind(folder: Path, said: list[str]) -> None:
    assert run(["add", TINY_NET, "--name", "mine"]) == 0
    old = folder / "mine-int8.onnx"
    assert run(["add", TINY_NET, "--name", "mine-int8"]) == 0
    assert run(["add", TINY_NET, "--name", "mine", "--replace"]) == 0
    assert not old.exists() and f"{old} is gone, which was made of the net before" in said


def test_a_net_that_is_replaced_leaves_its_weights_for_small_boards_and_says_so(
    folder: Path, said: list[str]
) -> None:
    for name in ("mine", "mine-9x9"):
        assert run(["add", TINY_NET, "--name", name]) == 0
    said.clear()
    assert run(["add", TINY_NET, "--name", "mine", "--replace"]) == 0
    small = folder / "mine-9x9.onnx"
    assert f"{small} plays on boards up to 9x9 as before" in "\n".join(said) and small.exists()


def test_a_net_may_come_after_its_version(folder: Path) -> None:
    for name in ("mine-int8", "mine"):
        assert run(["add", TINY_NET, "--name", name]) == 0
    assert sorted(path.name for path in folder.iterdir()) == ["mine-int8.onnx", "mine.onnx"]


def test_a_download_that_breaks_off(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = TINY.read_bytes()
    habits = Habits(content, breaks_after=[10_000])
    with FlakyServer(habits) as server:
        digest = hashlib.sha256(content).hexdigest().upper()
        assert run(["add", server.url("tiny%20net.onnx"), "--sha256", digest]) == 0
    assert [path.name for path in folder.iterdir()] == ["tiny.onnx"]
    assert (folder / "tiny.onnx").read_bytes() == content
    assert len(habits.requests) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and "download" in captured.err


def test_a_name_is_taken_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["add", TINY_NET, "--name", "mine"]) == 0
    before = (folder / "mine.onnx").stat().st_mtime_ns
    assert run(["add", TINY_NET, "--name", "mine"]) == 1
    assert "there is a net called mine already" in capsys.readouterr().err
    for name in ("none", "rollouts"):
        assert run(["add", TINY_NET, "--name", name]) == 1
        assert f"--net {name} means something else" in capsys.readouterr().err
    assert (folder / "mine.onnx").stat().st_mtime_ns == before
    assert run(["add", TINY_NET, "--name", "mine", "--replace"]) == 0
    habits = Habits(TINY.read_bytes())
    with FlakyServer(habits) as server:
        assert run(["add", server.url("tiny.onnx"), "--name", "mine"]) == 1
    assert not habits.requests, "a download for nothing"


def damaged(content: bytes) -> bytes:
    """Return a net with other weights than its recorded outputs belong to."""
    import onnx
    from onnx import numpy_helper

    model = onnx.load_model_from_string(content)
    weights = max(model.graph.initializer, key=lambda tensor: len(tensor.raw_data))
    values = numpy_helper.to_array(weights)
    weights.CopyFrom(numpy_helper.from_array(values * 1.5, weights.name))
    return model.SerializeToString()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"PK\x03\x04 no net", "net"),
        (b"\x08 no onnx either", "is not an ONNX file"),
        (write_net(NetPlan(version=10))[:-500], "net"),
        (damaged(TINY.read_bytes()), "does not compute what it should"),
    ],
)
def test_what_is_no_net(
    content: bytes, message: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "net"
    source.write_bytes(content)
    assert run(["add", str(source)]) == 1
    captured = capsys.readouterr().err
    assert message in captured and str(source) in captured
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.onnx"], "there is no such file"),
        (["http://[nowhere/net.onnx"], "there is no such file"),
        ([TINY_NET, "--name", "../mine"], "is no file name"),
        ([TINY_NET, "--sha256", "0" * 64], "has SHA-256"),
    ],
)
def test_mistakes(
    arguments: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["add", *arguments]) == 1
    captured = capsys.readouterr().err
    assert message in captured and captured.count("\n") == 1
    assert not folder.exists() or list(folder.iterdir()) == []


def test_a_hash_of_another_length_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run(["add", TINY_NET, "--sha256", "12"])
    assert "--sha256: '12' is not 64 hexadecimal digits" in capsys.readouterr().err


def test_a_wrong_answer_leaves_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with FlakyServer(Habits(b"", status=404)) as server:
        assert run(["add", server.url("net.onnx")]) == 1
    assert "404 Not Found" in capsys.readouterr().err
    assert list(folder.iterdir()) == []


def test_what_is_wrong_is_said_of_the_file_that_was_given(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = onnx.load(TINY)
    del model.graph.output[0]
    path = tmp_path / "less.onnx"
    onnx.save(model, path)
    assert run(["add", str(path)]) == 1
    assert capsys.readouterr().err == f"gtp-export: {path}: the graph has no 'policy'\n"
    assert not folder.exists() or list(folder.iterdir()) == []


def test_what_is_left_of_a_download_is_kept_for_a_week(folder: Path) -> None:
    work = folder / ".downloads"
    work.mkdir(parents=True)
    new, old = work / "new.part", work / "old.part"
    for path, days in ((new, 6), (old, 8)):
        path.write_bytes(b"part")
        then = time.time() - 86400 * days
        os.utime(path, (then, then))
    killed = work / "tmp-killed"
    killed.mkdir()
    (killed / "converted.onnx").write_bytes(b"net")
    os.utime(killed, (then, then))
    assert run(["add", TINY_NET, "--name", "mine"]) == 0
    assert new.exists() and not old.exists() and not killed.exists()


def test_without_a_home_folder_there_is_a_sentence(
    homeless: Callable[[], Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("gtp_engine.evaluators.nets.net_files.user_folder", homeless)
    assert run(["add", TINY_NET]) == 1
    assert capsys.readouterr().err == (
        "gtp-export: there is no home folder; GTP_ENGINE_NETS names one for nets\n"
    )
