"""`gtp-engine analysis --compare`: which boards it measures on."""

from pathlib import Path

import pytest
from tests.commands.test_net import changed_copy

from gtp_engine.commands import analysis_comparison
from gtp_engine.commands.registry import run


@pytest.fixture
def small_net(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a net that plays on 5x5 alone, to be measured on few positions."""
    monkeypatch.setattr(analysis_comparison, "POSITIONS", 2)
    monkeypatch.setattr(analysis_comparison, "ROUNDS", 1)
    return str(changed_copy(tmp_path / "net.onnx", board_sizes=[5]))


def test_the_board_is_one_that_the_net_takes(
    small_net: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--net", small_net, "--device", "cpu", "--visits", "2"]
    assert run(["analysis", "--compare", *words]) == 0
    assert "2 positions of 5x5, 2 visits each" in capsys.readouterr().out


def test_another_board_gets_a_sentence(small_net: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        run(["analysis", "--compare", "--net", small_net, "--device", "cpu", "--size", "9"])
    assert left.value.code == 2
    assert capsys.readouterr().err.endswith("analysis: the net tiny does not play on 9x9\n")
