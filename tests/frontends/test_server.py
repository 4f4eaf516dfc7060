"""The loop: order, interruption, failure, departure."""

import os
import re
import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.frontends.conversation import TIMEOUT, Conversation
from tests.frontends.fake_engine import FakeEngine

from gtp_engine.frontends.gtp.protocol import parse_request
from gtp_engine.frontends.gtp.server import COMMANDS, new_inbox
from gtp_engine.frontends.gtp.session import Registry
from gtp_engine.frontends.pipes import LONGEST_LINE, PATIENCE, clean_line
from gtp_engine.play.settings import Settings

NOT_LISTED = ["analyze", "genmove_analyze", "kgs-chat", "gogui-rules_game_id", "genmove_debug"]


def test_commands_that_clients_misread_are_not_listed() -> None:
    listed = COMMANDS.listed
    assert listed == sorted(listed)
    assert not set(NOT_LISTED) & set(listed)
    assert {"kata-analyze", "lz-analyze", "gogui-interrupt", "kgs-genmove_cleanup"} <= set(listed)


def test_every_handler_says_what_it_does() -> None:
    for name, handler in COMMANDS.items():
        assert handler.__doc__, name


def test_every_command_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "gtp.md").read_text(encoding="utf-8")
    words = set(re.findall(r"[\w-]+", page))
    assert [name for name in COMMANDS.listed if name not in words] == []


def test_a_command_has_one_handler() -> None:
    registry = Registry()
    registry.command("name")(lambda session, arguments: "")
    with pytest.raises(ValueError, match="two handlers"):
        registry.command("name")(lambda session, arguments: "")


def test_replies_are_exact_and_in_order() -> None:
    with Conversation(FakeEngine()) as client:
        client.send(b"1 boardsize 9\r\n\n2 genmove b\n# comment\n3 foo\n\x004 undo\n5 quit")
        assert client.everything() == b"=1 \n\n=2 A9\n\n?3 unknown command\n\n=4 \n\n=5 \n\n"


def test_a_person_who_types_moves_is_told_how_to_play(caplog: pytest.LogCaptureFixture) -> None:
    for is_typed in (False, True):
        with Conversation(FakeEngine()) as client:
            client.inbox.is_typed = is_typed
            client.send(b"D4\nname\nquit\n")
            assert client.everything().startswith(b"? unknown command\n\n= ")
        assert ("gtp-engine play" in caplog.text) == is_typed


def test_nothing_is_answered_after_quit() -> None:
    with Conversation(FakeEngine()) as client:
        client.send(b"quit\nquit\nname\n")
        assert client.everything() == b"= \n\n"


def test_long_lines_are_answered() -> None:
    with Conversation(FakeEngine()) as client:
        assert client.ask("1 play b " + "x" * 10_000).startswith("?1 syntax error")
        assert client.ask("2 " + "y" * (LONGEST_LINE + 100)) == "?2 unknown command"
        assert client.ask("3 gogui-play_sequence" + " b d4" * 3000).startswith("?3 illegal move")
        assert client.ask("4 protocol_version") == "=4 2"


@pytest.mark.parametrize("line", ["", "name", "# interrupt", "   ", "\x07"])
def test_any_line_ends_an_analysis(line: str) -> None:
    engine = FakeEngine()
    with Conversation(engine) as client:
        client.send(b"1 kata-analyze b 50\n")
        assert engine.is_thinking.wait(TIMEOUT)
        client.send(line.encode() + b"\n")
        assert client.reply().startswith("=1 \ninfo move ")
        if line == "name":
            assert client.reply() == "= gtp-engine"
        assert client.ask("2 protocol_version") == "=2 2"


def test_pipelined_lines_end_an_analysis_too() -> None:
    with Conversation(FakeEngine()) as client:
        client.send(b"1 lz-analyze\n2 lz-analyze\n3 protocol_version\n")
        assert [client.reply()[:4] for _ in range(3)] == ["=1 \n", "=2 \n", "=3 2"]


def test_no_line_after_the_final_report() -> None:
    engine = FakeEngine()
    with Conversation(engine) as client:
        client.send(b"lz-analyze\n")
        assert engine.is_thinking.wait(TIMEOUT)
        client.send(b"\n")
        assert client.reply().count("info move A19") == 2


@pytest.mark.parametrize(("arguments", "seconds"), [("b 100", 0.1), ("b 5", 0.05), ("", 0.1)])
def test_the_first_report_of_an_analysis_does_not_wait(arguments: str, seconds: float) -> None:
    engine = FakeEngine()
    with Conversation(engine) as client:
        client.send(f"kata-analyze {arguments}\n\n".encode())
        client.reply()
        client.ask("kata-genmove_analyze b 2147483647")
        assert [request.first_after for request in engine.requests] == [seconds, None]


@pytest.mark.parametrize(
    ("command", "answer"), [("kata-search", "A9"), ("kata-search_cancellable", "A9")]
)
def test_searches_that_play_nothing(command: str, answer: str) -> None:
    with Conversation(FakeEngine()) as client:
        client.ask("boardsize 9")
        assert client.ask(f"{command} w") == f"= {answer}"
        assert client.ask(f"{command} w") == f"= {answer}"
        assert client.ask("kata-search_analyze w").endswith("\nplay A9")
        assert client.ask("undo") == "? cannot undo"


@pytest.mark.parametrize("line", ["", "name", "# interrupt"])
def test_any_line_cancels_a_search_that_can_be(line: str) -> None:
    engine = FakeEngine(genmove_waits=True)
    with Conversation(engine) as client:
        for command, cancelled in (
            ("kata-search_cancellable b", "= cancelled"),
            ("kata-search_analyze_cancellable b", "play cancelled"),
        ):
            engine.is_thinking.clear()
            client.send(f"{command}\n".encode())
            assert engine.is_thinking.wait(TIMEOUT)
            client.send(line.encode() + b"\n")
            assert client.reply().split("\n")[-1] == cancelled
            if line == "name":
                assert client.reply() == "= gtp-engine"


@pytest.mark.parametrize("command", ["kgs-game_over", "cgos-gameover B+R", "stop"])
def test_the_end_of_a_game_ends_pondering(command: str) -> None:
    engine = FakeEngine()
    with Conversation(engine) as client:
        before = engine.rests
        assert client.ask(command) == "= "
        assert engine.rests == before + 1


def test_the_name_can_be_chosen() -> None:
    with Conversation(FakeEngine(Settings(name="KataGo-like"))) as client:
        assert client.ask("1 name") == "=1 KataGo-like"


def test_the_version_is_one_that_lizzie_takes() -> None:
    with Conversation(FakeEngine()) as client:
        version = client.ask("version").split()[1]
    first, second = version.split(".")[:2]
    assert first.isdigit() and int(second) >= 15  # of Leela Zero's versions since 0.15


def test_genmove_is_ended_by_an_interrupt_alone() -> None:
    engine = FakeEngine(genmove_waits=True)
    with Conversation(engine) as client:
        client.send(b"1 genmove b\n2 name\n\n")
        assert engine.is_thinking.wait(TIMEOUT)
        assert engine.stop is not None and not engine.stop.is_set()
        client.send(b"# interrupt\n")
        assert client.reply() == "=1 A19"
        assert client.reply() == "=2 gtp-engine"
        assert engine.was_stopped


@pytest.mark.parametrize("command", ["final_score", "final_status_list dead"])
def test_a_count_is_ended_by_an_interrupt(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = FakeEngine()
    plain = {name: getattr(engine, name) for name in ("final_score", "final_status")}

    def count(name: str, stop: threading.Event) -> Any:
        engine.is_thinking.set()
        assert stop.wait(TIMEOUT)
        return plain[name](stop)

    for name in plain:
        monkeypatch.setattr(engine, name, partial(count, name))
    with Conversation(engine) as client:
        client.send(f"1 {command}\n".encode())
        assert engine.is_thinking.wait(TIMEOUT)
        client.send(b"# interrupt\n")
        assert client.reply().startswith("=1 ")


def test_an_interrupt_is_not_meant_for_later_searches() -> None:
    engine = FakeEngine(genmove_waits=True)
    with Conversation(engine) as client:
        client.send(b"# interrupt\nboardsize 9\n# interrupt\n")
        client.reply()
        client.send(b"genmove b\n")
        assert engine.is_thinking.wait(TIMEOUT)
        assert engine.stop is not None and not engine.stop.wait(0.1)
        client.send(b"# interrupt\n")
        assert client.reply() == "= A9"


@pytest.mark.parametrize("farewell", [[b"2 quit\n"], [b""], [b"2 time_left b 3 0\n", b"3 quit\n"]])
def test_a_client_that_leaves_after_a_pause_stops_the_search(farewell: list[bytes]) -> None:
    engine = FakeEngine(genmove_waits=True)
    with Conversation(engine) as client:
        client.send(b"1 genmove b\n")
        assert engine.is_thinking.wait(TIMEOUT)
        time.sleep(2 * PATIENCE)
        for each in farewell:
            client.send(each)
        client.everything()
        assert engine.was_stopped


def test_a_piped_script_is_carried_out_to_its_end() -> None:
    engine = FakeEngine(moves=["D4", "Q16"])
    with Conversation(engine) as client:
        client.send(b"genmove b\ngenmove w")
        assert client.everything() == b"= D4\n\n= Q16\n\n"


def test_a_client_that_does_not_listen_ends_the_conversation() -> None:
    with Conversation(FakeEngine()) as client:
        client.ask("name")
        client.output.is_closed = True  # as after a write that failed
        client.send(b"name\n")
        assert client.is_over.wait(TIMEOUT)


def test_a_bug_is_reported_and_survived(said: list[str]) -> None:
    engine = FakeEngine(bug=KeyError("some\n\nthing # odd"))
    with Conversation(engine) as client:
        reply = client.ask("1 genmove b")
        assert reply.startswith("?1 internal error: KeyError: ")
        assert "#" not in reply and "\n" not in reply
        assert client.ask("2 lz-analyze") == "=2 "  # too late to call it an error
        assert client.ask("3 protocol_version") == "=3 2"
    assert "Traceback" in said[0]


def test_without_a_net_the_game_goes_on() -> None:
    with Conversation(FakeEngine(net_error="there is no net")) as client:
        client.send(b"1 boardsize 9\n2 play b e5\n3 genmove w\n4 lz-analyze\n5 play w c3\n6 undo\n")
        assert [client.reply() for _ in range(6)] == [
            "=1 ",
            "=2 ",
            "?3 there is no net",
            "?4 there is no net",
            "=5 ",
            "=6 ",
        ]


@pytest.mark.parametrize("dialect", ["kata", "cgos", "lz"])
def test_a_net_that_fails_on_the_clock_is_an_error(dialect: str) -> None:
    with Conversation(FakeEngine(net_error="there is no net")) as client:
        client.ask("time_settings 600 0 0")
        assert client.ask(f"1 {dialect}-genmove_analyze b 50") == "?1 there is no net"


COMMAND_WORDS = st.sampled_from(
    [name for name in COMMANDS.listed if name not in ("quit", "printsgf")]
    + ["b", "w", "D4", "pass", "9", "-1", "true"]
)
LINES = st.one_of(
    st.binary(max_size=40),
    st.lists(COMMAND_WORDS, max_size=6).map(lambda words: " ".join(words).encode()),
)


@pytest.fixture(scope="module")
def lasting_client():
    with Conversation(FakeEngine()) as client:
        client.ask("boardsize 9")
        yield client


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(LINES, max_size=8))
def test_every_request_is_answered_in_order(lasting_client: Conversation, lines) -> None:
    soup = b"\n".join(lines) + b"\n"
    requests = [parse_request(clean_line(line)) for line in soup.split(b"\n")]
    expected = [request.id for request in requests if request is not None]
    if any(request is not None and request.name == "quit" for request in requests):
        return
    lasting_client.send(soup + b"999 protocol_version\n")
    for id_ in expected:
        reply = lasting_client.reply()
        assert reply[0] in "=?"
        assert reply[1:].startswith(f"{id_} ")
    assert lasting_client.reply() == "=999 2"


def test_parameters_are_set_all_or_none() -> None:
    with Conversation(FakeEngine()) as client:
        client.send(
            b'kata-set-params {"cpuct": 2, "humanSLProfile": "rank_5k"}\n'
            b'kata-set-params {"cpuct": 2, "fpu_reduction": "much"}\n'
            b"kata-set-params " + b"[" * 10**5 + b"\n"
            b"kata-get-param cpuct\nkata-get-params\n"
        )
        refused, wrong, deep, cpuct, everything = client.everything().decode().split("\n\n")[:5]
    assert refused.startswith("? the net in use takes no human profile")
    assert wrong.startswith("? syntax error") and cpuct == "= 1"
    assert deep == "? syntax error: the parameters are no JSON object"
    with Conversation(FakeEngine()) as client:
        client.send(f"kata-set-params {everything[2:]}\n".encode())
        assert client.everything() == b"= \n\n"


@pytest.mark.parametrize(
    "parameter", ["threat_nodes 1234567", "maxTime 1234567.5", "resignThreshold -0.98765432"]
)
def test_a_parameter_is_told_with_all_of_its_digits(parameter: str) -> None:
    name, number = parameter.split()
    with Conversation(FakeEngine()) as client:
        assert client.ask(f"kata-set-param {parameter}") == "= "
        assert client.ask(f"kata-get-param {name}") == f"= {number}"
        assert f'"{name}": {number}' in client.ask("kata-get-params")


def test_a_level_is_taken_back_with_the_other_parameters() -> None:
    engine = FakeEngine()
    with Conversation(engine) as client:
        assert client.ask('kata-set-params {"level": 1, "cpuct": 99}').startswith("? ")
        assert client.ask("kata-get-param level") == "= 0"
    assert engine._level is None


def test_parameters_that_are_not_set_stay_exactly_as_they_were() -> None:
    engine = FakeEngine()
    engine.search_params = replace(engine.search_params, cpuct=1.23456789)
    engine.settings = replace(engine.settings, time=1.23456789)
    before = engine.search_params, engine.settings
    with Conversation(engine) as client:
        wrong = '{"cpuct": 2, "maxTime": 9, "ponderingEnabled": true, "fpu_reduction": "much"}'
        assert client.ask(f"kata-set-params {wrong}").startswith("? syntax error")
        assert (engine.search_params, engine.settings) == before
        nested = '{"cpuct": ' + "[" * 900 + "]" * 900 + "}"
        assert client.ask(f"kata-set-params {nested}").startswith("? syntax error: a parameter")


def test_lines_that_wait_take_little_memory() -> None:
    to_server, from_client = os.pipe()
    inbox = new_inbox(to_server)
    inbox.start()
    line = b"echo " + b"x" * (1 << 20) + b"\n"

    def send() -> None:
        for _ in range(64):
            data = memoryview(line)
            while data:
                data = data[os.write(from_client, data) :]
        os.close(from_client)

    threading.Thread(target=send, daemon=True).start()
    for taken in range(64):
        with inbox._changed:
            if not taken:
                assert inbox._changed.wait_for(lambda: len(inbox._lines) >= 16, TIMEOUT)
            assert sum(len(one.request.rest) for one in inbox._lines) <= 17 << 20
        assert len(inbox.next(TIMEOUT).request.rest) == LONGEST_LINE - len("echo ")
    with pytest.raises(EOFError):
        inbox.next(TIMEOUT)
    os.close(to_server)
