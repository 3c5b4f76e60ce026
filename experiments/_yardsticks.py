"""Numerical limits for words such as "slightly", the same in all documents."""

from __future__ import annotations

SPOT_ON = 0.0065  # probability: rounds to six tenths of a point
CLOSE = 0.05  # probability
SLIGHTLY = 0.05  # probability
SLIGHTLY_OF_OTHERS = 0.2  # any other quantity, relative
ALMOST = 0.03  # variance, relative
ALIGNED = 0.1  # standard error, relative
MUCH = 0.05  # probability
JUST_AS_WELL = 0.03  # probability

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
"""Limit for each word."""
