"""How words of degree are taken, the same in all documents: the scoreboard prints this table."""

from __future__ import annotations

SPOT_ON = 0.0065  # of a probability: six tenths of a point, as rounded
CLOSE = 0.05  # of a probability
SLIGHTLY = 0.05  # of a probability
SLIGHTLY_OF_OTHERS = 0.2  # of any other quantity, relative
ALMOST = 0.03  # of a variance, relative
ALIGNED = 0.1  # of a standard error, relative
MUCH = 0.05  # of a probability
JUST_AS_WELL = 0.03  # of a probability

WORDS = {
    "basically spot on": "at most six tenths of a percentage point off, as the document's own "
    "93.9% for 93.3%",
    "close, gets close": "at most 5 percentage points off",
    "slightly": "beyond chance, and by at most 5 percentage points; of a quantity that is no "
    "probability, by at most a fifth",
    "almost unbiased": "at most 3% off",
    "closely aligned": "scatter at most a tenth wider or narrower than the standard error",
    "much": "by more than 5 percentage points",
    "just as well": "at most 3 percentage points off",
    "power or rate in whole per cents": "a point beyond its rounding for a power, half a point for "
    "other rates: less does not show in whole per cents",
}
"""By word: how far it reaches."""
