"""Kernels compiled, interpreted, and compiled by an earlier process give the same results."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

# A small but telling subset: captures, superko, suicide, encores, perft, random games, life.
PROBE = """
import json, random, sys
from dataclasses import replace
from gtp_engine import kernels
from gtp_engine.coords import PASS
from gtp_engine.go.perft import perft
from gtp_engine.go.random_games import run_random_games
from gtp_engine.go.position import Position
from gtp_engine.go.rules import Ko, Rules
from gtp_engine.go.scoring import agreed_score

def play(width, height, rules, encores, moves, seed):
    generator = random.Random(seed)
    position = Position(width, height, rules, encores=encores)
    trace = []
    for _ in range(moves):
        legal = position.legal_moves()
        move = PASS if generator.random() < 0.1 else generator.choice(legal)
        position.play(position.to_play, move)
        trace.append([len(legal), int(position.turn["situation"]), position.captured(1),
                      int(position.turn["status"]), int(position.turn["phase"])])
    return [trace, float(agreed_score(position))]

was_warm = kernels.CACHE.is_warm
rules = [replace(Rules(), ko=ko, multi_stone_suicide=suicide) for ko in Ko for suicide in (0, 1)]
result = {
    "games": [play(3, 4, each, False, 40, i) for i, each in enumerate(rules)],
    "encores": play(4, 3, Rules.parse("japanese"), True, 60, 9),
    "perft": [list(perft(Position(2, 2, Rules.parse(n)), 7)) for n in ("tromp-taylor", "aga")],
    "random": run_random_games(5, 4, 6, 3),
}
json.dump({"result": result, "jit": bool(kernels.JIT_ENABLED), "warm": was_warm,
           "folder": kernels.CACHE.folder and str(kernels.CACHE.folder),
           "compiled": kernels.CACHE.compiled}, sys.stdout)
"""


def probe(**environment: str) -> dict[str, Any]:
    """Run the probe in a process of its own, with these variables set."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in ("NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT", "XDG_CACHE_HOME")
    }
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROBE],
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    answer: dict[str, Any] = json.loads(run.stdout)
    return answer


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """What the probe says in a process that compiles, and the cache folder it filled."""
    folder = tmp_path_factory.mktemp("kernels")
    answer = probe(NUMBA_CACHE_DIR=str(folder))
    assert answer["jit"] and not answer["warm"]
    return answer, folder


def test_interpreted_kernels_agree(compiled: tuple[dict[str, Any], Path]) -> None:
    interpreted = probe(NUMBA_DISABLE_JIT="1")
    assert not interpreted["jit"]
    assert interpreted["result"] == compiled[0]["result"]


def test_kernels_from_the_cache_agree(compiled: tuple[dict[str, Any], Path]) -> None:
    answer, folder = compiled
    assert answer["compiled"] == len(list(folder.rglob("*.kernel"))) > 0
    again = probe(NUMBA_CACHE_DIR=str(folder))
    assert again["result"] == answer["result"] and again["compiled"] == 0
    assert not again["warm"], "some kernels are there, but not all that a game needs"


def test_damaged_kernels_are_compiled_anew(
    compiled: tuple[dict[str, Any], Path], tmp_path: Path
) -> None:
    answer, folder = compiled
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    changed, cut = (next(tmp_path.rglob(f"history.{name}-*")) for name in ("is_legal", "begin"))
    content = bytearray(changed.read_bytes())
    content[len(content) // 2] ^= 16
    changed.write_bytes(content)
    cut.write_bytes(cut.read_bytes()[:-1])
    again = probe(NUMBA_CACHE_DIR=str(tmp_path))
    assert again["result"] == answer["result"] and again["compiled"] >= 2
    assert probe(NUMBA_CACHE_DIR=str(tmp_path))["compiled"] == 0


def test_no_kernel_is_compiled_for_a_second_width_of_integers(
    compiled: tuple[dict[str, Any], Path],
) -> None:
    kernels = [path.name.split("-")[0] for path in compiled[1].rglob("*.kernel")]
    wanted = [
        "history.is_legal",
        "history.repeats",
        "history.can_hold",
        "history.situation_hash",
    ]
    wanted += ["board.is_playable", "board.count_liberties"]
    assert {name: kernels.count(name) for name in wanted} == dict.fromkeys(wanted, 1)


def cache_folder(first: str = "kernels", **environment: str) -> str:
    code = f"import gtp_engine.{first}; from gtp_engine import kernels; print(kernels.CACHE.folder)"
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stderr == ""
    return run.stdout.strip()


def test_the_cache_folder_is_the_same_whichever_module_comes_first() -> None:
    assert cache_folder("kernel_cache") == cache_folder()


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="the folder is named otherwise")
def test_the_cache_folder_is_the_users(tmp_path: Path) -> None:
    first = Path(cache_folder(XDG_CACHE_HOME=str(tmp_path)))
    assert first.is_relative_to(tmp_path) and first.is_dir()
    assert Path(cache_folder(XDG_CACHE_HOME=str(tmp_path))) == first


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="the folder is named otherwise")
def test_without_a_writable_cache_folder_nothing_is_kept(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way of the folder", encoding="utf-8")
    assert cache_folder(XDG_CACHE_HOME=str(blocked)) == "None"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="the folder is named otherwise")
def test_kernels_run_without_a_cache(compiled: tuple[dict[str, Any], Path], tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way of the folder", encoding="utf-8")
    answer = probe(XDG_CACHE_HOME=str(blocked))
    assert answer["folder"] is None and answer["result"] == compiled[0]["result"]
