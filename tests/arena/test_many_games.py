"""Many games in one process: pairs of openings, colors, results."""

import gc
import threading
import weakref
from collections import defaultdict
from dataclasses import replace
from typing import Any

import pytest
from tests.paths import TINY_NET

from gtp_engine.arena import many_games
from gtp_engine.arena.many_games import (
    SURE_MOVES,
    Contestant,
    PlayedGame,
    Terms,
    games_at_once,
    play_games,
)
from gtp_engine.coords import BLACK, PASS, WHITE
from gtp_engine.evaluators.eval_batch import EvalBatch
from gtp_engine.evaluators.fake import FakeEvaluator
from gtp_engine.evaluators.net_evaluator import open_net
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.go.position import Position
from gtp_engine.go.rules import Rules
from gtp_engine.play.levels import Level
from gtp_engine.search.search import Search
from gtp_engine.search.stopping import Limits

TERMS = Terms(5, 5, Rules(komi=0.5), opening_moves=4, seed=7)


def test_games_at_once_suit_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gtp_engine.arena.many_games.usable_cores", lambda: 4)
    net = open_net(TINY_NET, "cpu")
    assert games_at_once([net]) == games_at_once([FakeEvaluator(), net]) == 64
    net.net.device = "cuda"
    assert games_at_once([net, net]) == 256
    assert games_at_once([net, FakeEvaluator()]) == 64


class Certain(FakeEvaluator):
    """Takes a color for the winner of every position, and does not like to pass."""

    def __init__(self, winner: int) -> None:
        self.winner = winner

    def encode(self, batch: EvalBatch, slot: int, line, ply, *rest) -> None:  # type: ignore[no-untyped-def]
        super().encode(batch, slot, line, ply, *rest)
        batch.slots["symmetry"][slot] = line.turns[ply]["to_play"]

    def evaluate(self, batch: EvalBatch, n: int, *, use_cache: bool = True) -> None:
        super().evaluate(batch, n)
        for slot in range(n):
            moves = int(batch.n_moves[slot])
            batch.priors[slot, : moves - 1] = 1.0 / max(1, moves - 1)
            batch.priors[slot, moves - 1] = 0.0
            batch.value[slot] = 1.0 if batch.slots["symmetry"][slot] == self.winner else -1.0


class Failing(FakeEvaluator):
    """Works for a while."""

    def __init__(self) -> None:
        self.left = 40

    def evaluate(self, batch: EvalBatch, n: int, *, use_cache: bool = True) -> None:
        self.left -= 1
        if self.left < 0:
            raise NetFileError("the net failed to run")
        super().evaluate(batch, n)


def two(evaluator: FakeEvaluator) -> list[Contestant]:
    return [Contestant(name, evaluator, Limits(visits=4)) for name in ("a", "b")]


def test_pairs_share_an_opening_with_the_colors_swapped() -> None:
    told: list[PlayedGame] = []
    games = play_games(two(FakeEvaluator()), TERMS, 6, at_once=3, on_game=told.append)
    assert [game.number for game in games] == list(range(6))
    assert sorted(told, key=lambda game: game.number) == games
    openings = defaultdict(set)
    for game in games:
        assert game.black == game.number % 2
        openings[game.moves[:4]].add(game.number // 2)
    assert sorted(openings.values(), key=min) == [{0}, {1}, {2}]


class Narrow(Certain):
    """Plays mostly on the first points that are free, and passes gladly."""

    def evaluate(self, batch: EvalBatch, n: int, *, use_cache: bool = True) -> None:
        super().evaluate(batch, n)
        for slot in range(n):
            moves = int(batch.n_moves[slot])
            batch.priors[slot, :moves] = 0.1 / moves
            batch.priors[slot, 0] = 0.4
            batch.priors[slot, moves - 1] = 0.5


def test_openings_differ_and_hold_no_passes() -> None:
    terms = replace(TERMS, opening_moves=3)
    contestants = [Contestant(name, Narrow(WHITE), Limits(visits=1)) for name in ("a", "b")]
    games = play_games(contestants, terms, 24, at_once=3)
    openings = [game.moves[:3] for game in games]
    assert openings[::2] == openings[1::2]
    assert len(set(openings)) == 12
    assert all(move.point != PASS for opening in openings for move in opening)


def test_openings_of_games_that_are_over_take_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: weakref.WeakSet[Position] = weakref.WeakSet()
    draw = many_games.draw_opening
    left: list[int] = []

    def draw_and_note(*args: Any) -> Position:
        position = draw(*args)
        drawn.add(position)
        return position

    def count(game: PlayedGame) -> None:
        gc.collect()
        left.append(len(drawn))

    monkeypatch.setattr(many_games, "draw_opening", draw_and_note)
    play_games(two(FakeEvaluator()), TERMS, 16, at_once=1, on_game=count)
    assert max(left) <= 2, "the game under way, and the next"


def test_no_game_is_begun_once_there_are_enough_and_those_under_way_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[int] = []
    four_begun = threading.Event()
    play = many_games._play

    def count_and_play(*args: Any) -> Any:
        if args[2] == 3:  # games are numbered as they begin
            four_begun.set()
        return play(*args)

    def enough(game: PlayedGame) -> bool:
        assert four_begun.wait(60)
        told.append(game.number)
        return False

    monkeypatch.setattr(many_games, "_play", count_and_play)
    games = play_games(two(FakeEvaluator()), TERMS, 50, at_once=4, on_game=enough)
    # Four were under way, and each thread may have begun another before it heard.
    assert [game.number for game in games] == sorted(told) == list(range(len(games)))
    assert 4 <= len(games) < 50


def test_the_same_games_however_many_at_once() -> None:
    one = play_games(two(FakeEvaluator()), TERMS, 4, at_once=1)
    many = play_games(two(FakeEvaluator()), TERMS, 4, at_once=4)
    assert one == many


@pytest.mark.parametrize("winner", [BLACK, WHITE])
def test_a_game_that_both_take_for_decided_ends(winner: int) -> None:
    # A single visit, lest a search finds a game that is over and won by the other.
    contestants = [Contestant(name, Certain(winner), Limits(visits=1)) for name in ("a", "b")]
    for game in play_games(contestants, TERMS, 2, at_once=2):
        assert game.reason == "decided"
        assert len(game.moves) == TERMS.opening_moves + SURE_MOVES - 1
        assert game.winner == (game.black if winner == BLACK else 1 - game.black)


def test_players_who_disagree_play_to_the_end() -> None:
    contestants = [
        Contestant("optimist", Certain(BLACK), Limits(visits=4)),
        Contestant("pessimist", Certain(WHITE), Limits(visits=4)),
    ]
    for game in play_games(contestants, TERMS, 2, at_once=1):
        assert game.reason in ("count", "length")
        assert game.winner is not None  # komi has a half point


def test_a_failing_net_ends_the_match() -> None:
    before = set(threading.enumerate())
    with pytest.raises(NetFileError, match="failed to run"):
        play_games(two(Failing()), TERMS, 50, at_once=3)
    assert set(threading.enumerate()) <= before


class Counting(FakeEvaluator):
    """Notes how many leaves each evaluation is asked for."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def evaluate(self, batch: EvalBatch, n: int, *, use_cache: bool = True) -> None:
        self.asked.append(n)
        super().evaluate(batch, n)


def test_a_thread_evaluates_the_leaves_of_its_games_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(many_games, "usable_cores", lambda: 1)
    evaluator = Counting()
    contestants = [Contestant(name, evaluator, Limits(visits=20)) for name in ("a", "b")]
    play_games(contestants, replace(TERMS, opening_moves=0), 6, at_once=6)
    assert max(evaluator.asked) == 6
    together = sum(n for n in evaluator.asked if n > 1)
    assert together > 0.5 * sum(evaluator.asked)


@pytest.mark.parametrize("at_once, room", [(2, 25), (50, 8)])
def test_games_share_the_memory(at_once: int, room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rooms = []

    class Noted(Search):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            rooms.append(self.shared.memory_bytes >> 20)

    monkeypatch.setattr(many_games, "default_memory", lambda: 100)
    monkeypatch.setattr(many_games, "Search", Noted)
    play_games(two(FakeEvaluator()), TERMS, at_once, at_once=at_once)
    assert rooms == [room] * (2 * at_once)


def test_a_listener_that_fails_ends_the_match() -> None:
    def hear(game: PlayedGame) -> None:
        raise KeyError(game.number)

    before = set(threading.enumerate())
    with pytest.raises(KeyError):
        play_games(two(FakeEvaluator()), TERMS, 100_000, at_once=4, on_game=hear)
    assert set(threading.enumerate()) <= before


def test_levels_play_by_themselves_on_as_many_threads_as_games() -> None:
    level = Level(playouts=3, temperature=1.5, largest_loss=9.0)
    contestants = [Contestant(n, FakeEvaluator(), Limits(visits=4), level=level) for n in "ab"]
    games = play_games(contestants, TERMS, 3, at_once=3)
    assert games == play_games(contestants, TERMS, 3, at_once=1)
    assert [game.number for game in games] == [0, 1, 2]
