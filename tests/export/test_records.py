"""Packs of game records, and the positions labelled from them."""

import bz2
from pathlib import Path

import numpy as np
import pytest

from gtp_engine.go.coords import BLACK, PASS, WHITE, parse_vertex
from gtp_engine.go.rules import Scoring
from gtp_export.labels import Teacher
from gtp_export.record_positions import label_records
from gtp_export.records import RecordError, parse_record, read_pack

TINY_NET = Path(__file__).parents[1] / "data" / "tiny.onnx"
LINE = (
    "(;GM[1]FF[4]SZ[9]KM[0.5]HA[2]AB[cc][gg]PL[W]RE[B+3.5]RU[Japanese]XD[aa][ba]SO[kgs]"
    ";W[ee];B[cf];W[];B[gc])"
)


def vertex(name: str, size: int = 9) -> int:
    return parse_vertex(name, size, size)


def test_a_record_is_read() -> None:
    record = parse_record(LINE)
    assert (record.width, record.height) == (9, 9)
    assert record.rules.scoring == Scoring.TERRITORY and record.rules.komi == 0.5
    assert record.black == (vertex("C7"), vertex("G3")) and record.white == ()
    assert record.to_play == WHITE
    assert record.moves == (
        (WHITE, vertex("E5")),
        (BLACK, vertex("C4")),
        (WHITE, PASS),
        (BLACK, vertex("G7")),
    )
    assert (record.result, record.source) == ("B+3.5", "kgs")
    assert record.dead == (vertex("A9"), vertex("B9"))


def test_what_a_record_leaves_out_has_defaults() -> None:
    record = parse_record("(;GM[1];B[aa])")
    assert (record.width, record.height) == (19, 19)
    assert record.rules.scoring == Scoring.AREA and record.rules.komi == 7.5
    assert record.dead is None and record.result == ""
    assert parse_record("(;SZ[9]XD[])").dead == ()


@pytest.mark.parametrize(
    ("size", "value", "point"),
    [("19", "tt", PASS), ("9", "tt", PASS), ("21", "tt", None), ("19", "", PASS)],
)
def test_tt_is_a_pass_up_to_19(size: str, value: str, point: int | None) -> None:
    record = parse_record(f"(;SZ[{size}];B[{value}])")
    wanted = vertex("U2", 21) if point is None else point
    assert record.moves == ((BLACK, wanted),)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("(;SZ[x];B[aa])", "board size"),
        ("(;SZ[9];B[zz])", "off the board"),
        ("(;SZ[9];B[aaa])", "impossible point"),
        ("(;SZ[9]KM[nan];B[aa])", "not a number"),
    ],
)
def test_impossible_values_are_named(text: str, why: str) -> None:
    with pytest.raises(RecordError, match=why):
        parse_record(text)


def test_packs_may_be_compressed_and_skipped_into(tmp_path: Path) -> None:
    lines = "".join(f"(;SZ[9]SO[{i}];B[aa])\n" for i in range(5))
    plain, packed = tmp_path / "a.sgf", tmp_path / "a.sgf.bz2"
    plain.write_text(lines)
    packed.write_bytes(bz2.compress(lines.encode()))
    for path in (plain, packed):
        assert [record.source for record in read_pack(path, skip=2)] == ["2", "3", "4"]


def test_a_bad_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.sgf"
    path.write_text("(;SZ[9];B[aa])\n\n(;SZ[9];B[zz])\n")
    with pytest.raises(RecordError, match="line 3"):
        list(read_pack(path))


def test_positions_of_records_are_labelled() -> None:
    moves = "".join(f";{'BW'[i % 2]}[{'abcdefghi'[i % 9]}{'abcdefghi'[i // 9]}]" for i in range(27))
    records = (parse_record(f"(;SZ[9]{moves})") for _ in range(3))
    samples = label_records(Teacher(TINY_NET), records, seed=4, games=2)
    assert samples is not None
    assert len(samples.features) == 8
    sums = samples.policy.astype(np.float64).sum(1)
    np.testing.assert_allclose(sums, 1.0, atol=0.01)
    rest = label_records(Teacher(TINY_NET), records, seed=4, games=2)
    assert rest is not None and len(rest.features) == 4
    assert label_records(Teacher(TINY_NET), records, seed=4, games=2) is None


def test_the_reference_packs_are_read(reference_data: Path) -> None:
    pack = reference_data / "data" / "pro19-strong.valid.sgf.bz2"
    records = list(read_pack(pack))
    assert len(records) == 2521
    for record in records[:50]:
        position = record.start()
        position.play_all(record.moves, strict=False)
        assert position.ply == len(record.moves)
