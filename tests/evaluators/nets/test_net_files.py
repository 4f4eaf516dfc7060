"""Where nets are looked for."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gtp_engine.evaluators.nets import net_files
from gtp_engine.evaluators.nets.net_files import (
    NetFiles,
    Part,
    find_files,
    find_net,
    find_parts,
    known_nets,
    shipped_folder,
    user_folder,
    whole_nets,
)
from gtp_engine.evaluators.nets.net_info import NetFileError


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Folders of shipped and of own nets, both with a net of the same name."""
    shipped, own = tmp_path / "shipped", tmp_path / "own"
    for folder, names in ((shipped, ("default", "small")), (own, ("small", "mine"))):
        folder.mkdir()
        for name in names:
            (folder / f"{name}.onnx").write_bytes(b"")
    (own / "notes.txt").write_text("no net", encoding="utf-8")
    monkeypatch.setattr(net_files, "shipped_folder", lambda: shipped)
    monkeypatch.setenv("GTP_ENGINE_NETS", str(own))
    monkeypatch.chdir(shipped)  # where no other files are
    return shipped, own


def test_nets_are_found_by_name_the_users_own_first(folders: tuple[Path, Path]) -> None:
    shipped, own = folders
    assert find_net(None) == find_net("default") == shipped / "default.onnx"
    assert find_net("small") == own / "small.onnx"
    assert sorted(known_nets()) == ["default", "mine", "small"]


def test_a_file_goes_before_a_name(
    folders: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small").write_bytes(b"")
    assert find_net("small") == Path("small")
    assert find_net(str(tmp_path / "small")) == tmp_path / "small"


def test_a_missing_net_is_named_with_those_that_there_are(folders: tuple[Path, Path]) -> None:
    for wanted in ("strong", "", str(folders[0]), "../etc/passwd"):
        with pytest.raises(NetFileError, match=r"known: default, mine, small"):
            find_net(wanted)


def test_without_any_net(
    folders: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(net_files, "shipped_folder", lambda: tmp_path / "nowhere")
    monkeypatch.setenv("GTP_ENGINE_NETS", str(tmp_path / "nowhere else"))
    with pytest.raises(NetFileError, match=r"default: .*known: none"):
        find_net(None)


def test_the_users_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GTP_ENGINE_NETS", raising=False)
    assert user_folder().parts[-2:] == ("gtp-engine", "nets")


def test_the_shipped_folder_is_called_models() -> None:
    assert shipped_folder().name == "models"


def test_the_files_of_a_net(
    folders: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped, own = folders
    for file in (shipped / "default-int8.onnx", own / "mine-fp16.onnx"):
        file.write_bytes(b"")
    plain, fast = shipped / "default.onnx", shipped / "default-int8.onnx"
    assert find_files(None) == find_files("default") == NetFiles(plain, fast)
    assert find_files("mine").fp16 == own / "mine-fp16.onnx"
    assert find_files("default-int8") == NetFiles(fast)
    assert find_files("default-fp32") == NetFiles(plain, is_exact=True)
    own_name = own / "default-fp32.onnx"
    own_name.write_bytes(b"")
    assert find_files("default-fp32") == NetFiles(own_name)
    own_name.unlink()
    assert find_files(str(plain)) == NetFiles(plain, is_exact=True)
    monkeypatch.chdir(shipped)
    assert find_files("default.onnx") == NetFiles(Path("default.onnx"), is_exact=True)
    with pytest.raises(NetFileError):
        find_files("strong-fp32")


def test_weights_for_small_boards_lie_beside_a_net(folders: tuple[Path, Path]) -> None:
    shipped, own = folders
    names = ("13x13", "9x9", "9x9-int8", "9x7", "099x099", "five")
    for file in (*(shipped / f"default-{name}.onnx" for name in names), own / "mine-7x7.onnx"):
        file.write_bytes(b"")
    parts = find_parts("default")
    assert [part.largest_board for part in parts] == [9, 13, None]
    assert [part.files.fp32.stem for part in parts] == ["default-9x9", "default-13x13", "default"]
    assert parts[0].files.int8 == shipped / "default-9x9-int8.onnx" and not parts[1].files.int8
    assert find_parts(None) == parts
    assert [part.largest_board for part in find_parts("mine")] == [7, None]
    named = {7: "-9x9", 9: "-9x9", 10: "-13x13", 14: "", 19: ""}
    for side, board in named.items():
        assert find_net("default", side) == shipped / f"default{board}.onnx"
    assert find_net("default-9x9", 19).stem == "default-9x9"
    assert find_net(str(shipped / "default.onnx"), 9).stem == "default"
    for alone in ("default-fp32", "default-9x9", str(shipped / "default.onnx"), "small"):
        assert [part.largest_board for part in find_parts(alone)] == [None]
    odd = ["default-099x099", "default-9x7", "default-five"]
    assert sorted(whole_nets()) == ["default", *odd, "mine", "small"]
    (own / "default.onnx").write_bytes(b"")  # the user's own has no such weights
    assert find_parts("default") == [Part(NetFiles(own / "default.onnx"))]


@pytest.mark.parametrize(
    "wanted", ["~nobody-of-this-name/net.onnx", "long" * 2000, "policy=~nobody-of-this-name/a"]
)
def test_what_can_be_no_path_is_no_net(wanted: str, folders: tuple[Path, Path]) -> None:
    with pytest.raises(NetFileError, match="no such net file") as caught:
        find_parts(wanted)
    assert len(str(caught.value)) < 400


def test_what_is_no_head_is_said(folders: tuple[Path, Path]) -> None:
    with pytest.raises(NetFileError, match=r"foo=default: .* heads, out of policy, value, "):
        find_parts("policy=default+foo=default")


def test_folders_that_cannot_be_read_hold_no_nets(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, *args: object) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "is_file", refuse)
    with pytest.raises(NetFileError, match=r"/secret/a: no such net file.*default, mine"):
        find_parts("/secret/a")


def test_without_a_home_folder_there_are_the_nets_that_came_along(
    folders: tuple[Path, Path], homeless: Callable[[], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GTP_ENGINE_NETS", "XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    assert sorted(known_nets()) == ["default", "small"]
    assert find_parts(None)[0].files.fp32 == folders[0] / "default.onnx"


@pytest.mark.parametrize("set_to", ["", None])
def test_without_a_name_the_folder_of_nets_is_not_where_the_program_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, set_to: str | None
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    if set_to is None:
        monkeypatch.delenv("GTP_ENGINE_NETS", raising=False)
    else:
        monkeypatch.setenv("GTP_ENGINE_NETS", set_to)
    assert user_folder().is_absolute()
