"""Real games played over: repetitions, legality, counted results."""

from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from tests.go import naive_board
from tests.go.comparison import KO_NAMES
from tests.go.diagrams import repetitions_of
from tests.go.naive_board import NaiveGame, Spot, Stones

from gtp_engine.coords import PASS, row_col
from gtp_engine.go.game_record import GameRecord
from gtp_engine.go.position import Position
from gtp_engine.go.rules import Ko, Rules
from gtp_engine.go.scoring import agreed_score
from gtp_engine.go.sgf import read_games


def spot_of(point: int, width: int) -> Spot | None:
    return naive_board.PASS if point == PASS else row_col(point, width)


def start_both(record: GameRecord, ko: Ko) -> tuple[Position, NaiveGame]:
    """Return a game's first position, fast and naive."""
    rules = replace(Rules.parse("chinese"), ko=ko)
    position = record.position(before_move=1, rules=rules)
    stones = {
        row_col(point, record.width): position.color_at(point)
        for point in position.points()
        if position.color_at(point)
    }
    naive = NaiveGame(
        record.width, record.height, KO_NAMES[ko], stones=stones, to_play=position.to_play
    )
    return position, naive


def superko_games(reference_data: Path) -> list[GameRecord]:
    return list(read_games(reference_data / "data" / "superko19.sgf.bz2"))


def test_every_repetition_is_reported(reference_data: Path) -> None:
    games = superko_games(reference_data)
    assert len(games) == 75
    for record in games:
        position, naive = start_both(record, Ko.SIMPLE)
        plies_of: dict[Stones, list[int]] = {naive.position(): [0]}
        repeated_by_a_stone = 0
        for ply, move in enumerate(record.moves, 1):
            position.play(move.color, move.point)
            naive.play(move.color, spot_of(move.point, record.width))
            plies = plies_of.setdefault(naive.position(), [])
            assert repetitions_of(position) == plies[::-1]
            repeated_by_a_stone += bool(plies) and move.point != PASS
            plies.append(ply)
        assert repeated_by_a_stone, "every game of this pack repeats a position"


@pytest.mark.parametrize("ko", [Ko.POSITIONAL, Ko.SITUATIONAL])
def test_superko_forbids_exactly_the_repeating_moves(reference_data: Path, ko: Ko) -> None:
    forbidden = 0
    for record in superko_games(reference_data):
        position, naive = start_both(record, ko)
        seen: set[Stones | tuple[Stones, int]] = set()
        for move in record.moves:
            stones, to_play = naive.position(), naive.to_play
            seen.add(stones if ko == Ko.POSITIONAL else (stones, to_play))
            legal = position.is_legal(move.color, move.point)
            naive.play(move.color, spot_of(move.point, record.width))
            after = naive.position()
            repeats = (after if ko == Ko.POSITIONAL else (after, 3 - move.color)) in seen
            assert legal == (not repeats or move.point == PASS)
            forbidden += not legal
            position.play(move.color, move.point, strict=False)
    assert forbidden >= 75 if ko == Ko.POSITIONAL else forbidden > 0


def test_counted_games_score_to_their_result(reference_data: Path) -> None:
    pack = reference_data / "data" / "pro19-tygem-scored.valid.sgf.bz2"
    n_counted = 0
    for record in islice(read_games(pack), 2500):
        assert record.rules is not None and record.rules.preset == "japanese"
        position = record.position(before_move=1)
        position.reserve(len(record.moves))
        for move in record.moves:
            assert move.color == position.to_play
            position.play(move.color, move.point)  # raises where the move is illegal
        if record.dead is not None and n_counted < 2000:
            n_counted += 1
            assert agreed_score(position, record.dead) == -(record.score_black or 0.0)
    assert n_counted == 2000
