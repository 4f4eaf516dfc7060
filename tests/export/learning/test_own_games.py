"""Tuning a net on games of one's own: whose moves count, which nets can learn, what is said."""

import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.export.test_evaluate import write_net_for  # noqa: E402
from tests.export.tiny_net import write_tiny_net  # noqa: E402

from gtp_engine.coords import BLACK, EMPTY, WHITE  # noqa: E402
from gtp_engine.evaluators.nets.net_files import find_net  # noqa: E402
from gtp_engine.evaluators.nets.net_info import NetFileError  # noqa: E402
from gtp_engine.evaluators.nets.onnx_net import OnnxNet  # noqa: E402
from gtp_engine.five.game import FiveGame  # noqa: E402
from gtp_engine.games import game_shown, position_type  # noqa: E402
from gtp_export.architectures.presets import PRESETS, preset_of  # noqa: E402
from gtp_export.commands import run as run_command  # noqa: E402
from gtp_export.evaluation import compare_on_games, evaluate_games  # noqa: E402
from gtp_export.learning.own_games import Players  # noqa: E402
from gtp_export.learning.record_task import RecordTask  # noqa: E402
from gtp_export.learning.starting_weights import load_weights  # noqa: E402
from gtp_export.learning.torch_layers import Net  # noqa: E402
from gtp_export.plans import EvaluationPlan  # noqa: E402
from gtp_export.records.pack_file import write_pack  # noqa: E402
from gtp_export.records.reading import read_table  # noqa: E402
from gtp_export.records.stream import PositionStream  # noqa: E402

POINTS = [f"{x}{y}" for x in "abcde" for y in "abcde"]


def write_games(folder: Path, games: int, size: int = 5, names: str = "PB[Ann]PW[Bob]") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(3)
    for number in range(games):
        points = generator.permutation(POINTS)[:8]
        moves = "".join(f";{'BW'[i % 2]}[{point}]" for i, point in enumerate(points))
        (folder / f"{number}.sgf").write_text(f"(;SZ[{size}]{names}RE[B+R]{moves})")
    return folder


def learn(folder: Path, net: Path | str, out: Path, *more: str) -> int:
    quick = ["--samples", "2000", "--positions", "40", "--device", "cpu"]
    command = ["learn-from-games", str(folder), "--net", str(net), "--out", str(out)]
    return run_command([*command, *quick, *more])


def test_moves_of_one_player_or_of_all_but_the_engine_count(tmp_path: Path) -> None:
    folder = tmp_path / "games"
    for name, names in (
        ("a", "PB[Ann]PW[Bob]"),
        ("b", "PB[Cleo]PW[ann]"),
        ("c", "PB[gtp-engine 0.15.0]PW[]"),  # as --keep-games writes one
        ("d", "PB[gtp-engine 0.15.0]PW[gtp-engine 0.15.0]"),
    ):
        write_games(folder / name, 1, 5, names)
    assert Players("Ann").read((folder,)).whose.tolist() == [BLACK, WHITE]
    assert Players().read((folder,)).whose.tolist() == [EMPTY, EMPTY, WHITE]
    both = Players("Ann").read((folder / "a", folder / "b"))
    assert both.take(np.array([1])).whose.tolist() == [WHITE]
    with pytest.raises(NetFileError, match=r"Dan plays in no game of .*; most often play .*Ann"):
        Players("Dan").read((folder,))
    write_pack(tmp_path / "all.games", read_table([folder]))
    with pytest.raises(NetFileError, match="which hold no names of players"):
        Players("Ann").read((tmp_path / "all.games",))
    assert len(Players().read((tmp_path / "all.games",))) == 4


def test_each_position_that_counts_is_learned_from_four_times(tmp_path: Path, net: Path) -> None:
    odd = tmp_path / "odd.sgf"
    odd.write_text("(;SZ[5]PB[Ann]PW[Bob];B[aa];B[bb];W[cc];W[dd];B[])" * 2)
    for name in ("Ann", "Bob", ""):
        games = Players(name).read((odd, write_games(tmp_path / "few", 3)))
        colors = [(game, move.color) for game in range(5) for move in games.record(game).moves]
        numbers, moved = np.array(colors).T
        assert games.n_counted == games.counts(numbers, moved).sum() > 0
    folder, out = write_games(tmp_path / "games", 40), tmp_path / "mine.onnx"
    command = ["learn-from-games", str(folder), "--net", str(net), "--out", str(out)]
    assert run_command([*command, "--player", "Ann", "--positions", "40", "--device", "cpu"]) == 0
    facts = json.loads((tmp_path / "mine" / "metrics.json").read_text())
    # Of eight moves in each game Ann's four count; which are drawn is tested with the stream.
    beyond = facts["run"]["samples"] - 4 * 4 * facts["learned_games"]
    assert 0 <= beyond < 64 * 361 // 25


def test_only_moves_that_count_are_drawn_and_measured(tmp_path: Path, net: Path) -> None:
    games = Players("Bob").read((write_games(tmp_path / "games", 5),))
    stream = PositionStream(games, "katago_v7", 25 * 64, seed=1)
    assert set(stream.draw().to_play.tolist()) == {WHITE}
    stream.close()
    plan = EvaluationPlan(positions=1000, per_game=100)
    figures = evaluate_games(OnnxNet(net, "cpu"), games, plan)
    assert figures["top1 all"].positions == 5 * 4 and "moves 001-020" in str(figures.keys())


def test_a_gain_is_that_of_the_second_net(tmp_path: Path) -> None:
    games = tmp_path / "games.sgf"
    games.write_text("(;SZ[4];B[aa])\n(;SZ[4];B[bb])\n")
    plan = EvaluationPlan(positions=8, per_game=1)
    # The one thinks all moves alike, the other is sure of the first game's.
    even, sure = (
        OnnxNet(write_net_for(4, tmp_path / f"{is_sure}.onnx", is_sure=is_sure), "cpu")
        for is_sure in (False, True)
    )
    first, gain = compare_on_games(even, sure, read_table([games]), plan)
    assert first["top1 all"].mean == pytest.approx(1 / 17)
    assert gain["top1 all"].mean == pytest.approx(1 / 2 - 1 / 17)
    _, loss = compare_on_games(sure, even, read_table([games]), plan)
    assert loss["top1 all"].mean == pytest.approx(1 / 17 - 1 / 2)


@pytest.mark.parametrize("name", ["default", "small", "human", "alphago-sl", "dlgo", "five"])
def test_every_shipped_net_with_a_policy_can_learn(name: str, tmp_path: Path) -> None:
    path = find_net(name)
    opened = OnnxNet(path, "cpu")
    preset = PRESETS[preset_of(path, opened.info)].for_size(opened.info.board_max)
    kind = position_type(game_shown(opened.info.encoder))
    root = "GM[4]" if kind is FiveGame else ""
    games = read_table([write_games(tmp_path / "games", 20, 19, root)], kind=kind)
    source = RecordTask(preset, games, games).source(64 * 361, 1)
    batches = [source.draw(np.random.default_rng(1)) for _ in range(2)]
    net = Net(preset.shape)
    load_weights(net, path, batches)
    batch = batches[0]
    with torch.no_grad():
        mine = net.eval()(batch.spatial, batch.features)
    theirs = opened.run(batch.spatial.numpy(), batch.features.numpy())
    # The int8 net rounds what goes from layer to layer too, not only its weights.
    tolerance = 0.15 if opened.info.precision.startswith("int8") else 0.02
    difference = np.abs(mine.policy.numpy() - theirs.policy)
    assert difference.mean() < tolerance, difference.mean()


def test_the_command_tunes_and_says_what_came_of_it(
    tmp_path: Path, net: Path, said: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = write_games(tmp_path / "games", 40), tmp_path / "mine [1].onnx"
    assert learn(folder, net, out, "--player", "ann", "--others", str(folder)) == 0
    assert any("games it did not learn from" in line for line in said)
    assert f"wrote {out}" in said and "what it forgot, on the other games:" in said
    info = OnnxNet(out, "cpu").info
    assert info.name == "mine [1]" and info.created_by == "gtp-export learn-from-games"
    assert "begun with begun" in info.source and info.licence == "CC0"
    card = out.with_suffix(".md").read_text()
    assert "## Before and after" in card and "the recorded move is the net's first: " in card
    assert len(json.loads((tmp_path / "mine [1]" / "metrics.json").read_text())["tuned"]) > 5
    # The same again goes on from the end, and puts the net there once more, without what was made
    # of the one before it.
    out.unlink()
    old = [path.with_name("mine [1]-int8.onnx") for path in (out, tmp_path / "mine [1]" / "x")]
    for path in old:
        path.touch()
    assert learn(folder, net, out, "--player", "ann") == 0
    assert "what it forgot is not measured without --others" in "\n".join(said)
    assert out.exists() and not any(path.exists() for path in old)
    # With more games it is another run,
    (folder / "more.sgf").write_text("(;SZ[5]PB[Ann]PW[Bob]RE[B+R];B[aa];W[bb];B[cc];W[dd])")
    assert learn(folder, net, out, "--player", "ann") == 1
    words = "was made of other games; choose another --out, and --from, or --net, to go on from"
    assert words in capsys.readouterr().err
    (folder / "more.sgf").unlink()
    # and not of another net, as whose child it would describe itself.
    another = tmp_path / "another.onnx"
    another.write_bytes(net.read_bytes())
    capsys.readouterr()
    assert learn(folder, another, out, "--player", "ann") == 1
    assert "was made from another net; choose another --out" in capsys.readouterr().err


def test_games_of_five_in_a_row_are_learned_from(
    tmp_path: Path, said: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_games(tmp_path / "games", 14, 15, "GM[4]PB[Ann]PW[Bob]")
    out, more = tmp_path / "mine.onnx", ("--player", "Ann", "--samples", "50")
    assert learn(folder, "five", out, *more, "--others", str(folder)) == 0
    assert OnnxNet(out, "cpu").info.encoder == "five" and f"wrote {out}" in said
    # That none could be read has nothing to do with names.
    assert learn(folder, "human", out, "--player", "Ann") == 1
    assert "there is no game in" in capsys.readouterr().err


def test_mistakes_are_one_sentence(
    tmp_path: Path, net: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_tiny_net(tmp_path / "foreign.onnx")
    int8 = tmp_path / "mine-int8.onnx"  # such a file beside the new net is of the one before
    int8.write_bytes(net.read_bytes())
    few, many = write_games(tmp_path / "few", 9), write_games(tmp_path / "many", 12)
    out, own = tmp_path / "mine.onnx", "PB[gtp-engine 0.15.0]PW[gtp-engine 0.15.0]"
    engines = write_games(tmp_path / "engines", 12, 5, own)
    for folder, start, target, words in (
        (engines, net, out, "in all games this engine plays both colors; --player names"),
        (many, "gocnn", out, "has no policy"),
        (many, tmp_path / "foreign.onnx", out, "this program cannot train its architecture"),
        (few, net, out, "9 games: too few"),
        (many, "dlgo", out, "takes boards of 19 to 19 points a side, and the games are on 5x5"),
        (many, net, tmp_path / "mine", "--out names the net to write"),
        (many, net, net, "cannot be written over itself"),
        (many, int8, out, "cannot be written over itself"),
        (many, net, tmp_path / "many.onnx", "many: would be the run's folder, but has games"),
    ):
        assert learn(folder, start, target) == 1
        error = capsys.readouterr().err
        assert words in error and "Traceback" not in error
    assert not out.exists() and int8.read_bytes() == net.read_bytes()
