"""A net in fp32 with positions that it played, on which its lower precisions are judged."""

import logging
import tempfile
from pathlib import Path

import onnx

from gtp_engine.evaluators.accuracy import Accuracy, Opinion, compare, opinions
from gtp_engine.evaluators.net_evaluator import NetEvaluator
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.evaluators.nets.onnx_net import OnnxNet
from gtp_export.convert.graph import write_model
from gtp_export.convert.onnx_file import load_model, read_info
from gtp_export.quantise.folding import fold_norms
from gtp_export.quantise.graph_edit import GraphEdit
from gtp_export.quantise.half import LARGEST_HALF, tensors_in_half
from gtp_export.quantise.int8 import Int8Settings, quantise_int8, tensors_to_watch
from gtp_export.quantise.layers import Layer, list_layers, name_nodes
from gtp_export.quantise.positions import Positions, play_positions
from gtp_export.quantise.ranges import Range, largest_values, watch_tensors
from gtp_export.quantise.rounding import Integers, round_weights
from gtp_export.quantise.smoothing import smooth_products

logger = logging.getLogger(__name__)

SEED = 20_250
OLDEST_OPSET = 13


class Laboratory:
    """A net in fp32, positions it played, and what it says about them."""

    def __init__(self, source: Path, positions: int, judged: int, called: str) -> None:
        """Read a net and let it play.

        Args:
            positions: So many calibrate.
            judged: So many of other games are judged.
            called: What messages call the source.

        Raises:
            NetFileError: It cannot be read, is not in fp32, or there is no encoder for it.
        """
        self.source = source
        self.called = called
        model = load_model(source)
        self.info = read_info(source, model)
        if self.info.precision != "fp32":
            raise NetFileError(f"{called}: is in {self.info.precision} already; start from fp32")
        net = NetEvaluator(OnnxNet(source, "cpu"), streams=1, max_batch=64, cache_mb=0)
        logger.info(f"playing {positions + judged} positions with {self.info.name}")
        self.calibration = play_positions(net, positions, SEED)
        self.judged = play_positions(net, judged, SEED + 1)
        self.original = opinions(net, self.judged)
        self._calibration_opinions: list[Opinion] | None = None
        self._net = net
        model = _converted(model)
        name_nodes(model)
        edit = GraphEdit(model)
        edit.take_constants()
        fold_norms(edit)
        self.model = smooth_products(edit.finish(), self.info, self.calibration)
        self.layers: list[Layer] = list_layers(GraphEdit(self.model))
        self._ranges: dict[str, Range] = {}
        self._integers: dict[int, dict[str, Integers]] = {}

    def ranges(self, layers: frozenset[str]) -> dict[str, Range]:
        """Return the ranges that quantising these layers needs."""
        wanted = tensors_to_watch(GraphEdit(self.model), layers)
        missing = [name for name in wanted if name not in self._ranges]
        if missing:
            found = watch_tensors(self.model, self.info, missing, self.calibration)
            self._ranges.update(found)
        return {name: self._ranges[name] for name in wanted}

    def int8_model(self, settings: Int8Settings) -> onnx.ModelProto:
        """Return the net with these layers in int8.

        Raises:
            NetFileError: Its opset is too old for that.
        """
        if (opset := _opset_of(self.model)) < OLDEST_OPSET:
            raise NetFileError(
                f"{self.called}: uses opset {opset}; export it with {OLDEST_OPSET} or later"
            )
        ranges, weights = self.ranges(settings.layers), self._weights(settings.weight_bits)
        return quantise_int8(self.model, ranges, weights, settings)

    def _weights(self, bits: int) -> dict[str, Integers]:
        if bits not in self._integers:
            names = [layer.name for layer in self.layers]
            rounded = round_weights(self.model, self.info, names, bits, self.calibration)
            self._integers[bits] = rounded
        return self._integers[bits]

    def beyond_half(self) -> list[str]:
        """Return in words what the net computes that fp16 may not hold; a processor hides it.

        ONNX Runtime computes in fp32 there what a GPU computes in fp16.
        """
        names = tensors_in_half(self.model)
        most = largest_values(self.model, self.info, names, [*self.calibration, *self.judged])
        name = max(most, key=lambda one: most[one], default="")
        if not name or most[name] <= LARGEST_HALF / 2:  # other positions may lead further
            return []
        return [f"{name} reaches {most[name]:,.0f}, over half of the {LARGEST_HALF:,.0f} of fp16"]

    def judge(self, model: onnx.ModelProto) -> dict[str, Accuracy]:
        """Return how far a model is from the original, by board size and over "all".

        On games that calibrated nothing.
        """
        groups: dict[str, tuple[list[Opinion], list[Opinion]]] = {}
        found = self._ask(model, self.judged)
        for batch, one, other in zip(self.judged, self.original, found, strict=True):
            height, width = batch.spatial.shape[2:]
            for name in (f"{width}x{height}", "all"):
                mine, theirs = groups.setdefault(name, ([], []))
                mine.append(one)
                theirs.append(other)
        names = sorted(groups, key=lambda name: (name == "all", len(name), name))
        return {name: compare(*groups[name]) for name in names}

    def judge_on_calibration(self, settings: Int8Settings) -> Accuracy:
        """Return how far int8 is from the original, on the positions that calibrated."""
        if self._calibration_opinions is None:
            self._calibration_opinions = opinions(self._net, self.calibration)
        found = self._ask(self.int8_model(settings), self.calibration)
        return compare(self._calibration_opinions, found)

    def _ask(self, model: onnx.ModelProto, positions: Positions) -> list[Opinion]:
        net = self.open_model(model)
        try:
            return opinions(NetEvaluator(net, streams=1, max_batch=64, cache_mb=0), positions)
        except NetFileError as error:
            raise NetFileError(str(error).replace(str(net.path), self.called)) from None

    def open_model(self, model: onnx.ModelProto) -> OnnxNet:
        """Open a model that is in no file.

        Raises:
            NetFileError: It cannot be used.
        """
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "candidate.onnx"
            write_model(model, path)
            try:
                return OnnxNet(path, "cpu")
            except NetFileError as error:
                raise NetFileError(str(error).replace(str(path), self.called)) from None


def _opset_of(model: onnx.ModelProto) -> int:
    return int(max(one.version for one in model.opset_import if one.domain in ("", "ai.onnx")))


def _converted(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a model in an opset that has a scale for each channel, if it can be put into one."""
    if _opset_of(model) >= OLDEST_OPSET:
        return model
    try:
        return onnx.version_converter.convert_version(model, OLDEST_OPSET)
    except Exception:  # whatever the converter meets in a graph of unknown origin
        return model
