"""Broken and hostile net files: one sentence that names the file, and no output."""

import gzip
import os
import re
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.export.convert.katago_writer import (
    ATTENTION,
    FEED_FORWARD,
    ORDINARY,
    POOLING,
    Nested,
    NetPlan,
    write_net,
)
from tests.export.convert.leela_zero_writer import write_leela_zero

from gtp_engine import files
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_export.commands import run
from gtp_export.convert.container import NetFormat, read_net_file
from gtp_export.convert.conversion import convert_file, load_net
from gtp_export.convert.graph import GraphError
from gtp_export.convert.katago_file import read_katago
from gtp_export.convert.leela_zero_file import read_leela_zero
from gtp_export.convert.token_stream import TokenStream

PATH = Path("some-net")
TEXT = write_net(NetPlan(version=8, text=True))
BINARY = write_net(NetPlan(version=15))
MIXED = write_net(
    NetPlan(
        version=17,
        blocks=(Nested((ORDINARY, POOLING)), ATTENTION, FEED_FORWARD),
        meta=True,
        rms_tip=1,
    )
)
LEELA_ZERO = write_leela_zero(1)


def refuse(content: bytes, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Convert content that is broken and return the one line the user sees."""
    source, target = folder / "broken.bin.gz", folder / "out.onnx"
    source.write_bytes(content)
    before = sorted(os.listdir(folder))
    assert run(["convert", str(source), str(target)]) == 1
    assert sorted(os.listdir(folder)) == before
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith(f"gtp-export: {source}: ")
    return captured.err


def replace_line(content: bytes, line: int, new: bytes) -> bytes:
    lines = content.split(b"\n")
    lines[line] = new
    return b"\n".join(lines)


BROKEN = {
    "empty": (b"", "is empty"),
    "a picture": (b"\x89PNG\r\n\x1a\n" + bytes(100), "neither a KataGo net"),
    "an ONNX file": (b"\x08\x08\x12\x04onnx" + bytes(100), "ONNX file already"),
    "a novel": (b"It was a dark and stormy night. " * 100, "neither a KataGo net"),
    "gzip of a novel": (gzip.compress(b"It was a dark night. " * 100), "neither a KataGo"),
    "truncated gzip": (gzip.compress(BINARY)[:-2000], "truncated"),
    "gzip without its end": (gzip.compress(BINARY)[:-8], "truncated"),
    "gzip damaged inside": (
        bytes(b ^ 0x55 if i == 2000 else b for i, b in enumerate(gzip.compress(BINARY, 0))),
        "damaged",
    ),
    "stray bytes after the gzip": (gzip.compress(BINARY) + b"more", "stray bytes"),
    "truncated tensor": (BINARY[:3000], "truncated"),
    "truncated text": (TEXT[: len(TEXT) // 2], "truncated"),
    "ends before the heads": (TEXT[: TEXT.index(b"policy")], "truncated"),
    "trailing bytes": (BINARY + b"abc", "3 bytes follow"),
    "trailing number": (TEXT + b"0.5\n", "3 bytes follow"),
    "version 2": (replace_line(TEXT, 1, b"2"), "version 2"),
    "version 18": (replace_line(TEXT, 1, b"18"), "the newest known is 17"),
    "unknown version": (replace_line(TEXT, 1, b"99999999"), "version 99999999"),
    "wrong planes": (replace_line(TEXT, 2, b"21"), "21 planes"),
    "absurd channels": (replace_line(TEXT, 6, b"2000000000"), "2000000000"),
    "large channels": (replace_line(TEXT, 6, b"60000"), "where 60000 fit"),
    "absurd kernel": (
        TEXT.replace(b"conv1\n3\n3", b"conv1\n61\n61", 1),
        "the file is truncated or its header is wrong",
    ),
    "even kernel": (TEXT.replace(b"conv1\n3\n3", b"conv1\n2\n3", 1), "even size"),
    "negative blocks": (replace_line(TEXT, 5, b"-1"), "-1"),
    "unknown block": (TEXT.replace(b"gpool_block", b"magic_block"), "'magic_block'"),
    "unknown activation": (BINARY.replace(b"MISH", b"SWAG"), "unknown kind"),
    "a word for a number": (replace_line(TEXT, 5, b"two"), "'two'"),
    "a word for a weight": (re.sub(rb"\n-?0\.\d+ ", b"\nzero ", TEXT, count=1), "not numbers"),
    "NaN in text": (re.sub(rb"\n-?0\.\d+ ", b"\nnan ", TEXT, count=1), "NaN"),
    "infinity in text": (re.sub(rb"\n-?0\.\d+ ", b"\n1e99 ", TEXT, count=1), "NaN or infinite"),
    "NaN in binary": (
        BINARY.replace(b"@BIN@", b"@BIN@" + struct.pack("<f", np.nan), 1)[:-4],
        "NaN",
    ),
    "grows beyond float32": (
        re.sub(
            rb"(norm\d+\n6\n0\.001\n0\n1\n).*\n(.*)\n",
            rb"\g<1>3e38" + b" 3e38" * 5 + b"\n1e-30 1 1 1 1 1\n",
            TEXT,
            count=1,
        ),
        "float32",
    ),
    "Leela Zero, a line short": (LEELA_ZERO.rstrip().rsplit(b"\n", 1)[0], "lines"),
    "Leela Zero, a line long": (LEELA_ZERO + b"\n0.5\n", "lines"),
    "Leela Zero, a number short": (LEELA_ZERO.replace(b"0.5 ", b"", 1), "numbers instead of"),
    "Leela Zero, NaN": (LEELA_ZERO.replace(b"0.5 ", b"nan ", 1), "NaN"),
    "Leela Zero, a word": (LEELA_ZERO.replace(b"0.5 ", b"half ", 1), "not numbers"),
}


@pytest.mark.parametrize("title", BROKEN)
def test_broken_nets_are_refused_in_one_sentence(
    title: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content, reason = BROKEN[title]
    assert reason in refuse(content, tmp_path, capsys)


def test_missing_source(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["convert", str(tmp_path / "none"), str(tmp_path / "out.onnx")]) == 1
    assert "No such file" in capsys.readouterr().err
    assert os.listdir(tmp_path) == []


def test_target_in_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "net"
    source.write_bytes(BINARY)
    target = tmp_path / "nowhere" / "out.onnx"
    assert run(["convert", str(source), str(target)]) == 1
    assert capsys.readouterr().err == f"gtp-export: {target}: No such file or directory\n"


def test_a_failed_conversion_keeps_the_old_file(tmp_path: Path) -> None:
    source, target = tmp_path / "net", tmp_path / "out.onnx"
    source.write_bytes(BINARY[:-5])
    target.write_bytes(b"what was here")
    with pytest.raises(NetFileError):
        convert_file(source, target)
    assert target.read_bytes() == b"what was here"


def test_a_gzip_bomb_is_refused_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gtp_export.convert.container.UNPACKED_LIMIT", 1 << 22)
    source = tmp_path / "bomb"
    packer = zlib.compressobj(wbits=31)
    head = b"bomb 8 22 19 "
    source.write_bytes(packer.compress(head + b" " * (1 << 23)) + packer.flush())
    with pytest.raises(NetFileError, match="unpacks to more"):
        read_net_file(source)


def test_a_small_file_that_unpacks_to_a_large_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MOST_FOR_NOTHING", 1 << 20)
    source = tmp_path / "bomb"
    source.write_bytes(gzip.compress(b"1\n0 0 0 0 0\n" + b"0 " * (1 << 20)))
    with pytest.raises(NetFileError, match="unpacks to more than 1 MiB"):
        read_net_file(source)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"1\n" * 20_000, "has more than 10000 lines"),
        (b"1\n0\n" + b"0 " * 5000 + b"\n0" * 24, "has 5000 filters"),
    ],
)
def test_leela_zero_nets_of_no_honest_size_are_refused(content: bytes, problem: str) -> None:
    with pytest.raises(NetFileError, match=problem):
        read_leela_zero(PATH, content)


def test_blocks_nested_without_end(tmp_path: Path) -> None:
    plan = Nested((ORDINARY,))
    for _ in range(10):
        plan = Nested((plan,))
    content = write_net(NetPlan(version=14, blocks=(plan,)))
    with pytest.raises(NetFileError, match="deep"):
        read_katago(PATH, content)


@pytest.mark.parametrize(
    ("content", "expected"),
    [(TEXT, NetFormat.KATAGO), (BINARY, NetFormat.KATAGO), (LEELA_ZERO, NetFormat.LEELA_ZERO)],
)
def test_format_is_told_from_content(tmp_path: Path, content: bytes, expected: NetFormat) -> None:
    for name in ("net.txt.gz", "net.onnx", "net"):
        (tmp_path / name).write_bytes(content)
        (tmp_path / f"packed-{name}").write_bytes(gzip.compress(content))
        assert read_net_file(tmp_path / name) == (expected, content)
        assert read_net_file(tmp_path / f"packed-{name}") == (expected, content)


def test_gzip_in_several_members_and_padded(tmp_path: Path) -> None:
    source = tmp_path / "net"
    packed = gzip.compress(BINARY[:1000]) + gzip.compress(BINARY[1000:]) + bytes(512)
    source.write_bytes(packed)
    assert read_net_file(source) == (NetFormat.KATAGO, BINARY)


MUTATIONS = st.lists(
    st.tuples(
        st.sampled_from(["set", "cut", "insert", "delete"]), st.floats(0, 1), st.binary(max_size=6)
    ),
    min_size=1,
    max_size=4,
)


def mutate(content: bytes, mutations: list[tuple[str, float, bytes]]) -> bytes:
    """Damage content; half of the places lie in its first 4 %, where the headers are."""
    for kind, place, data in mutations:
        share = 0.08 * place if place < 0.5 else 2 * place - 1
        position = int(share * len(content))
        before, after = content[:position], content[position:]
        if kind == "set":
            content = before + data + after[len(data) :]
        elif kind == "insert":
            content = before + data + after
        elif kind == "delete":
            content = before + after[len(data) + 1 :]
        else:
            content = before
    return content


FUZZ = settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])


@FUZZ
@given(st.sampled_from([TEXT, BINARY, MIXED]), MUTATIONS)
def test_mutated_katago_nets_parse_or_are_refused(
    content: bytes, mutations: list[tuple[str, float, bytes]]
) -> None:
    try:
        net = read_katago(PATH, mutate(content, mutations))
    except NetFileError as error:
        assert str(error).startswith("some-net: ")
        assert "\n" not in str(error)
    else:
        assert np.isfinite(net.trunk.stem.weights).all()


@FUZZ
@given(MUTATIONS)
def test_mutated_leela_zero_nets_parse_or_are_refused(
    mutations: list[tuple[str, float, bytes]],
) -> None:
    try:
        read_leela_zero(PATH, mutate(LEELA_ZERO, mutations))
    except NetFileError as error:
        assert str(error).startswith("some-net: ")


@FUZZ
@given(st.binary(max_size=400))
def test_random_bytes_are_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    source = tmp_path_factory.mktemp("fuzz") / "net"
    source.write_bytes(data)
    with pytest.raises(NetFileError):
        load_net(source)


@FUZZ
@given(st.data())
def test_tokens_changed_to_other_numbers(data: st.DataObject) -> None:
    """Headers that lie about sizes never cost memory or end in anything but a sentence."""
    lines = TEXT.split(b"\n")
    short = [index for index, line in enumerate(lines) if line.isdigit()]
    index = data.draw(st.sampled_from(short))
    value = data.draw(st.sampled_from([-1, 0, 1, 2, 3, 7, 1000, 65535, 65536, 2**31, 2**63]))
    lines[index] = str(value).encode()
    try:
        read_katago(PATH, b"\n".join(lines))
    except NetFileError as error:
        assert str(error).startswith("some-net: ")


def test_mutated_real_nets(reference_data: Path, tmp_path: Path) -> None:
    """Real files, damaged at seeded places before and after packing."""
    random = np.random.default_rng(20_261_120)
    kinds = ("set", "cut", "insert", "delete")
    for source in sorted((reference_data / "nets" / "tiny").glob("*.gz")):
        packed = source.read_bytes()
        content = gzip.decompress(packed)
        for _ in range(6):
            mutations = [
                (kinds[random.integers(4)], float(random.random()), random.bytes(3))
                for _ in range(2)
            ]
            for name, damaged in (
                ("a", mutate(content, mutations)),
                ("b", mutate(packed, mutations)),
            ):
                (tmp_path / name).write_bytes(damaged)
                try:
                    load_net(tmp_path / name)
                except NetFileError as error:
                    assert str(error).startswith(str(tmp_path / name))
                except GraphError as error:
                    assert "float32" in str(error)


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        ("zero run --minutes 1", "train"),
        ("train --preset tiny --games a --out b", "train"),
        ("add a", "convert"),
    ],
)
def test_the_extra_that_is_missing_is_named(
    command: str, extra: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(arguments: object) -> int:
        raise ModuleNotFoundError("No module named 'onnx'", name="onnx")

    name = command.split()[0]
    monkeypatch.setattr(f"gtp_export.commands.{name}.run", fail)
    assert run(command.split()) == 1
    assert f"pip install 'gtp-engine[{extra}]'" in capsys.readouterr().err


def test_a_word_without_end_among_numbers_is_refused() -> None:
    stream = TokenStream(Path("net"), b"1 " + b"x" * (3 << 20))
    with pytest.raises(NetFileError, match="weights is not a list of numbers"):
        stream.tensor("weights", 10)
