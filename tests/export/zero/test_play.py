"""Games of self-play: whole, counted exactly, and with what the searches said."""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.search.scripted import FlatEvaluator

from gtp_engine.coords import BLACK, EMPTY, PASS, WHITE, point_to_action
from gtp_engine.evaluators.eval_batch import EvalBatch
from gtp_engine.evaluators.evaluator import Evaluator
from gtp_engine.evaluators.fake import FakeEvaluator
from gtp_engine.evaluators.uniform import UniformEvaluator
from gtp_engine.go.atari_go import AtariGo
from gtp_engine.go.history import History
from gtp_engine.go.rules import ATARI_GO, GO, LONGEST_GAME
from gtp_engine.go.scoring import format_result
from gtp_engine.search.forest import RootPlan
from gtp_export.zero.play import OPENING, SelfPlay
from gtp_export.zero.settings import RECIPES, Settings, settings_for
from gtp_export.zero.shards import FAST, FULL, LearnedGame, _result

SIZE = 3


def small(recipe: str = "ours", **wanted: object) -> Settings:
    few = {"games_at_once": 8, "visits": 8, "fast_visits": 4, "gumbel_candidates": 4}
    return settings_for(GO, SIZE, recipe, **(few | wanted))


def play(
    settings: Settings,
    games: int,
    seed: int = 1,
    komi: float = 0.5,
    evaluator: Evaluator | None = None,
) -> list[LearnedGame]:
    players = SelfPlay(settings, evaluator or UniformEvaluator(), "net", komi, seed)
    ended: list[LearnedGame] = []
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
        assert game.reason == "passes" or len(record.moves) == LONGEST_GAME * SIZE**2
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
                only_passes = found.actions.tolist() == [SIZE**2]
                plays_on = only_passes and ply < settings.play_on * SIZE**2
                assert (action in found.actions.tolist()) == (is_full and not plays_on)
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


def test_the_tricks_of_ours_are_on_or_off() -> None:
    on = small(full_share=0.5)
    full = RootPlan(on.visits, noise=True, forced=on.forced_playouts)
    assert plans_of(on)[0] - {OPENING} == {full, RootPlan(on.fast_visits)}
    tricks = ("root_noise", "forced_playouts", "temperature", "temperature_end", "opening_moves")
    more = ("komi_spread", "komi_wide_share", "stored_share", "play_on")
    off = small(full_share=1.0, **dict.fromkeys((*tricks, *more), 0.0))
    plans, games = plans_of(off)
    assert plans == {RootPlan(off.visits)}
    for game in games:
        assert game.record.komi == 0.5 and game.begun == 0
        for move, found in zip(game.record.moves, game.searched, strict=True):
            assert found is not None and found.kind == FULL
            action = point_to_action(move.point, SIZE, SIZE)
            assert found.shares[found.actions == action] == found.shares.max()


def plans_of(settings: Settings) -> tuple[set[RootPlan], list[LearnedGame]]:
    """Return the kinds of searches in some games, and the games."""
    players = SelfPlay(settings, FakeEvaluator(), "net", 0.5, 1)
    plans: set[RootPlan] = set()
    games: list[LearnedGame] = []
    while len(games) < 20:
        games += players.step()
        plans |= {game.plan for game in players._games}
    return plans, games


@pytest.mark.parametrize("recipe", ["ours", "gumbel"])
def test_nobody_passes_early_though_the_search_would(recipe: str) -> None:
    plain = small(recipe, opening_moves=0.0, stored_share=0.0, play_on=0.0)
    for first, settings in ((0, plain), (5, replace(plain, play_on=0.5))):  # of nine points
        games = play(settings, 40, evaluator=FlatEvaluator(favourite=PASS))
        assert first == min([m.point for m in game.record.moves].index(PASS) for game in games)
        early = [one for game in games for one in game.searched[:5] if one and one.kind == FULL]
        assert max(one.shares[one.actions == SIZE**2].sum() for one in early) > 0.5  # it is learned


def test_targets_are_pruned_of_forced_playouts(monkeypatch: pytest.MonkeyPatch) -> None:
    def prune(counts: Any, *rest: Any) -> Any:
        return np.where(np.arange(len(counts)) == counts.argmax(), counts, 0)

    monkeypatch.setattr("gtp_export.zero.play.pruned_counts", prune)
    for game in play(small(), 20):
        found = [one for one in game.searched if one is not None and one.kind == FULL]
        assert all(one.shares.tolist() == [1.0] for one in found)


def test_the_temperature_halves_its_way_to_the_last() -> None:
    players = SelfPlay(
        small(temperature=0.8, temperature_end=0.2, temperature_halving=2.0),
        UniformEvaluator(),
        *("net", 0.5, 1),
    )
    found = [players._temperature(ply) for ply in (0, 2 * SIZE, 4 * SIZE, 1000)]
    assert found == pytest.approx([0.8, 0.5, 0.35, 0.2])


def test_komi_and_rules_are_drawn_as_wide_as_asked() -> None:
    settings = small(rules_share=1.0, komi_spread=0.5, komi_wide_share=0.5)
    players = SelfPlay(replace(settings, size=9), UniformEvaluator(), "net", 7.0, 1)
    rules = {players._draw_rules() for _ in range(100)}
    assert len({(one.ko, one.multi_stone_suicide) for one in rules}) == 4
    off = np.array([players._draw_komi() - 7.0 for _ in range(1000)])
    # Half of them from a spread of 0.5, half from one of 5.
    assert 0.4 < (np.abs(off) <= 1.5).mean() < 0.75
    assert np.std(off) == pytest.approx(3.55, abs=0.4)


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
    drawn = [game.searched.index(next(filter(None, game.searched))) for game in varied]
    assert 0 in drawn
    assert max(drawn) >= 2


def test_a_komi_beyond_the_board_is_drawn_in_wide_games_alone() -> None:
    most = float(SIZE * SIZE)
    settings = small(komi_spread=1.0, komi_wide_share=0.0)
    players = SelfPlay(settings, UniformEvaluator(), "net", most, 1)
    assert max(players._draw_komi() for _ in range(1000)) == most
    players = SelfPlay(replace(settings, komi_wide_share=0.1), UniformEvaluator(), "net", most, 1)
    komi = Counter(players._draw_komi() for _ in range(4000))
    assert max(komi) == most + 0.5
    assert komi[most + 0.5] / 4000 == pytest.approx(0.05, abs=0.012)  # half of the wide ones
    assert komi[most] / 4000 > 0.45
    players.komi = -30.0
    assert {players._draw_komi() for _ in range(100)} == {-most, -most - 0.5}


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
    for number, game in enumerate(games):
        begun = game.record.moves[: game.begun]
        assert game.searched[: game.begun] == (None,) * game.begun
        assert not begun or any(one.record.moves[: game.begun] == begun for one in games[:number])
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


def test_nobody_gives_up_who_had_hope_in_between() -> None:
    players = SelfPlay(small(resign_winrate=0.1), UniformEvaluator(), "net", 0.5, 1)
    game = players._games[0]
    game.may_resign = False
    for value in (-0.9, -0.9, 0.0, -0.9, -0.9):
        players._gives_up(game, BLACK, value)
    assert game.given_up == EMPTY
    players._gives_up(game, WHITE, -0.9)  # counted apart
    players._gives_up(game, BLACK, -0.9)
    assert game.given_up == BLACK


def test_atari_go_ends_with_a_capture() -> None:
    settings = replace(small(), game=ATARI_GO, size=4)
    for game in play(settings, 20):
        assert game.reason == "capture"
        assert game.record.result in ("B+1", "W+1")
        assert game.record.dead is None
        assert game.record.rules is not None
        assert game.record.rules.must_move
        position = AtariGo(4)
        for move in game.record.moves:
            assert move.point != PASS or position.legal_moves() == [PASS]
            position.play(*move)
    settings = settings_for(ATARI_GO, 9, "ours", games_at_once=2, visits=2, fast_visits=2)
    for game in play(settings, 4):
        assert game.record.komi == 0.5  # as it was told, drawn from nothing
        assert _result(game).points is None
    assert settings.komi == 0.0


def test_another_net_takes_over_in_mid_game() -> None:
    players = SelfPlay(small(), UniformEvaluator(), "first", 0.5, 1)
    games: list[LearnedGame] = []
    for _ in range(5):
        players.step()
    players.use(FakeEvaluator(), "second")
    while len(games) < 10:
        games += players.step()
    assert {game.net for game in games} == {"second"}
