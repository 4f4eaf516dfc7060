"""What one process of a training run does: draw batches, move weights, write checkpoints.

Each step, every process draws a batch of one board size, of about the same number of points
whatever the size; gradients are averaged over the processes, and what each has spent is added up
with them, so that all end at the same step. The learning rate follows one cosine over the span.
The weights that are measured and shipped are a running average.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
import torch
from torch import Tensor, distributed

from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.files import whole_file
from gtp_export.architectures.shape import Shape, arrays_of
from gtp_export.learning.batch import Batch, NetOutputs
from gtp_export.learning.fast_passes import CompiledNet, GraphedNet
from gtp_export.learning.running_norm import RunningNorm
from gtp_export.learning.starting_weights import freeze, load_weights, read_checkpoint
from gtp_export.learning.torch_layers import Net
from gtp_export.plans import NetRun
from gtp_export.span import Meter, Spent

CHECKPOINT = "checkpoint.pt"
CHECKPOINT_SECONDS = 30.0
"""Whoever runs a trainer writes one so often."""
BUFFER_SYNC_STEPS = 50
STARTING_BATCHES = 32
"""The norms of a net that a run begins with get their statistics from so many."""
MOMENTUM = 0.9
WEIGHT_DECAY = 1e-4
"""On weights with more than one axis."""
MAX_GRADIENT_NORM = 3.0
LOSS_DECAY = 0.98
"""Of the mean losses, a step."""


_STATE = {"shape", "net", "average", "optimizer", "norm_steps", "steps"}
"""What a run goes on from; its checkpoint tells what was spent besides."""


class TrainError(NetFileError):
    """A run that cannot go on; the message says why and what is kept."""


class Source(Protocol):
    """Where batches come from."""

    @property
    def waited(self) -> float:
        """Seconds the trainer has waited for batches."""

    def draw(self, generator: np.random.Generator) -> Batch:
        """Return the next batch, of boards of one size."""


class Task(Protocol):
    """What is to be learned; can be sent to another process."""

    @property
    def shape(self) -> Shape:
        """The architecture."""

    def source(self, batch_points: int, seed: int, rank: int = 0, processes: int = 1) -> Source:
        """Begin to draw batches of boards with so many points together, for one of the processes.

        Args:
            batch_points: Points of the boards of a batch, about.
            seed: Another one for every process.
            rank: Which process it is, from 0.
            processes: How many there are; together they draw from everything.
        """

    def losses(self, outputs: NetOutputs, targets: Any) -> dict[str, Tensor]:
        """Return mean losses of a batch by name, [] each; those without a weight are only told."""

    def measure(self, net: Net, device: str) -> dict[str, Any]:
        """Return how good a net is, on what is not learned from."""


@dataclass(frozen=True, kw_only=True)
class TrainPlan(NetRun):
    """How a net is to be trained."""

    task: Task
    learning_rate: float = 0.25
    """Peak. Tuned by hand in runs of a minute."""
    adam: bool = False
    """Whether Adam moves the weights instead of SGD with Nesterov momentum."""
    warm_up_steps: int = 100
    average_decay: float = 0.999
    stem: str = "student"
    """What the names of written nets begin with."""
    halt: Path | None = None
    """The folder in which a file PAUSE halts it; None: `out`."""
    device: str = "cpu"
    loss_weights: Mapping[str, float] = field(
        default_factory=lambda: {"policy": 1.0, "value": 2.5, "score": 1.0, "ownership": 4.0}
    )

    @classmethod
    def of(cls, run: NetRun, **more: Any) -> "TrainPlan":
        """Return the plan of a run, with a device that is there; `more` has the learning rate.

        Raises:
            NetFileError: CUDA is asked for and there is none.
        """
        shared = {one.name: getattr(run, one.name) for one in fields(NetRun)}
        is_there = torch.cuda.is_available()
        if run.device == "cuda" and not is_there:
            raise NetFileError("this PyTorch finds no CUDA device")
        shared["device"] = "cuda" if run.device != "cpu" and is_there else "cpu"
        if shared["device"] == "cuda":
            shared["processes"] = 1
        return cls(**shared | more)


class Trainer:
    """One process's share of a training run."""

    def __init__(self, rank: int, plan: TrainPlan) -> None:
        """Build the net, the same in every process."""
        torch.manual_seed(plan.seed)
        self._plan = plan
        self._rank = rank
        shape = plan.task.shape
        self.net = Net(shape).to(plan.device)
        self._compute: Callable[[Tensor, Tensor], NetOutputs] = self.net
        if plan.device == "cuda":
            self._compute = GraphedNet(self.net)
        elif has_bfloat16("cpu"):  # in fp32 the convolutions take nearly all the time
            self._compute = CompiledNet(self.net)
        self.average = Net(shape).to(plan.device)
        self._autocast = torch.autocast(
            plan.device,
            torch.bfloat16,
            enabled=has_bfloat16(plan.device),
            cache_enabled=False,  # no weight is used twice, and graphs do not bear it
        )
        self.steps = 0
        self.spent = Spent()
        """By all processes; the same in all of them."""
        self.meter = Meter(plan.halt or plan.out)
        self._source: Source | None = None
        self._first_draw = False
        # A GPU learns from one batch while the processor draws the next.
        self._drawer = ThreadPoolExecutor(1) if plan.device == "cuda" else None
        self._ahead: Future[Batch] | None = None
        """The next step's batch."""
        self.revived = 0
        """Channels of the net begun with that let nothing through and learn anew."""
        if plan.start is not None and not (plan.out / CHECKPOINT).exists():
            generator = np.random.default_rng([plan.seed, rank])
            boards = (self._draw(generator).to(plan.device) for _ in range(STARTING_BATCHES))
            self.revived = load_weights(self.net, plan.start, boards)
            if plan.processes > 1:  # each has seen other boards
                for array in self.net.state_dict().values():
                    distributed.broadcast(array, 0)
        self._frozen_norms = freeze(self.net, plan.freeze)
        self.average.load_state_dict(self.net.state_dict())
        self.average.eval()
        weights = [p for p in self.net.parameters() if p.dim() > 1]
        others = [p for p in self.net.parameters() if p.dim() <= 1]
        groups = [
            {"params": weights, "weight_decay": WEIGHT_DECAY},
            {"params": others, "weight_decay": 0.0},
        ]
        self._optimizer: Any
        if plan.adam:
            self._optimizer = torch.optim.AdamW(groups, lr=plan.learning_rate)
        else:
            self._optimizer = torch.optim.SGD(
                groups, lr=plan.learning_rate, momentum=MOMENTUM, nesterov=True
            )

    @property
    def progress(self) -> float:
        """Share of the span that has passed."""
        return self._plan.span.share(self.spent)

    @property
    def waited(self) -> float:
        """Seconds this process has waited for batches since it began."""
        return 0.0 if self._source is None else self._source.waited

    def step(self) -> dict[str, float]:
        """Draw a batch and move the weights; return the losses by name.

        Raises:
            TrainError: The run has diverged; the weights are as they were before the step.
        """
        batch = self._take_batch()
        self.net.train()
        for norm in self._frozen_norms:
            norm.eval()
        with self._autocast:
            outputs = self._compute(batch.spatial, batch.features)
        found = self._plan.task.losses(outputs, batch.targets)
        weights = self._plan.loss_weights
        total = sum(weights[name] * loss for name, loss in found.items() if name in weights)
        self._optimizer.zero_grad(set_to_none=False)
        total.backward()
        self._share_gradients(len(batch.features))
        found["gradient"] = torch.nn.utils.clip_grad_norm_(self.net.parameters(), MAX_GRADIENT_NORM)
        if not torch.isfinite(found["gradient"]):
            raise TrainError(
                f"gradients are no longer finite at step {self.steps + 1}; the checkpoint in "
                f"{self._plan.out} is kept, a smaller --learning-rate resumes it"
            )
        rate = self._learning_rate()
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        self._optimizer.step()
        self.steps += 1
        self._update_average()
        return {name: float(loss.detach()) for name, loss in found.items()}

    def _take_batch(self) -> Batch:
        """Return the batch of this step; the same whether or not it is drawn ahead."""
        if self._drawer is None:
            return self._draw(self._generator(self.steps)).to(self._plan.device)
        ahead = self._ahead or self._drawer.submit(self._draw, self._generator(self.steps))
        batch = ahead.result()
        self._ahead = self._drawer.submit(self._draw, self._generator(self.steps + 1))
        return batch.to(self._plan.device)  # here, for nobody else may use the GPU at times

    def _generator(self, step: int) -> np.random.Generator:
        return np.random.default_rng([self._plan.seed, self._rank, step])

    def _draw(self, generator: np.random.Generator) -> Batch:
        plan = self._plan
        if self._source is None:
            # Another seed after a restart, so that it does not draw the same again.
            seed = [plan.seed, self._rank, self.steps]
            drawn = int(np.random.SeedSequence(seed).generate_state(1)[0])
            self._source = plan.task.source(plan.batch_points, drawn, self._rank, plan.processes)
            self._first_draw = True
        batch = self._source.draw(generator)
        if self._first_draw:  # what starting takes, compiling above all, is not training
            self._first_draw = False
            self.meter.forgive_seconds()
        return batch

    def _learning_rate(self) -> float:
        warm = min(1.0, (self.steps + 1) / self._plan.warm_up_steps)
        cosine = 0.5 * (1.0 + np.cos(np.pi * min(1.0, self.progress)))
        return float(self._plan.learning_rate * warm * cosine)

    def _share_gradients(self, drawn: int) -> None:
        """Average the gradients over the processes, and add up what each has spent."""
        lap = self.meter.lap()._replace(samples=drawn)
        processes = self._plan.processes
        if processes == 1:
            self.spent = self.spent.plus(lap)
            return
        gradients = [p.grad for p in self.net.parameters() if p.grad is not None]
        laps = torch.zeros(processes, len(lap))
        if self._rank > 0:  # the others wait for the first one, also while it is halted
            lap = lap._replace(seconds=0.0)
        laps[self._rank] = torch.tensor(lap)
        _average([*gradients, laps])
        samples, *times = (processes * laps.double()).sum(0).tolist()
        self.spent = self.spent.plus(Spent(round(samples), *times))
        if self.steps % BUFFER_SYNC_STEPS == 0:
            _average([b for name, b in self.net.named_buffers() if ".running_" in name])

    def _update_average(self) -> None:
        # Early on the average follows closely, so that it forgets the random start.
        decay = min(self._plan.average_decay, (1.0 + self.steps) / (10.0 + self.steps))
        state, average = self.net.state_dict(), self.average.state_dict()
        with torch.no_grad():  # all at once: a GPU takes as long for each of many small ones
            torch._foreach_lerp_(
                list(average.values()), [state[name] for name in average], 1.0 - decay
            )

    def save(self) -> None:
        """Write a checkpoint, all of it or nothing."""
        state = {
            "shape": asdict(cast(Any, self._plan.task.shape)),
            "net": self.net.state_dict(),
            "average": self.average.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "norm_steps": max(float(norm.steps) for norm in _norms(self.net)),  # frozen ones: 0
            "steps": self.steps,
            "spent": tuple(self.spent),
        }
        path = self._plan.out / CHECKPOINT
        try:
            with whole_file(path) as file:
                torch.save(state, file)
        except (OSError, RuntimeError) as error:  # torch's own writer raises RuntimeError
            raise TrainError(
                f"{path}: cannot be written: {str(error).splitlines()[0]}; the one before is kept"
            ) from None

    def restore(self) -> None:
        """Go on from the checkpoint, if there is one.

        Raises:
            NetFileError: It is damaged, or holds a net of another shape.
        """
        path = self._plan.out / CHECKPOINT
        if not path.exists():
            return
        state = read_checkpoint(path, self._plan.device)
        if not state.keys() >= _STATE:
            raise TrainError(f"{path}: is no checkpoint of a run")
        shape = self._plan.task.shape
        sizes = {name: tuple(array.shape) for name, array in state["net"].items()}
        numbers, noted = asdict(cast(Any, shape)), state["shape"]
        # A checkpoint may lack numbers, or have some that are no more; its arrays tell the rest.
        is_other = any(numbers[name] != noted[name] for name in numbers.keys() & noted.keys())
        if is_other or sizes != arrays_of(shape):
            raise TrainError(f"{path}: holds a net of another shape; choose another --out")
        self.net.load_state_dict(state["net"])
        self.average.load_state_dict(state["average"])
        self._optimizer.load_state_dict(state["optimizer"])
        for module in _norms(self.net):
            module.steps.fill_(state["norm_steps"])
        self.steps, self.spent = state["steps"], _spent_of(state, path)


def follow_losses(means: dict[str, float], found: Mapping[str, float]) -> None:
    """Move the mean losses that are told towards those of a step, by name."""
    for name, loss in found.items():
        means[name] = LOSS_DECAY * means.get(name, loss) + (1.0 - LOSS_DECAY) * loss


def has_bfloat16(device: str) -> bool:
    """Whether a device computes faster in bfloat16 than in float32."""
    if device == "cpu":
        return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())
    return bool(torch.cuda.is_bf16_supported())


def _average(tensors: list[Tensor]) -> None:
    """Give tensors of any sizes their means over the processes."""
    flat = torch.cat([tensor.flatten() for tensor in tensors])
    distributed.all_reduce(flat)
    flat /= distributed.get_world_size()
    for tensor, mean in zip(tensors, flat.split([t.numel() for t in tensors]), strict=True):
        tensor.copy_(mean.view_as(tensor))


def _norms(net: Net) -> list[RunningNorm]:
    return [module for module in net.modules() if isinstance(module, RunningNorm)]


def spent_in(folder: Path) -> Spent:
    """Return what the run of a folder has spent by its checkpoint; nothing without one.

    Raises:
        NetFileError: The checkpoint is damaged, or an older version's.
    """
    path = folder / CHECKPOINT
    return _spent_of(read_checkpoint(path), path) if path.exists() else Spent()


def _spent_of(state: Mapping[str, Any], path: Path) -> Spent:
    if "spent" not in state:
        raise TrainError(f"{path}: is of an older version; --from begins with it, in another --out")
    return Spent(*state["spent"])
