"""What `gtp-engine doctor --prove` proves, as tests, and that a GPU trains as told.

Skipped, with the reason, without a GPU.
"""

from collections.abc import Callable

import pytest

from gtp_engine.commands.doctor_proof import PROOFS
from gtp_engine.evaluators.runtimes.devices import cuda_obstacle

OBSTACLE = cuda_obstacle()


@pytest.mark.parametrize("prove", [prove for _, needs_gpu, prove in PROOFS if needs_gpu])
@pytest.mark.skipif(OBSTACLE is not None, reason=str(OBSTACLE))
def test_the_gpu(prove: Callable[[str | None], str]) -> None:
    assert prove(None)


@pytest.mark.skipif(OBSTACLE is not None, reason=str(OBSTACLE))
def test_a_replayed_pass_trains_like_a_told_one(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    from gtp_export.architectures.tower import TOWERS
    from gtp_export.learning import fast_passes
    from gtp_export.learning.torch_layers import Net

    monkeypatch.setattr(fast_passes, "GRAPH_AFTER", 1)
    torch.manual_seed(1)
    told, replayed = Net(TOWERS["tiny"]).cuda().train(), Net(TOWERS["tiny"]).cuda().train()
    replayed.load_state_dict(told.state_dict())
    graphed = fast_passes.GraphedNet(replayed)
    for _ in range(4):
        spatial = torch.randint(0, 2, (16, 22, 9, 9), dtype=torch.uint8, device="cuda")
        features = torch.randn(16, 19, device="cuda")
        for run, net in ((told, told), (graphed, replayed)):
            net.zero_grad(set_to_none=False)
            with torch.autocast("cuda", torch.bfloat16, cache_enabled=False):
                outputs = run(spatial, features)
            sum(output.square().mean() for output in outputs).backward()
        for one, other in zip(told.parameters(), replayed.parameters(), strict=True):
            scale = float(one.grad.abs().max()) + 1e-6
            assert float((one.grad - other.grad).abs().max()) < 0.03 * scale
        for one, other in zip(told.buffers(), replayed.buffers(), strict=True):
            torch.testing.assert_close(one, other, rtol=0.02, atol=0.01)
    assert graphed._works and len(graphed._passes) == 1
