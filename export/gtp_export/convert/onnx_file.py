"""Reading an ONNX file of unknown origin, and what its metadata say."""

import logging
from pathlib import Path

import onnx
from onnx import TensorProto, helper

from gtp_engine.evaluators.nets.net_files import version_file
from gtp_engine.evaluators.nets.net_info import (
    GOLDEN_KEY,
    NET_KEY,
    MetadataError,
    NetFileError,
    NetInfo,
)
from gtp_engine.evaluators.runtimes.onnx_runtime import LARGEST_FILE
from gtp_engine.files import read_file
from gtp_export.plans import FP16, INT8

logger = logging.getLogger(__name__)


def load_model(source: Path) -> onnx.ModelProto:
    """Read a model with its weights.

    Raises:
        NetFileError: It is no ONNX file, is too new, or keeps its weights elsewhere.
    """
    try:
        content = read_file(source, LARGEST_FILE)
    except OSError as error:
        raise NetFileError(f"{source}: cannot be read: {error.strerror or error}") from None
    try:
        model = onnx.load_model_from_string(content)
    except Exception:
        # Whatever protobuf of this version raises for bytes that are no message.
        raise NetFileError(f"{source}: is not an ONNX file") from None
    if not model.graph.node or not model.opset_import:
        raise NetFileError(f"{source}: is not an ONNX file")
    if not all(isinstance(item.name, str) for item in (*model.graph.input, *model.graph.output)):
        raise NetFileError(f"{source}: its names are no text")
    newest = onnx.defs.onnx_opset_version()
    for opset in model.opset_import:
        if opset.domain in ("", "ai.onnx") and opset.version > newest:
            raise NetFileError(
                f"{source}: uses opset {opset.version}; the newest known here is {newest}"
            )
    if any(tensor.data_location == TensorProto.EXTERNAL for tensor in model.graph.initializer):
        raise NetFileError(f"{source}: keeps its weights in another file; save it as one file")
    return model


def files_of(target: Path) -> list[Path]:
    """Return the files of a net: itself, and those in lower precision that may be beside it."""
    return [target, *(version_file(target, kind) for kind in (INT8, FP16))]


def remove_smaller(target: Path) -> None:
    """Remove a net's files in lower precision, before another net takes its place.

    The engine would play with one of them in place of the new net.
    """
    for file in files_of(target)[1:]:
        if file.exists():
            file.unlink()
            logger.info(f"{file} is gone, which was made of the net before")


def check_target(source: Path, target: Path) -> None:
    """Make sure that a net can be written without harm.

    Neither the file that it is made of is to be written over, or removed with `remove_smaller`, nor
    one of another kind, by mistake: a net's name ends in `.onnx`.

    Raises:
        NetFileError: It cannot.
    """
    if target.is_dir():
        raise NetFileError(f"{target}: Is a directory")
    for file in files_of(target):
        if file.exists() and source.exists() and file.samefile(source):
            raise NetFileError(f"{file}: the net cannot be written over itself")
    if target.suffix != ".onnx":
        raise NetFileError(f"{target}: the name of a net's file ends in .onnx")


def read_info(source: Path, model: onnx.ModelProto) -> NetInfo:
    """Return how a model describes itself.

    Raises:
        NetFileError: It does not.
    """
    try:
        return NetInfo.from_metadata({item.key: item.value for item in model.metadata_props})
    except UnicodeDecodeError as error:
        raise NetFileError(f"{source}: its metadata are no text: {error.reason}") from None
    except MetadataError as error:
        raise NetFileError(f"{source}: {error}") from None


def info_of(source: Path) -> NetInfo:
    """Return how the net of an ONNX file describes itself.

    Raises:
        NetFileError: The file cannot be read, or does not.
    """
    return read_info(source, load_model(source))


def replace_info(model: onnx.ModelProto, info: NetInfo) -> None:
    """Write another description into a model and drop its golden data."""
    kept = [item for item in model.metadata_props if item.key not in (NET_KEY, GOLDEN_KEY)]
    metadata = {item.key: item.value for item in kept} | info.to_metadata()
    del model.metadata_props[:]
    helper.set_model_props(model, metadata)
