"""Plain values by what they hold, to the bit."""

import math

from simstudy.identity.fingerprint.plain_values import plain_token


def test_numbers_that_are_shown_alike_are_told_apart():
    nan = math.nan
    alike = [nan, math.copysign(nan, -1), 0.0, -0.0, 0, False, "0"]
    assert len({plain_token(value, str) for value in alike}) == len(alike)
