"""How well a net predicts records: figures, groups, intervals, the command."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from tests.paths import TINY, TINY_NET

from gtp_export.architectures.net_file import describe_net, write_net
from gtp_export.architectures.plain import POLICY, PlainShape
from gtp_export.architectures.shape import arrays_of
from gtp_export.commands import run as run_command
from gtp_export.commands.evaluate import table
from gtp_export.convert.onnx_file import read_info, replace_info
from gtp_export.evaluation import STAGES, Figure, among_first, evaluate_net, interval_over_games
from gtp_export.plans import EvaluationPlan

# Black owns the left of a 4x4 board, White the right; nothing is dead.
COUNTED = "(;SZ[4]KM[0.5]RE[W+0.5]SO[{}]XD[];B[ba];W[ca];B[bb];W[cb];B[bc];W[cc];B[bd];W[cd])\n"


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    path = tmp_path / "games.sgf"
    path.write_text(COUNTED.format("one") * 3 + COUNTED.format("two") + "(;SZ[4];B[aa])\n")
    return path


def test_intervals_are_means_over_whole_games() -> None:
    generator = np.random.default_rng(1)
    one_game = np.array([[7.0, 1.0]] * 10 + [[7.0, 0.0]] * 10)
    figure = interval_over_games(one_game, generator)
    # All of one game: drawing games anew can tell nothing about others.
    assert (figure.mean, figure.low, figure.high) == (0.5, 0.0, 1.0)
    assert (figure.positions, figure.games) == (20, 1)
    many = np.array([[game, game % 2] for game in range(400)], np.float64)
    figure = interval_over_games(many, generator)
    # A share of 1/2 among 400 has a standard deviation of 0.025.
    assert figure.low == pytest.approx(0.45, abs=0.015)
    assert figure.high == pytest.approx(0.55, abs=0.015)


@pytest.mark.parametrize("games", [2, 3, 5])
def test_an_interval_of_few_games_holds_the_mean_about_as_often_as_it_says(games: int) -> None:
    generator = np.random.default_rng(1)
    held = 0
    for _ in range(300):
        values = (
            0.4 + generator.normal(0.0, 0.1, (games, 20)) + generator.normal(0, 0.1, (games, 1))
        )
        pairs = np.stack([np.repeat(np.arange(games), 20), values.ravel()], axis=1)
        figure = interval_over_games(pairs, generator)
        held += figure.low <= 0.4 <= figure.high
    assert held >= 0.88 * 300


def test_figures_are_grouped_by_source_and_quarter(pack: Path) -> None:
    figures = evaluate_net(TINY_NET, [pack], EvaluationPlan(100, per_game=8))
    assert figures["top1 all"].games == 5 and figures["top1 all"].positions == 33
    assert figures["top1 one"].games == 3 and figures["top1 two"].games == 1
    assert figures["winner all"].games == 4
    assert figures["ownership all"].positions == 32
    assert figures["ownership quarter 1"].positions == 8
    # A net that knows nothing: near uniform over some 13 moves.
    assert 2.0 < figures["cross_entropy all"].mean < 3.2
    assert 0.5 < figures["win_log_loss all"].mean < 0.9


def test_areas_are_shown_as_the_net_knows_them(tmp_path: Path) -> None:
    # Two rooms of Black's with a stone of White's in the middle: alive unless suicide is legal.
    rows = ["XXXXXXXXX", "X...X...X", "X.O.X.O.X", "X...X...X", "XXXXXXXXX"]
    stones = {
        color: "".join(
            f"[{chr(97 + col)}{chr(97 + row)}]"
            for row, line in enumerate(rows)
            for col, letter in enumerate(line)
            if letter == color
        )
        for color in "XO"
    }
    pack, net = tmp_path / "game.sgf", tmp_path / "net.onnx"
    pack.write_text(f"(;SZ[9:5]AB{stones['X']}AW{stones['O']};B[bb])")
    model = onnx.load(TINY)
    info = replace(read_info(TINY, model), pass_alive_under_suicide=True)
    replace_info(model, info)
    onnx.save(model, net)
    found = [evaluate_net(str(path), [pack], EvaluationPlan(1)) for path in (TINY, net)]
    assert found[0]["cross_entropy all"].mean != found[1]["cross_entropy all"].mean


def test_names_of_sources_hide_and_double_nothing(pack: Path) -> None:
    pack.write_text(COUNTED.format("all") + COUNTED.format("Club at Paris"))
    figures = evaluate_net(TINY_NET, [pack], EvaluationPlan(100, per_game=8))
    assert figures["top1 all"].positions == 2 * figures["top1 Club at Paris"].positions == 16
    assert "top1 Club at Paris " in table(figures)


def test_counted_games_are_judged_late(pack: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # All of the board is Black's.
    big = "(;SZ[4]KM[0.5]RE[B+15.5]XD[];B[ba];W[];B[bb];W[];B[bc];W[];B[bd];W[])\n"
    pack.write_text(pack.read_text() + big * 2)
    arguments = ["evaluate", "--net", TINY_NET, "--games", str(pack), "--positions", "100"]
    assert run_command([*arguments, "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    for stage in ("half", "three quarters", "95 %"):
        assert figures[f"win_log_loss at {stage}"]["games"] == 6
        assert figures[f"score_error at {stage}"]["positions"] == 6
        assert figures[f"unsure at {stage}"]["games"] == 2
        # A net that knows nothing is never sure.
        assert figures[f"unsure at {stage}"]["mean"] == 1.0
        assert 0.5 < figures[f"win_log_loss at {stage}"]["mean"] < 0.9
    assert run_command(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-4].split("  ")[0] == "counted games" and lines[-4].endswith("at 95 %")
    assert lines[-1].startswith("won by over 15 points, winner below 80%")
    assert lines[-1].count("1.000 (1.000-1.000)") == 3


def write_net_for(size: int | None, path: Path, *, is_sure: bool = False) -> Path:
    """Write a policy net of ours; a sure one gives every move but one a chance of nought."""
    shape = PlainShape("dlgo1", ((3, 4),), POLICY, is_difference=True, board_size=size)
    if size is not None:
        shape = replace(shape, dense=(4,), has_pass=True)
    weights = {name: np.zeros(sides, np.float32) for name, sides in arrays_of(shape).items()}
    if is_sure:
        weights["out.bias"][0] = 1e4
    write_net(path, shape, weights, describe_net(shape, "plain"))
    return path


def test_columns_of_wide_figures_stay_apart() -> None:
    wide = Figure(26.324, 15.992, 38.433, 20, 5)
    lines = table({f"score_error at {stage}": wide for stage in STAGES}).splitlines()
    assert lines[3].endswith("  ".join(["26.324 (15.992-38.433)"] * 3))


def test_moves_that_a_net_rules_out_count_as_wrong(tmp_path: Path, pack: Path) -> None:
    net = write_net_for(4, tmp_path / "net.onnx", is_sure=True)
    figures = evaluate_net(str(net), [pack], EvaluationPlan(100, per_game=8))
    # Only the last game, of one move, goes where the net is sure.
    assert figures["top1 all"].positions == 33
    assert figures["top1 all"].mean == pytest.approx(1 / 33)
    assert figures["cross_entropy all"].mean > 15


def test_passes_are_left_out_where_a_net_cannot_pass(tmp_path: Path) -> None:
    net = write_net_for(None, tmp_path / "net.onnx")
    games = tmp_path / "games.sgf"
    games.write_text("(;SZ[4];B[aa];W[];B[bb])")
    figures = evaluate_net(str(net), [games], EvaluationPlan(100, per_game=8))
    assert figures["top1 all"].positions == 2


def test_games_on_other_sizes_take_no_place(tmp_path: Path, pack: Path) -> None:
    net = write_net_for(4, tmp_path / "net.onnx")
    pack.write_text(pack.read_text() + "(;SZ[9];B[aa];W[bb])\n" * 95)
    figures = evaluate_net(str(net), [pack], EvaluationPlan(40, per_game=8))
    assert figures["top1 all"].games == 5


def test_the_command_takes_the_name_of_a_net(
    pack: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["evaluate", "--net", "gocnn", "--games", str(pack), "--positions", "8"]
    assert run_command(arguments) == 0
    assert "ownership all" in capsys.readouterr().out
    pack.write_text("(;SZ[9];B[aa])")
    assert run_command(arguments) == 1
    assert "tell nothing of what this net says" in capsys.readouterr().err


def test_nets_of_one_name_get_a_line_each(
    tmp_path: Path, pack: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn: list[str] = []
    monkeypatch.setattr(
        "gtp_export.pictures.draw_by_move_number", lambda path, figures, *_: drawn.extend(figures)
    )
    other = tmp_path / "other.onnx"
    other.write_bytes(TINY.read_bytes())
    arguments = ["picture", "--games", str(pack), "--out", str(tmp_path / "a.svg")]
    nets = ["--net", TINY_NET, "--net", str(other)]
    assert run_command([*arguments, *nets]) == 0
    assert drawn == [TINY_NET, str(other)]
    dlgo = str(write_net_for(4, tmp_path / "net.onnx"))
    assert run_command([*arguments, "--net", dlgo]) == 1
    assert "tell nothing of ownership" in capsys.readouterr().err


def test_the_command_prints_a_table_or_json(pack: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["evaluate", "--net", TINY_NET, "--games", str(pack), "--positions", "8"]
    assert run_command(arguments) == 0
    assert "top1 all" in capsys.readouterr().out
    assert run_command([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["top1 all"]["positions"] > 0


@pytest.mark.parametrize("command", ["evaluate", "train", "distil"])
def test_a_seed_below_one_is_one_line(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as leaving:
        run_command([command, "--seed", "-1"])
    error = capsys.readouterr().err
    assert leaving.value.code == 2 and error.count("\n") == 1
    assert "--seed: '-1' is not a whole number of 1 or more" in error


def test_a_missing_pack_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = str(tmp_path / "none.sgf")
    assert run_command(["evaluate", "--net", TINY_NET, "--games", missing]) == 1
    error = capsys.readouterr().err
    assert "none.sgf" in error and error.count("\n") == 1


def test_a_move_draws_lots_with_those_that_are_liked_as_much() -> None:
    better, equal = np.array([0, 0, 1, 3, 4, 5, 0]), np.array([1, 4, 1, 4, 1, 1, 82])
    assert among_first(better, equal, 1).tolist() == [1, 0.25, 0, 0, 0, 0, 1 / 82]
    assert among_first(better, equal, 5).tolist() == [1, 1, 1, 0.5, 1, 0, 5 / 82]
