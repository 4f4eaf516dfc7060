"""Passing, own territory, and which moves are left alone, on diagrams."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.go.diagrams import DEAD_IN_AN_EYE, position_of, rows_of
from tests.search.scripted import FlatEvaluator

from gtp_engine.coords import BLACK, PASS, WHITE, format_vertex, parse_vertex
from gtp_engine.evaluators.eval_batch import EvalBatch
from gtp_engine.go.history import History
from gtp_engine.go.position import Position
from gtp_engine.go.rules import Rules
from gtp_engine.play.adjudication.explanation import Ownership
from gtp_engine.play.endgame import Endgame, territory_to_leave
from gtp_engine.play.move_choice import PASS_COST_LIMIT, Reason, decide, pass_or_play
from gtp_engine.search.request import AvoidRule, ReportRequest
from gtp_engine.search.search import Search
from gtp_engine.search.stopping import Limits

CHINESE = replace(Rules.parse("chinese"), komi=0.5)
TROMP_TAYLOR = replace(Rules.parse("tromp-taylor"), komi=0.5)


def owned(diagram: str, certain: float = 0.9) -> Ownership:
    """Return ownership from a diagram: X is Black's, O White's, a point nobody's."""
    values = {"X": certain, "O": -certain, ".": 0.0}
    return np.array([[values[symbol] for symbol in row] for row in rows_of(diagram)], np.float32)


def vertices(points: set[int], position: Position) -> str:
    names = [format_vertex(point, position.width, position.height) for point in points]
    return " ".join(sorted(names))


def points(text: str, position: Position) -> list[int]:
    return [parse_vertex(name, position.width, position.height) for name in text.split()]


# What is left alone ------------------------------------------------------------------------------


def test_eyes_and_safe_territory_are_not_filled() -> None:
    position = position_of(
        """
        . X . X . O .
        X X X X . O O
        . . . . . . .
        """
    )
    # Two eyes make the black chain safe; White's corner is one eye.
    assert vertices(territory_to_leave(position, strict=False), position) == "A3 C3"
    position.to_play = WHITE
    assert vertices(territory_to_leave(position, strict=False), position) == "G3"


SAFE_WITH_A_UNCAPTURED = """
    . X . X . . X
    X X X X . O X
    . . . X . . X
    . . . X X X X
    . . . . . . .
"""


def test_safe_territory_may_be_entered_only_to_capture() -> None:
    position = position_of(SAFE_WITH_A_UNCAPTURED)
    assert vertices(territory_to_leave(position, strict=False), position) == (
        "A5 C5 E3 E4 E5 F3 F5"
    )
    assert vertices(territory_to_leave(position, strict=True), position) == "A5 C5"
    position.to_play = WHITE
    assert territory_to_leave(position, strict=True) == set()


def test_the_last_liberty_of_a_chain_is_no_eye_to_keep() -> None:
    diagram = """
        . X O . .
        X X O . .
        {} O O . .
        X O . . .
        O . . . .
    """
    assert territory_to_leave(position_of(diagram.format("X")), strict=False) == set()
    # With another liberty it is one.
    position = position_of(diagram.format("."))
    assert vertices(territory_to_leave(position, strict=False), position) == "A5"


# Whether everything is settled -------------------------------------------------------------------

WALLS = """
    . X . O .
    . X . O .
    . X . O .
    . X . O .
    . X . O .
"""
WALLS_OWNED = """
    X X . O O
    X X . O O
    X X . O O
    X X . O O
    X X . O O
"""


def test_a_board_is_settled_but_for_small_gaps() -> None:
    position = position_of(WALLS)
    sure = owned(WALLS_OWNED)
    assert not Endgame(position, sure).is_settled, "five neutral points are too large a gap"
    sure[0, 2] = 0.9
    assert Endgame(position, sure).is_settled
    assert not Endgame(position, owned(WALLS_OWNED, certain=0.7)).is_settled
    sure[0, 1] = 0.5
    assert not Endgame(position, sure).is_settled, "a stone is in doubt"


def test_a_gap_within_one_players_land_is_not_settled() -> None:
    position = position_of(WALLS)
    sure = owned(WALLS_OWNED)
    sure[:, 2] = 0.9
    assert Endgame(position, sure).is_settled
    sure[2, 0] = 0.2
    assert not Endgame(position, sure).is_settled


# Manners -----------------------------------------------------------------------------------------

FINISHED = """
    . X X O .
    . X O O .
    . X X O .
    . X X O .
    . X X O .
"""
"""Black has 14 points, White 11."""
FINISHED_OWNED = """
    X X X O O
    X X O O O
    X X X O O
    X X X O O
    X X X O O
"""


def finished(rules: Rules, to_play: int, passed: bool = False) -> Position:
    position = position_of(FINISHED, rules, to_play=3 - to_play if passed else to_play)
    if passed:
        position.play(position.to_play, PASS)
    return position


def chosen(position: Position, moves: str, ownership: Ownership | None) -> tuple[str, str]:
    move, reason = pass_or_play(Endgame(position, ownership), points(moves, position))
    return format_vertex(move, 5, 5).lower(), reason


@pytest.mark.parametrize("rules", [CHINESE, TROMP_TAYLOR])
def test_a_pass_is_answered_with_a_pass_when_the_count_is_won(rules: Rules) -> None:
    position = finished(rules, BLACK, passed=True)
    sure = owned(FINISHED_OWNED)
    assert chosen(position, "A1 pass", sure) == ("pass", Reason.WON)


def test_a_pass_is_not_answered_while_the_board_is_open_and_stones_may_be_dead() -> None:
    position = finished(CHINESE, BLACK, passed=True)
    unsure = owned(FINISHED_OWNED, certain=0.6)
    assert chosen(position, "E1 pass", unsure) == ("e1", Reason.SEARCH)
    # Where all stones count as they stand the count is certain, whatever the net thinks.
    position = finished(TROMP_TAYLOR, BLACK, passed=True)
    assert chosen(position, "E1 pass", unsure) == ("pass", Reason.WON)
    assert chosen(position, "E1 pass", None) == ("pass", Reason.WON)


def test_a_pass_that_loses_the_count_is_not_made_while_there_is_something_to_try() -> None:
    unsure = owned(FINISHED_OWNED, certain=0.6)
    position = finished(TROMP_TAYLOR, WHITE, passed=True)
    assert chosen(position, "pass A1", unsure) == ("a1", Reason.LOST)
    assert chosen(position, "pass", unsure) == ("pass", Reason.SEARCH)
    # On a settled board whose dead stones come off nothing is left to try.
    position = finished(CHINESE, WHITE, passed=True)
    assert chosen(position, "pass A1", owned(FINISHED_OWNED)) == ("pass", Reason.SEARCH)
    assert chosen(position, "pass A1", unsure) == ("a1", Reason.LOST)


def test_nobody_passes_before_the_game_has_begun() -> None:
    position = Position(5)
    assert chosen(position, "pass A1", None) == ("a1", Reason.EARLY)
    assert chosen(position, "pass", None) == ("pass", Reason.SEARCH)
    for color, vertex in ((BLACK, "C3"), (WHITE, "C4")):  # two of 25 points
        assert chosen(position, "pass A1", None) == ("a1", Reason.EARLY)
        position.play(color, parse_vertex(vertex, 5, 5))
    assert chosen(position, "pass A1", None) == ("pass", Reason.SEARCH)


def test_a_search_that_looked_at_nothing_but_the_pass_does_not_pass_at_once() -> None:
    search = Search(FlatEvaluator(favourite=PASS))
    decision = decide(search, Position(5), Limits(playouts=2))
    assert [move.point for move in decision.analysis.moves] == [PASS]
    assert decision.point != PASS and decision.reason == Reason.EARLY


def test_a_settled_board_is_not_played_on() -> None:
    sure = owned(FINISHED_OWNED)
    for color in (BLACK, WHITE):
        position = finished(CHINESE, color)
        assert chosen(position, "A1 pass", sure) == ("pass", Reason.SETTLED)
    # The loser stops too where no dead stones stay; `Endgame.forgets_stones` looks after them.
    assert chosen(finished(TROMP_TAYLOR, BLACK), "E1 pass", sure) == ("pass", Reason.SETTLED)
    assert chosen(finished(TROMP_TAYLOR, WHITE), "A1 pass", sure) == ("pass", Reason.SETTLED)
    unsure = owned(FINISHED_OWNED, certain=0.6)
    assert chosen(finished(CHINESE, BLACK), "E1 pass", unsure) == ("e1", Reason.SEARCH)
    assert chosen(finished(CHINESE, BLACK), "E1 pass", None) == ("e1", Reason.SEARCH)


def test_neutral_points_are_still_filled() -> None:
    position = position_of(
        """
        . X X O .
        . X . O .
        . X X O .
        . X . O .
        . X X O .
        """,
        CHINESE,
    )
    sure = owned(
        """
        X X X O O
        X X . O O
        X X X O O
        X X . O O
        X X X O O
        """
    )
    assert Endgame(position, sure).is_settled
    assert chosen(position, "C2 A1 pass", sure) == ("c2", Reason.SEARCH)
    assert chosen(position, "A1 C2 pass", sure) == ("pass", Reason.SETTLED)


UNCAPTURED = """
    . X O . .
    . X O . X
    . X O . .
    . X O . .
    . X O . .
"""


def test_a_pass_that_would_leave_dead_stones_alive_is_noticed() -> None:
    # White to move: the black stone is dead, but counts where it stands, and with it Black wins.
    rules = replace(TROMP_TAYLOR, komi=-2.5)
    position = position_of(UNCAPTURED, rules, to_play=WHITE)
    sure = owned("\n".join(["XXOOO"] * 5))
    # With the stone off White has 15 - 10 - 2.5; with it the right side is nobody's: 5 - 11 - 2.5.
    assert Endgame(position, sure).forgets_stones
    assert vertices(Endgame(position, sure).liberties_of_dead, position) == "D4 E3 E5"
    decision = decide(Search(Judge(sure, favourite=PASS)), position, Limits(playouts=5))
    assert decision.reason == Reason.CAPTURE
    assert format_vertex(decision.point or PASS, 5, 5) in ("D4", "E3", "E5")
    # Where dead stones come off, or the count is won or lost anyway, nobody has to.
    for komi, other in ((-2.5, CHINESE), (9.5, TROMP_TAYLOR), (-9.5, TROMP_TAYLOR)):
        position = position_of(UNCAPTURED, replace(other, komi=komi), to_play=WHITE)
        assert not Endgame(position, sure).forgets_stones


def test_a_move_into_settled_territory_is_left_out_where_it_costs_a_point() -> None:
    japanese = replace(Rules.parse("japanese"), komi=0.5)
    # The middle is open, so the board is not settled; E1 is nobody's business.
    half = owned(
        """
        X X . O O
        X X . O O
        X X . O O
        X X . O O
        X X . O O
        """
    )
    position = position_of(WALLS, japanese, to_play=WHITE)
    assert chosen(position, "E1 C3", half) == ("pass", Reason.SETTLED)
    assert chosen(position, "C3 E1", half) == ("c3", Reason.SEARCH)
    position = position_of(WALLS, CHINESE, to_play=WHITE)
    assert chosen(position, "E1 C3", half) == ("e1", Reason.SEARCH)


# The whole decision ------------------------------------------------------------------------------


class Judge(FlatEvaluator):
    """Knows who owns what of one diagram, Black's being 1, and the value for Black; leads are 0."""

    def __init__(
        self, ownership: Ownership, favourite: int | None = None, black_value: float = 0.0
    ) -> None:
        """Give every position this ownership and value."""
        super().__init__(favourite)
        self._black_value = black_value
        self._ownership = ownership.ravel()
        self._signs: dict[tuple[int, int], int] = {}

    def encode(self, batch: EvalBatch, slot: int, history: History, ply: int, *rest: Any) -> None:
        """Remember who is to move."""
        super().encode(batch, slot, history, ply, *rest)
        self._signs[id(batch.spatial), slot] = 1 if history.turns[ply]["to_play"] == BLACK else -1

    def evaluate(self, batch: EvalBatch, n: int, *, use_cache: bool = True) -> None:
        """Fill in the ownership, for the player to move."""
        super().evaluate(batch, n, use_cache=use_cache)
        for slot in range(n):
            sign = self._signs[id(batch.spatial), slot]
            batch.ownership[slot] = sign * self._ownership
            batch.slots[slot]["value"] = sign * self._black_value


def test_decide_passes_on_a_finished_board_and_keeps_the_position() -> None:
    position = finished(CHINESE, WHITE)
    search = Search(Judge(owned(FINISHED_OWNED)))
    decision = decide(search, position, Limits(playouts=30))
    assert (decision.color, decision.point, decision.reason) == (WHITE, PASS, Reason.SETTLED)
    assert position.ply == 0 and decision.analysis is not None


def test_nobody_passes_on_a_settled_board_that_the_count_loses_but_the_search_does_not() -> None:
    # White has 11 points, Black 14, and nothing can be captured.
    position = finished(TROMP_TAYLOR, WHITE)
    for black_value, reason in ((0.0, Reason.HOPE), (0.7, Reason.HOPE), (0.95, Reason.SETTLED)):
        judge = Judge(owned(FINISHED_OWNED), parse_vertex("E1", 5, 5), black_value)
        decision = decide(Search(judge), position, Limits(playouts=8))
        assert (decision.reason, decision.point == PASS) == (reason, reason == Reason.SETTLED)
    # Whoever has won by the count passes.
    judge = Judge(owned(FINISHED_OWNED), parse_vertex("A5", 5, 5))
    decision = decide(Search(judge), finished(TROMP_TAYLOR, BLACK), Limits(playouts=8))
    assert (decision.reason, decision.point) == (Reason.SETTLED, PASS)


def test_where_dead_stones_come_off_the_search_must_think_that_it_wins() -> None:
    sure = owned(FINISHED_OWNED)
    for color, black_value, reason in (
        (WHITE, 0.5, Reason.SETTLED),
        (WHITE, 0.0, Reason.SETTLED),
        (WHITE, -0.02, Reason.HOPE),
        (WHITE, -0.5, Reason.HOPE),
        (BLACK, 0.98, Reason.SETTLED),
    ):
        judge = Judge(sure, parse_vertex("E1" if color == WHITE else "A5", 5, 5), black_value)
        decision = decide(Search(judge), finished(CHINESE, color), Limits(playouts=8))
        assert decision.reason == reason
        assert (decision.point == PASS) is (reason is Reason.SETTLED)


HOPELESS = """
    . . . . . . . . .
    . . O . . . O . .
    . . X X X X X . .
    . O X . . . X . .
    . . X . O . X O .
    . . X . . . X . .
    . . X X X X X . .
    . . O . . . O . .
    . . . . . . . . .
"""
"""Black has everything, but not beyond doubt everywhere: White may still try something outside."""
HOPELESS_OWNED = """
    X X X X X X X X X
    X . . X X X X X X
    X X X X X X X X X
    X . X X X X X X X
    X X X X X X X . X
    X X X X X X X X X
    X X X X X X X X X
    X X . X X X . . .
    X X X X X X X X X
"""


def hopeless(rules: Rules, to_play: int, diagram: str = HOPELESS) -> Position:
    """Return a game that White, 74 points behind, has lost; the opponent has just passed."""
    position = position_of(diagram, rules, to_play=3 - to_play)
    position.play(position.to_play, PASS)
    return position


def test_a_pass_ends_a_game_that_is_won_whatever_becomes_of_the_open_points() -> None:
    sure = owned(HOPELESS_OWNED)
    position = hopeless(Rules(komi=7.0), BLACK)
    end = Endgame(position, sure)
    assert not end.is_settled and end.is_won_for_sure and end.lead == 74.0
    judge = Judge(sure, parse_vertex("H2", 9, 9), black_value=0.8)
    decision = decide(Search(judge), position, Limits(playouts=8))
    assert (decision.point, decision.reason) == (PASS, Reason.WON)
    # Eight points are open, and 16 of the count's: with less to spare they are fought for.
    assert len(end.open_points) == 8
    for komi, reason in ((64.5, Reason.WON), (65.5, Reason.SEARCH)):
        decision = decide(Search(judge), hopeless(Rules(komi=komi), BLACK), Limits(playouts=8))
        assert decision.reason == reason


def test_a_game_that_is_lost_for_sure_is_not_played_on_after_a_pass() -> None:
    sure = owned(HOPELESS_OWNED)
    for rules, diagram, point, reason in (
        (Rules(komi=7.0), HOPELESS, PASS, Reason.SEARCH),
        # Black has yet to capture what counts as it stands: White may try to stay near.
        (TROMP_TAYLOR, HOPELESS, parse_vertex("B8", 9, 9), Reason.LOST),
        (TROMP_TAYLOR, HOPELESS.replace("O", "."), PASS, Reason.SEARCH),
    ):
        end = Endgame(hopeless(rules, WHITE, diagram), sure)
        assert pass_or_play(end, points("pass B8", end.position)) == (point, reason)


def test_neutral_points_that_turn_the_count_are_filled_though_the_search_would_pass() -> None:
    neutral = FINISHED.replace(". X X O .", ". X . O .", 1)
    sure = owned(FINISHED_OWNED)
    sure[0, 2] = 0.0
    for komi, expected in ((1.5, ("c5", Reason.LOST)), (0.5, ("pass", Reason.SEARCH))):
        position = position_of(neutral, replace(CHINESE, komi=komi), to_play=BLACK)
        position.play(BLACK, PASS)
        end = Endgame(position, sure)
        assert end.is_settled and end.lead == komi - 2.0
        assert chosen(position, "pass A1 C5", sure) == expected


def test_a_game_that_is_won_behind_an_open_border_is_not_given_up() -> None:
    # White's land is open in two places at once, so that no single move closes it.
    diagram = """
        . O O X X X X
        . . O X . X .
        . . O X X X X
        . . O X . . .
        . . . . X X X
        . . . . X . .
        . . . . X X X
    """
    sure = owned("\n".join(["OOOXXXX"] * 4 + ["OO..XXX"] * 3))
    position = position_of(diagram, replace(CHINESE, komi=15.5), to_play=BLACK)
    position.play(BLACK, PASS)
    end = Endgame(position, sure)
    assert end.is_friendly and end.ends_phase
    assert end.lead < 0.0 < end.lead_behind_borders
    assert not end.is_lost_for_sure
    assert pass_or_play(end, points("pass C1 D1", position)) == (
        parse_vertex("C1", 7, 7),
        Reason.LOST,
    )


def test_decide_leaves_own_eyes_alone() -> None:
    position = position_of(
        """
        . X . X O
        X X X X O
        O O O O .
        """,
        TROMP_TAYLOR,
    )
    # The net would love to fill A3, but nobody should.
    search = Search(FlatEvaluator(favourite=parse_vertex("A3", 5, 3)))
    decision = decide(search, position, Limits(playouts=1))
    assert set(search.root_moves()) == {*points("E1", position), PASS}
    assert decision.point in search.root_moves()


def test_a_lost_count_is_not_passed_into_though_a_stone_on_the_board_is_dead() -> None:
    position = position_of(DEAD_IN_AN_EYE, replace(Rules.parse("cgos"), komi=0.5))
    position.play(WHITE, PASS)
    decision = decide(Search(FlatEvaluator()), position, Limits(visits=50))
    assert decision.point != PASS  # B1 captures it, now or later
    assert Endgame(position, None).lead_as_it_stands == -2.5


def test_a_clean_up_captures_dead_stones_before_it_passes() -> None:
    position = position_of(UNCAPTURED, CHINESE, to_play=WHITE)
    search = Search(Judge(owned("\n".join(["XXOOO"] * 5)), favourite=PASS))
    decision = decide(search, position, Limits(playouts=1), cleanup=True)
    assert decision.reason == Reason.CAPTURE
    # Nothing dead left: it may pass.
    clean = position_of(UNCAPTURED.replace(". X\n", ". .\n"), CHINESE, to_play=WHITE)
    assert decide(search, clean, Limits(playouts=1), cleanup=True).point == PASS


def test_restrictions_of_the_request_hold() -> None:
    position = Position(5)
    only = parse_vertex("B2", 5, 5)
    report = ReportRequest(avoid=(AvoidRule(BLACK, frozenset([only]), depth=1, allow=True),))
    search = Search(FlatEvaluator())
    decision = decide(search, position, Limits(playouts=20), report)
    assert decision.point == only


def restricted(position: Position, text: str, *, allow: bool = False) -> ReportRequest:
    """Return a request that leaves these moves out at the root, or all others."""
    rule = AvoidRule(position.to_play, frozenset(points(text, position)), depth=1, allow=allow)
    return ReportRequest(avoid=(rule,))


def test_nobody_passes_who_is_asked_for_a_move() -> None:
    position = finished(CHINESE, WHITE)
    sure = owned(FINISHED_OWNED)
    for text, allow, passes in (
        ("A1", False, True),
        ("A1 pass", True, True),
        ("A1", True, False),
        ("pass", False, False),
    ):
        report = restricted(position, text, allow=allow)
        decision = decide(Search(Judge(sure)), position, Limits(playouts=30), report)
        assert (decision.point == PASS) is passes, (text, allow)
        assert (decision.reason == Reason.SETTLED) is passes


def test_own_eyes_are_filled_where_nothing_else_is_wanted() -> None:
    position = position_of(
        """
        . X . X O
        X X X X O
        O O O O .
        """,
        TROMP_TAYLOR,
    )
    for text, vertex in (("A3", "A3"), ("A3 E1", "E1")):
        report = restricted(position, text, allow=True)
        decision = decide(Search(FlatEvaluator()), position, Limits(playouts=5), report)
        assert [decision.point] == points(vertex, position)


JAPANESE = replace(Rules.parse("japanese"), komi=0.5)

# Open borders -------------------------------------------------------------------------------------

OPEN_BELOW = """
    . X O . .
    . X O . .
    . X O . .
    . X O . .
    . . . . .
"""
"""All empty points are connected, so the count gives them to nobody."""


def test_a_border_is_closed_before_a_pass_where_the_count_needs_it() -> None:
    halves = owned("\n".join(["XXOOO"] * 5))
    for color, vertex in ((BLACK, "B1"), (WHITE, "C1")):
        for rules in (JAPANESE, CHINESE):
            position = position_of(OPEN_BELOW, rules, to_play=color)
            closing = parse_vertex(vertex, 5, 5)
            assert Endgame(position, halves).closing_move() == closing
            decision = decide(Search(Judge(halves, favourite=PASS)), position, Limits(playouts=5))
            assert (decision.point, decision.reason) == (closing, Reason.BORDER)
            position.play(color, closing)
            position.to_play = color
            assert Endgame(position, halves).closing_move() is None, "its own is closed"


def test_a_border_is_closed_unless_that_move_is_to_be_left_out() -> None:
    position = position_of(OPEN_BELOW, JAPANESE)
    halves = owned("\n".join(["XXOOO"] * 5))
    for text, reason in (("E5", Reason.BORDER), ("B1", Reason.SEARCH)):
        search = Search(Judge(halves, favourite=PASS))
        decision = decide(search, position, Limits(playouts=5), restricted(position, text))
        assert decision.reason == reason


def test_a_gap_in_a_border_may_be_less_certain_than_the_land_behind_it() -> None:
    halves = owned("\n".join(["XXOOO"] * 5))
    halves[4, 1] = 0.3
    position = position_of(OPEN_BELOW, JAPANESE)
    assert Endgame(position, halves).closing_move() == parse_vertex("B1", 5, 5)


def test_nothing_is_closed_where_stones_count_or_the_land_is_in_doubt() -> None:
    halves = owned("\n".join(["XXOOO"] * 5))
    assert Endgame(position_of(OPEN_BELOW, TROMP_TAYLOR), halves).closing_move() is None
    assert Endgame(position_of(OPEN_BELOW, JAPANESE), 0.8 * halves).closing_move() is None
    assert Endgame(position_of(OPEN_BELOW, JAPANESE), None).closing_move() is None
    # Two neutral points between the players are nobody's land.
    assert Endgame(position_of(WALLS, JAPANESE), owned(WALLS_OWNED)).closing_move() is None


def test_a_settled_board_is_played_on_where_a_pass_would_cost_points(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for points, reason in ((PASS_COST_LIMIT, Reason.COSTS), (0.0, Reason.SETTLED)):
        monkeypatch.setattr(
            "gtp_engine.play.move_choice.lead_over_pass", lambda *args, points=points: points
        )
        judge = Judge(owned(FINISHED_OWNED), parse_vertex("A5", 5, 5))
        decision = decide(Search(judge), finished(TROMP_TAYLOR, BLACK), Limits(playouts=8))
        assert (decision.reason, decision.point == PASS) == (reason, reason == Reason.SETTLED)


def test_all_that_is_searched_for_a_move_keeps_to_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    asked: list[float | None] = []
    run = Search.run

    def half_as_long(search: Search, limits: Limits, report: Any = None) -> Any:
        nonlocal now
        asked.append(limits.seconds)
        now += 0.5 * (limits.seconds or 0.0)
        return run(search, replace(limits, seconds=None), report)

    monkeypatch.setattr(Search, "run", half_as_long)
    monkeypatch.setattr("gtp_engine.play.move_choice.time.perf_counter", lambda: now)
    judge = Judge(owned(FINISHED_OWNED), parse_vertex("A5", 5, 5))
    limits = Limits(playouts=8, seconds=8.0)
    decide(Search(judge), finished(TROMP_TAYLOR, BLACK), limits)
    # Half of the time for the move; a first look at each side of a pass; then half of what is left
    # for each.
    assert asked == [8.0, None, None, 2.0, 2.0]


def test_a_pass_is_searched_though_the_search_for_the_move_has_used_up_its_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    asked: list[tuple[float | None, int | None]] = []
    run = Search.run

    def to_the_limit(search: Search, limits: Limits, report: Any = None) -> Any:
        nonlocal now
        asked.append((limits.seconds, limits.visits))
        now += limits.seconds or 0.0
        return run(search, replace(limits, seconds=None, playouts=8), report)

    monkeypatch.setattr(Search, "run", to_the_limit)
    monkeypatch.setattr("gtp_engine.play.move_choice.time.perf_counter", lambda: now)
    per_move = Limits(seconds=8.0)
    for limits, seconds in ((per_move, 0.8), (replace(per_move, soft_seconds=8.0), 0.0)):
        asked.clear()
        judge = Judge(owned(FINISHED_OWNED), parse_vertex("A5", 5, 5))
        decide(Search(judge), finished(TROMP_TAYLOR, BLACK), limits)
        assert asked[3:] == [(seconds, 64)] * 2, "on a clock nothing goes beyond the plan"


@pytest.mark.parametrize("cost, runs", [(3.9, 5), (4.0, 3)])
def test_a_pass_that_obviously_costs_points_is_not_searched(
    cost: float, runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_runs = 0
    run = Search.run

    def with_leads(search: Search, limits: Limits, report: Any = None) -> Any:
        nonlocal n_runs
        n_runs += 1
        found = run(search, limits, report)
        has_passed = n_runs in (3, 4)  # after the searches of the position and of the move
        return replace(found, score_lead=cost if has_passed else 0.0)

    monkeypatch.setattr(Search, "run", with_leads)
    judge = Judge(owned(FINISHED_OWNED), parse_vertex("A5", 5, 5))
    decision = decide(Search(judge), finished(TROMP_TAYLOR, BLACK), Limits(playouts=8))
    assert (decision.reason, n_runs) == (Reason.COSTS, runs)


def test_a_border_is_not_closed_at_the_cost_of_something_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    position = position_of(OPEN_BELOW, JAPANESE)
    halves = owned("\n".join(["XXOOO"] * 5))
    for points, reason in ((-1.9, Reason.BORDER), (-2.1, Reason.SEARCH)):
        monkeypatch.setattr(
            "gtp_engine.play.move_choice.lead_over_pass", lambda *args, points=points: points
        )
        decision = decide(Search(Judge(halves, favourite=PASS)), position, Limits(playouts=5))
        assert decision.reason == reason
