"""SplitMix64 (Steele, Lea and Flood 2014) in whole numbers, for loops that are compared with it."""

WORD, GOLDEN = 2**64, 0x9E3779B97F4A7C15


def mixed(state: int) -> int:
    z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) % WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % WORD
    return z ^ (z >> 31)
