"""The command line around the converter."""

import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from tests.export.convert.katago_writer import NetPlan, write_net
from tests.export.convert.leela_zero_writer import write_leela_zero

from gtp_engine.evaluators.nets.net_info import NetInfo
from gtp_export.commands import run


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (write_net(NetPlan(version=12)), ["KataGo", "katago_v7", "policy_optimistic", "2 to 25"]),
        (write_net(NetPlan(version=3, text=True)), ["katago_v3 (22 planes, 14 globals)"]),
        (write_leela_zero(2), ["Leela Zero", "lz18 (18 planes, 0 globals)", "19 to 19, square"]),
    ],
)
def test_summary_on_stderr(
    content: bytes, expected: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = tmp_path / "net", tmp_path / "net.onnx"
    source.write_bytes(content)
    assert run(["convert", str(source), str(target)]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    for part in [*expected, str(target)]:
        assert part in captured.err


def test_texts_reach_the_description(tmp_path: Path) -> None:
    source, target = tmp_path / "net", tmp_path / "net.onnx"
    source.write_bytes(write_net(NetPlan()))
    given = ["--name", "mine", "--licence", "MIT", "--strength", "none", "--trained-on", "noise"]
    assert run(["convert", str(source), str(target), *given]) == 0
    info = NetInfo.from_metadata(
        {item.key: item.value for item in onnx.load(target).metadata_props}
    )
    assert (info.name, info.licence) == ("mine", "MIT")
    assert (info.strength, info.trained_on) == ("none", "noise")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--force"], "the options of quantising need --int8 or --fp16"),
        (["--max-kl", "1"], "the options of quantising need --int8 or --fp16"),
        (["--fp16", "--seven-bit"], "--seven-bit is for --int8 alone"),
        (["--fp16", "--keep-fp32", "none"], "--keep-fp32 is for --int8 alone"),
    ],
)
def test_options_that_would_do_nothing_are_refused(
    options: list[str], complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = tmp_path / "net", tmp_path / "net.onnx"
    source.write_bytes(write_net(NetPlan()))
    assert run(["convert", str(source), str(target), *options]) == 1
    assert capsys.readouterr().err == f"gtp-export: {complaint}\n"
    assert not target.exists()


def test_a_folder_is_no_target(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = tmp_path / "net", tmp_path / "folder"
    source.write_bytes(write_net(NetPlan()))
    target.mkdir()
    assert run(["convert", str(source), str(target)]) == 1
    assert capsys.readouterr().err.startswith(f"gtp-export: {target}: ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "net"]


@pytest.mark.parametrize("name", [".", "game.sgf"])
def test_what_can_be_no_net_is_no_target(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "net").write_bytes(write_net(NetPlan()))
    (tmp_path / "game.sgf").write_text("(;SZ[9])")
    monkeypatch.chdir(tmp_path)
    assert run(["convert", "net", name]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"gtp-export: {name}: ") and error.count("\n") == 1
    assert (tmp_path / "game.sgf").read_text() == "(;SZ[9])"


@pytest.mark.parametrize("options", [[], ["--int8"], ["--fp16"]])
def test_the_source_is_no_target(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, link = tmp_path / "net", tmp_path / "link"
    source.write_bytes(write_net(NetPlan()))
    link.symlink_to(source)
    for target in (source, link):
        assert run(["convert", str(source), str(target), *options]) == 1
        assert capsys.readouterr().err.endswith(": the net cannot be written over itself\n")
    assert source.read_bytes() == write_net(NetPlan())


def test_a_new_net_leaves_none_of_lower_precision_of_another(
    tmp_path: Path, said: list[str]
) -> None:
    source, target, old = (tmp_path / name for name in ("net", "a.onnx", "a-int8.onnx"))
    source.write_bytes(write_net(NetPlan()))
    described = ["describe", str(target), "--encoder", "katago_v7", "--licence", "MIT"]
    convert = ["convert", str(source), str(target)]
    old.touch()
    assert run(convert) == 0 and old.exists()  # it may have come first
    for command in (convert, described):
        old.touch()
        assert run(command) == 0
        assert not old.exists()
    assert said.count(f"{old} is gone, which was made of the net before") == 2
    target.rename(old)
    assert run(["describe", str(old), "--encoder", "katago_v7", "--out", str(target)]) == 1
    assert old.exists() and not target.exists()


def test_unknown_options_end_with_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["convert"], ["convert", "a", "b", "--frobnicate"], ["transmogrify"]):
        with pytest.raises(SystemExit) as caught:
            run(arguments)
        assert caught.value.code == 2
        error = capsys.readouterr().err
        assert error.startswith("gtp-export") and error.count("\n") == 1


def test_help_needs_only_the_standard_library() -> None:
    code = (
        "import sys\n"
        "from gtp_export.commands import run\n"
        "try:\n    run(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'numpy', 'onnx', 'onnxruntime', 'torch', 'h5py', 'numba'} & set(sys.modules)\n"
        "print('heavy:', sorted(heavy))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "convert" in done.stdout and "describe" in done.stdout
    assert done.stdout.endswith("heavy: []\n")


def test_a_missing_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "h5py", None)
    source = tmp_path / "net.h5"
    source.write_bytes(b"\x89HDF\r\n\x1a\n")
    assert run(["convert", str(source), str(tmp_path / "net.onnx")]) == 1
    assert "pip install 'gtp-engine[keras]'" in capsys.readouterr().err
