"""What commands are asked for: classes whose described fields are their options; see `options`."""

import argparse
import math
import os
from collections.abc import Container
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gtp_engine.arguments import BadValueError, parse_count, parse_names, parse_threads
from gtp_engine.coords import MAX_SIZE, MIN_SIZE
from gtp_engine.evaluators.nets.net_files import known_nets
from gtp_engine.evaluators.nets.net_info import (
    ENCODERS,
    SCORE_COLUMNS,
    VALUE_KINDS,
    VALUE_WIN_LOSS_NORESULT,
)
from gtp_engine.evaluators.runtimes.devices import RUNTIMES
from gtp_engine.go.rules import parse_komi
from gtp_export.options import again, option, parse_positive, parse_share, parse_side
from gtp_export.span import HOUR, Span

if TYPE_CHECKING:
    from gtp_engine.evaluators.accuracy import Accuracy


# Measuring ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EvaluationPlan:
    """Which positions of games a net is asked about."""

    positions: int = option("how many positions to ask about", 5000, metavar="N")
    per_game: int = option("positions of a game; fewer give narrower intervals", 4, metavar="N")
    seed: int = option("picks games and positions", 1, metavar="N")


@dataclass(frozen=True, kw_only=True)
class StrengthPlan:
    """Who plays, and what is predicted."""

    nets: tuple[Path, ...] = option(
        "folders of runs with nets, files or names", flag="nets", metavar="RUN|NET"
    )
    opponent: str = option("file or name; has 0 Elo", "small", metavar="NET")
    games: tuple[Path, ...] = option("games to predict", metavar="FILE")
    out: Path = option("folder for the figures and the picture", metavar="DIR")
    size: int = option("side of the board", 9, type=parse_side, metavar="N")
    each: int = option("games of every pair", 40, metavar="N")
    positions: int = again(EvaluationPlan, "positions", default=4000)
    seed: int = again(EvaluationPlan, "seed")


# Training -----------------------------------------------------------------------------------------


def _parse_name(text: str) -> str:
    if Path(text).name != text:
        raise BadValueError(f"{text[:70]!r} is no name of a file")
    return text


def _parse_net(text: str) -> Path:
    """Return the file of a net that is known by a name; any other text is a path."""
    nets = known_nets()
    return nets[text] if text in nets and not os.path.exists(text) else Path(text)


@dataclass(frozen=True, kw_only=True)
class NetRun:
    """A run that makes a net."""

    preset: str = option("architecture; `train --preset list` names them", "", metavar="NAME")
    out: Path = option("folder of the run", metavar="DIR")
    span: Span = option("the run", HOUR, shown="60", prefix="", samples="samples")
    start: Path | None = option(
        "checkpoint, file or name of a net made here, to begin with",
        None,
        flag="--from",
        type=_parse_net,
        metavar="NET",
    )
    """Of no account once the run has a checkpoint of its own."""
    freeze: tuple[str, ...] = option(
        "layers that do not learn: beginnings of names, with commas between", (), metavar="LAYERS"
    )
    name: str = option(
        "name to write into the net", "", shown="the preset's", type=_parse_name, metavar="NAME"
    )
    licence: str = option(
        "licence to write into the net", "unknown", shown="that of the net begun with, or unknown"
    )
    device: str = option("where to train", "auto", choices=("auto", "cpu", "cuda"))
    processes: int = option("processes, on CPUs", 1, metavar="N")
    batch_points: int = option("points a batch of a process", 10_400, metavar="N")
    learning_rate: float | None = option(
        "highest learning rate", None, shown="the preset's", type=parse_positive, metavar="RATE"
    )
    keep_nets: bool = option("keep the net of each measurement, in nets/", False)
    seed: int = option("fixes what is random", 1, metavar="N")
    command_line: str = ""
    """For the card."""


@dataclass(frozen=True, kw_only=True)
class RecordRun(NetRun):
    """A net from game records."""

    games: tuple[Path, ...] = option("games to learn from", (), metavar="FILE")
    valid: tuple[Path, ...] = option(
        "games to measure on", (), shown="a share of the others", metavar="FILE"
    )
    threads: int = option(
        "threads of each process that encode positions", 1, type=parse_threads, metavar="N"
    )
    batch_points: int = again(NetRun, "batch_points", default=64 * 361)
    positions: int = again(EvaluationPlan, "positions", default=2000)
    int8: bool = option("write an int8 net too", False)
    fp16: bool = option("write an fp16 net too", False)
    created_by: str = "gtp-export train"


@dataclass(frozen=True, kw_only=True)
class TrainRun(RecordRun):
    """All that `train` is asked for: records, patterns, or the recipe of a value net."""

    out: Path = again(NetRun, "out", default=None)  # not needed to list presets; then checked
    recipe: str = option("AlphaGo's value net, on games it makes", "", choices=("single-position",))
    policies: tuple[str, str] | None = option(
        "nets that play the recipe's games: supervised, reinforced",
        None,
        type=str,
        nargs=2,
        metavar="NET",
    )
    size: int = option("side of the recipe's boards", 9, type=parse_side, metavar="N")
    make: int = option("how many games the recipe makes", 20_000, metavar="N")


@dataclass(frozen=True, kw_only=True)
class OwnGamesRun(RecordRun):
    """A net tuned on games of one's own."""

    games: tuple[Path, ...] = option("folders and files of games", flag="games", metavar="DIR")
    player: str = option("learn this player's moves alone", "", metavar="NAME")
    net: str = option("file or name to begin with", "human", metavar="NET")
    target: Path = option(
        "the net; the run's folder is beside it", flag="--out", metavar="FILE.onnx"
    )
    out: Path = Path()
    others: tuple[Path, ...] = option(
        "other games, to see on what was forgotten", (), metavar="FILE"
    )
    span: Span = again(NetRun, "span", default=Span(0, "samples"), shown="each position four times")
    learning_rate: float | None = again(
        NetRun, "learning_rate", shown="a twentieth of the preset's"
    )
    positions: int = again(EvaluationPlan, "positions", default=4000)
    created_by: str = "gtp-export learn-from-games"


def _parse_playouts(text: str) -> int:
    playouts = 0 if text == "0" else parse_count(text)
    if playouts == 1:
        raise BadValueError("'1' is neither 0 for none, nor at least 2")
    return playouts


@dataclass(frozen=True, kw_only=True)
class DistilRun(NetRun):
    """A net that judges as a teacher does."""

    teacher: Path = option(
        "file or name of a net that reads the same inputs", type=_parse_net, metavar="NET"
    )
    preset: str = again(NetRun, "preset", default="b6c64")
    name: str = again(NetRun, "name", default="student", shown="")
    label_span: Span | None = option(
        "the labelling", None, shown="three tenths of the run", prefix="label-", samples="positions"
    )
    rounds: int = option(
        "divide labelling and training into N parts that take turns", 1, metavar="N"
    )
    learning_rate: float | None = again(NetRun, "learning_rate", shown="0.25; 0.01 with --from")
    games: tuple[Path, ...] = option("games to label too", (), metavar="FILE")
    played_weight: float = option(
        "weight of the recorded move in the policy that is learned from records",
        0.0,
        type=parse_share,
        metavar="SHARE",
    )
    playouts: int = option(
        "playouts of the teacher's search for each label",
        0,
        shown="0: its net's own answers",
        type=_parse_playouts,
        metavar="N",
    )
    student_games: float = option(
        "share of the shards of labels that are games of the newest student with itself",
        0.0,
        type=parse_share,
        metavar="SHARE",
    )
    student_playouts: int = option(
        "playouts of the student's search for each of its moves in these games",
        0,
        shown="0: drawn from its policy",
        type=_parse_playouts,
        metavar="N",
    )
    largest_board: int = option(
        "longest side of the boards to label and to learn, for a net of small boards alone",
        MAX_SIZE,
        type=parse_side,
        metavar="N",
    )
    smallest_board: int = option(
        "the same of the smallest of them, for a net of large boards alone",
        MIN_SIZE,
        type=parse_side,
        metavar="N",
    )
    runtime: str = option(
        "what runs the teacher on a processor; auto: the faster", "auto", choices=RUNTIMES
    )

    @property
    def sides(self) -> range:
        """What the longest side of a board may be."""
        return range(self.smallest_board, self.largest_board + 1)


@dataclass(frozen=True, kw_only=True)
class ReinforceRun(NetRun):
    """A net that learns from games against its past selves."""

    net: str = option("file or name to begin with", flag="net", metavar="NET")
    size: int = option("side of the board", 9, type=parse_side, metavar="N")
    komi: float | None = option(
        "points for White", None, shown="7 on boards up to 9x9, else 7.5", type=parse_komi
    )
    games: int = option("games that are played at once, then learned from", 128, metavar="N")
    device: str = "cpu"
    learning_rate: float | None = again(NetRun, "learning_rate", shown="a sixth of the preset's")


# Quantising ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bounds:
    """What a net in lower precision must keep to."""

    max_kl: float = option("largest mean policy KL in nats", 0.03)
    min_top1: float = option("smallest share of same best moves", 0.87)
    max_win_error: float = option("largest mean win-rate error", 0.01)
    max_ownership_error: float = option(
        "largest mean ownership error, of a range from -1 to 1", 0.02
    )

    def for_heads(self, heads: Container[str]) -> "Bounds":
        """Return the bounds for a net with these heads.

        Without a policy the engine draws priors from elsewhere, and how they fall is no measure.
        """
        return self if "policy" in heads else replace(self, max_kl=math.inf, min_top1=0.0)

    def tightened(self, margin: float) -> "Bounds":
        """Return bounds of which only a share, 0 to 1, may be used up."""
        return Bounds(
            self.max_kl * margin,
            1.0 - (1.0 - self.min_top1) * margin,
            self.max_win_error * margin,
            self.max_ownership_error * margin,
        )

    def broken(self, found: "Accuracy") -> list[str]:
        """Return in words which bounds a net breaks."""
        complaints = []
        if not found.policy_kl <= self.max_kl:
            complaints.append(f"policy KL {found.policy_kl:.4f} is above {self.max_kl:g}")
        if not found.top1 >= self.min_top1:
            complaints.append(f"top-1 agreement {found.top1:.1%} is below {self.min_top1:.0%}")
        if not found.win_error <= self.max_win_error:
            limit = f"{self.max_win_error:.2%}"
            complaints.append(f"win-rate error {found.win_error:.2%} is above {limit}")
        if not found.ownership_error <= self.max_ownership_error:
            limit = f"{self.max_ownership_error:g}"
            complaints.append(f"ownership error {found.ownership_error:.4f} is above {limit}")
        return complaints


INT8, FP16, AUTO = "int8", "fp16", "auto"
MIN_MAX, PERCENTILE = "minmax", "percentile"
CALIBRATIONS = (MIN_MAX, PERCENTILE)


@dataclass(frozen=True)
class QuantisePlan:
    """What to make of a net."""

    precision: str = INT8
    seven_bit: bool = option("use 7-bit weights, for processors without VNNI", False)
    keep_fp32: tuple[str, ...] = option(
        "what stays as it is: groups, layers, `none`, or `auto` to choose by measurement",
        ("stem", "heads"),
        shown="stem,heads",
        type=lambda text: parse_names(text) or ("none",),
        metavar="LAYERS",
    )
    calibration: str = option(
        "range of the activations; auto: what measures better", AUTO, choices=(AUTO, *CALIBRATIONS)
    )
    positions: int = option("positions that calibrate", 400, metavar="N")
    judged: int = 800
    """Positions that judge the result, of other games; at least twice as many as calibrate."""
    bounds: Bounds = field(default_factory=Bounds)
    force: bool = option("write the net even if it breaks these bounds", False)

    @property
    def weight_bits(self) -> int:
        """Bits of the integer weights, the sign included."""
        return 7 if self.seven_bit else 8


# Other programs' nets -----------------------------------------------------------------------------


def _parse_hash(text: str) -> str:
    if len(text) != 64 or not set(text.lower()) <= set("0123456789abcdef"):
        raise BadValueError(f"{text[:70]!r} is not 64 hexadecimal digits")
    return text.lower()


@dataclass(frozen=True, kw_only=True)
class AddPlan:
    """Which net to put where `--net` finds it."""

    source: str = option(
        "a net file of any format, or its http(s) address", flag="source", metavar="FILE|URL"
    )
    name: str | None = option("what `--net` will call it", None, shown="its own name")
    sha256: str | None = option(
        "hash that the file must have", None, type=_parse_hash, metavar="HASH"
    )
    replace: bool = option("replace a net of that name", False)
    quantise: QuantisePlan | None = None
    """None: not at all."""


@dataclass(frozen=True, kw_only=True)
class NetTexts:
    """What a description says that no file knows."""

    name: str = option("its name, for `gtp-engine net info`", "", metavar="TEXT")
    trained_on: str = option("what it was trained on", "", metavar="TEXT")
    licence: str = option("its licence", "", metavar="TEXT")
    strength: str = option("its measured strength", "", metavar="TEXT")


_RANGES = ("-1..1", "0..1")


@dataclass(frozen=True, kw_only=True)
class DescribePlan(NetTexts):
    """What the user says about an ONNX file."""

    file: Path = option("the ONNX file to describe", flag="file", metavar="FILE")
    out: Path | None = option(
        "write there instead of into FILE", None, old="--output", metavar="OUT.onnx"
    )
    encoder: str | None = option(
        "what fills the planes; needed where FILE does not say",
        None,
        choices=tuple(sorted(ENCODERS)),
    )
    rename: tuple[str, ...] = option(
        "another name for an input or output; may be repeated",
        (),
        type=str,
        action="append",
        metavar="YOURS=NAME",
    )
    has_pass: bool | None = option(
        "whether the policy ends with the pass",
        None,
        shown="yes",
        action=argparse.BooleanOptionalAction,
    )
    policy: str = option("what the policy holds", "logits", choices=("logits", "probabilities"))
    value_kind: str | None = option(
        "what the value holds", None, shown=VALUE_WIN_LOSS_NORESULT, choices=VALUE_KINDS
    )
    value_range: str = option(
        "range of a value of one number; 0..1 is stretched; of three: they are probabilities",
        "-1..1",
        choices=_RANGES,
    )
    ownership_range: str = option(
        "range of ownership, 1 for the player to move; 0..1 is stretched", "-1..1", choices=_RANGES
    )
    score_columns: tuple[str, ...] = option(
        f"what the score holds, of {', '.join(SCORE_COLUMNS)}", (), metavar="LIST"
    )
    board_sizes: tuple[str, ...] = option(
        "the only board sizes it takes, such as 9,13,19", (), metavar="LIST"
    )
    architecture: str = option("its architecture", "", metavar="TEXT")
    source: str = option("where it comes from", "", shown="the file's name", metavar="TEXT")
    rules: str | None = option("rules that it was made for", None, shown="any", metavar="TEXT")
    komi_min: float | None = option("smallest komi that it was made for", None)
    komi_max: float | None = option("largest komi that it was made for", None)


# Means of nets ------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class AveragePlan(NetTexts):
    """Of which nets the mean is written."""

    nets: tuple[Path, ...] = option(
        "files or names of nets in fp32", flag="nets", type=_parse_net, metavar="NET"
    )
    out: Path = option("the file to write", metavar="OUT.onnx")
