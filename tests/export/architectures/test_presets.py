"""Every architecture: the same function in PyTorch and as ONNX, chains, losses, fine-tuning."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from gtp_engine.evaluators.nets.net_info import ENCODERS, NetFileError  # noqa: E402
from gtp_export.architectures.dual import DualShape  # noqa: E402
from gtp_export.architectures.net_file import describe_net, write_net  # noqa: E402
from gtp_export.architectures.plain import (  # noqa: E402
    CHAIN_ROUNDS,
    OWNERSHIP,
    POLICY,
    PlainShape,
    chain_places,
    over_chains,
)
from gtp_export.architectures.presets import PRESETS, find_preset, find_tower  # noqa: E402
from gtp_export.architectures.shape import arrays_of, count_parameters  # noqa: E402
from gtp_export.architectures.tower import TOWERS, TowerShape, random_weights  # noqa: E402
from gtp_export.learning.batch import Batch, NetOutputs  # noqa: E402
from gtp_export.learning.net_export import check_parity, weights_of  # noqa: E402
from gtp_export.learning.record_losses import RecordTargets, record_losses  # noqa: E402
from gtp_export.learning.starting_weights import freeze, load_weights  # noqa: E402
from gtp_export.learning.torch_layers import Net, TorchLayers  # noqa: E402

SMALL = {
    "dlgo": PlainShape("dlgo1", ((7, 6), (5, 4)), POLICY, 1, (16,), 9, True, True),
    "alphago": PlainShape("alphago48", ((5, 6), (3, 6)), POLICY),
    "gocnn": PlainShape("gocnn8", ((5, 6), (5, 4)), OWNERSHIP, 5),
    "chain": PlainShape("gocnn21", ((5, 6), (5, 5)), OWNERSHIP, 5, pools_chains=True),
    "halved": PlainShape("five4", ((5, 6), (3, 4)), POLICY, 1, (16,), 9, halved_after=(0, 1)),
    "dual": DualShape(2, 6, 9, 16),
    "tower": TowerShape(2, 8, 8, 8),
}


def example(encoder: str, size: int = 9, boards: int = 6) -> Batch:
    """Return boards full of random stones, other planes at random."""
    generator = np.random.default_rng(size)
    _, planes, features = ENCODERS[encoder]
    spatial = (generator.random((boards, planes, size, size)) < 0.3).astype(np.uint8)
    if encoder.startswith("gocnn"):
        stones = generator.integers(7, size=(boards, 1, size, size))
        spatial[:, :6] = stones == np.arange(6)[:, None, None]
    numbers = generator.normal(size=(boards, features)).astype(np.float32)
    return Batch(torch.from_numpy(spatial), torch.from_numpy(numbers), None)


def trained(shape: object) -> object:
    """Return a net whose norms have statistics worth folding."""
    torch.manual_seed(5)
    net = Net(shape)
    net.train()
    batch = example(shape.encoder, boards=16)
    for _ in range(3):
        net(batch.spatial, batch.features)
    return net.eval()


@pytest.mark.parametrize("name", SMALL)
def test_a_written_net_computes_the_same(name: str, tmp_path: Path) -> None:
    shape, path = SMALL[name], tmp_path / "net.onnx"
    net = trained(shape)
    assert {key: tuple(t.shape) for key, t in net.state_dict().items()} == arrays_of(shape)
    write_net(path, shape, weights_of(net), describe_net(shape, name))
    found = check_parity(net, path, example(shape.encoder))
    assert set(found) == set(shape.heads) and max(found.values()) < 1e-3


@pytest.mark.parametrize("name", SMALL)
def test_fine_tuning_begins_with_what_the_file_computes(name: str, tmp_path: Path) -> None:
    shape, path = SMALL[name], tmp_path / "net.onnx"
    net = trained(shape)
    write_net(path, shape, weights_of(net), describe_net(shape, name))
    other = Net(shape)
    batch = example(shape.encoder)
    load_weights(other, path, [batch])
    other.eval()
    for mine, theirs in zip(net(batch.spatial, batch.features), other(*pair(batch)), strict=True):
        if mine is not None:
            torch.testing.assert_close(mine, theirs, atol=1e-3, rtol=1e-3)
    norm = other.get_submodule(next(n[:-13] for n in other.state_dict() if "running_mean" in n))
    assert norm.running_var.std() > 0  # the statistics are the batch's, not the file's


def test_a_net_with_more_blocks_than_the_preset_is_refused(tmp_path: Path) -> None:
    shape = TOWERS["tiny"]
    path = tmp_path / "net.onnx"
    write_net(path, shape, random_weights(shape, 1), describe_net(shape, "net"))
    smaller = Net(replace(shape, blocks=1))
    with pytest.raises(NetFileError, match=r"has blocks\.1, which the preset lacks"):
        load_weights(smaller, path, [example(shape.encoder)])


@pytest.mark.parametrize("more", [{"attention": 1}, {"blocks": 3}, {"blocks": 4, "attention": 2}])
def test_a_net_that_has_grown_begins_with_what_the_file_computes(
    more: dict[str, int], tmp_path: Path
) -> None:
    shape, path = TowerShape(blocks=2, channels=8, head_channels=8, value_hidden=8), tmp_path / "a"
    net = trained(shape)
    write_net(path, shape, weights_of(net), describe_net(shape, "small"))
    grown, batch = Net(replace(shape, **more)), example(shape.encoder)
    load_weights(grown, path, [batch])
    grown.eval()
    for before, after in zip(net(*pair(batch)), grown(*pair(batch)), strict=True):
        torch.testing.assert_close(before, after, atol=1e-3, rtol=1e-3)
    grown.train()
    grown(*pair(batch)).policy.square().sum().backward()
    new = [p for name, p in grown.named_parameters() if name not in dict(net.named_parameters())]
    assert any(parameter.grad.abs().max() > 0 for parameter in new)


def pair(batch: Batch) -> tuple[object, object]:
    return batch.spatial, batch.features


def test_another_architecture_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    shape = SMALL["alphago"]
    write_net(path, shape, weights_of(trained(shape)), describe_net(shape, "one"))
    for other in (SMALL["gocnn"], replace(shape, convolutions=((5, 6), (3, 8)))):
        with pytest.raises(NetFileError, match="no net of this architecture"):
            load_weights(Net(other), path, [example(other.encoder)])


def test_frozen_layers_do_not_learn() -> None:
    net = Net(SMALL["alphago"])
    norms = freeze(net, ("convolutions.0", "norms.0"))
    assert [name for name, p in net.named_parameters() if not p.requires_grad] == [
        "convolutions.0.weight",
        "norms.0.weight",
        "norms.0.bias",
    ]
    assert norms == [net.get_submodule("norms.0")]
    with pytest.raises(NetFileError, match=r"no layers 'stem' to freeze; known: .*norms\.1"):
        freeze(net, ("stem",))
    with pytest.raises(NetFileError, match="nothing is left"):
        freeze(net, ("",))


def flood(colors: np.ndarray) -> np.ndarray:
    """Return the largest index of each point's chain, found stone by stone."""
    height, width = colors.shape
    labels = np.arange(height * width).reshape(height, width)
    changed = True
    while changed:
        changed = False
        for row, col in np.ndindex(height, width):
            for near in ((row - 1, col), (row + 1, col), (row, col - 1), (row, col + 1)):
                inside = 0 <= near[0] < height and 0 <= near[1] < width
                same = inside and colors[row, col] and colors[near] == colors[row, col]
                if same and labels[near] > labels[row, col]:
                    labels[row, col] = labels[near]
                    changed = True
    return labels


def places_of(colors: np.ndarray) -> torch.Tensor:
    planes = torch.zeros(1, 8, *colors.shape)
    planes[0, 0], planes[0, 3] = torch.from_numpy(colors == 1), torch.from_numpy(colors == 2)
    return chain_places(TorchLayers(torch.nn.Module(), planes), planes, 8)


def test_chains_are_found() -> None:
    generator = np.random.default_rng(3)
    for _ in range(20):
        colors = generator.integers(3, size=(7, 6))
        places = places_of(colors)
        np.testing.assert_array_equal(places.numpy()[0, 0], flood(colors))


def test_a_spiral_over_the_whole_board_is_one_chain() -> None:
    colors = np.zeros((13, 13), np.int64)
    colors[::2] = 1
    colors[1::4, -1] = 1
    colors[3::4, 0] = 1
    assert CHAIN_ROUNDS == 8
    labels = places_of(colors).numpy()[0, 0]
    assert len(np.unique(labels[colors == 1])) == 1


def test_maxima_and_sums_over_chains() -> None:
    colors = np.array([[1, 1, 0], [2, 0, 0]])
    places = places_of(colors)
    layers = TorchLayers(torch.nn.Module(), places)
    values = torch.tensor([[[[1.0, 5.0, 2.0], [4.0, 3.0, 0.0]]]])
    largest = over_chains(layers, values, places, "max")
    assert largest.tolist() == [[[[5.0, 5.0, 2.0], [4.0, 3.0, 0.0]]]]
    sums = over_chains(layers, values, places, "add")
    assert sums.tolist() == [[[[6.0, 6.0, 2.0], [4.0, 3.0, 0.0]]]]


def test_the_seeds_have_their_published_sizes() -> None:
    millions = {name: count_parameters(preset.shape) / 1e6 for name, preset in PRESETS.items()}
    assert millions["pierre-rollout"] < 0.7 and millions["pierre"] < 15  # a smaller one will do
    assert millions["dlgo-small"] == pytest.approx(6.1, abs=0.15)
    assert millions["gocnn"] == pytest.approx(0.35, abs=0.01)
    assert millions["alphago-sl-192"] == pytest.approx(3.9, abs=0.1)
    assert find_preset("dlgo-small").for_size(9).shape.outputs == 82
    with pytest.raises(NetFileError, match="unknown preset 'huge'"):
        find_preset("huge")


def targets(**changes: object) -> RecordTargets:
    known = RecordTargets(
        legal=torch.tensor([[True, True, False, False, True]]),
        action=torch.tensor([1]),
        outcome=torch.tensor([1.0]),
        score=torch.tensor([20.0]),
        ownership=torch.tensor([[[1.0, -1.0], [0.0, 0.0]]]),
    )
    return known._replace(**changes)


def test_losses_by_hand() -> None:
    outputs = NetOutputs(
        policy=torch.zeros(1, 5),
        value=torch.zeros(1, 3),
        score=torch.zeros(1, 3),
        ownership_logit=torch.tensor([[[0.0, -10.0], [9.0, 9.0]]]),
    )
    found = record_losses(outputs, targets(), squared_ownership=True)
    assert float(found["policy"]) == pytest.approx(np.log(3))  # of three legal actions
    assert float(found["value"]) == pytest.approx(np.log(3))
    # One undecided point of two that somebody owns: (1/2)^2, and a sure one that is right.
    assert float(found["ownership"]) == pytest.approx(0.125, abs=1e-4)
    assert float(found["owned"]) == 0.5
    # Mean and lead are one unit off, the spread 1.2533: smooth errors less a quarter each.
    assert float(found["score"]) == pytest.approx((0.75 + 1.0033 + 0.75) / 3, abs=1e-3)


def test_what_nobody_knows_costs_nothing() -> None:
    outputs = NetOutputs(
        value=torch.tensor([[0.7]]),
        score=torch.ones(1, 3),
        ownership_logit=torch.ones(1, 2, 2),
    )
    nothing = torch.tensor([float("nan")])
    unknown = targets(outcome=nothing, score=nothing, ownership=torch.zeros(1, 2, 2))
    found = record_losses(outputs, unknown, squared_ownership=False)
    assert all(float(loss) == 0.0 for loss in found.values())
    squared = record_losses(outputs, targets(), squared_ownership=False)["value"]
    assert float(squared) == pytest.approx(0.09)


def test_what_is_distilled_is_a_tower_for_go() -> None:
    assert find_tower("tiny") is TOWERS["tiny"]
    for name in ("five-b4c32", "gocnn", "huge"):
        with pytest.raises(NetFileError, match=f"unknown preset '{name}'; known are tiny, b4c32"):
            find_tower(name)
