"""`gtp-engine net` on the tests' own tiny net."""

import json
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import onnx
import pytest
from onnx import numpy_helper
from tests.evaluators.nets.small_nets import write_chooser, write_owner
from tests.paths import TINY, TINY_NET

from gtp_engine.arena.many_games import PlayedGame
from gtp_engine.arena.statistics import Sprt
from gtp_engine.commands.net_match import _document, _params
from gtp_engine.commands.registry import run
from gtp_engine.evaluators.fake import FakeEvaluator
from gtp_engine.evaluators.nets.net_info import NET_KEY
from gtp_engine.evaluators.nets.onnx_net import OnnxNet
from gtp_engine.evaluators.nets.precision import Check
from gtp_engine.evaluators.nets.self_check import FP32_ON_CPU, OTHERWISE, tolerance
from gtp_engine.evaluators.rollouts.go import RolloutEvaluator
from gtp_engine.messages import collected
from gtp_engine.search.params import ROLLOUT_PARAMS, SearchParams


def changed_copy(path: Path, factor: float = 1.0, **changes: object) -> Path:
    """Write the tiny net with its largest weights multiplied and its description changed."""
    model = onnx.load(TINY)
    weights = max(model.graph.initializer, key=lambda tensor: len(tensor.raw_data))
    values = numpy_helper.to_array(weights)
    weights.CopyFrom(numpy_helper.from_array(values * values.dtype.type(factor), weights.name))
    for item in model.metadata_props:
        if item.key == NET_KEY:
            item.value = json.dumps({**json.loads(item.value), **changes})
    onnx.save(model, path)
    return path


# info -------------------------------------------------------------------------------------------


def lines_of(text: str) -> dict[str, str]:
    """Return a description's lines by label."""
    pairs = (line.partition(": ") for line in text.splitlines())
    return {label.strip(): value.strip() for label, _, value in pairs}


def test_info(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["net", "info", TINY_NET]) == 0
    found = lines_of(capsys.readouterr().out)
    assert found["name"] == "tiny"
    assert found["licence"] == "MIT"
    assert found["precision"] == "fp32"
    assert found["sizes"] == "boards of 2 to 25"
    assert found["komi"] == "any" and found["rules"] == "any"
    assert found["input"] == "katago_v7 version 7, 22 planes, 19 globals"
    assert "score_mean" in found["output score"]
    assert found["self-check"].startswith("passed")


def test_info_of_a_net_with_limits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = changed_copy(
        tmp_path / "net.onnx",
        board_sizes=[9, 13],
        square_only=True,
        trained_sizes=[9, 9],
        rules="area",
        komi_min=7.5,
        komi_max=7.5,
        licence="",
        parameters=0,
    )
    assert run(["net", "info", str(path)]) == 0
    found = lines_of(capsys.readouterr().out)
    assert found["sizes"] == "square boards of 9, 13, trained on 9 to 9"
    assert (found["rules"], found["komi"]) == ("area", "7.5")
    assert (found["licence"], found["parameters"]) == ("unknown", "unknown")


def test_info_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["net", "info", "--json", TINY_NET]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["encoder"] == "katago_v7"
    assert max(document["differences"].values()) < 1e-3


@pytest.mark.parametrize("content", [None, b"", b"no net at all", b"\x08\x07" * 50])
@pytest.mark.parametrize("action", ["info", "check", "bench"])
def test_what_is_no_net(
    action: str, tmp_path: Path, content: bytes | None, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "net.onnx"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SystemExit) as stopped:
        run(["net", action, str(path)])
    assert stopped.value.code == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("gtp-engine net: ") and "net.onnx" in output.err


# list -------------------------------------------------------------------------------------------


def test_list_finds_the_users_nets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.onnx").write_bytes(TINY.read_bytes())
    (tmp_path / "broken.onnx").write_bytes(b"nothing")
    monkeypatch.setenv("GTP_ENGINE_NETS", str(tmp_path))
    assert run(["net", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    ours = lines[lines.index(f"{tmp_path}:") + 1 :]
    assert [line.split()[0] for line in ours] == ["name", "broken", "mine"]
    assert "fp32" in ours[2] and "policy, value, score, ownership" in ours[2]
    assert ours[1].endswith("cannot be used")
    assert "none yet" not in lines[-1]
    assert run(["net", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["mine"] == str(tmp_path / "mine.onnx")
    assert run(["net", "info", "mine"]) == 0
    capsys.readouterr()
    monkeypatch.setenv("GTP_ENGINE_NETS", str(tmp_path / "later"))
    assert run(["net", "list"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"{tmp_path / 'later'}: none yet"


def test_list_fits_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["net", "list"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if not line.endswith(":")]
    assert all(len(line) <= 80 for line in lines)
    (default,) = [line for line in lines if line.startswith("default ")]
    assert default.endswith(" policy, value, score, ownership")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows wants rights for links")
def test_list_survives_a_link_to_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gone.onnx").symlink_to(tmp_path / "nowhere.onnx")
    monkeypatch.setenv("GTP_ENGINE_NETS", str(tmp_path))
    assert run(["net", "list"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("gone ")]
    assert line.split()[1:5] == ["?", "cannot", "be", "used"]


# check ------------------------------------------------------------------------------------------


def test_check(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["net", "check", TINY_NET, "--device", "cpu"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("tiny (fp32) on cpu: passed")
    assert text.count("right") == 4 and "WRONG" not in text


def test_check_fails_where_something_else_is_computed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = changed_copy(tmp_path / "net.onnx", factor=1.5, precision="int8")
    assert run(["net", "check", str(path), "--json", "--device", "cpu"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["passed"] is False
    assert max(one["relative"] for one in document["outputs"]) > OTHERWISE
    assert run(["net", "check", str(path), "--device", "cpu"]) == 1
    text = capsys.readouterr().out
    assert "FAILED" in text and "WRONG" in text and "--seven-bit" in text


@pytest.mark.parametrize("device", ["gpu", "cuda"])
def test_a_check_of_a_device_that_is_not_here_fails(
    device: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr(
        "gtp_engine.evaluators.runtimes.openvino_runtime.list_devices", lambda: ["CPU"]
    )
    with collected() as said:
        assert run(["net", "check", TINY_NET, "--device", device]) == 1
    assert capsys.readouterr().out.startswith("tiny (fp32) on cpu: passed")
    assert said[-1] == f"the CPU was checked, not {device}"


def test_differences_beyond_all_bounds_are_null_in_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = changed_copy(tmp_path / "net.onnx", factor=float("inf"))
    assert run(["net", "info", str(path), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["differences"]["policy"] is None
    assert run(["net", "check", str(path), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["outputs"][0]["relative"] is None


def test_a_small_error_is_too_large_for_fp32_alone(tmp_path: Path) -> None:
    exact = changed_copy(tmp_path / "exact.onnx", factor=1.02)
    coarse = changed_copy(tmp_path / "coarse.onnx", factor=1.02, precision="int8")
    assert run(["net", "check", str(exact), "--device", "cpu"]) == 1
    assert run(["net", "check", str(coarse), "--device", "cpu"]) == 0
    info = OnnxNet(exact, "cpu").info
    assert (tolerance(info, "cpu"), tolerance(info, "cuda")) == (FP32_ON_CPU, OTHERWISE)


def test_check_against_the_original(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--device", "cpu", "--json", "--positions", "20"]
    assert run(["net", "check", TINY_NET, TINY_NET, *options]) == 0
    same = json.loads(capsys.readouterr().out)["against_original"]
    assert same["positions"] == 20
    assert same["policy_kl"] == pytest.approx(0.0, abs=1e-6) and same["top1"] == 1.0
    other = changed_copy(tmp_path / "net.onnx", factor=1.5)
    run(["net", "check", str(other), TINY_NET, *options])
    found = json.loads(capsys.readouterr().out)["against_original"]
    assert found["policy_kl"] > 1e-6 and found["win_error"] > 0
    # The second has weights for small boards beside it, which are another net.
    run(["net", "check", "small-int8", "small", *options])
    found = json.loads(capsys.readouterr().out)["against_original"]
    assert 0 < found["policy_kl"] < 0.01


def test_only_what_a_net_has_is_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    owner, chooser = write_owner(tmp_path / "owner.onnx"), write_chooser(tmp_path / "chooser.onnx")
    told = ({"ownership_error"}, {"policy_kl", "top1"})
    for path, names in zip((owner, chooser), told, strict=True):
        run(["net", "check", str(path), str(path), "--json", "--positions", "5"])
        found = json.loads(capsys.readouterr().out)["against_original"]
        assert set(found) == {"positions", *names}


# bench ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino"])
def test_bench_compares_nets(
    runtime: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gtp_engine.evaluators.runtimes.openvino_runtime.has_bf16", lambda: False)
    other = changed_copy(tmp_path / "other.onnx")
    options = ["--device", "cpu", "--size", "5", "--size", "7x9", "--batch", "2"]
    options += ["--runtime", runtime]
    assert run(["net", "bench", TINY_NET, str(other), *options, "--seconds", "0.01"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    assert [tuple(row[:6]) for row in rows] == [
        ("tiny.onnx", "fp32", "cpu", runtime, "5x5", "2"),
        ("other.onnx", "fp32", "cpu", runtime, "5x5", "2"),
        ("tiny.onnx", "fp32", "cpu", runtime, "7x9", "2"),
        ("other.onnx", "fp32", "cpu", runtime, "7x9", "2"),
    ]
    assert rows[0][-1] == "1.00" and float(rows[1][-1]) > 0


@pytest.mark.parametrize("size, name", [("9", "tiny-9x9.onnx"), ("10", "tiny.onnx")])
def test_the_file_is_named_that_judges_boards_of_the_size(
    size: str,
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("GTP_ENGINE_NETS", str(tmp_path))
    for file in ("tiny.onnx", "tiny-9x9.onnx"):
        shutil.copy(TINY, tmp_path / file)
    options = ["--device", "cpu", "--size", size, "--json"]
    assert run(["net", "bench", "tiny", *options, "--batch", "1", "--seconds", "0.01"]) == 0
    assert [one["file"] for one in json.loads(capsys.readouterr().out)] == [name]
    assert run(["net", "match", "tiny", "none", *options, "--games", "1", "--visits", "1"]) == 0
    assert json.loads(capsys.readouterr().out)["nets"][0] == str(tmp_path / name)


@pytest.mark.parametrize("name, file", [("tiny", "tiny-int8.onnx"), ("tiny-fp32", "tiny.onnx")])
def test_a_name_stands_for_the_file_that_would_play(
    name: str,
    file: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("GTP_ENGINE_NETS", str(tmp_path))
    shutil.copy(TINY, tmp_path / "tiny.onnx")
    changed_copy(tmp_path / "tiny-int8.onnx", precision="int8")
    faster = Check(is_right=True, speed_up=9.0, finding="")
    monkeypatch.setattr("gtp_engine.evaluators.nets.precision._check", lambda *args: faster)
    options = ["--device", "cpu", "--runtime", "onnxruntime", "--json"]
    assert run(["net", "check", name, *options]) == 0
    assert json.loads(capsys.readouterr().out)["file"] == str(tmp_path / file)
    options += ["--size", "5", "--batch", "1", "--seconds", "0.01"]
    assert run(["net", "bench", name, *options]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["file"] == file


def test_bench_of_a_size_that_no_net_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = changed_copy(tmp_path / "net.onnx", board_sizes=[9])
    sizes = ["--size", "9", "--size", "19", "--seconds", "1e6"]  # nothing is measured
    with pytest.raises(SystemExit):
        run(["net", "bench", str(path), *sizes, "--device", "cpu"])
    assert capsys.readouterr().err == "gtp-engine net: tiny: no boards of 19x19\n"


@pytest.mark.parametrize("taken, measured", [([19], {"19x19"}), ([5, 7], {"7x7"})])
def test_bench_measures_on_boards_that_the_net_takes(
    taken: list[int], measured: set[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = changed_copy(tmp_path / "net.onnx", board_sizes=taken)
    assert run(["net", "bench", str(path), "--device", "cpu", "--seconds", "0.01", "--json"]) == 0
    assert {one["board"] for one in json.loads(capsys.readouterr().out)} == measured


def test_bench_measures_on_small_boards_that_have_weights_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GTP_ENGINE_NETS", str(tmp_path))
    changed_copy(tmp_path / "two.onnx", board_sizes=[19])
    changed_copy(tmp_path / "two-9x9.onnx", board_sizes=[9])
    assert run(["net", "bench", "two", "--device", "cpu", "--seconds", "0.01", "--json"]) == 0
    assert {one["board"] for one in json.loads(capsys.readouterr().out)} == {"9x9", "19x19"}


# match ------------------------------------------------------------------------------------------


def test_match(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--games", "4", "--visits", "2", "--size", "5", "--device", "cpu", "--at-once", "2"]
    assert run(["net", "match", TINY_NET, TINY_NET, *options, "--json"]) == 0
    out, err = capsys.readouterr()
    assert err.endswith("4/4 games, 0 s left\n")
    document = json.loads(out)
    assert document["games"] == 4 and 0 <= document["points"] <= 4
    low, share, high = document["share"]
    assert low <= share == document["points"] / 4 <= high
    assert document["sprt"] is None
    won = _document((), [PlayedGame(0, 0, 0, "count", ())], Sprt(-1500, 1500), "elo1")
    assert isinstance(won["sprt"], dict) and won["sprt"]["verdict"] == "elo1"
    assert won["elo"] == [pytest.approx(-233.8, abs=0.1), None, None], "JSON has no infinity"


def test_a_match_of_many_leaves_against_one_ends_when_the_test_is_sure(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # So wide apart that one game decides.
    options = ["--games", "50", "--visits", "8", "--size", "3", "--device", "cpu", "--at-once", "2"]
    options += ["--leaves", "4", "1", "--sprt", "-1500", "1500"]
    assert run(["net", "match", TINY_NET, TINY_NET, *options]) == 0
    text = capsys.readouterr().out
    assert re.search(r"^SPRT of -1500 against \+1500 Elo accepts [-+]1500: ", text, re.M)
    games = re.search(r"^(\d+) games", text, re.M)
    assert games is not None and int(games[1]) < 10


def test_a_match_that_is_interrupted_tells_what_was_played(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def play_two(
        contestants: object, terms: object, games: int, at_once: int, on_game: Callable[..., None]
    ) -> None:
        for number in (0, 1):
            on_game(PlayedGame(number, number, 0, "count", ()))
        raise KeyboardInterrupt

    monkeypatch.setattr("gtp_engine.commands.net_match.play_games", play_two)
    assert run(["net", "match", TINY_NET, TINY_NET, "--device", "cpu"]) == 130
    text = capsys.readouterr().out
    assert "2 games on 9x9" in text and "A's share 100.0%" in text


def test_a_match_of_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--games", "2", "--visits", "2", "--size", "3", "--device", "cpu", "--at-once", "2"]
    chosen = ["--set-a", "cpuct=2.5", "--set-a", "use_cache=false", "--set-b", "lcb_stdevs=0"]
    assert run(["net", "match", TINY_NET, TINY_NET, *options, *chosen, "--json"]) == 0
    a, b = json.loads(capsys.readouterr().out)["nets"]
    assert a.endswith("tiny.onnx cpuct=2.5 use_cache=false") and b.endswith(
        "tiny.onnx lcb_stdevs=0"
    )
    params = _params([("cpuct", "2.5"), ("use_cache", "false")], FakeEvaluator())
    assert params == replace(SearchParams(), cpuct=2.5, use_cache=False)


def test_a_match_without_search_draws_from_the_policies(
    capsys: pytest.CaptureFixture[str],
) -> None:
    options = ["--games", "4", "--size", "4", "--device", "cpu", "--at-once", "2"]
    assert run(["net", "match", TINY_NET, TINY_NET, *options, "--policy-temperature", "1"]) == 0
    text = capsys.readouterr().out
    assert "4 games on 4x4, komi 7, policies at temperature 1" in text
    assert "4 different games" in text and "evaluations" not in text


def test_a_match_of_rollouts(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--games", "2", "--visits", "3", "--size", "3", "--device", "cpu", "--at-once", "2"]
    assert run(["net", "match", "none", f"{TINY}+rollouts", *options]) == 0
    text = capsys.readouterr().out
    assert text.startswith("A: rollouts\n") and f"B: {TINY}+rollouts\n2 games" in text
    assert _params([], RolloutEvaluator()) == ROLLOUT_PARAMS


@pytest.mark.parametrize("net", ["none", "default+rollouts"])
def test_info_says_that_rollouts_are_no_net(net: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run(["net", "info", net])
    assert "is not a net, and a net is needed here" in capsys.readouterr().err


@pytest.mark.parametrize(
    "setting, complaint",
    [
        ("cpuct", "--set-b: 'cpuct' is no setting like cpuct=1.2"),
        ("cpuct=", "--set-b: 'cpuct=' is no setting like cpuct=1.2"),
        ("cpuct=11", "cpuct lies between 0 and 10"),
        ("cpuct=x", "cpuct is a number, not 'x'"),
        ("speed=1", "unknown parameter 'speed'"),
    ],
)
def test_a_match_of_parameters_that_make_no_sense(
    setting: str, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        run(["net", "match", TINY_NET, TINY_NET, "--set-b", setting])
    assert caught.value.code == 2
    assert capsys.readouterr().err.splitlines()[-1].endswith(f": {complaint}")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--sprt", "5", "5"], "net: --sprt: ELO0 must be less than ELO1"),
        (["--sprt", "0", "3000"], "net: --sprt: ELO0 and ELO1 must lie between -2000 and 2000"),
        (
            ["--leaves", "1", "100000000"],
            "net match: --leaves: '100000000' is more than 4096 positions",
        ),
    ],
)
def test_a_match_that_makes_no_sense(
    words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        run(["net", "match", TINY_NET, TINY_NET, *words])
    assert caught.value.code == 2
    assert capsys.readouterr().err == f"gtp-engine {complaint}\n"


@pytest.mark.parametrize(
    "arguments",
    [[], ["describe"], ["info", "--bogus"], ["match", "one"], ["check"], ["info", "default+"]],
)
def test_bad_arguments(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        run(["net", *arguments])
    assert caught.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


# several files ----------------------------------------------------------------------------------


def test_a_net_of_several_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chooser, owner = write_chooser(tmp_path / "c.onnx"), write_owner(tmp_path / "o.onnx")
    net = f"{TINY}+policy={chooser}+ownership={owner}"
    assert run(["net", "info", net]) == 0
    text = capsys.readouterr().out
    assert text.startswith("policy:    from c\nownership: from o\nvalue:     from tiny\n")
    assert text.count("self-check:") == 3
    assert run(["net", "info", "--json", net]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["heads_from"] == {
        "policy": "c",
        "ownership": "o",
        "value": "tiny",
        "score": "tiny",
    }
    assert [part["encoder"] for part in document["parts"]] == ["katago_v7", "dlgo1", "gocnn8"]
    # Two of them hold no outputs to compare with.
    assert run(["net", "check", net, "--device", "cpu"]) == 1
    assert capsys.readouterr().out.count("no outputs to compare with") == 2
    with pytest.raises(SystemExit):
        run(["net", "check", net, TINY_NET, "--device", "cpu"])
    assert "only a single file is compared" in capsys.readouterr().err
    arguments = ["--json", "--device", "cpu", "--size", "5", "--batch", "2", "--seconds", "0.01"]
    assert run(["net", "bench", net, *arguments]) == 0
    assert json.loads(capsys.readouterr().out)[0]["net"] == "tiny+c+o"
