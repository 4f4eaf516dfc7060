"""Where nets are kept: the shipped ones, and those the user added.

What `--net` takes is a file, a name, or several of them joined by `+`: see `find_parts`.
"""

import contextlib
import glob
import os
import re
from dataclasses import dataclass
from pathlib import Path

from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.platforms import user_data_base

DEFAULT_NET = "default"
PATTERN_SUFFIX = ".patterns"
"""Of files with the weights of pattern policies; see `rollouts.pattern_file`."""
NO_NET = "none"
"""What `--net` takes for no net at all, but patterns and rollouts."""
ROLLOUTS_PART = "rollouts"
"""A part of a composed net that plays positions out."""
DEFAULT_ROLLOUT_WEIGHT = 0.5
"""Share of rollouts in the value of a net that they were added to: lambda of Silver et al. 2016."""
_BOARD = r"([1-9][0-9]?)x\1"
_VERSION = re.compile(rf"-(?:int8|fp16|{_BOARD})$")
"""Ends of the names of files that serve a net whose name is what stands before."""
PART_HEADS = ("policy", "value", "score", "ownership")
"""Heads that a part of a composed net may be asked for by name."""


@dataclass(frozen=True, slots=True)
class NetFiles:
    """The files of one net; which of them runs is for `precision.choose` to say."""

    fp32: Path
    """`name.onnx`, or the file that was asked for."""
    int8: Path | None = None
    """`name-int8.onnx` beside it."""
    fp16: Path | None = None
    """`name-fp16.onnx` beside it."""
    is_exact: bool = False
    """Whether this file was asked for and no other will do."""


@dataclass(frozen=True, slots=True)
class Part:
    """One of the nets that make a net, or the only one."""

    files: NetFiles
    heads: tuple[str, ...] = ()
    """Out of `PART_HEADS`, the only ones it is asked for; empty where nothing was said."""
    largest_board: int | None = None
    """Longest side of the boards that it judges, those left by the parts before it; None: all."""


def shipped_folder() -> Path:
    """Return the folder of the shipped nets, in a wheel or in a checkout."""
    package = Path(__file__).resolve().parents[2]
    installed = package / "models"
    return installed if installed.is_dir() else package.parent.parent / "models"


def user_folder() -> Path:
    """Return the folder of the nets that the user added; it may not exist.

    Raises:
        RuntimeError: The user has no home folder.
    """
    named = os.environ.get("GTP_ENGINE_NETS")
    if named:  # empty, it would be the folder that the program happens to run in
        return Path(named)
    return user_data_base() / "gtp-engine" / "nets"


def known_nets() -> dict[str, Path]:
    """Return every net found by name, the user's own before the shipped ones."""
    found: dict[str, Path] = {}
    for choose_folder in (shipped_folder, user_folder):
        with contextlib.suppress(OSError, RuntimeError):  # not to be read, or no home folder
            found.update({path.stem: path for path in sorted(choose_folder().glob("*.onnx"))})
    return found


def whole_nets() -> list[str]:
    """Return the names of known nets but those that only serve another: its int8 file, say."""
    nets = known_nets()
    return [name for name in nets if _VERSION.sub("", name) not in nets.keys() - {name}]


def _given_file(wanted: str | None) -> Path | None:
    """Return the file that a text names, if there is one that can be seen."""
    if wanted is None:
        return None
    try:
        path = Path(wanted).expanduser()
        return path if path.is_file() else None
    except (OSError, RuntimeError):  # such as a name too long, or ~ and an unknown user
        return None


def find_net(wanted: str | None, side: int | None = None) -> Path:
    """Return the file of a net given by file or by name; the default net for None.

    Args:
        side: The longest of the boards that are meant: a net asked for by its name may have other
            weights for small boards beside it, see `find_parts`. None: the net's own file.

    Raises:
        NetFileError: There is no such file and no net of that name.
    """
    name = DEFAULT_NET if wanted is None else wanted
    path = _given_file(wanted)
    if path is not None:
        return path
    nets = known_nets()
    if name in nets:
        if side is None:
            return nets[name]
        smaller = weights_for_small_boards(_with_versions(nets[name])).items()
        return next((files.fp32 for most, files in smaller if side <= most), nets[name])
    if name in (NO_NET, ROLLOUTS_PART):
        raise NetFileError(f"{name} is not a net, and a net is needed here")
    names = ", ".join(sorted(nets)) or "none"
    raise NetFileError(f"{name[:200]}: no such net file, and no net of that name (known: {names})")


def find_patterns(wanted: str) -> Path | None:
    """Return a file of pattern weights given by file or by name; None if it is no such file."""
    given = _given_file(wanted)
    if given is not None:
        return given if given.suffix == PATTERN_SUFFIX else None
    return named_patterns(wanted)


def named_patterns(name: str) -> Path | None:
    """Return the file of pattern weights of a name; None if there is none."""
    for choose_folder in (user_folder, shipped_folder):
        with contextlib.suppress(OSError, RuntimeError):
            path = choose_folder() / f"{name}{PATTERN_SUFFIX}"
            if path.is_file():
                return path
    return None


def find_files(wanted: str | None) -> NetFiles:
    """Return the files of a net given by file or by name; a file given is the only one.

    `name-fp32` is the file `name.onnx` and no other.

    Raises:
        NetFileError: There is no such file and no net of that name.
    """
    name = DEFAULT_NET if wanted is None else wanted
    is_file = _given_file(wanted) is not None
    plain = name.removesuffix("-fp32")
    nets = known_nets()
    if plain != name and plain in nets and name not in nets and not is_file:
        return NetFiles(find_net(plain), is_exact=True)
    path = find_net(wanted)
    if is_file:
        return NetFiles(path, is_exact=True)
    return _with_versions(path)


def version_file(path: Path, kind: str) -> Path:
    """Return where the version of a net's file in "int8" or "fp16" is, if there is one."""
    return path.with_name(f"{path.stem}-{kind}.onnx")


def _with_versions(path: Path) -> NetFiles:
    """Return a net's file with those in other precisions beside it."""
    versions = {kind: version_file(path, kind) for kind in ("int8", "fp16")}
    found = {kind: file for kind, file in versions.items() if file.is_file()}
    return NetFiles(path, found.get("int8"), found.get("fp16"))


def without_rollouts(wanted: str | None) -> tuple[str | None, bool]:
    """Return what `--net` names without the part `rollouts`, and whether it had one."""
    if wanted is None or _given_file(wanted) is not None:
        return wanted, False
    parts = wanted.split("+")
    nets = [part for part in parts if part != ROLLOUTS_PART]
    return "+".join(nets) if nets else NO_NET, len(nets) < len(parts)


def find_parts(wanted: str | None) -> list[Part]:
    """Return the parts of a net: one, one for each size of boards, or several joined by `+`.

    A net asked for by its `name` may have other weights for small boards beside it: that part of
    `name-9x9.onnx` judges boards up to 9x9, the part after it the larger ones.

    `A+B` is a net of two files: each head comes from the first that has it. `policy=A+value=B`
    takes these heads from there and nothing else; one part may be asked for several heads, as in
    `value,score=B`. A file or net whose own name looks like that goes first.

    Raises:
        NetFileError: There is no such file and no net of that name, or two parts are asked for
            the same head.
    """
    if wanted is None or _given_file(wanted) is not None or wanted in known_nets():
        whole = find_files(wanted)
        smaller = weights_for_small_boards(whole).items()
        return [*(Part(files, largest_board=side) for side, files in smaller), Part(whole)]
    parts = [_find_part(text) for text in wanted.split("+")]
    asked = [head for part in parts for head in part.heads]
    for head in asked:
        if asked.count(head) > 1:
            raise NetFileError(f"{wanted}: the {head} can come from one net only")
    return parts


def weights_for_small_boards(files: NetFiles) -> dict[int, NetFiles]:
    """Return a net's other weights by the longest side of their boards, the smallest first."""
    if files.is_exact:
        return {}
    name = files.fp32.stem
    found: dict[int, NetFiles] = {}
    for path in files.fp32.parent.glob(f"{glob.escape(name)}-*.onnx"):
        board = re.fullmatch(f"-{_BOARD}", path.stem.removeprefix(name))
        if board is not None:
            found[int(board[1])] = _with_versions(path)
    return dict(sorted(found.items()))


def _find_part(text: str) -> Part:
    before, separator, after = text.partition("=")
    heads = tuple(before.split(","))
    if separator and set(heads) <= set(PART_HEADS):
        return Part(find_files(after), heads)
    try:
        return Part(find_files(text))
    except NetFileError:
        if not separator:
            raise
        known = ", ".join(PART_HEADS)
        raise NetFileError(f"{text}: what comes before = are heads, out of {known}") from None
