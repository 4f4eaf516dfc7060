"""The tower: the same function in PyTorch and as ONNX, on every board size."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.paths import TINY

torch = pytest.importorskip("torch")

from tests.export.tiny_net import write_tiny_net  # noqa: E402

from gtp_engine.evaluators.nets.net_info import ENCODERS  # noqa: E402
from gtp_engine.evaluators.nets.onnx_net import OnnxNet  # noqa: E402
from gtp_export.architectures.net_file import describe_net, write_net  # noqa: E402
from gtp_export.architectures.shape import arrays_of, count_parameters  # noqa: E402
from gtp_export.architectures.tower import (  # noqa: E402
    ESTIMATE_READERS,
    ESTIMATES,
    TOWERS,
    TowerShape,
    random_weights,
)
from gtp_export.learning.net_export import weights_of  # noqa: E402
from gtp_export.learning.running_norm import RunningNorm  # noqa: E402
from gtp_export.learning.torch_layers import Net, TorchLayers, size_offset  # noqa: E402

SHAPE = TowerShape(blocks=3, channels=8, head_channels=8, value_hidden=8)
_, PLANES, FEATURES = ENCODERS[SHAPE.encoder]
NESTED_WITH_ATTENTION = replace(SHAPE, nested=4, attention=1, attention_heads=2)


def example(width: int, height: int, boards: int = 3) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(width + 100 * height)
    spatial = (generator.random((boards, PLANES, height, width)) < 0.25).astype(np.uint8)
    spatial[:, 0] = 1
    features = generator.normal(size=(boards, FEATURES)).astype(np.float32)
    return spatial, features


def trained_tower(shape: TowerShape = SHAPE) -> Net:
    """Return a net whose norms have statistics worth folding."""
    torch.manual_seed(3)
    net = Net(shape)
    net.train()
    for width, height in ((9, 9), (5, 7), (13, 13)):
        spatial, features = example(width, height, boards=16)
        net(torch.from_numpy(spatial), torch.from_numpy(features))
    with torch.no_grad():
        for name in ESTIMATE_READERS:
            net.get_parameter(f"{name}.weight")[:, -ESTIMATES:].normal_(0.0, 0.3)
    net.eval()
    return net


@pytest.mark.parametrize("shape", [SHAPE, NESTED_WITH_ATTENTION])
@pytest.mark.parametrize("size", [(9, 9), (19, 19), (7, 13), (2, 2), (25, 3)])
def test_onnx_computes_what_torch_computes(
    tmp_path: Path, size: tuple[int, int], shape: TowerShape
) -> None:
    net = trained_tower(shape)
    path = tmp_path / "net.onnx"
    write_net(path, shape, weights_of(net), describe_net(shape, "test"))
    spatial, features = example(*size)
    got = OnnxNet(path, "cpu").run(spatial, features)
    with torch.no_grad():
        wanted = net(torch.from_numpy(spatial), torch.from_numpy(features))
    np.testing.assert_allclose(got.policy, wanted.policy.numpy(), atol=1e-4, rtol=1e-4)
    np.testing.assert_allclose(got.value, wanted.value.numpy(), atol=1e-4, rtol=1e-4)
    np.testing.assert_allclose(got.score, wanted.score.numpy(), atol=1e-3, rtol=1e-4)
    ownership = wanted.ownership_logit.tanh().numpy()
    np.testing.assert_allclose(got.ownership, ownership, atol=1e-4)


def test_attention_by_the_book() -> None:
    generator = np.random.default_rng(5)
    queries, keys, values = generator.standard_normal((3, 2, 6, 3, 4)).astype(np.float32)
    wanted = np.zeros_like(queries)
    for board, head, row, col in np.ndindex(2, 2, 3, 4):
        part = slice(3 * head, 3 * head + 3)
        points = [*np.ndindex(3, 4)]
        asked = queries[board, part, row, col]
        logits = [float(asked @ keys[board, part, r, c]) / 3**0.5 for r, c in points]
        total = sum(np.exp(logits))
        for logit, (r, c) in zip(logits, points, strict=True):
            wanted[board, part, row, col] += np.exp(logit) / total * values[board, part, r, c]
    maps = (torch.from_numpy(one) for one in (queries, keys, values))
    got = TorchLayers(torch.nn.Module(), torch.zeros(2, 1, 3, 4)).attend(*maps, 2, 3)
    np.testing.assert_allclose(got.numpy(), wanted, atol=1e-5)


def test_where_attention_stands() -> None:
    for name, places in (("b6c64", []), ("b5c64a1", [4]), ("b4c64a2", [1, 3])):
        queries = [array for array in arrays_of(TOWERS[name]) if "queries.weight" in array]
        assert queries == [f"attention.{place}.queries.weight" for place in places]


def test_batch_size_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    write_net(path, SHAPE, weights_of(trained_tower()), describe_net(SHAPE, "test"))
    net = OnnxNet(path, "cpu")
    spatial, features = example(9, 9, boards=4)
    together = net.run(spatial, features)
    for i in range(4):
        alone = net.run(spatial[i : i + 1], features[i : i + 1])
        np.testing.assert_allclose(alone.policy[0], together.policy[i], atol=1e-5)


@pytest.mark.parametrize("name", TOWERS)
def test_torch_and_the_writer_agree_on_names_and_shapes(name: str) -> None:
    shape = TOWERS[name]
    arrays = {name: array.shape for name, array in weights_of(Net(shape)).items()}
    assert arrays == arrays_of(shape)
    assert count_parameters(shape) == sum(p.numel() for p in Net(shape).parameters())


def test_missing_weights_are_an_error(tmp_path: Path) -> None:
    weights = random_weights(SHAPE, 1)
    del weights["value.out.bias"]
    with pytest.raises(ValueError, match=r"value\.out\.bias"):
        write_net(tmp_path / "net.onnx", SHAPE, weights, describe_net(SHAPE, "test"))
    assert not list(tmp_path.iterdir())


def test_weights_that_are_not_finite_are_an_error(tmp_path: Path) -> None:
    weights = random_weights(SHAPE, 1)
    weights["value.out.bias"][0] = np.nan
    with pytest.raises(ValueError, match=r"value\.out\.bias"):
        write_net(tmp_path / "net.onnx", SHAPE, weights, describe_net(SHAPE, "test"))
    assert not list(tmp_path.iterdir())


def test_norm_in_training_is_the_norm_of_inference_once_warm() -> None:
    norm = RunningNorm(4)
    generator = torch.Generator().manual_seed(1)
    norm.train()
    for _ in range(norm.WARM_UP_STEPS + 1):
        norm(torch.randn(64, 4, 5, 5, generator=generator) * 3 + 1)
    # A batch from elsewhere: its own statistics must not matter to what comes out.
    other = torch.randn(64, 4, 9, 9, generator=generator) * 2 + 2
    norm.eval()
    inference = norm(other)
    norm.train()
    torch.testing.assert_close(norm(other), inference, atol=1e-4, rtol=1e-4)


def test_norm_passes_gradients_to_its_input_and_weights() -> None:
    norm = RunningNorm(2)
    tensor = torch.randn(8, 2, generator=torch.Generator().manual_seed(2), requires_grad=True)
    norm.train()
    norm(tensor).square().sum().backward()
    assert norm.weight.grad.abs().min() > 0
    # A batch norm's output does not change when its whole input moves.
    torch.testing.assert_close(tensor.grad.sum(0), torch.zeros(2), atol=1e-3, rtol=0)


def test_size_offset_counts_points() -> None:
    assert size_offset(torch.zeros(1, 1, 14, 14)) == 0.0
    assert size_offset(torch.zeros(1, 1, 16, 36)) == 1.0


def test_the_committed_tiny_net_is_what_its_function_writes(tmp_path: Path) -> None:
    path = tmp_path / "tiny.onnx"
    write_tiny_net(path)
    fresh, committed = OnnxNet(path, "cpu"), OnnxNet(TINY, "cpu")
    assert replace(fresh.info, name="") == replace(committed.info, name="")
    for case in committed.golden_cases():
        for name, outputs in fresh.run_feed(case.inputs).items():
            np.testing.assert_allclose(outputs, case.outputs[name], atol=1e-4)


def test_the_tiny_net_has_mild_opinions() -> None:
    net = OnnxNet(TINY, "cpu")
    spatial, features = example(9, 9, boards=8)
    outputs = net.run(spatial, features * 0.3)
    chances = np.exp(outputs.policy) / np.exp(outputs.policy).sum(1, keepdims=True)
    assert 1.02 < chances.max() * 82 < 4.0
    value = np.exp(outputs.value) / np.exp(outputs.value).sum(1, keepdims=True)
    assert np.ptp(value[:, 0] - value[:, 1]) > 0.001 and value[:, 2].max() < 0.02
