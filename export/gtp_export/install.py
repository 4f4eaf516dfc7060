"""Put a net where `gtp-engine --net NAME` finds it: fetch, convert, check, move into place."""

import logging
import os
import re
import shutil
import tempfile
import time
from pathlib import Path
from urllib.parse import unquote, urlsplit

from gtp_engine.evaluators.nets.net_files import (
    NO_NET,
    ROLLOUTS_PART,
    NetFiles,
    known_nets,
    weights_for_small_boards,
)
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.evaluators.nets.onnx_net import OnnxNet
from gtp_engine.evaluators.nets.self_check import differences_of, verdict
from gtp_export.convert.conversion import convert_file
from gtp_export.convert.onnx_file import info_of, remove_smaller
from gtp_export.download import Progress, download, file_hash, is_url
from gtp_export.plans import AddPlan
from gtp_export.quantise.quantisation import quantise_file

logger = logging.getLogger(__name__)


DOWNLOADS = ".downloads"
"""Folder of what is under way, inside the folder of the user's nets."""
KEPT_SECONDS = 7 * 86400.0
"""For how long a download that was broken off can be gone on with."""
_ONNX_START = b"\x08"
"""Every writer of ONNX files puts the version of the format first."""


def add_net(plan: AddPlan, folder: Path, progress: Progress) -> Path:
    """Add a net to a folder, all of it or nothing, and return its file.

    Raises:
        NetFileError: It cannot be had, is no net, or computes something else than it should.
        OSError: Something cannot be written.
    """
    if plan.name is not None and plain_name(plan.name) != plan.name:
        raise NetFileError(f"{plan.name!r} is no file name; use letters, digits, . _ -")
    if plan.name is not None:
        _check_free(plan, plan.name)  # before a download that would be for nothing
    work = folder / DOWNLOADS
    work.mkdir(parents=True, exist_ok=True)
    _drop_old(work)
    try:
        if not is_url(plan.source):
            return _install(plan, Path(os.path.expanduser(plan.source)), folder)
        fetched = _fetch(plan, work, progress)
        try:
            return _install(plan, fetched, folder)
        finally:
            fetched.unlink(missing_ok=True)
    finally:
        if not any(work.iterdir()):
            work.rmdir()


def _drop_old(work: Path) -> None:
    """Remove what is left of downloads that nobody has gone on with for a week."""
    oldest = time.time() - KEPT_SECONDS
    for path in work.iterdir():
        if path.stat().st_mtime >= oldest:
            continue
        if path.is_dir():  # of a run that was killed
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def plain_name(text: str) -> str:
    """Return a text without what does not belong into the name of a file."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip(".-") or "net"


def _fetch(plan: AddPlan, work: Path, progress: Progress) -> Path:
    name = plain_name(unquote(urlsplit(plan.source).path.rpartition("/")[2]))
    target = work / name
    download(plan.source, target, plan.sha256, progress)
    return target


def _install(plan: AddPlan, source: Path, folder: Path) -> Path:
    if not source.is_file():
        raise NetFileError(f"{source}: there is no such file")
    if plan.sha256 is not None and file_hash(source) != plan.sha256:
        raise NetFileError(f"{source}: has SHA-256 {file_hash(source)}, not {plan.sha256}")
    with tempfile.TemporaryDirectory(dir=folder / DOWNLOADS) as temporary:
        ready = _prepare(plan, source, Path(temporary))
        try:
            net = OnnxNet(ready, "cpu")
        except NetFileError as error:
            raise NetFileError(str(error).replace(str(ready), str(source))) from None
        differences = differences_of(net)
        if not all(one.is_right for one in differences):
            raise NetFileError(f"{source}: does not compute what it should: {verdict(differences)}")
        logger.info(f"self-check: {verdict(differences)}")
        name = plan.name or plain_name(net.info.name)
        target = folder / f"{name}.onnx"
        del net  # Windows moves no file that is open
        if target.exists():
            remove_smaller(target)
        ready.replace(target)
        for side, files in weights_for_small_boards(NetFiles(target)).items():
            logger.warning(
                f"{files.fp32} plays on boards up to {side}x{side} as before; "
                "remove it if it belongs to another net"
            )
    return target


def _check_free(plan: AddPlan, name: str) -> None:
    """Refuse a name that is taken, unless it may be."""
    if name in (NO_NET, ROLLOUTS_PART):
        raise NetFileError(f"--net {name} means something else; choose another --name")
    if name in known_nets() and not plan.replace:
        raise NetFileError(
            f"there is a net called {name} already; give --replace or another --name"
        )


def _prepare(plan: AddPlan, source: Path, folder: Path) -> Path:
    """Return a file in the folder that describes itself, converted and quantised as needed."""
    converted, ready = folder / "converted.onnx", folder / "net.onnx"
    if is_onnx(source):
        info = info_of(source)
        shutil.copyfile(source, converted)
    else:
        conversion = convert_file(source, converted)
        info = conversion.info
        logger.info(f"converted a {conversion.format.value} net: {info.architecture}")
    _check_free(plan, plan.name or plain_name(info.name))  # before what takes minutes
    if plan.quantise is None:
        return converted
    outcome = quantise_file(converted, ready, plan.quantise, called=str(source))
    logger.info(f"quantised: {outcome.info.precision}")
    return ready


def is_onnx(path: Path) -> bool:
    """Whether a file may be an ONNX file rather than another program's net."""
    with path.open("rb") as file:
        return file.read(1) == _ONNX_START
