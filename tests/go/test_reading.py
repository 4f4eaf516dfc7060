"""Reading of attack and defence against brute force on small boards."""

import random
import tarfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.go.naive_reading import NaiveReading

from gtp_engine.arena.regress import read_script
from gtp_engine.coords import EMPTY, format_vertex, opponent, parse_vertex
from gtp_engine.go.position import Position
from gtp_engine.go.rules import Rules
from gtp_engine.go.sgf import load_sgf
from gtp_engine.go.tactics import Verdict, attack, defend

PLIES = 5
MOST_EMPTY = 8


def crowded_position(seed: int) -> Position:
    """Return a position of random moves on a small board with few empty points."""
    generator = random.Random(seed)
    position = Position(generator.choice((5, 6, 7)), generator.choice((5, 6, 7)))
    while True:
        empty = [point for point in position.points() if position.color_at(point) == EMPTY]
        if 4 <= len(empty) <= MOST_EMPTY:
            return position
        generator.shuffle(empty)
        color = generator.choice((1, 2))
        legal = [point for point in empty if position.is_legal(color, point)]
        if not legal:
            position.set_up()
            continue
        position.play(color, legal[0])


def check(seed: int) -> bool:
    """Compare readings of a chain with brute force; return whether that captures it."""
    position = crowded_position(seed)
    stones = [point for point in position.points() if position.color_at(point) != EMPTY]
    chain = random.Random(seed).choice(stones)
    color = position.color_at(chain)
    brute = NaiveReading(position, chain)
    attacked, defended = attack(position, chain), defend(position, chain)
    where = f"seed {seed}\n{position}\n{chain}: {attacked}\n{defended}"
    if brute.is_captured(color, PLIES + 1):
        assert defended.verdict in (Verdict.FAILS, Verdict.KO_THREAT), where
    is_captured = brute.is_captured(opponent(color), PLIES)
    if is_captured:
        assert attacked.verdict in (Verdict.WORKS, Verdict.KO), where
    elif attacked.verdict is Verdict.WORKS and len(attacked.line) <= PLIES:
        # A defence that was not looked at may take longer, but saves nothing.
        assert brute.is_captured(opponent(color), PLIES + 4), where
    return is_captured


def test_what_takes_a_single_stone_is_made_short_of_liberties() -> None:
    assert not check(512)


def test_the_attack_protects_what_surrounds_the_friends_of_the_chain() -> None:
    assert check(4205)


def test_the_attack_gains_liberties_by_captures_behind() -> None:
    assert check(4352)


@settings(max_examples=60)
@given(st.integers(0, 2**31))
def test_brute_force_finds_nothing_else(seed: int) -> None:
    check(seed)


EASY = "1 2 3 4 5 6 7 8 9 11 13 14 15 16 17 18 19 20 23 25 29 31 35 36 39 40 42 44 45 46"
KOS = "56 66 67 68 69 70 71 74 75 78 79 80 81 82 83 84 85 93 97 98"
NETS = "99 100 101 102 103 104 105 106 107 108 109"


def test_questions_of_gnu_go(reference_data: Path, tmp_path: Path) -> None:
    """Ladders, throw-ins, kos of every kind, nets; the answers are the tests' own."""
    with tarfile.open(reference_data / "data" / "gnugo-regression.tar.xz") as archive:
        for member in archive:
            if content := archive.extractfile(member):
                file = tmp_path / member.name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content.read())
    (script,) = tmp_path.rglob("reading.tst")
    wanted = set(f"{EASY} {KOS} {NETS}".split())
    wrong = []
    position = Position()
    for step in read_script(script):
        name, *words = step.command.split()
        if name == "loadsgf":
            record = load_sgf(str(script.parent / words[0]))
            position = record.position_under(Rules(), int(words[1]) if words[1:] else None)
        elif step.id in wanted:
            wanted.remove(step.id)
            point = parse_vertex(words[0], position.width, position.height)
            found = (attack if name == "attack" else defend)(position, point)
            move = format_vertex(found.move, position.width, position.height)
            reply = f"{int(found.verdict)} {move}" if found.works else "0"
            if not step.accepts(reply):
                wrong.append(f"{step.id} {step.command}: {step.answer}, not {reply}")
    assert not wrong and not wanted
