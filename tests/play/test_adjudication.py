"""Dead stones, seki, territory and the count, on diagrams."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from tests.go.diagrams import TRIPLE_KO, TRIPLE_KO_CYCLE, position_of, rows_of
from tests.paths import TINY
from tests.search.scripted import FlatEvaluator, Verdict

from gtp_engine.coords import BLACK, PASS, WHITE, parse_vertex, point_at, row_col
from gtp_engine.evaluators.eval_batch import EvalBatch
from gtp_engine.evaluators.fake import FakeEvaluator
from gtp_engine.evaluators.net_evaluator import NetEvaluator
from gtp_engine.evaluators.nets.onnx_net import OnnxNet
from gtp_engine.go.position import Position
from gtp_engine.go.rules import HandicapBonus, Rules
from gtp_engine.go.scoring import format_result
from gtp_engine.play.adjudication.chains import find_chains, find_groups, pass_alive
from gtp_engine.play.adjudication.explanation import (
    Ownership,
    expected_ownership,
    explain,
    without_history,
)
from gtp_engine.play.adjudication.fights import Fight, read_fights
from gtp_engine.play.adjudication.status import adjudicate, judge, status_of
from gtp_engine.play.engine import Engine
from gtp_engine.play.settings import Settings
from gtp_engine.play.table import Table

AREA = replace(Rules.parse("chinese"), komi=0.5)
TERRITORY = replace(Rules.parse("japanese"), komi=0.5)


def owned(diagram: str) -> Ownership:
    """Return ownership from a diagram: X is Black's, O White's, a point nobody's."""
    values = {"X": 0.9, "O": -0.9, ".": 0.0}
    return np.array([[values[symbol] for symbol in row] for row in rows_of(diagram)], np.float32)


def vertices(text: str, position: Position) -> list[int]:
    return sorted(parse_vertex(v, position.width, position.height) for v in text.split())


DEAD_STONES = """
    . . X O . .
    . O X O . X
    . . X O . .
    . . X O . .
    . . X O . .
"""
OWNED = """
    X X X O O O
    X X X O O O
    X X X O O O
    X X X O O O
    X X X O O O
"""


@pytest.mark.parametrize(
    "rules, score",
    [
        # Area: 15 points each.
        (AREA, 0.5),
        # Territory: ten points each and a prisoner each.
        (TERRITORY, 0.5),
    ],
)
def test_dead_stones_come_off(rules: Rules, score: float) -> None:
    position = position_of(DEAD_STONES, rules)
    found = adjudicate(position, owned(OWNED))
    assert found.dead == vertices("B4 F4", position)
    assert found.white_score == score
    assert found.seki == [] and found.dame == []
    left = [p for p in position.points() if row_col(p, 6)[1] < 2]
    right = [p for p in position.points() if row_col(p, 6)[1] > 3]
    assert found.black_territory == left and found.white_territory == right
    assert found.alive == [p for p in position.points() if row_col(p, 6)[1] in (2, 3)]


def test_without_ownership_only_what_is_proven_is_dead() -> None:
    position = position_of(DEAD_STONES, AREA)
    found = adjudicate(position, None)
    assert found.dead == []
    # Neither wall has two eyes, so nothing is proven; each side holds just its own stones.
    assert found.white_score == 0.5


def test_what_cannot_live_within_pass_alive_chains_is_dead_without_a_net() -> None:
    position = position_of(
        """
        . X . O X .
        X X X X X X
        . . . . . .
        O O O O O O
        . O . O . O
        """,
        AREA,
    )
    assert set(np.unique(pass_alive(position))) <= {0, BLACK, WHITE}
    found = adjudicate(position, None)
    assert found.dead == vertices("D5", position)
    assert found.dame == vertices("A3 B3 C3 D3 E3 F3", position)
    # Black: 12 points; White: 12 points.
    assert found.white_score == 0.5
    # No ownership can talk a pass-alive chain dead.
    assert adjudicate(position, owned("\n".join(["OOOOOO"] * 5))).dead == vertices("D5", position)


def test_stones_without_territory_of_their_own_are_in_seki() -> None:
    position = position_of(
        """
        . X O . X O .
        X X O X X O O
        O O O X . . O
        . . O X X O .
        . . O O O O .
        """,
        AREA,
    )
    everything_lives = np.zeros((5, 7), np.float32)
    for point in position.points():
        row_and_col = row_col(point, 7)
        everything_lives[row_and_col] = {0: 0.0, BLACK: 0.9, WHITE: -0.9}[position.color_at(point)]
    found = adjudicate(position, everything_lives)
    assert found.dead == []
    # The black chain in the middle touches only the shared points; the corner one has its eye.
    assert found.seki == vertices("D3 D2 E2 D4 E4 E5", position)
    assert found.dame == vertices("D5 E3 F3", position)


def test_neutral_points_are_nobodys() -> None:
    position = position_of(
        """
        . X . O .
        . X . O .
        . X . O .
        """,
        TERRITORY,
    )
    found = adjudicate(position, None)
    assert found.dame == vertices("C1 C2 C3", position)
    assert found.white_score == 0.5 and found.seki == []


def test_prisoners_count_under_territory_scoring_alone() -> None:
    diagram = """
        . X O .
        X . X O
        . X O .
    """
    # Area: B2 and C2 were Black's and become White's. Territory: B2 is Black's no more, C2 is
    # White's, and there is a prisoner.
    for rules, gained in ((AREA, 4.0), (TERRITORY, 3.0)):
        position = position_of(diagram, rules, to_play=WHITE)
        before = adjudicate(position, None).white_score
        position.play(WHITE, parse_vertex("B2", 4, 3))  # takes C2
        after = adjudicate(position, None).white_score
        assert after - before == gained


@pytest.mark.parametrize("to_play, score", [(BLACK, 0.0), (WHITE, 1.0)])
def test_a_button_not_taken_goes_to_the_player_to_move(to_play: int, score: float) -> None:
    rules = replace(AREA, button=True)
    position = position_of(DEAD_STONES, rules, to_play=to_play)
    assert adjudicate(position, owned(OWNED)).white_score == score
    position.play(to_play, PASS)  # takes it
    assert adjudicate(position, owned(OWNED)).white_score == score


@pytest.mark.parametrize(
    "bonus, points",
    [(HandicapBonus.ZERO, 0.0), (HandicapBonus.N, 3.0), (HandicapBonus.N_MINUS_ONE, 2.0)],
)
def test_handicap_stones_give_their_bonus(bonus: HandicapBonus, points: float) -> None:
    rules = replace(AREA, handicap_bonus=bonus)
    position = position_of(
        """
        X . X
        . . .
        X . .
        """,
        rules,
        to_play=WHITE,
    )
    assert position.handicap == 3
    assert adjudicate(position, None).white_score == points + 0.5 - 9


OPEN_BELOW = """
    . X O . .
    . X O . {}
    . X O . .
    . X O . .
    . . . . .
"""


@pytest.mark.parametrize("rules, with_prisoner", [(AREA, 5.5), (TERRITORY, 6.5)])
def test_land_behind_an_open_border_can_be_its_expected_owners(
    rules: Rules, with_prisoner: float
) -> None:
    halves = owned("\n".join(["XXOOO"] * 5))
    halves[4, 1:3] = 0.3, -0.3
    for stone, score in ((".", 5.5), ("X", with_prisoner)):
        position = position_of(OPEN_BELOW.format(stone), rules)
        found = explain(position, halves)
        counted = status_of(position, found.chains, found.dead)
        assert counted.black_territory == counted.white_territory == counted.alive == []
        given = status_of(position, found.chains, found.dead, found.expected)
        assert given.dead == counted.dead == (vertices("E4", position) if stone == "X" else [])
        assert given.black_territory == vertices("A1 A2 A3 A4 A5", position)
        assert len(given.white_territory) == 10 and given.dame == vertices("B1 C1", position)
        assert given.seki == [] and len(given.alive) == 8
        # White has five points more, the komi, and under territory rules the prisoner.
        assert given.white_score == score


def test_land_behind_an_open_border_stays_whose_it_is_when_stones_elsewhere_are_turned() -> None:
    position = position_of(
        """
        . X O . O . .
        . X O . O . X
        . X O . O . .
        . X O . O . .
        . . . . O . .
        """,
        AREA,
    )
    halves = owned("\n".join(["XXOOOOO"] * 5))
    halves[4, 1:3] = 0.3, -0.3
    found = explain(position, halves)
    counted = status_of(position, found.chains, found.dead, found.expected)
    assert counted.dead == vertices("G4", position) and len(counted.black_territory) == 5
    table = Table(Engine(Settings(size=(7, 5)), FakeEvaluator()), frozenset())
    table.engine.adopt(position)
    alive = table.turn_status(counted, counted.dead[0])
    assert alive.dead == [] and alive.black_territory == counted.black_territory
    assert alive.white_score == counted.white_score - 11  # ten points of White's, one of Black's
    for result, after in (("B+T", "B+T"), ("W+3", format_result(counted.white_score))):
        table.result = result
        assert table.turn_status(alive, counted.dead[0]) == counted
        assert table.result == after, "only a count is corrected"


def test_a_long_cycle_counts_for_nobody() -> None:
    position = position_of(TRIPLE_KO, TERRITORY, to_play=WHITE)
    cycle = [parse_vertex(name, 4, 11) for name in TRIPLE_KO_CYCLE.split()]
    for number, point in enumerate(cycle * 2):
        assert not position.is_void
        position.play(WHITE if number % 2 == 0 else BLACK, point)
    assert position.is_void and position.white_margin() == 0
    table = Table(Engine(Settings(size=(4, 11)), FakeEvaluator()), frozenset((BLACK, WHITE)))
    table.engine.adopt(position)
    assert table.engine.final_score() == 0
    table.count()
    assert table.result == "Void"
    table.take_back()
    table.play(PASS)
    table.play(PASS)
    table.count()
    assert table.result[:2] in ("B+", "W+")


def test_who_gives_up_can_no_longer_make_the_moves_again_that_were_taken_back() -> None:
    table = Table(Engine(Settings(size=(5, 5)), FakeEvaluator()), frozenset({BLACK, WHITE}))
    table.play(point_at(2, 2, 5))
    table.play(point_at(1, 1, 5))
    assert table.take_back()
    table.resign()
    assert not table.step_forward() and table.result == "B+R"


# Explaining what a net expects --------------------------------------------------------------------


def test_a_chain_changes_sides_where_its_surroundings_say_so() -> None:
    position = position_of(
        """
        . O . O X .
        O O . O X .
        . . . O X .
        X X X X X .
        """,
        AREA,
    )
    wavering = owned("\n".join(["XXXXXX"] * 4))
    corner = vertices("B4 A3 B3", position)
    for point in corner:
        wavering[row_col(point, 6)] = -0.3
    # Alive the corner keeps 3 x 0.3 and spoils the six points around it, worth 0.9 each.
    assert explain(position, wavering).dead == set(position.stones(WHITE))
    wavering[:, :3] = -0.9
    assert explain(position, wavering).dead == set(position.stones(WHITE)) - set(corner)


@pytest.mark.parametrize("life, dies", [(0.7, False), (0.5, True)])
def test_a_sure_chain_is_not_talked_dead_by_an_open_border(life: float, dies: bool) -> None:
    # The gap joins Black's eye with points that are expected to be White's: 27 against 6.
    position = position_of(
        """
        X X . . . . . . . . . O .
        . X . . . . . . . . . O .
        X X . . . . . . . . . O .
        """,
        AREA,
    )
    expected = owned("\n".join(["XX" + 11 * "O"] * 3))
    expected[:, :2] = life
    assert explain(position, expected).dead == (set(position.stones(BLACK)) if dies else set())


def test_groups_are_chains_that_nothing_but_empty_points_keeps_apart() -> None:
    position = position_of(
        """
        X . X O . O
        . . . O O .
        O O O O . O
        """,
        AREA,
    )
    chains = find_chains(position)
    groups = find_groups(position, chains, dead=())
    # White's chain has the two eyes on the right, so it is proven and belongs to no group.
    assert [chain.proven for chain in chains if chain.color == WHITE] == [WHITE] * len(
        [chain for chain in chains if chain.color == WHITE]
    )
    assert [sorted(p for chain in group for p in chain.stones) for group in groups] == [
        vertices("A3 C3", position)
    ]


# The whole judgement ------------------------------------------------------------------------------


class Biased(FlatEvaluator):
    """Takes everything for Black's when Black is to move, and nearly so for White's otherwise."""

    has_ownership = True

    def evaluate(self, batch: EvalBatch, n: int, *, use_cache: bool = True) -> None:
        """Fill in an ownership of 0.9 for whoever is to move."""
        super().evaluate(batch, n, use_cache=use_cache)
        batch.ownership[:n] = 0.9


def test_a_net_expects_the_same_again() -> None:
    net = NetEvaluator(OnnxNet(TINY, "cpu"), streams=1, max_batch=8)
    position = position_of(DEAD_STONES, AREA)
    first, second = expected_ownership(net, position), expected_ownership(net, position)
    assert first is not None and second is not None
    assert np.array_equal(first, second), "no cache answers for all symmetries"


def test_the_turn_and_the_moves_before_do_not_matter() -> None:
    position = position_of(DEAD_STONES, AREA)
    expected = expected_ownership(Biased(), position)
    assert expected is not None and np.allclose(expected, 0.0)
    before = judge(Biased(), position)
    for _ in range(2):
        position.play(position.to_play, PASS)
        assert judge(Biased(), position) == before
    bare = without_history(position, WHITE)
    assert bare.ply == 0 and bare.to_play == WHITE
    assert np.array_equal(bare.grid(), position.grid())


FIGHT = """
    . . . X . O .
    O O O X . O .
    X X O X . O .
    . X O X . O .
    . X O X . O .
    . X O X . O .
    . X O X . O .
"""


@pytest.mark.parametrize("winner", [BLACK, WHITE])
def test_a_group_in_doubt_is_read_out(winner: int) -> None:
    position = position_of(FIGHT, AREA)
    fights = read_fights(Verdict(winner), position, explain(position, np.zeros((7, 7), np.float32)))
    assert fights
    for fight in fights:
        assert fight.is_dead == (fight.group[0].color != winner)
        assert min(fight.chances) == pytest.approx(max(fight.chances))


def test_no_group_is_read_once_the_reading_is_stopped() -> None:
    position = position_of(FIGHT, AREA)
    found = explain(position, np.zeros((7, 7), np.float32))
    stop = threading.Event()
    stop.set()
    assert read_fights(Verdict(BLACK), position, found, stop) == []


SEKI = """
    . O O O . X O
    X X X X X X O
    O O O O O O O
    . O . . . . .
    . . . . . X .
"""
"""Who plays on one of the two points in the first row is captured; Black, if he captures the four
stones that White then has there, keeps a row of four."""


@pytest.mark.parametrize("stone", ["A4", "B5"])
def test_a_group_in_seki_lives_whatever_the_net_expects(stone: str) -> None:
    position = position_of(SEKI, AREA)
    found = explain(position, None)
    (chain,) = (one for one in found.chains if vertices(stone, position)[0] in one.stones)
    far = vertices("F1", position)
    expected = found.expected.copy()
    expected[position.stones(BLACK)], expected[position.stones(WHITE)] = 0.9, -0.9
    expected[list(chain.stones)] = -0.5 if chain.color == BLACK else 0.5
    expected[far] = -0.9
    given_up = replace(found, dead=frozenset({*chain.stones, *far}), expected=expected)
    (fight,) = read_fights(FlatEvaluator(favourite=PASS), position, given_up)
    assert fight.stones == {*chain.stones} and fight.was_dead and not fight.is_dead


def test_a_group_on_which_little_hangs_is_not_read_out(monkeypatch: pytest.MonkeyPatch) -> None:
    position = position_of(FIGHT, AREA)
    found = explain(position, np.zeros((7, 7), np.float32))
    monkeypatch.setattr("gtp_engine.play.adjudication.fights.LEAST_AT_STAKE", 50.0)
    assert read_fights(Verdict(BLACK), position, found) == []


def test_unclear_readings_change_nothing() -> None:
    group = tuple(find_chains(position_of(FIGHT, AREA))[:1])
    for was_dead in (True, False):
        assert Fight(group, was_dead, (0.5, 0.7)).is_dead is was_dead
        assert Fight(group, was_dead, (0.1, 0.6)).is_dead
        assert not Fight(group, was_dead, (0.8, 1.0)).is_dead
