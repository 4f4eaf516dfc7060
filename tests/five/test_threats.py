"""Wins that are read out, against an oracle that tries every move."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.five.test_lines import game_of, wins_at

from gtp_engine.coords import BLACK, EMPTY, WHITE
from gtp_engine.five.game import FiveGame
from gtp_engine.five.shapes import change, find_wins, is_allowed, new_shapes
from gtp_engine.five.threats import DEEPEST_FOURS, find_blocks, find_win, win_by_fours
from gtp_engine.go.rules import FIVE_RULES


def shapes_of(game: FiveGame):  # type: ignore[no-untyped-def]
    """Return what threats are read on."""
    return new_shapes(game.colors, game.stride, len(game.colors), game.rules.five)


def wins_by_fours(game: FiveGame, color: int) -> bool:
    """The oracle: whether a player wins by fours that leave one answer, or none."""
    empty = [point for point in game.points() if game.color_at(point) == EMPTY]
    other = 3 - color
    if any(wins_at(game, color, point) for point in empty):
        return True
    threats = [point for point in empty if wins_at(game, other, point)]
    if len(threats) > 1:
        return False
    for point in threats or empty:
        if not game.is_legal(color, point):
            continue
        after = game.copy()
        after.play(color, point)
        fives = [p for p in empty if p != point and wins_at(after, color, p)]
        if not fives or after.is_over:
            continue
        if len(fives) > 1 or not after.is_legal(other, fives[0]):
            return True
        after.play(other, fives[0])
        if not after.is_over and wins_by_fours(after, color):
            return True
    return False


def wins(game: FiveGame, color: int) -> bool:
    """The oracle of oracles: whether the player to move wins against every defence."""
    for point in game.legal_moves(color):
        after = game.copy()
        after.play(color, point)
        if after.winner == color:
            return True
        if after.is_over:
            continue
        answers = after.legal_moves(3 - color)
        if all(_wins_after(after, color, answer) for answer in answers):
            return True
    return False


def _wins_after(game: FiveGame, color: int, answer: int) -> bool:
    after = game.copy()
    after.play(3 - color, answer)
    return not after.is_over and wins(after, color)


@st.composite
def middle_games(draw: st.DrawFn, empty: int = 100) -> FiveGame:
    """A board with stones of both in turn and nobody's five, with so many empty points at most."""
    size = draw(st.integers(5, 9)) if empty == 100 else draw(st.sampled_from((5, 6)))
    rule = draw(st.sampled_from(("freestyle", "standard", "renju")))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    game = FiveGame(size, rules=FIVE_RULES[rule])
    least = max(0, size * size - empty)
    n_stones = draw(st.integers(least, max(least, size * size * 2 // 3)))
    for _ in range(n_stones):
        moves = [p for p in game.legal_moves() if not wins_at(game, game.to_play, p)]
        if not moves:
            break
        game.play(game.to_play, int(rng.choice(moves)))
    return game


@settings(max_examples=60)
@given(middle_games())
def test_wins_by_fours_are_those_of_the_oracle(game: FiveGame) -> None:
    if game.is_over:
        return
    for color in (BLACK, WHITE):
        shapes = shapes_of(game)
        before = shapes.codes.copy()
        line = np.zeros((DEEPEST_FOURS, 4), np.int16)
        first, _ = win_by_fours(shapes, color, 100_000, line)
        assert bool(first) == wins_by_fours(game, color), f"{game}\n{color}"
        assert (shapes.codes == before).all() and (shapes.colors == game.colors).all()


@settings(max_examples=40)
@given(middle_games(empty=9))
def test_what_is_read_out_wins_against_every_defence(game: FiveGame) -> None:
    if game.is_over:
        return
    color = game.to_play
    point = find_win(game.board, color, game.rules.five, 20_000)
    if point:
        after = game.copy()
        after.play(color, point)
        answers = [] if after.is_over else after.legal_moves()
        assert after.winner == color or answers, game
        assert all(_wins_after(after, color, answer) for answer in answers), game


@settings(max_examples=40)
@given(middle_games(), st.sampled_from(["caro", "caro-exact"]))
def test_what_is_read_out_under_caro_can_be_read_out_after_every_answer(
    game: FiveGame, rule: str
) -> None:
    played = FiveGame(game.width, rules=FIVE_RULES[rule])
    played.set_up(game.stones(BLACK), game.stones(WHITE))
    point = played.proved_win(2_000)
    if point is None or wins_at(played, BLACK, point):
        return
    played.play(BLACK, point)
    for answer in played.legal_moves():
        after = played.copy()
        after.play(WHITE, answer)
        assert after.proved_win(200_000) is not None, (played, played.name(answer))


@given(middle_games(), st.integers(0, 2**32))
def test_shapes_are_kept_up_to_date(game: FiveGame, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shapes = shapes_of(game)
    empty = np.flatnonzero(game.colors == EMPTY)
    for point in rng.permutation(empty)[:6]:
        change(shapes, point, int(rng.integers(1, 3)), 1)
    fresh = new_shapes(shapes.colors, game.stride, len(shapes.colors), game.rules.five)
    assert (shapes.codes == fresh.codes).all()


@given(middle_games(), st.sampled_from(sorted(FIVE_RULES)))
def test_fives_blocks_and_forbidden_points_are_those_of_the_game(game: FiveGame, rule: str) -> None:
    game = game_of([], [], rule, game.width) if game.is_over else game
    played = FiveGame(game.width, rules=FIVE_RULES[rule])
    played.set_up(game.stones(BLACK), game.stones(WHITE))
    shapes = shapes_of(played)
    empty = [point for point in played.points() if played.color_at(point) == EMPTY]
    for color in (BLACK, WHITE):
        fives = [point for point in empty if wins_at(played, color, point)]
        n, first = find_wins(shapes, color)
        assert n == min(2, len(fives)) and first == (fives[0] if fives else 0)
        for point in empty:
            allowed = color == WHITE or not played.forbidden(point)
            assert is_allowed(shapes, point, color) == allowed
        if fives:
            found = np.zeros(len(played.colors), np.int16)
            n = find_blocks(shapes, 3 - color, found)
            blocks = []
            for point in empty:
                if 3 - color == BLACK and played.forbidden(point):
                    continue
                after = played.copy()
                after.set_up(
                    played.stones(BLACK) + [point] * (color == WHITE),
                    played.stones(WHITE) + [point] * (color == BLACK),
                )
                if not any(wins_at(after, color, p) for p in empty if p != point):
                    blocks.append(point)
            assert sorted(found[:n].tolist()) == blocks


@pytest.mark.parametrize(
    ("rule", "black", "white", "to_play", "expected"),
    [
        ("freestyle", "h8 i8 j8", "a1 a2", BLACK, "f8 g8 k8 l8"),  # an open three
        ("freestyle", "h8 i8 g9 g10", "a1 a2 c3 e3", BLACK, "g8 h9 f10 i7"),  # two threes at once
        ("standard", "h8 i8", "a1 a2", BLACK, "none"),
        # White's four can be stopped at k8 alone, where Black would have six.
        ("renju", "k4 k5 k6 k7 k9 f8", "g8 h8 i8 k3 a1", WHITE, "j8"),
        # After f2 two points make a five. Under caro g2 stops both: b2's has no free end then.
        ("freestyle", "a2", "c2 d2 e2", WHITE, "f2"),
        ("caro", "a2", "c2 d2 e2", WHITE, "none"),
        ("caro-exact", "a2", "c2 d2 e2", WHITE, "none"),
        ("caro", "a9 k9", "d2 e2 f2 g2", WHITE, "c2 h2"),
    ],
)
def test_hand_made_wins(rule: str, black: str, white: str, to_play: int, expected: str) -> None:
    game = game_of(black.split(), white.split(), rule)
    point = find_win(game.board, to_play, game.rules.five, 20_000)
    assert (game.name(point) if point else "none") in expected.split()


def test_few_nodes_find_little_but_never_a_wrong_move() -> None:
    game = game_of(["h8", "i8", "g9", "g10"], ["a1", "a2", "c3", "e3"], "freestyle")
    assert find_win(game.board, BLACK, 0, 3) == 0
    game = game_of(["h8", "i8", "j8", "k8"], ["a1"], "freestyle")
    assert find_win(game.board, BLACK, 0, 1) in (game.point("g8"), game.point("l8"))
