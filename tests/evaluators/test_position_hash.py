"""Position hashes: the same where a net is to judge alike, different for all others."""

from dataclasses import replace

import numpy as np
import pytest
from tests.go.diagrams import position_of

from gtp_engine.arena.signature import random_position
from gtp_engine.coords import BLACK, PASS, WHITE, parse_vertex, point_at
from gtp_engine.evaluators.eval_batch import list_moves, new_eval_batch
from gtp_engine.evaluators.position_hash import FEW_STONES, write_position_hash
from gtp_engine.go.atari_go import AtariGo
from gtp_engine.go.position import Position
from gtp_engine.go.rules import Rules
from gtp_engine.go.symmetry import N_SYMMETRIES, point_table, symmetries, transform

RULES = Rules.parse("chinese")


def hash_of(
    position: Position, optimism: float = 0.0, salt: int = 0, before: int = 0
) -> tuple[tuple[int, int], int]:
    """Return the hash of a position, and the symmetry under which it is remembered.

    Args:
        before: What the slot holds for moves before it is filled.
    """
    width, height = position.width, position.height
    batch = new_eval_batch(1, width, height, 0, 0, False)
    batch.moves[0] = before
    flags = position.rules.flags
    list_moves(batch, 0, position.history, position.ply, flags)
    batch.slots["optimism"][0] = optimism
    symmetry_maps = point_table(width, height)[: len(symmetries(width, height))]
    write_position_hash(batch, 0, position.history, position.ply, flags, symmetry_maps, salt)
    low, high = batch.slots["position_hash"][0]
    return (int(low), int(high)), int(batch.slots["canonical"][0])


def played(*moves: str, size: int = 9, rules: Rules = RULES) -> Position:
    position = Position(size, size, rules)
    for move in moves:
        position.play(position.to_play, parse_vertex(move, size, size))
    return position


def test_the_order_of_moves_does_not_matter() -> None:
    assert hash_of(played("C3", "G7", "C7")) == hash_of(played("C7", "G7", "C3"))


def test_whatever_else_differs_gives_another_key() -> None:
    base = ("C3", "G6")
    hashes = [hash_of(played(*base))[0]]
    hashes += [hash_of(played(*base), optimism=share)[0] for share in (0.2, 1.0)]
    hashes += [hash_of(played(*base), salt=salt)[0] for salt in (1, 2)]
    hashes.append(hash_of(played(*base, "pass"))[0])
    other_player = played(*base)
    other_player.to_play = WHITE
    hashes.append(hash_of(other_player)[0])
    for change in (
        {"komi": 6.5},
        {"komi": -7.5},
        {"multi_stone_suicide": True},
        {"friendly_pass_ok": not RULES.friendly_pass_ok},
    ):
        hashes.append(hash_of(played(*base, rules=replace(RULES, **change)))[0])
    for name in ("japanese", "aga-button", "tromp-taylor"):
        hashes.append(hash_of(played(*base, rules=Rules.parse(name, komi=RULES.komi)))[0])
    hashes.append(hash_of(played("C3", "G5"))[0])
    hashes.append(hash_of(played("G6", "C3"))[0])
    for half in (0, 1):
        assert len({each[half] for each in hashes}) == len(hashes)


KO = """
    . X O . .
    X . X O .
    . X O . .
    . . . . .
    . . . . .
"""


def test_what_a_slot_held_before_is_not_part_of_it() -> None:
    game = AtariGo(5)
    for vertex in ("C3", "B1", "D3", "A2"):
        game.play(game.to_play, parse_vertex(vertex, 5, 5))
    corner = parse_vertex("A1", 5, 5)
    assert not game.is_legal(BLACK, corner) and game.board["empty"][20] == corner
    assert hash_of(game) == hash_of(game, before=corner)


def test_a_ban_by_ko_is_part_of_the_hash() -> None:
    banned = position_of(KO, RULES, to_play=WHITE)
    banned.play(WHITE, parse_vertex("B4", 5, 5))  # takes C4, which Black may not take back
    free = position_of("\n".join(" ".join(".XO"[c] for c in row) for row in banned.grid()), RULES)
    assert len(banned.legal_moves()) == len(free.legal_moves()) - 1
    assert hash_of(banned) != hash_of(free)


def test_an_earlier_pass_in_the_same_position_is_part_of_it() -> None:
    # Under simple ko it makes the next one end the game for good; the net is told so.
    again = position_of(KO, RULES, to_play=BLACK)
    for vertex in ("pass", "B4", "pass", "pass", "C4", "pass"):
        again.play(again.to_play, parse_vertex(vertex, 5, 5))
    once = position_of(KO, RULES, to_play=WHITE)
    once.play(WHITE, PASS)
    assert (again.grid() == once.grid()).all() and again.to_play == once.to_play == BLACK
    assert again.turn["passes"] == once.turn["passes"] == 1
    assert again.legal_moves() == once.legal_moves()
    assert hash_of(again) != hash_of(once)


def mirrored(position: Position, symmetry: int) -> Position:
    grid = transform(position.grid(), symmetry)
    height, width = grid.shape
    stones = [
        [point_at(row, col, width) for row, col in np.argwhere(grid == color).tolist()]
        for color in (BLACK, WHITE)
    ]
    other = Position(width, height, position.rules)
    other.set_up(*stones, position.to_play)
    return other


@pytest.mark.parametrize("size", [(9, 9), (7, 5), (5, 7)])
def test_mirrored_openings_share_a_key(size: tuple[int, int]) -> None:
    plain = mirrored(random_position(*size, "tromp-taylor", 12, seed=4), 0)
    key, canonical = hash_of(plain)
    tables = point_table(*size)
    grid = plain.grid()
    for symmetry in symmetries(*size):
        other = mirrored(plain, symmetry)
        other_key, other_canonical = hash_of(other)
        assert other_key == key
        # Both become the same board under the symmetries they are remembered by.
        ways = [(plain, canonical), (other, other_canonical)]
        boards = [
            {int(tables[way, p]): int(one.board["color"][p]) for p in one.points()}
            for one, way in ways
        ]
        assert boards[0] == boards[1]
    assert sorted(boards[0].values()) == sorted(grid.ravel().tolist())


def test_with_many_stones_each_position_has_a_hash_of_its_own() -> None:
    plain = mirrored(random_position(9, 9, "tromp-taylor", FEW_STONES + 20, seed=4), 0)
    assert (plain.grid() != 0).sum() > FEW_STONES
    hashes = {hash_of(mirrored(plain, symmetry)) for symmetry in range(N_SYMMETRIES)}
    assert len(hashes) == N_SYMMETRIES and {canonical for _, canonical in hashes} == {0}


def test_marks_of_the_encores_are_part_of_the_hash() -> None:
    # The same stones in the game and in its encores, with a pass made or not.
    rules = Rules.parse("japanese")
    hashes = set()
    for passes in range(5):
        position = Position(5, 5, rules, encores=True)
        position.play(BLACK, parse_vertex("C3", 5, 5))
        for _ in range(passes):
            position.play(position.to_play, PASS)
        hashes.add(hash_of(position))
    assert len(hashes) == 5
