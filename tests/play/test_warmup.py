"""A first start compiles all that a game may need, so that no clock runs while kernels compile."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.paths import TINY_NET

from gtp_engine.kernels import JIT_ENABLED
from gtp_engine.play.loading import KERNELS_OF_A_GAME

WATCH = """
import json, sys
from gtp_engine.coords import BLACK, WHITE, point_at
from gtp_engine.kernel_cache import KernelCache
from gtp_engine.play.engine import Engine
from gtp_engine.go.rules import Rules
from gtp_engine.play.settings import Settings

KernelCache.is_warm, KernelCache.mark_warm = False, lambda cache: None
asked = []
read = KernelCache.read
KernelCache.read = lambda cache, name: asked.append(name) or read(cache, name)
"""
TELL = "json.dump(asked, sys.stdout)"


def kernels_asked_for(program: str, argument: str) -> list[str]:
    """Return which kernels a program asks for once it has cleared `asked`."""
    command = [sys.executable, "-W", "error", "-c", WATCH + program + TELL, argument]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    asked: list[str] = json.loads(run.stdout)
    return asked


PLAY = """
engine = Engine(Settings(net=sys.argv[1], device="cpu", size=(5, 5), playouts=100))
engine.set_free_handicap([point_at(1, 1, 5), point_at(3, 3, 5)])
engine.play(WHITE, point_at(2, 2, 5))
engine.undo()
engine.new_game(5, 4)
engine.wait_ready()
asked.clear()
for color in (BLACK, WHITE, BLACK):
    engine.genmove(color)
engine.clock.set_left(WHITE, 0.1, 0)
engine.genmove(WHITE)
engine.clock.reset()
engine.genmove(BLACK, cleanup=True)
engine.final_score()
engine.new_game(3, 3)
engine.set_free_handicap([point_at(row, column, 3) for row, column in ((0, 1), (1, 0), (1, 1))])
engine.genmove(BLACK)  # beside an eye of one's own
engine.search.shared.memory_bytes = 0  # a tree is soon full
engine.new_game(5, 5)
engine.genmove(BLACK)
engine.rules = Rules.parse("stone-scoring")
engine.final_score()
"""


@pytest.mark.skipif(not JIT_ENABLED, reason="kernels run as plain Python")
@pytest.mark.parametrize("net", [TINY_NET, "rollouts"])
def test_a_first_start_compiles_all_that_a_game_needs(net: str) -> None:
    assert kernels_asked_for(PLAY, net) == []


PLAY_ANOTHER = """
engine = Engine(Settings(game=sys.argv[1], device="cpu", size=(9, 9), playouts=70))
engine.wait_ready()
asked.clear()
engine.search.shared.memory_bytes = 0  # a tree is soon full
for _ in range(4):
    engine.genmove(engine.position.to_play)
"""


@pytest.mark.parametrize("game", ["five", "atari-go"])
@pytest.mark.skipif(not JIT_ENABLED, reason="kernels run as plain Python")
def test_a_first_start_compiles_all_that_another_game_needs(game: str) -> None:
    assert kernels_asked_for(PLAY_ANOTHER, game) == []


@pytest.mark.slow
@pytest.mark.skipif(not JIT_ENABLED, reason="kernels run as plain Python")
def test_a_start_finds_what_was_precompiled_and_people_are_told_how_many_that_is(
    tmp_path: Path,
) -> None:
    program = "import sys; from gtp_engine.__main__ import main; sys.exit(main())"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run(
        [sys.executable, "-c", program, "--precompile", "--net", TINY_NET, "--size", "9"],
        env=environment,
        check=True,
    )
    # A start finds them, by whichever module it begins.
    for module in ("kernels", "play.engine"):
        program = f"import gtp_engine.{module}, gtp_engine.kernels as it; print(it.CACHE.is_warm)"
        found = subprocess.check_output([sys.executable, "-c", program], env=environment)
        assert found.decode().strip() == "True", module
    assert abs(len(list(tmp_path.rglob("*.kernel"))) - KERNELS_OF_A_GAME) <= 9
