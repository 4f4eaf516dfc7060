"""SGF in and out: a game, a file of games, folders and compressed packs of them.

Foreign files lack board sizes, closing brackets or handicap stones, and hold names in broken
encodings. Whatever leaves the main line of play clear is read; anything else is an `SgfError`.

Thousands of games are read, so lines of the plain kind (root and moves, nothing else) take a short
way, some seven times as fast as the long one.
"""

import codecs
import itertools
import lzma
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path

from sgfmill import sgf_grammar

from gtp_engine.coords import (
    BLACK,
    COLOR_LETTERS,
    EMPTY,
    MAX_SIZE,
    MIN_SIZE,
    MOST_MOVES,
    PASS,
    WHITE,
    point_at,
    row_col,
)
from gtp_engine.files import PACKED_SUFFIXES, open_packed, read_file
from gtp_engine.go.game_record import (
    GameRecord,
    Setup,
    SgfError,
    describe_rules,
    parse_rules,
)
from gtp_engine.go.handicap import fixed_handicap_points, largest_fixed
from gtp_engine.go.position import Move, Position
from gtp_engine.go.rules import FIVE_RULES, MAX_KOMI, Rules, parse_komi
from gtp_engine.version import __version__

__all__ = ["GameRecord", "Setup", "SgfError", "format_sgf", "load_sgf", "parse_games", "parse_sgf"]

Node = dict[str, list[str]]
"""Property values by name; text escapes are left in."""

_PROGRAM = "gtp-engine"
"""As own files name what has made them."""

_MOVES = {"B": BLACK, "W": WHITE}
_SETUPS = {"AB": BLACK, "AW": WHITE, "AE": EMPTY}

_START = re.compile(rb"\(\s*;")
_VALUE = rb"\[([^\\\]]*(?:\\.[^\\\]]*)*)\]"
_NAME = rb"([A-Za-z][A-Za-z0-9_]{0,63})"
_TOKEN = re.compile(rb"\s*(?:%b|%b|([;()]))" % (_VALUE, _NAME), re.DOTALL)
"""A value without its brackets, a property's name, or what divides nodes and variations."""
_ROOT = re.compile(rb"\s*;(?:\s*%b(?:\s*%b)+)*?\s*(?:GM|FF|SZ)\s*\[" % (_NAME, _VALUE), re.DOTALL)
"""The beginning of a node that only a whole game begins with."""
_OPENING = re.compile(rb"\s*\[")

MOST_ITEMS = 1_000_000
"""Nodes and values of a main line; no annotated game has a tenth."""
_MOST_POINTS = 100_000
"""Of one list, in which a point may come again; the largest board has 625."""
_LONGEST_LINE = 1 << 20
"""Bytes of a game in a pack of one game a line."""

_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Encodings by the bytes that a file of theirs begins with."""
_WIDER = {
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
}
"""What files hold that name the narrower one, as Windows has it."""
_NO_CHARSETS = ("punycode", "idna", "unicode-escape", "raw-unicode-escape")
"""Python's own; the first takes hours for a long text."""


# Reading -----------------------------------------------------------------------------------------


def load_sgf(path: str | Path, kind: type[Position] = Position) -> GameRecord:
    """Read the first game of a file, a game of Go unless it is to be of another kind.

    Raises:
        SgfError: The file cannot be read or holds no such game.
    """
    try:
        data = read_file(path)
    except OSError as error:
        raise SgfError(f"cannot read {str(path)[:200]!r}: {error.strerror}") from None
    try:
        return parse_sgf(data, kind)
    except SgfError as error:
        raise SgfError(f"{str(path)[:200]}: {error}") from None


def parse_sgf(data: bytes | str, kind: type[Position] = Position) -> GameRecord:
    """Read the first game of a file's content.

    Raises:
        SgfError: There is no game of Go in it.
    """
    for record in parse_games(data, kind):
        return record
    raise SgfError("there is no SGF game in it")


def parse_games(
    data: bytes | str,
    kind: type[Position] = Position,
    on_error: Callable[[str], None] | None = None,
) -> Iterator[GameRecord]:
    """Read all games of a file's content one by one.

    Args:
        on_error: Called with a sentence for a game that is none of this kind or says what cannot
            be, which is then left out; None raises instead.

    Raises:
        SgfError: A game cannot be read; where the next one begins may be unknown.
    """
    text = data if isinstance(data, str) else decode_sgf(data)
    encoded = text.encode("utf-8", "replace")
    position = 0
    while (start := _START.search(encoded, position)) is not None:
        nodes, is_closed, end = _read_tree(encoded, start.start())
        if any(nodes):
            if not is_closed:
                _check_tail(encoded[end:], nodes)
            try:
                record = _read_main_line(nodes, kind)
                _add_handicap_stones(record)
            except SgfError as error:
                _complain(str(error), on_error)
            else:
                yield record
        if _OPENING.match(encoded, end) and not _TOKEN.match(encoded, end):
            return  # a value that never ends; to look for its end again and again would take hours
        position = end


def decode_sgf(data: bytes) -> str:
    """Return a file's text: in the encoding it names if that fits, or the one that looks right."""
    for mark, encoding in _MARKS.items():
        if data.startswith(mark):
            return data.decode(encoding, "replace").lstrip("\ufeff")
    named = re.search(rb"CA\s*\[\s*([\w.:-]+)\s*\]", data[:4096])
    wanted = _known_encoding(named[1].decode()) if named else None
    for encoding in (wanted or "utf-8", "utf-8"):
        try:
            text = data.decode(encoding)
        except ValueError:
            continue
        if not named or "CA" in text:  # else a file that says UTF-16 and is not
            return text
    # Mostly UTF-8 with a few broken letters, or something older altogether.
    repaired = data.decode("utf-8", "replace")
    n_broken = repaired.count("\ufffd")
    n_foreign = sum(letter > "\x7f" for letter in repaired) - n_broken
    if n_foreign >= n_broken:
        return repaired
    if wanted and wanted != "utf-8" and "CA" in (text := data.decode(wanted, "replace")):
        return text
    # Chinese letters are pairs of such bytes, most of them; letters with accents stand alone.
    runs = [len(run) for run in re.findall(rb"[\x80-\xff]+", data)]
    if sum(run // 2 for run in runs) < sum(run % 2 for run in runs):
        return data.decode("latin-1")
    try:
        return data.decode("gb18030")
    except ValueError:
        return data.decode("latin-1")


def _known_encoding(name: str) -> str | None:
    """Return how Python calls what files mean by an encoding's name; None if that is no charset."""
    try:
        known = codecs.lookup(name).name
        b"A".decode(known, "replace")  # fails for what Python has besides charsets
    except (LookupError, UnicodeError):
        return None
    return None if known in _NO_CHARSETS else _WIDER.get(known, known)


def _read_tree(data: bytes, start: int) -> tuple[list[Node], bool, int]:
    """Return the nodes up to the first closing bracket, whether one came, where the tree ends.

    A bracket before the root of another game closes what is open: somebody has left it out.
    """
    nodes: list[Node] = []
    name = ""
    n_items = depth = 0
    is_closed = False
    while (token := _TOKEN.match(data, start)) is not None:
        start = token.end()
        value, word, sign = token.groups()
        if sign == b"(":
            if _ROOT.match(data, start) and any(_MOVES.keys() & node.keys() for node in nodes):
                return nodes, True, token.start()
            depth += 1
        elif sign == b")":
            is_closed = True
            depth -= 1
            if not depth:
                break
        elif is_closed:
            continue  # a variation
        elif sign is not None:
            nodes.append({})
        elif word is not None:
            text = word.decode("ascii")
            capitals = "".join(sign for sign in text if not sign.islower())
            name = capitals or text.upper()  # AddBlack and ab are AB
        elif nodes:
            nodes[-1].setdefault(name, []).append(value.decode("utf-8", "replace"))
        n_items += word is None and not is_closed
        if n_items > MOST_ITEMS:
            raise SgfError(f"the game has more than {MOST_ITEMS:,} nodes and values")
    return nodes, is_closed, start


def _check_tail(tail: bytes, nodes: list[Node]) -> None:
    """Refuse a game that breaks off in the middle of the file, not at its end."""
    rest = tail.strip(b"\0 \t\r\n")
    if rest and not rest.startswith(b"["):
        n_moves = sum("B" in node or "W" in node for node in nodes)
        raise SgfError(f"the SGF is malformed after move {n_moves}")


def _read_main_line(nodes: list[Node], kind: type[Position]) -> GameRecord:
    """Return what stands in a main line, without stones of a handicap that is only counted.

    Raises:
        SgfError: It is of another game, or has an impossible size, point or komi.
    """
    root = nodes[0]
    if "GM" in root and _first(root, "GM").strip() not in ("", kind.sgf_game):
        named = "Go" if kind is Position else "the one played"
        raise SgfError(f"it is a record of another game than {named}")
    record = _read_root(root, kind)
    for index, node in enumerate(nodes):
        _read_setup(record, node)
        for name in node:
            if name in _MOVES:
                _read_move(record, _MOVES[name], _first(node, name))
        _read_territory(record, node)
        if "C" in node:
            comment = sgf_grammar.text_value(_first(node, "C").encode("utf-8", "replace"))
            before = record.comments.get(len(record.moves))
            text = str(comment.decode("utf-8", "replace"))
            record.comments[len(record.moves)] = f"{before}\n{text}" if before else text
        if index and not record.handicap and not record.moves:
            record.handicap = _read_handicap(node)
    return record


def _read_root(root: Node, kind: type[Position] = Position) -> GameRecord:
    """Return a game of a kind with no stones and moves yet, from the properties of its root.

    Raises:
        SgfError: An impossible board size or komi.
    """
    width, height = _read_size(_first(root, "SZ"))
    record = GameRecord(
        width=width,
        height=height,
        komi=_read_komi(_first(root, "KM"), _first(root, "AP").startswith(f"{_PROGRAM}:")),
        rules=_read_rules(root, kind),
        handicap=_read_handicap(root),
        result=_text(root, "RE"),
        black_name=_text(root, "PB"),
        white_name=_text(root, "PW"),
        black_rank=_text(root, "BR"),
        white_rank=_text(root, "WR"),
        date=_text(root, "DT"),
        source=_text(root, "SO"),
        kind=kind,
    )
    if record.rules is not None and record.komi is not None:
        record.rules = record.rules.with_option("komi", record.komi)
    if "XD" in root:
        record.dead = _read_marks(root["XD"], width, height)
    return record


def _read_rules(root: Node, kind: type[Position]) -> Rules | None:
    name = _text(root, "RU")
    is_go = kind.sgf_game == Position.sgf_game
    return parse_rules(name) if is_go else FIVE_RULES.get(name.lower())


def _first(node: Node, name: str) -> str:
    return node.get(name, [""])[0]


def _text(node: Node, name: str) -> str:
    raw = _first(node, name).encode("utf-8", "replace")
    return str(sgf_grammar.simpletext_value(raw).decode("utf-8", "replace")).strip()


def _read_size(text: str) -> tuple[int, int]:
    if not text.strip():
        return 19, 19
    match = re.fullmatch(r"\s*(\d{1,4})\s*(?:[:xX]\s*(\d{1,4})\s*)?", text)
    if match is None:
        raise SgfError(f"{text[:20]!r} is no board size")
    width, height = int(match[1]), int(match[2] or match[1])
    if not all(MIN_SIZE <= size <= MAX_SIZE for size in (width, height)):
        raise SgfError(f"board size {width}x{height} is not between {MIN_SIZE} and {MAX_SIZE}")
    return width, height


def _read_komi(text: str, is_own: bool) -> float | None:
    """Return a komi in points.

    Some servers write hundredths (650), and Chinese komi by the stone, where 3.75 means 7.5:
    quarters occur nowhere else but in own files, which mean what they say.
    """
    try:
        komi = parse_komi(text.strip().replace(",", ".", 1))
    except ValueError:
        try:
            komi = parse_komi(float(text) / 100.0)
        except ValueError:
            return None
    if is_own:
        return komi
    if abs(komi) >= 200.0 and komi % 25.0 == 0.0:
        komi /= 100.0
    if (4.0 * komi) % 2.0 == 1.0 and abs(komi) <= MAX_KOMI / 2.0:
        komi *= 2.0
    return komi


def _read_handicap(node: Node) -> int:
    text = _first(node, "HA").strip()
    return int(text) if re.fullmatch(r"[0-9]{1,3}", text) else 0


def _read_point(text: str, width: int, height: int) -> int:
    letters = text.strip()
    if len(letters) == 2:
        col, row = (ord(letter) - ord("a") for letter in letters)
        if 0 <= col < width and 0 <= row < height:
            return point_at(row, col, width)
    raise SgfError(f"{text[:20]!r} is no point of a {width}x{height} board")


def _read_points(values: list[str], width: int, height: int) -> Iterator[int]:
    """Yield the points of a list; "aa:cc" is a rectangle of them."""
    n_points = 0
    for value in values:
        first, _, last = value.partition(":")
        if not value.strip():
            continue
        start = row_col(_read_point(first, width, height), width)
        stop = row_col(_read_point(last or first, width, height), width)
        for row in range(min(start[0], stop[0]), max(start[0], stop[0]) + 1):
            for col in range(min(start[1], stop[1]), max(start[1], stop[1]) + 1):
                n_points += 1
                if n_points > _MOST_POINTS:
                    raise SgfError(f"a list of points is longer than {_MOST_POINTS:,}")
                yield point_at(row, col, width)


def _read_marks(values: list[str], width: int, height: int) -> tuple[int, ...] | None:
    """Return points that only say something about a game; None where the list is broken."""
    try:
        return tuple(dict.fromkeys(_read_points(values, width, height)))
    except SgfError:
        return None


def _read_setup(record: GameRecord, node: Node) -> None:
    to_play = _MOVES.get(_first(node, "PL").strip()[:1].upper())
    if to_play is None and not any(name in node for name in _SETUPS):
        return
    setup = record.setups.setdefault(len(record.moves), Setup())
    setup.to_play = to_play or setup.to_play
    for name, color in _SETUPS.items():
        for point in _read_points(node.get(name, []), record.width, record.height):
            setup.stones[point] = color


def _read_move(record: GameRecord, color: int, text: str) -> None:
    if len(record.moves) == MOST_MOVES:
        raise SgfError(f"the game has more than {MOST_MOVES:,} moves")
    letters = text.strip()
    is_pass = not letters or (letters == "tt" and max(record.width, record.height) <= 19)
    try:
        point = PASS if is_pass else _read_point(letters, record.width, record.height)
    except SgfError as error:
        raise SgfError(f"move {len(record.moves) + 1}: {error}") from None
    record.moves.append(Move(color, point))


def _read_territory(record: GameRecord, node: Node) -> None:
    if "TB" in node or "TW" in node:
        size = record.width, record.height
        black, white = (_read_marks(node.get(name, []), *size) for name in ("TB", "TW"))
        if black is None or white is None:
            black = white = ()
        record.black_territory, record.white_territory = black, white


def _add_handicap_stones(record: GameRecord) -> None:
    """Put the fixed handicap stones of a record that only counts them, White being to move.

    Fox has its six stones on the upper and lower side, not left and right as GTP has them; the
    moves tell which it was.
    """
    n = record.handicap
    first = record.setups.get(0, Setup())
    if not 2 <= n <= largest_fixed(record.width, record.height) or first.stones:
        return
    first_stone = next((move for move in record.moves if move.point != PASS), None)
    first_mover = WHITE if not record.moves else (first_stone or record.moves[0]).color
    if first_mover != WHITE:
        return
    places = [fixed_handicap_points(record.width, record.height, n)]
    if n == 6:
        eight = fixed_handicap_points(record.width, record.height, 8)
        places.append(eight[:4] + eight[6:])
    for points in places:
        record.setups[0] = Setup(dict.fromkeys(points, BLACK), first.to_play)
        try:
            record.position()
        except SgfError:
            continue
        return
    record.setups[0] = Setup(dict.fromkeys(places[0], BLACK), first.to_play)


# Many games -------------------------------------------------------------------------------------

_PLAIN = re.compile(
    r"\(;((?:[A-Z]+(?:\[[^\[\]\\();:]*\])+)+)((?:;[BW]\[(?:[a-y]{2})?\])*)\)\s*", re.ASCII
)
_PROPERTY = re.compile(r"([A-Z]+)((?:\[[^\]]*\])+)")
_PLAIN_MOVE = re.compile(r";([BW])\[([a-y]*)\]")


def read_games(
    path: str | Path,
    on_error: Callable[[str], None] | None = None,
    kind: type[Position] = Position,
) -> Iterator[GameRecord]:
    """Read all games of a pack, an SGF file or a folder of such files, in order of their names.

    Files whose name ends in .bz2, .gz or .xz are compressed packs with a game on each line.

    Args:
        on_error: Called with a sentence for every game that cannot be read, which is then left
            out, and for every file without any; None raises instead, and says nothing of those.

    Raises:
        SgfError: A file or game cannot be read.
    """
    n_told = 0

    def tell(sentence: str) -> None:
        nonlocal n_told
        n_told += 1
        _complain(sentence, on_error)

    for file in list_game_files(path):
        n_games = n_told = 0
        try:
            for record in _read_file(file, tell if on_error else None, kind):
                n_games += 1
                yield record
        except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
            reason = getattr(error, "strerror", None) or error
            tell(f"cannot read {str(file)!r}: {reason}")
        if on_error and not (n_games or n_told):
            on_error(f"{file}: there is no SGF game in it")


def list_game_files(path: str | Path) -> list[Path]:
    """Return a file itself, or the SGF files and packs below a folder in order of their names."""
    path = Path(path)
    if not path.is_dir():
        return [path]
    return sorted(
        file
        for file in path.rglob("*")
        if file.name.lower().endswith((".sgf", ".sgf.bz2", ".sgf.gz", ".sgf.xz")) and file.is_file()
    )


def read_plain_root(properties: str) -> GameRecord | None:
    """Return the game of a root without escapes, such as `SZ[9]AB[aa][bb]`.

    None where the root does not settle it: it holds moves, or a handicap that is only counted.

    Raises:
        SgfError: It is no game of Go.
    """
    root: Node = {}
    for name, values in _PROPERTY.findall(properties):
        root.setdefault(name, []).extend(values[1:-1].split("]["))
    record = _read_main_line([root], Position)
    has_no_stones = record.handicap > 1 and not record.initial_stones(BLACK)
    return None if record.moves or has_no_stones else record


def parse_game_line(line: str, kind: type[Position] = Position) -> GameRecord:
    """Read a line that holds one game.

    Raises:
        SgfError: There is no game of this kind in it, or not all of one.
    """
    plain = _PLAIN.fullmatch(line) if kind is Position else None
    if plain is None:
        found = parse_sgf(line, kind)
        if not line.rstrip().endswith(")"):
            raise SgfError("the game does not end with the line")
        return found
    record = read_plain_root(plain[1])
    if record is None or len(line) > 4 * MOST_MOVES:
        return parse_sgf(line)  # which puts the handicap's stones on the board
    points = _points_by_name(record.width, record.height)
    try:
        record.moves = [
            Move(_MOVES[name], points[at]) for name, at in _PLAIN_MOVE.findall(plain[2])
        ]
    except KeyError:
        return parse_sgf(line)  # which says what is wrong with the move
    return record


_point_tables: dict[tuple[int, int], dict[str, int]] = {}


def _points_by_name(width: int, height: int) -> dict[str, int]:
    """Return the points of a board by their SGF names; the pass is there too."""
    table = _point_tables.get((width, height))
    if table is None:
        table = {
            chr(97 + col) + chr(97 + row): point_at(row, col, width)
            for row in range(height)
            for col in range(width)
        }
        table[""] = PASS
        if max(width, height) <= 19:
            table["tt"] = PASS
        _point_tables[width, height] = table
    return table


def _read_file(
    file: Path, on_error: Callable[[str], None] | None, kind: type[Position]
) -> Iterator[GameRecord]:
    if file.suffix.lower() not in PACKED_SUFFIXES:
        yield from each_game(str(file), read_file(file), on_error, kind)
        return
    with open_packed(file) as lines:
        for number in itertools.count(1):
            line = lines.readline(_LONGEST_LINE)
            if not line:
                return
            if not line.strip():
                continue
            try:
                record = parse_game_line(decode_sgf(line), kind)
            except SgfError as error:
                _complain(f"{file}, line {number}: {error}", on_error)
            else:
                yield record


def each_game(
    name: str,
    content: bytes,
    on_error: Callable[[str], None] | None,
    kind: type[Position] = Position,
) -> Iterator[GameRecord]:
    """Yield the games of a file's content; complaints begin with its name. See `read_games`."""

    def complain(sentence: str) -> None:
        _complain(f"{name}: {sentence}", on_error)

    try:
        yield from parse_games(content, kind, complain if on_error else None)
    except SgfError as error:
        complain(str(error))


def _complain(sentence: str, on_error: Callable[[str], None] | None) -> None:
    if on_error is None:
        raise SgfError(sentence) from None
    on_error(sentence)


# Writing -----------------------------------------------------------------------------------------


def format_sgf(
    position: Position,
    *,
    black_name: str = "",
    white_name: str = "",
    black_rank: str = "",
    white_rank: str = "",
    result: str = "",
    date: str = "",
    comments: Mapping[int, str] | None = None,
) -> str:
    """Return a game as SGF text that ends in a newline and has no empty line.

    Args:
        position: The game up to its current ply, with what came before a set-up in mid-game.
        result: As SGF spells it, such as "B+3.5", "W+R", "0" or "Void"; left out when empty.
        date: As SGF spells it, such as "2026-01-31".
        comments: Texts by the number of moves made before, those before a set-up in mid-game
            included.
    """
    tree = sgf_grammar.Coarse_game_tree()
    ranks = {"BR": black_rank, "WR": white_rank}
    names = {"PB": black_name, "PW": white_name}
    tree.sequence = [_root_node(position, **names, **ranks, RE=result, DT=date)]
    places = [0]  # of the node after so many moves
    for part, following in pairwise(position.parts):
        for move in part.moves:
            places.append(len(tree.sequence))
            tree.sequence.append(_move_node(move.color, move.point, position))
        places[-1] = len(tree.sequence)
        tree.sequence.append(_setup_node(Setup(part.change, following.to_play), position.width))
    for ply in range(1, position.ply + 1):
        turn = position.history.turns[ply]
        # A pass for ko leaves the stones alone, which only a pass can say in SGF.
        point = PASS if turn["pass_for_ko"] else int(turn["move"])
        places.append(len(tree.sequence))
        tree.sequence.append(_move_node(int(turn["mover"]), point, position))
    if position.ply and position.to_play == position.turn["mover"]:  # somebody has said so
        tree.sequence.append({"PL": [COLOR_LETTERS[position.to_play].encode()]})
    for ply, comment in (comments or {}).items():
        if 0 <= ply < len(places):
            tree.sequence[places[ply]]["C"] = [escape_text(re.sub(r"\n\s*\n", "\n", comment))]
    return str(sgf_grammar.serialise_game_tree(tree, wrap=79).decode("utf-8"))


def game_tree(record: GameRecord) -> tuple[sgf_grammar.Coarse_game_tree, list[int]]:
    """Return a record's main line as nodes to add to, and the node of each turn, set-up first.

    Raises:
        SgfError: The record cannot be played over.
    """
    start = record.position(before_move=1)
    ranks = {"BR": record.black_rank, "WR": record.white_rank}
    names = {"PB": record.black_name, "PW": record.white_name}
    root = _root_node(start, **names, **ranks, RE=record.result, DT=record.date)
    tree = sgf_grammar.Coarse_game_tree()
    tree.sequence = [root]
    places = [0]
    for number, move in enumerate(record.moves, 1):
        places.append(len(tree.sequence))
        tree.sequence.append(_move_node(move.color, move.point, record))
        if number in record.setups:
            tree.sequence.append(_setup_node(record.setups[number], record.width))
    return tree, places


def _move_node(color: int, point: int, game: Position | GameRecord) -> dict[str, list[bytes]]:
    return {COLOR_LETTERS[color]: [point_name(point, game.width)]}


def _setup_node(setup: Setup, width: int) -> dict[str, list[bytes]]:
    node: dict[str, list[bytes]] = {}
    for name, color in _SETUPS.items():
        points = [point for point, stone in setup.stones.items() if stone == color]
        if points:
            node[name] = [point_name(point, width) for point in points]
    if setup.to_play is not None:
        node["PL"] = [COLOR_LETTERS[setup.to_play].encode()]
    return node


def _root_node(position: Position, **texts: str) -> dict[str, list[bytes]]:
    """Return the first node; texts by their properties, which are left out when empty."""
    width, height = position.width, position.height
    size = str(width) if width == height else f"{width}:{height}"
    root = {
        "FF": [b"4"],
        "GM": [position.sgf_game.encode()],
        "CA": [b"UTF-8"],
        "AP": [escape_text(f"{_PROGRAM}:{__version__}")],
        "SZ": [size.encode()],
        "KM": [f"{position.komi:.10g}".encode()],
        "RU": [escape_text(describe_rules(position.rules))],
    }
    for name, text in texts.items():
        if text:
            root[name] = [escape_text(" ".join(text.split()))]
    first = position.parts[0]
    for name, stones in (("AB", first.black), ("AW", first.white)):
        if stones:
            root[name] = [point_name(point, width) for point in stones]
    if "AB" in root or "AW" in root or first.to_play != BLACK:
        root["PL"] = [COLOR_LETTERS[first.to_play].encode()]
    if position.handicap > 1:
        root["HA"] = [str(position.handicap).encode()]
    return root


def escape_text(text: str) -> bytes:
    """Return a property's value for a text of any letters."""
    return bytes(sgf_grammar.escape_text(text.encode("utf-8", "replace")))


def point_name(move: int, width: int) -> bytes:
    """Return a property's value for a move."""
    if move == PASS:
        return b""
    row, col = row_col(move, width)
    return bytes((ord("a") + col, ord("a") + row))
