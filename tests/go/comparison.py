"""Hold a `Position` against a `NaiveGame`, down to the board's inner bookkeeping."""

import random
from dataclasses import replace

import numpy as np
from tests.go import naive_board
from tests.go.diagrams import repetitions_of
from tests.go.naive_board import NaiveGame, Spot

from gtp_engine.coords import BLACK, EMPTY, PASS, WHITE, point_at
from gtp_engine.go.board import ZOBRIST, count_liberties
from gtp_engine.go.history import NO_RESULT, PLAYING
from gtp_engine.go.position import Position
from gtp_engine.go.rules import Ko, Rules

KO_NAMES = {Ko.SIMPLE: "simple", Ko.POSITIONAL: "positional", Ko.SITUATIONAL: "situational"}
ALL_RULES = [
    replace(Rules(), ko=ko, multi_stone_suicide=suicide) for ko in Ko for suicide in (False, True)
]


def naive_twin(width: int, height: int, rules: Rules) -> NaiveGame:
    """Return an empty naive game under the ko and suicide rules given."""
    return NaiveGame(width, height, KO_NAMES[rules.ko], rules.multi_stone_suicide)


def point_of(spot: Spot | None, width: int) -> int:
    """Return the move of a naive move."""
    return PASS if spot is naive_board.PASS else point_at(*spot, width)


def play_both(position: Position, naive: NaiveGame, color: int, spot: Spot | None) -> None:
    """Make the same move in both games."""
    position.play(color, point_of(spot, position.width))
    naive.play(color, spot)


def assert_same_board(position: Position, naive: NaiveGame) -> None:
    """Check stones, chains, liberties, the list of empty points, hash, ko ban and captures."""
    board, width = position.board, position.width
    expected_hash = np.uint64(0)
    seen: set[Spot] = set()
    for spot in naive.spots():
        point = point_at(*spot, width)
        color = naive.color_at(spot)
        assert board["color"][point] == color
        if color != EMPTY:
            expected_hash ^= ZOBRIST[color, point]
            if spot not in seen:
                chain = naive.chain(spot)
                seen |= chain
                _assert_same_chain(position, naive, chain)
    assert board["hash"] == expected_hash

    empty = [int(point) for point in board["empty"][: board["n_empty"]]]
    assert sorted(empty) == [
        point_at(*spot, width) for spot in naive.spots() if spot not in naive.stones
    ]
    assert all(board["empty"][board["empty_at"][point]] == point for point in empty)
    assert board["ko_point"] == point_of(naive.ko_spot, width)
    assert {color: position.captured(color) for color in (BLACK, WHITE)} == naive.captured


def _assert_same_chain(position: Position, naive: NaiveGame, chain: set[Spot]) -> None:
    board, width = position.board, position.width
    points = {point_at(*spot, width) for spot in chain}
    heads = {int(board["head"][point]) for point in points}
    assert len(heads) == 1 and heads <= points
    head = heads.pop()
    walked = [head]
    while (following := int(board["next"][walked[-1]])) != head:
        walked.append(following)
        assert len(walked) <= len(points)
    assert set(walked) == points and board["size"][head] == len(points)
    contacts = [near for spot in chain for near in naive.near(spot) if near not in naive.stones]
    assert board["pseudo"][head] == len(contacts)
    liberties = len(set(contacts))
    assert liberties > 0
    for limit in (1, 2, 3, 32):
        assert count_liberties(board, head, limit) == min(limit, liberties)


def assert_same_legality(
    position: Position, naive: NaiveGame, generator: random.Random | None = None
) -> None:
    """Check which moves both players may make; with a generator, on a sample of the points."""
    width = position.width
    for color in (naive.to_play, 3 - naive.to_play):
        found = position.legal_moves(color)
        assert found[-1] == PASS
        if generator is None:
            assert found[:-1] == [point_at(*spot, width) for spot in naive.legal_moves(color)]
        spots = naive.spots() if generator is None else generator.sample(naive.spots(), 6)
        for spot in spots:
            point = point_at(*spot, width)
            legal = naive.is_legal(color, spot)
            assert (point in found) == legal
            assert position.is_legal(color, point) == legal


def assert_same_status(position: Position, naive: NaiveGame) -> None:
    """Check player to move, passes, repetitions, and how the game ended, in a game of area."""
    assert position.to_play == naive.to_play
    assert position.ply == len(naive.moves)
    assert [(move.color, move.point) for move in position.moves] == [
        (color, point_of(spot, position.width)) for color, spot in naive.moves
    ]
    assert position.turn["passes"] == naive.passes()
    assert repetitions_of(position) == naive.repetitions()
    if not naive.moves:
        assert not position.is_over
        return
    is_simple = position.rules.ko == Ko.SIMPLE
    ended = naive.passes() >= 2 or (is_simple and naive.passed_here_before())
    cycled = (
        is_simple
        and naive.moves[-1][1] is not naive_board.PASS
        and naive.occurrences_since_pass() >= 3
    )
    assert position.is_over == (ended or cycled)
    assert (position.turn["status"] == NO_RESULT) == cycled
    assert (position.turn["status"] == PLAYING) == (not ended and not cycled)


def assert_same_game(
    position: Position, naive: NaiveGame, generator: random.Random | None = None
) -> None:
    """Check everything the two games both know."""
    assert_same_board(position, naive)
    assert_same_legality(position, naive, generator)
    assert_same_status(position, naive)
