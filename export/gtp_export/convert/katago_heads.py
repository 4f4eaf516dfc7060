"""KataGo's heads: moves and a pass; win, loss and no result, the score's outputs, ownership."""

from dataclasses import dataclass

import numpy as np

from gtp_export.convert.graph import Graph
from gtp_export.convert.katago_net import KataGoNet, MatMul, Multipliers, PolicyHead, ValueHead
from gtp_export.convert.layers import (
    BoardSize,
    activation,
    channel_bias,
    convolution,
    dense,
    dense_bias,
    pool_mean_max,
    pool_means,
)

Q_SCORE_POINTS = 20.0
"""What the fourth channel is multiplied by to give points."""
VERSION_9_SCORE_ERROR = 10.0
"""Version 9 multiplies its short-term score error by this."""


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


@dataclass(frozen=True)
class ScoreColumn:
    """How one column of `score` comes from the raw output r.

    column = linear * r + soft * softplus(inner * r) + root * sqrt(softplus(inner * r))
    """

    name: str
    raw: int
    """Which of the raw outputs r is."""
    linear: float = 0.0
    inner: float = 1.0
    soft: float = 0.0
    root: float = 0.0


def score_columns(version: int, by: Multipliers) -> list[ScoreColumn]:
    """Return the columns of a model version's `score` output.

    Version 3 counts in sides of the board; that factor is left to the graph.
    """
    if version == 3:
        return [ScoreColumn("score_mean", 0, linear=2.0), ScoreColumn("lead", 0, linear=2.0)]
    columns = [
        ScoreColumn("score_mean", 0, linear=by.score_mean),
        ScoreColumn("score_stdev", 1, soft=by.score_stdev),
    ]
    if version < 8:
        return [*columns, ScoreColumn("lead", 0, linear=by.score_mean)]
    columns.append(ScoreColumn("lead", 2, linear=by.lead))
    if version >= 9:  # version 8 has an output for the time too, which KataGo does not use
        columns.append(ScoreColumn("var_time", 3, soft=by.var_time))
        errors = (("shortterm_winloss_error", 4), ("shortterm_score_error", 5))
        factors = (by.shortterm_winloss, by.shortterm_score)
        for (name, raw), factor in zip(errors, factors, strict=True):
            columns.append(_error_column(version, name, raw, factor))
    return columns


def _error_column(version: int, name: str, raw: int, factor: float) -> ScoreColumn:
    if version >= 14:
        return ScoreColumn(name, raw, inner=0.5, soft=float(np.sqrt(factor)))
    if version >= 10:
        return ScoreColumn(name, raw, root=float(np.sqrt(factor)))
    return ScoreColumn(name, raw, soft=VERSION_9_SCORE_ERROR if raw == 5 else 1.0)


def value_outputs(graph: Graph, board: BoardSize, trunk: str, net: KataGoNet) -> dict[str, str]:
    """Append the head; return value [B, 3], score [B, K] and ownership [B, H, W] by name."""
    head = net.value
    mapped = activation(graph, convolution(graph, trunk, head.conv, after=head.norm), head.act)
    hidden = dense_bias(graph, pool_means(graph, mapped, board), head.mul2, head.bias2)
    hidden = activation(graph, hidden, head.act2)
    ownership = graph.node("Tanh", convolution(graph, mapped, head.ownership_conv))
    return {
        "value": dense_bias(graph, hidden, head.value_mul, head.value_bias),
        "score": _scores(graph, board, hidden, head, score_columns(net.version, net.multipliers)),
        "ownership": graph.node("Squeeze", ownership, graph.ints([1])),
    }


def _scores(
    graph: Graph, board: BoardSize, hidden: str, head: ValueHead, columns: list[ScoreColumn]
) -> str:
    """Append the score columns, raw outputs picked and repeated by picking weights."""
    picks = [column.raw for column in columns]
    mul = MatMul(head.score_mul.name, head.score_mul.weights[:, picks])
    raw = dense_bias(graph, hidden, mul, head.score_bias[picks])
    linear = graph.floats([column.linear for column in columns], "score/linear")
    result = graph.node("Mul", raw, linear)
    if len(head.score_bias) == 1:
        return graph.node("Mul", result, board.side)
    inner = graph.floats([column.inner for column in columns], "score/inner")
    soft = graph.floats([column.soft for column in columns], "score/soft")
    positive = graph.node("Softplus", graph.node("Mul", raw, inner))
    result = graph.node("Add", result, graph.node("Mul", positive, soft))
    if any(column.root for column in columns):
        root = graph.floats([column.root for column in columns], "score/root")
        result = graph.node("Add", result, graph.node("Mul", graph.node("Sqrt", positive), root))
    return result
