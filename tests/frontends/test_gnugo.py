"""What GNU Go's own commands answer here, beside what it answers itself."""

import random
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.frontends.conversation import Conversation
from tests.frontends.fake_engine import FakeEngine
from tests.paths import GNUGO

from gtp_engine.coords import BLACK, WHITE
from gtp_engine.evaluators.fake import FakeEvaluator
from gtp_engine.play.engine import Engine
from gtp_engine.play.levels import highest_level
from gtp_engine.play.settings import Settings
from gtp_engine.search.analysis import Analysis

LOOKING = (
    "query_boardsize",
    "get_handicap",
    "list_stones black",
    "list_stones white",
    "captures b",
    "captures w",
    "move_history",
)


def random_game(size: int, handicap: int, seed: int) -> list[str]:
    """Return commands that set up a board and try moves at random, some of them refused."""
    dice = random.Random(seed)
    lines = [f"boardsize {size}", "clear_board"]
    lines += [f"fixed_handicap {handicap}"] if handicap else []
    for number in range(80):
        vertex = f"{dice.choice('ABCDEFGHJ'[:size])}{dice.randint(1, size)}"
        lines.append(f"play {'wb'[number % 2]} {vertex}")
        if number % 10 == 9:
            lines += ["play b pass", *LOOKING]
    return lines


@pytest.mark.skipif(GNUGO is None, reason="gnugo is not installed")
@pytest.mark.parametrize(("size", "handicap"), [(5, 0), (7, 4), (9, 5)])
def test_the_board_is_told_as_gnu_go_tells_it(size: int, handicap: int) -> None:
    lines = random_game(size, handicap, seed=size)
    assert GNUGO is not None
    told = subprocess.run(
        [GNUGO, "--mode", "gtp"],
        input="\n".join([*lines, "quit\n"]),
        capture_output=True,
        text=True,
        timeout=60,
    ).stdout.split("\n\n")
    assert len(told) > len(lines)
    with Conversation(FakeEngine()) as client:
        for line, reply in zip(lines, told, strict=False):
            got, expected = client.ask(line), reply.replace("PASS", "pass")
            if line.startswith("list_stones"):
                assert sorted(got.split()) == sorted(expected.split())
            elif line in LOOKING:
                assert (line, got) == (line, expected)
            else:
                assert (line, got[:1]) == (line, expected[:1])


def test_an_oblong_board_has_two_sizes() -> None:
    with Conversation(FakeEngine()) as client:
        client.ask("boardsize 5 7")
        assert client.ask("query_boardsize") == "= 5 7"


class Asked(FakeEngine):
    """Remembers whose moves it was asked for."""

    def analyze(self, color: int, *details: Any, **more: Any) -> Analysis:
        self.colors = [*getattr(self, "colors", ()), color]
        return super().analyze(color, *details, **more)


def test_top_moves_are_pairs_up_to_the_pass() -> None:
    engine = Asked()
    with Conversation(engine) as client:
        client.ask("boardsize 9")
        assert client.ask("top_moves") == "= A9 62.50 B9 99.00"
        assert client.ask("top_moves_white") == "= A9 62.50 B9 99.00"
        client.ask("play b e5")
        client.ask("top_moves")
        client.ask("top_moves_black")
    assert engine.colors == [BLACK, WHITE, WHITE, BLACK]


def test_territory_is_one_line() -> None:
    engine = FakeEngine()
    with Conversation(engine) as client:
        client.ask("boardsize 5")
        engine.black_territory = ["A1", "E5", "A2"]
        assert client.ask("final_status_list black_territory") == "= E5 A2 A1"
        assert client.ask("final_status_list white_territory") == "= "


def test_there_is_no_score_without_points() -> None:
    evaluator = FakeEvaluator()
    with Conversation(
        Engine(Settings(game="atari-go", size=(5, 5)), evaluator=evaluator)
    ) as client:
        assert client.ask("estimate_score") == "? nothing is counted in this game"


def test_the_score_is_estimated_until_it_can_be_counted() -> None:
    with Conversation(FakeEngine()) as client:
        assert client.ask("estimate_score") == "= B+1.0 (upper bound: 7.0, lower: -9.0)"
        client.ask("play b d4")
        assert client.ask("estimate_score") == "= W+1.0 (upper bound: 9.0, lower: -7.0)"
        client.ask("play w pass")
        client.ask("play b pass")
        assert client.ask("estimate_score") == "= W+3.5 (upper bound: 3.5, lower: 3.5)"


def test_levels_are_those_of_the_engine() -> None:
    engine = Engine(Settings(size=(5, 5), playouts=2, seed=1), evaluator=FakeEvaluator())
    with Conversation(engine) as client:
        for asked, level in ((3, 3), (0, 1), (-1, 1), (highest_level() + 5, highest_level())):
            assert client.ask(f"level {asked}") == "= "
            assert engine.settings.level == level
        assert client.ask("level") == "? syntax error: the level is missing"


def test_who_sets_the_level_reads_passes_in_capitals() -> None:
    with Conversation(FakeEngine(moves=["pass", "pass"])) as client:
        assert client.ask("genmove b") == "= pass"
        client.ask("level 10")
        assert client.ask("genmove w") == "= PASS"
        assert client.ask("move_history") == "= white PASS\nblack PASS"


def test_a_loaded_game_says_who_is_to_move(tmp_path: Path) -> None:
    file = tmp_path / "game.sgf"
    file.write_text("(;GM[1]SZ[9];B[ee];W[cc];B[gg])")
    with Conversation(FakeEngine()) as client:
        assert client.ask(f"loadsgf {file}") == "= white"
        assert client.ask(f"loadsgf {file} 3") == "= black"
        assert client.ask(f"loadsgf {file} 0") == "= white"
        assert client.ask("move_history") == "= black G3\nwhite C7\nblack E5"
