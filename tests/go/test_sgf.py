"""SGF in and out, well-formed and otherwise."""

import bz2
import gzip
import itertools
import random
import tarfile
import time
from pathlib import Path

import numpy as np
import pytest
from tests.go.diagrams import diagram_of, plain, position_of, repetitions_of

from gtp_engine.coords import BLACK, EMPTY, PASS, WHITE, parse_vertex
from gtp_engine.go import sgf
from gtp_engine.go.game_record import describe_rules, parse_rules
from gtp_engine.go.position import Move, Position
from gtp_engine.go.rules import PRESETS, Rules
from gtp_engine.go.scoring import agreed_score
from gtp_engine.go.sgf import (
    GameRecord,
    SgfError,
    format_sgf,
    load_sgf,
    parse_game_line,
    parse_games,
    parse_sgf,
    read_games,
)


def vertices(names: str, size: int = 9) -> list[int]:
    return [parse_vertex(name, size, size) for name in names.split()]


# Reading -----------------------------------------------------------------------------------------


def test_a_whole_game() -> None:
    record = parse_sgf(
        "(;FF[4]GM[1]SZ[9]KM[6.5]RU[Japanese]PB[Ann]PW[Bob \\] \\\\]BR[1d]WR[2k]RE[W+3.5]"
        "DT[2020-01]SO[here];B[dg];W[ee];B[];W[tt];B[aa])"
    )
    assert (record.width, record.height, record.komi) == (9, 9, 6.5)
    assert record.rules == Rules.parse("japanese", 6.5)
    assert (record.black_name, record.white_name) == ("Ann", "Bob ] \\")
    assert (record.black_rank, record.white_rank) == ("1d", "2k")
    assert (record.date, record.source) == ("2020-01", "here")
    assert (record.winner, record.score_black) == (WHITE, -3.5)
    d3, e5, a9 = vertices("D3 E5 A9")
    assert record.moves == [
        Move(BLACK, d3), Move(WHITE, e5), Move(BLACK, PASS), Move(WHITE, PASS), Move(BLACK, a9)
    ]  # fmt: skip
    position = record.position()
    assert position.ply == 5 and position.rules == record.rules and position.to_play == WHITE
    assert record.dead is None and record.setups == {}


@pytest.mark.parametrize(
    ("before_move", "ply", "to_play"),
    [(None, 3, WHITE), (1, 0, BLACK), (2, 1, BLACK), (3, 2, BLACK), (4, 3, WHITE), (99, 3, WHITE)],
)
def test_loading_up_to_a_move(before_move: int | None, ply: int, to_play: int) -> None:
    record = parse_sgf("(;SZ[9];B[aa];B[bb];B[cc])")
    position = record.position(before_move)
    assert (position.ply, position.to_play) == (ply, to_play)


def test_the_first_variation_is_the_game() -> None:
    record = parse_sgf("(;SZ[9];B[aa](;W[bb];B[cc](;W[dd])(;W[ee]))(;W[ff];B[gg]))")
    assert [move.point for move in record.moves] == vertices("A9 B8 C7 D6")


@pytest.mark.parametrize(
    ("size", "shape"),
    [
        ("", (19, 19)),
        ("SZ[]", (19, 19)),
        ("SZ[2]", (2, 2)),
        ("SZ[25]", (25, 25)),
        ("SZ[13:7]", (13, 7)),
        ("SZ[ 7 : 13 ]", (7, 13)),
        ("SZ[9x9]", (9, 9)),
    ],
)
def test_board_sizes(size: str, shape: tuple[int, int]) -> None:
    record = parse_sgf(f"(;GM[1]{size};B[ab];W[])")
    assert (record.width, record.height) == shape
    position = record.position()
    assert diagram_of(position).splitlines()[1][0] == "X" and position.ply == 2


@pytest.mark.parametrize(("size", "is_pass"), [(9, True), (19, True), (20, False), (25, False)])
def test_tt_is_a_pass_up_to_19(size: int, is_pass: bool) -> None:
    (move,) = parse_sgf(f"(;SZ[{size}];B[tt])").moves
    assert (move.point == PASS) == is_pass


@pytest.mark.parametrize(
    ("text", "komi"),
    [
        ("6.5", 6.5), ("6,5", 6.5), ("0", 0.0), ("-59.5", -59.5), (" 7 ", 7.0), ("", None),
        ("375", 7.5), ("3.75", 7.5), ("2.75", 5.5), ("650", 6.5), ("750", 7.5), ("325", 6.5),
        ("nan", None), ("x", None), ("1e9", None), ("-100.00", -100.0), ("6.50", 6.5),
    ],
)  # fmt: skip
def test_komi(text: str, komi: float | None) -> None:
    record = parse_sgf(f"(;SZ[9]KM[{text}]RU[AGA])")
    assert record.komi == komi
    assert record.position().komi == (7.5 if komi is None else komi)


@pytest.mark.parametrize(
    ("text", "winner", "score_black"),
    [
        ("B+3.5", BLACK, 3.5), ("W+0.5", WHITE, -0.5), ("B+12", BLACK, 12.0), ("B+R", BLACK, None),
        ("W+Resign", WHITE, None), ("W+T", WHITE, None), ("B+", BLACK, None), ("0", EMPTY, 0.0),
        ("Draw", EMPTY, 0.0), ("jigo", EMPTY, 0.0), ("Void", None, None), ("?", None, None),
        ("", None, None), ("W+0.0", WHITE, 0.0), ("B+F", BLACK, None),
    ],
)  # fmt: skip
def test_results(text: str, winner: int | None, score_black: float | None) -> None:
    record = parse_sgf(f"(;SZ[9]RE[{text}])")
    assert (record.winner, record.score_black) == (winner, score_black)


@pytest.mark.parametrize(
    ("text", "preset"),
    [
        ("Japanese", "japanese"), ("Chinese", "chinese"), ("Korean", "japanese"), ("AGA", "aga"),
        ("NZ", "new-zealand"), ("GOE", "ing"), ("Chinese?", "chinese"), ("", None), ("x", None),
        ("Tromp/Taylor", "tromp-taylor"),
    ],
)  # fmt: skip
def test_rules(text: str, preset: str | None) -> None:
    rules = parse_sgf(f"(;SZ[9]RU[{text}]KM[1.5])").rules
    assert (rules and rules.preset) == preset
    assert rules is None or rules.komi == 1.5


def test_described_rules_are_understood() -> None:
    for rules in [*PRESETS.values(), Rules()]:
        understood = parse_rules(describe_rules(rules))
        assert understood is not None and understood.to_kata() == rules.to_kata()
    kata = parse_rules("koSITUATIONALscoreTERRITORYtaxALLsui1whbN-1komi6.5")
    assert kata is not None and kata.to_kata() == {
        "ko": "SITUATIONAL",
        "scoring": "TERRITORY",
        "tax": "ALL",
        "suicide": True,
        "hasButton": False,
        "whiteHandicapBonus": "N-1",
        "friendlyPassOk": False,
    }


def test_stones_set_up_before_the_game() -> None:
    record = parse_sgf("(;SZ[5]AB[aa][cc:dd]AW[ee]PL[W])")
    assert record.initial_stones(BLACK) == sorted(vertices("A5 C3 D3 C2 D2", 5))
    position = record.position()
    assert position.to_play == WHITE
    assert diagram_of(position) == plain("X....\n.....\n..XX.\n..XX.\n....O")


def test_stones_set_up_during_the_game() -> None:
    record = parse_sgf("(;SZ[5];B[aa];W[bb];AE[aa]AB[ee][bb]PL[B];B[dd];W[cc])")
    assert diagram_of(record.position(before_move=3)) == plain(".....\n.X...\n.....\n.....\n....X")
    position = record.position()
    assert diagram_of(position) == plain(".....\n.X...\n..O..\n...X.\n....X")
    assert position.ply == 2 and position.to_play == BLACK


@pytest.mark.parametrize(
    ("game", "handicap", "white_score"),
    [
        ("(;SZ[9]RU[Japanese]KM[6.5];B[aa];W[ba];B[ee];W[ab];B[cc];W[gg])", 0, 8.5),
        ("(;SZ[9]RU[Chinese]KM[0.5]HA[2]AB[gc][cg];W[ee];B[cc])", 2, 0.5),
    ],
)
def test_prisoners_and_handicap_stay_where_stones_are_set_up_during_the_game(
    game: str, handicap: int, white_score: float
) -> None:
    """Black has lost a stone; White has two points for the handicap."""
    for more, points in (("", 0.0), (";AW[dd]", 1.0)):  # by area one for the stone
        position = parse_sgf(game[:-1] + more + ")").position()
        assert position.handicap == handicap
        assert position.captured(BLACK) == (0 if handicap else 1)
        assert agreed_score(position) == white_score + (points if handicap else 0.0)
        rules = position.rules
        position.set_rules(Rules.parse("aga"))  # plays the game over
        position.set_rules(rules)
        assert agreed_score(position) == white_score + (points if handicap else 0.0)


def test_a_player_named_later_keeps_the_moves() -> None:
    record = parse_sgf("(;SZ[5];B[aa];W[bb];PL[W];W[cc];PL[W])")
    position = record.position()
    assert position.ply == 3 and position.to_play == WHITE


@pytest.mark.parametrize(
    ("properties", "stones"),
    [
        ("HA[4];W[ee]", "C3 G7 C7 G3"),
        ("HA[5];W[dd]", "C3 G7 C7 G3 E5"),
        ("HA[2]AB[aa][bb];W[ee]", "A9 B8"),
        ("HA[2];AB[aa][bb];W[ee]", "A9 B8"),
        ("HA[2];B[aa];B[bb];W[ee]", ""),
        ("HA[2];W[];B[aa];W[];B[bb];W[ee]", ""),
        ("HA[2];W[];W[ee]", "C3 G7"),
        ("HA[0];W[ee]", ""),
        ("HA[1];W[ee]", ""),
        ("HA[40];W[ee]", ""),
        ("HA[six];W[ee]", ""),
    ],
)
def test_handicap(properties: str, stones: str) -> None:
    record = parse_sgf(f"(;SZ[9]{properties})")
    assert record.initial_stones(BLACK) == sorted(vertices(stones))


@pytest.mark.parametrize(
    ("properties", "color"),
    [
        ("HA[2]AB[aa][bb]", WHITE),
        ("HA[2];AB[aa][bb]", WHITE),
        ("HA[2]AB[aa][bb]PL[B]", BLACK),
        ("HA[2]AB[aa][bb];B[cc]", WHITE),
        ("HA[2]AB[aa]AW[bb]", BLACK),
        ("AB[aa][bb]", BLACK),
    ],
)
def test_white_moves_first_after_handicap(properties: str, color: int) -> None:
    assert parse_sgf(f"(;SZ[9]{properties})").position().to_play == color


def test_six_handicap_stones_lie_where_the_moves_leave_room() -> None:
    left_and_right = parse_sgf("(;SZ[19]HA[6];W[jd])").initial_stones(BLACK)
    above_and_below = parse_sgf("(;SZ[19]HA[6];W[dj])").initial_stones(BLACK)
    assert set(vertices("D10 Q10", 19)) <= set(left_and_right)
    assert set(vertices("K16 K4", 19)) <= set(above_and_below)
    assert set(vertices("D4 D16 Q4 Q16", 19)) <= set(left_and_right) & set(above_and_below)


def test_dead_stones_and_territory() -> None:
    record = parse_sgf("(;SZ[9]XD[aa][bb];B[aa];W[bb];TB[cc:cd]TW[ee])")
    assert record.dead == tuple(vertices("A9 B8"))
    assert record.black_territory == tuple(vertices("C7 C6"))
    assert record.white_territory == tuple(vertices("E5"))
    assert parse_sgf("(;SZ[9]XD[];B[aa])").dead == ()


@pytest.mark.parametrize(
    "text",
    [
        "(;SZ[9];B[aa];W[bb]",  # no closing bracket
        "(;SZ[9];B[aa];W[bb](;B[cc",  # broken off in a value
        "(;SZ[9];B[aa];W[bb];B",  # and in a name
        "rubbish (;SZ[9];B[aa];W[bb]) rubbish",
        "( ;\n SiZe [9]\r\n; Black[aa]\t;White [bb] )",  # old long names
        "(;sz[9];b[aa];w[bb])",
        "(;SZ[9];B[aa];;W[bb];)",  # empty nodes
        "(;SZ[9];B[ aa ];W[bb]C[[\\] ;B(cc)])",
        "(;SZ[9]SZ[19];B[aa][dd];W[bb])",  # the first counts
        "\ufeff(;SZ[9];B[aa];W[bb])",
        "(;SZ[9];B[aa]W[bb])",  # two moves in a node
        "(;SZ[9];B[aa];W[bb])(;SZ[13];B[dd])",
    ],
)
def test_tolerant_readings(text: str) -> None:
    record = parse_sgf(text)
    assert (record.width, record.height) == (9, 9)
    assert record.moves[:2] == [Move(BLACK, vertices("A9")[0]), Move(WHITE, vertices("B8")[0])]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no SGF game"),
        ("hello", "no SGF game"),
        ("(;)", "no SGF game"),
        ("(;-) how are you", "no SGF game"),
        ("()", "no SGF game"),
        (1000 * "\0", "no SGF game"),
        ("(;SZ[abc])", "'abc' is no board size"),
        ("(;SZ[1])", "board size 1x1 is not between 2 and 25"),
        ("(;SZ[52])", "board size 52x52 is not between 2 and 25"),
        ("(;SZ[9:99])", "board size 9x99 is not between 2 and 25"),
        ("(;SZ[-9])", "'-9' is no board size"),
        ("(;GM[2];W[aa])", "another game than Go"),
        ("(;SZ[9];B[aa];W[rs])", "move 2: 'rs' is no point of a 9x9 board"),
        ("(;SZ[9];B[D4];W[aa])", "no point"),
        ("(;SZ[9];B[AA])", "no point"),
        ("(;SZ[9];B[a])", "no point"),
        ("(;SZ[9]AB[zz])", "'zz' is no point of a 9x9 board"),
        ("(;SZ[9]AB[aa:])", ""),
        ("(;SZ[9];B[aa] @ ;W[bb])", "malformed after move 1"),
    ],
)
def test_unusable_records(text: str, problem: str) -> None:
    if not problem:
        assert parse_sgf(text).initial_stones(BLACK) == vertices("A9")
        return
    with pytest.raises(SgfError, match=problem) as raised:
        parse_sgf(text)
    assert "\n" not in str(raised.value) and len(str(raised.value)) < 200


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("(;SZ[9];B[aa];W[bb];B[aa])", "move 3, black A9, is occupied"),
        ("(;SZ[9]AB[ba][ab];W[aa])", "move 1, white A9, is suicide"),
        ("(;SZ[9]AB[ba][ab]AW[aa];B[cc])", "the set-up is impossible"),
        ("(;SZ[9];B[ba];B[ab];AW[aa])", "the set-up after move 2 is impossible"),
    ],
)
def test_impossible_games_say_where(text: str, problem: str) -> None:
    record = parse_sgf(text)
    with pytest.raises(SgfError, match=problem):
        record.position()


def test_repetitions_are_followed() -> None:
    # The second capture takes the ko straight back, which no rules allow.
    record = parse_sgf("(;SZ[5]AB[ba][ab][bc]AW[ca][bb][db][cc];B[cb];W[bb])")
    assert repetitions_of(record.position()) == [0]


@pytest.mark.parametrize(
    ("encoded", "name"),
    [
        ("(;CA[UTF-8]SZ[9]PB[囲碁];B[aa])".encode(), "囲碁"),
        ("(;SZ[9]PB[囲碁];B[aa])".encode(), "囲碁"),
        ("(;CA[gb18030]SZ[9]PB[围棋];B[aa])".encode("gb18030"), "围棋"),
        # The second byte of 昞 is a backslash, and that of 昡 a closing bracket.
        ("(;CA[GBK]SZ[9]PB[昞昡];B[aa])".encode("gbk"), "昞昡"),
        ("(;CA[Shift_JIS]SZ[9]PB[ソ表];B[aa])".encode("shift_jis"), "ソ表"),
        ("(;CA[ISO-8859-1]SZ[9]PB[Jörg];B[aa])".encode("latin-1"), "Jörg"),
        ("(;SZ[9]PB[黑棋选手];B[aa])".encode("gb18030"), "黑棋选手"),
        # SGF's own charset where none is named: an accent and the bracket are no Chinese letter.
        ("(;SZ[9]PB[José];B[aa])".encode("latin-1"), "José"),
        ("(;SZ[9]PB[Müller];B[aa]C[déjà];W[bb]C[joué])".encode("latin-1"), "Müller"),
        # What Windows has beyond the charsets named.
        ("(;CA[Shift_JIS]SZ[9]PB[①表];B[aa])".encode("cp932"), "①表"),
        ("(;CA[EUC-KR]SZ[9]PB[똠방각하];B[aa])".encode("cp949"), "똠방각하"),
        ("(;CA[Big5]SZ[9]PB[裏面];B[aa])".encode("big5hkscs"), "裏面"),
        ("(;CA[Shift_JIS]SZ[9]PB[表表]C[".encode("cp932") + b"\xff?];B[aa])", "表表"),
        (b"(;CA[punycode]SZ[9]PB[Ann]C[" + b"x" * 300_000 + b"];B[aa])", "Ann"),
        (b"(;CA[zlib]SZ[9]PB[Ann];B[aa])", "Ann"),
        (b"(;CA[nonsense]SZ[9]PB[Ann];B[aa])", "Ann"),
        (b"(;CA[idna]SZ[9]PB[Ann];B[aa])", "Ann"),
        (b"(;CA[undefined]SZ[9]PB[Ann];B[aa])", "Ann"),
        ("(;CA[UTF-8]SZ[9]PB[金毛测试]C[".encode() + b"\xe6\x97?])", "金毛测试"),
        ("(;SZ[9]PB[Ann];B[aa])".encode("utf-16"), "Ann"),
        (b"\xfe\xff" + "(;SZ[9]PB[Ann];B[aa])".encode("utf-16-be"), "Ann"),
        (b"\xef\xbb\xbf(;SZ[9]PB[Ann];B[aa])", "Ann"),
        # Saved anew in UTF-8 by a program that left the old name in it.
        ("(;CA[UTF-16]SZ[9]PB[囲碁];B[aa])".encode(), "囲碁"),
    ],
)
def test_encodings(encoded: bytes, name: str) -> None:
    assert parse_sgf(encoded).black_name == name


def test_any_bytes_are_read_or_refused() -> None:
    generator = random.Random(1)
    alphabet = b"(;)[]\\BWabcdSZ[9]AB:\0\xff\x81\n "
    for _ in range(3000):
        length = generator.randint(0, 40)
        noise = bytes(generator.choice(alphabet) for _ in range(length))
        for data in (noise, b"(;SZ[9]" + noise, b"(;SZ[9];B[aa];W" + noise + b")"):
            try:
                parse_sgf(data).position()
            except SgfError as error:
                assert str(error) and "\n" not in str(error)


def test_values_without_an_end_are_given_up_at_once() -> None:
    game = "(;SZ[9];B[aa])"
    start = time.process_time()
    assert len(list(parse_games(game + "(; [" * 20_000))) == 1
    assert time.process_time() - start < 2


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.sgf", tmp_path, "null\0byte"):
        with pytest.raises(SgfError, match="cannot read"):
            load_sgf(path)


# Writing -----------------------------------------------------------------------------------------


def assert_same_moves(first: Position, second: Position) -> None:
    assert (first.width, first.height) == (second.width, second.height)
    assert first.moves == second.moves and first.komi == second.komi
    assert (first.grid() == second.grid()).all() and (first.grid(0) == second.grid(0)).all()
    assert first.to_play == second.to_play


@pytest.mark.parametrize(
    ("width", "height"), [(2, 2), (9, 9), (19, 19), (25, 25), (7, 25), (20, 3)]
)
def test_games_go_round(width: int, height: int) -> None:
    generator = random.Random(width * height)
    rules = generator.choice(list(PRESETS.values()))
    position = Position(width, height, rules)
    for _ in range(80):
        color = generator.choice((BLACK, WHITE))
        position.play(color, generator.choice(position.legal_moves(color)))
    text = format_sgf(position, black_name="Ann", white_name="B]o\\b", result="W+R")
    record = parse_sgf(text)
    assert (record.black_name, record.white_name, record.result) == ("Ann", "B]o\\b", "W+R")
    assert record.rules == position.rules
    assert_same_moves(record.position(), position)
    assert text.endswith(")\n") and "\n\n" not in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_set_up_stones_go_round() -> None:
    position = position_of(". X O\n. . .\n. . X", Rules.parse("aga"), to_play=WHITE)
    position.play(WHITE, vertices("A3", 3)[0])
    record = parse_sgf(format_sgf(position))
    assert_same_moves(record.position(), position)
    assert record.handicap == 0


def test_a_turn_that_somebody_has_changed_goes_round() -> None:
    position = Position(5)
    position.play(BLACK, parse_vertex("C3", 5, 5))
    position.to_play = BLACK
    again = parse_sgf(format_sgf(position)).position()
    assert again.to_play == BLACK and again.moves == position.moves


def test_handicap_goes_round() -> None:
    position = Position(9)
    position.set_up(vertices("C3 G7 E5"), to_play=WHITE)
    text = format_sgf(position)
    assert "HA[3]" in text
    assert_same_moves(parse_sgf(text).position(), position)
    played = Position(9)
    played.play_all([(BLACK, point) for point in vertices("C3 G7")])
    played.play(WHITE, vertices("E5")[0])
    again = parse_sgf(format_sgf(played)).position()
    assert_same_moves(again, played)
    assert again.handicap == 2


GAME = "(;SZ[9]HA[2]KM[0.5]RU[{rules}]AB[cc][gg];W[ee];B[ec]{change};W[ea];B[dd])"


@pytest.mark.parametrize("rules", ["chinese", "aga", "japanese", "tromp-taylor"])
@pytest.mark.parametrize("change", [";AB[aa]", ";AE[ee]AW[ab]PL[B]", ";AE[cc][gg];W[aa];AW[ii]"])
def test_a_set_up_in_mid_game_goes_round(rules: str, change: str) -> None:
    record = parse_sgf(GAME.format(rules=rules, change=change))
    position = record.position()
    again = parse_sgf(format_sgf(position, comments={0: "a", 2: "b", 3: "c"}))
    assert (again.moves, again.comments) == (record.moves, {0: "a", 2: "b", 3: "c"})
    assert position.all_moves == record.moves
    read = again.position()
    assert read.white_margin() == position.white_margin()
    assert (read.handicap, read.to_play) == (position.handicap, position.to_play)
    assert np.array_equal(read.grid(), position.grid())
    assert format_sgf(read) == format_sgf(position)
    # A copy too; and other rules change what they would have changed from the start.
    other = position.copy()
    other.set_rules(Rules.parse("japanese", komi=0.5))
    wanted = parse_sgf(GAME.format(rules="japanese", change=change)).position()
    assert (other.white_margin(), other.handicap) == (wanted.white_margin(), wanted.handicap)


def test_a_button_is_there_after_a_set_up_if_the_rules_have_one() -> None:
    with_button = Rules.parse("aga-button", komi=7.0)
    text = "(;SZ[5]KM[7]RU[aga];B[cc];W[bb];AE[bb];W[dd];B[])"
    changed = parse_sgf(text).position()
    changed.set_rules(with_button)
    wanted = parse_sgf(text).position(rules=with_button)
    assert changed.white_margin() == wanted.white_margin()
    changed.set_rules(Rules.parse("aga", komi=7.0))
    assert changed.white_margin() == parse_sgf(text).position().white_margin()


def test_stones_of_white_that_are_put_down_end_the_handicap() -> None:
    text = "(;SZ[9]RU[chinese];B[cc];AW[ee];B[dd];W[ff])"
    assert parse_sgf(text).position().handicap == 0


@pytest.mark.parametrize("tail", ["", ";W[]", ";PL[W]"])
def test_a_handicap_without_moves_is_on_the_board(tail: str) -> None:
    position = parse_sgf(f"(;SZ[19]HA[4]KM[0.5]RU[Chinese]{tail})").position()
    assert len(position.stones(BLACK)) == 4 == position.handicap


@pytest.mark.parametrize("between", ["[junk]", "\n[Fox] x\n", "hello"])
def test_what_stands_between_games_loses_none(between: str) -> None:
    games = list(parse_games(f"(;SZ[9];B[aa]){between}(;SZ[9];B[bb])"))
    assert [len(game.moves) for game in games] == [1, 1]


def test_comments() -> None:
    position = Position(9)
    position.play(BLACK, vertices("E5")[0])
    text = format_sgf(position, comments={0: "start [x]", 1: "a\n\nb\\", 7: "nowhere"})
    assert "C[start [x\\]]" in text and "C[a\nb\\\\]" in text and "nowhere" not in text
    assert parse_sgf(text).position().moves == position.moves


def test_no_comment_is_lost_where_there_is_no_move() -> None:
    record = parse_sgf("(;SZ[9]C[Game];C[Set-up]AB[aa];W[bb]C[Good];LB[cc:1];C[Or A];B[cc])")
    assert record.comments == {0: "Game\nSet-up", 1: "Good\nOr A"}


def test_a_pass_for_ko_is_written_as_a_pass() -> None:
    position = position_of(
        """
        . X O .
        X . X O
        . X O .
        . . . .
        """,
        Rules.parse("japanese"),
        to_play=WHITE,
        encores=True,
    )
    b3, c3 = vertices("B3 C3", 4)
    position.play_all([(WHITE, PASS), (BLACK, PASS), (WHITE, b3), (BLACK, c3)])
    assert position.turn["pass_for_ko"]
    record = parse_sgf(format_sgf(position))
    assert record.moves[-1] == Move(BLACK, PASS)
    assert (record.position().grid() == position.grid()).all()


def test_what_no_game_has_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    most = "(;SZ[9]" + ";B[]" * 10_000
    assert len(parse_sgf(most + ")").moves) == 10_000
    with pytest.raises(SgfError, match="more than 10,000 moves"):
        parse_sgf(most + ";W[])")
    with pytest.raises(SgfError, match="more than 10,000 moves"):
        parse_game_line(most + ";W[])")
    with pytest.raises(SgfError, match="a list of points is longer"):
        parse_sgf("(;SZ[9]AB" + "[aa]" * 100_001 + ")")
    monkeypatch.setattr(sgf, "MOST_ITEMS", 20)
    parse_sgf("(;SZ[9]LB" + "[aa:1]" * 10 + "(;B[aa])(;" + "C[a variation]" * 30 + "))")
    with pytest.raises(SgfError, match="more than 20 nodes and values"):
        parse_sgf("(;SZ[9]LB" + "[aa:1]" * 20 + ";B[aa])")


# Many games --------------------------------------------------------------------------------------

LINES = [
    "(;GM[1]FF[4]SZ[9]KM[5.5]RE[W+40.5]RU[Japanese]DT[2002-10]SO[gnugo];B[dg];W[cd];B[];W[])",
    "(;GM[1]SZ[19]KM[0.5]HA[2]AB[dd][pp]PL[W]RE[W+R]XD[aa][bb];W[qf];B[tt])",
    "(;SZ[19]HA[6];W[dj];B[qq])",
    "(;SZ[7:5];B[ge])",
    "(;SZ[9];B[aa](;W[bb])(;W[cc]))",
    "(;SZ[9]C[it's \\] here];B[aa]TB[cc]TW[dd])",
    "(;SZ[9])",
    "(;SZ[9]B[aa];W[bb])",
    "(;SZ[9]AB[aa]KM[5.5]AB[bb]KM[7.5];W[cc])",
    "(;SZ[25];B[tt];W[yy])",
]


@pytest.mark.parametrize("line", LINES)
def test_the_short_way_reads_the_same(line: str) -> None:
    assert parse_game_line(line) == parse_sgf(line) == parse_game_line(line + "\r\n")


def test_the_short_way_says_what_is_wrong() -> None:
    with pytest.raises(SgfError, match="move 2: 'jj' is no point"):
        parse_game_line("(;SZ[9];B[aa];W[jj])")


def test_packs_files_and_folders(tmp_path: Path) -> None:
    content = ("\n".join(LINES) + "\n\n").encode()
    (tmp_path / "b.sgf.bz2").write_bytes(bz2.compress(content))
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "c.SGF").write_bytes(content)
    (tmp_path / "a.sgf.gz").write_bytes(gzip.compress(content))
    (tmp_path / "readme.txt").write_bytes(b"(;SZ[9])")
    expected = [parse_sgf(line) for line in LINES]
    assert list(read_games(tmp_path / "b.sgf.bz2")) == expected
    assert list(read_games(tmp_path / "deeper" / "c.SGF")) == expected
    assert list(read_games(tmp_path)) == 3 * expected
    assert list(parse_games(content)) == expected


def test_broken_games_are_named_and_left_out(tmp_path: Path) -> None:
    pack = tmp_path / "pack.sgf.bz2"
    pack.write_bytes(bz2.compress("\n".join([LINES[0], "(;SZ[99])", "noise", LINES[3]]).encode()))
    with pytest.raises(SgfError, match="line 2: board size 99x99"):
        list(read_games(pack))
    complaints: list[str] = []
    assert len(list(read_games(pack, complaints.append))) == 2
    assert len(complaints) == 2 and "line 3: there is no SGF game" in complaints[1]
    truncated = tmp_path / "truncated.sgf.bz2"
    truncated.write_bytes(pack.read_bytes()[:40])
    (tmp_path / "not.sgf.gz").write_bytes(b"plain text")
    for path in (truncated, tmp_path / "not.sgf.gz", tmp_path / "absent.sgf"):
        with pytest.raises(SgfError, match="cannot read"):
            list(read_games(path))


# Files of other programs -------------------------------------------------------------------------

UNUSABLE = {
    "fox-raw/empty-or-no-node-030.sgf": "there is no SGF game in it",
    "fox-raw/empty-or-no-node-034.sgf": "there is no SGF game in it",
    "fox-raw/empty-or-no-node-036.sgf": "there is no SGF game in it",
    "gogui/invalidmove.sgf": "move 3: 'rs' is no point of a 9x9 board",
}


def robust_files(reference_data: Path) -> dict[str, bytes]:
    files = {}
    with tarfile.open(reference_data / "data" / "robustness.tar.xz") as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isfile() else None
            if content is not None and member.name.lower().endswith(".sgf"):
                files[member.name.split("robustness/", 1)[-1]] = content.read()
    return files


def test_other_programs_files(reference_data: Path, tmp_path: Path) -> None:
    files = robust_files(reference_data)
    assert len(files) == 45
    for name, content in files.items():
        path = tmp_path / "file.sgf"
        path.write_bytes(content)
        if name in UNUSABLE:
            with pytest.raises(SgfError, match=UNUSABLE[name]):
                load_sgf(path)
            continue
        record = load_sgf(path)
        position = record.position()
        again = parse_sgf(format_sgf(position))
        assert (again.position().grid() == position.grid()).all(), name
        _check_quirk(name, record, position)


def _check_quirk(name: str, record: GameRecord, position: Position) -> None:
    assert position.ply == len(record.moves), name
    if "utf8" in name or "encoding" in name:
        assert record.black_name and record.white_name
    elif "handicap" in name or "/no-result" in name:
        assert record.handicap > 1 and position.handicap == record.handicap
    elif "no-SZ" in name:
        assert record.width == 19 and position.ply > 200
    elif "non-alternating" in name:
        colors = [move.color for move in record.moves]
        assert any(a == b for a, b in itertools.pairwise(colors))
    elif "negative-komi" in name:
        assert position.komi < -50
    elif "komi-375" in name:
        assert position.komi == 7.5
    elif "draw" in name:
        assert record.winner == EMPTY
    elif "TB-TW" in name:
        assert record.black_territory and record.white_territory
    elif "Void" in name:
        assert record.winner is None


def test_cut_files_are_read_or_refused(reference_data: Path) -> None:
    generator = random.Random(4)
    for content in robust_files(reference_data).values():
        for _ in range(4):
            cut = content[: generator.randrange(len(content) + 1)]
            try:
                parse_sgf(cut).position()
            except SgfError as error:
                assert "\n" not in str(error)


def test_a_bad_game_does_not_hide_those_behind_it(tmp_path: Path) -> None:
    file = tmp_path / "games.sgf"
    roots = ["SZ[9];B[aa]", "SZ[9];B[zz]", "SZ[9];B[bb]", "GM[2]", "SZ[9];B[cc]"]
    file.write_text("".join(f"(;{root})" for root in roots))
    complaints: list[str] = []
    found = list(read_games(file, complaints.append))
    assert [len(record.moves) for record in found] == [1, 1, 1]
    assert len(complaints) == 2 and all(line.startswith(f"{file}: ") for line in complaints)
    with pytest.raises(SgfError, match=r"games\.sgf: .*zz"):
        list(read_games(file))


@pytest.mark.parametrize("rules", ["", "RU[Chinese]"])
@pytest.mark.parametrize(("text", "komi"), [("399.75", 399.75), ("39975", 399.75), ("3.75", 7.5)])
def test_a_komi_in_stones_is_doubled_within_bounds(text: str, komi: float, rules: str) -> None:
    assert parse_sgf(f"(;SZ[9]KM[{text}]{rules};B[aa])").komi == komi


@pytest.mark.parametrize("komi", [3.75, 5.75, 250.0, -0.25])
def test_an_own_file_means_the_komi_that_it_names(komi: float) -> None:
    assert parse_sgf(format_sgf(Position(9, 9, Rules(komi=komi)))).komi == komi


def test_rectangles_of_points_are_counted_as_points() -> None:
    with pytest.raises(SgfError, match="longer than 100,000"):
        parse_sgf("(;SZ[19]AB" + "[aa:ss]" * 300 + ";B[aa])")


def test_stones_of_handicap_stand_on_the_board_of_a_line_that_says_who_is_to_play() -> None:
    line = "(;GM[1]SZ[19]HA[2]KM[0.5]PL[W];W[dd];B[pp])"
    assert parse_game_line(line) == parse_sgf(line)
    assert len(parse_game_line(line).initial_stones(BLACK)) == 2


UNCLOSED = (
    "(;GM[1]SZ[9]KM[5.5]PB[Anna]RE[B+R];B[ee];W[cc]{rest}\n(;{root}SZ[9]PB[Otto];B[gg];W[dd])"
)


@pytest.mark.parametrize("root", ["GM[1]", "CA[UTF-8]FF[4]", "C[a \\] (;\\\\]"])
@pytest.mark.parametrize("rest", ["", "(;B[aa])(;B[bb]", ";B[aa]C[(;GM[1\\])]"])
def test_a_game_without_its_last_bracket_ends_before_the_next(rest: str, root: str) -> None:
    first, second = parse_games(UNCLOSED.format(rest=rest, root=root))
    assert (first.black_name, len(first.moves)) == ("Anna", 2 + bool(rest))
    assert (second.black_name, len(second.moves)) == ("Otto", 2)


@pytest.mark.parametrize("marks", ["TB[zz]", "TW[cc]TB[aa][tt]", "XD[zz]", "TB[aa:z]"])
def test_marks_off_the_board_say_nothing(marks: str) -> None:
    text = f"(;SZ[9]{marks};B[aa];W[bb]{marks})"
    record = parse_sgf(text)
    assert len(record.moves) == 2 and record.dead is None
    assert record.black_territory == record.white_territory == ()
    assert [len(each.moves) for each in parse_games(text * 2)] == [2, 2]


def test_names_of_properties_may_hold_digits() -> None:
    record = parse_sgf("(;FF[3]GM[1]SZ[9]K1[x]MULTI_GO[4];B[aa]B2[cc];W[bb])")
    assert len(record.moves) == 2


@pytest.mark.parametrize(
    ("komi", "result", "score_black"),
    [("3.75", "B+2.25", 4.5), ("7.5", "W+0.75", -1.5), ("7.5", "B+2.5", 2.5), ("", "W+2.25", -4.5)],
)
def test_a_result_in_stones_is_doubled(komi: str, result: str, score_black: float) -> None:
    assert parse_sgf(f"(;SZ[9]KM[{komi}]RE[{result}];B[aa])").score_black == score_black


def test_an_own_result_is_one_in_points() -> None:
    text = format_sgf(Position(9, 9, Rules(komi=3.75)), result="B+2.25")
    assert parse_sgf(text).score_black == 2.25
