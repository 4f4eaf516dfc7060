"""Rows of five and renju's forbidden points, against an oracle and against known verdicts."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.five.naive_lines import NaiveBoard

from gtp_engine.commands.registry import run
from gtp_engine.coords import BLACK, WHITE, row_col
from gtp_engine.five import lines
from gtp_engine.five.game import FiveError, FiveGame
from gtp_engine.five.rules import RENJU, find_rules
from gtp_engine.go.rules import FIVE_RULES, Rules


def game_of(black: list[str], white: list[str], rule: str = "renju", size: int = 15) -> FiveGame:
    """Return a game from points by name."""
    game = FiveGame(size, rules=find_rules(rule))
    game.set_up([game.point(name) for name in black], [game.point(name) for name in white])
    return game


def wins_at(game: FiveGame, color: int, point: int) -> bool:
    """Whether a stone of a color at an empty point wins."""
    return bool(lines.wins_at(game.colors, game.stride, point, color, game.rules.five))


def naive(game: FiveGame) -> NaiveBoard:
    """Return the oracle's board of a square game."""
    by_color: dict[int, set[tuple[int, int]]] = {BLACK: set(), WHITE: set()}
    for point in game.points():
        if game.colors[point] in by_color:
            row, col = row_col(point, game.width)
            by_color[int(game.colors[point])].add((col, row))
    return NaiveBoard(game.width, by_color[BLACK], by_color[WHITE])


def place(game: FiveGame, point: int) -> tuple[int, int]:
    """Return a point as the oracle has it."""
    row, col = row_col(point, game.width)
    return col, row


@pytest.mark.parametrize(
    ("black", "point", "expected"),
    [
        ("a1 b1 c1 d1 f1", "e1", "overline"),
        ("a1 b1 c1 d1 e2 e3 e4", "e1", ""),  # a five wins, whatever four it makes
        ("f8 g8 i8 h7 h6 h9", "h8", "double-four"),
        ("e8 g8 h8 k8", "i8", "double-four"),  # two on one line: f8 and j8 make five
        ("d8 e8 j8 k8", "g8", ""),
        ("h6 h7 f8 g8", "h8", "double-three"),
        ("h6 h7 f8 g8 i8", "h8", ""),  # a four and a three
        ("a1 b2 a5 b4", "c3", ""),  # the edge is in the way of both threes
    ],
)
def test_hand_made_rows(black: str, point: str, expected: str) -> None:
    game = game_of(black.split(), [])
    found = game.forbidden(game.point(point))
    assert found == expected == naive(game).forbidden(place(game, game.point(point)))


@pytest.mark.parametrize("row", ["X.XX?.X", "XX.?X.XX"])
def test_two_fours_on_one_line_are_two(row: str) -> None:
    names = [f"{letter}8" for letter in "cdefghijk"]
    game = game_of([name for name, mark in zip(names, row, strict=False) if mark == "X"], [])
    assert game.forbidden(game.point(names[row.index("?")])) == "double-four"


@st.composite
def dense_boards(draw: st.DrawFn) -> FiveGame:
    """A board half full of stones, many of them Black's."""
    size = draw(st.integers(5, 15))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    density = draw(st.sampled_from((0.2, 0.35, 0.5, 0.7)))
    game = FiveGame(size, rules=RENJU)
    kinds = rng.random(size * size)
    points = game.points()
    game.set_up(
        [p for p, kind in zip(points, kinds, strict=True) if kind < density * 0.7],
        [p for p, kind in zip(points, kinds, strict=True) if density * 0.7 <= kind < density],
    )
    return game


@given(dense_boards())
def test_forbidden_points_are_those_of_the_oracle(game: FiveGame) -> None:
    oracle = naive(game)
    before = game.colors.copy()
    for point in game.points():
        if game.colors[point] == 0:
            assert game.forbidden(point) == oracle.forbidden(place(game, point)), game.name(point)
    assert (game.colors == before).all()


@given(dense_boards(), st.sampled_from(sorted(FIVE_RULES)))
def test_wins_are_those_of_the_oracle(game: FiveGame, rule: str) -> None:
    game.set_rules(FIVE_RULES[rule])
    oracle = naive(game)
    for point in game.points():
        if game.colors[point] == 0:
            for color, name in ((BLACK, "black"), (WHITE, "white")):
                expected = oracle.wins(name, place(game, point), rule)
                assert wins_at(game, color, point) == expected


def test_rules_of_another_game_change_nothing() -> None:
    for rules in (None, Rules()):
        assert FiveGame(15, rules=rules).rules == FIVE_RULES["freestyle"]
    game = game_of(["h8"], ["i9"], "renju")
    game.set_rules(Rules.parse("japanese"))
    assert game.rules == RENJU and game.color_at(game.point("h8")) == BLACK
    game.set_rules(FIVE_RULES["standard"])
    assert game.rules == FIVE_RULES["standard"] and game.color_at(game.point("i9")) == WHITE


def lines_of(reference_data: Path, name: str) -> Iterator[dict[str, Any]]:
    """Yield the records of a file of known verdicts."""
    for line in (reference_data / "data" / "five" / name).read_text().splitlines():
        yield json.loads(line)


def test_known_forbidden_points(reference_data: Path) -> None:
    n = 0
    for known in lines_of(reference_data, "renju-forbidden.jsonl"):
        game = game_of(known["black"], known["white"])
        found = game.forbidden(game.point(known["point"]))
        assert bool(found) == known["forbidden"], known
        assert not known["forbidden"] or found == known["why"], known
        n += 1
    assert n == 137


def test_known_wins(reference_data: Path) -> None:
    for known in lines_of(reference_data, "five-wins.jsonl"):
        game = game_of(known["black"], known["white"], known["rule"])
        color = BLACK if known["colour"] == "black" else WHITE
        assert wins_at(game, color, game.point(known["point"])) == known["wins"], known


def test_the_command_prints_every_forbidden_point(
    reference_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = reference_data / "data" / "five" / "renju-boards.jsonl"
    assert run(["five", "--forbidden", str(path)]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    known = [board["all_forbidden"] for board in lines_of(reference_data, "renju-boards.jsonl")]
    assert found == known


def test_bad_lines_get_a_sentence_and_the_rest_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "boards.jsonl"
    path.write_text(
        '{"black":["h8"],"white":[]}\n'
        '{"black":["z8"],"white":[]}\n'
        '{"black":["h8"],"white":["h8"]}\n'
        "nonsense\n"
        '{"black":["h6","h7","f8","g8"],"white":[]}\n'
    )
    assert run(["five", "--forbidden", str(path)]) == 1
    printed = capsys.readouterr()
    assert printed.out.splitlines() == ["{}", "{}", "{}", "{}", '{"h8":"double-three"}']
    assert printed.err.count("\n") == 3
    assert "'z8' is no point of a 15x15 board" in printed.err


# Games -------------------------------------------------------------------------------------------


def test_a_game_goes_on_until_somebody_has_five() -> None:
    game = FiveGame(15)
    for name in ["h8", "a1", "i8", "a2", "j8", "a3", "k8", "a4"]:
        game.play(game.to_play, game.point(name))
    assert not game.is_over
    game.play(BLACK, game.point("l8"))
    assert (game.is_over, game.winner, game.legal_moves()) == (True, BLACK, [])
    with pytest.raises(FiveError, match="the game is over: black has won"):
        game.play(WHITE, game.point("b1"))


def test_what_is_refused_changes_nothing() -> None:
    game = game_of(["h6", "h7", "f8", "g8"], ["a1"])
    before = game.colors.copy()
    for name, reason in (("a1", "occupied"), ("h8", "forbidden: double-three")):
        with pytest.raises(FiveError, match=reason):
            game.play(BLACK, game.point(name))
    game.play(WHITE, game.point("h8"))  # White may
    assert (before != game.colors).sum() == 1
    other = game.copy()
    other.play(BLACK, other.point("b1"))
    assert (before != game.colors).sum() == 1
