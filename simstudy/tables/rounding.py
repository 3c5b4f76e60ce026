"""Rounding of numbers to their Monte Carlo errors.

An error has two significant digits, since it is itself an estimate. A value ends at the same
decimal place as its error: further digits would be noise. For example, 0.063512 with an error of
0.00341 is 0.0635 (0.0034). Numbers below 0.00001, or of 10,000,000 and more, are written with a
power of ten.
"""

from __future__ import annotations

import math
import numbers
import re
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any, NamedTuple

ERROR_DIGITS = 2
VALUE_DIGITS = 4  # significant digits of a number without an error
PLAIN_EXPONENTS = range(-5, 7)  # powers of ten of numbers written without an exponent
ARITHMETIC_ERROR = 1e-12  # relative: a smaller error is that of floating-point arithmetic
ARITHMETIC_ZERO = 1e-15  # a smaller difference of numbers around 1 is their rounding
SIGNS = {"nan": "–", "inf": "∞", "-inf": "-∞"}
THOUSANDS = re.compile(r"(?<=\d)(?=(?:\d{3})+$)")
ARITHMETIC = Context(prec=400, rounding=ROUND_HALF_EVEN)  # independent of the program's context


class RoundedToError(NamedTuple):
    """A rounded number and its error, as text."""

    value: str
    error: str = ""  # empty: no error, or unknown


def with_error(value: float, mcse: float) -> RoundedToError:
    """Round a number to its Monte Carlo standard error.

    Parameters
    ----------
    value, mcse
        Number and its error, in the same unit. If the error is NaN or infinite, it is not shown and
        the number is not rounded to it. If it is 0 (all replicates are equal), it is shown and the
        number is not rounded to it. An error within floating-point rounding is shown as 0.
    """
    if not math.isfinite(mcse) or math.isnan(value):
        return RoundedToError(without_error(value))
    if math.isfinite(value) and 0 < mcse <= ARITHMETIC_ZERO * max(abs(value), 1):
        value, mcse = 0.0 if abs(value) <= ARITHMETIC_ZERO else value, 0.0
    if mcse == 0 or math.isinf(value):
        return RoundedToError(without_error(value), without_error(mcse))
    error = _decimal(mcse)
    last = _last_place(error, ERROR_DIGITS)
    return RoundedToError(to_decimals(value, -last), _written(_to_place(error, last)))


def plus_minus(value: float, mcse: float = 0.0) -> str:
    """Format an estimate ± two Monte Carlo standard errors.

    Both are rounded to the first digit of the two standard errors, or to the second if the first is
    1: "0.065 ± 0.015", "0.8010 ± 0.0018", "12,346 ± 3". An exact number has no ±: whole numbers
    are written in full, others with four significant digits: "399", "0.7863". From ten millions on
    digits beyond the error are left out: "4.8e+22 ± 9e+21".

    Parameters
    ----------
    value, mcse
        Number and its error, in the same unit. An error that is 0, NaN, infinite or within
        floating-point rounding counts as none.
    """
    if not (math.isfinite(mcse) and mcse > ARITHMETIC_ERROR * abs(value)) or math.isinf(value):
        return with_commas(without_error(value)).replace("-", "−")
    error = _decimal(2 * mcse)
    last = error.adjusted() - (error.as_tuple().digits[0] == 1)
    if abs(value) < 10.0**PLAIN_EXPONENTS.stop:
        last = min(last, 0)
    rounded = to_decimals(value, -last), _written(_to_place(error, last))
    return " ± ".join(map(with_commas, rounded)).replace("-", "−")


def with_commas(digits: str) -> str:
    """A rounded number with commas between thousands; a sign for NaN and infinity."""
    whole, point, rest = digits.partition(".")
    return SIGNS.get(digits) or THOUSANDS.sub(",", whole) + point + rest


def without_error(value: float) -> str:
    """Format a number without error: integers in full, others to four digits."""
    if not math.isfinite(value):
        return str(float(value))
    number = _decimal(value)
    is_whole = number == number.to_integral_value() and number.adjusted() in PLAIN_EXPONENTS
    last = 0 if is_whole else _last_place(number, VALUE_DIGITS)
    return _written(_to_place(number, last).normalize(ARITHMETIC))


def to_decimals(value: float, decimals: int) -> str:
    """Format with a fixed number of decimals."""
    if not math.isfinite(value):
        return str(float(value))
    return _written(_to_place(_decimal(value), -decimals))


def _decimal(value: Any) -> Decimal:
    """The shortest decimal that reads back as this double."""
    return Decimal(int(value) if isinstance(value, numbers.Integral) else repr(float(value)))


def _last_place(number: Decimal, digits: int) -> int:
    """The power of ten of the last significant digit: 0.0996 to two digits is 0.10."""
    last = number.adjusted() - digits + 1
    return last + (_to_place(number, last).adjusted() > number.adjusted())


def _to_place(number: Decimal, last: int) -> Decimal:
    return number.quantize(Decimal(1).scaleb(last, ARITHMETIC), context=ARITHMETIC)


def _written(number: Decimal) -> str:
    """Format digits; 0 has no sign."""
    if not number:
        places = -int(number.as_tuple().exponent)
        return f"{0:.{places}f}" if 0 < places <= -PLAIN_EXPONENTS.start + 1 else "0"
    return f"{number:f}" if number.adjusted() in PLAIN_EXPONENTS else f"{number:e}"
