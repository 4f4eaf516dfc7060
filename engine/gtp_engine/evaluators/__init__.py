"""From a position to policy, value and ownership: encoders, nets, the queue and the cache."""
