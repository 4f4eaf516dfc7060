"""Random numbers for kernels: a generator's states, and bits as good as random."""

from gtp_engine.kernels import inline_kernel, int64, uint64


@inline_kernel
def next_random(state: int) -> int:
    """Return the next state of a 64-bit xorshift generator; zero is not a state."""
    x = uint64(state)
    x ^= x << uint64(13)
    x ^= x >> uint64(7)
    x ^= x << uint64(17)
    return x


@inline_kernel
def random_below(state: int, bound: int) -> int:
    """Map a generator state to 0..bound-1 by multiplication, without a division."""
    high = uint64(state) >> uint64(32)
    return int64((high * uint64(bound)) >> uint64(32))


@inline_kernel
def mix(x: int) -> int:
    """Scramble 64 bits (the finaliser of SplitMix64, Steele et al. 2014)."""
    z = uint64(x) + uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> uint64(27))) * uint64(0x94D049BB133111EB)
    return z ^ (z >> uint64(31))
