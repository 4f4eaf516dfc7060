"""KataGo's feed-forward block, with or without a gate."""

from gtp_export.convert.katago_net import FeedForwardBlock
from gtp_export.convert.layers import activation, dense, rms_norm
from gtp_export.convert.stream import Stream


def add_feed_forward_block(stream: Stream, block: FeedForwardBlock) -> None:
    """Append the block, which works on each point by itself.

    KataGo 1.17 itself runs gated blocks alone.
    """
    graph = stream.graph
    normed = rms_norm(graph, stream.tokens(), block.norm)
    hidden = activation(graph, dense(graph, normed, block.linear1), "silu")
    if block.gate is not None:
        hidden = graph.node("Mul", hidden, dense(graph, normed, block.gate))
    stream.add_tokens(dense(graph, hidden, block.linear2))
