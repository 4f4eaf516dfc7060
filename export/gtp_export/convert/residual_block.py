"""KataGo's residual block of two convolutions."""

from gtp_export.convert.katago_net import ResidualBlock
from gtp_export.convert.layers import activation, affine, convolution
from gtp_export.convert.stream import Stream


def add_residual_block(stream: Stream, block: ResidualBlock) -> None:
    """Append the block; the second norm disappears into the first convolution."""
    graph = stream.graph
    tensor = activation(graph, affine(graph, stream.map(), block.norm1), block.act1)
    tensor = convolution(graph, tensor, block.conv1, after=block.norm2)
    tensor = activation(graph, tensor, block.act2)
    stream.add_map(convolution(graph, tensor, block.conv2))
