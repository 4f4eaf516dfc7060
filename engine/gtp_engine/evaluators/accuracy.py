"""How far one net is from another, in what a search makes of what they say."""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gtp_engine.evaluators.eval_batch import EvalBatch
from gtp_engine.evaluators.evaluator import encode_positions
from gtp_engine.evaluators.net_evaluator import NetEvaluator
from gtp_engine.evaluators.nets.net_info import NetFileError, NetInfo
from gtp_engine.evaluators.nets.onnx_net import OnnxNet
from gtp_engine.evaluators.policy_play import draw_opening
from gtp_engine.games import game_shown, new_game
from gtp_engine.go.rules import Rules

COMPARED_SIZES = (9, 13, 19)
COMPARED_MOVES = 60
"""Longest of the games that nets are compared on, in moves."""
KEEP_EVERY = 3

TINY = 1e-12
"""Added to probabilities before taking logarithms."""

Floats = NDArray[np.float32]


class Opinion(NamedTuple):
    """What a net says about a batch of positions, for the side to move."""

    policy: Floats
    """[B, A + 1] over the legal moves as they stand in the batch, zeros behind."""
    winrate: Floats
    """[B] 0..1."""
    lead: Floats
    """[B] points."""
    ownership: Floats
    """[B, A] or [B, 0]."""


@dataclass(frozen=True)
class Accuracy:
    """Means over positions of the distance between two nets."""

    positions: int
    policy_kl: float
    """Kullback-Leibler divergence from the original's policy, nats."""
    top1: float
    """Share of positions where both like the same move best."""
    win_error: float
    """Difference of the winning chances, 0..1."""
    win_error_p99: float
    """The same in the worst position of a hundred."""
    lead_error: float
    """Difference in points."""
    ownership_error: float
    """Difference a point of the board, of a range from -1 to 1."""

    def figures(self, heads: Container[str]) -> dict[str, float]:
        """Return by name what is known of nets with these heads."""
        lacking = [name for head, names in _OF_HEADS.items() if head not in heads for name in names]
        return {name: value for name, value in asdict(self).items() if name not in lacking}


_OF_HEADS = {
    "policy": ("policy_kl", "top1"),
    "value": ("win_error", "win_error_p99"),
    "score": ("lead_error",),
    "ownership": ("ownership_error",),
}
"""Where the fields of `Accuracy` come from."""


def opinions(net: NetEvaluator, batches: Sequence[EvalBatch]) -> list[Opinion]:
    """Return what a net says about every batch of positions."""
    return [_opinion(net, batch) for batch in batches]


def _opinion(net: NetEvaluator, batch: EvalBatch) -> Opinion:
    net.evaluate(batch, len(batch.features), use_cache=False)
    legal = np.arange(batch.priors.shape[1])[None, :] < batch.n_moves[:, None]
    return Opinion(
        policy=np.where(legal, batch.priors, 0.0).astype(np.float32),
        winrate=(1.0 + batch.value) / 2.0,
        lead=batch.lead.copy(),
        ownership=batch.ownership.copy(),
    )


def compare_nets(net: OnnxNet, original: OnnxNet, positions: int) -> Accuracy:
    """Return how far a net is from its original on positions that the original plays.

    Raises:
        NetFileError: The two do not take and give the same.
    """
    _check_same_kind(net.path, net.info, original.info)
    mine = NetEvaluator(net, streams=1, max_batch=64, cache_mb=0)
    theirs = NetEvaluator(original, streams=1, max_batch=64, cache_mb=0)
    batches = list(_positions(theirs, positions))
    return compare(opinions(theirs, batches), opinions(mine, batches))


def _check_same_kind(path: Path, info: NetInfo, original: NetInfo) -> None:
    same_heads = ("ownership" in info.heads) == ("ownership" in original.heads)
    if info.encoder != original.encoder or info.meta_features != original.meta_features:
        raise NetFileError(f"{path}: takes other inputs than {original.name}")
    if not same_heads:
        raise NetFileError(f"{path}: has other outputs than {original.name}")


def _positions(net: NetEvaluator, count: int) -> Iterator[EvalBatch]:
    """Yield positions of games drawn from a net's policy, one a batch, the sizes in turn."""
    info = net.net.info
    game_name = game_shown(info.encoder)
    sizes = info.squares_among(COMPARED_SIZES)
    made = game = 0
    while made < count:
        size = sizes[game % len(sizes)]
        moves = min(COMPARED_MOVES, size * size * 2 // 3)
        played = draw_opening(net, size, size, Rules(), moves, seed=game, game=game_name)
        position = new_game(game_name, size, size, Rules())
        for number, move in enumerate(played.moves):
            if number % KEEP_EVERY == game % KEEP_EVERY and made < count:
                made += 1
                yield encode_positions(net, [position], [game % 8])
            position.play(move.color, move.point)
        game += 1


def compare(original: Iterable[Opinion], other: Iterable[Opinion]) -> Accuracy:
    """Return how far two nets are apart on the same positions."""
    columns = [_distances(a, b) for a, b in zip(original, other, strict=True)]
    kl, same, win, lead, owned = (np.concatenate(column) for column in zip(*columns, strict=True))
    return Accuracy(
        positions=len(kl),
        policy_kl=float(kl.mean()),
        top1=float(same.mean()),
        win_error=float(win.mean()),
        win_error_p99=float(np.quantile(win, 0.99)),
        lead_error=float(lead.mean()),
        ownership_error=float(owned.mean()),
    )


def _distances(a: Opinion, b: Opinion) -> tuple[Floats, ...]:
    """Return the distances of each position: KL, same best move, win, lead, ownership."""
    ratio = np.log(a.policy + TINY) - np.log(b.policy + TINY)
    kl = (a.policy * ratio).sum(axis=1)
    same = a.policy.argmax(axis=1) == b.policy.argmax(axis=1)
    none = np.zeros(len(kl), np.float32)
    owned = np.abs(a.ownership - b.ownership).mean(axis=1) if a.ownership.size else none
    return kl, same, np.abs(a.winrate - b.winrate), np.abs(a.lead - b.lead), owned
