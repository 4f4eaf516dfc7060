"""Measure in Chromium how long a move takes to be drawn: `python -m tests.frontends.web_speed`.

Plays on 9x9, 100 playouts a move, with the default net. A change of the page is seen in the page
itself, to the frame after which it is painted.
"""

import statistics
import tempfile
from pathlib import Path

from tests.frontends.browser import open_browser, tap
from tests.frontends.web_client import Served

MOVES = 12
WATCH = """() => {
  window.seen = [];
  const now = () => performance.now(), stones = document.querySelector(".stones");
  const note = (what) => window.seen.push([what, now()]);
  const noteSoon = (what) => requestAnimationFrame(() => setTimeout(() => note(what)));
  let count = stones.children.length;
  document.getElementById("board").addEventListener("click", () => note("tap"), true);
  new MutationObserver(() => {
    const next = stones.children.length;
    if (next > count) noteSoon(next);
    count = next;
  }).observe(stones, { childList: true });
}"""


def main() -> None:
    """Play, and print medians."""
    with tempfile.TemporaryDirectory() as folder, open_browser() as browser:
        made = Served(Path(folder), "--size", "9", "--playouts", "100", net="default")
        # The script that watches is no part of the page, whose policy would keep it out.
        tab = browser.new_context(has_touch=True, bypass_csp=True).new_page()
        tab.goto(made.address)
        tab.get_by_text("Black to play").wait_for(timeout=120_000)
        tab.evaluate(WATCH)
        own, engine = [], []
        points = (f"{col}{row}" for row in (3, 7, 5, 4, 6) for col in "CGEDFBH")
        for _ in range(MOVES):
            before = tab.locator(".stones circle").count()
            while tab.evaluate("window.seen.length") == 0:
                tap(tab, next(points))
                tab.wait_for_timeout(50)
            while tab.evaluate("window.seen.length") < 3:
                tab.wait_for_timeout(20)
                if tab.evaluate("window.seen.length") < 2:  # occupied: another point
                    tab.evaluate("window.seen = []")
                    tap(tab, next(points))
            (_, begun), (_, drawn), (_, answered) = tab.evaluate("window.seen.splice(0)")[:3]
            own.append(drawn - begun)
            engine.append(answered - drawn)
            assert tab.locator(".stones circle").count() > before
        for name, times in (("a person's move", own), ("the engine's answer", engine)):
            times = times[1:]  # the first is not warm
            print(f"{name}: median {statistics.median(times):.0f} ms, slowest {max(times):.0f} ms")
        made.end()


if __name__ == "__main__":
    main()
