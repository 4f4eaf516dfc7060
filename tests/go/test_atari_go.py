"""Atari Go against a slow oracle, counts of it, and small boards solved by brute force."""

import random
from functools import cache

import numpy as np
import pytest

from gtp_engine.coords import BLACK, OVER, PASS, WHITE, parse_vertex, point_at
from gtp_engine.evaluators.fake import FakeEvaluator
from gtp_engine.evaluators.rollouts.atari_go import AtariRollouts
from gtp_engine.games import replayed
from gtp_engine.go.atari_go import AtariGo, roll_out
from gtp_engine.go.game_record import SgfError
from gtp_engine.go.perft import perft
from gtp_engine.go.position import IllegalMoveError, Position
from gtp_engine.go.rules import Rules
from gtp_engine.search.playout import PATH
from gtp_engine.search.search import Search
from gtp_engine.search.stopping import Limits

Stones = tuple[int, ...]
"""Colors row by row from the top."""


def chain_at(stones: Stones, width: int, start: int) -> tuple[set[int], set[int]]:
    """Return a stone's chain and its liberties, by flood fill."""
    chain, liberties, pending = {start}, set(), [start]
    while pending:
        row, col = divmod(pending.pop(), width)
        for r, c in ((row - 1, col), (row + 1, col), (row, col - 1), (row, col + 1)):
            at = r * width + c
            if not (0 <= r < len(stones) // width and 0 <= c < width):
                continue
            if stones[at] == 0:
                liberties.add(at)
            elif stones[at] == stones[start] and at not in chain:
                chain.add(at)
                pending.append(at)
    return chain, liberties


def outcome(stones: Stones, width: int, at: int, color: int) -> tuple[Stones, bool] | None:
    """Return the board after a stone, and whether it captures; None where it is forbidden."""
    after = (*stones[:at], color, *stones[at + 1 :])
    captures = any(
        stone == 3 - color and not chain_at(after, width, i)[1] for i, stone in enumerate(after)
    )
    return (after, captures) if captures or chain_at(after, width, at)[1] else None


def moves_of(stones: Stones, width: int, color: int) -> dict[int | None, tuple[Stones, bool]]:
    """Return what follows each legal move; None is the pass of a player who has no other."""
    found: dict[int | None, tuple[Stones, bool]] = {}
    for at, stone in enumerate(stones):
        if stone == 0 and (after := outcome(stones, width, at, color)) is not None:
            found[at] = after
    return found or {None: (stones, False)}


def count(stones: Stones, width: int, color: int, depth: int) -> int:
    if depth == 0:
        return 1
    return sum(
        (depth == 1) if is_won else count(after, width, 3 - color, depth - 1)
        for after, is_won in moves_of(stones, width, color).values()
    )


@cache
def wins(stones: Stones, width: int, color: int) -> bool:
    """Whether the player to move wins."""
    following = moves_of(stones, width, color).values()
    return any(is_won for _, is_won in following) or any(
        not wins(after, width, 3 - color) for after, _ in following
    )


@pytest.mark.parametrize(("width", "height", "depth"), [(2, 2, 6), (3, 2, 6), (3, 3, 5), (4, 3, 4)])
def test_counts_are_the_oracles(width: int, height: int, depth: int) -> None:
    empty = (0,) * (width * height)
    expected = [count(empty, width, BLACK, n) for n in range(depth + 1)]
    assert list(perft(AtariGo(width, height), depth)) == expected


def test_random_games_are_the_oracles() -> None:
    generator = random.Random(7)
    passes = 0
    for _ in range(60):
        width, height = generator.choice([(2, 2), (3, 3), (4, 3), (5, 5)])
        game, stones = AtariGo(width, height), (0,) * (width * height)
        is_won = False
        while not is_won:
            color = game.to_play
            following = moves_of(stones, width, color)
            points = {
                PASS if at is None else point_at(*divmod(at, width), width): at for at in following
            }
            assert sorted(points) == sorted(game.legal_moves()) and not game.is_over
            point = generator.choice(sorted(points))
            passes += point == PASS
            stones, is_won = following[points[point]]
            game.play(color, point)
        assert game.is_over and game.legal_moves() == []
        assert game.white_margin() == (1 if color == WHITE else -1)
        with pytest.raises(IllegalMoveError, match="over"):
            game.play(game.to_play, PASS)
    assert passes > 0, "nobody was ever without a move"


def test_who_has_a_move_may_not_pass_and_komi_means_nothing() -> None:
    game = AtariGo(5, rules=Rules.parse("japanese", komi=100.5))
    with pytest.raises(IllegalMoveError, match="pass"):
        game.play(BLACK, PASS)
    game.set_rules(Rules.parse("aga", komi=3.5))
    assert game.komi == 3.5 and game.rules.must_move
    for color, vertex in ((BLACK, "A1"), (WHITE, "A2"), (BLACK, "E5"), (WHITE, "B1")):
        game.play(color, parse_vertex(vertex, 5, 5))
    assert game.is_over and game.white_margin() == 1.0
    game.undo()
    assert not game.is_over and game.white_margin() == 0.0


def test_a_game_on_record_is_replayed_or_refused() -> None:
    played = Position(5)
    played.set_up([parse_vertex("C3", 5, 5)], (), WHITE)
    played.play(WHITE, parse_vertex("D3", 5, 5))
    game = replayed("atari-go", played)
    assert isinstance(game, AtariGo) and game.moves == played.moves
    assert np.array_equal(game.grid(), played.grid())
    played.play(BLACK, PASS)
    with pytest.raises(SgfError, match="not a game of atari-go"):
        replayed("atari-go", played)
    assert replayed("go", played) is played


def test_a_branch_ends_with_the_first_capture() -> None:
    game = AtariGo(3)
    branch = game.branch(8)
    paths = np.zeros(1, PATH)
    moves = [parse_vertex(vertex, 3, 3) for vertex in ("A1", "A2", "C3", "B1")]
    for n in range(len(moves) + 1):
        paths["length"] = n + 1
        paths["moves"][0, 1 : n + 1] = moves[:n]
        ply, symmetry = branch.follow(paths, 0, 0, 8, 1)
        assert ply == n and (symmetry == OVER) == (n == 4)
    assert branch.white_lead(4) == 1.0


@pytest.mark.parametrize("evaluator", [FakeEvaluator(), AtariRollouts()])
@pytest.mark.parametrize("size", [(2, 2), (3, 2), (3, 3)])
def test_a_search_solves_small_boards(
    evaluator: FakeEvaluator | AtariRollouts, size: tuple[int, int]
) -> None:
    """It plays a won position won to the end, against every reply."""
    width, height = size
    search = Search(evaluator)
    pending = [AtariGo(width, height)]
    n_searched = 0
    while pending and n_searched < 25:
        game = pending.pop()
        stones = tuple(game.grid().ravel().tolist())
        color = game.to_play
        if wins(stones, width, color):
            search.clear()
            search.set_position(game)
            chosen = search.run(Limits(playouts=3000)).moves[0].point
            n_searched += 1
            game.play(color, chosen)
            after = tuple(game.grid().ravel().tolist())
            assert game.is_over or not wins(after, width, game.to_play)
        for point in game.legal_moves() if not game.is_over else []:
            following = game.copy()
            following.play(game.to_play, point)
            if not following.is_over:
                pending.append(following)
    assert n_searched > 0


def test_a_rollout_ends_with_a_capture() -> None:
    game = AtariGo(4)
    state = np.uint64(5)
    winners = []
    for _ in range(200):
        board = game.history.boards[:1].copy()
        winner, drawn = roll_out(board[0], BLACK, state)
        state = np.uint64(drawn)
        winners.append(int(winner))
        assert board[0]["captured"][3 - winner] > 0 and board[0]["captured"][winner] == 0
    assert 40 < winners.count(BLACK) < 160
