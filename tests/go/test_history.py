"""Passes, ends, buttons, bonuses, long cycles and encores, worked out by hand."""

from collections.abc import Iterable

import pytest
from tests.go.diagrams import (
    TRIPLE_KO,
    TRIPLE_KO_CYCLE,
    diagram_of,
    plain,
    position_of,
    repetitions_of,
)

from gtp_engine.coords import BLACK, PASS, WHITE, parse_vertex
from gtp_engine.go.history import (
    ENDED,
    NO_RESULT,
    PLAYING,
    pass_ends_game,
    pass_ends_phase,
    white_komi,
)
from gtp_engine.go.position import IllegalMoveError, Position
from gtp_engine.go.rules import Ko, Rules

KO = """
    . X O .
    X . X O
    . X O .
    . . . .
"""
"""White may take a ko at B3; Black then takes back at C3."""

SEND_TWO_RETURN_ONE = """
    . X . X .
    O O X X .
    . O X . .
    O O X . .
    . O X . .
"""


def make_moves(position: Position, names: str | Iterable[str], *, strict: bool = True) -> None:
    """Make moves in turn; "-" is a pass."""
    words = names.split() if isinstance(names, str) else names
    for name in words:
        text = "pass" if name == "-" else name
        move = parse_vertex(text, position.width, position.height)
        position.play(position.to_play, move, strict=strict)


def ends(position: Position) -> tuple[bool, bool]:
    """Return whether a pass now would end the phase, and the game."""
    state = position.history, position.ply, position.rules.flags
    return bool(pass_ends_phase(*state)), bool(pass_ends_game(*state))


# Two passes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tromp-taylor", "chinese", "aga"])
def test_two_passes_end_a_game_of_area(name: str) -> None:
    position = Position(5, 5, Rules.parse(name))
    assert ends(position) == (False, False)
    make_moves(position, "C3 -")
    assert ends(position) == (True, True) and not position.is_over
    make_moves(position, "-")
    assert position.turn["status"] == ENDED and position.is_over
    make_moves(position, "C2")
    assert position.turn["status"] == PLAYING and not position.is_over
    assert position.turn["passes"] == 0


def test_two_passes_of_a_game_of_territory_leave_it_to_the_players() -> None:
    position = Position(5, 5, Rules.parse("japanese"))
    make_moves(position, "C3 -")
    assert ends(position) == (True, False)
    make_moves(position, "-")
    assert position.is_over and position.turn["past_end"] and position.turn["status"] == PLAYING
    assert position.turn["phase"] == 0
    make_moves(position, "C2")
    assert not position.is_over


def test_history_in_use_begins_again_after_an_end() -> None:
    position = Position(5, 5, Rules.parse("chinese"))
    make_moves(position, "C3 C2 - -")
    assert position.turn["recent"] == 4
    make_moves(position, "B2")
    assert position.turn["recent"] == 2


# Points besides the board ------------------------------------------------------------------------


@pytest.mark.parametrize(("moves", "bonus"), [("-", -0.5), ("C3 -", 0.5), ("C3 B2 - -", -0.5)])
def test_the_first_pass_takes_the_button(moves: str, bonus: float) -> None:
    position = Position(5, 5, Rules.parse("aga-button"))
    assert position.turn["has_button"] and ends(position) == (False, False)
    make_moves(position, moves)
    assert not position.turn["has_button"]
    assert position.turn["white_bonus"] == bonus


def test_the_pass_that_takes_the_button_does_not_count_towards_the_end() -> None:
    position = Position(5, 5, Rules.parse("aga-button"))
    make_moves(position, "- -")
    assert not position.is_over and position.turn["passes"] == 1
    make_moves(position, "-")
    assert position.is_over


@pytest.mark.parametrize(
    ("name", "stones", "komi"),
    [
        ("chinese", 0, 7.5),
        ("chinese", 3, 10.5),
        ("aga", 3, 9.5),
        ("tromp-taylor", 3, 7.5),
        ("japanese", 3, 9.5),  # three of Black's moves, each of which costs him a point
    ],
)
def test_handicap_bonus(name: str, stones: int, komi: float) -> None:
    points = [parse_vertex(vertex, 9, 9) for vertex in ("C3", "G7", "C7")][:stones]
    position = Position(9, 9, Rules.parse(name))
    position.set_up(points, to_play=WHITE)
    assert white_komi(position.turn, position.rules.flags) == komi
    played = Position(9, 9, Rules.parse(name))
    played.play_all([(BLACK, point) for point in points])
    assert white_komi(played.turn, played.rules.flags) == komi


def test_territory_takes_a_point_for_each_move() -> None:
    position = Position(5, 5, Rules.parse("japanese"))
    bonuses = []
    for name in ["C3", "C2", "B2", "-", "B1", "D2"]:
        make_moves(position, [name])
        bonuses.append(float(position.turn["white_bonus"]))
    assert bonuses == [1.0, 0.0, 1.0, 1.0, 2.0, 1.0]
    position.undo(3)
    assert position.turn["white_bonus"] == 1.0


# Long cycles -------------------------------------------------------------------------------------


def test_a_triple_ko_has_no_result_the_third_time() -> None:
    position = position_of(TRIPLE_KO, Rules(ko=Ko.SIMPLE), to_play=WHITE)
    make_moves(position, TRIPLE_KO_CYCLE)
    assert diagram_of(position) == plain(TRIPLE_KO) and repetitions_of(position) == [0]
    assert not position.is_over
    cycle = TRIPLE_KO_CYCLE.split()
    make_moves(position, cycle[:5])
    assert not position.is_over
    make_moves(position, cycle[5:])
    assert position.turn["status"] == NO_RESULT and position.is_over
    position.undo()
    assert not position.is_over


@pytest.mark.parametrize("ko", [Ko.POSITIONAL, Ko.SITUATIONAL])
def test_superko_stops_a_triple_ko(ko: Ko) -> None:
    position = position_of(TRIPLE_KO, Rules(ko=ko), to_play=WHITE)
    cycle = TRIPLE_KO_CYCLE.split()
    make_moves(position, cycle[:5])
    last = parse_vertex(cycle[5], 4, 11)
    assert not position.is_legal(BLACK, last) and last not in position.legal_moves()
    with pytest.raises(IllegalMoveError, match="repeats"):
        make_moves(position, cycle[5:])
    make_moves(position, cycle[5:], strict=False)
    assert repetitions_of(position) == [0] and not position.is_over


def test_a_pass_begins_the_count_of_a_cycle_anew() -> None:
    position = position_of(TRIPLE_KO, Rules(ko=Ko.SIMPLE), to_play=WHITE)
    for _ in range(2):
        make_moves(position, TRIPLE_KO_CYCLE)
    position.undo(12)
    make_moves(position, TRIPLE_KO_CYCLE)
    make_moves(position, ["-"])
    position.to_play = WHITE
    make_moves(position, TRIPLE_KO_CYCLE)
    assert repetitions_of(position)[-1] == 0 and not position.is_over


def test_the_same_pass_twice_ends_the_game_under_simple_ko() -> None:
    cycle = "A5 C5 B5 -"
    position = position_of(SEND_TWO_RETURN_ONE, Rules(ko=Ko.SIMPLE))
    make_moves(position, cycle)
    assert diagram_of(position) == plain(SEND_TWO_RETURN_ONE) and not position.is_over
    make_moves(position, "A5 C5 B5")
    assert not position.is_over and ends(position) == (True, True)
    make_moves(position, "-")
    assert position.turn["status"] == ENDED and position.turn["passes"] == 1


def test_the_same_pass_twice_does_not_end_a_game_with_superko() -> None:
    position = position_of(SEND_TWO_RETURN_ONE, Rules(ko=Ko.SITUATIONAL))
    make_moves(position, "A5 C5 B5 - A5 C5 B5 -", strict=False)
    assert not position.is_over


# Encores -----------------------------------------------------------------------------------------


def encore_of(diagram: str, to_play: int) -> Position:
    """Return a territory game in its first encore, with this player to move."""
    position = position_of(diagram, Rules.parse("japanese"), to_play, encores=True)
    make_moves(position, "- -")
    assert position.turn["phase"] == 1 and position.to_play == to_play
    return position


def test_a_game_of_territory_has_three_phases() -> None:
    position = Position(5, 5, Rules.parse("japanese"), encores=True)
    make_moves(position, "C3 C2 -")
    assert ends(position) == (True, False)
    make_moves(position, "-")
    assert (position.turn["phase"], position.turn["passes"]) == (1, 0) and not position.is_over
    assert position.turn["phase_start"] == 4 and position.turn["recent"] == 0
    make_moves(position, "B2 D2 - -")
    assert position.turn["phase"] == 2 and not position.is_over
    # What stands when the second encore begins is remembered; its moves cost nothing.
    start = position.turn["encore_start"]
    assert {int(start[p]) for p in position.stones(WHITE)} == {WHITE}
    bonus = float(position.turn["white_bonus"])
    make_moves(position, "B1 -")
    assert position.turn["white_bonus"] == bonus == 0.0
    assert position.turn["encore_start"][parse_vertex("B1", 5, 5)] == 0
    assert ends(position) == (True, True)
    make_moves(position, "-")
    assert position.turn["status"] == ENDED
    position.undo(7)
    assert position.turn["phase"] == 1


def test_a_ko_in_an_encore_is_taken_back_only_after_a_pass_for_it() -> None:
    position = encore_of(KO, WHITE)
    b3, c3 = parse_vertex("B3", 4, 4), parse_vertex("C3", 4, 4)
    make_moves(position, "B3")
    assert position.turn["ko_capture"] and position.turn["recapture"][b3]
    assert position.board["ko_point"] == 0
    after_capture = diagram_of(position)
    # Black may name the stone or the point to take it from; the stones stay as they are.
    for name in ("B3", "C3"):
        assert parse_vertex(name, 4, 4) in position.legal_moves()
        make_moves(position, [name])
        assert position.turn["pass_for_ko"] and not position.turn["recapture"][b3]
        assert diagram_of(position) == after_capture and position.to_play == WHITE
        assert position.turn["passes"] == 0
        position.undo()
    make_moves(position, "C3 D1")
    assert not position.is_legal(BLACK, b3), "the ban is lifted, so the stone is just occupied"
    make_moves(position, "C3")
    assert not position.turn["pass_for_ko"] and position.turn["recapture"][c3]
    assert position.captured(WHITE) == 1


def test_an_encore_bans_the_same_ko_capture_on_the_same_board() -> None:
    position = encore_of(KO, WHITE)
    #           take lift pass take back lift pass
    make_moves(position, "B3 C3 - C3 B3 -")
    assert diagram_of(position) == plain(KO) and position.to_play == WHITE
    assert not position.is_over and position.turn["phase"] == 1
    b3 = parse_vertex("B3", 4, 4)
    assert not position.is_legal(WHITE, b3) and b3 not in position.legal_moves()
    make_moves(position, "D1 A1")
    assert position.is_legal(WHITE, b3), "another board, another capture"


def test_marks_go_with_their_stones() -> None:
    position = encore_of(
        """
        . X O . .
        X . X O .
        . X O . .
        . X . . .
        . . . . .
        """,
        WHITE,
    )
    b4 = parse_vertex("B4", 5, 5)
    make_moves(position, "B4")
    marked = int(position.turn["situation"])
    assert position.turn["recapture"][b4] and position.turn["recapture_hash"] != 0
    make_moves(position, "C4")  # lifts the ban
    assert position.turn["recapture_hash"] == 0 and int(position.turn["situation"]) != marked
    position.undo()
    position.play(BLACK, PASS)
    position.play(WHITE, parse_vertex("C4", 5, 5))  # White connects: no single stone any more
    assert not position.is_legal(BLACK, b4)
    make_moves(position, "- -")
    assert position.turn["phase"] == 2
    assert not position.turn["recapture"][b4] and position.turn["recapture_hash"] == 0


def test_superko_gives_way_to_the_encores_rule() -> None:
    # Sending two and returning one may go on in an encore as long as nobody passes twice alike.
    position = encore_of(SEND_TWO_RETURN_ONE, BLACK)
    make_moves(position, "A5 C5 B5 -")
    assert not position.is_over and position.turn["phase"] == 1
    make_moves(position, "A5 C5 B5 -")
    assert position.turn["phase"] == 2, "White passed on the same stones before"


def test_a_long_cycle_in_an_encore_has_no_result() -> None:
    rows = SEND_TWO_RETURN_ONE.strip().splitlines()
    swapped = [row.translate(str.maketrans("XO", "OX")) for row in reversed(rows)]
    position = encore_of("\n".join([*rows, ". . . . .", *swapped]), BLACK)
    cycle = "A11 C11 B11 A1 C1 B1"
    make_moves(position, cycle)
    assert repetitions_of(position) == [5, 2, 1, 0] and position.to_play == BLACK
    make_moves(position, cycle.split()[:5])
    assert position.turn["status"] == PLAYING
    make_moves(position, cycle.split()[5:])
    assert position.turn["status"] == NO_RESULT and position.is_over
