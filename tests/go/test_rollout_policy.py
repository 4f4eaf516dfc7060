"""Pattern policies: kept up to date move by move, against a slow oracle; and their rollouts."""

import random

import numpy as np
import numpy.typing as npt
import pytest
from tests.go import naive_patterns
from tests.go.diagrams import position_of
from tests.go.naive_board import NaiveGame, Spot

from gtp_engine.coords import BLACK, EMPTY, PASS, WHITE, parse_vertex, point_at, row_col
from gtp_engine.evaluators.rollouts.pattern_file import Arrays, build_policy
from gtp_engine.go.board import BOARD, MAX_POINTS, clear_board
from gtp_engine.go.pattern_board import PATTERN_BOARD, PatternRecord, play_stone, set_up
from gtp_engine.go.patterns import (
    DIAMOND_BITS,
    NEAR_BITS,
    diamond_symmetries,
    near_colors,
    near_symmetries,
)
from gtp_engine.go.rollout_policy import (
    ESCAPE,
    N_DISTANCES,
    NAKADE,
    RESPONSES,
    SAVE_BY_CAPTURE,
    SELF_ATARI,
    Policy,
    count_area,
    diamond_code,
    draw_move,
    find_local,
    liberties_after,
    roll_out,
    score_moves,
    self_atari,
)
from gtp_engine.go.symmetry import action_table
from gtp_engine.kernels import JIT_ENABLED, uint64


def random_arrays(seed: int, spread: float = 1.0) -> Arrays:
    """Return arrays of a pattern file with random weights for some patterns of each kind."""
    generator = np.random.default_rng(seed)

    def some(bits: int, n: int) -> npt.NDArray[np.uint32]:
        return generator.integers(0, 1 << bits, n, dtype=np.uint32)

    def weights(*shape: int) -> npt.NDArray[np.float64]:
        return generator.normal(0, spread, shape)

    codes = np.arange(1 << NEAR_BITS, dtype=np.uint32)
    near = np.unique(near_symmetries(some(NEAR_BITS, 5000)).min(axis=0))
    colors = np.unique(near_symmetries(near_colors(codes[::7])).min(axis=0))
    sparse = some(DIAMOND_BITS, 20000) & some(DIAMOND_BITS, 20000)
    sparse[::3] = 0
    responses = np.unique(diamond_symmetries(sparse | (2 << DIAMOND_BITS)).min(axis=0))
    diamonds = np.unique(diamond_symmetries(sparse).min(axis=0))
    return {
        "near": near,
        "near_weights": weights(2, len(near)),
        "colors": colors,
        "colors_weights": weights(2, len(colors)),
        "local": weights(2, RESPONSES + 36),
        "responses": responses,
        "response_weights": weights(2, len(responses), 12),
        "distances": weights(2, N_DISTANCES),
        "diamonds": diamonds,
        "diamond_weights": weights(len(diamonds)),
    }


@pytest.fixture(scope="module")
def policy() -> Policy:
    return build_policy(random_arrays(1, 0.3))


def empty_board(width: int, height: int, policy: Policy) -> PatternRecord:
    boards, source = np.zeros(1, PATTERN_BOARD), np.zeros(1, BOARD)
    clear_board(source[0], width, height)
    set_up(boards[0], source[0], 0, policy.weights)
    return boards[0]


def spot_of(point: int, width: int) -> Spot | None:
    return None if point == PASS else row_col(point, width)


def assert_same(
    board: PatternRecord, policy: Policy, game: NaiveGame, color: int, moves: list[int]
) -> None:
    """Compare everything that is kept or found with what the oracle says."""
    width = game.width
    sums = np.zeros_like(board["sum"])
    for spot in game.spots():
        point = point_at(*spot, width)
        assert board["color"][point] == game.color_at(spot)
        if game.color_at(spot) != EMPTY:
            assert board["liberties"][board["head"][point]] == len(game.liberties(spot))
            assert board["size"][board["head"][point]] == len(game.chain(spot))
            assert not board["weight"][:, point].any()
            continue
        code = naive_patterns.near_code(game, spot)
        assert board["code"][point] == code
        for player in (BLACK, WHITE):
            weight = board["weight"][player - 1, point]
            assert weight == policy.weights[player - 1, code]
            assert (weight == 0) == naive_patterns.is_refused(game, spot, player)
            sums[player - 1, point >> 4] += weight
        assert diamond_code(board, point, color) == naive_patterns.diamond_code(game, spot, color)
        if board["weight"][color - 1, point]:
            wanted = naive_patterns.liberties_after(game, spot, color)
            assert liberties_after(board, point, color) == wanted
            assert self_atari(board, point, color) == naive_patterns.self_atari(game, spot, color)
    assert (board["sum"] == sums).all()
    assert spot_of(board["ko_point"], width) == game.ko_spot
    taken = set()
    if len(game.situations) > 1:
        taken = {spot for spot, _ in game.situations[-2][0] - game.situations[-1][0]}
    last, previous = (moves[-n] if len(moves) >= n else PASS for n in (1, 2))
    none = np.zeros(16, np.uint32), np.zeros(16, np.int32)
    find_local(board, *none, last, previous, color)
    pairs = [
        (spot_of(int(board["local_point"][i]), width), int(board["local_feature"][i]))
        for i in range(board["n_local"])
    ]
    found = naive_patterns.local_features(
        game, spot_of(last, width), spot_of(previous, width), taken, color
    )
    assert len(set(pairs)) == len(pairs)
    assert set(pairs) == found


@pytest.mark.parametrize("seed", range(12 if JIT_ENABLED else 2))
def test_all_that_is_kept_against_the_oracle(seed: int, policy: Policy) -> None:
    generator = random.Random(seed)
    width, height = generator.randint(2, 7), generator.randint(2, 7)
    board, game = empty_board(width, height, policy), NaiveGame(width, height, ko="simple")
    state, color, moves = uint64(seed + 99), BLACK, []
    while len(moves) < 3 * width * height and moves[-2:] != [PASS, PASS]:
        assert_same(board, policy, game, color, moves)
        last, previous = (moves[-n] if len(moves) >= n else PASS for n in (1, 2))
        point, state = draw_move(board, policy, last, previous, color, uint64(state))
        assert_same(board, policy, game, color, moves)  # the weights are put back
        game.play(color, spot_of(point, width))
        if point == PASS:
            board["ko_point"] = board["n_taken"] = 0
        else:
            play_stone(board, policy.weights, point, color)
        moves.append(int(point))
        color = 3 - color
    assert len(moves) > width * height


def test_set_up_finds_what_moves_lead_to(policy: Policy) -> None:
    position = position_of(". X O . .\nX O . O .\n. X O . .\n. . X O .\nO . . . .")
    board, again = empty_board(5, 5, policy), np.zeros(1, PATTERN_BOARD)[0]
    for point in position.points():
        if position.color_at(point) != EMPTY:
            play_stone(board, policy.weights, point, position.color_at(point))
    set_up(again, position.board, 0, policy.weights)
    for name in ("color", "weight", "sum"):
        assert (board[name] == again[name]).all(), name
    stones = [p for p in position.points() if position.color_at(p) != EMPTY]
    for point in stones:
        heads = board["head"][point], again["head"][point]
        assert board["liberties"][heads[0]] == again["liberties"][heads[1]]


def test_scores_are_the_same_under_all_symmetries_and_colors() -> None:
    policy = build_policy(random_arrays(5))
    generator, n = random.Random(3), 6
    moves: list[tuple[int, int]] = []
    start = empty_board(n, n, policy)
    for ply in range(24):
        color = BLACK + ply % 2
        free = np.flatnonzero(start["weight"][color - 1][: start["n_points"]])
        moves.append((color, int(generator.choice(list(free)))))
        play_stone(start, policy.weights, moves[-1][1], color)
    found = []
    for symmetry in range(8):
        for is_swapped in (False, True):
            board = empty_board(n, n, policy)
            table = action_table(n, n)[symmetry]
            for color, point in moves:
                row, col = row_col(point, n)
                to_row, to_col = divmod(int(table[row * n + col]), n)
                to = 3 - color if is_swapped else color
                play_stone(board, policy.weights, point_at(to_row, to_col, n), to)
            last, previous = (
                point_at(*divmod(int(table[r * n + c]), n), n)
                for r, c in (row_col(moves[-k][1], n) for k in (1, 2))
            )
            to_play = WHITE if is_swapped else BLACK
            scores = np.zeros(MAX_POINTS, np.float32)
            score_moves(board, policy, last, previous, to_play, scores)
            by_action = [scores[point_at(*divmod(int(table[a]), n), n)] for a in range(n * n)]
            found.append(by_action)
    assert np.ptp(found[0]) > 1
    for other in found[1:]:
        assert np.allclose(found[0], other, atol=1e-4)


def test_a_chain_put_in_atari_is_extended_or_saved_by_capture() -> None:
    # White's last move D4 puts D3 in atari; C3 is in atari too.
    position = position_of(". . . . .\n. . X O .\n. X O X .\n. . . O .\n. . . . .")
    board = np.zeros(1, PATTERN_BOARD)[0]
    weights = np.ones((2, 1 << NEAR_BITS), np.int32)
    set_up(board, position.board, 0, weights)
    none = np.zeros(16, np.uint32), np.zeros(16, np.int32)
    find_local(board, *none, parse_vertex("D4", 5, 5), PASS, BLACK)
    pairs = {
        (int(board["local_point"][i]), int(board["local_feature"][i]))
        for i in range(board["n_local"])
    }
    assert (parse_vertex("E3", 5, 5), ESCAPE + 1) in pairs
    assert (parse_vertex("C2", 5, 5), SAVE_BY_CAPTURE) in pairs


def test_the_middle_of_three_captured_stones_is_the_vital_point(policy: Policy) -> None:
    board = empty_board(5, 3, policy)
    moves = "A2 A1 B2 B1 C2 C1 E1 E3 D1"
    for ply, vertex in enumerate(moves.split()):
        play_stone(board, policy.weights, parse_vertex(vertex, 5, 3), BLACK + ply % 2)
    none = np.zeros(16, np.uint32), np.zeros(16, np.int32)
    find_local(board, *none, parse_vertex("D1", 5, 3), PASS, WHITE)
    pairs = {
        (int(board["local_point"][i]), int(board["local_feature"][i]))
        for i in range(board["n_local"])
    }
    assert (parse_vertex("B1", 5, 3), NAKADE + 5 + 2) in pairs
    assert (parse_vertex("A1", 5, 3), NAKADE + 5 + 1) in pairs


def test_moves_are_drawn_as_often_as_their_weights_say(policy: Policy) -> None:
    board = empty_board(3, 3, policy)
    counts = np.zeros(MAX_POINTS, int)
    state, n = uint64(5), 20000 if JIT_ENABLED else 2000
    for _ in range(n):
        point, state = draw_move(board, policy, PASS, PASS, BLACK, uint64(state))
        counts[point] += 1
    weights = board["weight"][0] / board["weight"][0].sum()
    assert np.abs(counts / n - weights[:MAX_POINTS]).max() < 0.02 * (1 if JIT_ENABLED else 3)


@pytest.mark.parametrize("size", [(2, 2), (9, 9), (3, 25), (25, 25)])
def test_rollouts_end_with_every_point_owned(size: tuple[int, int], policy: Policy) -> None:
    if not JIT_ENABLED and size[0] * size[1] > 100:
        pytest.skip("takes long without a compiler")
    board = empty_board(*size, policy)
    _, moves = roll_out(board, policy, PASS, PASS, BLACK, uint64(11))
    owned = np.zeros(MAX_POINTS, np.float32)
    difference = count_area(board, owned)
    assert difference == owned.sum()
    assert moves < 3 * size[0] * size[1] or size == (2, 2)
    assert np.abs(owned).sum() > 0.8 * size[0] * size[1] or size == (2, 2)


def test_living_groups_live_in_rollouts(policy: Policy) -> None:
    position = position_of(". X . X O . .\nX X X X O . O\nO O O O O O .")
    board = np.zeros(1, PATTERN_BOARD)[0]
    for seed in range(20):
        set_up(board, position.board, 0, policy.weights)
        roll_out(board, policy, PASS, PASS, WHITE, uint64(seed + 1))
        assert board["color"][parse_vertex("A2", 7, 3)] == BLACK
        assert board["color"][parse_vertex("A1", 7, 3)] == WHITE


def test_a_self_atari_of_many_stones_is_rare_if_its_weight_says_so() -> None:
    arrays = random_arrays(2, 0.0)
    arrays["local"][0, SELF_ATARI + 2] = -9.0
    policy = build_policy(arrays)
    # A5 would put four black stones in atari.
    position = position_of(". O . . .\nX O . . .\nX O . . .\nX O . . .\nX O . . .\n. O . . .")
    board = np.zeros(1, PATTERN_BOARD)[0]
    set_up(board, position.board, 0, policy.weights)
    state, drawn = uint64(3), set()
    for _ in range(300):
        point, state = draw_move(board, policy, PASS, PASS, BLACK, uint64(state))
        drawn.add(int(point))
    assert parse_vertex("A6", 5, 6) not in drawn and len(drawn) > 10
