"""Games of self-play: whole, counted exactly, and with what the searches said."""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gtp_engine.coords import BLACK, PASS, WHITE, point_to_action
from gtp_engine.evaluators.eval_batch import EvalBatch
from gtp_engine.evaluators.fake import FakeEvaluator
from gtp_engine.evaluators.uniform import UniformEvaluator
from gtp_engine.go.history import History
from gtp_engine.go.rules import ATARI_GO, GO
from gtp_engine.go.scoring import format_result
from gtp_export.zero.play import SelfPlay
from gtp_export.zero.settings import RECIPES, Settings, settings_for
from gtp_export.zero.shards import FAST, FULL, PlayedGame

SIZE = 3


def small(recipe: str = "ours", **wanted: object) -> Settings:
    few = {"games_at_once": 8, "visits": 8, "fast_visits": 4, "gumbel_candidates": 4}
    return settings_for(GO, SIZE, recipe, **(few | wanted))


def play(
    settings: Settings,
    games: int,
    seed: int = 1,
    komi: float = 0.5,
    evaluator: UniformEvaluator | None = None,
) -> list[PlayedGame]:
    players = SelfPlay(settings, evaluator or UniformEvaluator(), "net", komi, seed)
    ended: list[PlayedGame] = []
    while len(ended) < games:
        ended += players.step()
    return ended


@pytest.mark.parametrize("recipe", RECIPES)
def test_games_are_counted_and_searches_noted(recipe: str) -> None:
    settings = small(recipe)
    for game in play(settings, 25):
        record = game.record
        position = record.position()
        assert game.reason in ("passes", "length")
        assert position.is_over == (game.reason == "passes")
        assert record.result == format_result(position.white_margin())
        assert record.dead == ()
        assert len(game.searched) == len(record.moves)
        again = record.position(before_move=1)
        for ply, (move, found) in enumerate(zip(record.moves, game.searched, strict=True)):
            assert ply < game.begun <= len(record.moves) or move.color == again.to_play
            if found is not None:
                legal = {point_to_action(p, SIZE, SIZE) for p in again.legal_moves()}
                assert set(found.actions.tolist()) <= legal
                action, is_full = point_to_action(move.point, SIZE, SIZE), found.kind == FULL
                assert (action in found.actions.tolist()) == is_full
                assert found.shares.sum() == pytest.approx(float(is_full))
                assert -1.0 <= found.value <= 1.0
            again.play(move.color, move.point)


def test_caps_vary_from_move_to_move() -> None:
    kinds = Counter(
        found.kind
        for game in play(small(full_share=0.25, stored_share=0.0, opening_moves=0.0), 60)
        for found in game.searched
        if found is not None
    )
    assert 0.2 < kinds[FULL] / kinds.total() < 0.3
    assert set(kinds) == {FAST, FULL}


def test_what_is_learned_does_not_depend_on_how_long_the_others_are() -> None:
    settings = small(visits=8, fast_visits=8, full_share=0.25, stored_share=0.0)
    searched = [one for game in play(settings, 60) for one in game.searched if one is not None]
    assert 0.2 < sum(one.kind == FULL for one in searched) / len(searched) < 0.3


@pytest.mark.parametrize(
    ("name", "off"),
    [
        ("full_share", 1.0),
        ("root_noise", 0.0),
        ("forced_playouts", 0.0),
        ("score_utility", 0.0),
        ("temperature", 0.0),
        ("opening_moves", 0.0),
        ("komi_spread", 0.0),
        ("komi_wide_share", 0.0),
        ("stored_share", 0.0),
    ],
)
def test_each_trick_of_ours_can_be_switched_off(name: str, off: float) -> None:
    def found(settings: Settings) -> list[tuple[object, ...]]:
        players = SelfPlay(settings, FakeEvaluator(), "net", 0.5, 1)
        games: list[PlayedGame] = []
        while len(games) < 20:
            games += players.step()
        return [
            (game.record.komi, move.point, None if one is None else one.actions.tobytes())
            for game in games
            for move, one in zip(game.record.moves, game.searched, strict=True)
        ]

    settings = small()
    assert found(replace(settings, **{name: off})) != found(settings)  # type: ignore[arg-type]


def test_the_same_seed_makes_the_same_games() -> None:
    first, again, other = (play(small(), 20, seed) for seed in (5, 5, 6))
    assert [game.record for game in first] == [game.record for game in again]
    assert [game.record for game in first] != [game.record for game in other]


def test_komi_and_openings_vary_as_asked() -> None:
    plain = small(komi_spread=0.0, komi_wide_share=0.0, opening_moves=0.0, stored_share=0.0)
    assert {game.record.komi for game in play(plain, 20, komi=1.5)} == {1.5}
    assert all(None not in game.searched for game in play(plain, 10))
    varied = play(replace(plain, komi_spread=2.0, opening_moves=0.3), 60, komi=1.5)
    komi = [game.record.komi or 0.0 for game in varied]
    assert len(set(komi)) > 5
    assert abs(np.mean(komi) - 1.5) < 1.0
    assert max(abs(one) for one in komi) <= SIZE * SIZE
    drawn = [game.searched.index(next(filter(None, game.searched))) for game in varied]
    assert 0 in drawn
    assert max(drawn) >= 2


class Stubborn(UniformEvaluator):
    """Sees one move alone, the first one in the order of the board."""

    def _judge(self, batch: EvalBatch, slot: int, *leaf: Any) -> None:
        super()._judge(batch, slot, *leaf)
        batch.priors[slot] = 1e-9
        batch.priors[slot, 0] = 1.0


@pytest.mark.parametrize(("share", "fewest", "most"), [(0.0, 1, 1), (1.0, 7, SIZE * SIZE)])
def test_openings_may_have_moves_that_no_policy_would_play(
    share: float, fewest: int, most: int
) -> None:
    settings = small(opening_moves=0.5, opening_random=share, stored_share=0.0)
    games = play(settings, 60, evaluator=Stubborn())
    drawn = {game.record.moves[0].point for game in games if game.searched[0] is None}
    assert fewest <= len(drawn) <= most
    assert PASS not in drawn


def test_games_begin_in_the_middle_of_earlier_ones() -> None:
    games = play(small(stored_share=0.5, rules_share=0.5), 80)
    taken = [game for game in games if game.begun > 0]
    assert 10 < len(taken) < 60
    starts = {tuple(game.record.moves[:n]) for game in games for n in range(1, 30)}
    for game in taken:
        assert game.searched[: game.begun] == (None,) * game.begun
        assert tuple(game.record.moves[: game.begun]) in starts
    assert len({game.record.rules for game in games}) > 2


class Pessimist(UniformEvaluator):
    """Takes Black's game for lost from the beginning."""

    def _judge(self, batch: EvalBatch, slot: int, history: History, ply: int, *rest: Any) -> None:
        super()._judge(batch, slot, history, ply, *rest)
        is_black = history.turns[ply]["to_play"] == BLACK
        batch.slots[slot]["value"] = -0.99 if is_black else 0.99


def test_resigning_is_for_some_games_and_tested_in_the_others() -> None:
    settings = replace(small(resign_share=0.5, resign_winrate=0.3, stored_share=0.0), size=4)
    games = play(settings, 60, evaluator=Pessimist())
    resigned = [game for game in games if game.reason == "resigned"]
    assert 5 < len(resigned) < 50
    for game in resigned:
        assert game.may_resign
        assert game.given_up == BLACK
        assert game.record.result == "W+R"
        assert game.record.dead is None
        assert len(game.searched) == len(game.record.moves)
    played_on = [game for game in games if not game.may_resign]
    assert any(game.given_up == BLACK and game.record.winner == BLACK for game in played_on)
    assert not any(game.given_up == WHITE for game in games)


def test_atari_go_ends_with_a_capture() -> None:
    settings = replace(small(), game=ATARI_GO, size=4)
    for game in play(settings, 20):
        assert game.reason == "capture"
        assert game.record.result in ("B+1", "W+1")
        assert game.record.dead is None
        assert game.record.rules is not None
        assert game.record.rules.must_move
        passes = [move for move in game.record.moves if move.point == PASS]
        assert not passes


def test_another_net_takes_over_in_mid_game() -> None:
    players = SelfPlay(small(), UniformEvaluator(), "first", 0.5, 1)
    games: list[PlayedGame] = []
    for _ in range(5):
        players.step()
    players.use(FakeEvaluator(), "second")
    while len(games) < 10:
        games += players.step()
    assert {game.net for game in games} == {"second"}
