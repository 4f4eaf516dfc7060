"""Shards of self-play: what is written is read, and damage is told in a sentence."""

from pathlib import Path

import numpy as np
import pytest

from gtp_engine.coords import BLACK, EMPTY, WHITE, action_to_point
from gtp_engine.go.game_record import GameRecord
from gtp_engine.go.position import Move
from gtp_engine.go.rules import ATARI_GO, GO, Rules
from gtp_export.zero.shards import (
    FULL,
    NO_SEARCH,
    SHARE_UNIT,
    LearnedGame,
    Searched,
    ShardError,
    read_header,
    read_shard,
    store_shard,
    write_shard,
)

SIZE = 5


def searched(generator: np.random.Generator) -> Searched | None:
    kind = int(generator.integers(3))
    if kind == NO_SEARCH:
        return None
    n = int(generator.integers(1, 8))
    return Searched(
        kind=kind,
        value=float(generator.uniform(-1, 1)),
        actions=generator.permutation(SIZE * SIZE + 1)[:n].astype(np.int16),
        shares=generator.dirichlet(np.ones(n)),
    )


def played(generator: np.random.Generator) -> LearnedGame:
    n = int(generator.integers(1, 20))
    actions = generator.integers(SIZE * SIZE + 1, size=n)
    moves = [
        Move(BLACK + i % 2, action_to_point(int(a), SIZE, SIZE)) for i, a in enumerate(actions)
    ]
    is_counted = bool(generator.integers(2))
    komi = float(generator.integers(-10, 10)) / 2
    record = GameRecord(
        width=SIZE,
        height=SIZE,
        komi=komi,
        rules=Rules(friendly_pass_ok=False, komi=komi),
        moves=moves,
        result=str(generator.choice(["B+3.5", "W+12", "0"])) if is_counted else "W+R",
        dead=() if is_counted else None,
    )
    return LearnedGame(
        record=record,
        searched=tuple(searched(generator) for _ in range(n)),
        net=str(generator.choice(["", "0123456789abcdef"])),
        reason="passes" if is_counted else "resigned",
        begun=int(generator.integers(n)),
        may_resign=not is_counted,
        given_up=BLACK if not is_counted else int(generator.choice([EMPTY, WHITE])),
    )


@pytest.mark.parametrize("seed", range(20))
def test_games_come_back_as_they_were(seed: int, tmp_path: Path) -> None:
    generator = np.random.default_rng(seed)
    games = [played(generator) for _ in range(int(generator.integers(1, 6)))]
    shard = read_shard(write_shard(tmp_path, GO, games, core_seconds=1.5, evaluations=77))
    header = shard.header
    assert header == read_header(next(tmp_path.glob("*.shard")))
    assert (header.games, header.core_seconds, header.evaluations) == (len(games), 1.5, 77)
    assert sum(header.nets.values()) == len(games)
    moves = [move for game in games for move in game.searched]
    assert header.moves == len(moves)
    assert header.positions == sum(move is not None and move.kind == FULL for move in moves)
    for number, game in enumerate(games):
        record = shard.games.record(number)
        assert record.moves == game.record.moves
        assert (record.komi, record.result) == (game.record.komi, game.record.result)
        assert record.rules == game.record.rules
        assert record.dead == game.record.dead
        assert shard.begun[number] == game.begun
        result = header.results[number]
        assert result.komi == game.record.komi
        assert result[4:] == (game.reason, game.given_up, game.may_resign)
    for at, move in enumerate(moves):
        named = slice(shard.policy_starts[at], shard.policy_starts[at + 1])
        if move is None:
            assert shard.kind[at] == NO_SEARCH
            assert named.start == named.stop
            continue
        assert shard.kind[at] == move.kind
        assert shard.value[at] == pytest.approx(move.value, abs=1e-3)
        assert shard.actions[named].tolist() == move.actions.tolist()
        np.testing.assert_allclose(shard.shares[named] / SHARE_UNIT, move.shares, atol=1e-5)


def test_games_given_up_wrongly_are_counted_where_nobody_may_resign(tmp_path: Path) -> None:
    record = GameRecord(width=2, height=2, komi=0.0, rules=Rules(komi=0.0), result="B+1", dead=())
    nothing: tuple[Searched | None, ...] = ()
    games = [
        LearnedGame(record, nothing, "", "passes", may_resign=False, given_up=WHITE),
        LearnedGame(record, nothing, "", "passes", may_resign=False, given_up=BLACK),
        LearnedGame(record, nothing, "", "passes", may_resign=False),
        LearnedGame(record, nothing, "", "resigned", may_resign=True, given_up=WHITE),
    ]
    assert read_header(write_shard(tmp_path, GO, games)).resigning == (2, 1)


def one_shard(folder: Path) -> Path:
    return write_shard(folder, GO, [played(np.random.default_rng(1))])


def test_a_shard_is_named_by_its_content(tmp_path: Path) -> None:
    path = one_shard(tmp_path)
    content = path.read_bytes()
    assert store_shard(tmp_path, content) == path
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    assert len(path.stem) == 16


def test_damage_anywhere_is_told(tmp_path: Path) -> None:
    path = one_shard(tmp_path)
    content = path.read_bytes()
    for at in range(0, len(content), 7):
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        with pytest.raises(ShardError, match=path.name):
            read_shard(path)
    path.write_bytes(content[:-1])
    with pytest.raises(ShardError, match="damaged"):
        read_header(path)
    with pytest.raises(ShardError, match="No such file"):
        read_shard(tmp_path / "none.shard")


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (b'"format": 2', b'"format": 9', "another version"),
        (b'"games": 1', b'"games": 2', "do not fit"),
        (b'"kind", "|u1"', b'"kind", "|i1"', "another kind"),
        (b'"moves"', b'"mover"', "damaged"),
        (b'"width": 5', b'"width": 9', "do not fit"),
    ],
)
def test_a_header_that_lies_is_told(old: bytes, new: bytes, problem: str, tmp_path: Path) -> None:
    content = one_shard(tmp_path).read_bytes()
    assert old in content
    with pytest.raises(ShardError, match=problem):
        read_shard(store_shard(tmp_path, content.replace(old, new, 1)))


def test_shards_of_another_game_or_size_are_refused(tmp_path: Path) -> None:
    path = one_shard(tmp_path)
    assert read_shard(path, [(GO, SIZE, SIZE)]).header.game == GO
    with pytest.raises(ShardError, match="is a shard of go on 5x5, not of go on 9x9"):
        read_shard(path, [(GO, 9, 9)])
    with pytest.raises(ShardError, match="not of atari-go on 5x5"):
        read_shard(path, [(ATARI_GO, SIZE, SIZE)])


def test_rules_of_atari_go_come_back(tmp_path: Path) -> None:
    path = write_shard(tmp_path, ATARI_GO, [played(np.random.default_rng(2))])
    assert all(rules.must_move for rules in read_shard(path).games.rules)
