"""A review's page in a real browser, used as a person would."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.frontends.browser import assert_anybody_can_use, open_browser, open_tab, stones, tap

from gtp_engine.coords import BLACK, WHITE, parse_vertex
from gtp_engine.frontends.review.findings import make_report
from gtp_engine.frontends.review.judgement import LETTERS, Candidate, Judgement
from gtp_engine.frontends.review.overview import overview_page
from gtp_engine.frontends.review.page import game_page
from gtp_engine.frontends.review.stages import GoodMove, Material, Mistake
from gtp_engine.go.sgf import parse_sgf

GAME = (
    "(;GM[1]SZ[9]KM[7]PB[Ada]PW[</script><b>Bo]RE[W+2];B[ee];W[cc]C[a <b>comment</b>];B[gc];W[cg]"
    ";B[gg];W[ec])"
)


def vertex(name: str) -> int:
    """Return a point of 9x9."""
    return parse_vertex(name, 9, 9)


def review_files(folder: Path) -> tuple[Path, Path]:
    """Write the page of a game with a mistake of each player, and the page of all games."""
    record = parse_sgf(GAME)
    rng = np.random.default_rng(5)
    owners = "".join(rng.choice(list(LETTERS), 81))

    def judge(turn: int, lead: float) -> Judgement:
        names = (("C3", "D3"), ("E3", "F3"))
        candidates = tuple(
            Candidate(vertex(pv[0]), 50, 0.5, lead - number, tuple(map(vertex, pv)))
            for number, pv in enumerate(names)
        )
        return Judgement(200, BLACK if turn % 2 == 0 else WHITE, 0.5, lead, owners, candidates)

    leads = [0.0, 1.0, 6.0, 5.0, 5.0, 1.0, 2.0]
    positions = [judge(turn, lead) for turn, lead in enumerate(leads)]
    mistakes = []
    for turn, better in ((1, "G3"), (4, "C7")):
        move = record.moves[turn]
        legal = record.position(before_move=turn + 1).legal_moves(move.color)
        best = vertex("C3") if better == "G3" else vertex("C4")
        mistakes.append(
            Mistake(
                turn,
                move.color,
                move.point,
                best,
                positions[turn + 1],
                judge(turn + 1, leads[turn]),
                {each: 0.0 if each in (best, vertex("A1")) else 5.0 for each in legal},
                set(legal) - {vertex("A1")},
            )
        )
    good = [GoodMove(2, BLACK, record.moves[2].point, 4.0, vertex("E3"))]
    costs = [(0.0, 0.0), (5.0, 0.1), (0.0, 0.0), (0.0, 0.0), (4.0, 0.2), (0.6, 0.0)]
    material = Material(positions, costs, [None] * len(costs), mistakes, good)
    report = {
        "net": "net",
        "visits": 200,
        **make_report(record, material, name="game", digest=""),
    }
    page, index = folder / "game.html", folder / "index.html"
    page.write_text(game_page(record, report), "utf-8")
    other = json.loads(json.dumps(report))
    index.write_text(overview_page([report, other], "Ada"), "utf-8")
    return page, index


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The page of a game and that of several."""
    return review_files(tmp_path_factory.mktemp("review"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium without a window."""
    with open_browser() as opened:
        yield opened


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    """An empty tab."""
    with open_tab(browser) as opened:
        yield opened


def test_a_review_is_stepped_through_with_keys(tab: Any, files: tuple[Path, Path]) -> None:
    tab.goto(files[0].as_uri())
    assert tab.title() == "Ada and </script><b>Bo"
    assert tab.locator("h1").inner_text() == "Ada and </script><b>Bo"
    assert stones(tab) == 0
    for _ in range(3):
        tab.keyboard.press("ArrowRight")
    assert stones(tab) == 3
    tab.keyboard.press("End")
    assert stones(tab) == 6
    tab.keyboard.press("Home")
    tab.keyboard.press("n")
    assert stones(tab) == 2
    assert "White C7 loses 5 points (mistake), better is C3." in tab.locator("#note").inner_text()
    assert tab.locator("#comment").inner_text() == "a <b>comment</b>"
    tab.locator("#turn").focus()
    tab.keyboard.press("p")  # letters are no slider's
    tab.keyboard.press("Home")  # but this is
    assert stones(tab) == 0
    tab.keyboard.press("n")
    assert stones(tab) == 2


def test_variations_are_played_out_and_left(tab: Any, files: tuple[Path, Path]) -> None:
    tab.goto(files[0].as_uri() + "#2")
    tab.get_by_role("button", name="Show the better line").tap()
    assert stones(tab) == 2  # one of the game, one of the line
    tab.keyboard.press("ArrowRight")
    assert "move 2 of 3" in tab.locator("#note").inner_text()
    tab.keyboard.press("Escape")
    tab.keyboard.press("Home")
    tap(tab, "C3")  # a candidate
    assert stones(tab) == 1
    tap(tab, "J9")  # anywhere: the next move of the line
    assert stones(tab) == 2


def test_a_better_line_is_looked_at_on_the_way_from_mistake_to_mistake(
    tab: Any, files: tuple[Path, Path]
) -> None:
    tab.goto(files[0].as_uri())
    turns = []
    for keys in ("n", "b", "Escape", "b", "n", "b", "b", "p", "d"):
        tab.keyboard.press(keys)
        turns.append(tab.evaluate("state.turn"))
    assert turns == [2, 1, 2, 1, 5, 4, 4, 2, 1]
    tap(tab, "C3")
    tab.get_by_role("button", name="Show the better line").tap()
    tab.get_by_role("button", name="Back to the game").tap()
    assert tab.evaluate("state.turn") == 2
    assert tab.get_by_role("button", name="Show what follows").is_visible()


def test_territory_and_the_list_of_mistakes(tab: Any, files: tuple[Path, Path]) -> None:
    tab.goto(files[0].as_uri())
    tab.keyboard.press("t")
    assert tab.locator(".owners rect").count() > 40
    assert tab.locator("#mistakes button").count() == 2
    tab.locator("#whose").select_option("white")
    (only,) = tab.locator("#mistakes button").all()
    assert only.inner_text().startswith("2. White C7")
    tab.locator("#measure").select_option("chance")
    assert "10 % of chance" in tab.locator("#mistakes").inner_text()
    grades = tab.locator("#mistakes .grade").get_attribute("class").split()
    assert tab.locator("#chart ellipse").first.get_attribute("class") in grades


def test_a_mistake_by_chances_alone_is_told_in_chances(tab: Any, files: tuple[Path, Path]) -> None:
    tab.goto(files[0].as_uri())
    tab.evaluate("Object.assign(moves[4], {loss: 1.2, class: 4}); mistakes.get(5).by_chance = true")
    tab.locator("#whose").select_option("black")
    assert tab.locator("#mistakes .grade").inner_text()[1:] == "20 % of chance"
    tab.locator("#mistakes button").first.click()
    assert "loses 20 % of chance" in tab.locator("#note").inner_text()
    # What was played is not right in the drill, though it loses no points.
    tab.evaluate(
        "mistakes.get(5).answers[moves[4].point] = 0; startDrill(5); answer(moves[4].point)"
    )
    assert "is what was played; it loses 20 % of chance" in tab.locator("#note").inner_text()


def test_the_drill_grades_an_answer(tab: Any, files: tuple[Path, Path]) -> None:
    tab.goto(files[0].as_uri())
    tab.keyboard.press("d")
    assert "White to play. Your move?" in tab.locator("#standing").inner_text()
    tap(tab, "J9")
    assert "J9 loses 5 points." in tab.locator("#note").inner_text()
    tab.get_by_role("button", name="Again").tap()
    tap(tab, "A1")
    note = tab.locator("#note").inner_text()
    assert "A1 was not looked at closely" in note and "Best is C3." in note
    tab.get_by_role("button", name="Again").tap()
    tap(tab, "C3")
    assert "C3: right, the best move." in tab.locator("#note").inner_text()
    tab.get_by_role("button", name="Next", exact=True).tap()
    # By keyboard: from the middle of the board to C4, two to the left and one down.
    for key in ("ArrowLeft", "ArrowLeft", "ArrowDown", "Enter"):
        tab.keyboard.press(key)
    assert "C4: right, the best move." in tab.locator("#note").inner_text()
    tab.keyboard.press("Escape")
    assert stones(tab) == 5
    tab.keyboard.press("Home")
    tab.locator("#drill").click()  # which has the focus then, and Enter is still the answer
    for key in ("ArrowLeft", "ArrowLeft", "ArrowDown", "ArrowDown", "Enter"):
        tab.keyboard.press(key)
    assert "C3: right, the best move." in tab.locator("#note").inner_text()


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_anybody_can_use_it(
    browser: Any, files: tuple[Path, Path], which: int, scheme: str, width: int
) -> None:
    address = files[which].as_uri() + ("#2" if which == 0 else "")
    assert_anybody_can_use(browser, address, scheme, width)
