"""Put a net where `gtp-engine --net NAME` finds it: fetch, convert, check, move into place."""

import logging
import re
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from gtp_engine.evaluators.net_info import NetFileError
from gtp_engine.evaluators.nets import known_nets
from gtp_engine.evaluators.onnx_net import OnnxNet
from gtp_engine.evaluators.self_check import differences_of, verdict
from gtp_export.convert.conversion import convert_file
from gtp_export.convert.onnx_file import load_model, read_info
from gtp_export.download import PAUSES, Progress, download, file_hash, is_url
from gtp_export.quantise.quantisation import QuantisePlan, quantise_file

logger = logging.getLogger(__name__)


DOWNLOADS = ".downloads"
"""Folder of what is under way, inside the folder of the user's nets."""
KEPT_SECONDS = 7 * 86400.0
"""For how long a download that was broken off can be gone on with."""
_ONNX_START = b"\x08"
"""Every writer of ONNX files puts the version of the format first."""


@dataclass(frozen=True)
class Request:
    """What to add, and how."""

    source: str
    """A file, or the address of one."""
    name: str | None = None
    """For `--net`; the net's own name if None."""
    sha256: str | None = None
    """Hash that the file must have."""
    plan: QuantisePlan | None = None
    """How to quantise it; not at all if None."""
    replace: bool = False
    """Whether a net of that name may be replaced."""
    pauses: tuple[float, ...] = PAUSES
    """Seconds before each further try of a download."""


@dataclass(frozen=True)
class Added:
    """A net that was added."""

    name: str
    path: Path


def add_net(request: Request, folder: Path, progress: Progress) -> Added:
    """Add a net to a folder, all of it or nothing.

    Args:
        request: What to add.
        folder: Where the user's nets are; made if it is not there.
        progress: Told how far a download is.

    Raises:
        NetFileError: It cannot be had, is no net, or computes something else than it should.
        OSError: Something cannot be written.
    """
    if request.name is not None and plain_name(request.name) != request.name:
        raise NetFileError(f"{request.name!r} is no name for a file; letters, digits, . _ - are")
    if request.name is not None:
        _check_free(request, request.name)  # before a download that would be for nothing
    work = folder / DOWNLOADS
    work.mkdir(parents=True, exist_ok=True)
    _drop_old(work)
    try:
        if not is_url(request.source):
            return _install(request, Path(request.source).expanduser(), folder)
        fetched = _fetch(request, work, progress)
        try:
            return _install(request, fetched, folder)
        finally:
            fetched.unlink(missing_ok=True)
    finally:
        if not any(work.iterdir()):
            work.rmdir()


def _drop_old(work: Path) -> None:
    """Remove what is left of downloads that nobody has gone on with for a week."""
    oldest = time.time() - KEPT_SECONDS
    for file in work.iterdir():
        if file.is_file() and file.stat().st_mtime < oldest:
            file.unlink(missing_ok=True)


def plain_name(text: str) -> str:
    """Return a text without what does not belong into the name of a file."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip(".-") or "net"


def _fetch(request: Request, work: Path, progress: Progress) -> Path:
    name = plain_name(unquote(urlsplit(request.source).path.rpartition("/")[2]))
    target = work / name
    download(request.source, target, request.sha256, progress, request.pauses)
    return target


def _install(request: Request, source: Path, folder: Path) -> Added:
    if not source.is_file():
        raise NetFileError(f"{source}: there is no such file")
    if request.sha256 is not None and file_hash(source) != request.sha256.lower():
        raise NetFileError(f"{source}: has SHA-256 {file_hash(source)}, not {request.sha256}")
    with tempfile.TemporaryDirectory(dir=folder / DOWNLOADS) as temporary:
        ready = _prepare(request, source, Path(temporary))
        try:
            net = OnnxNet(ready, "cpu")
        except NetFileError as error:
            raise NetFileError(str(error).replace(str(ready), str(source))) from None
        differences = differences_of(net)
        if not all(one.is_right for one in differences):
            raise NetFileError(f"{source}: does not compute what it should: {verdict(differences)}")
        logger.info(f"self-check: {verdict(differences)}")
        name = request.name or plain_name(net.info.name)
        target = folder / f"{name}.onnx"
        _check_free(request, name)
        del net  # Windows moves no file that is open
        ready.replace(target)
    return Added(name, target)


def _check_free(request: Request, name: str) -> None:
    """Refuse a name that is taken, unless it may be."""
    if name in known_nets() and not request.replace:
        raise NetFileError(f"there is a net called {name} already; --replace or --name helps")


def _prepare(request: Request, source: Path, folder: Path) -> Path:
    """Return a file in the folder that describes itself, converted and quantised as needed."""
    converted, ready = folder / "converted.onnx", folder / "net.onnx"
    if is_onnx(source):
        read_info(source, load_model(source))
        shutil.copyfile(source, converted)
    else:
        conversion = convert_file(source, converted)
        logger.info(f"converted a {conversion.format.value} net: {conversion.info.architecture}")
    if request.plan is None:
        return converted
    outcome = quantise_file(converted, ready, request.plan, called=str(source))
    logger.info(f"quantised: {outcome.info.precision}")
    return ready


def is_onnx(path: Path) -> bool:
    """Whether a file may be an ONNX file rather than another program's net."""
    with path.open("rb") as file:
        return file.read(1) == _ONNX_START
