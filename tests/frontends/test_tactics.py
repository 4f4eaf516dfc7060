"""Attack and defence over GTP, and the pictures and hints that tell of them."""

import pytest
from tests.frontends.conversation import Conversation
from tests.frontends.gogui_reader import read_graphics

from gtp_engine.evaluators.fake import FakeEvaluator
from gtp_engine.play.engine import Engine
from gtp_engine.play.settings import Settings

SIZE = 7
LADDER = ["play b d6", "play w d5", "play b c5", "play w a1", "play b c4", "play w a7"]
"""White's D5 has two liberties left.

    7  O . . . . . .
    6  . . . X . . .
    5  . . X O . . .
    4  . . X . . . .
    3  . . . . . . .
    2  . . . . . . .
    1  O . . . . . .
"""
CAPTURES = "E5 D4 D3 E4 F4 E3 E2 F3 F2 G3 G4 G2 G1"


@pytest.fixture
def client():
    engine = Engine(Settings(size=(SIZE, SIZE), playouts=20, seed=3), evaluator=FakeEvaluator())
    with Conversation(engine) as conversation:
        for command in LADDER:
            assert conversation.ask(command) == "= "
        yield conversation


def test_a_ladder_is_answered_as_the_tests_of_gnu_go_ask(client: Conversation) -> None:
    assert client.ask("attack D5") == "= 1 E5"
    assert client.ask("defend d5").startswith("= 1 ")
    assert client.ask("attack D6") == "= 0"
    assert client.ask("trymove b e5") == "= "
    assert client.ask("defend D5") == "= 0"
    assert client.ask("popgo") == "= "
    assert client.ask("attack D5") == "= 1 E5"


def test_there_is_a_stone_to_ask_about(client: Conversation) -> None:
    assert client.ask("attack") == "? syntax error: a vertex is missing"
    assert client.ask("attack G1") == "? vertex must not be empty"
    assert client.ask("defend pass") == "? vertex must not be empty"
    client.ask("clear_board")
    assert client.ask("popgo") == "? stack empty"


def test_what_is_at_hand_is_listed_and_drawn(client: Conversation) -> None:
    lines = client.ask("list_tactics").removeprefix("= ").splitlines()
    assert f"black ladder D5 {CAPTURES}: captures one stone in a ladder" in lines
    drawn = read_graphics(client.ask("show_tactics").removeprefix("= "), SIZE)
    stars = drawn["LABEL"][0]
    assert "E5" in stars[::2] and set(stars[1::2]) == {"*"}
    ((shade, *captures),) = [words for words in drawn["COLOR"] if "E5" in words]
    assert shade == "#e07070" and "A6" in captures
    assert drawn["TEXT"][0][0] == "black:" and drawn["TEXT"][0][2] == "captures"
