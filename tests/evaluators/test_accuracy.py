"""The distance between two nets, worked out by hand."""

import math
from pathlib import Path

import numpy as np
import pytest
from tests.evaluators.nets.small_nets import write_owner
from tests.paths import MODELS, TINY

from gtp_engine.evaluators.accuracy import Opinion, _positions, compare, compare_nets, opinions
from gtp_engine.evaluators.net_evaluator import NetEvaluator
from gtp_engine.evaluators.nets.onnx_net import OnnxNet
from gtp_engine.evaluators.policy_play import draw_opening
from gtp_engine.go.rules import Rules

FIVE_NET = MODELS / "five.onnx"


def opinion(
    policy: list[list[float]], winrate: list[float], lead: list[float], owned: float
) -> Opinion:
    ownership = np.full((len(policy), 2), owned, np.float32)
    return Opinion(
        np.array(policy, np.float32),
        np.array(winrate, np.float32),
        np.array(lead, np.float32),
        ownership,
    )


def test_compare() -> None:
    one = opinion([[0.5, 0.5, 0.0], [0.75, 0.25, 0.0]], [0.5, 0.9], [1.0, -3.0], 0.5)
    other = opinion([[0.25, 0.75, 0.0], [0.75, 0.25, 0.0]], [0.6, 0.9], [0.0, -3.0], 0.25)
    found = compare([one], [other])
    assert found.positions == 2
    kl = 0.5 * math.log(0.5 / 0.25) + 0.5 * math.log(0.5 / 0.75)
    assert found.policy_kl == pytest.approx(kl / 2, rel=1e-5)
    assert found.top1 == 0.5
    assert found.win_error == pytest.approx(0.05, rel=1e-5)
    assert found.lead_error == pytest.approx(0.5)
    assert found.ownership_error == pytest.approx(0.25)


def test_nets_without_ownership() -> None:
    bare = opinion([[1.0, 0.0]], [0.5], [0.0], 0.0)._replace(ownership=np.zeros((1, 0), np.float32))
    assert compare([bare], [bare]).ownership_error == 0.0


def test_nets_of_five_in_a_row_are_compared_on_its_positions() -> None:
    net = NetEvaluator(OnnxNet(FIVE_NET, "cpu"), streams=1, max_batch=4, cache_mb=0)
    batches = list(_positions(net, 12))
    assert len(batches) == 12
    for batch in batches:
        assert not batch.features[0, 1:5].any(), "free-style, where any row of five wins"


def test_nets_of_a_rare_size_are_compared_on_it(tmp_path: Path) -> None:
    net = OnnxNet(write_owner(tmp_path / "net.onnx", board_sizes=(6,)), "cpu")
    assert compare_nets(net, net, 3).positions == 3


def test_opinions_hold_what_the_evaluator_says() -> None:
    net = NetEvaluator(OnnxNet(TINY, "cpu"), streams=1, max_batch=4, cache_mb=0)
    position = draw_opening(net, 7, 7, Rules(), 10, seed=1)
    batch = net.new_batch(1, 7, 7)
    net.encode(batch, 0, position.history, position.ply, position.rules.flags, 0, 0.0)
    (found,) = opinions(net, [batch])
    raw = net.raw_evaluation(position, symmetry=0, optimism=0.0)
    assert found.policy[0].sum() == pytest.approx(1.0, abs=1e-5)
    assert found.policy[0].max() == pytest.approx(
        max(np.nanmax(raw.policy), raw.policy_pass), abs=1e-6
    )
    assert found.winrate[0] == pytest.approx(raw.win + raw.no_result / 2, abs=1e-6)
    assert found.lead[0] == pytest.approx(raw.lead, abs=1e-5)


def test_openings_are_drawn_the_same_way_for_the_same_seed() -> None:
    net = NetEvaluator(OnnxNet(TINY, "cpu"), streams=1, max_batch=4, cache_mb=0)
    first, again, other = (draw_opening(net, 9, 9, Rules(), 12, seed) for seed in (1, 1, 2))
    assert first.moves == again.moves != other.moves
    assert len(first.moves) == 12
