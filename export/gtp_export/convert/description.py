"""Fitting an ONNX file of unknown origin to the names of `net_info` and describing it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from gtp_engine.coords import MAX_SIZE, MIN_SIZE
from gtp_engine.evaluators.human_profile import N_META
from gtp_engine.evaluators.nets.net_info import (
    ENCODERS,
    GLOBAL_INPUT,
    META_INPUT,
    NET_KEY,
    NO_RESULT_NEVER,
    OUTPUT_NAMES,
    SPATIAL_INPUT,
    VALUE_SCALAR,
    VALUE_WIN_LOSS_NORESULT,
    GoldenCase,
    MetadataError,
    NetFileError,
    NetInfo,
)
from gtp_export.convert.golden import add_golden
from gtp_export.convert.graph import GraphError, write_model
from gtp_export.convert.onnx_file import check_target, load_model, read_info, replace_info
from gtp_export.plans import FP16, INT8, DescribePlan

Steps = list[tuple[str, NDArray[Any] | None]]
"""Operations, each with a second input if it has one."""

_STRETCHED: Steps = [("Mul", np.array(2.0, np.float32)), ("Sub", np.array(1.0, np.float32))]
"""From 0..1 to -1..1."""
_INTEGER_OPS = ("QuantizeLinear", "DynamicQuantizeLinear", "ConvInteger", "MatMulInteger")
_LOGARITHM: Steps = [("Max", np.array(1e-30, np.float32)), ("Log", None)]
"""From probabilities to logits."""
_TOLD = (
    *("has_pass", "value_kind", "score_columns", "komi_min", "komi_max", "rules"),
    *("architecture", "source", "trained_on", "licence", "strength"),
)
"""What the user says that stands in the description by the same name."""


def describe_file(plan: DescribePlan) -> NetInfo:
    """Write a file with a description, golden data and the names of `net_info`.

    Raises:
        NetFileError: the file is not ONNX, lacks an input or output, or does not fit what is
            said about it.
        OSError: the target cannot be written.
    """
    target = plan.out or plan.file
    if target != plan.file:
        check_target(plan.file, target)
    model = load_model(plan.file)
    editor = _Editor(plan.file, model)
    before = read_info(plan.file, model) if editor.is_described else None
    encoder = _encoder(editor, plan, before)
    for pair in plan.rename:
        old, separator, new = pair.partition("=")
        if not separator or not old or not new:
            editor.fail(f"--rename takes YOURS=NAME, not {pair!r}")
        editor.rename(old, new)
    editor.take_bytes(encoder)
    editor.flatten_ownership()
    editor.take_floats()
    editor.natural_units(plan)
    try:
        info = _info(editor, plan, encoder, before)
        replace_info(model, info)
        _check_shapes(editor, info, add_golden(model, info))
        write_model(model, target)
    except (GraphError, MetadataError) as error:
        raise NetFileError(f"{plan.file}: {error}") from None
    return info


class _Editor:
    """Change the outside of a graph without touching its inside."""

    def __init__(self, source: Path, model: onnx.ModelProto) -> None:
        self.source = source
        self.graph = model.graph
        self.is_described = any(entry.key == NET_KEY for entry in model.metadata_props)
        weights = {tensor.name for tensor in self.graph.initializer}
        self.inputs = {value.name: value for value in self.graph.input if value.name not in weights}
        self.outputs = {value.name: value for value in self.graph.output}
        self.tensors = weights | set(self.inputs)
        self.tensors |= {name for node in self.graph.node for name in node.output}

    def fail(self, problem: str) -> NoReturn:
        raise NetFileError(f"{self.source}: {problem}")

    def fresh(self, name: str) -> str:
        while name in self.tensors:
            name += "_"
        self.tensors.add(name)
        return name

    def rename(self, old: str, new: str) -> None:
        """Give an input or output another name."""
        ports = self.inputs if old in self.inputs else self.outputs
        if old not in ports:
            known = ", ".join([*self.inputs, *self.outputs])
            self.fail(f"has no input or output {old!r}; it has {known}")
        if new in self.inputs or new in self.outputs:
            self.fail(f"has an input or output {new!r} already")
        if new in self.tensors:
            self.replace_tensor(new, self.fresh(new))
        self.replace_tensor(old, new)
        value = ports.pop(old)
        value.name = new
        ports[new] = value
        self.tensors.add(new)

    def replace_tensor(self, old: str, new: str) -> None:
        for node in _nodes_of(self.graph):
            for names in (node.input, node.output):
                for index, name in enumerate(names):
                    if name == old:
                        names[index] = new
        for tensor in self.graph.initializer:
            if tensor.name == old:
                tensor.name = new

    def dims(self, value: onnx.ValueInfoProto) -> list[int | None]:
        """Return the sizes of a tensor, None where they are dynamic or unknown."""
        return [
            dim.dim_value if dim.HasField("dim_value") else None
            for dim in value.type.tensor_type.shape.dim
        ]

    def take_bytes(self, encoder: str) -> None:
        """Let the planes come as uint8, whatever type the graph works with.

        A net of the book's one plane, own stones minus opponent's, gets both and subtracts.
        """
        if SPATIAL_INPUT not in self.inputs:
            known = ", ".join(self.inputs)
            self.fail(
                f"has no input {SPATIAL_INPUT!r} but {known}; say --rename YOURS={SPATIAL_INPUT}"
            )
        value = self.inputs[SPATIAL_INPUT]
        kind = value.type.tensor_type.elem_type
        dims = self.dims(value)
        one_plane = encoder == "dlgo1" and len(dims) == 4 and dims[1] == 1
        if kind == TensorProto.UINT8 and not one_plane:
            return
        inner, cast = self.fresh(f"{SPATIAL_INPUT}/given"), self.fresh(f"{SPATIAL_INPUT}/cast")
        self.replace_tensor(SPATIAL_INPUT, inner)
        value.type.tensor_type.elem_type = TensorProto.UINT8
        if not one_plane:
            nodes = [helper.make_node("Cast", [SPATIAL_INPUT], [inner], to=kind)]
        else:
            value.type.tensor_type.shape.dim[1].dim_value = 2
            own, other = (self.fresh(f"{SPATIAL_INPUT}/{side}") for side in ("own", "opponent"))
            nodes = [
                helper.make_node("Cast", [SPATIAL_INPUT], [cast], to=kind),
                self.pick(cast, [0], own),
                self.pick(cast, [1], other),
                helper.make_node("Sub", [own, other], [inner]),
            ]
        for node in reversed(nodes):
            self.graph.node.insert(0, node)

    def natural_units(self, plan: DescribePlan) -> None:
        """Turn probabilities into logits and what runs from 0 to 1 into -1 to 1."""
        names = ("policy", "value_range", "ownership_range")
        given = [name for name in names if getattr(plan, name) != getattr(DescribePlan, name)]
        if given and self.is_described:
            option = given[0].replace("_", "-")
            self.fail(
                f"has been described before; begin with the original file, or leave --{option} out"
            )
        if plan.policy == "probabilities" and "policy" in self.outputs:
            self.append("policy", _LOGARITHM)
        if plan.value_range == "0..1" and "value" in self.outputs:
            is_one = plan.value_kind == VALUE_SCALAR
            self.append("value", _STRETCHED if is_one else _LOGARITHM)
        if plan.ownership_range == "0..1" and "ownership" in self.outputs:
            self.append("ownership", _STRETCHED)

    def set_aside(self, output: str) -> str:
        """Rename an output's tensor, for a node to come that makes the output; return the name."""
        given = self.fresh(f"{output}/given")
        self.replace_tensor(output, given)
        return given

    def take_floats(self) -> None:
        """Let outputs in other precisions come as float32."""
        for name, value in self.outputs.items():
            if value.type.tensor_type.elem_type in (TensorProto.FLOAT16, TensorProto.DOUBLE):
                given = self.set_aside(name)
                cast = helper.make_node("Cast", [given], [name], to=TensorProto.FLOAT)
                self.graph.node.append(cast)
                value.type.tensor_type.elem_type = TensorProto.FLOAT

    def flatten_ownership(self) -> None:
        """Take the channel away from ownership that comes as a map [B, 1, H, W]."""
        value = self.outputs.get("ownership")
        if value is None or len(self.dims(value)) != 4 or self.dims(value)[1] != 1:
            return
        self.graph.node.append(self.pick(self.set_aside("ownership"), 0, "ownership"))
        del value.type.tensor_type.shape.dim[1]

    def pick(self, tensor: str, channel: int | list[int], output: str) -> onnx.NodeProto:
        """Return what takes a channel from [B, C, H, W]: a list leaves the dimension in its place.

        Split and Squeeze would do the same, each otherwise in every few versions of ONNX.
        """
        index = self.fresh(f"{output}/channel")
        self.graph.initializer.append(numpy_helper.from_array(np.array(channel, np.int64), index))
        return helper.make_node("Gather", [tensor, index], [output], axis=1)

    def append(self, output: str, steps: Steps) -> None:
        """Put operations with at most one constant each between the graph and an output."""
        tensor = self.set_aside(output)
        for index, (op, constant) in enumerate(steps):
            inputs = [tensor]
            if constant is not None:
                inputs.append(self.fresh(f"{output}/constant{index}"))
                self.graph.initializer.append(numpy_helper.from_array(constant, inputs[1]))
            last = index == len(steps) - 1
            tensor = output if last else self.fresh(f"{output}/step{index}")
            self.graph.node.append(helper.make_node(op, inputs, [tensor]))


def _nodes_of(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """Yield the nodes of a graph and of those inside, such as the branches of an If."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            yield from _nodes_of(attribute.g)


def _encoder(editor: _Editor, plan: DescribePlan, before: NetInfo | None) -> str:
    """Return the encoder that the user names, or that was named before."""
    if before is None:
        return plan.encoder or editor.fail("does not say what fills its planes; --encoder does")
    if plan.encoder not in (None, before.encoder):
        editor.fail(f"has been described before, with the encoder {before.encoder}")
    return before.encoder


def _info(editor: _Editor, plan: DescribePlan, encoder: str, before: NetInfo | None) -> NetInfo:
    """Put together what the graph shows, what the user says, and what was said before."""
    version, planes, globals_ = ENCODERS[encoder]
    _check_input(editor, SPATIAL_INPUT, 4, planes, encoder)
    if globals_:
        _check_input(editor, GLOBAL_INPUT, 2, globals_, encoder)
    has_meta = META_INPUT in editor.inputs
    if has_meta:
        _check_input(editor, META_INPUT, 2, N_META, encoder)
    strange = sorted(set(editor.inputs) - {SPATIAL_INPUT, GLOBAL_INPUT, META_INPUT})
    if strange or (GLOBAL_INPUT in editor.inputs and not globals_):
        editor.fail(f"has an input {(strange or [GLOBAL_INPUT])[0]!r} that nothing fills")
    unknown = [name for name in editor.outputs if name not in OUTPUT_NAMES]
    if unknown:
        editor.fail(
            f"has an output {unknown[0]!r}, which net files do not have; "
            f"say --rename {unknown[0]}=NAME with one of {', '.join(OUTPUT_NAMES)}"
        )
    sizes = _board_sizes(editor, plan)
    given = {name: getattr(plan, name) for name in _TOLD}
    given = {name: value for name, value in given.items() if value not in (None, "", ())}
    boards: dict[str, Any] = {
        "board_min": min(sizes, default=MIN_SIZE),
        "board_max": max(sizes, default=MAX_SIZE),
        "square_only": bool(sizes),
        "board_sizes": sizes,
    }
    heads = dict.fromkeys(editor.outputs, "as described by its owner")
    if before is not None:
        given |= boards if plan.board_sizes else {}
        heads |= {name: text for name, text in before.heads.items() if name in heads}
        return replace(before, name=plan.name or before.name, heads=heads, **given)
    parameters = sum(int(np.prod(tensor.dims)) for tensor in editor.graph.initializer)
    return NetInfo(
        encoder=encoder,
        encoder_version=version,
        spatial_planes=planes,
        global_features=globals_,
        meta_features=N_META if has_meta else 0,
        heads=heads,
        no_result=NO_RESULT_NEVER,
        parameters=parameters,
        precision=_precision_of(editor.graph),
        created_by="gtp-export describe",
        name=plan.name or plan.file.stem,
        **({"source": plan.file.name} | boards | given),
    )


def _precision_of(graph: onnx.GraphProto) -> str:
    """Return in what a graph computes, by its integers and weights."""
    nodes = list(_nodes_of(graph))
    if any(node.op_type in _INTEGER_OPS for node in nodes):
        return INT8
    held = [one.t for node in nodes if node.op_type == "Constant" for one in node.attribute]
    weights = [*graph.initializer, *held]
    halves = any(tensor.data_type == TensorProto.FLOAT16 for tensor in weights)
    return FP16 if halves else "fp32"


def _check_input(editor: _Editor, name: str, rank: int, width: int, encoder: str) -> None:
    if name not in editor.inputs:
        editor.fail(f"has no input {name!r}, which the encoder {encoder} fills")
    dims = editor.dims(editor.inputs[name])
    if len(dims) != rank:
        editor.fail(f"takes {name} with {len(dims)} axes instead of {rank}")
    if dims[0] is not None:
        editor.fail(f"takes {dims[0]} of {name} at a time; export it for batches of any size")
    if dims[1] not in (None, width):
        editor.fail(f"takes {name} with {dims[1]} channels, but {encoder} makes {width}")


def _board_sizes(editor: _Editor, plan: DescribePlan) -> tuple[int, ...]:
    """Return the only sizes the net takes, or nothing if it takes all."""
    height, width = editor.dims(editor.inputs[SPATIAL_INPUT])[2:]
    known = {str(size): size for size in range(MIN_SIZE, MAX_SIZE + 1)}
    given = tuple(known[size] for size in plan.board_sizes if size in known)
    if len(given) != len(plan.board_sizes):
        words = ",".join(plan.board_sizes)
        sizes = f"{MIN_SIZE} to {MAX_SIZE}"
        editor.fail(f"--board-sizes takes numbers from {sizes}, not {words[:40]!r}")
    if height is None and width is None:
        return given
    if height != width or height is None:
        editor.fail(f"takes boards of {height}x{width}; only squares can be described")
    if given not in ((), (height,)):
        editor.fail(f"takes boards of {height}x{height} alone")
    return (height,)


def _check_shapes(editor: _Editor, info: NetInfo, cases: list[GoldenCase]) -> None:
    """Compare what the net put out with what the description promises."""
    for case in cases:
        batch, _, height, width = case.inputs[SPATIAL_INPUT].shape
        actions = height * width + info.has_pass
        values = 3 if info.value_kind == VALUE_WIN_LOSS_NORESULT else 1
        expected = {
            "value": (batch, values),
            "score": (batch, len(info.score_columns)),
            "ownership": (batch, height, width),
        }
        for name, array in case.outputs.items():
            shape = expected.get(name, (batch, actions))
            if array.shape != shape:
                editor.fail(f"puts out {name} of shape {array.shape} where {shape} is meant")
