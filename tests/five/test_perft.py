"""Published counts of five in a row."""

import random

import pytest

from gtp_engine.commands.registry import run
from gtp_engine.coords import BLACK
from gtp_engine.five.game import FiveGame
from gtp_engine.five.lines import wins_at
from gtp_engine.five.perft import _n_alive, _rows_of_five, count_sequences
from gtp_engine.five.rules import FREESTYLE

SIX = ("6", "a1 b1 c1 e1 f1 a2 a3 a4", "b3 c3 d3 e3 f4 f5 f6 c5")
SEVEN = ("7", "a2 a3 a4 a5 a7 b1 b2 c2 c4 d2 f4 g1 g7", "b5 c3 c6 c7 d1 d3 d5 d6 d7 e7 f1 f7 g6")
COUNTS = [
    (SIX, "freestyle", "20/2 342/17 5850/614 89012/4624"),
    (SIX, "caro", "20/2 342/17 5850/614 89012/4624"),
    (SIX, "standard", "20/1 361/18 6174/307 99739/5219"),
    (SIX, "caro-exact", "20/1 361/18 6174/307 99739/5219"),
    (SIX, "renju", "19/1 342/17 5526/290 89012/4624"),
    (SEVEN, "freestyle", "23/3 440/38 8442/1146 145920/13680"),
    (SEVEN, "standard", "23/2 462/40 8862/764 161960/15280"),
    (SEVEN, "renju", "22/2 440/38 8041/745 145920/13680"),
    (SEVEN, "caro", "23/3 440/19 8841/1203 152760/7452"),
    (SEVEN, "caro-exact", "23/2 462/20 9282/802 169600/8328"),
]


@pytest.mark.parametrize(("start", "rules", "expected"), COUNTS)
def test_counts_of_known_positions(
    start: tuple[str, str, str], rules: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    size, black, white = start
    command = ["perft", "--game", "five", "--size", size, "--depth", "4", "--rules", rules]
    assert run([*command, "--black", *black.split(), "--white", *white.split()]) == 0
    printed = capsys.readouterr().out.split("\n")[:4]
    assert printed == [f"{depth} {each}" for depth, each in enumerate(expected.split(), 1)]


def test_counts_of_the_empty_5x5_board(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["perft", "--game", "five", "--size", "5", "--depth", "11"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[8:] == [
        "9 741354768000/167443200",
        "10 11858997196800/2678515200",
        "11 177844780224000/200888640000",
    ]


def test_the_whole_tree_of_5x5() -> None:
    game = FiveGame(5)
    wins = [count_sequences(game, depth)[1] for depth in range(1, 26)]
    draws = _n_alive(game, 25)
    assert sum(wins[0::2]) == 1785076390861215319123200
    assert sum(wins[1::2]) == 1013669737707471716851200
    assert sum(wins) + draws == 12123953291699459229254400


def test_a_full_board_has_no_moves() -> None:
    assert [count_sequences(FiveGame(5), depth) for depth in (26, 27, 60)] == [(0, 0)] * 3


def test_small_boards_are_counted_with_the_rows_that_win() -> None:
    generator = random.Random(5)
    game = FiveGame(7, 5)
    points, rows = game.points(), _rows_of_five(game)
    n_won = 0
    for _ in range(400):
        stones = generator.sample(range(len(points)), generator.randint(5, 30))
        colors = game.colors.copy()
        colors[[points[place] for place in stones]] = BLACK
        holds_row = any(
            wins_at(colors, game.stride, points[place], BLACK, FREESTYLE.five) for place in stones
        )
        bits = sum(1 << place for place in stones)
        assert holds_row == any(row & bits == row for row in rows)
        n_won += holds_row
    assert 50 < n_won < 350
