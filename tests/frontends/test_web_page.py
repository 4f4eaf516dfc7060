"""The page that plays in a real browser, used as a person would."""

import os
import signal
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.frontends.browser import (
    assert_anybody_can_use,
    open_browser,
    open_tab,
    stones,
    sync_api,
    tap,
)
from tests.frontends.web_client import Served, new_game, served, state_when, wish

from gtp_engine.frontends.web.server import TOO_MANY_TABS

GAME = b"(;SZ[9]KM[7]PB[</script><b>Bo]RU[japanese];B[ee];W[cc];B[gc];W[cg];B[gg];W[ec])"
KO = b"(;SZ[5]AB[cb][bc][cd]AW[db][dd][ec]PL[W];W[cc];B[dc])"
"""White may not take back at C3 at once."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium without a window."""
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One process for all tests."""
    with served(tmp_path_factory.mktemp("games")) as running:
        yield running


@pytest.fixture
def tab(browser: Any, server: Served) -> Iterator[Any]:
    """A page with a game on 9x9 in which a person has Black, and which is not analysed."""
    with server.client() as client:
        wish(client, "look", turn=None)
        new_game(client, size="9")
    with open_tab(browser) as opened:
        opened.goto(server.address)
        text(opened, "#standing", "Move 0: Black to play")
        yield opened


def text(tab: Any, place: str, words: str) -> None:
    """Wait until an element says something."""
    sync_api.expect(tab.locator(place)).to_contain_text(words, timeout=30_000)


def count(tab: Any, place: str, number: int) -> None:
    """Wait until there are so many of something."""
    sync_api.expect(tab.locator(place)).to_have_count(number, timeout=30_000)


def pressed(tab: Any, place: str, is_so: bool) -> None:
    """Wait until a button is pressed, or is not."""
    found = sync_api.expect(tab.locator(place))
    found.to_have_attribute("aria-pressed", str(is_so).lower(), timeout=30_000)


def second_point(tab: Any) -> str:
    """Return where Black plays next: not where White has answered, which is chance."""
    return "G7" if tab.evaluate("told.moves[1]") == "2cg" else "C3"


def load(tab: Any, record: bytes) -> None:
    """Give the page an SGF file."""
    tab.locator("#file").set_input_files(
        {"name": "game.sgf", "mimeType": "application/x-go-sgf", "buffer": record}
    )


def test_a_person_plays_takes_back_and_ends_the_game(tab: Any) -> None:
    tap(tab, "E5")
    count(tab, ".stones circle", 2)
    text(tab, "#standing", "Move 2: Black to play")
    tab.locator("#vertex").fill(second_point(tab).lower())
    tab.keyboard.press("Enter")
    text(tab, "#standing", "Move 4: Black to play")
    tab.get_by_role("button", name="Undo").tap()
    text(tab, "#standing", "Move 2: Black to play")
    tab.keyboard.press("r")
    text(tab, "#standing", "Move 4: Black to play")
    tab.keyboard.press("u")
    text(tab, "#standing", "Move 2: Black to play")
    tab.keyboard.press("g")
    text(tab, "#standing", "Move 4: Black to play")
    tab.get_by_role("button", name="Score").tap()
    text(tab, "#note", "Counted as it stands: ")
    count(tab, "#board .spot", 0)
    dead = tab.locator("#board .marks .dead").count()
    tap(tab, "E5")
    sync_api.expect(tab.locator("#board .marks .dead")).not_to_have_count(dead, timeout=30_000)
    tap(tab, "E5")
    count(tab, "#board .marks .dead", dead)
    tab.keyboard.press("a")
    text(tab, "#standing", "Black wins")
    assert tab.locator("#board .spot").count() >= 1, "in place of the count"
    tab.get_by_role("button", name="Score").tap()
    pressed(tab, "#analyse", False)
    tab.keyboard.press("a")
    text(tab, "#standing", "Black wins")
    tab.keyboard.press("a")
    tab.get_by_role("button", name="Resign").tap()
    text(tab, "#standing", "The game is over: W+R")
    tap(tab, "J9")
    text(tab, "#note", "The game is over.")
    tab.get_by_role("button", name="Undo").tap()
    text(tab, "#standing", "Move 4: Black to play")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows stops no process")
def test_a_move_is_drawn_before_the_server_knows_of_it(tab: Any, server: Served) -> None:
    os.kill(server.process.pid, signal.SIGSTOP)
    try:
        tap(tab, "E5")
        assert stones(tab) == 1
        tap(tab, "C3")
        assert stones(tab) == 1, "one move at a time"
    finally:
        os.kill(server.process.pid, signal.SIGCONT)
    count(tab, ".stones circle", 2)


def test_a_move_that_the_rules_forbid_is_taken_off_again(tab: Any) -> None:
    load(tab, KO)
    text(tab, "#standing", "Move 2: White to play")
    assert stones(tab) == 7
    tap(tab, "C3", size=5)
    text(tab, "#note", "White C3 repeats an earlier position.")
    assert stones(tab) == 7


def test_a_game_is_loaded_gone_through_analysed_and_saved(tab: Any, server: Served) -> None:
    load(tab, GAME)
    text(tab, "#standing", "Move 6: Black to play")
    text(tab, "h1", "</script><b>Bo and White")
    text(tab, "#facts", "9x9 · japanese rules · komi 7")
    tab.keyboard.press("ArrowLeft")
    assert stones(tab) == 5
    tab.keyboard.press("a")
    text(tab, "#standing", "Black wins")
    assert tab.locator("#board .spot").count() >= 1
    tab.keyboard.press("t")
    assert tab.locator("#show-owners").get_attribute("aria-pressed") == "true"
    best = tab.locator("#lines button").first
    best.tap()
    with server.client() as client:
        wish(client, "nothing of the kind")  # what is told meanwhile leaves line and button alone
        text(tab, "#note", "nobody knows")
    assert tab.locator("#board .ghosts circle").count() >= 1
    sync_api.expect(best).to_be_focused()
    tab.keyboard.press("ArrowLeft")
    text(tab, "#standing", "Move 4: ")
    text(tab, "#standing", "Black wins")
    best.tap()  # shows the line of this move; that of the other one is gone
    assert tab.locator("#board .ghosts circle").count() >= 1
    tab.keyboard.press("Escape")
    assert tab.locator("#board .ghosts circle").count() == 0
    tap(tab, "J1")
    text(tab, "#note", "press End")
    with server.client() as client:
        wish(client, "dead", at="A1")
        text(tab, "#note", "no count to change")
    text(tab, "#note", "press End")  # whatever is told meanwhile
    tab.keyboard.press("End")
    sync_api.expect(tab.locator("#note")).not_to_contain_text("press End", timeout=30_000)
    tab.keyboard.press("Home")
    text(tab, "#standing", "Move 0: ")
    text(tab, "#standing", "Black wins")
    assert stones(tab) == 0
    tab.keyboard.press("a")
    with tab.expect_download() as download:
        tab.get_by_role("link", name="Save SGF").tap()
    assert b"W[ec]" in download.value.path().read_bytes().replace(b"\n", b"")


def test_a_game_of_other_terms_is_begun(tab: Any) -> None:
    for name, value in (("you", "white"), ("level", "1"), ("rules", "japanese"), ("handicap", "4")):
        tab.locator(f"[name={name}]").select_option(value)
    tab.locator("[name=size]").fill("13x9")
    tab.get_by_role("button", name="New game").tap()
    text(tab, "#facts", "13x9 · japanese rules · komi 0.5")
    assert stones(tab) == 4
    for net, playouts in (("human", "1"), ("small", ""), ("human", "1")):
        tab.locator("[name=net]").select_option(net)
        assert tab.locator("[name=playouts]").input_value() == playouts
    tab.locator("[name=you]").select_option("both")
    tab.get_by_role("button", name="Apply to this game").tap()
    text(tab, "h1", "you and you")
    tab.locator("body").press("g")
    text(tab, "#standing", "Move 1: Black to play")
    tab.locator("[name=size]").fill("99")
    tab.get_by_role("button", name="New game").tap()
    text(tab, "#note", "Board size 99 is not between 2 and 25.")


def test_enter_in_a_field_does_what_the_button_below_it_does(tab: Any, server: Served) -> None:
    tap(tab, "E5")
    text(tab, "#standing", "Move 2: Black to play")
    tab.locator("[name=playouts]").fill("8")
    tab.keyboard.press("Enter")
    with server.client() as client:
        state = state_when(client, lambda state: state["seat"]["playouts"] == "8")
    assert len(state["moves"]) == 2, "the game goes on"
    tab.locator("[name=size]").fill("7")
    tab.keyboard.press("Enter")
    text(tab, "#facts", "7x7")


def test_a_line_stays_that_of_its_move_whatever_place_that_has(tab: Any) -> None:
    tab.keyboard.press("a")
    text(tab, "#standing", "Black wins")
    second = tab.locator("#lines button").nth(1)
    second.wait_for()
    tab.evaluate("take = () => {}")  # the server tells nothing new
    second.tap()
    second.tap()
    assert tab.locator("#board .ghosts circle").count() == 0
    second.tap()
    line = tab.locator("#board .ghosts").inner_html()
    for change in ("reverse()", "shift()"):  # and if it is no candidate any more
        tab.evaluate("told.found.candidates = told.found.candidates.slice(0, 2)")
        tab.evaluate(f"told.found.candidates.{change}; show()")
        assert tab.locator("#board .ghosts").inner_html() == line


def test_a_file_that_is_refused_may_be_chosen_again(tab: Any) -> None:
    for record, words in ((bytes(2 << 20), "too large"), (b"", "no SGF game")):
        load(tab, record)
        text(tab, "#note", words)
        assert tab.locator("#file").input_value() == ""


def test_a_review_is_made_and_opened(tab: Any) -> None:
    load(tab, GAME)
    text(tab, "#standing", "Move 6")
    tab.locator("#visits").select_option("50")
    tab.get_by_role("button", name="Review").tap()
    link = tab.get_by_role("link", name="Open the review")
    link.wait_for(timeout=60_000)
    with tab.context.expect_page() as opened:
        link.tap()
    page = opened.value
    text(page, "#title", "</script><b>Bo and White")
    page.keyboard.press("End")
    assert stones(page) == 6


def test_a_lost_connection_is_made_again(browser: Any, server: Served) -> None:
    with server.client() as client:
        new_game(client, size="9")
    made: list[Any] = []

    def pass_on(socket: Any) -> None:
        made.append(socket)
        socket.connect_to_server()

    with open_tab(browser) as tab:
        tab.route_web_socket("**/socket", pass_on)
        tab.clock.install()
        tab.goto(server.address)
        text(tab, "#standing", "Move 0: Black to play")
        tab.clock.pause_at(datetime.now() + timedelta(hours=1))  # so that it stays lost
        made[0].close()
        text(tab, "#note", "The connection is lost")
        tap(tab, "E5")
        assert stones(tab) == 0, "nobody would hear of it"
        load(tab, GAME)
        text(tab, "#note", "That was not sent")
        tab.clock.resume()
        with server.client() as client:
            wish(client, "play", at="E5", turn=0)
            count(tab, ".stones circle", 2)
        assert len(made) == 2


def test_a_tab_too_many_says_why_it_is_closed(browser: Any, server: Served) -> None:
    with open_tab(browser) as tab:
        tab.route_web_socket(
            "**/socket", lambda socket: socket.close(code=TOO_MANY_TABS, reason="No room.")
        )
        tab.goto(server.address)
        text(tab, "#note", "No room.")


def test_two_tabs_and_a_reload(tab: Any, browser: Any, server: Served) -> None:
    with open_tab(browser) as other:
        other.goto(server.address)
        text(other, "#standing", "Move 0")
        tap(other, "E5")
        count(tab, ".stones circle", 2)
        for is_so in (True, False):
            other.keyboard.press("a")
            pressed(tab, "#analyse", is_so)
    tab.reload()
    count(tab, ".stones circle", 2)
    tap(tab, second_point(tab))
    text(tab, "#standing", "Move 4: Black to play")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_anybody_can_use_it(browser: Any, server: Served, scheme: str, width: int) -> None:
    assert_anybody_can_use(browser, server.address, scheme, width)
