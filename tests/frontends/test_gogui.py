"""What GoGui shows: analyze commands, parameter dialogs, live graphics, setting up."""

import re

import pytest
from tests.frontends.conversation import Conversation
from tests.frontends.fake_engine import FakeEngine
from tests.frontends.gogui_reader import (
    check_points,
    read_board,
    read_definitions,
    read_graphics,
    read_parameters,
)

from gtp_engine.coords import PASS, WHITE
from gtp_engine.evaluators.fake import FakeEvaluator
from gtp_engine.frontends.gtp import gogui_pictures
from gtp_engine.frontends.gtp.server import COMMANDS
from gtp_engine.play.engine import Engine
from gtp_engine.play.settings import Settings
from gtp_engine.search.analysis import unsearched

SIZE = 5
CORNER = ["play b a2", "play w c3", "play b b1", "play w a3", "play b c2", "play w d2"]
"""Black has an eye on A1, White has none.

    3  O . O . .
    2  X . X O .
    1  . X . . .
"""


@pytest.fixture
def gogui():
    engine = Engine(Settings(size=(SIZE, SIZE), playouts=20, seed=3), evaluator=FakeEvaluator())
    with Conversation(engine) as client:
        assert client.ask("gogui-version 1.6.0") == "= "
        for command in CORNER:
            assert client.ask(command) == "= "
        yield client


def answer(client: Conversation, command: str) -> str:
    """Return the text of a successful reply."""
    reply = client.ask(command)
    assert reply[0] == "=", reply
    return reply[1:].strip()


def words(text: str) -> list[str]:
    return text.split()


def test_every_analyze_command_answers_in_its_type(gogui: Conversation) -> None:
    readers = {
        "gfx": lambda text: read_graphics(text, SIZE),
        "dboard": lambda text: [[float(word) for word in row] for row in read_board(text, SIZE)],
        "bwboard": lambda text: read_board(text, SIZE),
        "param": read_parameters,
        "plist": lambda text: check_points(text.split(), SIZE),
        "varc": lambda text: check_points(text.replace("pass", "").split(), SIZE),
    }
    kinds = set()
    for kind, _, command in read_definitions(answer(gogui, "gogui-analyze_commands")):
        assert command.split()[0] in COMMANDS.listed
        if command.startswith("kata-raw-nn"):  # needs a net
            continue
        text = answer(gogui, command.replace("%c", "w"))
        kinds.add(kind)
        if kind in readers:
            readers[kind](text)
        elif kind == "none":
            assert text == ""
        else:
            assert text and "/" not in text
    assert set(readers) <= kinds


def test_ownership_is_blacks_and_top_row_first() -> None:
    with Conversation(FakeEngine()) as client:
        client.ask("boardsize 2")
        # The fake expects -1, -1/3, 1/3 and 1 of the player to move.
        assert answer(client, "show_ownership") == "-1.00 -0.33\n0.33 1.00"
        client.ask("play b a1")
        assert answer(client, "show_ownership") == "1.00 0.33\n-0.33 -1.00"


def test_candidates() -> None:
    with Conversation(FakeEngine()) as client:
        client.ask("boardsize 9")
        assert answer(client, "show_candidates").split("\n") == [
            "COLOR #00a8ff A9",
            "LABEL A9 62",
            "TEXT black wins with 62.5 %, black leads by 1.0, 100 visits: A9 B9 pass",
        ]


def test_nobody_leads_by_nothing() -> None:
    assert gogui_pictures.score_text(unsearched(WHITE, 9, 9, PASS)) == "even"


def test_moves_are_shaded_by_their_share() -> None:
    shares = [1.0, 0.3, 0.29, 0.1, 0.05]
    lines = gogui_pictures._shaded(["A1", "B1", "C1", "D1", "E1"], shares)
    assert [line.split()[2:] for line in lines] == [["A1"], ["B1"], ["C1", "D1"], ["E1"]]
    assert len({line.split()[1] for line in lines}) == 4


def test_both_players_have_their_colors() -> None:
    with Conversation(FakeEngine()) as client:
        client.ask("boardsize 9")
        text = answer(client, "show_both_players")
        assert text.split("\n") == [
            "COLOR #d060ff A9",  # wanted by both
            "LABEL A9 1a",
            "TEXT black: blue, 1 to 6; white, if to move: red, a to f; both: violet",
        ]


def test_policy_is_labelled_in_percent() -> None:
    with Conversation(FakeEngine()) as client:
        client.ask("boardsize 9")
        drawn = read_graphics(answer(client, "show_policy"), 9)
        assert drawn["COLOR"] == [["#00a8ff", "A9", "B9"]]
        assert drawn["LABEL"] == [["A9", "33", "B9", "33"]]
        assert drawn["TEXT"] == [["policy", "of", "black", "in", "percent,", "pass", "33.3"]]


def test_regions(gogui: Conversation) -> None:
    drawn = read_graphics(answer(gogui, "show_regions"), SIZE)
    labels = dict(zip(drawn["LABEL"][0][::2], drawn["LABEL"][0][1::2], strict=True))
    assert labels == {"A2": "2", "B1": "3", "C2": "2", "A3": "2", "C3": "3", "D2": "3"}
    assert "SQUARE" not in drawn, "no atari"
    assert drawn["MARK"] == [["A1"]] and drawn["COLOR"] == [["#ff50b0", "A1"]]
    assert drawn["TEXT"] == [words("6 chains, 0 in atari; eyes: black 1, white 0")]
    assert "A2: black, 1 stone, 2 liberties, 1 eye" in answer(gogui, "list_chains")
    with Conversation(FakeEngine()) as client:
        assert answer(client, "list_chains") == "no stones"


def test_parameters_are_set_one_at_a_time(gogui: Conversation) -> None:
    assert read_parameters(answer(gogui, "engine_parameters"))["maxPlayouts"] == ("string", "20")
    assert answer(gogui, "engine_parameters maxPlayouts 30") == ""
    assert answer(gogui, "engine_parameters ponderingEnabled 1") == ""
    assert gogui.engine.settings.playouts == 30 and gogui.engine.settings.ponder
    assert answer(gogui, "engine_parameters ponderingEnabled 0") == ""
    assert answer(gogui, "search_parameters cpuct 1.5") == ""
    assert answer(gogui, "search_parameters use_cache 0") == ""
    params = gogui.engine.search_params
    assert (params.cpuct, params.use_cache) == (1.5, False)
    assert answer(gogui, "rule_parameters ko simple") == ""
    assert answer(gogui, "rule_parameters suicide 1") == ""
    assert answer(gogui, "rule_parameters whiteHandicapBonus N-1") == ""
    assert answer(gogui, "rule_parameters").split("\n") == [
        "[list/SIMPLE/POSITIONAL/SITUATIONAL] ko SIMPLE",
        "[list/AREA/TERRITORY] scoring AREA",
        "[list/NONE/SEKI/ALL] tax NONE",
        "[bool] suicide 1",
        "[bool] hasButton 0",
        "[list/0/N/N-1] whiteHandicapBonus N-1",
        "[bool] friendlyPassOk 1",
    ]
    for wrong in (
        "engine_parameters gravity 1",
        "engine_parameters maxPlayouts",
        "engine_parameters maxPlayouts -1",
        "engine_parameters resignThreshold 2",
        "engine_parameters live_graphics dance",
        "search_parameters cpuct many",
        "search_parameters use_cache perhaps",
        "rule_parameters ko maybe",
        "rule_parameters ko",
        "rule_parameters suicide",
        "rule_parameters whiteHandicapBonus",
        "rule_parameters gravity 1",
    ):
        assert gogui.ask(wrong).startswith("? "), wrong


@pytest.mark.parametrize("kind", ["candidates", "variation", "ownership"])
def test_live_graphics_end_with_a_clear_board(
    kind: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gtp_engine.frontends.gtp.gogui_pictures.INTERVAL", 0.0)
    engine = Engine(Settings(size=(SIZE, SIZE), playouts=40, seed=3), evaluator=FakeEvaluator())
    with Conversation(engine) as client:
        client.ask("genmove b")
        assert "gogui-gfx" not in capsys.readouterr().err
        client.ask("gogui-analyze_commands")
        assert answer(client, f"engine_parameters live_graphics {kind}") == ""
        client.ask("genmove w")
        said = capsys.readouterr().err
    assert "gogui-gfx: CLEAR\n" in said
    pictures = re.findall(r"gogui-gfx:\n(.*?)\n\n", said, re.DOTALL)
    assert pictures and said.rindex("gogui-gfx: CLEAR") > said.rindex(pictures[-1])
    wanted = {"candidates": "LABEL", "variation": "VAR", "ownership": "INFLUENCE"}[kind]
    assert any(wanted in read_graphics(picture, SIZE) for picture in pictures)


def test_setting_up() -> None:
    with Conversation(FakeEngine()) as client:
        for command in ("boardsize 9", "clear_board", "gogui-setup B E5 B D4 W C3"):
            assert client.ask(command) == "= "
        assert client.ask("gogui-setup_player W") == "= "
        assert client.ask("gogui-setup B A1") == "? board not empty"
        assert client.ask("play W G7") == "= "
        # After moves too, whoever's turn it was.
        assert client.ask("gogui-setup_player W") == "= "
        assert client.engine.position.to_play == 2
        assert client.ask("undo") == "= "
        assert client.ask("undo") == "? cannot undo"
        assert client.ask("clear_board") == "= "
        assert client.ask("gogui-setup W A1 B A2 B B1").startswith("? the stone at ")
        assert client.ask("gogui-setup W A1 B A2") == "= "
