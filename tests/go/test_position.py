"""Whole games against the naive board; undo, copies, set-up, errors."""

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.go import naive_board
from tests.go.comparison import (
    ALL_RULES,
    assert_same_board,
    assert_same_game,
    assert_same_status,
    naive_twin,
    play_both,
)
from tests.go.diagrams import diagram_of, plain, position_of, repetitions_of
from tests.go.naive_board import NaiveGame, Spot

from gtp_engine.coords import BLACK, PASS, WALL, WHITE, parse_vertex, point_at
from gtp_engine.five.game import FiveGame
from gtp_engine.go.atari_go import AtariGo
from gtp_engine.go.history import History
from gtp_engine.go.position import IllegalMoveError, Move, Position, SetupError
from gtp_engine.go.rules import Ko, Rules


def rules_id(rules: Rules) -> str:
    return f"{rules.ko.name.lower()}-{'suicide' if rules.multi_stone_suicide else 'plain'}"


def draw_move(naive: NaiveGame, generator: random.Random) -> tuple[int, Spot | None]:
    """Return a random move, now and then a pass or one out of turn; never an illegal one."""
    color = naive.to_play if generator.random() > 0.03 else 3 - naive.to_play
    if generator.random() < 0.03:
        return color, naive_board.PASS
    spots = naive.spots()
    for _ in range(2 * len(spots)):
        spot = generator.choice(spots)
        if naive.is_legal(color, spot):
            return color, spot
    return color, naive_board.PASS


def record_bytes(position: Position) -> tuple[bytes, bytes]:
    """Return what the current ply holds, as far as the board uses its arrays."""
    history, n_points = position.history, int(position.board["n_points"])
    fresh = History(
        np.zeros(1, history.boards.dtype), np.zeros(1, history.turns.dtype), np.zeros(1, "u8")
    )
    for records, source in ((fresh.boards, position.board), (fresh.turns, position.turn)):
        for name in records.dtype.names:
            value = source[name]
            if np.ndim(value) and name != "captured":
                used = int(position.board["n_empty"]) if name == "empty" else n_points
                records[0][name][:used] = value[:used]
            else:
                records[0][name] = value
    return fresh.boards.tobytes(), fresh.turns.tobytes()


# Random games ------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", ALL_RULES, ids=rules_id)
@pytest.mark.parametrize(
    ("width", "height", "plies"),
    [(2, 2, 120), (2, 3, 120), (3, 3, 120), (5, 1 + 1, 90), (4, 4, 110), (5, 5, 110), (3, 7, 90)],
)
def test_random_games_on_small_boards(width: int, height: int, plies: int, rules: Rules) -> None:
    for seed in range(2):
        generator = random.Random(f"{width}x{height} {rules_id(rules)} {seed}")
        position, naive = Position(width, height, rules), naive_twin(width, height, rules)
        assert_same_game(position, naive)
        for _ in range(plies):
            play_both(position, naive, *draw_move(naive, generator))
            assert_same_game(position, naive)


@pytest.mark.parametrize("size", range(6, 26))
def test_random_games_on_every_larger_size(size: int) -> None:
    generator = random.Random(size)
    rules = ALL_RULES[size % len(ALL_RULES)]
    width, height = generator.choice([(size, size), (size, 31 - size), (31 - size, size)])
    position, naive = Position(width, height, rules), naive_twin(width, height, rules)
    for _ in range(60):
        for _ in range(8):
            play_both(position, naive, *draw_move(naive, generator))
        assert_same_game(position, naive, generator)


@settings(max_examples=60)
@given(
    width=st.integers(2, 6),
    height=st.integers(2, 6),
    rules=st.sampled_from(ALL_RULES),
    choices=st.lists(st.integers(0, 10**6), max_size=50),
)
def test_any_game_agrees(width: int, height: int, rules: Rules, choices: list[int]) -> None:
    position, naive = Position(width, height, rules), naive_twin(width, height, rules)
    for choice in choices:
        color = naive.to_play
        moves = [*naive.legal_moves(color), naive_board.PASS]
        play_both(position, naive, color, moves[choice % len(moves)])
        assert_same_game(position, naive)


@pytest.mark.parametrize("rules", ALL_RULES, ids=rules_id)
def test_situation_hashes_tell_situations_apart(rules: Rules) -> None:
    generator = random.Random(5)
    position, naive = Position(3, 3, rules), naive_twin(3, 3, rules)
    hash_of: dict[object, int] = {}
    for _ in range(400):
        play_both(position, naive, *draw_move(naive, generator))
        stones, to_play = naive.situations[-1]
        key = stones if rules.ko == Ko.POSITIONAL else (stones, to_play)
        assert hash_of.setdefault(key, int(position.turn["situation"])) == int(
            position.turn["situation"]
        )
    assert len(set(hash_of.values())) == len(hash_of)


# Undo and copies ---------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", ALL_RULES, ids=rules_id)
def test_undo_restores_everything(rules: Rules) -> None:
    generator = random.Random(11)
    position, naive = Position(4, 3, rules), naive_twin(4, 3, rules)
    past = [(record_bytes(position), naive.copy())]
    for _ in range(300):
        if generator.random() < 0.25 and position.ply:
            count = generator.randint(1, min(position.ply, 20))
            position.undo(count)
            del past[-count:]
            naive = past[-1][1].copy()
            assert record_bytes(position) == past[-1][0]
            assert_same_game(position, naive)
        else:
            play_both(position, naive, *draw_move(naive, generator))
            past.append((record_bytes(position), naive.copy()))


def test_undo_refuses_more_than_was_played() -> None:
    position = Position(9)
    position.play(BLACK, parse_vertex("E5", 9, 9))
    before = record_bytes(position)
    for count in (2, -1):
        with pytest.raises(IndexError, match="cannot undo"):
            position.undo(count)
    assert record_bytes(position) == before and position.ply == 1
    position.undo(0)
    assert position.ply == 1


def test_copies_are_independent() -> None:
    generator = random.Random(3)
    rules = ALL_RULES[3]
    position, naive = Position(4, 4, rules), naive_twin(4, 4, rules)
    for _ in range(70):
        play_both(position, naive, *draw_move(naive, generator))
    other, other_naive = position.copy(), naive.copy()
    before = record_bytes(position)
    for _ in range(70):
        play_both(other, other_naive, *draw_move(other_naive, generator))
    other.set_rules(replace(rules, ko=Ko.SIMPLE))
    assert record_bytes(position) == before and position.rules == rules
    assert_same_game(position, naive)
    position.undo(position.ply)
    assert other.ply == 140
    assert_same_board(other, other_naive)


def test_a_game_outgrows_its_first_arrays() -> None:
    position, naive = Position(2, 2), naive_twin(2, 2, Rules())
    for ply in range(200):
        play_both(position, naive, 1 + ply % 2, naive_board.PASS)
    assert_same_status(position, naive)
    assert repetitions_of(position) == list(range(199, -1, -1))


# Superko -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ko", list(Ko))
def test_the_same_ko_capture_twice(ko: Ko) -> None:
    position = position_of(
        """
        . X O .
        X . X O
        . X O .
        . . . .
        """,
        Rules(ko=ko),
        to_play=WHITE,
    )
    position.play_all([(WHITE, parse_vertex("B3", 4, 4))])
    assert diagram_of(position) == plain(
        """
        . X O .
        X O . O
        . X O .
        . . . .
        """
    )
    ko_point = parse_vertex("C3", 4, 4)
    assert position.board["ko_point"] == ko_point
    assert not position.is_legal(BLACK, ko_point)
    assert position.is_legal(WHITE, ko_point), "filling one's own ko is no recapture"
    with pytest.raises(IllegalMoveError, match="repeats"):
        position.play(BLACK, ko_point)
    position.play_all([(BLACK, PASS), (WHITE, PASS)])
    # A pass lifts the simple ban. For superko the stones are those before White's capture:
    # the position returns, and with it the player to move.
    assert position.is_legal(BLACK, ko_point) == (ko == Ko.SIMPLE)
    position.undo()
    position.play(BLACK, ko_point, strict=False)
    assert repetitions_of(position) == [0]


SEND_TWO_RETURN_ONE = """
    . X . X .
    O O X X .
    . O X . .
    O O X . .
    . O X . .
"""


@pytest.mark.parametrize(
    ("ko", "allowed"), [(Ko.SIMPLE, True), (Ko.POSITIONAL, False), (Ko.SITUATIONAL, True)]
)
def test_sending_two_and_returning_one(ko: Ko, allowed: bool) -> None:
    position = position_of(SEND_TWO_RETURN_ONE, Rules(ko=ko))
    a5, b5, c5 = (parse_vertex(name, 5, 5) for name in ("A5", "B5", "C5"))
    position.play_all([(BLACK, a5), (WHITE, c5)])
    assert diagram_of(position).startswith("..OX.") and position.captured(BLACK) == 2
    # Taking White's stone brings the first position back, with White to move instead of Black.
    assert position.is_legal(BLACK, b5) == allowed
    position.play(BLACK, b5, strict=False)
    assert repetitions_of(position) == [0]
    # Once more round: now even the player to move is the same as before, three plies earlier.
    position.play_all([(WHITE, PASS), (BLACK, a5), (WHITE, c5)], strict=False)
    assert position.is_legal(BLACK, b5) == (ko == Ko.SIMPLE)


def test_superko_is_kept_over_a_change_of_rules() -> None:
    position = position_of(
        """
        . X O .
        X . X O
        . X O .
        . . . .
        """,
        Rules(ko=Ko.SIMPLE),
        to_play=WHITE,
    )
    b3, c3 = parse_vertex("B3", 4, 4), parse_vertex("C3", 4, 4)
    position.play_all([(WHITE, b3), (BLACK, PASS), (WHITE, PASS)])
    assert position.is_legal(BLACK, c3)
    position.set_rules(replace(position.rules, ko=Ko.POSITIONAL))
    assert not position.is_legal(BLACK, c3) and position.ply == 3


# Set-up and errors -------------------------------------------------------------------------------


@pytest.mark.parametrize(("width", "height"), [(1, 9), (9, 1), (26, 9), (9, 26), (0, 0), (-1, 5)])
def test_sizes_out_of_range_are_refused(width: int, height: int) -> None:
    with pytest.raises(SetupError, match="board size"):
        Position(width, height)


def test_set_up_refuses_without_changing_the_game() -> None:
    position = Position(5)
    position.play(BLACK, point_at(2, 2, 5))
    before = record_bytes(position)
    a5, b5, a4 = (parse_vertex(name, 5, 5) for name in ("A5", "B5", "A4"))
    for black, white in (([a5, a5], []), ([a5], [a5]), ([PASS], []), ([a5], [b5, a4])):
        with pytest.raises(SetupError):
            position.set_up(black, white)
    assert record_bytes(position) == before and position.ply == 1


@pytest.mark.parametrize(
    ("vertex", "problem"), [("C3", "occupied"), ("A5", "suicide"), ("E1", "repeats")]
)
def test_refused_moves_leave_the_game_alone(vertex: str, problem: str) -> None:
    position = position_of(
        """
        . O . . .
        O O . . .
        . . X O .
        . . . X O
        . . X O .
        """,
        to_play=WHITE,
    )
    # White D1 stands in atari; Black takes it in a ko at E1, and White may not retake at D1.
    if vertex == "E1":
        position.play(BLACK, parse_vertex("E1", 5, 5))
        vertex = "D1"
        color = WHITE
    else:
        color = BLACK
    before = record_bytes(position)
    with pytest.raises(IllegalMoveError, match=problem):
        position.play(color, parse_vertex(vertex, 5, 5))
    assert record_bytes(position) == before


@pytest.mark.parametrize("game", [Position(9), AtariGo(9), FiveGame(9)])
@pytest.mark.parametrize("point", [-1, 10, 120, 999, 10**6, parse_vertex("Q4", 19, 19)])
def test_what_is_no_point_of_the_board_is_no_move(game: Position, point: int) -> None:
    assert game.color_at(point) == WALL and not game.is_legal(BLACK, point)
    for strict in (True, False):
        with pytest.raises(IllegalMoveError, match=f"{point} is no point of a 9x9 board"):
            game.play(BLACK, point, strict=strict)
    with pytest.raises(ValueError, match=f"{point} is no point of a 9x9 board"):
        game.set_up([point])
    assert game.ply == 0 and not game.stones(BLACK)


def test_play_all_is_atomic() -> None:
    position = Position(5)
    position.play(BLACK, point_at(0, 0, 5))
    with pytest.raises(IllegalMoveError):
        position.play_all([(WHITE, point_at(1, 1, 5)), (BLACK, point_at(0, 0, 5))])
    assert position.moves == [Move(BLACK, point_at(0, 0, 5))]


@pytest.mark.parametrize(
    ("set_up", "moves", "handicap"),
    [
        ("", "", 0),
        ("D4", "", 0),
        ("D4 Q16", "", 2),
        ("D4 Q16", "w C3", 2),
        ("", "b D4 b Q16 w C3", 2),
        ("", "b D4 w Q16 b C3", 0),
        ("", "b D4 w pass b C3 b E5", 3),
        ("D4 Q16", "b C3 w E5 b F6", 3),
        ("", "w D4 b Q16 b C3", 0),
    ],
)
def test_handicap_counts_black_stones_before_whites_first(
    set_up: str, moves: str, handicap: int
) -> None:
    position = Position(19)
    position.set_up([parse_vertex(name, 19, 19) for name in set_up.split()])
    words = moves.split()
    for color, vertex in zip(words[::2], words[1::2], strict=True):
        position.play({"b": BLACK, "w": WHITE}[color], parse_vertex(vertex, 19, 19))
    assert position.handicap == handicap


def test_changed_rules_replay_the_game() -> None:
    position = Position(5, 5, Rules.parse("chinese-ogs"))
    generator = random.Random(2)
    naive = naive_twin(5, 5, position.rules)
    for _ in range(30):
        play_both(position, naive, *draw_move(naive, generator))
    position.set_rules(Rules.parse("japanese"))
    assert position.rules.preset == "japanese"
    assert_same_board(position, naive)
    position.komi = 3.5
    position.set_rules(replace(Rules.parse("japanese"), komi=0.5))
    assert position.komi == 0.5 and position.ply == 30


def test_what_moves_cost_by_territory_is_no_button() -> None:
    position = Position(5, 5, replace(Rules.parse("japanese"), button=True))
    position.set_up(position.points()[:3])
    position.set_rules(Rules.parse("chinese"))
    assert position.white_margin() == position.komi + position.handicap - 25


def test_games_from_the_same_stones_differ_by_their_prisoners() -> None:
    played = Position(5, 5, Rules.parse("japanese"))
    for color, vertex in ((BLACK, "A2"), (WHITE, "A1"), (BLACK, "B1")):
        played.play(color, parse_vertex(vertex, 5, 5))
    bare, alike = Position(5, 5, played.rules), Position(5, 5, played.rules)
    for position in (bare, alike):
        position.set_up(played.stones(BLACK), (), WHITE)
    assert bare.moves_since(alike, 0) == []
    played.change_stones({}, WHITE)
    assert played.captured(WHITE) == 1
    assert bare.moves_since(played, 0) is None


def test_changed_rules_leave_the_turn_to_whoever_has_it() -> None:
    position = Position(5)
    position.play(BLACK, position.points()[12])
    position.to_play = BLACK
    position.set_rules(Rules.parse("japanese"))
    assert position.to_play == BLACK and position.ply == 1
