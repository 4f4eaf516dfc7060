"""Training: losses, batches, resuming, and the command from teacher to net."""

import errno
import json
import os
import shutil
import threading
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest
from onnx.numpy_helper import from_array, to_array
from tests.paths import TINY_NET

torch = pytest.importorskip("torch")

from gtp_engine.evaluators.nets.net_info import NetFileError  # noqa: E402
from gtp_engine.evaluators.nets.onnx_net import OnnxNet  # noqa: E402
from gtp_export.architectures import tower  # noqa: E402
from gtp_export.architectures.net_file import describe_net  # noqa: E402
from gtp_export.architectures.onnx_layers import write_graph  # noqa: E402
from gtp_export.architectures.tower import TOWERS  # noqa: E402
from gtp_export.commands import run as run_command  # noqa: E402
from gtp_export.convert.onnx_file import load_model  # noqa: E402
from gtp_export.labelling.generation import ShardMaker, count_by_kind  # noqa: E402
from gtp_export.labelling.samples import Samples, pack_samples, write_samples  # noqa: E402
from gtp_export.learning.batch import Batch, NetOutputs  # noqa: E402
from gtp_export.learning.distillation import DistilTask, _newest_student  # noqa: E402
from gtp_export.learning.fast_passes import CompiledNet  # noqa: E402
from gtp_export.learning.losses import losses  # noqa: E402
from gtp_export.learning.measures import measure  # noqa: E402
from gtp_export.learning.net_export import NetExport, weights_of  # noqa: E402
from gtp_export.learning.sample_source import (  # noqa: E402
    SampleSource,
    make_batch,
    transform_board,
    transform_policy,
)
from gtp_export.learning.starting_weights import load_weights  # noqa: E402
from gtp_export.learning.torch_layers import Net  # noqa: E402
from gtp_export.learning.trainer import (  # noqa: E402
    CHECKPOINT,
    Trainer,
    TrainError,
    TrainPlan,
    has_bfloat16,
    spent_in,
)
from gtp_export.learning.training import (  # noqa: E402
    describe_figures,
    read_metrics,
    train,
)
from gtp_export.progress_bar import ProgressBar  # noqa: E402
from gtp_export.run_settings import alone_in, keep_settings  # noqa: E402
from gtp_export.span import PAUSE, Meter, Span, Spent  # noqa: E402


def easy_samples(width: int, height: int, n: int) -> Samples:
    """Return samples whose answers can be read off a plane: play the marked point, it is ours."""
    generator = np.random.default_rng(width * height)
    area = width * height
    spatial = np.zeros((n, 22, height, width), np.uint8)
    spatial[:, 0] = 1
    marked = generator.integers(area, size=n)
    spatial.reshape(n, 22, area)[np.arange(n), 9, marked] = 1
    policy = np.zeros((n, area + 1), np.float32)
    policy[np.arange(n), marked] = 1
    wins = generator.integers(2, size=n)
    features = np.zeros((n, 19), np.float32)
    features[:, 5] = 2.0 * wins - 1.0
    value = np.stack([wins, 1 - wins, np.zeros(n)], 1).astype(np.float32)
    score = np.stack([10.0 * features[:, 5], np.full(n, 5.0), 10.0 * features[:, 5]], 1)
    owner = 2.0 * spatial[:, 9].astype(np.float32) - 1.0
    return pack_samples(spatial, features, policy, value, score.astype(np.float32), owner)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    for side in ("train", "valid"):
        (folder / side).mkdir(parents=True)
        write_samples(folder / side / "5x5-000000.npz", easy_samples(5, 5, 60))
        write_samples(folder / side / "other-000000.npz", easy_samples(4, 6, 60))
    return folder


LONG, SHORT = Span(10.0), Span(100, "samples")


def plan_for(data: Path, span: Span) -> TrainPlan:
    return TrainPlan(
        task=DistilTask(TOWERS["tiny"], data),
        out=data.parent / "run",
        span=span,
        batch_points=800,
        warm_up_steps=10,
    )


def test_perfect_outputs_cost_nothing() -> None:
    batch = make_batch(easy_samples(5, 5, 4), np.arange(4), 0)
    targets = batch.targets
    outputs = NetOutputs(
        policy=(targets.policy + 1e-9).log(),
        value=(targets.value + 1e-9).log(),
        score=targets.score,
        ownership_logit=20.0 * targets.ownership,
    )
    for name, loss in losses(outputs, targets).items():
        assert float(loss) == pytest.approx(0.0, abs=1e-4), name


def test_stones_are_no_moves_unless_the_teacher_plays_there() -> None:
    batch = make_batch(easy_samples(5, 5, 1), np.arange(1), 0)
    targets = batch.targets
    played = int(targets.policy.argmax())
    other = (played + 1) % 25
    occupied = torch.zeros(1, 25, dtype=torch.bool)
    occupied[0, [played, other]] = True
    logits = torch.zeros(1, 26)
    outputs = NetOutputs(logits, torch.zeros(1, 3), torch.zeros(1, 3), torch.zeros(1, 5, 5))
    found = losses(outputs, targets._replace(occupied=occupied))
    assert float(found["policy"]) == pytest.approx(np.log(25))


def test_symmetries_turn_board_and_policy_alike() -> None:
    board = np.arange(6).reshape(1, 2, 3)
    policy = np.concatenate([board.reshape(1, 6), [[99]]], axis=1)
    seen = set()
    for symmetry in range(8):
        turned = transform_board(board, symmetry)
        assert turned.shape == ((1, 3, 2) if symmetry & 4 else (1, 2, 3))
        moved = transform_policy(policy, 3, 2, symmetry)
        np.testing.assert_array_equal(moved[0, :-1], turned.ravel())
        assert moved[0, -1] == 99
        seen.add(turned.tobytes() + bytes(turned.shape))
    assert len(seen) == 8


@pytest.mark.parametrize("symmetry", range(8))
def test_batches_are_turned_as_a_whole(symmetry: int) -> None:
    batch = make_batch(easy_samples(4, 6, 8), np.arange(8), symmetry)
    marked = batch.spatial[:, 9].flatten(1).argmax(1)
    assert torch.equal(batch.targets.policy.argmax(1), marked)
    assert torch.equal(batch.targets.ownership.flatten(1).argmax(1), marked)


def test_batches_hold_one_size_and_about_as_many_points(data: Path) -> None:
    source = SampleSource(data / "train", batch_points=240)
    generator = np.random.default_rng(1)
    shapes = {tuple(source.draw(generator).spatial.shape) for _ in range(40)}
    assert shapes <= {(9, 22, 5, 5), (10, 22, 6, 4), (10, 22, 4, 6)} and len(shapes) == 3


def test_rare_sizes_are_a_tenth_of_the_batches_whatever_else_there_is(data: Path) -> None:
    write_samples(data / "train" / "9x9-000000.npz", easy_samples(9, 9, 20))
    source = SampleSource(data / "train", batch_points=240)
    generator = np.random.default_rng(1)
    drawn = [source.draw(generator).spatial.shape[2] == 9 for _ in range(500)]
    assert 0.86 < np.mean(drawn) < 0.94


def test_processes_share_the_shards(data: Path) -> None:
    for number in (2, 3, 4):
        write_samples(data / "train" / f"5x5-{number:06d}.npz", easy_samples(5, 5, 60 + number))
    held = []
    for rank in range(2):
        source = SampleSource(data / "train", 240, rank, processes=2)
        held.append({size: len(pool.features) for size, pool in source._pools.items()})
    assert held == [{(5, 5): 60 + 62 + 64, (4, 6): 60}, {(5, 5): 63}]
    lone = SampleSource(data / "valid", 240, 1, processes=2)
    assert len(lone._pools) == 2, "without a shard of its own it takes all"


def test_a_damaged_shard_is_passed_over(data: Path) -> None:
    (data / "train" / "9x9-000000.npz").write_bytes(b"half a file")
    source = SampleSource(data / "train", batch_points=240)
    assert set(source._pools) == {(5, 5), (4, 6)}


def test_an_empty_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no shards"):
        SampleSource(tmp_path, batch_points=240)


def test_training_learns_what_is_easy(data: Path) -> None:
    trainer = Trainer(0, plan_for(data, LONG))
    first = trainer.step()
    for _ in range(25):
        last = trainer.step()
    assert last["policy"] < 0.5 * first["policy"]
    assert last["value"] < 0.5 * first["value"]
    assert last["ownership"] < 0.5 * first["ownership"]


def test_training_goes_on_from_its_checkpoint(data: Path) -> None:
    plan = plan_for(data, LONG)
    plan.out.mkdir()
    trainer = Trainer(0, plan)
    for _ in range(3):
        trainer.step()
    trainer.save()
    resumed = Trainer(0, plan)
    resumed.restore()
    assert (resumed.steps, resumed.spent) == (trainer.steps, trainer.spent)
    assert spent_in(plan.out) == trainer.spent and min(trainer.spent) > 0
    for name, array in weights_of(trainer.average).items():
        np.testing.assert_array_equal(weights_of(resumed.average)[name], array)
    assert resumed.step() == pytest.approx(trainer.step(), rel=0.05)


def test_batches_drawn_ahead_are_the_same(data: Path) -> None:
    plan = plan_for(data, LONG)
    plan.out.mkdir()
    drawn: list[list[Batch]] = []
    for drawer in (None, ThreadPoolExecutor(1)):
        trainer = Trainer(0, plan)
        trainer._drawer = drawer
        drawn.append([])
        for trainer.steps in range(3):
            drawn[-1].append(trainer._take_batch())
    for one, other in zip(*drawn, strict=True):
        assert torch.equal(one.spatial, other.spatial)
        assert torch.equal(one.features, other.features)
    first, second, _ = drawn[0]
    assert first.spatial.shape != second.spatial.shape or not first.spatial.equal(second.spatial)


def test_a_fine_tuning_goes_on_without_the_net_that_it_began_with(data: Path) -> None:
    plan = plan_for(data, LONG)
    begun = data / "begun.pt"
    plan.out.mkdir()
    Trainer(0, plan).save()
    (plan.out / "checkpoint.pt").rename(begun)
    plan = replace(plan, start=begun, freeze=("stem",))
    trainer = Trainer(0, plan)
    trainer.step()
    trainer.save()
    begun.unlink()
    resumed = Trainer(0, plan)
    resumed.restore()
    assert resumed.steps == 1
    # Norms that learn go on as far as they were; those that are frozen count no steps.
    norms = dict(resumed.net.named_modules())
    assert norms["blocks.0.norm1"].steps == norms["blocks.0.norm1"].WARM_UP_STEPS + 1


def _let_go_on_once_halted(folder: Path) -> None:
    """Take the file away that halts a run, which has saved its state by then."""
    while not (folder / CHECKPOINT).exists():
        time.sleep(0.01)
    (folder / PAUSE).unlink()


def _export_nothing(net: torch.nn.Module, stem: str) -> None:
    """Stand in for what writes nets; can be sent to another process."""


@pytest.mark.parametrize("processes", [1, 2])
def test_a_file_halts_all_processes_and_they_end_together(
    data: Path, processes: int, said: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    plan = replace(plan_for(data, SHORT), processes=processes)
    plan.out.mkdir()
    (plan.out / PAUSE).touch()
    threading.Thread(target=_let_go_on_once_halted, args=(plan.out,), daemon=True).start()
    train(plan, _export_nothing)
    if processes > 1:
        said = [line.removeprefix("gtp-export: ") for line in capfd.readouterr().err.splitlines()]
    assert said[:2] == [f"halted until {plan.out / PAUSE} is gone", "going on"]
    spent = spent_in(plan.out)
    largest = 800 // 24  # boards a batch
    assert SHORT.amount <= spent.samples < SHORT.amount + processes * largest
    assert spent.core_seconds > 0


def test_a_run_begins_with_a_net_by_many_different_boards(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, ...]] = []

    def load(net: Net, path: Path, batches: Iterable[Batch]) -> int:
        seen.extend(tuple(batch.spatial.shape) for batch in batches)
        return 0

    monkeypatch.setattr("gtp_export.learning.trainer.load_weights", load)
    Trainer(0, replace(plan_for(data, SHORT), start=tmp_path / "start.onnx"))
    assert len(seen) == 32 and len(set(seen)) == 3, "boards of 5x5, 4x6 and 6x4"


def _begin(rank: int, plan: TrainPlan, folder: Path) -> None:
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder / 'rendezvous'}", rank=rank, world_size=2
    )
    torch.save(Trainer(rank, plan).net.state_dict(), folder / f"{rank}.pt")
    torch.distributed.destroy_process_group()


def test_all_processes_begin_with_the_same_net(data: Path, tmp_path: Path) -> None:
    start = tmp_path / "start.onnx"
    net = Net(TOWERS["tiny"])
    NetExport(tmp_path, describe_net(net.shape, "start"))(net, "start")
    plan = replace(plan_for(data, SHORT), processes=2, start=start)
    torch.multiprocessing.spawn(_begin, (plan, tmp_path), 2)
    first, second = (torch.load(tmp_path / f"{rank}.pt") for rank in range(2))
    for name, array in first.items():
        assert torch.equal(array, second[name]), name


def test_a_net_begun_with_is_normed_by_boards_of_all_sizes(data: Path, tmp_path: Path) -> None:
    begun = Net(TOWERS["tiny"])
    NetExport(tmp_path, describe_net(begun.shape, "start"))(begun, "start")
    boards = [make_batch(easy_samples(width, 5, 8), np.arange(8), 0) for width in (5, 12)]
    nets = []
    for batches in (boards[:1], boards[1:], boards):
        net = Net(TOWERS["tiny"])
        load_weights(net, tmp_path / "start.onnx", batches)
        nets.append(net)
    small, large, both = (dict(net.named_buffers()) for net in nets)
    for name in ("stem.norm.running_mean", "blocks.1.norm2.running_var"):
        assert not torch.allclose(small[name], large[name])
        torch.testing.assert_close(both[name], (small[name] + large[name]) / 2)


def write_start(path: Path, net: Net, arrays: dict[str, torch.Tensor]) -> None:
    """Write a checkpoint or a net file of a net, some of its arrays replaced."""
    if path.suffix == ".pt":
        torch.save({"average": net.state_dict() | arrays}, path)
        return
    model = write_graph(net.shape, weights_of(net), {})
    for array in model.graph.initializer:
        if array.name in arrays:
            array.CopyFrom(from_array(arrays[array.name].numpy(), array.name))
    path.write_bytes(model.SerializeToString())


def check_same_answers(net: Net, other: Net, batch: Batch) -> None:
    told = net.eval()(batch.spatial, batch.features)
    for mine, wanted in zip(told, other(batch.spatial, batch.features), strict=True):
        torch.testing.assert_close(mine, wanted, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("kind", ["onnx", "pt"])
def test_a_net_whose_values_did_not_read_the_ownership_computes_the_same(
    tmp_path: Path, kind: str
) -> None:
    torch.manual_seed(1)
    shape = TOWERS["tiny"]
    old, net = Net(shape).eval(), Net(shape)
    batches = [make_batch(easy_samples(5, 5, 8), np.arange(8), 0)]
    narrow = {}
    readers = [f"{name}.weight" for name in tower.ESTIMATE_READERS]
    for name in readers:
        narrow[name] = old.get_parameter(name)[:, : -tower.ESTIMATES].detach().clone()
    path = tmp_path / f"old.{kind}"
    write_start(path, old, narrow)
    with torch.no_grad():
        for name in readers:
            net.get_parameter(name)[:, -tower.ESTIMATES :] = 1.0
        load_weights(net, path, batches)
        check_same_answers(net, old, batches[0])


@pytest.mark.parametrize("kind", ["onnx", "pt"])
def test_channels_that_say_nothing_begin_anew_without_a_change_of_the_net(
    tmp_path: Path, kind: str
) -> None:
    torch.manual_seed(1)
    shape = TOWERS["tiny"]
    old, net = Net(shape).eval(), Net(shape)
    batch = make_batch(easy_samples(5, 5, 8), np.arange(8), 0)
    dead = {"value.hidden_norm": [0, 5], "blocks.1.norm1": [3], "policy.pass_norm": [2]}
    with torch.no_grad():
        for name, channels in dead.items():
            old.get_parameter(f"{name}.bias")[channels] = -100.0
    write_start(tmp_path / f"old.{kind}", old, {})
    assert load_weights(net, tmp_path / f"old.{kind}", [batch]) >= 4
    check_same_answers(net, old, batch)
    told = net(batch.spatial, batch.features)
    readers = {"value.hidden_norm": "value.out", "blocks.1.norm1": "blocks.1.pool"}
    sum(part.square().sum() for part in told).backward()
    for name, reader in readers.items():
        weights = net.get_parameter(f"{reader}.weight")
        assert weights.grad is not None
        assert (weights[:, dead[name]] == 0.0).all() and (weights.grad[:, dead[name]] != 0.0).any()


def test_folded_weights_are_as_large_as_untrained_ones(tmp_path: Path) -> None:
    torch.manual_seed(1)  # with others a channel may be dead, which begins anew
    begun, net = Net(TOWERS["tiny"]), Net(TOWERS["tiny"])
    with torch.no_grad():
        begun.get_parameter("blocks.0.norm1.weight").fill_(0.02)
    NetExport(tmp_path, describe_net(begun.shape, "start"))(begun, "start")
    batch = make_batch(easy_samples(5, 5, 8), np.arange(8), 0)
    load_weights(net, tmp_path / "start.onnx", [batch])
    sizes = net.get_parameter("blocks.0.conv1.weight").flatten(1).norm(dim=1)
    torch.testing.assert_close(sizes, torch.full_like(sizes, 2.0**0.5))


def test_a_checkpoint_to_begin_with_has_a_student_beside_it(tmp_path: Path) -> None:
    plan = replace(
        plan_for(tmp_path, SHORT), out=tmp_path / "new", start=tmp_path / "checkpoint.pt"
    )
    assert _newest_student(plan) is None
    (tmp_path / "student-final.onnx").touch()
    assert _newest_student(plan) == tmp_path / "student-final.onnx"
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "student-latest.onnx").touch()
    assert _newest_student(plan) == tmp_path / "new" / "student-latest.onnx"


COMPILERS = ("c++", "g++", "clang++", "cl")
"""Of which `torch.compile` needs one."""


def steps_of(data: Path) -> tuple[list[dict[str, float]], CompiledNet]:
    """Return the losses of some steps of a net of one block, and what computed it."""
    shape = replace(TOWERS["tiny"], blocks=1)
    plan = replace(plan_for(data, Span(1e6, "samples")), task=DistilTask(shape, data))
    trainer = Trainer(0, plan)
    trainer._compute = compiled = CompiledNet(trainer.net)  # on every processor
    return [trainer.step() for _ in range(4)], compiled


@pytest.mark.skipif(not any(map(shutil.which, COMPILERS)), reason="there is no compiler of C++")
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
def test_steps_of_a_compiled_net_are_those_of_the_net(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CompiledNet, "_seen", Counter())
    monkeypatch.setattr(CompiledNet, "_often", set())
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("gtp_export.learning.trainer.has_bfloat16", lambda device: False)
    wanted, _ = steps_of(data)
    assert not CompiledNet._often
    monkeypatch.setattr("gtp_export.learning.fast_passes.COMPILE_AFTER", 0)
    monkeypatch.setattr("gtp_export.learning.fast_passes.COMPILED_SHAPES", 1)
    found, compiled = steps_of(data)
    assert compiled._works and len(compiled._often) == 1
    for one, other in zip(found, wanted, strict=True):
        assert one == pytest.approx(other, rel=1e-3)


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
def test_training_goes_on_where_nothing_can_be_compiled(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(CompiledNet, "_seen", Counter())
    monkeypatch.setattr(CompiledNet, "_often", set())
    wanted, _ = steps_of(data)
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("gtp_export.learning.fast_passes.COMPILE_AFTER", 0)
    with torch._inductor.config.patch({"cpp.cxx": ("/nowhere/g++",)}), caplog.at_level("INFO"):
        found, compiled = steps_of(data)
    assert not compiled._works
    # Where arrays happen to lie in memory changes the last digits.
    for one, other in zip(found, wanted, strict=True):
        assert one == pytest.approx(other, rel=1e-4)
    (line,) = caplog.messages
    assert line.startswith("training goes on without compiling") and "\n" not in line


def test_what_a_halt_takes_is_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0

    def sleep(seconds: float) -> None:
        nonlocal now
        now += 3600.0
        (tmp_path / PAUSE).unlink()

    monkeypatch.setattr("gtp_export.span.time.perf_counter", lambda: now)
    monkeypatch.setattr("gtp_export.span.time.sleep", sleep)
    meter = Meter(tmp_path)
    (tmp_path / PAUSE).touch()
    now += 1.0
    meter.wait_while_halted()
    now += 1.0
    assert meter.lap().seconds == 2.0 and meter.lap().seconds == 0.0


def test_a_drive_that_does_not_answer_halts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: object, **options: object) -> None:
        raise OSError(errno.ESTALE, "stale file handle")

    monkeypatch.setattr(os, "stat", fail)
    assert not Meter(Path("run")).is_halted()


@pytest.mark.parametrize(
    ("unit", "share"), [("samples", 0.1), ("core-hours", 0.2), ("minutes", 0.3)]
)
def test_a_span_is_of_one_unit(data: Path, unit: str, share: float) -> None:
    span = Span(10.0, unit)
    spent = Spent(samples=1, core_seconds=2 * 3600.0, seconds=3 * 60.0)
    assert span.share(spent) == pytest.approx(share)
    assert span.left(spent.plus(spent)).endswith(f"of 10 {unit} left")
    # The rate falls with the share of the span, whatever its unit.
    trainer = Trainer(0, replace(plan_for(data, span), warm_up_steps=1, learning_rate=1.0))
    trainer.spent = spent
    assert trainer._learning_rate() == pytest.approx(0.5 + 0.5 * np.cos(np.pi * share))


def test_an_older_versions_checkpoint_is_one_sentence(data: Path) -> None:
    plan = plan_for(data, LONG)
    plan.out.mkdir()
    Trainer(0, plan).save()
    state = torch.load(plan.out / "checkpoint.pt")
    del state["spent"]
    torch.save(state | {"samples": 5, "seconds": 3.0}, plan.out / "checkpoint.pt")
    with pytest.raises(TrainError, match="older version; --from"):
        Trainer(0, plan).restore()


def test_a_checkpoint_with_other_numbers_of_its_shape_goes_on(data: Path) -> None:
    """Versions before had no attention, and said how many planes there are."""
    plan = plan_for(data, LONG)
    plan.out.mkdir()
    trainer = Trainer(0, plan)
    trainer.step()
    trainer.save()
    state = torch.load(plan.out / "checkpoint.pt")
    del state["shape"]["attention_heads"]
    state["shape"] |= {"planes": 22, "features": 19}
    torch.save(state, plan.out / "checkpoint.pt")
    resumed = Trainer(0, plan)
    resumed.restore()
    assert resumed.steps == 1


def test_a_checkpoint_of_another_shape_is_refused(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_for(data, LONG)
    plan.out.mkdir()
    Trainer(0, plan).save()
    other = replace(plan, task=DistilTask(TOWERS["b4c48"], data))
    with pytest.raises(TrainError, match="another shape"):
        Trainer(0, other).restore()
    # The same numbers, in a version whose arrays are larger.
    monkeypatch.setattr(tower, "SCORE_COLUMNS", (*tower.SCORE_COLUMNS, "another"))
    with pytest.raises(TrainError, match="another shape"):
        Trainer(0, plan).restore()


@pytest.mark.parametrize("content", [b"", b"junk", b"half"])
def test_a_damaged_checkpoint_is_one_sentence(data: Path, content: bytes) -> None:
    plan = plan_for(data, LONG)
    plan.out.mkdir()
    path = plan.out / "checkpoint.pt"
    trainer = Trainer(0, plan)
    trainer.save()
    path.write_bytes(path.read_bytes()[:5000] if content == b"half" else content)
    with pytest.raises(NetFileError, match=r"checkpoint\.pt: is no checkpoint, or damaged"):
        trainer.restore()
    with pytest.raises(NetFileError, match=r"checkpoint\.pt: is no checkpoint, or damaged"):
        Trainer(0, replace(plan, start=path, out=data))


def test_two_runs_are_not_in_one_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--teacher", TINY_NET, "--out", str(tmp_path), "--preset", "tiny"]
    with alone_in(tmp_path):
        assert run_command(["distil", *arguments, "--samples", "500"]) == 1
    assert "another run is at work there" in capsys.readouterr().err
    assert not (tmp_path / "data").exists()


def test_a_run_that_diverges_stops_before_its_weights_are_lost(data: Path) -> None:
    trainer = Trainer(0, replace(plan_for(data, LONG), learning_rate=1e30))
    with pytest.raises(TrainError, match=r"no longer finite at step [23]"):
        for _ in range(5):
            trainer.step()
    assert all(bool(array.isfinite().all()) for array in trainer.net.parameters())


def test_a_folder_is_of_one_run(tmp_path: Path) -> None:
    keep_settings(tmp_path, size=19, games="typo")  # nothing came of it
    keep_settings(tmp_path, size=9, games="a")
    (tmp_path / "checkpoint.pt").touch()
    keep_settings(tmp_path, size=9, games="a")
    for wanted, complaint in (
        ({"size": 13}, "with another --size"),
        ({"games": "b"}, "of other games"),
        ({"komi": 7.0}, "by another command or version"),
    ):
        with pytest.raises(NetFileError, match=f"was made {complaint}; choose another --out"):
            keep_settings(tmp_path, **wanted)
    for damaged in ("{", "null"):
        (tmp_path / "settings.json").write_text(damaged)
        with pytest.raises(NetFileError, match="is damaged"):
            keep_settings(tmp_path, size=9)


def test_a_line_that_a_full_disk_cut_is_taken_away(data: Path) -> None:
    plan = plan_for(data, SHORT)
    plan.out.mkdir()
    (plan.out / "metrics.jsonl").write_text('{"net": "first"}\n{"net": "sec')
    train(plan, lambda net, stem: None)
    lines = (plan.out / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["net"] for line in lines] == ["first", "student-final"]


def test_a_line_that_a_power_cut_damaged_is_left_out(data: Path) -> None:
    plan = plan_for(data, SHORT)
    train(plan, lambda net, stem: None)
    with (plan.out / "metrics.jsonl").open("ab") as file:
        file.write(b'\0\0\0\xff\0"}\n')
    train(plan, lambda net, stem: None)
    assert [entry["net"] for entry in read_metrics(plan.out)] == ["student-final"] * 2


def test_counts_leave_damaged_shards_out(data: Path) -> None:
    (data / "train" / "9x9-000000.npz").write_bytes(b"half a file")
    assert count_by_kind(data / "train") == {"5x5": 60, "other": 60}


class _Shown:
    """A bar that notes what it is told."""

    def __init__(self) -> None:
        self.shares: list[float] = []
        self.closed = 0

    def __enter__(self) -> Self:
        return self

    def tell(self, share: float, text: str, line: str = "") -> None:
        self.shares.append(share)

    def __exit__(self, *error: object) -> None:
        self.closed += 1


def test_the_terminal_is_left_as_it_was_when_a_run_fails(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bar = _Shown()
    monkeypatch.setattr("gtp_export.learning.training.ProgressBar", lambda: bar)
    plan = replace(plan_for(data, LONG), learning_rate=1e30)
    with pytest.raises(TrainError):
        train(plan, lambda net, stem: None)
    assert bar.closed == 1
    finished = _Shown()
    monkeypatch.setattr("gtp_export.learning.training.ProgressBar", lambda: finished)
    plan = plan_for(data, SHORT)
    train(plan, lambda net, stem: None)
    assert finished.shares[-1] == 1.0 and finished.closed == 1


def test_without_a_terminal_progress_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    with ProgressBar() as bar:
        bar.tell(0.5, "step 50", "1 of 2 minutes left, step 50")
        bar.tell(1.0, "measuring")
    assert caplog.messages == ["1 of 2 minutes left, step 50"]


def test_a_run_measures_and_exports_at_its_end(data: Path) -> None:
    plan, exported = plan_for(data, SHORT), []
    train(plan, lambda net, stem: exported.append(stem))
    assert exported == ["student-final"]
    entry = json.loads((plan.out / "metrics.jsonl").read_text().splitlines()[-1])
    assert entry["steps"] > 0 and set(entry["valid"]) == {"other"}


def test_a_finished_run_that_ends_again_tells_its_losses(data: Path) -> None:
    plan = plan_for(data, SHORT)
    for _ in range(2):
        train(plan, lambda net, stem: None)
    first, again = map(json.loads, (plan.out / "metrics.jsonl").read_text().splitlines())
    assert again["losses"] == first["losses"] and first["losses"]["policy"] > 0


def test_measures_of_a_net_lie_in_their_ranges(data: Path) -> None:
    net = Net(TOWERS["tiny"])
    net.eval()
    found = measure(net, data / "valid")["other"]
    assert found["positions"] == 120
    assert found["policy_kl"] > 0 and 0 <= found["top1"] <= 1 and 0 <= found["win_error"] <= 1


def test_figures_are_told_in_words() -> None:
    figures = {
        "policy": 1.92,
        "9x9": {"positions": 1500, "policy_kl": 0.11},
        "other": {"top1": 0.5},
    }
    told = "policy 1.92; 9x9: positions 1500, policy kl 0.11; other: top1 0.5"
    assert describe_figures(figures) == told


def test_the_command_makes_a_net(
    tmp_path: Path, said: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--teacher", TINY_NET, "--out", str(tmp_path), "--preset", "tiny"]
    assert run_command(["distil", *arguments, "--samples", "500", "--name", "pupil"]) == 0
    info = OnnxNet(tmp_path / "student-final.onnx", "cpu").info
    assert info.name == "pupil" and "tiny" in info.source
    assert "records" not in info.trained_on
    assert said[-1] == f"wrote {tmp_path / 'student-final.onnx'}"
    facts = json.loads((tmp_path / "facts.json").read_text())
    assert facts["positions"]["train"]
    card = (tmp_path / "student-final.md").read_text()
    words = f"--teacher tiny.onnx --out {tmp_path.name} --preset tiny --samples 500 --name pupil"
    assert f"    gtp-export distil {words}\n" in card
    assert "# pupil" in card and "2 post-activation residual blocks" in card
    assert "| Boards | 2 to 25, rectangles too |" in card
    assert (", bf16," in card) == has_bfloat16("cpu")
    # It learned all boards, so it does not become a net of small ones alone.
    assert run_command(["distil", *arguments, "--samples", "600", "--largest-board", "9"]) == 1
    assert "was made with another --largest-board; choose another" in capsys.readouterr().err
    assert run_command(["distil", *arguments, "--samples", "600", "--from", TINY_NET]) == 1
    assert "was made from another net; choose another" in capsys.readouterr().err


def test_rounds_label_and_train_in_turn_and_go_on_where_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[str, float]] = []
    make_shards = ShardMaker.make_shards

    def label(maker: ShardMaker, span: Span) -> int:
        told.append(("label", span.amount))
        return make_shards(maker, span)

    def train_until(*arguments: Any, until: float) -> None:
        told.append(("train", until))
        train(*arguments, until=until)

    monkeypatch.setattr(ShardMaker, "make_shards", label)
    monkeypatch.setattr("gtp_export.learning.distillation.train", train_until)
    arguments = ["--teacher", TINY_NET, "--out", str(tmp_path), "--preset", "tiny"]
    spans = ["--samples", "300", "--label-positions", "4000", "--rounds", "2"]
    spans += ["--student-games", "0.5"]
    assert run_command(["distil", *arguments, *spans]) == 0
    both = [("label", 2000.0), ("train", 0.5), ("label", 4000.0), ("train", 1.0)]
    assert told == both
    # The first round has no student yet, the second has what it made.
    made = json.loads((tmp_path / "facts.json").read_text())["positions"]["train"]
    assert 0.2 < made["student"] / sum(made.values()) < 0.6
    assert not (tmp_path / "student-latest.onnx").exists()
    checkpoint = tmp_path / "checkpoint.pt"
    # Killed after the second round's labels, it does not label once more.
    state = torch.load(checkpoint)
    torch.save(state | {"spent": (160, *state["spent"][1:])}, checkpoint)
    told.clear()
    assert run_command(["distil", *arguments, *spans]) == 0
    assert told == [("train", 1.0)]
    # Killed in the first round's training.
    torch.save(state | {"spent": (10, *state["spent"][1:])}, checkpoint)
    told.clear()
    assert run_command(["distil", *arguments, *spans]) == 0
    assert told == [("train", 0.5), ("train", 1.0)]


def test_the_command_goes_on_from_a_net(tmp_path: Path) -> None:
    arguments = ["--teacher", TINY_NET, "--preset", "tiny", "--samples", "500"]
    first, second = tmp_path / "first", tmp_path / "second"
    assert run_command(["distil", *arguments, "--out", str(first), "--licence", "CC0"]) == 0
    start = first / "student-final.onnx"
    games = tmp_path / "games.sgf"
    games.write_text("(;SZ[9];B[aa];W[bb])")
    more = ["--out", str(second), "--from", str(start), "--games", str(games)]
    more += ["--freeze", "stem,policy"]
    assert run_command(["distil", *arguments, *more]) == 0
    made = OnnxNet(second / "student-final.onnx", "cpu").info
    assert made.source.endswith("begun with student-final.onnx") and made.licence == "CC0"
    assert json.loads((second / "facts.json").read_text())["learning_rate"] == 0.01
    assert "game records (games.sgf), labelled by" in made.trained_on
    before, after = (
        {array.name: to_array(array) for array in load_model(path).graph.initializer}
        for path in (start, second / "student-final.onnx")
    )
    for name in ("stem.conv.weight", "policy.conv.weight"):
        np.testing.assert_allclose(after[name], before[name], atol=1e-5)
    assert np.abs(after["value.conv.weight"] - before["value.conv.weight"]).max() > 1e-3


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("--label-minutes", "nan", "--label-minutes: 'nan' is not a number above 0"),
        ("--minutes", "nan", "--minutes: 'nan' is not a number above 0"),
        ("--core-hours", "-1", "--core-hours: '-1' is not a number above 0"),
        ("--label-positions", "0", "--label-positions: '0' is not a number above 0"),
        ("--rounds", "0", "--rounds: '0' is not a whole number of 1 or more"),
        ("--student-games", "1", "below 1"),
        ("--learning-rate", "-1", "--learning-rate: '-1' is not a number above 0"),
        ("--learning-rate", "nan", "--learning-rate: 'nan' is not a number above 0"),
        ("--played-weight", "1", "below 1"),
        ("--playouts", "1", "at least 2"),
    ],
)
def test_absurd_numbers_are_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, value: str, sentence: str
) -> None:
    arguments = ["--teacher", TINY_NET, "--out", str(tmp_path), "--preset", "tiny"]
    with pytest.raises(SystemExit) as leaving:
        run_command(["distil", *arguments, option, value])
    error = capsys.readouterr().err
    assert leaving.value.code == 2 and error.count("\n") == 1 and sentence in error


def test_labels_leave_time_for_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--teacher", TINY_NET, "--out", str(tmp_path), "--preset", "tiny"]
    assert run_command(["distil", *arguments, "--label-minutes", "60"]) == 1
    assert "--label-minutes must be less than --minutes" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("--student-games", "0.5", "gtp-export: --student-games "),
        ("--student-playouts", "50", "gtp-export: --student-playouts "),
        ("--played-weight", "0.5", "gtp-export: --played-weight "),
        ("--freeze", "roof", "there are no layers 'roof'"),
        ("--from", "nosuch.pt", "nosuch.pt: cannot be read: No such file"),
        ("--from", "small", "has blocks.2, which the preset lacks"),
    ],
)
def test_what_cannot_be_or_would_do_nothing_is_refused_before_anything_is_labelled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, value: str, sentence: str
) -> None:
    run = tmp_path / "run"
    arguments = ["--teacher", TINY_NET, "--out", str(run), "--preset", "tiny"]
    assert run_command(["distil", *arguments, "--samples", "100", option, value]) == 1
    assert sentence in capsys.readouterr().err and not run.exists()


def test_the_student_that_plays_is_the_net_written_last(data: Path) -> None:
    plan = replace(plan_for(data, SHORT), start=data / "begun.onnx")
    assert _newest_student(plan) == plan.start
    plan.out.mkdir()
    for seconds, which in enumerate(("latest", "final", "latest")):
        path = plan.out / f"student-{which}.onnx"
        path.touch()
        os.utime(path, (seconds, seconds))
        assert _newest_student(plan) == path


def test_games_on_large_boards_alone_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    game = tmp_path / "game.sgf"
    game.write_text("(;SZ[13]RE[B+3];B[cc];W[kk];B[ck];W[kc])")
    arguments = ["--teacher", TINY_NET, "--out", str(tmp_path / "run"), "--preset", "tiny"]
    assert run_command(["distil", *arguments, "--games", str(game), "--largest-board", "9"]) == 1
    error = capsys.readouterr().err
    assert "game.sgf: no game is on a board of 2 to 9 points a side" in error
    between = ["--largest-board", "9", "--smallest-board", "10"]
    assert run_command(["distil", *arguments, *between]) == 1
    assert "--smallest-board is larger than --largest-board" in capsys.readouterr().err


def test_a_preset_nobody_knows_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--teacher", TINY_NET, "--out", str(tmp_path), "--preset", "huge"]
    assert run_command(["distil", *arguments]) == 1
    assert "unknown preset 'huge'" in capsys.readouterr().err
