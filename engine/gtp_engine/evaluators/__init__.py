"""From a position to policy, value and ownership: encoders, nets, the batcher and the cache."""
