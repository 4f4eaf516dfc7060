"""Judge positions of five in a row as Pierre did: by a policy and games that a small net plays.

From a leaf the policy's best move is made, then moves are drawn from the small net's policy until
somebody wins or so many moves are made since the root of the search, which counts as even. The
games of a batch go on side by side, a run of the small net a move.
"""

import threading
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import BLACK, WALL
from gtp_engine.evaluators.batcher import Batcher
from gtp_engine.evaluators.encoders.five import OTHERS, OWN
from gtp_engine.evaluators.eval_batch import EvalBatch
from gtp_engine.evaluators.net_evaluator import NetEvaluator
from gtp_engine.evaluators.nets.composition import Net
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.evaluators.nets.onnx_net import OnnxNet
from gtp_engine.five.lines import forbidden_reason, wins_at
from gtp_engine.five.rules import RENJU_BIT
from gtp_engine.go.symmetry import point_table
from gtp_engine.kernels import hot_kernel, int64

DEPTH = 10
"""Moves since the root of the search after which nobody plays on."""


class Rollouts(NamedTuple):
    """Games under way from B leaves, on boards as the nets are shown them."""

    colors: npt.NDArray[np.uint8]
    """[B, H + 3, W + 1] what stands where, a wall around; flat it is what `lines` takes."""
    to_play: npt.NDArray[np.int64]
    """[B]"""
    left: npt.NDArray[np.int64]
    """[B] moves to be made; 0: the game has ended."""
    value: npt.NDArray[np.float64]
    """[B] the result for the leaf's player, -1, 0 or 1."""
    planes: npt.NDArray[np.uint8]
    """[B, 4, H, W] what the small net is shown."""


def _begin(batch: EvalBatch, n: int) -> Rollouts:
    """Return games from the first n leaves; those whose result is known have ended."""
    height, width = batch.spatial.shape[2:]
    slots = batch.slots[:n]
    planes = np.ones((n, 4, height, width), np.uint8)
    planes[:, OWN : OTHERS + 1] = batch.spatial[:n, OWN : OTHERS + 1]
    planes[:, 0] = planes[:, OWN] + planes[:, OTHERS]
    to_play = slots["to_play"].astype(np.int64)
    colors = np.full((n, height + 3, width + 1), np.uint8(WALL))
    mine = to_play[:, None, None]
    colors[:, 1:-2, 1:] = planes[:, OWN] * mine + planes[:, OTHERS] * (3 - mine)
    is_open = (slots["known_result"] == 0) & (slots["n_moves"] > 0)
    left = np.where(is_open, np.maximum(DEPTH - slots["depth"].astype(np.int64), 0), 0)
    return Rollouts(colors, to_play, left, np.zeros(n), planes)


@hot_kernel
def _play_on(
    games: Rollouts,
    batch: EvalBatch,
    weights: npt.NDArray[np.float64],
    draws: npt.NDArray[np.float64],
) -> None:
    """Make a move in every game that goes on.

    Args:
        games: The games.
        batch: The leaves that they began at.
        weights: [B, A] how likely each point is, occupied ones too; changed.
        draws: [B] numbers from 0 to 1, which choose.
    """
    width = games.planes.shape[3]
    stride = int64(width + 1)
    frames = np.zeros((games.colors[0].size, 3), np.int16)
    for i in range(len(games.left)):
        if games.left[i] == 0:
            continue
        planes, colors = games.planes[i], games.colors[i].reshape(-1)
        color, kind = games.to_play[i], int64(batch.slots[i]["five"])
        looks = color == BLACK and kind & RENJU_BIT != 0
        weights[i] *= 1.0 - planes[0].reshape(-1)
        games.left[i] -= 1
        while True:
            mass = np.cumsum(weights[i])
            if mass[-1] <= 0.0:
                games.left[i] = 0  # a draw
                break
            at = int64(np.searchsorted(mass, draws[i] * mass[-1], "right"))
            row, column = at // width, at % width
            point = (row + 1) * stride + column + 1
            if looks and forbidden_reason(colors, stride, point, frames) != 0:
                weights[i, at] = 0.0
                continue
            colors[point] = color
            planes[0, row, column] = planes[OWN, row, column] = 1
            if wins_at(colors, stride, point, color, kind):
                games.value[i] = 1.0 if color == batch.slots[i]["to_play"] else -1.0
                games.left[i] = 0
            break
        games.to_play[i] = 3 - color
        own = planes[OWN].copy()
        planes[OWN] = planes[OTHERS]
        planes[OTHERS] = own


class FiveRollouts(NetEvaluator):
    """A net whose value is mixed with that of rollouts; all of it is theirs where it has none."""

    adds_to_net = True

    def __init__(
        self,
        net: Net,
        streams: int,
        max_batch: int,
        *served: Any,
        player: OnnxNet,
        weight: float,
        seed: int = 0,
    ) -> None:
        """Serve a net; see `NetEvaluator`.

        Args:
            player: The small net, with the encoder `five4`.
            weight: Share of the rollouts in the value, 0 to 1.
            seed: Fixes the rollouts of the first thread, those of the second, and so on.

        Raises:
            NetFileError: The nets are not of these kinds.
        """
        super().__init__(net, streams, max_batch, *served)
        if player.info.encoder != "five4" or "policy" not in player.info.heads:
            raise NetFileError(f"{player.path}: has no policy over Pierre's planes")
        self.weight = np.float32(weight if "value" in net.info.heads else 1.0)
        """Share of the rollouts in the value."""
        self._player = player
        self._player_runs = Batcher(player.run, streams, max_batch)
        self._seeds = np.random.SeedSequence(seed)
        self._draws = threading.local()

    @property
    def name(self) -> str:
        """The net's name and device, and the rollouts."""
        return f"{super().name} with rollouts of {self._player.info.name}"

    def describe(self) -> str:
        """Return what is used, in one line."""
        by = self._player.info.name
        return f"{super().describe()}, {self.weight:.0%} of the value from rollouts of {by}"

    def evaluate(self, batch: EvalBatch, n: int, *, use_cache: bool = True) -> None:
        """Fill in the results of the first n slots; a result that is known stays.

        Raises:
            NetFileError: A net failed.
        """
        super().evaluate(batch, n, use_cache=use_cache)
        is_open = batch.slots["known_result"][:n] == 0
        mixed = batch.value[:n] + self.weight * (self._roll_out(batch, n) - batch.value[:n])
        batch.value[:n] = np.where(is_open, mixed, batch.value[:n])

    def _roll_out(self, batch: EvalBatch, n: int) -> npt.NDArray[np.float64]:
        """Return [n] the results of a game from each of the first slots, 0 where it is known."""
        own = self._draws
        if not hasattr(own, "generator"):
            with self._guard:
                own.generator = np.random.default_rng(self._seeds.spawn(1)[0])
        games = _begin(batch, n)
        height, width = batch.spatial.shape[2:]
        first = np.zeros((n, width * height))
        is_move = np.arange(batch.priors.shape[1]) < batch.n_moves[:n, None]
        best = batch.moves[np.arange(n), np.where(is_move, batch.priors[:n], -1.0).argmax(1)]
        first[np.arange(n), point_table(width, height)[batch.slots["symmetry"][:n], best]] = 1.0
        _play_on(games, batch, first, np.zeros(n))
        while games.left.any():
            logits = self._player_runs.evaluate(games.planes, np.zeros((n, 0), np.float32)).policy
            assert logits is not None
            logits = logits[:, : width * height]
            weights = np.exp((logits - logits.max(1, keepdims=True)).astype(np.float64))
            _play_on(games, batch, weights, own.generator.random(n))
        return games.value
