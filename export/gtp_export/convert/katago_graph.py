"""A KataGo net as one ONNX graph for every board size and batch."""

from collections import Counter

from onnx import TensorProto

from gtp_engine.evaluators.nets.net_info import (
    ENCODERS,
    GLOBAL_INPUT,
    META_INPUT,
    NO_RESULT_ALWAYS,
    NO_RESULT_BY_RULES,
    SPATIAL_INPUT,
    NetInfo,
)
from gtp_export.convert.graph import Graph
from gtp_export.convert.katago_blocks import ResidualStream, add_block
from gtp_export.convert.katago_file import inputs_version
from gtp_export.convert.katago_heads import policy_outputs, score_columns, value_outputs
from gtp_export.convert.katago_net import (
    AttentionBlock,
    Block,
    BottleneckBlock,
    FeedForwardBlock,
    KataGoNet,
    MetaEncoder,
    PoolingBlock,
    ResidualBlock,
    RmsNorm,
    Trunk,
)
from gtp_export.convert.layers import (
    BoardSize,
    activation,
    affine,
    channel_bias,
    convolution,
    dense,
    dense_bias,
    rms_norm,
)

_HEADS = {
    "policy": "move logits, pass last",
    "policy_optimistic": "move logits if things turn out better than expected, pass last",
    "q_winloss": "expected win minus loss after each move, -1..1",
    "q_score": "expected score after each move, in points",
    "value": "logits of win, loss and no result",
    "score": "score and error estimates, columns as named",
    "ownership": "-1..1 a point, rows from the top",
}
_BLOCK_NAMES = {
    ResidualBlock: "residual",
    PoolingBlock: "global-pooling residual",
    BottleneckBlock: "nested bottleneck",
    AttentionBlock: "attention",
    FeedForwardBlock: "feed-forward",
}


def katago_graph(net: KataGoNet) -> Graph:
    """Build the graph; the board fills the tensor, so nothing is masked."""
    graph = Graph(net.name)
    spatial = graph.input(
        SPATIAL_INPUT, TensorProto.UINT8, ["batch", net.planes, "height", "width"]
    )
    globals_ = graph.input(GLOBAL_INPUT, TensorProto.FLOAT, ["batch", net.globals])
    meta = None
    if net.meta_features:
        meta = graph.input(META_INPUT, TensorProto.FLOAT, ["batch", net.meta_features])
    board = BoardSize(graph, spatial)
    trunk = _trunk(graph, board, net.trunk, spatial, globals_, meta)
    outputs = policy_outputs(graph, board, trunk, net.policy)
    outputs |= value_outputs(graph, board, trunk, net)
    columns = len(score_columns(net.version, net.multipliers))
    shapes: dict[str, list[int | str]] = {
        "value": ["batch", 3],
        "score": ["batch", columns],
        "ownership": ["batch", "height", "width"],
    }
    for name, tensor in outputs.items():
        graph.output(name, tensor, shapes.get(name, ["batch", "actions"]))
    return graph


def _trunk(
    graph: Graph, board: BoardSize, trunk: Trunk, spatial: str, globals_: str, meta: str | None
) -> str:
    """Append everything up to the map both heads read."""
    planes = graph.node("Cast", spatial, name="planes", to=TensorProto.FLOAT)
    bias = dense(graph, globals_, trunk.global_mul)
    if trunk.meta_encoder is not None and meta is not None:
        bias = graph.node("Add", bias, _encode_meta(graph, meta, trunk.meta_encoder))
    tensor = channel_bias(graph, convolution(graph, planes, trunk.stem), bias, trunk.channels)
    stream = ResidualStream(graph, board, tensor, trunk.channels)
    for block in trunk.blocks:
        add_block(stream, block)
    if isinstance(trunk.tip_norm, RmsNorm):
        stream.set_tokens(rms_norm(graph, stream.tokens(), trunk.tip_norm))
        tip = stream.map()
    else:
        tip = affine(graph, stream.map(), trunk.tip_norm)
    return activation(graph, tip, trunk.tip_act)


def _encode_meta(graph: Graph, meta: str, encoder: MetaEncoder) -> str:
    hidden = dense_bias(graph, meta, encoder.mul1, encoder.bias1)
    hidden = activation(graph, hidden, encoder.act1)
    hidden = dense_bias(graph, hidden, encoder.mul2, encoder.bias2)
    return dense(graph, activation(graph, hidden, encoder.act2), encoder.mul3)


def katago_info(net: KataGoNet, source: str) -> NetInfo:
    """Describe a KataGo net; `source` names the file it came from."""
    encoder = f"katago_v{inputs_version(net.version)}"
    names = ["policy", "policy_optimistic", "q_winloss", "q_score"][: net.policy.channels]
    return NetInfo(
        name=net.name,
        encoder=encoder,
        encoder_version=ENCODERS[encoder][0],
        spatial_planes=net.planes,
        global_features=net.globals,
        meta_features=net.meta_features,
        heads={name: _HEADS[name] for name in (*names, "value", "score", "ownership")},
        no_result=NO_RESULT_ALWAYS if net.version == 3 else NO_RESULT_BY_RULES,
        score_columns=tuple(column.name for column in score_columns(net.version, net.multipliers)),
        trained_sizes=(7, 19),
        rules="area" if net.version <= 6 else "any",
        pass_alive_under_suicide=net.pass_alive_under_suicide,
        architecture=describe_architecture(net),
        parameters=net.parameters,
        source=f"KataGo model version {net.version}, {source}",
        created_by="gtp-export convert",
    )


def describe_architecture(net: KataGoNet) -> str:
    """Say in one line what the trunk is made of."""
    blocks = _count(net.trunk.blocks)
    activations = sorted(_activations(net.trunk.blocks) | {net.trunk.tip_act})
    shown = "/".join(kind for kind in activations if kind != "identity")
    return f"{len(net.trunk.blocks)} blocks x {net.trunk.channels} channels ({blocks}), {shown}"


def _count(blocks: tuple[Block, ...]) -> str:
    counts = Counter(_BLOCK_NAMES[type(block)] for block in blocks)
    return ", ".join(f"{count} {name}" for name, count in counts.items())


def _activations(blocks: tuple[Block, ...]) -> set[str]:
    found: set[str] = set()
    for block in blocks:
        match block:
            case ResidualBlock() | PoolingBlock():
                found |= {block.act1, block.act2}
            case BottleneckBlock():
                found |= {block.act_in, block.act_out} | _activations(block.blocks)
            case FeedForwardBlock():
                found.add("silu")
    return found
