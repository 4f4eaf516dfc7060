"""KataGo's policy head: one to four channels of moves and a pass."""

from gtp_export.convert.graph import Graph
from gtp_export.convert.katago_net import PolicyHead
from gtp_export.convert.layers import (
    BoardSize,
    activation,
    channel_bias,
    convolution,
    dense,
    dense_bias,
    pool_mean_max,
)

Q_SCORE_POINTS = 20.0
"""What the fourth channel is multiplied by to give points."""


def policy_outputs(graph: Graph, board: BoardSize, trunk: str, head: PolicyHead) -> dict[str, str]:
    """Append the head; return its outputs [B, H*W+1] by their names in `net_info`."""
    pooled = convolution(graph, trunk, head.pool_conv, after=head.pool_norm)
    pooled = pool_mean_max(graph, activation(graph, pooled, head.pool_act), board)
    bias = dense(graph, pooled, head.pool_to_bias, scale=head.norm1.scale)
    tensor = convolution(graph, trunk, head.conv1, after=head.norm1)
    tensor = channel_bias(graph, tensor, bias, head.norm1.channels)
    tensor = activation(graph, tensor, head.act1)
    tensor = convolution(graph, tensor, head.conv2)
    moves = graph.node("Reshape", tensor, graph.ints([0, head.channels, -1]))
    passing = _pass_logits(graph, pooled, head)
    passing = graph.node("Reshape", passing, graph.ints([0, head.channels, 1]))
    # [B, channels, H*W + 1]
    actions = graph.node("Concat", moves, passing, axis=2)
    if head.channels == 1:
        return {"policy": graph.node("Flatten", actions)}
    planes = graph.nodes("Split", actions, outputs=head.channels, axis=1)
    flat = [graph.node("Flatten", plane) for plane in planes]
    outputs = {"policy": flat[0], "policy_optimistic": flat[1]}
    if head.channels == 4:
        outputs["q_winloss"] = graph.node("Tanh", flat[2])
        outputs["q_score"] = graph.node("Mul", flat[3], graph.floats(Q_SCORE_POINTS))
    return outputs


def _pass_logits(graph: Graph, pooled: str, head: PolicyHead) -> str:
    if head.pass_mul2 is None or head.pass_bias is None or head.pass_act is None:
        return dense(graph, pooled, head.pass_mul1)
    hidden = dense_bias(graph, pooled, head.pass_mul1, head.pass_bias)
    return dense(graph, activation(graph, hidden, head.pass_act), head.pass_mul2)
