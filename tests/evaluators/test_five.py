"""What a net of five in a row is shown, and how its word gives way to what is read out."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.evaluators.encoders.encoding import drawn, encoded
from tests.five.test_lines import game_of, wins_at
from tests.five.test_threats import middle_games
from tests.paths import TINY_NET

from gtp_engine.coords import BLACK, EMPTY, WHITE
from gtp_engine.evaluators.encoders.inputs import find_begin
from gtp_engine.evaluators.five import FiveEvaluator
from gtp_engine.evaluators.five_shaped import ShapedEvaluator
from gtp_engine.evaluators.net_evaluator import NetEvaluator
from gtp_engine.evaluators.nets.composition import Net, open_whole
from gtp_engine.five.game import FiveGame
from gtp_engine.go.symmetry import N_SYMMETRIES, distinct_points, transform
from gtp_engine.play.engine import Engine
from gtp_engine.play.loading import EngineUnavailableError
from gtp_engine.play.settings import Settings


def test_planes_by_hand() -> None:
    game = game_of(["c1", "d1"], ["a7", "b7", "c7"], "renju", 7)
    for color, name in ((BLACK, "e1"), (WHITE, "f4")):
        game.play(color, game.point(name))
    planes, features = encoded("five", game)
    assert planes[0].all() and planes[3].sum() == planes[4].sum() == 1
    assert planes[3, 3, 5] == 1 and planes[4, 6, 4] == 1
    assert drawn(planes[1]).endswith("..###..") and drawn(planes[2]).startswith("###....")
    # Black's three by the edge: an open four at b1 and f1, fours further out.
    assert drawn(planes[6]).endswith("##...##") and not planes[7].any()
    assert drawn(planes[9]).startswith("...##..") and not planes[10].any()
    assert features[:6].tolist() == [1, 1, 0, 1, 0, 0]
    assert features[6] == pytest.approx(7 / 49)


@settings(max_examples=30)
@given(middle_games(), st.integers(0, 7))
def test_planes_say_what_the_game_says(game: FiveGame, symmetry: int) -> None:
    planes, features = encoded("five", game)
    at = {point: divmod(n, game.width) for n, point in enumerate(game.points())}
    for point, (row, col) in at.items():
        is_empty = game.color_at(point) == EMPTY
        assert planes[11, row, col] == bool(game.forbidden(point))
        for plane, color in ((7, game.to_play), (10, 3 - game.to_play)):
            assert planes[plane, row, col] == (is_empty and wins_at(game, color, point))
    assert features[0] == (game.to_play == BLACK)
    turned, same = encoded("five", game, symmetry)
    assert (same == features).all()
    np.testing.assert_array_equal(turned, transform(planes, symmetry))


def write_five(path: Path) -> Path:
    """Write a net of random weights."""
    pytest.importorskip("onnx")
    from gtp_export.architectures.net_file import describe_net, write_net
    from gtp_export.architectures.tower import FiveTowerShape, random_weights

    shape = FiveTowerShape(blocks=1, channels=8, head_channels=8, value_hidden=8)
    info = describe_net(shape, "five-tiny", source="random weights")
    write_net(path, shape, random_weights(shape, 3), info)
    return path


@pytest.fixture(scope="module")
def five_net(tmp_path_factory: pytest.TempPathFactory) -> Net:
    """Random weights."""
    path = write_five(tmp_path_factory.mktemp("nets") / "five.onnx")
    return open_whole(str(path), "cpu", "onnxruntime", 1)


def test_a_net_gives_way_to_what_is_read_out(five_net: Net) -> None:
    evaluator = NetEvaluator(five_net, 1, 4)
    evaluator.threat_nodes = 100
    batch = evaluator.new_batch(3, 15, 15)
    games = [
        game_of(["h8", "i8", "j8"], ["a1", "a3"], "freestyle"),  # won by a four
        game_of(["h8", "i9"], ["a1", "a2", "a3", "a4"], "freestyle"),  # one move stops the five
        game_of(["h8"], ["a1"], "freestyle"),
    ]
    for slot, game in enumerate(games):
        evaluator.encode(batch, slot, game.history, game.ply, game.rules.flags, 0, 0.0)
    for judge in (evaluator.evaluate, evaluator.evaluate, partial(evaluator.recall, first=0)):
        judge(batch, n=3)  # computed, then remembered
        assert batch.n_moves.tolist() == [1, 1, 223] and batch.value[0] == 1.0
        assert games[1].name(int(batch.moves[1, 0])) == "a5"
        assert abs(batch.value[1]) < 1 and abs(batch.value[2]) < 1
        assert batch.priors[2, :223].sum() == pytest.approx(
            1.0, abs=1e-3
        )  # remembered in two bytes


def test_what_a_slot_depends_on_besides_reads_no_positions(five_net: Net) -> None:
    batch = NetEvaluator(five_net, 1, 4).new_batch(1, 15, 15)
    game = game_of(["h8", "i8", "j8"], ["a1", "a3"], "freestyle")  # won by a four, if it is read
    begin, maps = find_begin("five"), distinct_points(15, 15)
    assert begin is not None
    hashes = set()
    for salt, nodes, known in ((0, 0, 0), (10**16, 0, 0), (0, 100, 1), (10**16, 100, 1)):
        begin(batch, 0, game.history, game.ply, game.rules.flags, 0, 0.0, maps, salt, nodes)
        assert batch.slots["known_result"][0] == known
        hashes.add(tuple(batch.slots["position_hash"][0]))
    assert len(hashes) == 4


@settings(max_examples=20)
@given(game=middle_games(), symmetry=st.integers(0, 7), share=st.sampled_from([0.0, 0.3, 1.0]))
def test_shapes_have_their_share_in_what_a_net_says(
    five_net: Net, game: FiveGame, symmetry: int, share: float
) -> None:
    symmetry %= N_SYMMETRIES if game.width == game.height else 4
    leaf = game.history, game.ply, game.rules.flags, symmetry, 0.0
    said = []
    for evaluator in (
        NetEvaluator(five_net, 1, 4),
        FiveEvaluator(100),
        ShapedEvaluator(five_net, 1, 4, share=share),
    ):
        if isinstance(evaluator, NetEvaluator):
            evaluator.threat_nodes = 100
        batch = evaluator.new_batch(2, game.width, game.height)
        evaluator.encode(batch, 1, *leaf)
        evaluator.encode(batch, 0, *leaf)
        for _ in range(2):  # computed, then remembered, where priors take two bytes
            evaluator.evaluate(batch, 2)
        n = batch.n_moves[1]
        assert n == batch.n_moves[0]
        said.append(np.append(batch.priors[1, :n], batch.value[1]))
    mixed = said[0] + share * (said[1] - said[0])
    assert said[2] == pytest.approx(mixed, abs=1e-4)


def test_each_game_refuses_the_nets_of_the_other(tmp_path: Path) -> None:
    five = str(write_five(tmp_path / "five.onnx"))
    for game, net, reason in (
        ("go", five, "does not play go"),
        ("five", TINY_NET, "does not play five"),
    ):
        engine = Engine(Settings(game=game, net=net, size=(7, 7), device="cpu"))
        with pytest.raises(EngineUnavailableError, match=reason):
            engine.wait_ready()
    engine = Engine(Settings(game="five", net=five, size=(7, 7), playouts=8, device="cpu"))
    decision = engine.genmove(BLACK)
    assert decision.point in engine.position.stones(BLACK) and "five-tiny" in engine.describe()
    engine.close()


def test_five_is_played_without_a_net_unless_one_is_named() -> None:
    for net, says in ((None, "threats and shapes"), ("five", "five on cpu with shapes")):
        engine = Engine(Settings(game="five", net=net, size=(7, 7), playouts=8, device="cpu"))
        engine.genmove(BLACK)
        assert says in engine.describe()
        engine.close()
