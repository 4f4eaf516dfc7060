"""`gtp-engine net` on the tests' own tiny net."""

import json
from pathlib import Path

import pytest

from gtp_engine.commands.table import run

TINY = Path(__file__).parent.parent / "data" / "tiny.onnx"


def test_info(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["net", "info", str(TINY)]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["name:", "tiny"] in lines
    assert any(line[:2] == ["output", "policy:"] for line in lines)
    assert any(line[:2] == ["self-check:", "passed,"] for line in lines)


def test_info_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["net", "info", "--json", str(TINY)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["encoder"] == "katago_v7"
    assert max(document["differences"].values()) < 1e-3


@pytest.mark.parametrize("content", [None, b"", b"no net at all", b"\x08\x07" * 50])
def test_what_is_no_net(
    tmp_path: Path, content: bytes | None, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "net.onnx"
    if content is not None:
        path.write_bytes(content)
    assert run(["net", "info", str(path)]) == 1
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("gtp-engine net: ") and "net.onnx" in output.err


def test_list_finds_the_users_nets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.onnx").write_bytes(TINY.read_bytes())
    monkeypatch.setenv("GTP_ENGINE_NETS", str(tmp_path))
    assert run(["net", "list"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert any(line[0] == "mine" and line[-1] == str(tmp_path / "mine.onnx") for line in lines)
    assert run(["net", "info", "mine"]) == 0


@pytest.mark.parametrize("arguments", [[], ["describe"], ["info", "--bogus"]])
def test_bad_arguments(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        run(["net", *arguments])
    assert caught.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1
