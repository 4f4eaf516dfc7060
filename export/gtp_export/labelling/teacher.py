"""Ask a teacher net what it makes of positions, and keep its answers as training targets."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gtp_engine.coords import point_to_action
from gtp_engine.evaluators.decoding import knows_no_result
from gtp_engine.evaluators.encoders.inputs import encode_position
from gtp_engine.evaluators.nets.net_files import NetFiles
from gtp_engine.evaluators.nets.net_info import (
    NO_RESULT_ALWAYS,
    NO_RESULT_NEVER,
    VALUE_WIN_LOSS_NORESULT,
    NetFileError,
)
from gtp_engine.evaluators.nets.precision import open_best
from gtp_engine.evaluators.runtimes.sessions import AUTO
from gtp_engine.go.position import Position
from gtp_engine.go.rules import Rules
from gtp_export.architectures.tower import SCORE_COLUMNS
from gtp_export.labelling.samples import Samples, pack_samples
from gtp_export.softmax import masked_softmax


class Labels(NamedTuple):
    """A teacher's view of N positions of one board size with A points, for the side to move."""

    spatial: NDArray[np.uint8]
    """[N, C, H, W] what the student will see."""
    features: NDArray[np.float32]
    """[N, G]."""
    policy: NDArray[np.float32]
    """[N, A + 1] over legal moves, pass last."""
    value: NDArray[np.float32]
    """[N, 3] probability of win, loss and no result."""
    score: NDArray[np.float32]
    """[N, 3] the columns of SCORE_COLUMNS."""
    ownership: NDArray[np.float32]
    """[N, H, W]."""

    def samples(self) -> Samples:
        """Return all of it, packed."""
        return pack_samples(*self)


class Teacher:
    """A net that labels positions."""

    before_labels: Callable[[], None] | None = None
    """Called before each batch of positions, to halt where that is wanted."""

    def __init__(self, path: Path, device: str = "auto", runtime: str = AUTO) -> None:
        """Open the net.

        Raises:
            NetFileError: It cannot be opened, lacks a head or an input this project's own nets
                learn from, or takes a human profile.
        """
        self.net = open_best(NetFiles(path, is_exact=True), device, runtime, threads=1)
        info = self.net.info
        if info.encoder != "katago_v7" or info.value_kind != VALUE_WIN_LOSS_NORESULT:
            raise NetFileError(f"{path}: a teacher must read katago_v7 and tell wins from losses")
        if info.meta_features:
            raise NetFileError(f"{path}: plays like whomever it is told; no teacher does")
        missing = sorted(set(SCORE_COLUMNS) - set(info.score_columns))
        missing += sorted({"policy", "value", "ownership"} - set(info.heads))
        if missing:
            raise NetFileError(f"{path}: as a teacher it lacks {missing[0]!r}")
        self._columns = [info.score_columns.index(name) for name in SCORE_COLUMNS]
        self._no_result = info.no_result

    def label(self, positions: Sequence[Position]) -> Labels:
        """Evaluate positions of one board size, of any rules and komi."""
        if self.before_labels is not None:
            self.before_labels()
        encoded = [encode_position("katago_v7", position) for position in positions]
        spatial, features = (np.stack(part) for part in zip(*encoded, strict=True))
        outputs = self.net.run(spatial, features)
        policy, value, score = outputs.policy, outputs.value, outputs.score
        if policy is None or value is None or score is None or outputs.ownership is None:
            raise NetFileError(f"{self.net.path}: an output is missing")
        # [N, 3], false where a game without result is impossible.
        outcomes = [(True, True, self._counts_no_result(one.rules)) for one in positions]
        return Labels(
            spatial=spatial,
            features=features,
            policy=masked_softmax(policy, _legal_mask(positions)),
            value=masked_softmax(value, np.array(outcomes)),
            score=score[:, self._columns],
            ownership=outputs.ownership,
        )

    def _counts_no_result(self, rules: Rules) -> bool:
        if self._no_result == NO_RESULT_ALWAYS:
            return True
        if self._no_result == NO_RESULT_NEVER:
            return False
        return bool(knows_no_result(rules.flags))


def _legal_mask(positions: Sequence[Position]) -> NDArray[np.bool_]:
    """Return [N, A + 1], true where a move is legal."""
    width, height = positions[0].width, positions[0].height
    mask = np.zeros((len(positions), width * height + 1), np.bool_)
    for row, position in zip(mask, positions, strict=True):
        for point in position.legal_moves():
            row[point_to_action(point, width, height)] = True
    return mask
