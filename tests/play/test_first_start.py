"""A first start, while it compiles: what it runs, and what is left of it when it is killed."""

import os
import subprocess
import sysconfig
from pathlib import Path

import pytest

from gtp_engine.kernels import JIT_ENABLED

POISON = "open('ran.txt', 'a').write(__name__)\nraise SystemExit(__name__)\n"


@pytest.mark.skipif(os.name != "posix", reason="processes have no groups there")
@pytest.mark.skipif(not JIT_ENABLED, reason="kernels run as plain Python")
def test_it_runs_nothing_from_its_folder_and_leaves_nothing_running(tmp_path: Path) -> None:
    folder = tmp_path / "of somebody else"
    folder.mkdir()
    for name in ("numba", "numpy", "onnxruntime", "gtp_engine", "pickle", "llvmlite"):
        (folder / f"{name}.py").write_text(POISON, encoding="utf-8")
    program = Path(sysconfig.get_path("scripts"), "gtp-engine")
    with subprocess.Popen(
        [program, "--playouts", "1"],
        cwd=folder,
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as started:
        assert started.stdin is not None and started.stderr is not None
        started.stdin.write("genmove b\n")
        started.stdin.flush()
        said = ""
        while "compiling the kernels (once" not in said:
            said = started.stderr.readline()
            assert said, "it has ended"
        started.kill()
        started.stderr.read()  # to its end, which comes when nobody can write any more
    with pytest.raises(ProcessLookupError):
        os.killpg(started.pid, 0)
    assert sorted(path.suffix for path in folder.iterdir()) == [".py"] * 6
