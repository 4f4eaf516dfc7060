"""Pierre's way: what his nets are shown, games that a small net plays, his rule of selection."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.evaluators.encoders.encoding import drawn, encoded
from tests.five.test_lines import game_of

from gtp_engine.coords import BLACK, WHITE
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.evaluators.nets.onnx_net import OnnxNet, RawOutputs
from gtp_engine.evaluators.rollouts.five import DEPTH, FiveRollouts
from gtp_engine.play.engine import Engine
from gtp_engine.play.loading import EngineUnavailableError
from gtp_engine.play.settings import RECIPES, Settings

SIZE = 7


def write_nets(folder: Path) -> Path:
    """Write a policy and the net of its rollouts with random weights; return the policy."""
    pytest.importorskip("onnx")
    from gtp_export.architectures.net_file import describe_net, write_net
    from gtp_export.architectures.presets import find_preset
    from gtp_export.architectures.tower import random_weights

    for name in ("pierre", "pierre-rollout"):
        shape = find_preset(name).for_size(SIZE).shape
        info = describe_net(shape, name, source="random weights")
        write_net(folder / f"{name}.onnx", shape, random_weights(shape, 3), info)
    return folder / "pierre.onnx"


def test_planes() -> None:
    game = game_of(["c1", "d1"], ["a7"], "freestyle", SIZE)
    game.play(WHITE, game.point("b7"))
    planes, features = encoded("five4", game)
    assert (planes[0] == planes[1] + planes[2]).all() and planes[3].all() and features.shape == (0,)
    assert drawn(planes[1]).endswith("..##...") and drawn(planes[2]).startswith("##.....")


class Player:
    """Stands for the small net: it always wants one point, told as row and column."""

    def __init__(self, net: OnnxNet, row: int, column: int) -> None:
        self.info, self.path, self.runs = net.info, net.path, 0
        self.logits = np.full((SIZE, SIZE), -50.0, np.float32)
        self.logits[row, column:] = 50.0

    def run(self, spatial: np.ndarray, features: np.ndarray) -> RawOutputs:
        self.runs += 1
        assert (spatial[:, 0] == spatial[:, 1] + spatial[:, 2]).all() and spatial[:, 3].all()
        policy = np.broadcast_to(self.logits.reshape(1, -1), (len(spatial), SIZE * SIZE))
        return RawOutputs(np.ascontiguousarray(policy), *[None] * (len(RawOutputs._fields) - 1))


def test_games_go_on_to_a_win_or_to_the_tenth_move_from_the_root(tmp_path: Path) -> None:
    path = write_nets(tmp_path)
    net = OnnxNet(path, "cpu")
    player = Player(OnnxNet(tmp_path / "pierre-rollout.onnx", "cpu"), 0, 4)
    evaluator = FiveRollouts(net, 1, 4, player=player, weight=0.3)  # type: ignore[arg-type]
    assert evaluator.weight == 1.0  # there is no other value
    told = evaluator.describe()
    assert told.startswith("net pierre, ")
    assert told.endswith(" on the CPU, 100% of the value from rollouts of pierre-rollout")
    batch = evaluator.new_batch(3, SIZE, SIZE)
    # Both have a three in the top row, and the small net plays nowhere but in its other points.
    three = game_of(["a7", "b7", "c7", "a1"], ["a3", "b2", "c5", "g2"], "freestyle", SIZE)
    won = game_of(["a7", "b7", "c7", "d7"], ["a3", "b2", "c5", "g2"], "freestyle", SIZE)
    for slot, game in enumerate((three, won, three)):
        evaluator.encode(batch, slot, game.history, game.ply, game.rules.flags, 0, 0.0)
    batch.slots["depth"][:3] = (0, 0, DEPTH)
    evaluator.evaluate(batch, 3, use_cache=False)
    # The first game is played out, the second is read out, the third is cut before it begins.
    assert batch.value[1] == 1.0 and batch.value[2] == 0.0 and 0 < player.runs < DEPTH
    first = int(batch.moves[0, np.argmax(batch.priors[0, : batch.n_moves[0]])])
    assert abs(batch.value[0]) in (0.0, 1.0) and first in three.legal_moves()
    batch.slots["depth"][0] = DEPTH - 1  # the policy's move alone
    player.runs = 0
    evaluator.evaluate(batch, 1, use_cache=False)
    assert player.runs == 0 and batch.value[0] == 0.0


def test_what_is_left_of_an_earlier_leaf_is_no_move(tmp_path: Path) -> None:
    net = OnnxNet(write_nets(tmp_path), "cpu")
    player = Player(OnnxNet(tmp_path / "pierre-rollout.onnx", "cpu"), 0, 0)
    evaluator = FiveRollouts(net, 1, 4, player=player, weight=1.0)  # type: ignore[arg-type]
    batch = evaluator.new_batch(1, SIZE, SIZE)
    game = game_of(["a7", "c1", "e1", "g1"], ["b7", "c7", "d7", "e7"], "freestyle", SIZE)
    evaluator.encode(batch, 0, game.history, game.ply, game.rules.flags, 0, 0.0)
    batch.slots["known_result"] = 0
    batch.moves[0, :2], batch.slots["n_moves"] = (game.point("g4"), game.point("f7")), 1
    batch.priors[0, 1] = 2.0  # an earlier leaf had more moves, and F7 was the best of them
    batch.slots["depth"] = DEPTH - 2
    player.logits[0] = -50.0
    player.logits[0, 5] = 50.0
    evaluator.evaluate(batch, 1, use_cache=False)
    assert batch.value[0] == -1.0  # Black plays at G4 and White makes five


def test_whoever_makes_five_in_a_rollout_wins(tmp_path: Path) -> None:
    path = write_nets(tmp_path)
    net = OnnxNet(path, "cpu")
    player = Player(OnnxNet(tmp_path / "pierre-rollout.onnx", "cpu"), 0, 0)
    player.logits[0, 1:] = -50.0
    evaluator = FiveRollouts(net, 1, 4, player=player, weight=1.0)  # type: ignore[arg-type]
    batch = evaluator.new_batch(8, SIZE, SIZE)
    # After whatever Black does, and the one point that the small net knows, White has five.
    game = game_of(["a1", "c1", "e1", "g1"], ["b7", "c7", "d7"], "freestyle", SIZE)
    game.play(WHITE, game.point("e7"))
    for symmetry in range(8):
        at = (game.history, game.ply, game.rules.flags, symmetry, 0.0)
        evaluator.encode(batch, symmetry, *at)
    batch.slots["known_result"] = 0
    batch.moves[:, 0], batch.slots["n_moves"] = game.point("g4"), 1
    evaluator.evaluate(batch, 8, use_cache=False)
    assert batch.value[0] == -1.0  # the others are shown another corner there
    assert set(batch.value.tolist()) <= {-1.0, 0.0, 1.0}


@pytest.mark.parametrize(
    ("rules", "value"), [("freestyle", -1.0), ("standard", 0.0), ("renju", 0.0)]
)
def test_rollouts_go_by_the_rules(rules: str, value: float, tmp_path: Path) -> None:
    net = OnnxNet(write_nets(tmp_path), "cpu")
    player = Player(OnnxNet(tmp_path / "pierre-rollout.onnx", "cpu"), 0, 3)
    player.logits[:] = -1e9
    player.logits[0, 3] = 0.0  # nothing else is ever played
    evaluator = FiveRollouts(net, 1, 4, player=player, weight=1.0)  # type: ignore[arg-type]
    batch = evaluator.new_batch(1, SIZE, SIZE)
    # After White's move Black makes six in a row: a win, nothing, or forbidden.
    game = game_of(["a7", "b7", "c7", "e7"], ["a1", "c1", "e1", "g1"], rules, SIZE)
    game.play(BLACK, game.point("f7"))
    evaluator.encode(batch, 0, game.history, game.ply, game.rules.flags, 0, 0.0)
    batch.slots["known_result"] = 0
    batch.moves[0, 0], batch.slots["n_moves"] = game.point("g4"), 1
    evaluator.evaluate(batch, 1, use_cache=False)
    assert batch.value[0] == value
    assert player.runs == (2 if rules == "standard" else 1)  # White finds nothing to play


def test_a_game_by_his_recipe_and_without_the_small_net(tmp_path: Path) -> None:
    path = write_nets(tmp_path)
    told = Settings(
        **RECIPES["pierre"],
        net=str(path),
        size=(SIZE, SIZE),
        playouts=60,
        device="cpu",
        threads=1,
        seed=1,
    )
    moves = []
    for _ in range(2):
        engine = Engine(told)
        moves.append([engine.genmove(color).point for color in (BLACK, WHITE, BLACK)])
        assert "rollouts of pierre-rollout" in engine.describe()
        engine.close()
    assert moves[0] == moves[1] and len(set(moves[0])) == 3
    (tmp_path / "pierre-rollout.onnx").unlink()
    engine = Engine(told)
    with pytest.raises(EngineUnavailableError, match=r"pierre-rollout\.onnx"):
        engine.wait_ready()


def test_the_small_net_sees_his_planes(tmp_path: Path) -> None:
    net = OnnxNet(write_nets(tmp_path), "cpu")
    other = replace(net.info, encoder="five")
    player = Player(net, 0, 0)
    player.info = other
    with pytest.raises(NetFileError, match="no policy over Pierre's planes"):
        FiveRollouts(net, 1, 4, player=player, weight=1.0)  # type: ignore[arg-type]
