"""What a net file says about itself: the metadata every self-describing ONNX carries.

A net is one ONNX file whose `metadata_props` hold two JSON documents. `gtp_engine.net` is a
`NetInfo`: which encoder fills the inputs, what the outputs mean, which boards and rules the net
was made for, and where it comes from. `gtp_engine.golden` holds a few inputs with the outputs
the net gave when it was made, so that any machine can check that it computes the same.

Inputs: `spatial_in` uint8 [B, C, H, W]; `global_in` float32 [B, G] unless the encoder has no
globals; `meta_in` float32 [B, M] for nets that take a player profile. The board fills the
tensor: there is no mask. Outputs speak for `to_play`, in natural units: `policy` (logits, pass
last), `policy_optimistic`, `q_winloss`, `q_score`, `value`, `score` (columns named by
`NetInfo.score_columns`), `ownership`. A net has at least one of them; `decoding` says what stands
for the others.

Importing this module costs nothing but the standard library; golden arrays import numpy when
they are read or written.
"""

import base64
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from types import UnionType
from typing import TYPE_CHECKING, Any, get_args, get_origin

from gtp_engine.coords import MAX_SIZE, MIN_SIZE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SCHEMA = 1
NET_KEY = "gtp_engine.net"
GOLDEN_KEY = "gtp_engine.golden"

SPATIAL_INPUT = "spatial_in"
GLOBAL_INPUT = "global_in"
META_INPUT = "meta_in"

VALUE_WIN_LOSS_NORESULT = "win_loss_noresult"
"""`value` is [B, 3]: logits of win, loss and no result."""
VALUE_SCALAR = "scalar"
"""`value` is [B, 1]: expected result in -1..1."""
VALUE_KINDS = (VALUE_WIN_LOSS_NORESULT, VALUE_SCALAR)

NO_RESULT_BY_RULES = "by_rules"
"""No result counts only under simple ko or territory scoring, and then scales the score columns."""
NO_RESULT_ALWAYS = "always"
"""The softmax over all three outcomes stands under every rule, and leaves the score alone."""
NO_RESULT_NEVER = "never"
"""The net knows no such outcome."""

OUTPUT_NAMES = (
    "policy",
    "policy_optimistic",
    "q_winloss",
    "q_score",
    "value",
    "score",
    "ownership",
)
SCORE_COLUMNS = (
    "score_mean",
    "score_stdev",
    "lead",
    "var_time",
    "shortterm_winloss_error",
    "shortterm_score_error",
)

ENCODERS = {
    # name: (version, planes, globals)
    "katago_v3": (3, 22, 14),
    "katago_v4": (4, 22, 14),
    "katago_v5": (5, 13, 12),
    "katago_v6": (6, 22, 16),
    "katago_v7": (7, 22, 19),
    # Own and opponent's stones; the one plane of the book is their difference.
    "dlgo1": (1, 2, 0),
    "dlgo7": (1, 7, 0),
    "dlgo11": (1, 11, 0),
    "gocnn8": (1, 8, 0),
    "gocnn21": (1, 21, 0),
    "alphago48": (1, 48, 0),
    "alphago49": (1, 49, 0),
    "agz17": (1, 17, 0),
    "lz18": (1, 18, 0),
    "five": (1, 12, 7),
    "five4": (1, 4, 0),
}
"""The encoders nets may name: their version, number of planes and number of globals."""


class NetFileError(ValueError):
    """A net file that cannot be used; the message names the file and says what is wrong."""


class MetadataError(NetFileError):
    """An ONNX file whose metadata are missing or do not hold a net info."""


@dataclass(frozen=True)
class NetInfo:
    """What a net is, what its inputs and outputs mean, and where it comes from."""

    name: str
    """Short name, for people and for `--net NAME`."""
    encoder: str
    """Which encoder fills the inputs; a key of `ENCODERS`."""
    encoder_version: int
    """Version of that encoder: the same name with another version gives other planes."""
    spatial_planes: int
    """C of `spatial_in`."""
    global_features: int = 0
    """G of `global_in`; 0 means that the input is absent."""
    meta_features: int = 0
    """Width of `meta_in`; 0 means that the input is absent."""
    heads: Mapping[str, str] = field(default_factory=dict)
    """Output name to one phrase saying what it holds."""
    has_pass: bool = True
    """Whether the policy outputs end with the pass."""
    value_kind: str = VALUE_WIN_LOSS_NORESULT
    """One of `VALUE_KINDS`; meaningless without a value head."""
    no_result: str = NO_RESULT_BY_RULES
    """When the third value logit counts: by_rules, always or never."""
    score_columns: tuple[str, ...] = ()
    """What the columns of `score` are, out of `SCORE_COLUMNS`."""
    board_min: int = 2
    board_max: int = 25
    square_only: bool = False
    board_sizes: tuple[int, ...] = ()
    """The only sizes the net takes; empty means every size from board_min to board_max."""
    trained_sizes: tuple[int, int] | None = None
    """Smallest and largest size the net was trained on, as far as known."""
    rules: str = "any"
    """`any` of Go's; `area` (superko, area scoring, no tax, no button); a preset's name; or
    `atari-go`."""
    komi_min: float | None = None
    komi_max: float | None = None
    """Range of komi the net can tell apart or was made for; None means no limit is known."""
    pass_alive_under_suicide: bool = False
    """Whether the encoder's area planes are computed as if suicide were legal."""
    architecture: str = ""
    """For people: blocks, channels, activations."""
    parameters: int = 0
    precision: str = "fp32"
    source: str = ""
    """The file or run the net was made from."""
    trained_on: str = ""
    licence: str = ""
    strength: str = ""
    """Measured strength, with the conditions."""
    created_by: str = ""

    def __post_init__(self) -> None:
        """Check what can be checked without the graph; raise MetadataError."""
        if self.encoder not in ENCODERS:
            known = ", ".join(sorted(ENCODERS))
            raise MetadataError(f"unknown encoder {self.encoder!r}; known are {known}")
        if self.value_kind not in VALUE_KINDS:
            raise MetadataError(f"unknown value kind {self.value_kind!r}")
        unknown = sorted(set(self.score_columns) - set(SCORE_COLUMNS))
        if unknown:
            raise MetadataError(f"unknown score column {unknown[0]!r}")
        if not 2 <= self.board_min <= self.board_max:
            raise MetadataError(f"impossible board sizes {self.board_min} to {self.board_max}")
        if not self.squares:
            known = f"{MIN_SIZE}x{MIN_SIZE} to {MAX_SIZE}x{MAX_SIZE}"
            raise MetadataError(f"takes no boards from {known}")

    @property
    def squares(self) -> list[int]:
        """The sides of the square boards that the graph takes, out of those that there are."""
        return [side for side in range(MIN_SIZE, MAX_SIZE + 1) if self.accepts(side, side)]

    def squares_among(self, usual: Sequence[int]) -> list[int]:
        """Return those of some sides that the graph takes, or its largest if it takes none."""
        squares = self.squares
        return [side for side in usual if side in squares] or squares[-1:]

    def accepts(self, width: int, height: int) -> bool:
        """Say whether the graph takes a board of that size."""
        if self.square_only and width != height:
            return False
        if self.board_sizes:
            return width in self.board_sizes and height in self.board_sizes
        return all(self.board_min <= size <= self.board_max for size in (width, height))

    def to_metadata(self) -> dict[str, str]:
        """Return the metadata entry that `from_metadata` reads back."""
        document = {"schema": SCHEMA, **asdict(self)}
        return {NET_KEY: json.dumps(document, ensure_ascii=False)}

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, str]) -> "NetInfo":
        """Read a net's description; unknown keys are ignored, so newer writers stay readable.

        Raises:
            MetadataError: there is no description, it is not of a schema this version reads,
                or a field has an impossible value.
        """
        if NET_KEY not in metadata:
            raise MetadataError(
                "has no description of itself; `gtp-export describe FILE --encoder NAME` adds one"
            )
        document = _parse_document(metadata[NET_KEY], "description")
        values: dict[str, Any] = {}
        for item in fields(cls):
            value = document.get(item.name)
            if item.name not in document:
                continue
            if not fits(value, item.type):
                raise MetadataError(f"description has an impossible {item.name}")
            values[item.name] = _without_controls(value)
        try:
            return cls(**values)
        except TypeError as error:
            raise MetadataError(f"description is incomplete: {error}") from None


@dataclass(frozen=True)
class GoldenCase:
    """Inputs of one batch and the outputs the net gave for them when it was made."""

    inputs: "Mapping[str, NDArray[Any]]"
    outputs: "Mapping[str, NDArray[np.float32]]"


def golden_to_metadata(cases: Sequence[GoldenCase]) -> dict[str, str]:
    """Return the metadata entry that `golden_from_metadata` reads back."""
    document = {
        "schema": SCHEMA,
        "cases": [
            {
                "inputs": {name: _encode_array(array) for name, array in case.inputs.items()},
                "outputs": {name: _encode_array(array) for name, array in case.outputs.items()},
            }
            for case in cases
        ],
    }
    return {GOLDEN_KEY: json.dumps(document)}


def golden_from_metadata(metadata: Mapping[str, str]) -> list[GoldenCase]:
    """Read a net's golden inputs and outputs; an empty list if it carries none.

    Raises:
        MetadataError: the document is damaged.
    """
    if GOLDEN_KEY not in metadata:
        return []
    document = _parse_document(metadata[GOLDEN_KEY], "golden data")
    try:
        return [
            GoldenCase(
                inputs={name: _decode_array(item) for name, item in case["inputs"].items()},
                outputs={name: _decode_array(item) for name, item in case["outputs"].items()},
            )
            for case in document["cases"]
        ]
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise MetadataError(f"golden data are damaged: {error}") from None


def fits(value: Any, hint: Any) -> bool:
    """Say whether a JSON value is what a field such as those of `NetInfo` is annotated with."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is UnionType:
        return any(fits(value, part) for part in parts)
    if origin is tuple:
        right_length = isinstance(value, list) and (... in parts or len(value) == len(parts))
        return right_length and all(fits(item, parts[0]) for item in value)
    if origin in (Mapping, dict):
        return isinstance(value, dict) and all(fits(item, parts[1]) for item in value.values())
    if hint is float:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_number and abs(value) <= sys.float_info.max
    return type(value) is hint


def _without_controls(value: Any) -> Any:
    """Return a field's value with blanks for what would move a terminal's cursor; lists frozen."""
    if isinstance(value, str):
        return "".join(letter if letter.isprintable() else " " for letter in value)
    if isinstance(value, dict):
        return {_without_controls(name): _without_controls(text) for name, text in value.items()}
    return tuple(value) if isinstance(value, list) else value


def _parse_document(text: str, what: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MetadataError(f"{what} is not JSON: {error}") from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise MetadataError(f"{what} is not of schema {SCHEMA}")
    return document


def _encode_array(array: "NDArray[Any]") -> dict[str, Any]:
    """Pack uint8 arrays of zeros and ones to bits, everything else as it is."""
    import numpy as np

    if array.dtype == np.uint8 and array.max(initial=0) <= 1:
        kind, data = "bits", np.packbits(array).tobytes()
    elif array.dtype in (np.uint8, np.float32):
        kind, data = array.dtype.name, array.astype(array.dtype.newbyteorder("<")).tobytes()
    else:
        raise ValueError(f"golden arrays are uint8 or float32, not {array.dtype}")
    return {
        "shape": list(array.shape),
        "dtype": kind,
        "data": base64.b64encode(data).decode("ascii"),
    }


def _decode_array(item: Mapping[str, Any]) -> "NDArray[Any]":
    import numpy as np

    shape = tuple(int(size) for size in item["shape"])
    data = base64.b64decode(item["data"], validate=True)
    if item["dtype"] == "bits":
        count = int(np.prod(shape))
        bits = np.unpackbits(np.frombuffer(data, np.uint8))
        return bits[:count].reshape(shape)
    if item["dtype"] not in ("uint8", "float32"):
        raise ValueError(f"unknown array type {item['dtype']!r}")
    return np.frombuffer(data, np.dtype(item["dtype"]).newbyteorder("<")).reshape(shape)
