"""Games as arrays: reading, packing, dividing, and the positions drawn from them."""

import gzip
import io
import json
import lzma
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gtp_engine import files
from gtp_engine.coords import BLACK, WHITE, point_to_action
from gtp_engine.evaluators.encoders.inputs import encode_position
from gtp_engine.go.game_record import GameRecord, SgfError
from gtp_engine.go.scoring import agreed_owners
from gtp_engine.go.sgf import parse_sgf, read_games
from gtp_export.commands import run as run_command
from gtp_export.records import pack_file
from gtp_export.records.games import OUT_OF_TURN, UNKNOWN_WINNER, Games, GameTable
from gtp_export.records.pack_file import read_pack, write_pack
from gtp_export.records.reading import decode_line, read_table
from gtp_export.records.stream import PositionReader, PositionStream

PLAIN = "(;GM[1]SZ[5]KM[6.5]RE[B+3.5]RU[Japanese]SO[one]XD[aa];B[cc];W[aa];B[ab];W[];B[])"
HANDICAP = "(;SZ[5]HA[2]AB[aa][ee]PL[W]RE[W+R];W[cc];B[bb])"
ODD = "(;SZ[5:4];W[aa];W[bb];B[ed];B[])"
MARKED = "(;SZ[5]RE[B+20];B[cc];W[aa];B[];W[];TB[aa][ab][ba]TW[])"
ILLEGAL = "(;SZ[5]RE[B+R]XD[];B[cc];W[cc];B[dd])"
MARKED_ILLEGAL = "(;SZ[5]RE[B+20];B[cc];W[cc];TB[aa]TW[])"


def write_lines(path: Path, *games: str) -> Path:
    import bz2

    path.write_bytes(bz2.compress("\n".join(games).encode() + b"\n"))
    return path


def same_game(a: GameRecord, b: GameRecord) -> bool:
    names = ("width", "height", "moves", "dead", "winner", "score_black", "komi")
    stones = [a.initial_stones(color) == b.initial_stones(color) for color in (BLACK, WHITE)]
    return all(getattr(a, name) == getattr(b, name) for name in names) and all(stones)


@pytest.fixture
def games(tmp_path: Path) -> Games:
    return read_table([write_lines(tmp_path / "g.sgf.bz2", PLAIN, HANDICAP, ODD, MARKED)])


def test_a_table_gives_back_what_the_records_say(games: Games) -> None:
    for i, text in enumerate((PLAIN, HANDICAP, ODD)):
        record = parse_sgf(text)
        if record.komi is None:
            record.komi = games.record(i).komi
        assert same_game(games.record(i), record), text
    assert games.record(0).rules == replace(parse_sgf(PLAIN).rules, komi=6.5)
    assert games.record(0).source == "one"
    assert games.table.first.tolist() == [BLACK, WHITE, WHITE, BLACK]
    assert games.table.moves[games.table.starts[2] + 1] & OUT_OF_TURN  # White again


def test_a_property_that_comes_twice_counts_twice(tmp_path: Path) -> None:
    text = "(;GM[1]SZ[5]KM[6.5]AB[aa]AB[bb]AW[cc];B[dd];W[ee])"
    games = read_table([write_lines(tmp_path / "g.sgf.bz2", text)])
    assert same_game(games.record(0), parse_sgf(text))
    assert len(games.record(0).initial_stones(BLACK)) == 2


@pytest.mark.parametrize(
    "text",
    [
        "(;SZ[9]HA[2]PL[B];B[cc];B[gg];W[ee])",
        "(;SZ[19]HA[6]PL[W];W[dj];B[cf])",
        "(;SZ[9]KM[0]HA[4]PL[W];W[ee];B[ef])",
        "(;SZ[5]KM[7]TB[aa]TW[];B[cc];W[aa];B[];W[])",
    ],
)
def test_a_line_is_the_game_that_any_file_would_hold(text: str, tmp_path: Path) -> None:
    (tmp_path / "g.sgf").write_text(text)
    whole, line = tmp_path / "g.sgf", write_lines(tmp_path / "g.sgf.bz2", text)
    assert same_game(read_table([line]).record(0), read_table([whole]).record(0))


def test_stones_in_marked_territory_are_dead(games: Games) -> None:
    marked = parse_sgf(MARKED)
    assert games.record(3).dead == (marked.moves[1].point,)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b";B[ab];W[];B[tt])", [5, 25, 25]),
        (b";B[ab];B[cc])\r", [5, 12 | OUT_OF_TURN]),
        (b";B[ab];W[cc]C[hello])", None),
        (b";B[ab];W[fa])", None),
        (b";B[ab];W[c])", None),
        (b";B[ab];W[cc", None),
    ],
)
def test_lines_are_decoded_or_refused(text: bytes, expected: list[int] | None) -> None:
    codes = np.zeros(8, np.int16)
    padded = b"xx" + text + b"\n(;"
    n = decode_line(np.frombuffer(padded, np.uint8), 2, 2 + len(text), 5, 5, BLACK, codes)
    assert (None if n < 0 else codes[:n].tolist()) == expected


def test_a_game_ends_before_an_illegal_move_and_is_not_settled(
    tmp_path: Path, said: list[str]
) -> None:
    path = write_lines(tmp_path / "g.sgf.bz2", ILLEGAL, MARKED_ILLEGAL, PLAIN, "no game at all")
    games = read_table([path])
    assert [len(games.record(i).moves) for i in range(3)] == [1, 1, 5]
    assert games.table.settled.tolist() == [0, 0, 1]
    # Nor is it won by who has won what came after.
    assert games.table.winner.tolist() == [UNKNOWN_WINNER, UNKNOWN_WINNER, BLACK]
    assert [games.record(i).result for i in range(2)] == ["", ""]
    assert "2 of them end before" in said[0] and "1 left out" in said[0]


def test_folders_and_archives_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "a.sgf").write_text(PLAIN)
    (folder / "b.sgf").write_text(MARKED)
    archive = tmp_path / "all.tar.gz"
    with tarfile.open(archive, "w:gz") as file:
        member = tarfile.TarInfo("c.sgf")
        member.size = len(HANDICAP)
        file.addfile(member, io.BytesIO(HANDICAP.encode()))
    games = read_table([folder, archive])
    assert len(games) == 3 and set(games.sources) == {"one", ""}
    for name in ("all.tgz", "ALL.TGZ"):
        archive = archive.rename(tmp_path / name)
        assert len(read_table([archive])) == 1


def test_a_folder_says_what_it_leaves_out(tmp_path: Path, said: list[str]) -> None:
    (tmp_path / "a.sgf").write_text(PLAIN)
    (tmp_path / "b.zip").write_bytes(archive_bytes("zip"))
    (tmp_path / "c.GAMES").write_bytes(b"")
    assert len(read_table([tmp_path])) == 1
    assert said[0].startswith(f"{tmp_path / 'b.zip'} and 1 more: left out")


@pytest.mark.parametrize("line", ["(;SZ[5];B[cc];W[aa]", "(;SZ[5];B[cc];W[c", "(;SZ[5]C[a];B[cc]"])
def test_a_game_that_goes_on_beyond_its_line_is_left_out(
    tmp_path: Path, line: str, said: list[str]
) -> None:
    pack = write_lines(tmp_path / "g.sgf.bz2", PLAIN, line, ODD)
    assert len(read_table([pack])) == 2
    assert said[1] == "  line 2: the game does not end with the line"
    complaints: list[str] = []
    assert len(list(read_games(pack, complaints.append))) == 2
    assert complaints == [f"{pack}, line 2: the game does not end with the line"]


def archive_bytes(kind: str) -> bytes:
    """Return an archive of 50 games, or a pack of as many lines."""
    content = io.BytesIO()
    if kind == "gz":
        return gzip.compress(f"{PLAIN}\n".encode() * 50)
    if kind == "zip":
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as file:
            for i in range(50):
                file.writestr(f"{i}.sgf", PLAIN)
        return content.getvalue()
    with tarfile.open(fileobj=content, mode="w:gz" if kind == "tar.gz" else "w") as archive:
        for i in range(50):
            member = tarfile.TarInfo(f"{i}.sgf")
            member.size = len(PLAIN)
            archive.addfile(member, io.BytesIO(PLAIN.encode()))
    return content.getvalue()


def test_games_of_one_name_and_what_is_no_game_lie_in_a_zip(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "all.zip"
    with zipfile.ZipFile(path, "w") as file, pytest.warns(UserWarning, match="Duplicate"):
        for name, text in (("a.sgf", PLAIN), ("net.bin", "x" * 9999), ("a.sgf", HANDICAP)):
            file.writestr(name, text)
    monkeypatch.setattr(files, "MOST_FOR_NOTHING", 1000)
    monkeypatch.setattr(files, "MOST_RATIO", 0)
    games = read_table([path])
    assert [games.table.first[i] for i in range(len(games))] == [BLACK, WHITE]


@pytest.mark.parametrize("cut", [4608, 4800, 5000, 5632])
def test_an_archive_that_was_cut_at_any_place_is_damaged(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "all.tar"
    path.write_bytes(archive_bytes("tar"))
    assert len(read_table([path])) == 50
    path.write_bytes(archive_bytes("tar")[:cut])
    with pytest.raises(SgfError, match=r"all\.tar: unexpected end"):
        read_table([path])


def test_a_zip_without_its_end_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "all.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a.sgf", PLAIN)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(SgfError, match=r"all\.zip"):
        read_table([path])


@pytest.mark.parametrize("kind", ["gz", "zip", "tar.gz"])
@pytest.mark.parametrize("damage", ["cut", "flipped", "junk"])
def test_damaged_archives_are_one_sentence(tmp_path: Path, kind: str, damage: str) -> None:
    whole = archive_bytes(kind)
    # Games lie before the middle: what has been read by then is no use without the rest.
    middle = 60 if kind == "zip" else len(whole) // 2
    flipped = bytes([*whole[:middle], whole[middle] ^ 255, *whole[middle + 1 :]])
    path = tmp_path / f"all.{kind}"
    path.write_bytes({"cut": whole[: len(whole) // 2], "flipped": flipped, "junk": b"junk"}[damage])
    with pytest.raises(SgfError, match=rf"all\.{kind}"):
        read_table([path])


def test_files_without_games_are_one_sentence(tmp_path: Path) -> None:
    empty = tmp_path / "empty.sgf.bz2"
    write_lines(empty, "")
    with pytest.raises(SgfError, match=r"no game in .*empty"):
        read_table([empty])
    (tmp_path / "broken.games").write_bytes(b"gtpgame1 but then nothing")
    with pytest.raises(SgfError, match="damaged"):
        read_table([tmp_path / "broken.games"])


def test_packs_hold_everything(games: Games, tmp_path: Path) -> None:
    path = tmp_path / "all.games"
    write_pack(path, games)
    again = read_pack(path)
    for name in GameTable._fields:
        wanted, got = getattr(games.table, name), getattr(again.table, name)
        np.testing.assert_array_equal(wanted, got, err_msg=name)
        assert wanted.dtype == got.dtype, name
    assert again.rules == games.rules and again.sources == games.sources


def test_a_game_in_a_pack_ends_before_an_illegal_move_too(games: Games, tmp_path: Path) -> None:
    path = tmp_path / "all.games"
    moves = games.table.moves.copy()
    moves[1] = moves[0]  # kernels that play the game over do not look whether a point is free
    write_pack(path, replace(games, table=games.table._replace(moves=moves)))
    assert np.diff(read_table([path]).table.starts).tolist() == [1, 2, 4, 4]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("width", 1),
        ("height", 26),
        ("rules", 9),
        ("source", -1),
        ("first", 0),
        ("winner", 4),
        ("moves", 26),
        ("setups", -2),
        ("setups", 50),
        ("dead", 25),
        ("dead_starts", 30_000),
        ("komi", np.nan),
        ("komi", -np.inf),
        ("score", np.inf),
    ],
)
def test_a_pack_whose_numbers_lead_nowhere_is_damaged(
    games: Games, tmp_path: Path, column: str, value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    array = getattr(games.table, column).copy()
    array[-1] = value
    path = tmp_path / "all.games"
    path.write_bytes(b"what was there")
    wrong = replace(games, table=games.table._replace(**{column: array}))
    with pytest.raises(SgfError, match="could not be read again"):
        write_pack(path, wrong)
    assert path.read_bytes() == b"what was there" and list(tmp_path.glob(".*")) == []
    monkeypatch.setattr(pack_file, "_check", lambda part: None)
    write_pack(path, wrong)
    with pytest.raises(SgfError, match=r"all\.games: is damaged"):
        read_pack(path)


def test_a_game_too_long_for_a_pack_is_refused(games: Games, tmp_path: Path) -> None:
    table = games.table
    moves = np.zeros(40_000, np.int16)
    starts = np.array([0, 40_000, 40_000, 40_000, 40_000])
    path = tmp_path / "all.games"
    with pytest.raises(SgfError, match="a game with 40,000 moves does not fit"):
        write_pack(path, replace(games, table=table._replace(moves=moves, starts=starts)))
    assert not path.exists()


def test_stones_called_dead_a_hundred_times_are_dead_once(tmp_path: Path) -> None:
    path = tmp_path / "g.sgf"
    path.write_text("(;SZ[25]XD" + "[aa:yy]" * 100 + ";B[cc])")
    assert len(read_table([path]).table.dead) == 625


def repacked(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the header of a pack."""
    content = path.read_bytes()
    data = lzma.decompress(content[8:])
    stop = 4 + int.from_bytes(data[:4], "little")
    header = json.loads(data[4:stop])
    change(header)
    text = json.dumps(header).encode()
    body = len(text).to_bytes(4, "little") + text + data[stop:]
    path.write_bytes(content[:8] + lzma.compress(body))


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header["columns"][0].__setitem__(1, "|O"),
        lambda header: header["columns"][0].__setitem__(1, "<f8"),
        lambda header: header["columns"][0].__setitem__(2, [1 << 70]),
        lambda header: header["columns"][0].__setitem__(2, ["4"]),
        lambda header: header["columns"][0].__setitem__(0, "unknown"),
        lambda header: header.update(columns=7),
        lambda header: header.update(rules=[[]]),
        lambda header: header.update(sources=[1, 2]),
    ],
)
def test_a_pack_with_an_odd_header_is_damaged(
    games: Games, tmp_path: Path, change: Callable[[dict[str, Any]], object]
) -> None:
    path = tmp_path / "all.games"
    write_pack(path, games)
    repacked(path, change)
    with pytest.raises(SgfError, match=r"all\.games: is damaged"):
        read_pack(path)


@pytest.mark.parametrize("kind", ["gz", "zip", "tar.gz", "games"])
def test_archives_that_unpack_to_too_much_are_one_sentence(
    kind: str, games: Games, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"all.{kind}"
    if kind == "games":
        write_pack(path, games)
    else:
        path.write_bytes(archive_bytes(kind))
    assert len(read_table([path])) == (4 if kind == "games" else 50)
    monkeypatch.setattr(files, "MOST_FOR_NOTHING", 100)
    monkeypatch.setattr(files, "MOST_RATIO", 0)
    with pytest.raises(SgfError, match="unpacks to more than") as caught:
        read_table([path])
    assert "\n" not in str(caught.value)


def test_sources_are_told_apart_up_to_a_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gtp_export.records.games.MOST_SOURCES", 2)
    path = tmp_path / "games.sgf"
    path.write_text("".join(f"(;SZ[5]SO[{name}];B[aa])" for name in "abcab"))
    games = read_table([path])
    assert [games.record(i).source for i in range(5)] == ["a", "b", "", "a", "b"]


def test_sources_of_all_files_together_are_told_apart_up_to_a_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gtp_export.records.games.MOST_JOINED_SOURCES", 3)
    paths = []
    for names in ("ab", "bcd"):
        paths.append(tmp_path / f"{names}.sgf")
        paths[-1].write_text("".join(f"(;SZ[5]SO[{name}];B[aa])" for name in names))
    games = read_table(paths)
    assert games.sources == ("", "a", "b")
    assert [games.record(i).source for i in range(5)] == ["a", "b", "b", "", ""]


def test_the_command_packs(
    tmp_path: Path, said: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = write_lines(tmp_path / "g.sgf.bz2", PLAIN, ODD), tmp_path / "g.games"
    assert run_command(["pack", str(source), "--out", str(target)]) == 0
    assert "2 games, 9 moves" in said[-1] and len(read_pack(target)) == 2
    assert run_command(["pack", str(source), "--out", str(tmp_path / "g.zip")]) == 1
    assert "ends in .games" in capsys.readouterr().err


def test_a_game_is_on_one_side_however_often_it_stands_there(games: Games) -> None:
    many = games.take(np.arange(400) % 4)
    half = many.is_valid(0.5)
    assert half.reshape(100, 4).all(0).tolist() == half[:4].tolist() and half.any()
    assert not games.is_valid(0.0).any() and games.is_valid(1.0).all()


def test_a_copy_without_the_end_is_the_same_game(tmp_path: Path) -> None:
    moves = [f";{'BW'[i % 2]}[{'abcdefghi'[i % 9]}{'abcdefgh'[i // 9]}]" for i in range(60)]
    ends = (60, 50, 55)
    lines = ["(;SZ[9]" + "".join(moves[:n]) + ")" for n in (*ends, 49, 20)]
    lines += [line.replace(")", ";B[];W[])") for line in lines]
    read = read_table([write_lines(tmp_path / "g.sgf.bz2", *lines)])
    hashes = read._hashes()
    assert len({*hashes[[0, 1, 2, 5, 6, 7]]}) == 1 and len({*hashes}) == 3
    assert hashes[3] == hashes[8] and hashes[4] == hashes[9]


def test_games_to_measure_on_are_not_learned_from(games: Games, said: list[str]) -> None:
    learned, measured = games.take(np.arange(8) % 4).split(games.take(np.array([1])))
    assert [str(learned.record(i).moves) for i in range(6)] == [
        str(games.record(i).moves) for i in (0, 2, 3) * 2
    ]
    assert len(measured) == 1 and said == ["2 games to measure on are not learned from"]


def test_positions_are_what_the_engine_would_show_its_net(games: Games) -> None:
    reader = PositionReader(games, "katago_v7")
    plies = np.arange(6)
    samples = reader.read(np.zeros(6, np.int64), plies, np.zeros(6, np.int64))
    record = games.record(0)
    owners = agreed_owners(record.position(), record.dead or ())
    for i in range(6):
        position = record.position(i + 1)
        spatial, features = encode_position("katago_v7", position)
        np.testing.assert_array_equal(samples.spatial[i], spatial)
        np.testing.assert_allclose(samples.features[i], features)
        legal = {point_to_action(move, 5, 5) for move in position.legal_moves()}
        assert set(np.flatnonzero(samples.legal[i])) == legal
        is_black = position.to_play == BLACK
        assert samples.outcome[i] == float(is_black)
        assert samples.score[i] == (3.5 if is_black else -3.5)
        mine = owners[position.points()].reshape(5, 5) == position.to_play
        np.testing.assert_array_equal(samples.ownership[i] == 1, mine)
    played = [point_to_action(move.point, 5, 5) for move in record.moves]
    assert samples.action.tolist() == [*played, 25]  # the end counts as a pass


@pytest.mark.parametrize("symmetry", range(8))
def test_everything_of_a_sample_is_turned_alike(games: Games, symmetry: int) -> None:
    reader = PositionReader(games, "gocnn8")
    one = np.zeros(1, np.int64)
    plain, turned = (reader.read(one, one + 2, one + s) for s in (0, symmetry))
    marks = np.zeros(25)
    marks[plain.action[0]] = 1
    from gtp_engine.go.symmetry import transform

    assert transform(marks.reshape(5, 5), symmetry).ravel().argmax() == turned.action[0]
    np.testing.assert_array_equal(transform(plain.ownership[0], symmetry), turned.ownership[0])
    np.testing.assert_array_equal(transform(plain.spatial[0], symmetry), turned.spatial[0])


def test_whoever_moves_out_of_turn_is_to_move(games: Games) -> None:
    reader = PositionReader(games, "dlgo1")
    samples = reader.read(np.full(3, 2), np.arange(3), np.zeros(3, np.int64))
    # White, White again, Black: own stones before each move.
    assert samples.spatial[:, 0].sum((1, 2)).tolist() == [0, 1, 0]
    assert samples.spatial[:, 1].sum((1, 2)).tolist() == [0, 0, 2]


def test_streams_give_batches_of_one_size_and_only_what_is_asked_for(games: Games) -> None:
    stream = PositionStream(games, "gocnn8", 200, seed=1, only_settled=True)
    batches = [stream.draw() for _ in range(6)]
    stream.close()
    assert {batch.spatial.shape[1:] for batch in batches} == {(8, 5, 5)}
    assert {int(game) for batch in batches for game in batch.game} == {0, 3}
    stream = PositionStream(games, "alphago48", 200, seed=1, with_pass=False)
    batch = stream.draw()
    stream.close()
    assert (batch.action < batch.legal.shape[1] - 1).all()
    unknown = games.take(np.array([1]))
    with pytest.raises(ValueError, match="final board"):
        PositionStream(unknown, "gocnn8", 200, seed=1, only_settled=True)


def test_sizes_without_a_move_to_learn_are_passed_over(tmp_path: Path) -> None:
    only_passes = "(;SZ[7]RE[B+1];B[];W[])"
    games = read_table([write_lines(tmp_path / "g.sgf.bz2", PLAIN, only_passes, only_passes)])
    stream = PositionStream(games, "alphago48", 200, seed=1, with_pass=False)
    assert {stream.draw().spatial.shape[2] for _ in range(20)} == {5}
    stream.close()
    stream = PositionStream(games.take(np.array([1, 2])), "alphago48", 200, seed=1, with_pass=False)
    with pytest.raises(ValueError, match="no game has a move to learn"):
        stream.draw()


def test_all_positions_are_drawn_equally_often(tmp_path: Path) -> None:
    points = [f"{x}{y}" for x in "abcdefghijklm" for y in "abcdefghijklm"]
    rng = np.random.default_rng(1)
    lines = []
    for number in range(40):
        size, moves = (7, 12) if number % 2 else (13, 80)
        inside = [point for point in points if max(point) < "abcdefghijklmn"[size]]
        played = "".join(
            f";{'BW'[i % 2]}[{point}]" for i, point in enumerate(rng.permutation(inside)[:moves])
        )
        lines.append(f"(;SZ[{size}]{played})")
    games = read_table([write_lines(tmp_path / "g.sgf.bz2", *lines)])
    stream = PositionStream(games, "dlgo1", 169 * 64, seed=1)
    drawn = np.zeros(games.n_moves, np.int64)
    while drawn.sum() < 100 * games.n_moves:
        batch = stream.draw()
        np.add.at(drawn, games.table.starts[batch.game] + batch.ply, 1)
    stream.close()
    is_short = np.repeat(games.table.width == 7, np.diff(games.table.starts))
    often = drawn[is_short].mean() / drawn[~is_short].mean()
    assert 0.8 < often < 1.25 and drawn.min() > 50 and drawn.max() < 200, (often, drawn)


def test_a_batch_may_be_larger_than_a_block(games: Games, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gtp_export.records.stream.BLOCK_POINTS", 500)
    stream = PositionStream(games.take(np.array([0, 1, 3])), "gocnn8", 100 * 25, seed=1)
    sizes = [len(stream.draw().action) for _ in range(2)]
    stream.close()
    assert sizes == [100, 100]
