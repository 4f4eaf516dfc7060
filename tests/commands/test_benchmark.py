"""`gtp-engine benchmark`: what it measures, the ratios it draws from that, and what it prints."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.paths import TINY_NET

from gtp_engine.arena.signature import signature
from gtp_engine.commands import benchmark, benchmark_speeds
from gtp_engine.commands.benchmark_report import Report, ratios_of, to_text
from gtp_engine.commands.benchmark_speeds import (
    ENCODING,
    FAKE,
    PATTERNS,
    RAW,
    RAW_FP32,
    ROLLOUTS,
    SEARCH,
    Row,
    TimedLock,
    run_in_turns,
)
from gtp_engine.commands.registry import run
from gtp_engine.evaluators.net_evaluator import NetEvaluator
from gtp_engine.evaluators.nets.composition import open_whole
from gtp_engine.evaluators.nets.onnx_net import OnnxNet
from gtp_engine.evaluators.runtimes.sessions import ONNX_RUNTIME, OPENVINO_BF16
from gtp_engine.search.search import Search
from gtp_engine.search.stopping import Limits


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark_speeds, "SECONDS_A_TURN", 0.001)
    monkeypatch.setattr(benchmark_speeds, "FAKE_PLAYOUTS", 50)
    monkeypatch.setattr(benchmark_speeds, "TURNS", 2)


def row(kind: str, count: int, wall: float, cpu: float, **more: int) -> Row:
    return Row("9x9", kind, count, wall, cpu, **more)  # type: ignore[arg-type]


ROWS = [
    row(RAW, 1000, 1.0, 1.0),
    row(RAW, 4000, 1.0, 1.0, batch=4),
    row(RAW_FP32, 400, 1.0, 1.0, is_fp32=True),
    row(SEARCH, 900, 1.2, 1.0),
    row(SEARCH, 1200, 1.0, 1.0, use_cache=True),
    row(SEARCH, 2280, 1.0, 2.0, threads=2, use_cache=True),
]


def test_ratios_are_per_cpu_second_and_scaling_by_the_clock() -> None:
    (found,) = ratios_of(ROWS)
    assert found.visits_over_raw == pytest.approx(0.9)
    assert found.cached_over_raw_fp32 == pytest.approx(3.0)
    assert found.scaling == pytest.approx(1.9)
    assert found.most_threads == 2


def test_ratios_want_a_net_and_something_to_compare() -> None:
    assert ratios_of([row(ROLLOUTS, 10, 1.0, 1.0), row(FAKE, 10, 1.0, 1.0)]) == []
    (alone,) = ratios_of([one for one in ROWS if one.threads == 1])
    assert alone.scaling is None
    without_one_thread = [one for one in ROWS if not (one.use_cache and one.threads == 1)]
    (several,) = ratios_of(without_one_thread)
    assert (several.cached_over_raw_fp32, several.scaling) == (None, None)
    assert "in fp32 with it" not in to_text(Report("abc", "net x", without_one_thread))
    (int8,) = ratios_of([one for one in ROWS if one.kind != RAW_FP32])
    assert int8.cached_over_raw_fp32 is None, "nothing in fp32 was measured"
    (fp32,) = ratios_of([replace(one, is_fp32=one.kind == RAW) for one in ROWS[:2] + ROWS[3:]])
    assert fp32.cached_over_raw_fp32 == pytest.approx(1.2), "the net itself is in fp32"


def test_the_text_has_a_line_a_row() -> None:
    text = to_text(Report("abc", "net x", ROWS))
    assert text.count("9x9  ") == len(ROWS)
    assert "2 threads against one: 1.90 times" in text
    assert text.endswith("signature abc")


class Scripted:
    """A job whose turns take as long as told."""

    def __init__(self, *seconds: float) -> None:
        self._left = list(seconds)

    def __call__(self) -> Row:
        return row(RAW, 10, 1.0, self._left.pop(0))


def test_the_fastest_turn_counts() -> None:
    found = run_in_turns([Scripted(3.0, 1.0, 2.0), Scripted(5.0, 6.0, 7.0)])
    assert [one.cpu_seconds for one in found] == [1.0, 5.0]


def test_a_lock_knows_how_long_it_was_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([10.0, 12.5, 20.0, 20.25])
    monkeypatch.setattr(benchmark_speeds.time, "perf_counter", lambda: next(times))
    lock = TimedLock()
    for _ in range(2):
        with lock:
            pass
    assert lock.waited == 2.75


def test_without_a_net(quick: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["benchmark", "--no-net", "--size", "5"]) == 0
    out = capsys.readouterr().out
    assert "5x5: a move of a rollout takes" in out
    assert "random games" in out and out.endswith(f"signature {signature()}\n")


def test_encoding_is_measured_in_a_search_of_many_moves() -> None:
    net = benchmark_speeds._EncodingNet(open_whole(TINY_NET, "cpu", exactly=True), 1, 1, cache_mb=0)
    search = Search(net)
    search.set_position(benchmark_speeds.opening_position((5, 5)))
    found = search.run(Limits(playouts=50))
    assert sum(move.prior for move in found.moves) > 0.5 and len(found.moves) > 3


def test_a_net_that_runs_in_bfloat16_is_compared_with_fp32(quick: None) -> None:
    whole = open_whole(TINY_NET, "cpu", ONNX_RUNTIME, exactly=True)
    assert isinstance(whole, OnnxNet)
    whole.runtime = OPENVINO_BF16
    net = NetEvaluator(whole, streams=1, max_batch=1)
    raw, fp32, *_ = benchmark_speeds.net_jobs(net, TINY_NET, (5, 5), [1], [1], 5)
    assert [(one.kind, one.is_fp32) for one in (raw(), fp32())] == [(RAW, False), (RAW_FP32, True)]


def test_a_net_as_json(quick: None, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "speeds.png"
    words = ["--net", TINY_NET, "--device", "cpu", "--size", "5", "--playouts", "12"]
    words += ["--batch", "1", "--threads", "1", "--threads", "2"]
    words += ["--json", "--plot", str(picture)]
    assert run(["benchmark", *words]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["signature"] == signature()
    kinds = [one["kind"] for one in found["rows"]]
    assert kinds == [ROLLOUTS, PATTERNS, FAKE, RAW, ENCODING, ENCODING, SEARCH, SEARCH, SEARCH]
    searches = found["rows"][6:]
    assert [(one["threads"], one["use_cache"]) for one in searches] == [
        (1, False),
        (1, True),
        (2, True),
    ]
    for one in searches:
        assert one["count"] >= 12 and one["evaluations"] + one["cache_hits"] > 0
        assert 0.0 <= one["lock_wait"] <= 1.0
    assert len(found["ratios"]) == 1
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_mistakes_are_told_before_anything_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pictures = [tmp_path / "no" / "x.png", tmp_path / "x.foo", tmp_path, tmp_path / "x"]
    for words in (["--net", "nowhere.onnx"], *(["--plot", str(path)] for path in pictures)):
        with pytest.raises(SystemExit) as left:
            run(["benchmark", *words])
        assert left.value.code == 2
        assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("most, counts", [(1, [1]), (2, [1, 2]), (4, [1, 2, 4]), (6, [1, 2, 4, 6])])
def test_threads_are_tried_in_doublings(most: int, counts: list[int]) -> None:
    assert benchmark._thread_counts(most) == counts
