"""Learning from game records: what is drawn, what it costs, how it is measured."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gtp_export.architectures.presets import Preset
from gtp_export.architectures.shape import Shape
from gtp_export.learning.batch import Batch, NetOutputs
from gtp_export.learning.record_losses import (
    RecordTargets,
    count_answers,
    record_losses,
    targets_of,
)
from gtp_export.learning.torch_layers import Net
from gtp_export.records.games import Games
from gtp_export.records.stream import PositionStream, RecordSamples

MEASURED_POINTS = 1024 * 361
"""Points of the boards that a measurement in mid-run looks at."""
MEASURE_SEED = 11


@dataclass(frozen=True)
class RecordSource:
    """Batches of a stream, which has a seed of its own; see `trainer.Source`."""

    stream: PositionStream

    @property
    def waited(self) -> float:
        return self.stream.waited

    def draw(self, generator: np.random.Generator) -> Batch:
        return batch_of(self.stream.draw())


def batch_of(samples: RecordSamples) -> Batch:
    """Return positions as tensors."""
    return Batch(
        spatial=torch.from_numpy(samples.spatial),
        features=torch.from_numpy(samples.features),
        targets=targets_of(samples),
    )


@dataclass(frozen=True)
class RecordTask:
    """One preset on one collection of games."""

    preset: Preset
    train: Games
    valid: Games
    """Other games, to measure on."""
    threads: int = 1
    """Threads a process that encode positions."""

    @property
    def shape(self) -> Shape:
        return self.preset.shape

    def source(
        self, batch_points: int, seed: int, rank: int = 0, processes: int = 1
    ) -> RecordSource:
        """Begin to draw; every process draws from all games, which take little memory."""
        shifts = self.preset.shifts
        return RecordSource(self._stream(self.train, batch_points, seed, self.threads, shifts))

    def losses(self, outputs: NetOutputs, targets: RecordTargets) -> dict[str, Tensor]:
        """Return the losses by name, [] each; those without a weight are only told."""
        return record_losses(outputs, targets, self.preset.squared_ownership)

    def measure(self, net: Net, device: str) -> dict[str, Any]:
        """Return the mean losses and accuracies on games that were not learned from.

        Each is the mean over the positions, or points, whose answer is known; one that is known
        of none is left out.
        """
        stream = self._stream(self.valid, 64 * 361, MEASURE_SEED, 1)
        sums: dict[str, float] = {}
        counts: dict[str, int] = {}
        points = positions = 0
        while points < MEASURED_POINTS:
            batch = batch_of(stream.draw()).to(device)
            with torch.no_grad():
                found = self.losses(net(batch.spatial, batch.features), batch.targets)
            n = len(batch.spatial)
            positions += n
            points += n * batch.spatial.shape[2] * batch.spatial.shape[3]
            answers = count_answers(batch.targets)
            for name, value in found.items():
                sums[name] = sums.get(name, 0.0) + answers[name] * float(value)
                counts[name] = counts.get(name, 0) + answers[name]
        stream.close()
        means = {name: round(sums[name] / count, 4) for name, count in counts.items() if count}
        return {"positions": positions, **means}

    def _stream(
        self, games: Games, batch_points: int, seed: int, threads: int, shifts: bool = False
    ) -> PositionStream:
        heads = self.shape.heads
        return PositionStream(
            games,
            self.shape.encoder,
            batch_points,
            seed,
            threads=threads,
            shifts=shifts,
            with_pass=self.shape.has_pass or "policy" not in heads,
            only_settled="policy" not in heads and "value" not in heads,
        )
