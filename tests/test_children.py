"""Nothing that lies in the current folder is run by a process that the program starts."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.paths import TINY_NET

MODULES = ("gtp_engine", "gtp_export", "numba", "numpy", "onnxruntime", "random", "pickle", "queue")

ENGINE = [sys.executable, "-P", "-m", "gtp_engine"]

SELF = f"self --net {TINY_NET} --device cpu --playouts 1 --threads 1"

LABELLING = f"""
from pathlib import Path
from gtp_export.labelling.generation import ShardMaker
from gtp_export.plans import DistilRun
from gtp_export.span import Span

if __name__ == "__main__":
    run = DistilRun(teacher=Path({TINY_NET!r}), out=Path("."), seed=3, processes=2)
    maker = ShardMaker(run, Path("shards"), None)
    maker.make_shards(Span(1, "samples"))
"""

TEST_FILE = "boardsize 5\n1 genmove black\n#? [.*]\n"


@pytest.mark.parametrize(
    "command",
    [
        [*ENGINE, "match", SELF, SELF, "--size", "5", "--games", "1", "--max-moves", "4"],
        [*ENGINE, "regress", "--engine", SELF, "moves.tst"],
        [
            *(sys.executable, "-P", "-c"),
            "from gtp_engine.commands.doctor_proof import does_without_a_gpu as prove;"
            f"prove({TINY_NET!r})",
        ],
        [sys.executable, str(Path("..", "labelling.py"))],
    ],
    ids=["match", "regress", "doctor", "labelling"],
)
def test_a_child_runs_nothing_of_the_current_folder(tmp_path: Path, command: list[str]) -> None:
    here = tmp_path / "here"
    here.mkdir()
    (here / "moves.tst").write_text(TEST_FILE)
    (tmp_path / "labelling.py").write_text(LABELLING)
    for name in MODULES:
        mark = f"import os; open(os.path.join({str(tmp_path)!r}, 'mark'), 'a').write({name!r})\n"
        (here / f"{name}.py").write_text(mark)
    done = subprocess.run(command, cwd=here, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "mark").exists()
