"""Answers: perspectives, forms and positions, against numbers worked out by hand."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.frontends.analysis_client import query

from gtp_engine.coords import BLACK, PASS, WHITE, parse_vertex
from gtp_engine.evaluators.net_evaluator import RawEvaluation
from gtp_engine.frontends.analysis.answer import answer, no_answer, position_hashes
from gtp_engine.frontends.analysis.fields import QueryError
from gtp_engine.frontends.analysis.game import QueryGame
from gtp_engine.frontends.analysis.overrides import AnalysisSettings
from gtp_engine.frontends.analysis.query import KNOWN_FIELDS, Query, parse_query
from gtp_engine.frontends.gtp.parameters import PARAMETERS
from gtp_engine.frontends.gtp.server import COMMANDS
from gtp_engine.go.position import Position
from gtp_engine.search.analysis import Analysis, MoveReport

OWNED = np.array([[0.5, -0.25], [1.0, 0.0]], np.float32)


def parse(**changes: object) -> Query:
    return parse_query(query(**changes), AnalysisSettings())


def found(to_play: int) -> Analysis:
    move = MoveReport(
        point=parse_vertex("B1", 2, 2),
        visits=6,
        winrate=0.75,
        score_lead=2.0,
        score_stdev=4.0,
        utility=0.625,
        prior=0.5,
        lcb=0.5,
        utility_lcb=0.125,
        order=0,
        pv=(parse_vertex("B1", 2, 2), PASS),
        pv_visits=(6, 3),
        pv_edge_visits=(5, 2),
        ownership=OWNED,
        ownership_stdev=abs(OWNED),
    )
    return Analysis(
        to_play=to_play,
        width=2,
        height=2,
        visits=8,
        playouts=8,
        nodes=5,
        elapsed=0.1,
        winrate=0.625,
        score_lead=1.0,
        score_stdev=5.0,
        utility=0.5,
        raw_winrate=0.375,
        raw_score_lead=-1.5,
        is_final=True,
        moves=(move,),
        ownership=OWNED,
    )


def answered(to_play: int, view: str, **changes: object) -> dict[str, object]:
    asked = parse(overrideSettings={"reportAnalysisWinratesAs": view}, **changes)
    return answer(asked, 3, Position(2), found(to_play), None)


@pytest.mark.parametrize(
    ("to_play", "view", "is_turned"),
    [
        (BLACK, "BLACK", False),
        (WHITE, "BLACK", True),
        (BLACK, "WHITE", True),
        (WHITE, "WHITE", False),
        (WHITE, "SIDETOMOVE", False),
    ],
)
def test_numbers_speak_for_whom_the_client_names(to_play: int, view: str, is_turned: bool) -> None:
    given = answered(to_play, view, includeOwnership=True)
    move, root = given["moveInfos"][0], given["rootInfo"]  # type: ignore[index]
    assert root["currentPlayer"] == ("B" if to_play == BLACK else "W")
    assert move["winrate"] == (0.25 if is_turned else 0.75)
    assert move["lcb"] == 0.5
    assert move["scoreLead"] == (-2.0 if is_turned else 2.0)
    assert move["utility"] == (-0.625 if is_turned else 0.625)
    assert move["utilityLcb"] == (-0.125 if is_turned else 0.125)
    assert move["scoreStdev"] == 4.0 and move["prior"] == 0.5
    assert root["winrate"] == (0.375 if is_turned else 0.625)
    assert root["rawWinrate"] == (0.625 if is_turned else 0.375)
    assert root["rawLead"] == (1.5 if is_turned else -1.5)
    sign = -1 if is_turned else 1
    assert given["ownership"] == [sign * 0.5, sign * -0.25, sign * 1.0, 0.0]


def test_only_what_was_asked_for() -> None:
    plain = answered(BLACK, "BLACK")
    assert set(plain) == {"id", "turnNumber", "isDuringSearch", "moveInfos", "rootInfo"}
    assert plain["turnNumber"] == 3 and plain["isDuringSearch"] is False
    move = plain["moveInfos"][0]  # type: ignore[index]
    assert move["pv"] == ["B1", "pass"] and move["visits"] == 6 and move["order"] == 0
    assert not {"pvVisits", "ownership", "ownershipStdev"} & set(move)
    full = answered(
        BLACK,
        "BLACK",
        includePVVisits=True,
        includeMovesOwnership=True,
        includeMovesOwnershipStdev=True,
    )
    move = full["moveInfos"][0]  # type: ignore[index]
    assert move["pvVisits"] == [6, 3] and move["pvEdgeVisits"] == [5, 2]
    assert move["ownership"] == [0.5, -0.25, 1.0, 0.0]
    assert move["ownershipStdev"] == [0.5, 0.25, 1.0, 0.0]


def test_a_policy_has_minus_one_for_illegal_moves_and_the_pass_last() -> None:
    policy = np.array([0.5, np.nan, 0.25, 0.125, 0.125], np.float32)
    given = answer(parse(), 0, Position(2), found(BLACK), policy)
    assert given["policy"] == [0.5, -1.0, 0.25, 0.125, 0.125]


RAW = RawEvaluation(
    to_play=WHITE,
    symmetry=0,
    win=0.5,
    loss=0.25,
    no_result=0.25,
    lead=3.0,
    score_mean=2.0,
    score_stdev=5.0,
    var_time=8.0,
    shortterm_winloss_error=0.5,
    shortterm_score_error=1.5,
    policy=np.zeros((2, 2), np.float32),
    policy_pass=0.0,
    ownership=None,
)


def test_what_the_net_says_without_a_search() -> None:
    asked = parse(rules="japanese", includeNoResultValue=True, includePolicy=True)
    policy = np.array([0.5, np.nan, 0.25, 0.125, 0.125], np.float32)
    given = answer(asked, 0, Position(2), found(WHITE), policy, RAW, True)
    root, move = given["rootInfo"], given["moveInfos"][0]
    assert root["rawScoreSelfplay"] == -2.0 and root["rawScoreSelfplayStdev"] == 5.0
    # An error of a value, from -1 to 1, is half as large for a winrate.
    assert root["rawStWrError"] == 0.25 and root["rawStScoreError"] == 1.5
    assert root["rawNoResultProb"] == move["noResultValue"] == 0.25
    assert root["rawVarTimeLeft"] == 8.0
    assert root["humanWinrate"] == 0.375 and root["humanScoreMean"] == -2.0
    assert root["humanScoreStdev"] == 5.0 and move["humanPrior"] == move["prior"]
    assert given["humanPolicy"] == given["policy"]
    assert (root["humanStWrError"], root["humanStScoreError"]) == (0.25, 1.5)
    # Superko knows no games without result; a net of another kind says nothing of people.
    asked = parse(rules="tromp-taylor", includeNoResultValue=True)
    plain = replace(RAW, var_time=None, shortterm_winloss_error=None)
    given = answer(asked, 0, Position(2), found(WHITE), None, plain)
    assert given["moveInfos"][0]["noResultValue"] == 0.0
    unknown = {"rawStWrError", "rawStScoreError", "rawVarTimeLeft", "humanWinrate"}
    assert not unknown & set(given["rootInfo"])


def test_the_move_to_be_played_has_the_largest_selection_value() -> None:
    analysis = found(WHITE)
    first, second = (replace(analysis.moves[0], order=n, visits=9 + n) for n in (0, 1))
    both = replace(analysis, moves=(first, second))
    entries = answer(parse(), 0, Position(2), both, None, RAW)["moveInfos"]
    assert [entry["playSelectionValue"] for entry in entries] == [10, 10]


def names_in(text: str) -> list[str]:
    """Return the names in a text, without those that brackets explain."""
    return re.findall(r"`([\w-]+)`", re.sub(r"\([^)]*\)", "", text))


def test_what_is_said_of_katagos_dialect_is_true() -> None:
    docs = Path(__file__).parents[2] / "docs"
    page = (docs / "gtp.md").read_text(encoding="utf-8").partition("## KataGo's dialect")[2]
    table = page.partition("\n\n`overrideSettings`")[0]
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| ")][1:]
    asked = parse(
        rules="japanese",
        includePVVisits=True,
        includeMovesOwnership=True,
        includeMovesOwnershipStdev=True,
        includeNoResultValue=True,
    )
    full = answer(asked, 0, Position(2), found(WHITE), None, RAW, True)
    known: dict[str, Callable[[str], bool]] = {
        "parameters": PARAMETERS.__contains__,
        "a move in an answer": full["moveInfos"][0].__contains__,
        "the position in an answer": full["rootInfo"].__contains__,
    }
    n_there = n_missing = 0
    for what, *columns in rows:
        is_known = known.pop(what.strip("| "))
        there, missing = map(names_in, columns)
        assert [name for name in there if not is_known(name)] == []
        assert [name for name in missing if is_known(name)] == []
        n_there += len(there)
        n_missing += len(missing)
    assert not known and (n_there, n_missing) == (66, 5)
    unlisted = {"kata-search_debug", "kata-debug-print-tc", "genmove_debug"}
    assert unlisted <= set(COMMANDS) and "debug_moves" not in COMMANDS
    page = (docs / "analysis.md").read_text(encoding="utf-8")
    fields = names_in(page.partition("All of KataGo's fields work:")[2].partition("Points are")[0])
    assert len(fields) == 28 and set(fields) <= set(KNOWN_FIELDS)


def test_a_turn_that_was_never_looked_at() -> None:
    expected = {"id": "q", "turnNumber": 2, "isDuringSearch": False, "noResults": True}
    assert no_answer(parse(), 2) == expected


def play(*vertices: str, size: int = 5) -> Position:
    position = Position(size)
    for vertex in vertices:
        position.play(position.to_play, parse_vertex(vertex, size, size))
    return position


def test_hashes_tell_positions_apart_and_mirrors_together() -> None:
    one, alike = position_hashes(play("B2", "C4"))
    same, _ = position_hashes(play("B2", "C4"))
    mirrored, alike_mirrored = position_hashes(play("D2", "C4"))
    other_player, other_alike = position_hashes(play("B2", "C4", "pass"))
    assert one == same and one != mirrored and alike == alike_mirrored
    assert other_player != one and other_alike != alike
    assert len(one) == len(alike) == 32


def test_a_ko_is_part_of_the_hash() -> None:
    shape = ("B3", "C3", "C4", "D4", "C2", "D2", "A1", "E3")
    # Black takes at D3; the same stones without the ko's ban come about by a set-up.
    position = play(*shape, "D3")
    assert int(position.board["ko_point"]) == parse_vertex("C3", 5, 5)
    plain = Position(5)
    plain.set_up(position.stones(BLACK), position.stones(WHITE), position.to_play)
    assert position_hashes(position)[0] != position_hashes(plain)[0]


def test_positions_of_a_game() -> None:
    asked = parse(
        initialStones=[["B", "A1"], ["B", "A1"], ["W", "E5"]],
        moves=[["B", "C3"], ["B", "D4"], ["W", "pass"]],
        initialPlayer="W",
    )
    game = QueryGame(asked)
    assert game.position(0).to_play == WHITE and game.position(0).ply == 0
    assert game.position(1).to_play == WHITE
    assert game.position(2).to_play == WHITE
    assert game.position(3).to_play == BLACK and game.position(3).ply == 3
    assert game.position(2).stones(BLACK) == sorted(
        parse_vertex(vertex, 5, 5) for vertex in ("A1", "C3", "D4")
    )


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"moves": [["B", "C3"], ["W", "C3"]]}, "moves", "Illegal move 1: C3"),
        ({"initialStones": [["B", "A1"], ["W", "A2"], ["W", "B1"]]}, "initialStones", "libert"),
    ],
)
def test_games_that_cannot_be(changes: dict[str, object], field: str, message: str) -> None:
    game = QueryGame(parse(**changes))
    for _ in range(2):
        with pytest.raises(QueryError, match=message) as caught:
            game.position(0)
        assert caught.value.field == field
