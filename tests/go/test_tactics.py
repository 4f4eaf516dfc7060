"""Attack and defence of chains, and how they are named: diagrams."""

import pytest
from tests.go.diagrams import position_of

from gtp_engine.coords import BLACK, PASS, WHITE, format_vertex, parse_vertex
from gtp_engine.go import tactics
from gtp_engine.go.position import Position
from gtp_engine.go.rules import Rules
from gtp_engine.go.tactics import (
    Kind,
    Reading,
    Tactic,
    Verdict,
    attack,
    defend,
    reflexes,
    threats,
)

SHAPES = {
    Kind.CAPTURE: """
        . . . . . . .
        . . X . . . .
        . X O X . . .
        . . . . . . .
        . . . . . . .
        . . . . . . .
        . . . . . . .
        """,
    Kind.LADDER: """
        . . . . . . .
        . . . X . . .
        . . X O . . .
        . . X . . . .
        . . . . . . .
        . . . . . . .
        . . . . . . .
        """,
    Kind.NET: """
        . . . . . . .
        . . X X . . .
        . X O . . O .
        . X . . . . .
        . . . . . . .
        . . O . . . .
        . . . . . . .
        """,
    Kind.SNAPBACK: """
        . X O . O O .
        . X O . X O .
        . . X X X O .
        . . . . . . .
        . . . . . . .
        . . . . . . .
        . . . . . . .
        """,
    Kind.CONNECT_AND_DIE: """
        . . O . O O .
        . X X X X X X
        . . . . . . .
        . . . . . . .
        . . . . . . .
        . . . . . . .
        . . . . . . .
        """,
}


def at(position: Position, vertex: str) -> int:
    """Return the point of a vertex."""
    return parse_vertex(vertex, position.width, position.height)


def vertices(position: Position, reading: Reading | Tactic) -> list[str]:
    """Return the moves of a line."""
    return [format_vertex(move.point, position.width, position.height) for move in reading.line]


@pytest.mark.parametrize(
    ("kind", "line", "text"),
    [
        (Kind.CAPTURE, "C4", "captures one stone"),
        (
            Kind.LADDER,
            "E5 D4 D3 E4 F4 E3 E2 F3 F2 G3 G4 G2 G1",
            "captures one stone in a ladder",
        ),
        (Kind.NET, "D4 D5 E5 C4 C3", "captures one stone in a net"),
        (Kind.SNAPBACK, "D7 D6 D7", "captures two stones by a snapback"),
        (
            Kind.CONNECT_AND_DIE,
            "G7 D7 B7",
            "captures two stones, for connecting does not help",
        ),
    ],
)
def test_an_attack_is_named_after_its_line(kind: Kind, line: str, text: str) -> None:
    position = position_of(SHAPES[kind])
    best = threats(position, BLACK)[0]
    assert (best.kind, vertices(position, best), best.text) == (kind, line.split(), text)


def test_what_does_not_take_a_chain_in_atari_is_no_capture() -> None:
    # White would take back three stones at A2. Once D2 has taken the others A2 cannot get away.
    position = position_of(
        """
        O X O . . .
        . X O X . .
        """
    )
    chain = at(position, "A2")
    found = attack(position, chain)
    assert found.move == at(position, "D2")
    assert tactics.kind_of_attack(position, chain, found.line) is Kind.CHASE


def test_what_takes_the_bait_is_not_saved() -> None:
    position = position_of(SHAPES[Kind.SNAPBACK])
    chain = at(position, "C7")
    saved = defend(position, chain)
    assert (saved.verdict, saved.move) == (Verdict.WORKS, at(position, "D7"))
    position.play(BLACK, at(position, "D7"))
    assert defend(position, chain) == Reading(Verdict.FAILS)


def test_a_chain_in_seki_is_safe_without_a_move() -> None:
    position = position_of(
        """
        . . . . . . . .
        X X X X X X X X
        X O O O O O O X
        X O . X X . O X
        X O O O O O O X
        X X X X X X X X
        . . . . . . . .
        """
    )
    chain = at(position, "D4")
    assert attack(position, chain) == Reading(Verdict.FAILS)
    assert defend(position, chain) == Reading(Verdict.WORKS)


def test_readings_are_right_however_many_were_made_before() -> None:
    position = position_of(SHAPES[Kind.LADDER])
    chain = at(position, "D5")
    first = attack(position, chain)
    tactics._memory().counts[0] += 1 << 31  # searches of months
    assert first.works and attack(position, chain) == first


@pytest.mark.parametrize("point", [PASS, 5, 11, -3, 5000])
def test_where_there_is_no_stone_nothing_is_read(point: int) -> None:
    with pytest.raises(ValueError, match="there is no stone"):
        attack(Position(9), point)
    with pytest.raises(ValueError, match="there is no stone"):
        defend(Position(9), point)


def test_whoever_took_a_ko_may_fill_it() -> None:
    position = Position(9)
    for number, vertex in enumerate(["C6", "D6", "B5", "E5", "C4", "D4", "H8", "C5", "D5"]):
        position.play((BLACK, WHITE)[number % 2], at(position, vertex))
    filled = defend(position, at(position, "D5"))
    assert (filled.verdict, vertices(position, filled)) == (Verdict.WORKS, ["C5"])
    assert attack(position, at(position, "D5")).verdict is Verdict.KO_THREAT
    position.to_play = BLACK
    assert defend(position, at(position, "D5")) == filled
    assert attack(position, at(position, "D5")).verdict is Verdict.KO_THREAT


@pytest.mark.parametrize("suicide", [False, True])
def test_suicide_saves_nothing(suicide: bool) -> None:
    position = position_of(
        """
        . . . . . .
        . . O O . .
        . O X . O .
        . . O O . .
        . . . . . .
        """,
        Rules(multi_stone_suicide=suicide),
    )
    assert reflexes(position, BLACK) == []
