"""The engine: a game in progress, with evaluators in place of a net."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.paths import TINY_NET
from tests.search.scripted import FailingEvaluator, FlatEvaluator, SlowEvaluator, Verdict
from tests.search.trees import assert_sound

from gtp_engine.coords import BLACK, PASS, WHITE, parse_vertex
from gtp_engine.evaluators.eval_batch import EvalBatch
from gtp_engine.evaluators.evaluator import Evaluator
from gtp_engine.evaluators.fake import FakeEvaluator
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.go.game_record import GameRecord
from gtp_engine.go.handicap import HandicapError
from gtp_engine.go.position import IllegalMoveError, Move, Position, SetupError
from gtp_engine.go.rules import Rules
from gtp_engine.platforms import usable_cores
from gtp_engine.play import pondering
from gtp_engine.play.adjudication.status import FinalStatus, judge
from gtp_engine.play.clock.systems import Absolute, Byoyomi, PlayerTime
from gtp_engine.play.engine import Engine
from gtp_engine.play.levels import highest_level, load_levels
from gtp_engine.play.loading import EngineUnavailableError, Loader
from gtp_engine.play.settings import Settings, customary_komi, default_memory
from gtp_engine.search.analysis import Analysis
from gtp_engine.search.params import SearchParams
from gtp_engine.search.request import ReportRequest
from gtp_engine.search.search import Search
from gtp_engine.search.stopping import CHECK_SECONDS, Limits

PATIENCE = 120.0


def engine(evaluator: Evaluator | None = None, **settings: object) -> Engine:
    """Return an engine on 5x5 that makes 30 playouts a move, but for what is said otherwise."""
    wanted: dict[str, object] = {"size": (5, 5), "playouts": 30, "seed": 7, **settings}
    return Engine(Settings(**wanted), evaluator=evaluator or FakeEvaluator())  # type: ignore[arg-type]


@pytest.fixture
def fake() -> Iterator[Engine]:
    made = engine()
    yield made
    made.close()


def at(vertex: str, size: int = 5) -> int:
    return parse_vertex(vertex, size, size)


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.perf_counter() + PATIENCE
    while not holds():
        assert time.perf_counter() < end
        time.sleep(0.005)


# The game ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rules, width, height, komi",
    [
        ("chinese", 19, 19, 7.5),
        ("chinese", 13, 13, 7.5),
        ("chinese", 9, 9, 7.0),
        ("chinese", 5, 19, 7.5),
        ("japanese", 19, 19, 6.5),
        ("japanese", 9, 9, 6.5),
        ("new-zealand", 19, 19, 7.0),
        ("aga-button", 19, 19, 7.0),
        ('{"hasButton": true}', 19, 19, 7.0),
        ('{"hasButton": true, "scoring": "TERRITORY"}', 19, 19, 6.5),
    ],
)
def test_customary_komi(rules: str, width: int, height: int, komi: float) -> None:
    assert customary_komi(Rules.parse(rules, komi=99.0), width, height) == komi
    made = engine(rules=Rules.parse(rules), size=(width, height))
    assert made.komi == made.rules.komi == komi


def test_a_komi_that_was_set_stays_and_a_customary_one_follows_the_board(fake: Engine) -> None:
    assert fake.komi == 7.0
    fake.new_game(19, 19)
    assert fake.komi == 7.5
    fake.rules = Rules.parse("japanese")
    assert fake.komi == 6.5
    fake.komi = 0.5
    fake.new_game(9, 9)
    assert fake.komi == 0.5
    fake.rules = Rules.parse("chinese")
    assert fake.komi == 0.5 and fake.rules.preset == "chinese"
    with pytest.raises(ValueError):
        fake.komi = float("nan")
    assert fake.komi == 0.5


def test_a_komi_from_the_settings_stays_too() -> None:
    made = engine(komi=3.0)
    made.new_game(19, 19)
    assert made.komi == 3.0


def test_a_size_that_is_not_supported_changes_nothing(fake: Engine) -> None:
    fake.play(BLACK, at("C3"))
    for width, height in ((1, 5), (26, 26), (5, 0), (-1, -1)):
        with pytest.raises(SetupError):
            fake.new_game(width, height)
    assert fake.position.moves == [(BLACK, at("C3"))] and fake.position.area == 25


def test_moves_and_undo(fake: Engine) -> None:
    fake.play_sequence([(BLACK, at("C3")), (WHITE, at("C4")), (WHITE, at("D4"))])
    with pytest.raises(IllegalMoveError):
        fake.play(BLACK, at("C3"))
    with pytest.raises(IllegalMoveError):
        fake.play_sequence([(BLACK, at("A1")), (WHITE, at("A1"))])
    assert len(fake.position.moves) == 3
    fake.undo(2)
    assert fake.position.moves == [(BLACK, at("C3"))]
    with pytest.raises(IndexError):
        fake.undo(2)
    fake.undo()
    assert fake.position.moves == []


def test_a_new_game_begins_with_a_fresh_clock(fake: Engine) -> None:
    fake.clock.set_system(Absolute(60.0))
    fake.clock.set_left(BLACK, 3.0, 0)
    fake.new_game(5, 5)
    assert fake.clock.left(BLACK) == PlayerTime(60.0)


def test_positions_are_set_up_and_adopted(fake: Engine) -> None:
    fake.set_up([at("C3")], [at("D4")], WHITE)
    assert fake.position.to_play == WHITE and fake.position.color_at(at("C3")) == BLACK
    with pytest.raises(SetupError):
        fake.set_up([at("C3")], [at("C3")])
    assert fake.position.color_at(at("D4")) == WHITE
    other = Position(7, 7)
    fake.adopt(other)
    assert fake.position is other
    assert fake.genmove(BLACK).point in range(1, 200)


def test_rules_and_komi_of_a_record_hold_for_its_game_alone(fake: Engine) -> None:
    fake.rules = Rules.parse("chinese")
    fake.komi = 6.5
    fake.adopt(Position(9, 9, Rules.parse("japanese", 0.5)))
    assert (fake.komi, fake.rules.preset) == (0.5, "japanese")
    unknown = fake.position_of(GameRecord(9, 9))
    assert unknown.rules == Rules.parse("chinese", 6.5)
    fake.adopt(unknown)
    fake.adopt(Position(9, 9, Rules.parse("aga", 5.5)))
    fake.new_game(9, 9)
    assert (fake.komi, fake.rules.preset) == (6.5, "chinese")
    # What is asked for meanwhile holds after it too.
    fake.adopt(Position(9, 9, Rules.parse("japanese", 0.5)))
    fake.komi = 3.5
    fake.rules = Rules.parse("aga")
    fake.new_game(5, 5)
    assert (fake.komi, fake.rules.preset) == (3.5, "aga")
    fake.adopt(Position(7, 7, Rules.parse("japanese", 2.5)), is_record=False)
    fake.new_game(5, 5)
    assert (fake.komi, fake.rules.preset) == (3.5, "japanese")


def test_other_rules_leave_a_records_komi_alone(fake: Engine) -> None:
    usual = Rules.parse("chinese", 7.0)
    fake.rules = usual
    fake.rules = Rules.parse("japanese")
    assert fake.komi == 6.5
    fake.adopt(Position(9, 9, usual))
    fake.rules = Rules.parse("japanese")
    assert fake.komi == 7.0


def test_a_record_without_komi_has_the_usual_one_of_its_board(fake: Engine) -> None:
    fake.position.komi = 0.5  # as in a handicap game
    for game in (fake.position, Position(9, 9, Rules.parse("japanese", 1.5))):
        fake.adopt(game)
        assert [fake.position_of(GameRecord(size, size)).komi for size in (9, 13)] == [7.0, 7.5]
    assert fake.position_of(GameRecord(rules=Rules.parse("japanese"))).komi == 6.5
    handicap = GameRecord(9, 9, handicap=2)
    assert fake.position_of(handicap).komi == 0.5
    fake.komi = 3.5
    assert fake.position_of(handicap).komi == 3.5


# Handicap ----------------------------------------------------------------------------------------


def test_fixed_handicap(fake: Engine) -> None:
    fake.new_game(9, 9)
    assert fake.fixed_handicap(2) == [at("C3", 9), at("G7", 9)]
    assert fake.position.to_play == WHITE and fake.position.handicap == 2
    for stones in (2, 5):
        with pytest.raises(HandicapError, match="board not empty"):
            fake.fixed_handicap(stones)
    fake.new_game(9, 9)
    for stones in (1, 10, -1):
        with pytest.raises(HandicapError, match="handicap"):
            fake.fixed_handicap(stones)
    assert not fake.position.grid().any()


def test_free_handicap_is_placed_to_the_stone(fake: Engine) -> None:
    for size, stones in ((9, 4), (5, 2), (5, 7), (2, 3), (3, 8), (9, 11)):
        fake.new_game(size, size)
        placed = fake.place_free_handicap(stones)
        assert len(set(placed)) == stones == len(fake.position.stones(BLACK))
        assert PASS not in placed and fake.position.to_play == WHITE
        with pytest.raises(HandicapError, match="board not empty"):
            fake.place_free_handicap(2)
    fake.new_game(5, 5)
    for stones in (0, 1, 25, 100):
        with pytest.raises(HandicapError):
            fake.place_free_handicap(stones)


def test_free_handicap_is_set(fake: Engine) -> None:
    for points in ([at("A1"), at("A1")], [at("A1"), PASS], [], fake.position.points()):
        with pytest.raises(HandicapError, match="bad vertex list"):
            fake.set_free_handicap(points)
        assert not fake.position.grid().any() and fake.position.to_play == BLACK
    fake.set_free_handicap([at("A1"), at("E5")])
    assert fake.position.to_play == WHITE
    with pytest.raises(HandicapError, match="board not empty"):
        fake.set_free_handicap([at("B2"), at("C3")])
    fake.undo(0)
    fake.new_game(5, 5)
    fake.play(BLACK, PASS)
    with pytest.raises(HandicapError, match="board not empty"):
        fake.set_free_handicap([at("B2"), at("C3")])


# Moves of its own --------------------------------------------------------------------------------


def test_genmove_plays_for_either_color_in_and_out_of_turn(fake: Engine) -> None:
    for color in (BLACK, BLACK, WHITE, WHITE, BLACK):
        decision = fake.genmove(color)
        assert decision.color == color and decision.point is not None
        assert fake.position.moves[-1] == Move(color, decision.point)
        assert decision.analysis is not None and decision.analysis.to_play == color
    assert len(fake.position.moves) == 5


def test_genmove_works_after_two_passes(fake: Engine) -> None:
    fake.play_sequence([(BLACK, at("C3")), (WHITE, PASS), (BLACK, PASS)])
    assert fake.position.is_over
    decision = fake.genmove(WHITE)
    assert decision.point is not None and fake.position.ply == 4


def test_genmove_without_commitment_leaves_the_game(fake: Engine) -> None:
    fake.clock.set_system(Absolute(60.0))
    fake.play(BLACK, at("C3"))
    decision = fake.genmove(WHITE, commit=False)
    assert fake.position.moves == [(BLACK, at("C3"))]
    assert fake.clock.left(WHITE) == PlayerTime(60.0)
    assert decision.point is not None and fake.genmove(WHITE).point is not None
    assert fake.clock.left(WHITE).seconds < 60.0


def test_moves_are_never_illegal() -> None:
    # Whole games with superko, on a board small enough for many captures.
    made = engine(size=(3, 3), rules=Rules.parse("tromp-taylor"), resign=False)
    witness = Position(3, 3, made.rules)
    for ply in range(60):
        color = witness.to_play if ply % 7 else 3 - witness.to_play
        decision = made.genmove(color)
        assert decision.point is not None
        assert witness.is_legal(color, decision.point)
        witness.play(color, decision.point)
        assert witness.moves == made.position.moves


def game_of(seed: int) -> list[Move]:
    made = engine(seed=seed, threads=1, resign=False)
    for ply in range(12):
        made.genmove(BLACK if ply % 2 == 0 else WHITE)
    return made.position.moves


def test_the_same_seed_plays_the_same_game() -> None:
    assert game_of(1) == game_of(1)


def test_the_settings_limit_a_search(fake: Engine) -> None:
    first = fake.genmove(BLACK).analysis
    assert first is not None and first.playouts == 30
    assert fake.move_limits(WHITE) == Limits(playouts=30)
    assert engine(playouts=None).move_limits(BLACK) == Limits(seconds=5.0)
    assert engine(playouts=None, time=2.0).move_limits(BLACK) == Limits(seconds=2.0)
    assert engine(time=2.0).move_limits(BLACK) == Limits(playouts=30, seconds=2.0)
    fake.clock.set_system(Absolute(100.0))
    limits = fake.move_limits(BLACK)
    assert limits is not None and limits.playouts == 30 and limits.soft_seconds is not None
    assert limits.seconds is not None and limits.soft_seconds <= limits.seconds < 30.0
    fake.clock.lag.learn(100, 40.0, 39.75)
    learned = fake.move_limits(BLACK)
    assert learned is not None and (learned.seconds or 0.0) > limits.seconds, "nothing lags"
    told = engine(lag=0.3)
    told.clock.set_system(Absolute(100.0))
    before = told.move_limits(BLACK)
    told.clock.lag.learn(100, 40.0, 39.75)
    assert told.move_limits(BLACK) == before
    quick = engine(time=0.5)
    quick.clock.set_system(Absolute(100.0))
    assert quick.move_limits(BLACK) == Limits(playouts=30, seconds=0.5, soft_seconds=0.5)


def test_memory_is_shared_by_tree_and_cache() -> None:
    made = engine(memory=100)
    assert made.search.shared.memory_bytes == 75 << 20
    assert 256 <= default_memory() <= 2048
    share = default_memory() - min(128, default_memory() // 4)
    assert engine().search.shared.memory_bytes == share << 20


# Resigning ---------------------------------------------------------------------------------------


def test_a_hopeless_game_is_resigned_after_some_turns() -> None:
    made = engine(Verdict(WHITE))
    answers = []
    while len(answers) < 30 and (not answers or answers[-1] is not None):
        color = made.position.to_play
        decision = made.genmove(color)
        answers.append(decision.point)
        assert decision.point is not None or (color, decision.reason) == (BLACK, "resign")
    # A fifth of 25 points is 5 plies: Black's turns at plies 6, 8 and 10 count.
    assert len(answers) == 11 and answers[-1] is None
    assert made.position.ply == 10, "a resignation is no move"
    assert made.genmove(BLACK).point is None, "and asked again it still resigns"
    assert made.genmove(WHITE).point is not None
    made.undo()
    assert made.genmove(BLACK).point is None, "as it does in the same position"
    made.undo(2)
    assert made.genmove(BLACK).point is not None, "going back further begins the count anew"


def test_a_client_that_sends_the_game_anew_before_each_move_sees_a_resignation() -> None:
    made = engine(Verdict(WHITE))
    moves: list[tuple[int, int]] = []
    for _ in range(10):
        made.new_game(5, 5)
        made.play_sequence(moves)
        decision = made.genmove(BLACK)
        if decision.point is None:
            break
        moves.append((BLACK, decision.point))
        made.new_game(5, 5)
        made.play_sequence(moves)
        answer = made.genmove(WHITE).point
        assert answer is not None
        moves.append((WHITE, answer))
    assert len(moves) == 10 and decision.reason == "resign"


def test_turns_without_commitment_do_not_count_towards_resigning() -> None:
    made = engine(Verdict(WHITE), resign_turns=2)
    made.play_sequence([(BLACK, at("A1")), (WHITE, at("A2")), (BLACK, at("C3"))])
    made.play_sequence([(WHITE, at("D3")), (BLACK, at("E5")), (WHITE, at("D5"))])
    for _ in range(4):
        assert made.genmove(BLACK, commit=False).point is not None
    assert made.genmove(BLACK).point is not None
    assert made.genmove(BLACK, commit=False).point is None


def test_nobody_resigns_who_cleans_up() -> None:
    made = engine(Verdict(WHITE), resign_turns=1, playouts=4)
    made.play_sequence([(BLACK, at("A1")), (WHITE, at("A2"))] + [(BLACK, PASS), (WHITE, PASS)] * 3)
    assert made.genmove(BLACK, commit=False).point is None
    assert made.genmove(BLACK, cleanup=True).point is not None


def test_resigning_can_be_switched_off() -> None:
    made = engine(Verdict(WHITE), resign=False)
    for _ in range(20):
        assert made.genmove(made.position.to_play).point is not None


# Stopping, analysing, pondering ------------------------------------------------------------------


def test_genmove_is_stopped_from_another_thread() -> None:
    made = engine(SlowEvaluator(0.005), playouts=None, time=PATIENCE)
    made.wait_ready()
    stop = threading.Event()
    timer = threading.Timer(0.2, stop.set)
    timer.start()
    started = time.perf_counter()
    decision = made.genmove(BLACK, stop=stop)
    timer.join()
    assert time.perf_counter() - started < PATIENCE / 2
    assert decision.point is not None and made.position.ply == 1
    made.settings = replace(made.settings, playouts=10)
    analysis = made.genmove(WHITE).analysis
    assert analysis is not None and analysis.playouts == 10


def test_an_analysis_runs_until_it_is_stopped_and_keeps_the_game(fake: Engine) -> None:
    fake.play(BLACK, at("C3"))
    heard: list[Analysis] = []
    stop = threading.Event()

    def hear(found: Analysis) -> None:
        heard.append(found)
        if len(heard) == 2:
            stop.set()

    found = fake.analyze(BLACK, ReportRequest(interval=0.0, callback=hear), stop=stop)
    assert found.is_final and heard[-1] is found and len(heard) == 3
    assert found.to_play == BLACK, "asked for the player who is not to move"
    assert fake.position.to_play == WHITE and fake.position.ply == 1
    assert fake.analyze(WHITE, ReportRequest(), Limits(playouts=25)).playouts == 25


def test_an_earlier_position_is_analysed_in_the_game(fake: Engine) -> None:
    fake.play_sequence([(BLACK, at("C3")), (WHITE, at("B2")), (BLACK, at("D4"))])
    asked = ReportRequest(callback=lambda analysis: None)
    found = fake.analyze(BLACK, asked, Limits(playouts=40), back=2)
    assert found.to_play == WHITE and fake.position.ply == 3
    assert at("C3") not in [move.point for move in found.moves]


def test_pondering_starts_after_an_own_move_and_ends_with_the_next_command() -> None:
    made = engine(SlowEvaluator(0.001), ponder=True)
    try:
        made.genmove(BLACK)
        wait_until(lambda: made.search.tree.nodes[made.search.root]["visits"] > 50)
        assert made._ponderer.is_at_work
        reply = max(made.search.children(), key=lambda child: child.visits)
        made.play(WHITE, reply.move)
        assert not made._ponderer.is_at_work
        assert_sound(made.search.tree)
        analysis = made.genmove(BLACK).analysis
        assert analysis is not None and analysis.playouts == 30 < analysis.visits
        made.undo()
        assert not made._ponderer.is_at_work and made.position.ply == 2
    finally:
        made.close()
    assert not made._ponderer.is_at_work


def test_a_move_is_not_searched_while_the_engine_ponders(monkeypatch: pytest.MonkeyPatch) -> None:
    made = engine(SlowEvaluator(0.001), ponder=True)
    made.genmove(BLACK)
    under_way: list[bool] = []
    run = Search.run

    def watched(search: Search, *args: object, **more: object) -> Analysis:
        under_way.append(made._ponderer.is_at_work)
        return run(search, *args, **more)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(Search, "run", watched)
        made.genmove(WHITE, commit=False)
    made.close()
    assert under_way and not any(under_way)


def test_the_width_of_an_analysis_is_not_that_of_the_next_move(fake: Engine) -> None:
    widths = []
    report = ReportRequest(callback=lambda found: widths.append(fake.search.params.wide_root_noise))
    fake.analyze(BLACK, report, Limits(playouts=5))
    assert widths == [fake.settings.analysis_width] and fake.search.params == fake.search_params


def test_new_parameters_begin_the_tree_anew(fake: Engine) -> None:
    fake.genmove(BLACK, commit=False)
    fake.search_params = replace(fake.search_params, cpuct=2.0)
    found = fake.genmove(BLACK, commit=False).analysis
    assert found is not None and found.visits == found.playouts


def test_a_system_without_threads_is_no_reason_to_lose_a_move(
    monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    def fail(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    made = engine(ponder=True, threads=1)
    made.wait_ready()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", fail)
        made.genmove(BLACK)
    assert made.position.ply == 1 and said == ["no pondering: can't start new thread"]
    made.undo()
    made.genmove(BLACK)
    made.close()


def test_a_search_for_a_gpu_that_has_failed_is_made_anew_for_the_processor() -> None:
    made = Engine(Settings(net=TINY_NET, size=(5, 5), device="cpu", playouts=20))
    first, net = made.search, made._loader.net_evaluator
    assert made.search is first and net is not None
    net._device = net._batched_for = "cuda"
    net.batcher.use_streams(1)
    made.search_params = replace(made.search_params, cpuct=2.0)
    made.genmove(BLACK)
    second = made.search
    assert second is not first and made.search is second and second.params.cpuct == 2.0
    assert net.batcher.streams == net.batcher._free_streams == usable_cores()


def test_whoever_leaves_does_not_wait_for_what_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    made, stop = engine(), threading.Event()
    made.wait_ready()
    made.clock.set_system(Absolute(3600.0))
    asked: list[float] = []

    def never(timeout: float) -> bool:
        asked.append(timeout)
        if len(asked) == 2:
            stop.set()
        return False

    monkeypatch.setattr(made, "wait_ready", never)
    assert made.genmove(BLACK, stop=stop).reason.startswith("no time to wait")
    assert len(asked) == 2 and max(asked) <= CHECK_SECONDS


def test_what_loading_takes_is_not_expected_of_later_moves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = engine()
    made.wait_ready()
    made.clock.set_system(Absolute(300.0))
    usual = made.clock.lag.usual
    ready = made.wait_ready

    naps = [3.0]

    def slowly(timeout: float | None = None) -> bool:
        if naps:
            time.sleep(naps.pop())
        return ready(timeout)

    monkeypatch.setattr(made, "wait_ready", slowly)
    made.genmove(BLACK)
    made.close()
    assert made.clock.lag.usual < usual + 0.5
    assert made.clock.left(BLACK).seconds < 297.0


def test_nobody_ponders_without_being_told_to_or_over_a_finished_game(fake: Engine) -> None:
    fake.genmove(BLACK)
    assert not fake._ponderer.is_at_work
    rules = Rules.parse("tromp-taylor")
    made = engine(FlatEvaluator(favourite=PASS), ponder=True, playouts=1, rules=rules, komi=0.5)
    made.play_sequence([(BLACK, at("C3")), (WHITE, at("C4")), (BLACK, at("B3")), (WHITE, PASS)])
    made.genmove(BLACK)
    assert made.position.is_over and not made._ponderer.is_at_work
    made.close()


# On the clock ------------------------------------------------------------------------------------


def test_a_net_that_is_too_slow_for_the_clock_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    made = engine(SlowEvaluator(0.2), playouts=None, lag=0.3)
    made.wait_ready()
    made.clock.set_system(Byoyomi(0.0, 0.5, 1))
    assert made.move_limits(BLACK) is None, "the speed is known before the first move"
    decision = made.genmove(BLACK)
    assert decision.point is not None and decision.analysis is None
    assert made.position.ply == 1 and "no time" in decision.reason
    made.clock.set_system(Byoyomi(0.0, 30.0, 1))
    monkeypatch.setattr(Search, "step_seconds", lambda search, area: 0.2)
    made._loader.step_seconds = 0.2
    limits = made.move_limits(WHITE)
    # Kept back: half a second, the lag and 0.05 s of any move, five evaluations.
    assert limits is not None and limits.seconds == pytest.approx(30.0 - 0.5 - 0.35 - 5 * 0.2)


def test_an_evaluation_takes_its_time_on_each_board() -> None:
    made = engine(SlowEvaluator(0.02), size=(10, 10), playouts=5, lag=0.3)
    made.wait_ready()
    made.genmove(BLACK)
    assert made.search.step_seconds(100) >= 0.02 and made.search.step_seconds(25) == 0.0
    made._loader.step_seconds = 1.0
    made.new_game(5, 5)
    made.clock.set_system(Byoyomi(0.0, 30.0, 1))
    limits = made.move_limits(BLACK)
    assert limits is not None and limits.seconds == pytest.approx(30.0 - 0.5 - 0.35 - 5 * 0.25)


class _StallingEvaluator(FakeEvaluator):
    """Stands still in one evaluation, as where the machine does."""

    stall = 0.0
    """Seconds that the next one takes."""

    def evaluate(self, batch: EvalBatch, n: int, *, use_cache: bool = True) -> None:
        """Stand still if that is due, then evaluate."""
        time.sleep(self.stall)
        self.stall = 0.0
        super().evaluate(batch, n, use_cache=use_cache)


@pytest.mark.skipif(sys.platform == "win32", reason="the processor's time moves in steps there")
def test_a_machine_that_stood_still_does_not_end_all_thinking() -> None:
    judge = _StallingEvaluator()
    made = engine(judge, size=(9, 9), playouts=100)
    made.clock.set_system(Byoyomi(0.0, 0.8, 1))
    made.genmove(BLACK)
    for color in (WHITE, BLACK, WHITE):
        judge.stall = 1.0
        stalled = made.genmove(color).analysis
        assert stalled is not None and stalled.elapsed >= 1.0
    assert made.genmove(BLACK).analysis is not None


def test_stones_on_the_board_count_as_a_part_of_the_game() -> None:
    made = engine(size=(9, 9))
    made.clock.set_system(Absolute(100.0))
    early = made.move_limits(BLACK)
    stones = made.position.points()
    made.set_up(stones[0:9] + stones[18:27], stones[36:45] + stones[54:63])
    late = made.move_limits(BLACK)
    assert early is not None and early.soft_seconds is not None
    assert late is not None and late.soft_seconds is not None
    assert late.soft_seconds > 2 * early.soft_seconds


def test_seconds_spent_before_the_search_are_missing_from_it() -> None:
    made = engine()
    made.clock.set_system(Byoyomi(0.0, 30.0, 1))
    at_once, later = made.move_limits(BLACK), made.move_limits(BLACK, spent=10.0)
    assert at_once is not None and at_once.seconds is not None
    assert later is not None and later.seconds is not None
    assert at_once.seconds - later.seconds == pytest.approx(10.0)
    assert made.move_limits(BLACK, spent=30.0) is None


def test_the_wait_for_a_net_is_planned_with_the_lag_that_was_learned() -> None:
    made = engine()
    made.clock.set_system(Absolute(100.0))
    before = made.seconds_to_load(BLACK)
    made.clock.lag.learn(100, 40.0, 39.75)
    assert made.seconds_to_load(BLACK) > before, "nothing lags"


def test_pondering_ends_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pondering, "LONGEST_SECONDS", 0.01)
    made = engine(SlowEvaluator(0.001), ponder=True)
    made.genmove(BLACK)
    wait_until(lambda: not made._ponderer.is_at_work)
    assert made.genmove(WHITE).point is not None
    made.close()


def test_a_restricted_level_has_nothing_to_think_ahead_for() -> None:
    made = engine(SlowEvaluator(0.001), ponder=True, level=1)
    made.genmove(BLACK)
    assert not made._ponderer.is_at_work
    made.close()


def test_resting_ends_pondering() -> None:
    made = engine(SlowEvaluator(0.001), ponder=True)
    try:
        made.rest()  # also when nothing is loaded
        made.genmove(BLACK)
        assert made._ponderer.is_at_work
        made.rest()
        assert not made._ponderer.is_at_work
    finally:
        made.close()


# The count ---------------------------------------------------------------------------------------


def test_the_count_judges_by_ownership() -> None:
    made = engine(FlatEvaluator())
    made.komi = 0.5
    made.set_up([at("C3")], [])
    status = made.final_status()
    assert status.alive == [at("C3")] and status.dead == [] == status.seki
    assert made.final_score() == status.white_score == 0.5 - 25
    made.set_up([at("B1"), at("B2"), at("A2")], [at("D1"), at("D2"), at("E2")])
    assert made.final_status().dead == []


def test_after_its_clean_up_every_stone_is_alive() -> None:
    made = engine(FlatEvaluator())
    eyes = {at("A1"), at("D5"), at("E5")}
    made.set_up([at("E5")], [p for p in made.position.points() if p not in eyes])
    assert made.final_status().dead == [at("E5")]
    assert made.genmove(BLACK, cleanup=True).point == PASS
    assert made.final_status().dead == []
    made.undo()
    assert made.genmove(BLACK).point == PASS and made.genmove(WHITE).point == PASS
    made.undo(2)
    assert made.final_status().dead == [at("E5")]


def test_a_clean_up_says_nothing_of_a_later_game() -> None:
    made = engine(FlatEvaluator())
    eyes = {at("A1"), at("D5"), at("E5")}
    stones = [at("E5")], [p for p in made.position.points() if p not in eyes]
    made.set_up(*stones)
    made.genmove(BLACK, cleanup=True)
    board = made.position.board.tobytes()
    assert made.final_status().dead == []
    made.set_up(*stones)
    made.play(BLACK, PASS)
    assert made.position.board.tobytes() == board and made.final_status().dead == [at("E5")]


def test_a_board_is_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[tuple[int, float]] = []

    def judge_aloud(
        evaluator: Evaluator,
        position: Position,
        *,
        close_borders: bool,
        stop: threading.Event | None,
    ) -> FinalStatus:
        assert close_borders, "people want to know whose the land will be"
        judged.append((position.ply, position.komi))
        return judge(evaluator, position, read=False)

    monkeypatch.setattr("gtp_engine.play.adjudication.status.judge", judge_aloud)
    made = engine(FlatEvaluator(), rules=Rules.parse("japanese"), komi=0.5)
    made.play_sequence([(BLACK, at("C3")), (WHITE, at("C4"))])
    stop = threading.Event()
    stop.set()
    cut_short = made.final_status(stop)
    assert judged.pop() == (2, 0.5)
    first = made.final_status()
    assert first is not cut_short, "what is not read out is not kept"
    assert made.final_status() is first and made.final_score() == first.white_score
    assert judged == [(2, 0.5)]
    # Whatever the answer depends on asks anew: the stones, the komi, the rules, the prisoners.
    made.undo()
    assert made.final_status().alive + made.final_status().dead == [at("C3")]
    made.komi = 5.5
    assert made.final_score() == made.final_score()
    assert judged[1:] == [(1, 0.5), (1, 5.5)]
    made.rules = Rules.parse("chinese")
    assert made.final_score() == made.final_score()
    made.clear_cache()
    assert made.final_score() == made.final_score()
    assert len(judged) == 5


def test_prisoners_count_in_a_judgement_that_is_remembered() -> None:
    made = engine(FlatEvaluator(), rules=Rules.parse("japanese"), komi=0.5)
    made.set_up([at("A2"), at("B1")], [at("E5")])
    free = made.final_score()
    made.new_game(5, 5)
    made.play_sequence([(BLACK, at("A2")), (WHITE, at("A1")), (BLACK, at("B1")), (WHITE, at("E5"))])
    assert made.position.stones(BLACK) == [at("A2"), at("B1")]
    assert made.position.stones(WHITE) == [at("E5")]
    assert made.final_score() == free - 1.0


# Failures ----------------------------------------------------------------------------------------


def test_without_a_net_the_board_still_works(tmp_path: Path, said: list[str]) -> None:
    made = Engine(Settings(net=str(tmp_path / "none.onnx"), size=(5, 5)))
    made.play(BLACK, at("C3"))
    for ask in (
        made.wait_ready,
        lambda: made.genmove(WHITE),
        lambda: made.analyze(WHITE, ReportRequest()),
        made.final_score,
        lambda: made.raw_evaluation(0, None),
    ):
        with pytest.raises(EngineUnavailableError, match="no such net file"):
            ask()
    assert len(said) == 1 and "\n" not in said[0]
    made.undo()
    made.new_game(9, 9)
    assert made.fixed_handicap(2) and made.komi == 7.0
    made.close()


def test_a_net_that_fails_loses_nothing() -> None:
    evaluator = FailingEvaluator(lambda call: call > 40)
    made = engine(evaluator)
    made.genmove(BLACK)
    moves = made.position.moves
    with pytest.raises(NetFileError):
        made.genmove(WHITE)
    assert made.position.moves == moves
    evaluator.fails = lambda call: False
    assert made.genmove(WHITE).point is not None


def test_only_a_net_has_a_raw_evaluation(fake: Engine) -> None:
    with pytest.raises(EngineUnavailableError, match="no net"):
        fake.raw_evaluation(None, None)
    made = Engine(Settings(net=TINY_NET, size=(5, 5), device="cpu"))
    assert made.describe() == "no net yet"
    assert made.raw_evaluation(0, None).to_play == BLACK
    assert made.describe() == "tiny on cpu"
    assert made.is_ready and made.has_kernels


def test_a_loaded_net_is_announced_once(said: list[str]) -> None:
    made = Engine(Settings(net=TINY_NET, size=(5, 5), device="cpu"))
    made.load()
    made.load()
    made.wait_ready()
    assert len(said) == 1 and said[0].startswith("net tiny, ")


def test_a_level_searches_briefly_and_leaves_the_search_as_it_was() -> None:
    made = engine(level=1, playouts=400, size=(5, 5), seed=1)
    for color in (BLACK, WHITE, BLACK):
        decision = made.genmove(color)
        assert decision.point is not None and decision.analysis is not None
        assert decision.analysis.playouts <= load_levels()[0].playouts
    assert made.search.params == made.search_params == SearchParams()
    # The highest level is the net's best.
    best = engine(level=highest_level(), playouts=60, size=(5, 5)).genmove(BLACK)
    assert best.analysis is not None and best.analysis.playouts == 60


def test_games_that_are_not_counted_have_no_levels() -> None:
    made = engine(game="atari-go")
    with pytest.raises(ValueError, match="the game atari-go is played at level 10 alone"):
        made.set_level(3)
    assert made.settings.level is None
    made.set_level(highest_level())


def test_parameters_that_are_set_while_the_search_is_made_hold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, make = engine(), Loader._new_search

    def make_slowly(loader: Loader, evaluator: Evaluator) -> Search:
        search = make(loader, evaluator)
        made.search_params = replace(made.search_params, cpuct=2.5)
        return search

    monkeypatch.setattr(Loader, "_new_search", make_slowly)
    assert made.search.params.cpuct == made.search_params.cpuct == 2.5


def test_moves_are_drawn_from_the_policy_without_a_search() -> None:
    drawn = set()
    for seed in range(8):
        made = engine(policy_temperature=2.0, playouts=400, size=(5, 5), seed=seed)
        decision = made.genmove(BLACK)
        assert decision.analysis is not None and decision.analysis.visits == 1
        drawn.add(decision.point)
    assert len(drawn) > 2


def test_nobody_resigns_in_the_opening_of_a_handicap_game() -> None:
    # Every move leads to a position that the opponent likes.
    made = engine(FlatEvaluator(value=0.95), playouts=4, size=(9, 9), resign_turns=1)
    for vertex in ("C3", "G7", "C7"):
        made.play(BLACK, parse_vertex(vertex, 9, 9))
    assert made.position.handicap == 3
    while made.position.ply < 2 * 81 // 5:
        assert made.genmove(made.position.to_play).point is not None
    assert made.genmove(made.position.to_play).point is None


def test_another_net_goes_on_with_the_game() -> None:
    made = engine()
    made.play(BLACK, at("C3"))
    made.open_net(TINY_NET)
    assert "tiny" in made.describe() and made.position.ply == 1
    with pytest.raises(EngineUnavailableError, match="no such net"):
        made.open_net("none-of-this-name")
    assert made.settings.net == TINY_NET
    assert made.genmove(WHITE).point is not None
    made.close()
