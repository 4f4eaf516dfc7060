"""What a checkout is packed into: what is in it, and that a wheel works away from the checkout."""

import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from tests.paths import ROOT


def build(target: str, folder: Path) -> Path:
    """Build the checkout with the build backend of this environment; return the archive."""
    pytest.importorskip("hatchling", reason="the build backend is not installed")
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of the checkout."""
    return build("wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel's content in a folder of its own."""
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def test_nothing_generic_lands_in_site_packages(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.split("/")[0] for name in archive.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {
        "gtp_engine",
        "gtp_export",
    }


def test_every_shipped_net_is_in_the_wheel(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    for net in (ROOT / "models").glob("*.onnx"):
        assert f"gtp_engine/models/{net.name}" in names
    assert "gtp_engine/models/default.onnx" in names
    assert "gtp_engine/models/rollout.patterns" in names


def test_the_source_archive_has_every_page_and_what_tests_run(tmp_path: Path) -> None:
    with tarfile.open(build("sdist", tmp_path)) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    pages = {"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/learning.md"}
    assert pages | {".ci/run", "scripts/test"} <= names


def test_installed_engine_finds_its_nets_and_plays(installed: Path, tmp_path: Path) -> None:
    program = (
        "import gtp_engine, sys; from gtp_engine.evaluators.nets.net_files import find_net;"
        "print(gtp_engine.__file__); print(find_net(None));"
        "from gtp_engine.commands.registry import run;"
        "sys.exit(run(['--playouts', '2', '--size', '5', '--seed', '1']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input="genmove black\nquit\n",
        env={**os.environ, "PYTHONPATH": str(installed)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    package, net, answer = done.stdout.splitlines()[:3]
    assert Path(package).parent == installed / "gtp_engine"
    assert Path(net) == installed / "gtp_engine" / "models" / "default.onnx"
    assert answer.startswith("= ") and answer[2:].strip()


def test_version_is_said_once_and_one_that_clients_accept(wheel: Path) -> None:
    from gtp_engine import __version__

    assert wheel.name.split("-")[1] == __version__
    assert int(__version__.split(".")[1]) >= 15  # Lizzie wants A.B with an integer B of 15 or more
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert "version" not in pyproject["project"]
