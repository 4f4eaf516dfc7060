"""Paths played on a branch of a game, which keeps what the path before had in common."""

import random

import numpy as np
import pytest

from gtp_engine.coords import OVER, PASS
from gtp_engine.go.branch import ends_search
from gtp_engine.go.position import Position
from gtp_engine.go.rules import Rules
from gtp_engine.search.playout import PATH


def random_path(position: Position, generator: random.Random, depth: int) -> list[int]:
    """Return moves that are legal one after the other, passes often among them."""
    game = position.copy()
    moves: list[int] = []
    while len(moves) < depth and not game.is_over:
        legal = [p for p in game.points() if game.is_legal(game.to_play, p)]
        # Few points to choose from, so that paths meet again.
        move = generator.choice([PASS, *legal[:2]])
        game.play(game.to_play, move)
        moves.append(move)
    return moves


@pytest.mark.parametrize("rules", ["tromp-taylor", "japanese", "chinese"])
def test_a_branch_holds_a_path_whatever_it_held_before(rules: str) -> None:
    generator = random.Random(5)
    root = Position(4, 3, Rules.parse(rules), encores=True)
    for point in random_path(root, generator, 3):
        root.play(root.to_play, point)
    branch = root.branch(12)
    paths = np.zeros(1, PATH)
    n_shared = 0
    before: list[int] = []
    for _ in range(150):
        moves = random_path(root, generator, generator.randrange(7))
        n_shared += bool(moves) and moves[:1] == before[:1] and moves != before
        before = moves
        expected = root.copy()
        for point in moves:
            expected.play(expected.to_play, point)
        paths["length"] = len(moves) + 1
        paths["moves"][0, 1 : len(moves) + 1] = moves
        ply, symmetry = branch.follow(paths, 0, 0, 8, 1)
        assert ply == root.ply + len(moves)
        ends = bool(moves) and ends_search(expected.history, expected.ply, root.rules.flags)
        assert (symmetry == OVER) == ends
        for mine, theirs in zip(branch.history, expected.history, strict=True):
            assert np.array_equal(mine[: ply + 1], theirs[: ply + 1])
    assert n_shared > 20
