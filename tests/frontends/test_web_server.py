"""The server behind the page that plays: who gets in, what wishes do, what is never lost."""

import asyncio
import contextlib
import json
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.frontends.web_client import PATIENCE, SEAT, Served, new_game, served, state_when, wish
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.sync.client import ClientConnection, connect

from gtp_engine.children import own_command
from gtp_engine.commands.registry import run
from gtp_engine.coords import BLACK
from gtp_engine.evaluators.fake import FakeEvaluator
from gtp_engine.evaluators.human_profile import HumanProfile
from gtp_engine.frontends.web.game import MOST_WISHES, TOO_BUSY, WebGame
from gtp_engine.frontends.web.server import (
    MOST_MESSAGE,
    MOST_TABS,
    TOO_MANY_TABS,
    WebServer,
    _Connection,
)
from gtp_engine.go.rules import Rules
from gtp_engine.go.sgf import load_sgf, parse_sgf
from gtp_engine.play.engine import Engine
from gtp_engine.play.loading import EngineUnavailableError
from gtp_engine.play.settings import Settings

HOSTILE = 50


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One process for most tests."""
    with served(tmp_path_factory.mktemp("games")) as running:
        yield running


@pytest.fixture
def client(server: Served) -> Iterator[ClientConnection]:
    """A tab that wants nothing analysed, whatever the one before did."""
    with server.client() as opened:
        wish(opened, "look", turn=None)
        yield opened


def play(client: ClientConnection, at: str, turn: int) -> dict[str, Any]:
    """Make a move, and return the state after the engine's answer or its refusal."""
    wish(client, "play", at=at, turn=turn)
    return state_when(
        client,
        lambda state: state["doing"] == "" and (len(state["moves"]) > turn + 1 or state["said"]),
    )


def fetch(server: Served, path: str = "", **headers: str) -> tuple[int, str]:
    """Return status and body of a request."""
    address = f"http://{server.host}:{server.port}{path or server.path}"
    request = urllib.request.Request(address, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


# Who gets in -------------------------------------------------------------------------------------


def test_the_page_is_for_its_own_address_alone(server: Served) -> None:
    own = f"{server.host}:{server.port}"
    status, page = fetch(server)
    assert status == 200 and f"connect-src ws://{own}" in page and "src=" not in page
    assert fetch(server, Host=f"localhost:{server.port}")[0] == 200
    assert fetch(server, Origin=f"http://{own}")[0] == 200
    for path in ("/", "/x/", server.path[:-2] + "/", server.path.lower().upper(), "/%00/", "//"):
        status, text = fetch(server, path)
        assert status == 403 and "gtp-engine" in text, path
    for name in (
        "evil.example",
        f"evil.example:{server.port}",
        "10.1.1.1",
        "",
        "[",
        "a b",
        "a@localhost",
    ):
        assert fetch(server, Host=name)[0] in (400, 403), name
    for origin in (
        "http://evil.example",
        "null",
        f"https://{own}",
        f"http://localhost:{server.port}",
    ):
        assert fetch(server, Origin=origin)[0] == 403, origin
    assert fetch(server, server.path + "../../etc/passwd")[0] in (403, 404)


@pytest.mark.parametrize(
    "path, headers",
    [
        ("/wrong/socket", {}),
        ("socket", {"origin": "http://evil.example"}),
        ("socket", {"origin": None}),
        ("socket", {"additional_headers": {"X-Forwarded-Host": "localhost"}, "origin": "null"}),
        ("other", {}),
    ],
)
def test_a_socket_of_another_page_is_refused(
    server: Served, path: str, headers: dict[str, Any]
) -> None:
    own = f"{server.host}:{server.port}"
    whole = path if path.startswith("/") else server.path + path
    with pytest.raises(InvalidHandshake):
        connect(f"ws://{own}{whole}", proxy=None, **{"origin": f"http://{own}", **headers})


def test_so_many_tabs_and_no_more(server: Served) -> None:
    def is_let_in(client: ClientConnection) -> bool:
        try:
            return bool(client.recv(timeout=PATIENCE))
        except ConnectionClosed as closed:
            assert closed.rcvd is not None and closed.rcvd.code == TOO_MANY_TABS
            return False

    with contextlib.ExitStack() as stack:
        n_open = 0
        while n_open < MOST_TABS:  # tabs of other tests may still be leaving
            n_open += is_let_in(stack.enter_context(server.client()))
        assert not is_let_in(stack.enter_context(server.client()))
    while True:  # the server hears of it in its own time
        with server.client() as client:
            if is_let_in(client):
                return


class LoadingEngine(Engine):
    """An engine that compiles its kernels until it is told that there is no net."""

    is_given_up = threading.Event()

    def wait_ready(self, seconds: float | None = None) -> bool:
        if self.is_given_up.wait(seconds):
            raise EngineUnavailableError("there is no net")
        return False

    @property
    def progress(self) -> str:
        return "compiling the kernels (once), 20 of about 190, 11%"


def test_pages_come_while_kernels_are_compiled_and_who_is_silent_goes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_Connection, "LONGEST_SECONDS", 0.2)
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    engine = LoadingEngine()
    game = WebGame(engine, "black", [])
    game.start()

    def visit() -> None:
        page = urllib.request.urlopen(f"http://127.0.0.1:{port}/token/").read()
        assert b'id="board"' in page
        own = f"http://127.0.0.1:{port}"
        with connect(f"ws{own[4:]}/token/socket", origin=own, proxy=None) as client:  # type: ignore[arg-type]
            state_when(client, lambda state: "20 of about 190" in state["doing"])
            with socket.create_connection(("127.0.0.1", port)) as silent:
                silent.settimeout(PATIENCE)
                with contextlib.suppress(ConnectionResetError):
                    assert silent.recv(1) == b""
            engine.is_given_up.set()
            state_when(client, lambda state: state["doing"] == "there is no net")

    async def serve() -> None:
        serving = asyncio.create_task(WebServer(game, "token", "127.0.0.1").serve(listener))
        await asyncio.to_thread(visit)
        serving.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await serving

    with listener:
        asyncio.run(serve())


# What wishes do ----------------------------------------------------------------------------------


def test_a_game_at_any_level_with_handicap_and_rules(client: ClientConnection) -> None:
    state = new_game(client, size="9x7", handicap="4", rules="japanese", level="1", you="white")
    assert state["size"] == [9, 7] and state["komi"] == 0.5 and state["rules"] == "japanese"
    assert state["start"].count("1") == 4 and state["to_play"] == 2
    state = play(client, "E4", 0)
    assert len(state["moves"]) == 2 and state["seat"]["level"] == "1"
    wish(client, "seat", you="both", net="human", level="10", playouts="1", profile="")
    state = state_when(client, lambda state: state.get("seat", {}).get("net") == "human")
    wish(client, "go")
    state = state_when(client, lambda state: len(state["moves"]) == 3 and state["doing"] == "")
    assert any("was trained on boards of 19x19" in line for line in state["said"])
    assert state["names"] == ["you", "you"]


def test_pages_offer_the_nets_that_play_go() -> None:
    engine = Engine(Settings(size=(5, 5)), evaluator=FakeEvaluator())
    offered = set(WebGame(engine, "both", []).choices()["net"])
    assert "default" in offered and not {"five", "five-int8", "default-int8"} & offered


def test_moves_are_drawn_from_the_policy_until_a_page_wants_another_level() -> None:
    engine = Engine(Settings(size=(5, 5), policy_temperature=1.0), evaluator=FakeEvaluator())
    game = WebGame(engine, "both", [])

    def playouts_at(level: str) -> int:
        game._do_seat({**SEAT, "net": "default", "level": level, "playouts": "50"})
        analysis = engine.genmove(BLACK).analysis
        assert analysis is not None
        return analysis.playouts

    assert playouts_at("10") == 1
    assert playouts_at("7") == 50
    assert playouts_at("7") == 50
    assert playouts_at("10") == 50


def test_a_page_that_names_no_playouts_has_those_that_it_began_with() -> None:
    engine = Engine(Settings(size=(5, 5), playouts=30), evaluator=FakeEvaluator())
    game = WebGame(engine, "both", [])
    for named, playouts in (("", 30), ("1", 1), ("", 30)):
        game._do_seat({**SEAT, "net": "default", "playouts": named})
        assert engine.settings.playouts == playouts


def test_a_game_ends_by_passes_or_by_resigning_and_is_taken_up_again(
    client: ClientConnection,
) -> None:
    new_game(client, you="both", size="5")
    for turn, at in enumerate(("C3", "pass", "pass")):
        wish(client, "play", at=at, turn=turn)
    state = state_when(client, lambda state: bool(state.get("result")))
    assert re.fullmatch(r"0|[BW]\+\d+(\.5)?", state["result"]) and state["count"]["turn"] == 3
    counts = [(state["result"], state["count"]["dead"])]
    for _ in range(2):
        wish(client, "dead", at="C3")
        state = state_when(
            client,
            lambda state, before=counts[-1]: (
                state["result"] != before[0] and state["count"]["dead"] != before[1]
            ),
        )
        counts.append((state["result"], state["count"]["dead"]))
    assert counts[0] == counts[2] and {dead for _, dead in counts} == {"", "cc"}
    wish(client, "look", turn=3)  # an analysis leaves result and count where they are
    state = state_when(client, lambda state: (state["found"] or {}).get("turn") == 3)
    assert state["result"] == counts[2][0] and state["count"]["turn"] == 3
    wish(client, "look", turn=-1)
    wish(client, "dead", at="D4")
    state_when(client, lambda state: "There are no stones." in state["said"])
    wish(client, "play", at="D4", turn=3)
    state_when(client, lambda state: "The game is over." in state["said"])
    wish(client, "undo")
    state_when(client, lambda state: len(state["moves"]) == 2 and state["result"] == "")
    wish(client, "resign")
    state_when(client, lambda state: state["result"] == "W+R")
    wish(client, "undo")
    state_when(client, lambda state: len(state["moves"]) == 2 and state["result"] == "")
    wish(client, "dead", at="C3")
    state_when(client, lambda state: "There is no count to change." in state["said"])
    wish(client, "score")
    state_when(client, lambda state: any("Counted" in line for line in state["said"]))


def test_a_refused_move_leaves_the_game(client: ClientConnection) -> None:
    new_game(client, you="both")
    wish(client, "play", at="C3", turn=0)
    state_when(client, lambda state: len(state["moves"]) == 1)
    assert "occupied" in play(client, "C3", 1)["said"][0]
    assert play(client, "Z99", 1)["said"] and play(client, "", 1)["said"]
    wish(client, "play", at="D4", turn=0)  # a tab that shows an older position
    wish(client, "play", at="B2", turn=1)
    state = state_when(client, lambda state: len(state["moves"]) == 2)
    assert state["moves"] == ["1cc", "2bd"]


def test_an_analysis_follows_the_turn_that_is_looked_at(client: ClientConnection) -> None:
    new_game(client, you="both")
    client.send(b"(;SZ[5]KM[7]PB[Ada]C[first];B[cc];W[bb]C[second];B[dd])")
    state = state_when(client, lambda state: len(state["moves"]) == 3)
    assert state["names"][0] == "Ada" and state["seat"]["you"] == "both"
    for turn, who in ((3, "white"), (2, "black"), (0, "black")):
        wish(client, "look", turn=turn)
        state = state_when(
            client, lambda state, turn=turn: (state["found"] or {}).get("turn") == turn
        )
        found = state["found"]
        assert found["to_play"] == who and found["candidates"] and len(found["owners"]) == 25
    wish(client, "look", turn=-1)
    state_when(client, lambda state: state["doing"] == "")
    wish(client, "undo")
    state_when(client, lambda state: len(state["moves"]) == 2)


def test_an_analysis_goes_on_after_a_wish_that_leaves_the_game(client: ClientConnection) -> None:
    new_game(client, you="both", size="19")
    wish(client, "play", at="C3", turn=0)
    wish(client, "look", turn=1)
    state_when(client, lambda state: (state["found"] or {}).get("turn") == 1)
    wish(client, "play", at="C3", turn=1)
    state_when(client, lambda state: state["said"] and state["doing"] == "analysing")
    wish(client, "seat", **{**SEAT, "you": "both", "playouts": "13"})
    state_when(client, lambda state: state["seat"]["playouts"] == "13")
    state_when(client, lambda state: state["doing"] == "analysing")


@pytest.mark.parametrize("name", ["cancel", "dead", "review", "look", "play", "nonsense"])
def test_what_does_not_change_the_game_does_not_hurry_the_engine(name: str) -> None:
    game = WebGame(Engine(Settings(size=(5, 5)), evaluator=FakeEvaluator()), "both", [])
    game._stop, game._cancel = threading.Event(), threading.Event()
    game._is_moving = True
    game.wish(json.dumps({"do": name}))
    assert not game._stop.is_set() and game._cancel.is_set() == (name == "cancel")
    game.wish(json.dumps({"do": "undo"}))
    assert game._stop.is_set()


def test_of_wishes_to_look_the_newest_waits_and_others_that_are_dropped_are_told() -> None:
    game = WebGame(Engine(Settings(size=(5, 5)), evaluator=FakeEvaluator()), "both", [])
    for turn in range(2 * MOST_WISHES):
        game.wish(json.dumps({"do": "look", "turn": turn}))
    assert game._wishes.qsize() == 1 and not game._state["said"]
    for _ in range(2 * MOST_WISHES):
        game.wish(json.dumps({"do": "undo"}))
    assert game._state["said"] == [TOO_BUSY]
    game._obey(game._wishes.get())
    assert game._looks_at == 2 * MOST_WISHES - 1
    for turn in (7, 8):  # the first one has been obeyed: another may wait
        game.wish(json.dumps({"do": "look", "turn": turn}))
    assert game._wishes.full()
    game.wish(json.dumps({"do": "look", "turn": -1}))
    while not game._wishes.empty():
        wished = game._wishes.get()
        if isinstance(wished, dict) and wished["do"] == "look":
            game._obey(wished)
    assert game._looks_at is None


def test_what_was_said_stays_while_pages_look() -> None:
    game = WebGame(Engine(Settings(size=(5, 5)), evaluator=FakeEvaluator()), "both", [])
    game._say("no such move")
    game._obey({"do": "look", "turn": 0})
    assert game._state["said"] == ["No such move."]
    game._obey({"do": "stop"})
    assert game._state["said"] == []


def test_a_page_that_comes_while_the_engine_loads_knows_the_rules() -> None:
    settings = Settings(size=(5, 5), rules=Rules.parse("japanese"))
    game = WebGame(Engine(settings, evaluator=FakeEvaluator()), "both", [])
    assert json.loads(game.text)["rules"] == "japanese"
    assert "japanese" in game.choices()["rules"]


def test_a_human_profile_is_shown_and_can_be_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(Settings(size=(5, 5)), evaluator=FakeEvaluator())
    game = WebGame(engine, "both", [])

    def adopt(profile: HumanProfile | None) -> None:
        engine.settings = replace(engine.settings, human_profile=profile)

    refuse = engine.set_human_profile  # this evaluator takes none
    seat = {**SEAT, "net": "default"}
    monkeypatch.setattr(engine, "set_human_profile", adopt)
    for name in ("rank_5k", "", "rank_3d"):
        game._do_seat({**seat, "profile": name})
        assert game._seats()["profile"] == name
    monkeypatch.setattr(engine, "set_human_profile", refuse)
    game._do_seat({**seat, "profile": "rank_3d", "level": "7"})  # nothing new about the profile
    game._do_seat({**seat, "profile": ""})
    assert engine.settings.human_profile is None and game._seats()["profile"] == ""
    with pytest.raises(EngineUnavailableError, match="takes no human profile"):
        game._do_seat({**seat, "profile": "rank_5k"})


@pytest.mark.parametrize("komi", [None, 0.5])
def test_a_new_game_has_the_komi_that_the_engine_was_started_with(komi: float | None) -> None:
    engine = Engine(Settings(size=(9, 9), komi=komi), evaluator=FakeEvaluator())
    game = WebGame(engine, "both", [])
    terms = {**SEAT, "net": "default", "size": "9", "rules": "chinese", "komi": ""}
    usual = 7.0 if komi is None else komi
    game._do_new({**terms, "handicap": "0"})
    assert engine.komi == usual
    game._do_new({**terms, "handicap": "4"})
    assert engine.komi == 0.5
    game._load(b"(;SZ[9];B[cc])")
    assert engine.komi == usual


def test_a_count_takes_the_place_of_an_analysis() -> None:
    game = WebGame(Engine(Settings(size=(5, 5)), evaluator=FakeEvaluator()), "both", [])
    game._do_look({"turn": 0})
    assert game._next_task() == game._look
    assert game._state["looking"]
    game._do_score({})
    assert game._next_task() is None and not game._state["looking"]
    game._do_look({"turn": 0})
    game._do_look({"turn": -1})
    assert not game._state["looking"]


@pytest.mark.parametrize("result", ["?", "Void"])
def test_a_record_without_a_winner_goes_on(result: str, client: ClientConnection) -> None:
    new_game(client, you="both")
    client.send(f"(;SZ[5]RE[{result}];B[cc];W[bb])".encode())
    state = state_when(client, lambda state: len(state["moves"]) == 2)
    assert state["result"] == ""
    wish(client, "play", at="A1", turn=2)
    state_when(client, lambda state: len(state["moves"]) == 3)


@pytest.mark.parametrize("result", ["B+R", "B+Resign"])
def test_a_resignation_in_a_record_is_taken_back_like_any(
    result: str, client: ClientConnection
) -> None:
    new_game(client, you="both")
    client.send(f"(;SZ[5]RE[{result}];B[cc];W[bb])".encode())
    state_when(client, lambda state: state.get("result") == "B+R")
    wish(client, "undo")
    state = state_when(client, lambda state: state["result"] == "")
    assert len(state["moves"]) == 2


def test_wishes_that_are_refused_change_nothing(client: ClientConnection) -> None:
    before = new_game(client, you="black", net="small")["seat"]
    assert (before["you"], before["net"]) == ("black", "small")
    client.send(b"(;GM[1]SZ[9];B[ee];W[ee])")
    state = state_when(client, lambda state: any("occupied" in line for line in state["said"]))
    assert state["seat"] == before and not state["moves"]
    terms = SEAT | {"you": "white", "net": "default", "profile": "rank_5k"}
    wish(client, "new", size="5", rules="chinese", komi="", handicap="0", **terms)
    state = state_when(client, lambda state: any("profile" in line for line in state["said"]))
    assert state["seat"] == before and not state["moves"]
    for do in ("new", "seat"):
        wish(client, do, size="7", rules="chinese", komi="", handicap="0", **SEAT | {"net": "dlgo"})
        where = "7x7" if do == "new" else "5x5"
        refusal = f"The net dlgo does not play on {where}."
        state = state_when(client, lambda state, said=refusal: said in state["said"])
        assert state["seat"] == before and state["size"] == [5, 5]


def test_a_record_comes_back_as_it_was_loaded(server: Served, client: ClientConnection) -> None:
    new_game(client)
    client.send(
        "(;SZ[5]PB[\u00c4da]PW[<b>]BR[3d]WR[2k]DT[2016-03-09]CA[UTF-8]C[a];B[cc];W[bb]C[b];B[dd])".encode()
    )
    state_when(client, lambda state: len(state["moves"]) == 3)
    record = parse_sgf(fetch(server, server.path + "game.sgf")[1])
    assert (record.black_name, record.white_name) == ("\u00c4da", "<b>")
    assert (record.black_rank, record.white_rank, record.date) == ("3d", "2k", "2016-03-09")
    assert record.comments == {0: "a", 2: "b"} and len(record.moves) == 3
    wish(client, "undo")
    state_when(client, lambda state: len(state["moves"]) == 2)
    wish(client, "undo")
    state_when(client, lambda state: len(state["moves"]) == 1)
    wish(client, "play", at="A1", turn=1)
    state_when(client, lambda state: len(state["moves"]) == 2)
    record = parse_sgf(fetch(server, server.path + "game.sgf")[1])
    assert record.comments == {0: "a"}, "what was said of another move"
    client.send(b"no game at all")
    state_when(client, lambda state: bool(state["said"]))
    wish(client, "undo")
    state_when(client, lambda state: state["moves"] == ["1cc"] and not state["said"])
    client.send(b"")
    state_when(client, lambda state: bool(state["said"]))


def test_comments_stay_with_their_moves_behind_a_set_up(server: Served) -> None:
    with server.client() as client:
        new_game(client)
        client.send(b"(;SZ[5]C[a];B[cc];W[bb];AB[aa]C[b];B[dd];W[dc]C[c])")
        state_when(client, lambda state: state["moves"] == ["1dd", "2dc"])
    record = parse_sgf(fetch(server, server.path + "game.sgf")[1])
    assert record.comments == {0: "a", 2: "b", 4: "c"}
    assert [move.color for move in record.moves] == [BLACK, 3 - BLACK] * 2


def test_a_review_is_made_while_the_game_goes_on_and_can_be_ended(
    server: Served, client: ClientConnection
) -> None:
    assert fetch(server, server.path + "review")[0] == 404
    new_game(client, size="5", you="both")
    wish(client, "review", visits="4")
    state_when(client, lambda state: any("no moves to review" in line for line in state["said"]))
    letters = "abcdefghi"
    many = "".join(f";{'BW'[n % 2]}[{letters[n % 9]}{letters[n // 9 * 2]}]" for n in range(45))
    client.send(f"(;SZ[9]KM[7]PB[Ada]{many})".encode())
    state_when(client, lambda state: len(state["moves"]) == 45)
    wish(client, "review", visits="400")
    state_when(client, lambda state: state["review"] is not None)
    wish(client, "play", at="A8", turn=45)
    state_when(client, lambda state: len(state["moves"]) == 46 and state["review"]["done"] < 100)
    wish(client, "cancel")
    state_when(client, lambda state: state["review"] is None)
    client.send(b"(;SZ[5]KM[7]PB[Ada];B[cc];W[bb])")
    state_when(client, lambda state: len(state["moves"]) == 2)
    wish(client, "review", visits="4")
    state_when(client, lambda state: (state["review"] or {}).get("done") == 100)
    status, page = fetch(server, server.path + "review")
    assert status == 200 and "<title>Ada and " in page and "connect-src" not in page
    with server.client() as other:
        assert new_game(other)["review"] is None


# Whoever means harm ------------------------------------------------------------------------------


def test_nonsense_changes_nothing(client: ClientConnection) -> None:
    state = new_game(client, you="both")
    rng = random.Random(3)
    values = (None, 1e308, -1, "x" * 99, "x" * 10_000, [], {}, "../../etc/passwd", "\0", True, "9")
    names = (
        "play",
        "look",
        "new",
        "seat",
        "review",
        "go_",
        "__init__",
        "",
        "load",
        "score\n",
        None,
    )
    keys = ("at", "turn", "size", "rules", "komi", "handicap", "net", "you", "level", "profile")
    for _ in range(100):
        more = {key: rng.choice(values) for key in rng.sample(keys, 4)}
        client.send(json.dumps({"do": rng.choice(names), **more}))
    wish(client, "new", size="25x26", rules="chinese", komi="", handicap="0")
    wish(client, "new", size="9", rules="chinese", komi="1e9", handicap="0")
    wish(client, "new", size="9", rules="chinese", komi="", handicap="99")
    wish(client, "new", size="9", rules="chinese", komi="", handicap="x")
    state_when(client, lambda state: any("'x' is not a whole number" in x for x in state["said"]))
    wish(client, "seat", you="both", net="/etc/passwd", level="10", playouts="1", profile="")
    after = state_when(
        client, lambda state: any("no such color or net" in x for x in state["said"])
    )
    for key in ("game", "size", "moves", "seat", "rules", "komi"):
        assert after[key] == state[key], key


@pytest.mark.parametrize("text", ["[1]", "{", "[" * 100_000, "1", '"play"', "\x00", "", "NaN"])
def test_what_is_no_wish_is_passed_over(client: ClientConnection, text: str) -> None:
    client.send(text)
    assert new_game(client)["moves"] == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_fifty_hostile_connections_do_not_get_in_nor_in_the_way(
    server: Served, client: ClientConnection
) -> None:
    new_game(client)
    ends = threading.Event()
    done: list[int] = []
    got_in: list[str] = []

    def attack(number: int) -> None:
        """Flood, hang, or lie, over and over."""
        while not ends.is_set():
            with contextlib.suppress(OSError, InvalidHandshake, ConnectionClosed):
                got_in.extend(_attack(server, number % 5))
            done.append(number)

    def play_until(attacks: int) -> float:
        """Play until so many attacks have been made; return the memory that is held then."""
        while len(done) < attacks:
            assert len(play(client, "C3", 0)["moves"]) == 2
            wish(client, "undo")
            state_when(client, lambda state: state["moves"] == [])
        return server.rss_mb()

    attackers = [threading.Thread(target=attack, args=(n,), daemon=True) for n in range(HOSTILE)]
    for attacker in attackers:
        attacker.start()
    before = play_until(1500)
    after = play_until(6000)
    ends.set()
    for attacker in attackers:
        attacker.join(PATIENCE)
    print(f"{before:.0f} MB after 1,500 attacks, {after:.0f} MB after 6,000")
    assert got_in == []
    assert after - before < 30


def _attack(server: Served, kind: int) -> list[str]:
    """Attack in one of five ways; return what of the game came back, which is nothing."""
    own = f"{server.host}:{server.port}"
    if kind < 3:
        path = "/wrong/socket" if kind == 0 else f"{server.path}socket"
        origin = f"http://{own}" if kind == 0 else "http://evil.example"
        headers = {"Host": "evil.example"} if kind == 2 else {}
        with connect(
            f"ws://{own}{path}", origin=origin, additional_headers=headers, proxy=None
        ) as lie:  # type: ignore[arg-type]
            return [str(lie.recv())]
    with socket.create_connection((server.host, server.port)) as raw:
        raw.settimeout(0.2)
        if kind == 3:  # says nothing, or half a request
            raw.sendall(b"GET / HTTP/1.1\r\nHost: ")
            return [] if b"200" not in raw.recv(100) else ["a page"]
        for _ in range(200):
            raw.sendall(b"A" * (1 << 16))
    return []


def test_a_flood_or_a_huge_message_of_a_tab_harms_nobody_else(tmp_path: Path) -> None:
    # A server of its own: it goes on to read what the flood has sent.
    with served(tmp_path) as server, server.client() as client:
        new_game(client)
        with server.client() as flood:
            for turn in range(500):
                wish(flood, "look", turn=turn % 3)
                if turn == 100:
                    assert len(play(client, "C3", 0)["moves"]) == 2
        with server.client() as huge, pytest.raises(ConnectionClosed):
            huge.send(b"(" * (MOST_MESSAGE + 1))
            while True:
                huge.recv(timeout=PATIENCE)
        wish(client, "undo")
        state_when(client, lambda state: state["moves"] == [])


# What is never lost, and how it ends -------------------------------------------------------------


def test_a_game_survives_a_kill(tmp_path: Path) -> None:
    with served(tmp_path, "--size", "5") as first, first.client() as client:
        state_when(client, lambda state: True)
        before = play(client, "C3", 0)
        first.end(signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM)
    with served(tmp_path) as second, second.client() as client:
        state = state_when(client, lambda state: True)
        assert state["moves"] == before["moves"] and state["size"] == [5, 5]
        assert state["seat"]["you"] == "black" and "goes on" in state["said"][0]
        wish(client, "resign")
        state_when(client, lambda state: state["result"] == "W+R")
    (file,) = tmp_path.glob("*.sgf")
    record = load_sgf(file)
    assert len(record.moves) == 2 and record.result == "W+R"
    assert record.white_name.startswith("gtp-engine") and "winrate" in record.comments[2]


def test_a_game_in_which_the_engine_played_both_colors_goes_on(tmp_path: Path) -> None:
    (tmp_path / "old.sgf").write_text("(;SZ[5]PB[gtp-engine 1]PW[gtp-engine 1];B[cc];W[bb])")
    with served(tmp_path) as running, running.client() as client:
        state = state_when(client, lambda state: len(state["moves"]) == 2)
        assert state["seat"]["you"] == "both"


def test_games_of_people_alone_are_kept_too(tmp_path: Path) -> None:
    with served(tmp_path, "--size", "5", "--color", "both") as running, running.client() as client:
        state_when(client, lambda state: True)
        wish(client, "play", at="C3", turn=0)
        state_when(client, lambda state: len(state["moves"]) == 1)
        (file,) = tmp_path.glob("*.sgf")
        assert len(load_sgf(file).moves) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals to speak of")
def test_ctrl_c_ends_it_quietly_and_a_taken_port_is_one_sentence(tmp_path: Path) -> None:
    with served(tmp_path) as running, running.client():
        command = [sys.executable, "-m", "gtp_engine", "web", "--port", str(running.port)]
        taken = subprocess.run(command, capture_output=True, text=True, check=False)
        assert taken.returncode == 2 and taken.stderr.count("\n") == 1
        assert f"port {running.port}" in taken.stderr and "in use; --host" in taken.stderr
        assert running.end() == (0, "")


def test_without_a_home_folder_games_need_another(
    homeless: Callable[[], Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("gtp_engine.commands.web.user_data_base", homeless)
    with pytest.raises(SystemExit) as ended:
        run(["web", "--port", "0"])
    assert ended.value.code == 2
    assert "no home folder; --keep-games names one" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell that closes stdout")
def test_without_a_stdout_nobody_would_learn_the_address() -> None:
    command = ["sh", "-c", 'exec "$@" >&-', "sh", *own_command("web", "--port", "0")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 1 and "stdout is closed" in done.stderr
