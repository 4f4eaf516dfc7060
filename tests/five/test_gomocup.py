"""Conversations with managers of five in a row, as written down in transcripts/.

`> ` is sent, `< ` is an answer; `< move` is some empty point of the board, `*` whatever follows.
"""

import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.paths import TINY, TINY_NET

from gtp_engine.children import own_command
from gtp_engine.frontends.gomocup.server import Server, is_stop, parse_line
from gtp_engine.frontends.pipes import Inbox, Output
from gtp_engine.go.rules import FIVE_RULES
from gtp_engine.play.engine import Engine
from gtp_engine.play.settings import Settings

TRANSCRIPTS = sorted((Path(__file__).parent / "transcripts").glob("*.txt"))
TIMEOUT = 300


class Manager:
    """Talks to a server in this process."""

    def __init__(self, engine: Engine) -> None:
        to_server, self._to_server = os.pipe()
        from_server, to_manager = os.pipe()
        self._descriptors = to_server, to_manager
        inbox = Inbox(to_server, parse_line, "END", is_stop)
        inbox.start()
        self._server = Server(engine, inbox, Output(to_manager))
        self._answers = os.fdopen(from_server, "rb")
        self.thread = threading.Thread(target=self._server.run, daemon=True)
        self.thread.start()

    def send(self, line: str) -> None:
        """Send a line."""
        os.write(self._to_server, line.encode() + b"\r\n")

    def answer(self) -> str:
        """Return the next line."""
        return self._answers.readline().decode().strip()

    def leave(self) -> None:
        """Hang up, and wait until the server has gone."""
        os.close(self._to_server)
        self.thread.join(TIMEOUT)
        assert not self.thread.is_alive()
        os.close(self._descriptors[0])
        os.close(self._descriptors[1])
        self._answers.close()


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    engine = Engine(Settings(game="five", size=(15, 15), playouts=5, resign=False, seed=1))
    engine.wait_ready()
    yield engine
    engine.close()


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_transcript(path: Path, engine: Engine) -> None:
    manager = Manager(engine)
    taken = set()
    for line in path.read_text().splitlines():
        mark, _, text = line.partition(" ")
        if mark == ">":
            manager.send(text)
            if text.lower() in ("begin", "board"):
                taken.clear()
            taken.add(",".join(text.split()[-1].split(",")[:2]))
        elif mark == "<":
            answer = manager.answer()
            if text == "move":
                x, y = (int(number) for number in answer.split(","))
                assert 0 <= x < 20 and 0 <= y < 20 and answer not in taken
                taken.add(answer)
            elif text.endswith("*"):
                assert answer.startswith(text[:-1])
            else:
                assert answer == text, line
    manager.leave()


def test_start_is_answered_before_anything_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(Settings(game="five", size=(15, 15), playouts=5, resign=False))
    monkeypatch.setattr(Engine, "load", lambda self: None)
    waits = threading.Event()
    monkeypatch.setattr(Engine, "wait_ready", lambda self, seconds: waits.set())
    manager = Manager(engine)
    manager.send("START 15")
    assert manager.answer() == "OK" and not engine.has_kernels and not waits.is_set()
    manager.send("INFO timeout_turn 10")
    manager.send("BEGIN")  # a plain move, for kernels still compile when the time is up
    assert manager.answer().count(",") == 1
    manager.leave()


@pytest.mark.parametrize("word", ["STOP", "YXSTOP", "END"])
def test_a_manager_is_heard_while_kernels_load(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Engine, "load", lambda self: None)
    monkeypatch.setattr("gtp_engine.frontends.pipes.PATIENCE", 0.0)
    waits, asked = threading.Event(), set()

    def wait_ready(self: Engine, seconds: float) -> bool:
        asked.add(seconds)
        waits.set()
        return False

    monkeypatch.setattr(Engine, "wait_ready", wait_ready)
    manager = Manager(Engine(Settings(game="five", size=(15, 15), playouts=5)))
    for line in ("START 15", "INFO timeout_turn 100000000", "BEGIN"):
        manager.send(line)
    assert manager.answer() == "OK" and waits.wait(TIMEOUT)
    manager.send(word)
    assert manager.answer().count(",") == 1 and max(asked) < 1  # of the 100,000 seconds
    manager.leave()


def test_a_whole_board_is_filled_before_anything_is_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Engine, "load", lambda self: None)
    monkeypatch.setattr(Engine, "wait_ready", lambda self, seconds: False)
    manager = Manager(Engine(Settings(game="five", size=(15, 15), playouts=5)))
    manager.send("START 5")
    manager.send("INFO timeout_turn 0")
    assert manager.answer() == "OK"
    free = {f"{x},{y}" for x in range(5) for y in range(5)}
    for at in ("0,0", "4,4", "0,4", "4,0", "2,2", "0,2", "2,0", "4,2", "2,4"):
        if at in free:
            free.remove(at)
            manager.send(f"TURN {at}")
            free.remove(manager.answer())
    while free:
        manager.send(f"TURN {free.pop()}")
        if free:
            free.remove(manager.answer())
    assert manager.answer() == "ERROR the game is over"
    manager.leave()


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (0, "freestyle"),
        (1, "standard"),
        (2, "freestyle"),  # to go on after a five changes nothing else
        (3, "standard"),
        (6, "renju"),
        (11, "caro-exact"),
        (5, "caro"),  # unknown: what held before goes on
        (-1, "caro"),
    ],
)
def test_the_number_of_a_rule(number: int, name: str, engine: Engine) -> None:
    manager = Manager(engine)
    for each in (8, number):
        manager._server._take_info(f"rule {each}")
    assert manager._server._rules is FIVE_RULES[name]
    manager.leave()


@pytest.mark.parametrize(
    ("info", "seconds"),
    [
        ({}, 5.0 - 0.2),
        ({"timeout_turn": 3000}, 3.0 - 0.2),
        ({"timeout_turn": 100}, 0.1 / 2),
        ({"timeout_match": 7000}, 7.0 / 35 / 2),
        ({"timeout_match": 350_000, "time_left": 70_000}, 70.0 / 35 - 0.2),
        ({"timeout_match": 350_000, "time_left": 70_000, "timeout_turn": 1000}, 1.0 - 0.2),
        ({"timeout_match": 0, "time_left": 2147483647, "timeout_turn": 1000}, 1.0 - 0.2),
    ],
)
def test_the_time_of_a_move(info: dict[str, int], seconds: float, engine: Engine) -> None:
    manager = Manager(engine)
    manager._server._info = info
    assert manager._server._seconds() == pytest.approx(seconds)
    manager.leave()


@pytest.mark.parametrize(
    ("infos", "thinks"),
    [
        ([["timeout_turn 0"], []], [0.0, 0.0]),
        ([["timeout_turn -100"], ["timeout_turn 100"]], [0.0, 0.05]),
        ([["timeout_match 7000", "time_left 0"], ["time_left -2147483648"]], [0.0, 0.0]),
        # It runs out in the middle of a game: 35 moves to go, then 34, then 33.
        (
            [["timeout_match 7000", "time_left 7000"], ["time_left 34"], ["time_left -5"]],
            [0.1, 0.0005, 0.0],
        ),
        ([["timeout_match 0", "timeout_turn 100", "time_left 2147483647"], []], [0.05, 0.05]),
    ],
)
def test_a_flag_that_falls_is_answered_by_a_move_all_the_same(
    infos: list[list[str]], thinks: list[float], engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager, given = Manager(engine), []
    genmove = engine.genmove
    engine.clear_cache()  # so that no tree is kept from other games

    def think(color: int, *, commit: bool, stop: threading.Event) -> object:
        given.append(engine.settings.time)
        decision = genmove(color, commit=commit, stop=stop)
        if given[-1] == 0.0:
            assert decision.analysis is not None and decision.analysis.visits <= 1
        return decision

    monkeypatch.setattr(engine, "genmove", think)
    manager.send("START 15")
    assert manager.answer() == "OK"
    taken = set()
    for number, told in enumerate(infos):
        for info in told:
            manager.send(f"INFO {info}")
        manager.send(f"TURN 0,{3 * number}" if number else "BEGIN")
        taken |= {manager.answer(), f"0,{3 * number}"}
    assert len(taken) == 2 * len(infos) and all(0 <= int(at.split(",")[0]) < 15 for at in taken)
    # What has passed since the command came is taken off.
    assert all(0.0 <= got <= most for got, most in zip(given, thinks, strict=True)), given
    manager.leave()


def test_after_a_board_it_is_our_turn_whatever_the_numbers_of_stones(engine: Engine) -> None:
    manager = Manager(engine)
    for line in ("START 15", "INFO timeout_turn 1000", "BOARD"):
        manager.send(line)
    # Four in a row for either player, and one more stone of our own.
    for stone in (
        "12,12,1",
        *(f"{x},{y},{owner}" for x in range(4) for y, owner in ((7, 1), (2, 2))),
    ):
        manager.send(stone)
    manager.send("DONE")
    assert [manager.answer(), manager.answer()] == ["OK", "4,7"]
    # The turns alternate from there on.
    manager.send("TAKEBACK 4,7")
    manager.send("PLAY 14,14")
    manager.send("TURN 14,0")
    assert [manager.answer() for _ in range(3)] == ["OK", "14,14", "4,7"]
    manager.leave()


def test_end_and_stop_reach_an_engine_that_thinks(engine: Engine) -> None:
    manager = Manager(engine)
    began = threading.Event()
    genmove = engine.genmove

    def think(color: int, *, commit: bool, stop: threading.Event) -> object:
        began.set()
        assert stop.wait(TIMEOUT)
        return genmove(color, commit=commit, stop=stop)

    engine.genmove = think  # type: ignore[assignment,method-assign]
    try:
        for line in ("START 15", "BEGIN"):
            manager.send(line)
        assert manager.answer() == "OK" and began.wait(TIMEOUT)
        manager.send("YXSTOP")
        assert "," in manager.answer()
    finally:
        engine.genmove = genmove  # type: ignore[method-assign]
    manager.send("END")
    manager.thread.join(TIMEOUT)
    manager.leave()


def test_an_internal_error_is_told_on_stderr_too(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> bool:
        raise TypeError("a bug\nsomewhere")

    monkeypatch.setattr(Engine, "wait_ready", fail)
    manager = Manager(engine)
    for line in ("START 15", "BEGIN"):
        manager.send(line)
    assert manager.answer() == "OK"
    assert manager.answer() == "ERROR internal error: TypeError: a bug somewhere"
    assert "Traceback" in caplog.text
    manager.leave()


def test_a_net_of_the_other_game_is_one_sentence() -> None:
    engine = Engine(Settings(game="five", net=TINY_NET, size=(15, 15), device="cpu"))
    manager = Manager(engine)
    for line in ("START 15", "BEGIN"):
        manager.send(line)
    assert manager.answer() == "OK"
    assert manager.answer() == f"ERROR {TINY}: the net tiny does not play five"
    manager.leave()
    engine.close()


def run(script: str, *options: str) -> list[str]:
    """Return what the command answers to a script."""
    command = own_command("five", *options)
    done = subprocess.run(command, input=script, capture_output=True, text=True)
    assert done.returncode == 0
    return done.stdout.splitlines()


def test_the_command_speaks_the_protocol_alone(tmp_path: Path) -> None:
    log = tmp_path / "five.log"
    script = "START 15\nINFO timeout_turn 0\nTURN 7,7\nEND\nABOUT\n"
    first, move, *rest = run(script, "--log", str(log))
    assert (first, move.count(","), rest) == ("OK", 1, [])
    assert "> START 15" in log.read_text() and f"< {move}" in log.read_text()


def test_a_manager_that_goes_in_the_middle_of_a_board_gets_no_answer() -> None:
    assert run("START 15\nBOARD\n7,7,1\n") == ["OK"]
