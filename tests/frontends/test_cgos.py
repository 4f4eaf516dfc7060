"""CGOS: one line of JSON, then the move."""

import json

import pytest
from tests.frontends.conversation import Conversation
from tests.frontends.fake_engine import FakeEngine

from gtp_engine.frontends.gtp.cgos import encode_ownership
from gtp_engine.play.engine import Engine
from gtp_engine.play.settings import Settings


def test_ownership_by_hand() -> None:
    # 63 characters from -1 to 1: half way is the 32nd, "f".
    assert encode_ownership([-1.0, 0.0, 1.0, -1.5, 7.0]) == "Af+A+"
    assert encode_ownership([-1 + 1 / 31, 1 - 1 / 31]) == "B9"


def test_a_move_with_its_analysis(said: list[str]) -> None:
    engine = FakeEngine(moves=["B1"])
    with Conversation(engine) as client:
        client.ask("boardsize 2")
        head, line, move = client.ask("3 cgos-genmove_analyze b").split("\n")
        assert (head, move) == ("=3 ", "play B1")
        assert json.loads(line) == {
            "winrate": 0.625,
            "score": 1.0,
            "visits": 100,
            "moves": [
                {
                    "move": "A2",
                    "winrate": 0.625,
                    "score": 1.0,
                    "prior": 0.3333,
                    "visits": 80,
                    "pv": "B2 pass",
                },
                {
                    "move": "pass",
                    "winrate": 0.5,
                    "score": 1.0,
                    "prior": 0.3333,
                    "visits": 17,
                    "pv": "",
                },
            ],
            "ownership": "AVp+",  # -1, -1/3, 1/3, 1 of the 62 steps
        }
        assert engine.requests[-1].interval > 3600  # nothing on the way
        assert client.ask("cgos-opponent_name GNU Go") == "= "
        assert client.ask("cgos-opponent_rating 1800?") == "= "
        before = engine.rests
        assert client.ask("cgos-gameover B+Resign") == "= "
        assert engine.rests == before + 1
        assert client.ask("cgos-genmove_analyze").startswith("= ")
        client.send(b"cgos-analyze b\n")
        assert engine.is_thinking.wait(20)
        client.send(b"\n")
        reports = client.reply().split("\n")[1:]
        assert len(reports) == 2 and all(json.loads(line)["visits"] == 100 for line in reports)
    assert "playing GNU Go, rated 1800?" in said


@pytest.mark.parametrize("dialect", ["cgos", "kata", "lz"])
def test_a_move_that_nobody_thought_about_has_a_line_too(
    dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Engine, "wait_ready", lambda *_: False)
    with Conversation(Engine(Settings(size=(5, 5), net="none"))) as client:
        client.ask("time_settings 10 0 0")
        head, line, move = client.ask(f"{dialect}-genmove_analyze b").split("\n")
        vertex = move.removeprefix("play ")
        assert head == "= " and (f"move {vertex} visits 0" in line or f'"move":"{vertex}"' in line)
