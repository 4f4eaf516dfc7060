"""Clocks as a client sets them: in mid-search, before the net is there, without a net."""

import threading

import pytest
from tests.frontends.conversation import TIMEOUT, Conversation
from tests.frontends.fake_engine import FakeEngine

from gtp_engine.coords import BLACK
from gtp_engine.evaluators.fake import FakeEvaluator
from gtp_engine.play.clock.systems import Absolute, Byoyomi, PlayerTime
from gtp_engine.play.engine import Engine
from gtp_engine.play.loading import Loader
from gtp_engine.play.settings import Settings


def test_clocks_that_arrive_in_mid_search_hold_afterwards() -> None:
    engine = FakeEngine(genmove_waits=True)
    with Conversation(engine) as client:
        client.send(b"1 genmove b\n")
        assert engine.is_thinking.wait(TIMEOUT)
        client.send(
            b"2 kgs-time_settings byoyomi 60 10 3\n3 time_left b 9 2\n4 time_left b nan 2\n"
        )
        assert not engine.clock.is_limited
        client.send(b"# interrupt\n")
        replies = [client.reply() for _ in range(4)]
    assert [reply.split()[0] for reply in replies] == ["=1", "=2", "=3", "?4"]
    assert engine.clock.system == Byoyomi(60, 10, 3)
    assert engine.clock.left(BLACK) == PlayerTime(9, 2)


def test_a_clock_is_set_once_the_net_is_there_or_is_known_to_be_missing() -> None:
    for net_error in (None, "no such net file"):
        engine = FakeEngine(net_error=net_error)
        with Conversation(engine) as client:
            assert client.ask("time_settings 0 1 0") == "= "
            assert client.ask("time_settings 3600 0 0") == "= "
            told = client.ask("kata-debug-print-tc").splitlines()
            assert told == [
                "= Black Absolute: 3600 s left",
                "White Absolute: 3600 s left",
            ]
            assert engine.is_ready and engine.clock.is_limited
            assert client.ask("genmove b").startswith("?" if net_error else "=")


@pytest.mark.parametrize(
    "command",
    [
        "kata-genmove_analyze b 100",
        "lz-genmove_analyze b avoid w D4,Q16 1",
        "cgos-genmove_analyze b",
        "kata-search_analyze b noResultValue true",
    ],
)
def test_a_move_that_is_due_waits_for_no_kernels(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on, load = threading.Event(), Loader._load_kernels

    def wait(loader: Loader) -> None:
        goes_on.wait(10)
        load(loader)

    monkeypatch.setattr(Loader, "_load_kernels", wait)
    engine = Engine(Settings(playouts=1), evaluator=FakeEvaluator())
    engine.clock.set_system(Absolute(0.01))
    with Conversation(engine) as client:
        assert "\nplay " in client.ask(command)
        assert not engine.has_kernels
        goes_on.set()
