"""Reviews of games: what is searched, what is made of it, and what strange records do to pages."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.paths import TINY_NET

from gtp_engine.children import own_command
from gtp_engine.commands import review as review_command
from gtp_engine.commands.registry import run
from gtp_engine.coords import BLACK, PASS, WHITE, parse_vertex
from gtp_engine.evaluators.fake import FakeEvaluator
from gtp_engine.frontends.review.findings import class_of, make_report, phase_of
from gtp_engine.frontends.review.judgement import LETTERS, Candidate, Judgement, Spot
from gtp_engine.frontends.review.overview import color_of_player, overview_page
from gtp_engine.frontends.review.page import game_page
from gtp_engine.frontends.review.reasons import explain
from gtp_engine.frontends.review.sgf_notes import annotated_sgf
from gtp_engine.frontends.review.stages import (
    DEEPEST,
    Material,
    Mistake,
    Wish,
    _confirm,
    position_at,
    review_stages,
)
from gtp_engine.frontends.review.work import ReviewTask, SearchLog, run_reviews
from gtp_engine.go.game_record import GameRecord
from gtp_engine.go.position import Position
from gtp_engine.go.sgf import load_sgf, parse_sgf
from gtp_engine.play.analysis_scheduler import AnalysisScheduler

GAME = (
    "(;GM[1]FF[4]SZ[9]KM[7]PB[Ada]PW[Bo]RE[B+2.5]DT[2026-01-02];B[ee];W[cc];B[gc];W[cg];B[gg]"
    ";W[ec];B[dc];W[db];B[fc];W[dd];B[eb];W[];B[ce])"
)
EVIL = '</script><script>alert(1)</script><img src=x onerror="alert(2)">\u2028&amp;'


def judgement(
    lead: float, best: int = PASS, owners: str = "", *, to_play: int = BLACK, share: float = 1.0
) -> Judgement:
    """Return what a search of 100 visits might say."""
    candidate = Candidate(best, round(100 * share), 0.5 + lead / 100.0, lead, (best,))
    return Judgement(100, to_play, 0.5 + lead / 100.0, lead, owners, (candidate,))


def carry_out(
    record: GameRecord,
    leads: dict[Spot, float],
    best: dict[int, int],
    searched: list[Wish] | None = None,
    special: Callable[[Wish], float | None] = lambda wish: None,
    quick: dict[int, int] | None = None,
) -> Material:
    """Answer every wish of a review: with a lead by spot, 0 elsewhere, and best moves by turn.

    Before others goes what is special about a wish; quick searches may have other best moves.
    """
    searched = [] if searched is None else searched
    stages = review_stages(record, 10)
    wishes = next(stages)
    while True:
        found = {}
        searched += wishes
        for wish in wishes:
            turn = wish.spot.turn
            played = record.moves[turn].point if turn < len(record.moves) else PASS
            to_play = BLACK if turn % 2 == 0 else WHITE
            liked = best | (quick or {}) if wish.visits == 10 else best
            move = liked.get(turn, played)
            lead = special(wish)
            lead = leads.get(wish.spot, 0.0) if lead is None else lead
            found[wish] = judgement(lead, move, to_play=to_play)
        try:
            wishes = stages.send(found)
        except StopIteration as end:
            material: Material = end.value
            return material


# What is searched --------------------------------------------------------------------------------


def test_a_mistake_is_what_two_deep_searches_of_the_same_depth_say() -> None:
    record = parse_sgf(GAME)
    better = parse_vertex("C3", 9, 9)
    # White's first move: Black leads by 8 after it, and by 1 after the better one.
    leads = {Spot(1): 1.0, Spot(2): 8.0, Spot(1, better): 1.0}
    material = carry_out(record, leads, {1: better})
    (mistake,) = material.mistakes
    assert (mistake.turn, mistake.color, mistake.best) == (1, WHITE, better)
    assert mistake.loss == 7.0
    assert mistake.chance_lost == pytest.approx(0.07)
    assert material.costs[1] == (7.0, pytest.approx(0.07))
    # A quick search would have played it too.
    quick = {1: record.moves[1].point}
    material = carry_out(record, leads, {1: better}, quick=quick)
    assert material.best[1] == better and len(material.mistakes) == 1
    move = make_report(record, material, name="game", digest="")["moves"][1]
    assert not move["is_best"] and move["class"] is not None


def test_stones_that_a_record_sets_up_are_no_loss_of_the_move_before() -> None:
    better = parse_vertex("C3", 9, 9)
    leads = {Spot(1): 1.0, Spot(2): 8.0, Spot(1, better): 1.0}
    assert carry_out(parse_sgf(GAME), leads, {1: better}).mistakes
    record = parse_sgf(GAME.replace(";W[cc]", ";W[cc];AB[ff]", 1))
    material = carry_out(record, leads, {1: better})
    assert material.costs[1] == (0.0, 0.0) and not material.mistakes


def test_what_seemed_a_mistake_and_is_the_best_move_costs_nothing() -> None:
    record = parse_sgf(GAME)
    material = carry_out(record, {Spot(1): 1.0, Spot(2): 8.0}, {})
    assert not material.mistakes
    assert material.costs[1] == (0.0, 0.0)
    material = carry_out(record, {Spot(1): 1.0, Spot(2): 8.0}, {}, quick={1: PASS})
    assert make_report(record, material, name="game", digest="")["moves"][1]["is_best"]


def test_a_great_move_left_open_for_long_is_one_mistake_of_each_player() -> None:
    record = parse_sgf(GAME)
    better = parse_vertex("A5", 9, 9)
    turns = (0, 2, 4)
    leads = {Spot(turn, better): 6.0 + turn for turn in turns}
    leads |= {Spot(turn): 3.0 for turn in turns}
    material = carry_out(record, leads, dict.fromkeys(turns, better))
    assert [mistake.turn for mistake in material.mistakes] == [4]  # the greatest


def test_the_drill_knows_what_every_legal_answer_loses() -> None:
    record = parse_sgf(GAME)
    better, other = parse_vertex("C3", 9, 9), parse_vertex("A1", 9, 9)
    leads = {Spot(1): 1.0, Spot(2): 8.0, Spot(1, better): 1.0, Spot(1, other): 3.5}
    (mistake,) = carry_out(record, leads, {1: better}).mistakes
    legal = position_at(record)(Spot(1)).legal_moves(WHITE)
    assert set(mistake.answers) == set(legal)
    assert mistake.answers[better] == 0.0
    assert mistake.answers[other] == 2.5
    assert mistake.answers[record.moves[1].point] == 7.0
    assert mistake.answers[parse_vertex("J9", 9, 9)] == 0.0  # better than the best is not a loss


def test_the_drill_looks_closer_at_what_seems_right() -> None:
    record = parse_sgf(GAME)
    better = parse_vertex("C3", 9, 9)
    leads = {Spot(1, move): 9.0 for move in (PASS, *Position(9, 9).points())}
    near = [f"{column}{row}" for column in "ABD" for row in range(1, 10)]
    leads |= {Spot(1, parse_vertex(v, 9, 9)): 1.0 + 0.01 * n for n, v in enumerate(near)}
    leads |= {Spot(1): 1.0, Spot(2): 8.0, Spot(1, better): 1.0}
    searched: list[Wish] = []
    (mistake,) = carry_out(record, leads, {1: better}, searched).mistakes
    looks = [
        [wish.visits for wish in searched if wish.spot == Spot(1, parse_vertex(name, 9, 9))]
        for name in (*near, "J9")
    ]
    assert looks == [[8, 10, 100]] * 24 + [[8, 10]] * 3 + [[8]]
    # Three seem right and were not read out; J9 seems wrong, which a glance can see.
    assert mistake.unsure == {parse_vertex(name, 9, 9) for name in near[24:]}


def test_what_was_played_is_never_right_and_no_answer_read_out_is_near_the_border() -> None:
    record = parse_sgf(GAME)
    better = parse_vertex("C3", 9, 9)
    leads = {Spot(1): 1.0, Spot(2): 8.0, Spot(1, better): 1.0}
    (mistake,) = carry_out(record, leads, {1: better}).mistakes
    for losses, border in (((0.0, 0.4, 1.3, 3.0), 0.85), ((0.0, 0.9, 2.2), 1.5)):
        mistake.answers = dict(enumerate(losses))
        mistake.read_out = set(mistake.answers)
        assert mistake.nearly == pytest.approx(border)
        mistake.answers[99] = border  # not read out, so that it does not count
        assert mistake.nearly == pytest.approx(border) and mistake.unsure == {99}
    # It may have cost more chances than points.
    for lost, border in ((0.8, 0.6), (0.4, 0.2)):
        object.__setattr__(mistake.after_played, "black_lead", 1.0 + lost)
        mistake.answers = {better: 0.0, mistake.played: lost, 5: 0.4 if lost > 0.5 else 0.0}
        mistake.read_out = set(mistake.answers)
        assert mistake.nearly == pytest.approx(border)


def test_a_mistake_loses_the_lesser_of_what_two_searches_say() -> None:
    record = parse_sgf(GAME)
    better = parse_vertex("C3", 9, 9)
    for confirmed, said in ((1.5, [0.5]), (9.0, [7.0])):
        leads = {Spot(1): 1.0, Spot(2): 8.0, Spot(1, better): 1.0}
        searched: list[Wish] = []

        def deepest(wish: Wish, lead: float = confirmed) -> float | None:
            return lead if wish == Wish(Spot(2), 10 * DEEPEST) else None

        material = carry_out(record, leads, {1: better}, searched, deepest)
        assert material.costs[1][0] == said[0]
        assert [mistake.loss for mistake in material.mistakes] == [x for x in said if x >= 1.5]


def test_a_mistake_loses_the_lesser_of_two_chances_too() -> None:
    better = parse_vertex("C3", 9, 9)

    def tried(lead: float, winrate: float) -> Mistake:
        after_played, after_best = judgement(0.0), judgement(lead)
        object.__setattr__(after_best, "black_winrate", 0.5 + winrate)
        return Mistake(0, BLACK, PASS, better, after_played, after_best)

    for first, second in (((3.0, 0.1), (2.0, 0.4)), ((2.0, 0.4), (3.0, 0.1))):
        mistake, again = tried(*first), tried(*second)
        stage = _confirm([mistake], 10)
        wished = next(stage)
        with pytest.raises(StopIteration):
            stage.send(dict(zip(wished, (again.after_played, again.after_best), strict=True)))
        assert (mistake.loss, mistake.chance_lost) == (2.0, pytest.approx(0.1))


def test_limit_and_answers_are_of_as_many_decimals() -> None:
    record, better = parse_sgf(GAME), parse_vertex("C3", 9, 9)
    names = [f"{column}{row}" for column in "AB" for row in range(1, 9)]
    lost = {name: 0.46 + 0.08 * n for n, name in enumerate(names)}  # some near any limit
    leads = {Spot(1, move): 9.0 for move in (PASS, *Position(9, 9).points())}
    leads |= {Spot(1, parse_vertex(name, 9, 9)): 1.0 + points for name, points in lost.items()}
    leads |= {Spot(1): 1.0, Spot(2): 8.0, Spot(1, better): 1.0}
    material = carry_out(record, leads, {1: better})
    (mistake,) = make_report(record, material, name="game", digest="")["mistakes"]
    nearly = mistake["nearly"]
    assert any(nearly < points < nearly + 0.045 for points in lost.values())
    assert {name: mistake["answers"][name] for name in names} == pytest.approx(lost)
    for name, points in lost.items():
        assert (mistake["answers"][name] <= nearly) == (points <= nearly)


def run_all(record: GameRecord, log: SearchLog) -> tuple[Material | None, list[Wish]]:
    """Review a game with the fake evaluator; return what came of it and what was searched."""
    ends: list[Material | None] = []
    searched: list[Wish] = []
    known = set(log.found)
    run_reviews(
        AnalysisScheduler(FakeEvaluator(), at_once=4),
        [ReviewTask(record, 4, log)],
        lambda task, wish: searched.append(wish),
        lambda task, material: ends.append(material),
    )
    (material,) = ends
    return material, [wish for wish in searched if wish not in known]


def test_a_review_that_was_broken_off_goes_on(tmp_path: Path) -> None:
    record = parse_sgf(GAME)
    path = tmp_path / "game.part"
    log = SearchLog(path, {"game": "one"})
    whole, searched = run_all(record, log)
    assert whole is not None
    assert len(searched) == len(set(searched)) == len(log.found)
    log.close(remove=False)
    lines = path.read_bytes().splitlines(keepends=True)
    strange = b'{"turn":1}\n{"turn":1,"instead":[],"wanted":4,"judgement":{}}\n'
    # The last line is cut off in the middle.
    path.write_bytes(b"".join(lines[:10]) + strange + b"".join(lines[10:20]) + lines[20][:30])
    resumed = SearchLog(path, {"game": "one"})
    assert len(resumed.found) == 19
    again, missing = run_all(record, resumed)
    assert len(missing) == len(searched) - 19
    assert again is not None
    assert [each.turn for each in again.mistakes] == [each.turn for each in whole.mistakes]
    resumed.close(remove=True)
    assert not path.exists()


def test_a_journal_of_another_game_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "game.part"
    log = SearchLog(path, {"game": "one"})
    log.add(Wish(Spot(0), 4), judgement(0.0))
    log.close(remove=False)
    other = SearchLog(path, {"game": "two"})
    other.close(remove=False)
    path.write_bytes(b'{"game":"one"}\n\xff\xfe[[[\n')
    damaged = SearchLog(path, {"game": "one"})
    damaged.close(remove=False)
    assert not other.found
    assert not damaged.found


def test_a_game_that_fails_does_not_stop_the_next(tmp_path: Path) -> None:
    class Failing(FakeEvaluator):
        def evaluate(self, *args: object, **kwargs: object) -> None:
            raise RuntimeError("the net broke")

    record = parse_sgf(GAME)
    tasks = [ReviewTask(record, 4, SearchLog(tmp_path / f"{n}.part", {})) for n in range(3)]
    ended: list[str] = []
    run_reviews(
        AnalysisScheduler(Failing(), at_once=4),
        tasks,
        lambda task, wish: None,
        lambda task, material: ended.append(f"{task.failure}"),
    )
    for task in tasks:
        task.log.close(remove=True)
    assert ended == ["the net broke"] * 3


# Figures -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "expected"),
    [(12.0, 0), (11.9, 1), (6.0, 1), (3.0, 2), (1.5, 3), (0.5, 4), (0.49, None)],
)
def test_classes_are_katrains(loss: float, expected: int | None) -> None:
    assert class_of(loss) == expected


@pytest.mark.parametrize(
    ("number", "size", "expected"),
    [(50, 19, 0), (51, 19, 1), (151, 19, 2), (30, 13, 0), (81, 13, 2), (15, 9, 0), (16, 9, 1)],
)
def test_phases(number: int, size: int, expected: int) -> None:
    assert phase_of(number, size, size) == expected


def test_classes_and_words_go_by_the_loss_that_is_told() -> None:
    record, better = parse_sgf(GAME), parse_vertex("C3", 9, 9)
    leads = {Spot(1): 1.0, Spot(2): 3.96, Spot(1, better): 1.0}
    report = make_report(record, carry_out(record, leads, {1: better}), name="game", digest="")
    (mistake,) = report["mistakes"]
    assert [each["class"] for each in (mistake, report["moves"][1])] == [class_of(3.0)] * 2
    assert "C7 loses 3 points (mistake); better is C3." in annotated_sgf(record, report)
    assert not mistake["by_chance"] and "BM[1]" in annotated_sgf(record, report)
    mistake |= {"loss": 1.0, "class": 4, "chance_lost": 0.5, "chance_class": 0, "by_chance": True}
    assert "BM[2]" in annotated_sgf(record, report)
    mistake |= {"chance_lost": 0.3, "chance_class": 1}
    words = "30 % of the chance to win (large mistake)"
    assert f"C7 loses {words}; better is C3." in " ".join(annotated_sgf(record, report).split())
    assert f"C7 lost {words}." in overview_page([report, report], "Bo")


def test_an_even_score_has_no_sign_and_no_leader() -> None:
    record, better = parse_sgf(GAME), parse_vertex("C3", 9, 9)
    leads = {Spot(1): -0.04, Spot(2): 8.0, Spot(1, better): -0.04}
    report = make_report(record, carry_out(record, leads, {1: better}), name="game", digest="")
    text = annotated_sgf(record, report)
    assert "After this: Even." in text and "Even; Black wins 50%." in text
    assert "V[0.0]" in text and "-0.0" not in text


def test_stones_that_a_record_sets_up_are_a_handicap_without_being_called_so() -> None:
    stones = "AB[cc][gc][cg]PL[W]"
    for named in ("", "HA[3]"):
        record = parse_sgf(f"(;SZ[9]{named}{stones};W[ee];B[eg])")
        report = make_report(record, carry_out(record, {}, {}), name="game", digest="")
        assert report["game"]["handicap"] == 3


def test_players_are_found_by_name() -> None:
    game = {"black": "Ada L.", "white": "Bo"}
    assert color_of_player(game, "bo") == "white"
    assert color_of_player(game, "ada") == "black"
    assert color_of_player(game, "Cy") is None
    assert color_of_player({"black": "", "white": ""}, " ") is None


# Reasons -----------------------------------------------------------------------------------------


def owners_text(grid: np.ndarray) -> str:
    """Return ownership as reviews write it."""
    return "".join(LETTERS[round(32 * (each + 1))] for each in grid.ravel())


def mistake_of(
    position: Position, played: str, best: str, after: np.ndarray, better: np.ndarray, **more: float
) -> Mistake:
    """Return a mistake of Black's, from the ownership after it and after the better move."""
    points = [parse_vertex(each, 9, 9) for each in (played, best)]
    return Mistake(
        turn=0,
        color=BLACK,
        played=points[0],
        best=points[1],
        after_played=judgement(
            float(after.sum()), points[1], owners_text(after), to_play=WHITE, **more
        ),
        after_best=judgement(float(better.sum()), PASS, owners_text(better), to_play=WHITE),
    )


def board(*stones: tuple[str, str]) -> Position:
    """Return a 9x9 position from pairs of vertices of Black's and White's stones."""
    position = Position(9, 9)
    black, white = ([parse_vertex(v, 9, 9) for v in text.split()] for text in stones[0])
    position.set_up(black, white, BLACK)
    return position


def test_a_chain_that_can_be_taken_is_named_with_the_way() -> None:
    # White takes two stones at E4; if Black plays there they are connected to three others.
    position = board(("D5 E5 E3 F3 G4", "C5 D6 E6 F5 D4"))
    after, better = np.zeros((9, 9)), np.zeros((9, 9))
    after[4, 3:5], better[4, 3:5] = -0.9, 0.9
    (reason, *_) = explain(position, mistake_of(position, "J9", "E4", after, better, share=0.2))
    assert reason.kind == "own_captured"
    assert reason.evidence["stones"] == ["D5", "E5"]
    assert reason.evidence["line"] == ["E4"]
    assert reason.text == ("After J9, White can capture the 2 stones at D5 (E4); E4 prevents it.")
    # Both searches say that the stones live: what the reading says does not matter.
    after[after < 0] = 0.5
    safe = explain(position, mistake_of(position, "J9", "E4", after, better, share=0.2))
    assert "own_captured" not in [each.kind for each in safe]


def test_a_capture_that_was_missed_is_named() -> None:
    position = board(("B3 B4 B5", "A4 A5 B7 C7"))
    after, better = np.zeros((9, 9)), np.zeros((9, 9))
    for row in (4, 5):
        after[row, 0], better[row, 0] = -0.9, 0.9
    (reason, *_) = explain(position, mistake_of(position, "J9", "A6", after, better, share=0.2))
    assert reason.kind == "capture_missed"
    assert reason.text.startswith("A6 captures the 2 stones at A5")


def test_a_group_that_dies_is_named_only_where_both_searches_are_sure() -> None:
    position = board(("C3 C4 D4 E4", "G7"))
    after, better = np.zeros((9, 9)), np.zeros((9, 9))
    for row, col in ((6, 2), (5, 2), (5, 3), (5, 4)):
        after[row, col], better[row, col] = -0.8, 0.8
    (reason, *_) = explain(position, mistake_of(position, "J9", "J1", after, better, share=0.2))
    assert reason.kind == "own_group_dies"
    assert reason.text.startswith("Black's 4 stones at ")
    assert "die after J9" in reason.text
    assert "after J1 they live" in reason.text
    assert reason.evidence["chains"][0]["ownership_played"] == pytest.approx(-0.81, abs=0.02)
    after[after < 0] = -0.3
    unsure = explain(position, mistake_of(position, "J9", "J1", after, better, share=0.2))
    assert "own_group_dies" not in [each.kind for each in unsure]


def test_a_connection_is_named_where_the_opponent_takes_the_point() -> None:
    position = board(("C3 C4 E3 E4", "D4 G7"))
    flat = np.zeros((9, 9))
    better = np.full((9, 9), 0.05)
    sure = explain(position, mistake_of(position, "J9", "D3", flat, better))
    assert "connection_lost" in [each.kind for each in sure]
    assert "same_point" not in [each.kind for each in sure]  # which is what it says already
    unsure = explain(position, mistake_of(position, "J9", "D3", flat, better, share=0.3))
    assert "connection_lost" not in [each.kind for each in unsure]
    either = board(("C3 C4 E3 E4", "D5 G7"))  # D4 joins them too
    found = explain(either, mistake_of(either, "J9", "D3", flat, better))
    assert "connection_lost" not in [each.kind for each in found]


def test_the_part_of_the_board_that_lost_the_points_is_named() -> None:
    position = board(("C3", "G7"))
    after, better = np.zeros((9, 9)), np.zeros((9, 9))
    after[:3, 6:] = -0.5
    found = explain(position, mistake_of(position, "C7", "D7", after, better, share=0.2))
    (zone,) = [each for each in found if each.kind == "zone_lost"]
    assert zone.evidence["zone"] == "upper right"
    assert zone.evidence["points"] == pytest.approx(4.5, abs=0.1)


def test_the_big_place_and_the_lost_points_are_in_the_same_part() -> None:
    position = board(("C3", "G7"))
    after, better = np.zeros((9, 9)), np.zeros((9, 9))
    after[:3, 6:] = -0.5
    for best, kind in (("C1", "zone_lost"), ("G8", "elsewhere")):
        found = explain(position, mistake_of(position, "C7", best, after, better, share=0.2))
        assert [each.kind for each in found] == [kind]
        assert "upper right" in found[0].text
    after[6:, :3], better[3:6, 3:6] = -0.5, -0.45  # as much in two parts, less in the middle
    (reason,) = explain(position, mistake_of(position, "C7", "G2", after, better, share=0.2))
    assert (reason.kind, reason.text) == (
        "elsewhere",
        "The bigger move was at G2, lower right; C7 loses 4.9 points.",
    )


def test_what_costs_chances_and_no_points_is_told_in_chances() -> None:
    position = board(("C3", "G7"))
    flat, better = np.zeros((9, 9)), np.full((9, 9), 0.01)
    mistake = mistake_of(position, "C7", "G2", flat, better, share=0.2)
    object.__setattr__(mistake.after_best, "black_winrate", 0.8)
    (reason,) = explain(position, mistake)
    assert reason.text.endswith("C7 loses 30 % of the chance to win.")


def test_sente_is_lost_only_where_the_opponent_is_free_to_play_elsewhere() -> None:
    position = Position(9, 9)
    flat, better = np.zeros((9, 9)), np.full((9, 9), 0.03)
    for answer, elsewhere, is_said in (("C3", "G7", True), ("C3", "C3", False)):
        mistake = mistake_of(position, "A9", "B3", flat, better)
        for judged, move in ((mistake.after_best, answer), (mistake.after_played, elsewhere)):
            point = parse_vertex(move, 9, 9)
            object.__setattr__(judged, "candidates", (Candidate(point, 90, 0.5, 0.0, (point,)),))
        found = [each.text for each in explain(position, mistake)]
        said = (
            "B3 keeps sente: White answers at C3. After A9 White is free to play elsewhere, say G7."
        )
        assert (said in found) == is_said
        assert any("sente" in text for text in found) == is_said


def test_what_a_pass_gives_away_is_named() -> None:
    position = board(("C3", "G7"))
    flat, better = np.zeros((9, 9)), np.full((9, 9), 0.5 / 16)
    (reason,) = explain(position, mistake_of(position, "pass", "D7", flat, better))
    assert reason.text == (
        "There was still something to gain: D7 is worth 2.5 points more than a pass."
    )


def test_a_pass_is_no_point_that_both_want() -> None:
    position = board(("C3", "G7"))
    flat, better = np.zeros((9, 9)), np.full((9, 9), 0.03)
    assert explain(position, mistake_of(position, "D7", "pass", flat, better)) == []


def test_a_net_without_ownership_gets_reasons_too() -> None:
    position = board(("C3", "G7"))
    mistake = mistake_of(position, "C7", "D7", np.zeros((9, 9)), np.full((9, 9), 0.05))
    for each in (mistake.after_played, mistake.after_best):
        object.__setattr__(each, "ownership", "")
    assert [reason.kind for reason in explain(position, mistake)] == ["same_point"]


def test_without_evidence_nothing_is_said() -> None:
    position = board(("C3", "G7"))
    flat = np.zeros((9, 9))
    better = np.full((9, 9), 0.03)
    assert explain(position, mistake_of(position, "C7", "D7", flat, better, share=0.2)) == []


# The command -------------------------------------------------------------------------------------


def review(*arguments: object) -> int:
    """Run the command with a net that is quick."""
    net = ("--net", TINY_NET, "--visits", "4", "--threads", "1", "--seed", "1")
    return run(["review", *map(str, arguments), *net])


def embedded(page: str) -> dict[str, object]:
    """Return the data that a page holds."""
    text = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert text is not None
    found: dict[str, object] = json.loads(text[1])
    return found


def test_a_game_becomes_a_page_a_record_and_figures(tmp_path: Path) -> None:
    game = tmp_path / "game.sgf"
    game.write_text(GAME.replace(";B[gc]", ";B[gc]C[a comment]"))
    assert review(game, "--out", tmp_path / "out") == 0
    report = json.loads((tmp_path / "out" / "game.json").read_text())
    assert len(report["positions"]) == 14
    assert [move["number"] for move in report["moves"]] == list(range(1, 14))
    assert all(move["loss"] >= 0.0 for move in report["moves"])
    noted = load_sgf(tmp_path / "out" / "game.sgf")
    record = load_sgf(game)
    assert (noted.moves, noted.komi, noted.black_name) == (record.moves, 7.0, "Ada")
    assert noted.comments[3].startswith("a comment\n")
    page = (tmp_path / "out" / "game.html").read_text("utf-8")
    assert embedded(page)["size"] == [9, 9]
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [
        "game.html",
        "game.json",
        "game.sgf",
    ]


def test_what_is_reviewed_already_is_left_alone(tmp_path: Path, said: list[str]) -> None:
    game = tmp_path / "game.sgf"
    game.write_text(GAME)
    out = tmp_path / "out"
    assert review(game, "--out", out) == 0
    before = (out / "game.json").stat().st_mtime_ns
    (out / "game.part").touch()  # as a kill right after the review was written leaves it
    assert review(game, "--out", out) == 0
    assert not (out / "game.part").exists()
    assert (out / "game.json").stat().st_mtime_ns == before
    assert "1 of 1 games are reviewed already" in "".join(said)
    assert embedded((out / "game.html").read_text("utf-8"))["player"] is None
    assert review(game, "--out", out, "--player", "Bo") == 0
    assert embedded((out / "game.html").read_text("utf-8"))["player"] == "white"
    assert (out / "game.json").stat().st_mtime_ns == before


def test_a_folder_of_games_survives_a_kill_in_the_middle(tmp_path: Path) -> None:
    games, out = tmp_path / "games", tmp_path / "out"
    games.mkdir()
    for number in range(100):
        first, second = divmod(number, 25)
        points = [
            f"{'abcde'[at % 5]}{'abcde'[at // 5]}" for at in (second, (second + first + 1) % 25)
        ]
        moves = "".join(f";{'BW'[n]}[{point}]" for n, point in enumerate(points))
        (games / f"g{number:03}.sgf").write_text(f"(;GM[1]SZ[5]{moves})")
    command = own_command("review", str(games), "--out", str(out))
    command += ["--net", TINY_NET, "--visits", "2", "--threads", "1", "--runtime", "onnxruntime"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and len(list(out.glob("*.json"))) < 5:
            time.sleep(0.02)
        process.kill()
    done = {path.name: path.stat().st_mtime_ns for path in out.glob("*.json")}
    assert 5 <= len(done) < 100
    assert subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode == 0
    assert len(list(out.glob("*.json"))) == len(list(out.glob("g*.html"))) == 100
    assert not list(out.glob("g*.part"))
    assert {name: (out / name).stat().st_mtime_ns for name in done} == done


def test_another_game_of_the_same_name_gets_a_name_of_its_own(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for number, text in enumerate((GAME, GAME.replace("ee", "ed"))):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "game.sgf").write_text(text)
        assert review(folder / "game.sgf", "--out", out) == 0
    assert (out / "game.json").exists()
    assert (out / "game-2.json").exists()


def test_reviews_are_called_as_their_files(tmp_path: Path) -> None:
    folder = tmp_path / "C#1"
    folder.mkdir()
    (folder / "GAME.SGF").write_text(f"{GAME}(;GM[1]SZ[5];B[cc])")
    (folder / "a#1.sgf").write_text("(;GM[1]SZ[5];B[cc])")
    assert review(folder, "--out", tmp_path / "out") == 0
    names = {file.stem for file in (tmp_path / "out").glob("*.html")}
    assert names == {"GAME", "GAME-2", "a#1", "index"}


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="has no such names")
def test_names_in_another_encoding_are_shown_as_well_as_can_be(tmp_path: Path) -> None:
    for name in (b"caf\xe9.sgf", b"caf\xe8.sgf"):
        (tmp_path / os.fsdecode(name)).write_text("(;GM[1]SZ[5];B[cc])")
    assert review(tmp_path, "--out", tmp_path / "out") == 0
    names = {file.stem for file in (tmp_path / "out").glob("*.html")}
    assert names == {"caf\ufffd", "caf\ufffd-2", "index"}


def test_no_review_takes_the_place_of_a_game_or_is_reviewed(tmp_path: Path) -> None:
    for name, text in (("game", GAME), ("Index", GAME.replace("ee", "ed"))):
        (tmp_path / f"{name}.sgf").write_text(text)
    for _ in range(2):
        assert review(tmp_path, "--out", tmp_path) == 0
    assert (tmp_path / "game.sgf").read_text() == GAME
    names = {file.name for file in tmp_path.glob("*.html")}
    assert names == {"game-2.html", "Index-2.html", "index.html"}


def test_a_file_of_another_program_is_no_review(tmp_path: Path) -> None:
    game, out = tmp_path / "game.sgf", tmp_path / "out"
    game.write_text(GAME)
    out.mkdir()
    (out / "game.json").write_text('{"format": "gtp-engine review 1", "game": {}}')
    assert review(game, "--out", out) == 0
    assert (out / "game-2.html").exists()


def test_bad_files_get_a_sentence_and_the_rest_goes_on(tmp_path: Path, said: list[str]) -> None:
    games = tmp_path / "games"
    games.mkdir()
    (games / "a.sgf").write_text(GAME)
    (games / "broken.sgf").write_text("(;GM[1]SZ[99])")
    (games / "chess.sgf").write_text("(;GM[3];B[aa])")
    (games / "empty.sgf").write_text("(;GM[1]SZ[9])")
    (games / "long.sgf").write_text(
        "(;SZ[5:7]AB[aa][bb]PL[W]" + ";W[cc];B[]" + ";W[];B[]" * 10 + ")"
    )
    (games / "z.sgf").write_text(GAME.replace("Ada", "Cy"))
    (tmp_path / "nothing").mkdir()
    paths = games, tmp_path / "missing.sgf", tmp_path / "nothing"
    assert review(*paths, "--out", tmp_path / "out", "--player", "bo") == 1
    names = {file.name for file in (tmp_path / "out").glob("*.html")}
    assert names == {"a.html", "z.html", "long.html", "index.html"}
    for name in ("broken", "chess", "empty", "missing", "nothing: there is no game in it"):
        assert sum(name in sentence for sentence in said) == 1
    assert review(games / "a.sgf", "--out", tmp_path / "out", "--player", "Zed") == 1
    assert "--player: Zed plays in none of these games" in said
    index = (tmp_path / "out" / "index.html").read_text("utf-8")
    assert "Games of bo" in index
    assert "Typical mistakes" in index


@pytest.mark.parametrize("n_good", [0, 3])
def test_of_a_game_that_fails_only_what_was_searched_is_kept(
    tmp_path: Path,
    said: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    n_good: int,
) -> None:
    class Failing(FakeEvaluator):
        n_left = n_good * 4

        def evaluate(self, *args: Any, **kwargs: Any) -> Any:
            self.n_left -= 1
            if self.n_left < 0:
                raise RuntimeError("the net broke")
            return super().evaluate(*args, **kwargs)

    scheduler = AnalysisScheduler(Failing(), at_once=1, threads=1, batch=1)
    monkeypatch.setattr(review_command, "_open_scheduler", lambda *_: (scheduler, "fake"))
    game, out = tmp_path / "game.sgf", tmp_path / "out"
    game.write_text(GAME)
    assert review(game, "--out", out) == 1
    if n_good:
        assert [path.name for path in out.iterdir()] == ["game.part"]
    else:
        assert not out.exists() and capsys.readouterr().err == ""
    assert ("game: the net broke" in "".join(said)) and ("kept" in "".join(said)) == bool(n_good)


def test_text_of_a_record_cannot_leave_its_place(tmp_path: Path) -> None:
    game = tmp_path / "game.sgf"
    escaped = EVIL.replace("]", "\\]")
    game.write_text(
        GAME.replace("Ada", escaped).replace(";W[cc]", f";W[cc]C[{escaped}]"), encoding="utf-8"
    )
    assert review(game, "--out", tmp_path / "out", "--player", "<b>x") == 1  # nobody's name
    page = (tmp_path / "out" / "game.html").read_text("utf-8")
    assert page.count("<script") == page.count("</script>") == 2
    assert "<img" not in page
    assert embedded(page)["comments"] == {"2": EVIL}
    report = json.loads((tmp_path / "out" / "game.json").read_text())
    index = overview_page([report], "</title><b>")
    assert "<b>" not in index
    assert "<img" not in index
    for text in (page, index):
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
        assert policy is not None
        assert "default-src 'none'" in policy[1]
        assert "unsafe" not in policy[1]
        assert not re.findall(r'(?:src|href)="(?!\./)[^"]*"', text)


def test_a_page_of_300_moves_is_no_larger_than_500_kb() -> None:
    rng = np.random.default_rng(1)
    position = Position(19, 19)
    for _ in range(300):
        moves = position.legal_moves(position.to_play)
        position.play(position.to_play, int(rng.choice(moves)), strict=False)
    record = GameRecord(moves=position.moves)
    points = [point for point in position.points()]
    pv = tuple(int(each) for each in rng.choice(points, 12))
    candidates = tuple(Candidate(pv[n], 50, 0.5123, -12.34, pv) for n in range(5))
    owners = "".join(rng.choice(list(LETTERS), 361))
    each = Judgement(200, BLACK, 0.5123, -12.34, owners, candidates)
    mistakes = [
        Mistake(turn, BLACK, pv[0], pv[1], each, each, dict.fromkeys(points, 12.3))
        for turn in range(0, 20, 2)
    ]
    from gtp_engine.frontends.review.findings import make_report

    material = Material([each] * 301, [(1.25, 0.01)] * 300, [None] * 300, mistakes, [])
    report = make_report(record, material, name="game", digest="")
    page = game_page(record, {**report, "net": "net", "visits": 200})
    assert len(page.encode()) <= 500_000


def test_the_letters_of_ownership() -> None:
    assert len(LETTERS) == len(set(LETTERS)) == 65
    owners = judgement(0.0, owners="Ag.").owners()
    assert owners.tolist() == [-1.0, 0.0, 1.0]
