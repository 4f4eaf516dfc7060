"""KataGo's nested bottleneck: residual blocks at a smaller width inside a residual block."""

from gtp_export.convert.attention_block import add_attention_block
from gtp_export.convert.feed_forward_block import add_feed_forward_block
from gtp_export.convert.katago_net import (
    AttentionBlock,
    Block,
    BottleneckBlock,
    FeedForwardBlock,
    PoolingBlock,
    ResidualBlock,
)
from gtp_export.convert.layers import activation, affine, convolution
from gtp_export.convert.pooling_block import add_pooling_block
from gtp_export.convert.residual_block import add_residual_block
from gtp_export.convert.stream import Stream


def add_block(stream: Stream, block: Block) -> None:
    """Append a block of whatever kind to the stream."""
    match block:
        case ResidualBlock():
            add_residual_block(stream, block)
        case PoolingBlock():
            add_pooling_block(stream, block)
        case BottleneckBlock():
            add_bottleneck_block(stream, block)
        case AttentionBlock():
            add_attention_block(stream, block)
        case FeedForwardBlock():
            add_feed_forward_block(stream, block)


def add_bottleneck_block(stream: Stream, block: BottleneckBlock) -> None:
    """Append the block: narrow the stream, run the inner blocks, widen and add the result."""
    graph = stream.graph
    tensor = activation(graph, affine(graph, stream.map(), block.norm_in), block.act_in)
    narrow = convolution(graph, tensor, block.conv_in)
    inner = Stream(graph, stream.board, narrow, block.conv_in.channels_out)
    for child in block.blocks:
        add_block(inner, child)
    tensor = activation(graph, affine(graph, inner.map(), block.norm_out), block.act_out)
    stream.add_map(convolution(graph, tensor, block.conv_out))
