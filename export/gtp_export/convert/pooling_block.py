"""KataGo's residual block with a bias pooled from the whole board."""

from gtp_export.convert.katago_net import PoolingBlock
from gtp_export.convert.layers import (
    activation,
    affine,
    channel_bias,
    convolution,
    dense,
    pool_mean_max,
)
from gtp_export.convert.stream import Stream


def add_pooling_block(stream: Stream, block: PoolingBlock) -> None:
    """Append the block; the second norm scales the convolution and the pooled bias alike."""
    graph = stream.graph
    tensor = activation(graph, affine(graph, stream.map(), block.norm1), block.act1)
    pooled = convolution(graph, tensor, block.pool_conv, after=block.pool_norm)
    pooled = activation(graph, pooled, block.pool_act)
    pooled = pool_mean_max(graph, pooled, stream.board)
    bias = dense(graph, pooled, block.pool_to_bias, scale=block.norm2.scale)
    tensor = convolution(graph, tensor, block.conv1, after=block.norm2)
    tensor = channel_bias(graph, tensor, bias, block.norm2.channels)
    tensor = activation(graph, tensor, block.act2)
    stream.add_map(convolution(graph, tensor, block.conv2))
