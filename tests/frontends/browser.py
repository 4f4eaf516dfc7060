"""A browser without a window, for tests of pages."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

sync_api = pytest.importorskip("playwright.sync_api")
axe = pytest.importorskip("axe_playwright_python.sync_playwright")

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
]


@contextmanager
def open_browser() -> Iterator[Any]:
    """Return a context with Chromium; a test is left out where there is none."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("there is no chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def open_tab(browser: Any) -> Iterator[Any]:
    """Return a context with a tab at whose end nothing was complained of and nothing fetched."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, has_touch=True)
    tab = context.new_page()
    troubles: list[str] = []
    tab.on("console", lambda message: troubles.append(message.text))
    tab.on("pageerror", lambda error: troubles.append(str(error)))
    tab.on(
        "request",
        lambda request: request.is_navigation_request() or troubles.append(request.url),
    )
    yield tab
    context.close()
    assert troubles == []


def stones(tab: Any) -> int:
    """Return how many stones are on the board."""
    found: int = tab.locator(".stones circle").count()
    return found


def tap(tab: Any, name: str, size: int = 9) -> None:
    """Touch a point of a square board."""
    row, col = size - int(name[1:]), "ABCDEFGHJKLMNOPQRST".index(name[0])
    box = tab.locator("#board").bounding_box()
    unit = min(box["width"], box["height"]) / (size + 1)
    left, top = (box[side] / 2 - unit * (size + 1) / 2 for side in ("width", "height"))
    place = {"x": left + unit * (col + 1), "y": top + unit * (row + 1)}
    tab.locator("#board").tap(position=place)


def assert_anybody_can_use(browser: Any, address: str, scheme: str, width: int) -> None:
    """Look for serious obstacles in a page, and that it fits."""
    size = {"width": width, "height": 800}
    # The checker puts a script of its own into the page, which the policy would keep out.
    context = browser.new_context(viewport=size, color_scheme=scheme, bypass_csp=True)
    tab = context.new_page()
    tab.goto(address)
    found = axe.Axe().run(tab).response["violations"]
    serious = [each for each in found if each["impact"] in ("serious", "critical")]
    assert [(each["id"], each["nodes"][0]["html"]) for each in serious] == []
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    context.close()
