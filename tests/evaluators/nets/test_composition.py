"""Nets of several files, and nets that lack heads."""

import math
from pathlib import Path

import numpy as np
import pytest
from tests.evaluators.nets.small_nets import write_chooser, write_owner, write_with_heads
from tests.go.diagrams import position_of
from tests.paths import TINY, TINY_NET

from gtp_engine.arena.many_games import Contestant, Terms, play_games
from gtp_engine.coords import BLACK, WHITE, parse_vertex, point_at
from gtp_engine.evaluators import net_evaluator
from gtp_engine.evaluators.decoding import NO_PASS_PRIOR, SETTLED_SHARE
from gtp_engine.evaluators.eval_batch import EvalBatch
from gtp_engine.evaluators.net_evaluator import NetEvaluator, open_net
from gtp_engine.evaluators.nets import net_files
from gtp_engine.evaluators.nets.composition import ComposedNet
from gtp_engine.evaluators.nets.net_files import find_parts
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.evaluators.nets.onnx_net import OnnxNet
from gtp_engine.go.position import Position
from gtp_engine.go.rules import Rules
from gtp_engine.messages import collected
from gtp_engine.search.search import Search
from gtp_engine.search.stopping import Limits

DIAGRAM = """
    . X . .
    X O . .
    . . . .
    """
KOMI = 3.5


def opened(wanted: str) -> NetEvaluator:
    with collected() as said:
        net = open_net(wanted, "cpu", threads=1)
    assert not said
    return net


def evaluated(net: NetEvaluator, position: Position, symmetry: int = 0) -> EvalBatch:
    batch = net.new_batch(1, position.width, position.height)
    flags = position.rules.flags
    net.encode(batch, 0, position.history, position.ply, flags, symmetry, 0.0)
    net.evaluate(batch, 1, use_cache=False)
    return batch


def position(to_play: int = BLACK, diagram: str = DIAGRAM) -> Position:
    return position_of(diagram, Rules.parse("chinese", komi=KOMI), to_play=to_play)


def prior_at(batch: EvalBatch, vertex: str) -> float:
    wanted = parse_vertex(vertex, 4, 3)
    moves = batch.moves[0, : batch.n_moves[0]].tolist()
    return float(batch.priors[0, moves.index(wanted)])


# What a net does not say ------------------------------------------------------------------------


@pytest.mark.parametrize(("to_play", "own"), [(BLACK, 0.9 - KOMI), (WHITE, KOMI - 0.9)])
def test_a_net_of_ownership_alone(tmp_path: Path, to_play: int, own: float) -> None:
    net = opened(str(write_owner(tmp_path / "owner.onnx")))
    game = position(to_play)
    batch = evaluated(net, game)
    # Two black stones and one white one, 0.9 of a point each; the other nine points are open.
    stdev = math.sqrt(9 + 3 * (1 - 0.9**2))
    assert batch.lead[0] == pytest.approx(own, abs=1e-5)
    assert batch.stdev[0] == pytest.approx(stdev, abs=1e-5)
    assert batch.value[0] == pytest.approx(math.erf(own / stdev / math.sqrt(2)), abs=1e-5)
    assert batch.no_result[0] == 0.0
    # All that is legal is open.
    n = int(batch.n_moves[0]) - 1
    assert batch.priors[0, :n] == pytest.approx(1 / n / (1 + NO_PASS_PRIOR), rel=1e-5)
    assert batch.priors[0, n] == pytest.approx(NO_PASS_PRIOR / (1 + NO_PASS_PRIOR), rel=1e-5)


def test_settled_points_come_last_without_a_policy(tmp_path: Path) -> None:
    # This net takes a point for settled where a stone of its neighbours is not needed: C1 alone.
    net = opened(str(write_owner(tmp_path / "owner.onnx")))
    game = position()
    batch = evaluated(net, game)
    before = prior_at(batch, "C1")
    raw = net.net.run(batch.spatial, batch.features)
    assert raw.ownership is not None and raw.policy is None
    raw.ownership[0, 2, 2] = 1.0
    net._finish(batch, np.arange(1), raw)
    assert prior_at(batch, "C1") == pytest.approx(
        prior_at(batch, "D1") * SETTLED_SHARE / (1 + SETTLED_SHARE), rel=1e-4
    )
    assert prior_at(batch, "C1") < before


def test_a_net_of_policy_alone_holds_all_games_for_even(tmp_path: Path) -> None:
    net = opened(str(write_chooser(tmp_path / "chooser.onnx")))
    batch = evaluated(net, position())
    assert (batch.value[0], batch.lead[0], batch.stdev[0], batch.no_result[0]) == (0, 0, 0, 0)
    assert not net.has_ownership
    # B1 and C2 touch the white stone at B2, A1 does not.
    assert prior_at(batch, "B1") == prior_at(batch, "C2")
    assert prior_at(batch, "B1") / prior_at(batch, "A1") == pytest.approx(math.exp(2), rel=1e-4)
    raw = net.raw_evaluation(position())
    assert (raw.win, raw.loss, raw.no_result, raw.lead) == (0.5, 0.5, 0.0, 0.0)


def test_a_net_of_value_alone_likes_all_moves_alike(tmp_path: Path) -> None:
    whole = opened(TINY_NET)
    value = opened(str(write_with_heads(tmp_path / "value.onnx", "value")))
    game = position()
    batch = evaluated(value, game)
    assert batch.value[0] == evaluated(whole, game).value[0] != 0.0
    n = int(batch.n_moves[0]) - 1
    assert len(set(batch.priors[0, :n].tolist())) == 1


def test_a_score_gives_a_value(tmp_path: Path) -> None:
    batch = evaluated(opened(str(write_with_heads(tmp_path / "s.onnx", "score"))), position())
    lead, stdev = float(batch.lead[0]), float(batch.stdev[0])
    assert stdev > 0 and lead != 0
    assert batch.value[0] == pytest.approx(math.erf(lead / stdev / math.sqrt(2)), abs=1e-5)


def test_a_description_without_any_head_is_refused(tmp_path: Path) -> None:
    path = write_owner(tmp_path / "none.onnx", heads={})
    with pytest.raises(NetFileError, match="names no output that is known"):
        opened(str(path))


def test_a_cache_knows_komi_and_bans_for_nets_that_do_not(tmp_path: Path) -> None:
    net = opened(str(write_owner(tmp_path / "owner.onnx")))
    leads = []
    for komi in (0.5, 7.5, 0.5):
        game = position_of(DIAGRAM, Rules.parse("chinese", komi=komi))
        batch = net.new_batch(1, 4, 3)
        net.encode(batch, 0, game.history, game.ply, game.rules.flags, 0, 0.0)
        net.evaluate(batch, 1)
        leads.append(float(batch.lead[0]))
    assert leads == pytest.approx([0.4, -6.6, 0.4], abs=1e-5)
    assert net.cache_hits == 1


# Several files ----------------------------------------------------------------------------------


@pytest.mark.parametrize("symmetry", range(4))
def test_two_nets_of_different_inputs_are_one(tmp_path: Path, symmetry: int) -> None:
    chooser = write_chooser(tmp_path / "chooser.onnx")
    owner = write_owner(tmp_path / "owner.onnx")
    net = opened(f"{chooser}+{owner}")
    assert isinstance(net.net, ComposedNet)
    assert net.net.givers == {"policy": 0, "ownership": 1}
    assert net.net.info.spatial_planes == 2 + 8 and net.has_ownership
    for to_play in (BLACK, WHITE):
        game = position(to_play)
        found = evaluated(net, game, symmetry)
        policy, owned = (evaluated(opened(str(path)), game, symmetry) for path in (chooser, owner))
        np.testing.assert_array_equal(found.priors, policy.priors)
        np.testing.assert_array_equal(found.ownership, owned.ownership)
        assert (found.value[0], found.lead[0]) == (owned.value[0], owned.lead[0])


def test_a_net_taken_apart_and_put_together_is_the_same(tmp_path: Path) -> None:
    paths = [
        write_with_heads(tmp_path / f"{head}.onnx", head, name=head)
        for head in ("policy", "value", "score", "ownership")
    ]
    joined = opened("+".join(str(path) for path in reversed(paths)))
    assert isinstance(joined.net, ComposedNet)
    whole = opened(TINY_NET)
    assert joined.net.info.spatial_planes == whole.net.info.spatial_planes  # all share them
    for symmetry in (0, 3):
        a, b = (evaluated(net, position(), symmetry) for net in (joined, whole))
        for name in ("priors", "value", "no_result", "lead", "stdev", "ownership"):
            np.testing.assert_allclose(getattr(a, name), getattr(b, name), atol=1e-6, err_msg=name)


def test_a_head_can_be_asked_for(tmp_path: Path) -> None:
    policy = write_with_heads(tmp_path / "policy.onnx", "policy")
    owner = write_owner(tmp_path / "owner.onnx")
    game = position()
    tiny, owned = evaluated(opened(TINY_NET), game), evaluated(opened(str(owner)), game)
    net = opened(f"{TINY}+ownership={owner}")
    found = evaluated(net, game)
    np.testing.assert_array_equal(found.ownership, owned.ownership)
    assert found.lead[0] == pytest.approx(float(tiny.lead[0]), abs=1e-6)
    # Of the tiny net nothing but the value: the score comes from the ownership now.
    found = evaluated(opened(f"policy={policy}+value={TINY}+ownership={owner}"), game)
    assert found.value[0] == tiny.value[0]
    assert found.lead[0] == owned.lead[0]
    assert isinstance(opened(f"policy={TINY}").net, ComposedNet)


def test_what_does_not_fit_together(tmp_path: Path) -> None:
    owner = write_owner(tmp_path / "owner.onnx")
    small = write_chooser(tmp_path / "small.onnx", board_sizes=(5,), board_min=5, board_max=5)
    large = write_owner(tmp_path / "large.onnx", board_sizes=(9,), board_min=9, board_max=9)
    refusals = {
        f"{TINY}+{owner}": "owner.onnx: adds nothing to the nets before it",
        f"policy={owner}": "owner.onnx: has no policy; it has ownership",
        f"value={TINY}+value={TINY}": "the value can come from one net only",
        f"{small}+{large}": "there is no board that small and large all take",
        f"{owner}+nothing": "nothing: no such net file",
        f"{owner}+": ": no such net file",
    }
    for wanted, message in refusals.items():
        with pytest.raises(NetFileError) as caught:
            open_net(wanted, "cpu")
        assert message in str(caught.value) and "\n" not in str(caught.value), wanted


def test_it_runs_where_all_its_parts_run_now(tmp_path: Path) -> None:
    first = OnnxNet(write_with_heads(tmp_path / "a.onnx", "policy"), "cpu")
    second = OnnxNet(write_with_heads(tmp_path / "b.onnx", "value"), "cpu")
    first.device = second.device = "cuda"
    net = ComposedNet([first, second], [(), ()])
    assert net.device == "cuda"
    second.device = "cpu"  # its GPU has failed
    assert net.device == "cpu"


def test_boards_that_all_take(tmp_path: Path) -> None:
    small = write_chooser(tmp_path / "s.onnx", board_sizes=(5, 9), square_only=True)
    owner = write_owner(tmp_path / "o.onnx", board_max=7)
    net = opened(f"{small}+{owner}")
    assert net.net.info.accepts(5, 5)
    for size in ((5, 9), (7, 7), (9, 9)):
        with pytest.raises(NetFileError, match=r"the net s\+o does not play on"):
            net.new_batch(1, *size)


def test_each_part_has_its_own_doubts(tmp_path: Path) -> None:
    small = write_chooser(tmp_path / "small.onnx", trained_sizes=(5, 7))
    owner = write_owner(tmp_path / "owner.onnx", rules="japanese")
    net = opened(f"{small}+{owner}")
    doubts = net.doubts(position())
    assert len(doubts) == 2
    assert "the net small was trained on boards of 5x5 to 7x7, not 4x3" in doubts[0]
    assert "the net owner was made for japanese rules" in doubts[1]
    assert net.doubts(Position(5, 7, Rules.parse("japanese"))) == []


# Weights for small boards ------------------------------------------------------------------------


def write_family(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Write a net that gives its stones 0.9 of their points; up to 4x4 they get 0.3."""
    monkeypatch.setenv("GTP_ENGINE_NETS", str(folder))
    write_owner(folder / "family.onnx")
    write_owner(folder / "family-4x4.onnx", share=0.3, trained_sizes=(2, 4))
    return "family"


def test_a_board_is_judged_by_the_net_of_its_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = opened(write_family(tmp_path, monkeypatch))
    assert " (family-4x4 up to 4x4), fp32, on " in net.describe()
    for width, height, share in ((4, 3, 0.3), (4, 4, 0.3), (5, 3, 0.9), (3, 5, 0.9)):
        board = Position(width, height)
        board.play(BLACK, board.legal_moves()[0])
        ownership = net.raw_evaluation(board).ownership
        assert ownership is not None
        assert np.abs(ownership).max() == pytest.approx(share), (width, height)
        assert net.doubts(board) == []


def test_the_batch_suits_the_files_that_judge_a_board(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    family = opened(write_family(tmp_path, monkeypatch))
    largest = max(path.stat().st_size for path in tmp_path.glob("family*.onnx"))
    both = opened(f"{write_chooser(tmp_path / 'chooser.onnx')}+{tmp_path / 'family.onnx'}")
    for path in tmp_path.glob("*.onnx"):
        path.unlink()  # nets stay open
    monkeypatch.setattr(net_evaluator, "LARGE_NET", largest + 1)
    assert family.suggest(1, None) == (1, 4) and both.suggest(1, None) == (1, 1)
    monkeypatch.setattr(net_evaluator, "LARGE_NET", largest)
    assert family.suggest(1, None) == (1, 1)


def test_boards_that_one_of_a_family_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    net = write_family(tmp_path, monkeypatch)
    write_owner(tmp_path / "family.onnx", board_sizes=(3, 19))
    write_owner(tmp_path / "family-4x4.onnx", share=0.3, board_min=4, board_max=4)
    evaluator = opened(net)
    for size, share in ((3, 0.9), (4, 0.3), (19, 0.9)):
        board = Position(size)
        board.play(BLACK, board.legal_moves()[0])
        ownership = evaluator.raw_evaluation(board).ownership
        assert ownership is not None
        assert np.abs(ownership).max() == pytest.approx(share), size
    for width, height in ((2, 2), (4, 3), (5, 5)):
        with pytest.raises(NetFileError, match=f"family does not play on {width}x{height}"):
            evaluator.new_batch(1, width, height)


def test_nets_of_one_family_look_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = write_family(tmp_path, monkeypatch)
    write_chooser(tmp_path / "family-4x4.onnx")
    with pytest.raises(NetFileError, match=r"family-4x4.onnx: has other inputs or outputs than"):
        open_net(name, "cpu")


def test_a_file_called_like_several(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_owner(tmp_path / "a+b.onnx")
    assert len(find_parts("a+b.onnx")) == 1
    monkeypatch.setattr(net_files, "known_nets", lambda: {"x+y": TINY, "x": TINY})
    assert [part.files.fp32 for part in find_parts("x+y")] == [TINY]
    assert [part.heads for part in find_parts("x+value,score=x")] == [(), ("value", "score")]


# Playing ----------------------------------------------------------------------------------------


def test_searching_with_ownership_alone_takes_what_can_be_taken(tmp_path: Path) -> None:
    # White's two stones have one liberty left, at D2.
    net = opened(str(write_owner(tmp_path / "owner.onnx")))
    game = position_of(
        """
        . . . . .
        . X X X .
        . X O O X
        . . X . .
        . . . X .
        """,
        Rules.parse("chinese", komi=0.5),
        to_play=BLACK,
    )
    search = Search(net, seed=1, threads=1)
    search.set_position(game)
    best = search.run(Limits(playouts=200)).moves[0].point
    assert best == point_at(3, 3, 5)


@pytest.mark.parametrize("kind", ["owner", "chooser", "both"])
def test_games_come_to_an_end(tmp_path: Path, kind: str) -> None:
    chooser, owner = write_chooser(tmp_path / "c.onnx"), write_owner(tmp_path / "o.onnx")
    wanted = {"owner": str(owner), "chooser": str(chooser), "both": f"{chooser}+{owner}"}[kind]
    players = [Contestant(name, opened(wanted), Limits(visits=4)) for name in ("a", "b")]
    terms = Terms(4, 4, Rules(komi=0.5), opening_moves=2, seed=1)
    games = play_games(players, terms, 2, at_once=2)
    assert [game.number for game in games] == [0, 1]
