"""How numbers are written in prose: as far as their errors let them be known."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

from writing.refusals import PageError

N_ERRORS = 2  # standard errors on either side, in ± and in rounding


class Known(NamedTuple):
    """A number and its Monte Carlo standard error, 0 where it has none."""

    value: float
    mcse: float = 0.0

    def known(self) -> Known:
        """Itself."""
        return self


def read(number: Any) -> Known:
    """A row or a claim as its estimate and error; a plain number as itself.

    Raises
    ------
    PageError
        Where there is no finite number.
    """
    known = number.known() if hasattr(number, "known") else Known(_plain(number))
    if not math.isfinite(known.value):
        raise PageError(f"{known.value} is no number to print: {number!r} has none here.")
    return known


def _plain(number: Any) -> float:
    if isinstance(number, str):
        raise PageError(
            f"the text {number!r} has already been written: numbers are reckoned with before "
            "they are formatted, by one filter each."
        )
    return float(number)


def decimals(error: float) -> int:
    """Decimals that an error leaves to a number: to its leading digit, past it where that is 1.

    So 0.0004 leaves four decimals, 0.015 three and 0.7 one.
    """
    places = -math.floor(math.log10(error))
    leading = round(error * 10.0**places, 6)
    return max(places + (leading < 2), 0)


def number(
    value: Any, digits: int | None = None, *, scale: float = 1.0, signed: bool = False
) -> str:
    """A number rounded to twice its MCSE, or to so many decimals; of several, their range.

    Parameters
    ----------
    value
        A row, a claim, a number, or several of these: "0.85 to 0.87".
    digits
        Decimals; without them the error decides, and a number without error has to be whole.
    scale
        Multiplies the number and its error: 100 for points.
    signed
        A plus before what is positive.

    Raises
    ------
    PageError
        Where there is neither an error nor `digits` to round by.
    """
    if _several(value):
        return _range([number(item, digits, scale=scale, signed=signed) for item in _sorted(value)])
    known = read(value)
    if digits is None:
        digits = _decimals_of(known, scale)
    return written(known.value * scale, digits, signed=signed)


def percent(value: Any, digits: int | None = None, *, signed: bool = False) -> str:
    """A proportion in per cent, rounded as by `number`."""
    return f"{number(value, digits, scale=100, signed=signed)}%"


def plus_minus(
    value: Any, digits: int | None = None, *, scale: float = 1.0, signed: bool = False
) -> str:
    """An estimate ± two Monte Carlo standard errors: "0.065 ± 0.015".

    Raises
    ------
    PageError
        For a number without a Monte Carlo error.
    """
    known = read(value)
    if not known.mcse > 0:
        raise PageError(
            f"{known.value:g} has no Monte Carlo error to print after ±: use `number` or `percent`."
        )
    places = _decimals_of(known, scale) if digits is None else digits
    error = written(N_ERRORS * known.mcse * scale, places)
    return f"{written(known.value * scale, places, signed=signed)} ± {error}"


def written(value: float, digits: int, *, signed: bool = False) -> str:
    """So many decimals, thousands apart, a minus that is one, and no sign before zero."""
    text = f"{abs(value):,.{digits}f}"
    if not any(digit in text for digit in "123456789"):
        return text
    return f"{'−' if value < 0 else '+' if signed else ''}{text}"


def _decimals_of(known: Known, scale: float) -> int:
    if known.mcse > 0:
        return decimals(N_ERRORS * known.mcse * abs(scale))
    if float(known.value * scale).is_integer():
        return 0
    raise PageError(
        f"{known.value * scale:g} has no error that says how far to round it: give the decimals, "
        "as in number(3)."
    )


def _several(value: Any) -> bool:
    if hasattr(value, "known") or isinstance(value, str):
        return False
    return isinstance(value, Iterable) and getattr(value, "ndim", 1) > 0  # not NumPy's scalars


def _sorted(values: Iterable[Any]) -> list[Any]:
    return sorted(values, key=lambda item: read(item).value)


def _range(texts: list[str]) -> str:
    """From the first to the last, or the only one where they print the same."""
    if not texts:
        raise PageError("of no numbers there is no range.")
    return texts[0] if texts[0] == texts[-1] else f"{texts[0]} to {texts[-1]}"
