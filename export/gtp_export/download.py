"""Fetch a file over HTTP, going on where a connection broke off, in this run or an earlier one.

What has come so far lies in a `.part` file, beside it a note of which version of the file it is a
part of. A server that cannot go on in the middle, or has another version by now, makes the
download begin anew.
"""

import hashlib
import http.client
import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from gtp_engine.evaluators.nets.net_info import NetFileError

CHUNK = 1 << 16
TIMEOUT_SECONDS = 30.0
LARGEST_FILE = 4 << 30
"""Bytes; no net this engine can run is larger."""
MOST_SECONDS = 6 * 3600.0
"""Of a download as a whole; a server that sends a byte now and then would keep it up for days."""
PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds to wait before trying again; a try that brings something starts over."""
USER_AGENT = "gtp-export"
_ASCII_IN_ADDRESSES = "%/:?#[]@!$&'()*+,;=~"
"""Characters that stay as they are when an address is sent, besides letters, digits, - . _"""

Progress = Callable[[int, int | None], None]
"""Called with the bytes there are and how many there will be, if the server said so."""


_LATER = (http.HTTPStatus.REQUEST_TIMEOUT, http.HTTPStatus.TOO_MANY_REQUESTS)
"""Answers of a server that may have another one soon."""


class _BrokenOff(Exception):
    """The connection ended before the file did."""


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows a server to no other kind of address."""

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        """Return the request to make instead.

        Raises:
            NetFileError: It would not be one over HTTP.
        """
        if not is_url(newurl):
            fp.close()
            raise NetFileError(f"{req.full_url}: the server redirects to {_printable(newurl)}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


_OPENER = urllib.request.build_opener(_Redirects)


@dataclass
class _Part:
    """What is there of a file."""

    path: Path

    @property
    def note(self) -> Path:
        return self.path.with_suffix(".json")

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def known(self, url: str) -> tuple[bool, str | None]:
        """Return whether this is a part of that file, and the tag of its version if it has one."""
        try:
            note = json.loads(self.note.read_text("utf-8"))
        except (OSError, ValueError):
            return False, None
        if not isinstance(note, dict) or note.get("url") != url:
            return False, None
        return True, str(note["version"]) if note.get("version") else None

    def begin(self, url: str, version: str | None) -> None:
        """Forget what there is, and note what comes now."""
        self.path.write_bytes(b"")
        self.note.write_text(json.dumps({"url": url, "version": version}), "utf-8")

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)
        self.note.unlink(missing_ok=True)


def is_url(text: str) -> bool:
    """Whether a text is the address of something to download."""
    try:
        return urlsplit(text).scheme.lower() in ("http", "https") and "://" in text
    except ValueError:  # a bracket without its other half
        return False


def download(
    url: str,
    target: Path,
    sha256: str | None = None,
    progress: Progress = lambda done, total: None,
    pauses: tuple[float, ...] = PAUSES,
) -> None:
    """Fetch a file; `target` appears when all of it is there and its hash is right.

    Args:
        target: Where to put it, in a folder that exists.
        pauses: Seconds to wait before each further try.

    Raises:
        NetFileError: The server does not have it, breaks off again and again, or sends something
            else than the hash says.
        OSError: The file cannot be written.
    """
    part = _Part(target.with_name(f"{target.name}.part"))
    tries_left = list(pauses)
    deadline = time.perf_counter() + MOST_SECONDS
    while True:
        before = part.size
        try:
            _fetch(url, part, progress, deadline, is_checked=sha256 is not None)
            break
        except (_BrokenOff, urllib.error.URLError, TimeoutError, ConnectionError) as error:
            if isinstance(error, urllib.error.HTTPError):
                answer = f"{error.code} {_printable(str(error.reason))}"
                raise NetFileError(f"{url}: the server answers {answer}") from None
            tries_left = list(pauses) if part.size > before else tries_left
            if not tries_left:
                reason = str(error) or "the server does not answer"
                if isinstance(error, urllib.error.URLError):
                    reason = f"cannot be reached: {error.reason}"
                raise NetFileError(f"{url}: {reason}") from None
            time.sleep(tries_left.pop(0))
    found = file_hash(part.path)
    if sha256 is not None and found != sha256.lower():
        part.remove()
        raise NetFileError(f"{url}: has SHA-256 {found}, not {sha256.lower()}")
    part.path.replace(target)
    part.remove()


def file_hash(path: Path) -> str:
    """Return a file's SHA-256 in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fetch(url: str, part: _Part, progress: Progress, deadline: float, *, is_checked: bool) -> None:
    """Fetch what is missing, in one connection.

    Without a tag only a hash can tell whether two parts belong together.

    Raises:
        _BrokenOff: It ended too early; what has come is kept.
    """
    start = part.size
    is_same, version = part.known(url)
    headers = {"User-Agent": USER_AGENT, "Accept-Encoding": "identity"}
    if start and is_same and (version is not None or is_checked):
        headers |= {"Range": f"bytes={start}-"}
        headers |= {} if version is None else {"If-Range": version}
    try:
        request = urllib.request.Request(quote(url, _ASCII_IN_ADDRESSES), headers=headers)
        response = _OPENER.open(request, timeout=TIMEOUT_SECONDS)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code != http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE or not start:
            if error.code in _LATER:
                raise _BrokenOff(f"the server answers {error.code}") from None
            if 400 <= error.code < 500:
                part.remove()  # the rest will never come
            raise
        part.remove()
        raise _BrokenOff("the server has another file now") from None
    except UnicodeError:  # the host has a part that is empty or too long
        raise NetFileError(f"{url}: is no address") from None
    except http.client.HTTPException as error:
        raise _BrokenOff(f"the server's answer makes no sense: {error!r}") from None
    with response:
        if response.status != http.HTTPStatus.PARTIAL_CONTENT:
            start = 0
            part.begin(url, _version(response))
        elif not re.match(f"bytes {start}-", response.headers.get("Content-Range", ""), re.I):
            raise _BrokenOff("the server sends another part than it was asked for")
        _receive(response, part, start, progress, deadline)


def _version(response: Any) -> str | None:
    """Return what names this version of the file; weak tags do not name it byte for byte."""
    tag = response.headers.get("ETag")
    if not tag or tag.startswith("W/"):
        tag = response.headers.get("Last-Modified")
    return str(tag) if tag else None


def _receive(response: Any, part: _Part, start: int, progress: Progress, deadline: float) -> None:
    length = re.fullmatch("[0-9]+", response.headers.get("Content-Length", ""))
    # More than so many digits are too large as well, and might be too many to be read.
    total = None if length is None else start + int(length[0][:20])
    done, is_too_large = start, total is not None and total > LARGEST_FILE
    is_cut = False
    with part.path.open("ab") as file:
        progress(done, total)
        while not is_too_large:
            try:
                chunk = response.read1(CHUNK)
            except http.client.IncompleteRead as error:
                chunk, is_cut = error.partial, True
            except (OSError, http.client.HTTPException) as error:
                raise _BrokenOff(f"the connection broke off: {error}") from None
            if not chunk:
                break
            file.write(chunk)
            done += len(chunk)
            is_too_large = done > LARGEST_FILE
            if time.perf_counter() > deadline:
                hours = f"{MOST_SECONDS / 3600:g} hours"
                raise NetFileError(
                    f"{response.url}: took more than {hours}; the same command resumes it"
                )
            progress(done, total)
    if is_too_large:
        part.remove()
        raise NetFileError(f"{response.url}: is too large for a net")
    if is_cut or (total is not None and done < total):
        of = "" if total is None else f" of {total}"
        raise _BrokenOff(f"the connection broke off after {done}{of} bytes")


def _printable(text: str) -> str:
    """Return what a server wrote without what would steer a terminal."""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:200])
