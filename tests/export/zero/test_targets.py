"""Targets from shards: what the net sees and what it should say belong together."""

from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from gtp_engine.coords import PASS, point_to_action
from gtp_engine.games import new_game
from gtp_engine.go.game_record import GameRecord
from gtp_engine.go.rules import ATARI_GO, GO, Rules
from gtp_engine.go.scoring import format_result
from gtp_export.zero.shards import FAST, FULL, LearnedGame, Searched, ShardError, write_shard
from gtp_export.zero.targets import Window

SIZE = 4
AREA = SIZE * SIZE
ENCODER = "katago_v7"
BOARDS = [(GO, SIZE, SIZE)]


def random_game(generator: np.random.Generator, game: str = GO, size: int = SIZE) -> LearnedGame:
    """Return a game to the end; what its searches say is certain of the move that was made."""
    rules = Rules(friendly_pass_ok=False, komi=0.5)
    position = new_game(game, size, size, rules)
    searched = []
    while not position.is_over:
        moves = position.legal_moves()
        if position.ply < 12 and len(moves) > 1:
            moves = [move for move in moves if move != PASS]
        move = int(generator.choice(moves)) if position.ply < 30 else PASS
        action = np.array([point_to_action(move, size, size)], np.int16)
        kind = FAST if position.ply % 3 == 2 else FULL
        value = (-1.0) ** position.ply * 0.25
        searched.append(Searched(kind, value, action, np.ones(1)))
        position.play(position.to_play, move)
    result = format_result(position.white_margin())
    record = GameRecord(size, size, 0.5, position.rules, moves=position.moves, result=result)
    is_counted = game == GO
    return LearnedGame(replace(record, dead=() if is_counted else None), tuple(searched), "", "")


def write_games(folder: Path, seed: int, game: str = GO, games: int = 3, size: int = SIZE) -> Path:
    generator = np.random.default_rng(seed)
    return write_shard(folder, game, [random_game(generator, game, size) for _ in range(games)])


def test_targets_turn_with_what_the_net_sees(tmp_path: Path) -> None:
    window = Window(ENCODER, BOARDS)
    for games in (1, 2):  # one behind the other, and not of one length
        window.add(write_games(tmp_path, games, games=games))
    samples = window.draw(300, np.random.default_rng(2))
    seen = samples.seen
    rows = np.arange(300)
    assert (samples.policy[rows, seen.action] == 1.0).all()
    assert (samples.policy.sum(axis=1) == 1.0).all()
    assert (samples.policy <= seen.legal).all()
    stones = seen.spatial[:, 1] | seen.spatial[:, 2]
    points = seen.action < AREA
    assert not stones.reshape(300, AREA)[rows[points], seen.action[points]].any()
    np.testing.assert_array_equal(samples.value, np.where(seen.ply % 2, -0.25, 0.25))


def test_sizes_come_as_often_as_they_have_positions(tmp_path: Path) -> None:
    window = Window(ENCODER, [(GO, 3, 3), (GO, 4, 4)])
    few = window.add(write_games(tmp_path, 1, games=1, size=3))
    many = window.add(write_games(tmp_path, 2, games=9))
    generator = np.random.default_rng(3)
    widths = [window.draw(1, generator).seen.spatial.shape[3] for _ in range(300)]
    expected = few / (few + many)
    assert expected < 0.15 and abs(widths.count(3) / 300 - expected) < 0.06


def test_score_and_ownership_are_one_count(tmp_path: Path) -> None:
    window = Window(ENCODER, BOARDS)
    window.add(write_games(tmp_path, 3))
    seen = window.draw(200, np.random.default_rng(4)).seen
    black = seen.ply % 2 == 0
    own = seen.ownership.sum(axis=(1, 2)) - np.where(black, 0.5, -0.5)
    np.testing.assert_array_equal(own, seen.score)
    np.testing.assert_array_equal(seen.outcome, seen.score > 0)


def test_fast_searches_are_no_targets(tmp_path: Path) -> None:
    window = Window(ENCODER, BOARDS)
    path = write_games(tmp_path, 5)
    assert window.add(path) == window.positions > 0
    assert (window.draw(300, np.random.default_rng(6)).seen.ply % 3 != 2).all()


def test_a_window_keeps_the_newest_shards(tmp_path: Path) -> None:
    window = Window(ENCODER, BOARDS)
    counts = [window.add(write_games(tmp_path, seed, games=1 + seed)) for seed in range(4)]
    window.keep(counts[2] + counts[3])
    assert window.positions == counts[2] + counts[3]
    window.keep(counts[3] + 1)
    assert window.positions == counts[2] + counts[3]
    assert window.draw(200, np.random.default_rng(1)).seen.game.max() == 3 + 4 - 1


def test_batches_are_the_same_for_the_same_seed(tmp_path: Path) -> None:
    window = Window(ENCODER, BOARDS)
    for seed in (1, 2):
        window.add(write_games(tmp_path, seed))
    first, again = (list(islice(window.batches(64, np.random.default_rng(9)), 40)) for _ in "12")
    assert {len(one.value) for one in first} == {64}
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one.seen.spatial, other.seen.spatial)
        np.testing.assert_array_equal(one.policy, other.policy)


def test_atari_go_lets_only_those_pass_who_have_no_move(tmp_path: Path) -> None:
    window = Window(ENCODER, [(ATARI_GO, SIZE, SIZE)])
    window.add(write_games(tmp_path, 7, ATARI_GO))
    seen = window.draw(200, np.random.default_rng(8)).seen
    assert (seen.legal[:, AREA] == (seen.legal[:, :AREA].sum(axis=1) == 0)).all()
    assert not seen.ownership.any()
    assert set(seen.outcome.tolist()) <= {0.0, 1.0}


def test_shards_of_another_size_and_empty_windows_are_refused(tmp_path: Path) -> None:
    window = Window(ENCODER, [(GO, 9, 9)])
    with pytest.raises(ShardError, match="not of go on 9x9"):
        window.add(write_games(tmp_path, 1))
    with pytest.raises(ValueError, match="no positions"):
        window.draw(1, np.random.default_rng(1))
