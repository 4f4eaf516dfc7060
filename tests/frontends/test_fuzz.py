"""Thousands of lines of all kinds; see `fuzz` for a million."""

import pytest
from tests.frontends.conversation import Conversation
from tests.frontends.fuzz import FuzzRun, quick_engine
from tests.frontends.gtp_model import GtpModel


@pytest.mark.parametrize("seed", range(3))
def test_whatever_is_said_is_answered_and_the_game_is_right(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gtp_engine.frontends.gtp.gogui.PICTURE_VISITS", 4)
    with Conversation(quick_engine()) as client:
        run = FuzzRun(client, seed)
        while run.lines < 1500:
            run.burst(run.fuzzer.random.randrange(1, 60))
        assert run.replies > 1200 and 100 < run.refusals < run.replies // 2


def expects(model: GtpModel, line: str) -> bool | None:
    expected = model.expect(line.encode())
    assert expected is not None
    if expected.must_succeed:
        model.learn(expected, "")
    return expected.must_succeed


def test_judging_changes_nothing() -> None:
    model = GtpModel()
    assert model.expect(b"kata-set-rules japanese") is not None
    assert model.game.ko == "positional"


def test_the_model_itself() -> None:
    model = GtpModel()
    assert expects(model, "boardsize 3 2") and (model.width, model.height) == (3, 2)
    assert (
        expects(model, "play b a1") and expects(model, "play w b1") and expects(model, "play w A2")
    )
    assert model.game.color_at((1, 0)) == 0  # captured
    assert not expects(model, "play b a1")  # suicide
    assert not expects(model, "play b d1") and not expects(model, "play b i1")
    assert expects(model, "undo") and model.game.color_at((1, 0)) == 1
    assert not expects(model, "gg-undo 3")
    assert model.expect(b" # comment") is None
    assert expects(model, "final_score") is None
    with pytest.raises(AssertionError):
        genmove = model.expect(b"genmove b")
        assert genmove is not None
        model.learn(genmove, "A1")
