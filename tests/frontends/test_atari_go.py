"""A game of Atari Go through GTP and in a terminal, without a net and with one."""

import argparse

import pytest
from tests.frontends.conversation import Conversation
from tests.paths import TINY_NET

from gtp_engine.arguments import UsageError
from gtp_engine.commands.options import add_options, read_settings
from gtp_engine.coords import BLACK, WHITE
from gtp_engine.frontends.terminal.screen import describe_game
from gtp_engine.go.atari_go import AtariGo
from gtp_engine.go.position import Position
from gtp_engine.play.engine import Engine
from gtp_engine.play.settings import Settings


def test_a_game_ends_with_the_first_capture(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(Settings(game="atari-go", size=(5, 5), playouts=2, resign=False, seed=1))
    with Conversation(engine) as client:
        for line in ("komi 7.5", "play b a1", "play w a2"):
            assert client.ask(line).startswith("=")
        assert client.ask("play b pass").startswith("?")
        assert client.ask("final_score") == "= 0"
        assert client.ask("final_status_list dead").startswith("?")
        assert client.ask("play b e5").startswith("=")
        assert client.ask("genmove w") == "= B1", "it captures"
        assert client.ask("final_score") == "= W+1.0"
        assert client.ask("genmove b") == "? the game is over"
        assert client.ask("kgs-genmove_cleanup b") == "? the game is over"
        client.ask("time_settings 10 0 0")
        with monkeypatch.context() as loading:
            loading.setattr(Engine, "wait_ready", lambda *_: False)
            assert client.ask("genmove b") == "? the game is over"
        client.ask("time_settings 0 1 0")
        assert client.ask("play b c3").startswith("?")
        assert client.ask("undo").startswith("=")
        assert client.ask("genmove w") == "= B1"
        assert "the first capture wins" in client.ask("showboard")


def test_a_net_plays_it_and_the_capture_at_hand() -> None:
    settings = Settings(game="atari-go", size=(5, 5), playouts=50, net=TINY_NET, resign=False)
    with Conversation(Engine(settings)) as client:
        for line in ("play b a1", "play w a2", "play b e5"):
            assert client.ask(line).startswith("=")
        assert client.ask("genmove w") == "= B1"
        assert client.ask("final_score") == "= W+1.0"


def test_rollouts_of_go_do_not_judge_it() -> None:
    settings = Settings(game="atari-go", size=(5, 5), playouts=2, net=f"{TINY_NET}+rollouts")
    with Conversation(Engine(settings)) as client:
        answer = client.ask("genmove b")
    assert answer == "? rollouts beside a net are not for the game atari-go"


@pytest.mark.parametrize("option", ["--level=3", "--human-profile=preaz_5k", "--rollout-weight=1"])
def test_what_only_go_has_is_refused(option: str) -> None:
    parser = argparse.ArgumentParser()
    add_options(parser)
    assert read_settings(parser.parse_args(["--game", "atari-go"])).game == "atari-go"
    name = option.split("=")[0]
    with pytest.raises(UsageError, match=f"{name} is not for the game atari-go"):
        read_settings(parser.parse_args(["--game", "atari-go", option]))


def test_the_panel_says_what_wins() -> None:
    names = {BLACK: "you", WHITE: "gtp-engine"}
    assert describe_game(AtariGo(5), names)[2] == "The first capture wins"
    assert describe_game(Position(5), names)[2] == "Default rules, komi 7.5"
