"""Arguments that statistics of scores and counts share: checked, and read as they are meant."""

from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from simstudy.array_types import Float
from simstudy.errors import DesignError
from simstudy.validation import ROUNDING as ROUNDING

Numbers = float | np.ndarray
"""One number, or an array of them: such arguments broadcast."""
Fractional = Annotated[float | np.ndarray, "need not be whole"]
"""The same, of what counts elsewhere."""


def check_proportion(name: str, value: ArrayLike, meaning: str) -> None:
    """Refuse anything outside the open interval (0, 1), naming the first offender."""
    values = np.atleast_1d(np.asarray(value, dtype=float))
    outside = ~((values > 0) & (values < 1))
    if outside.any():
        raise DesignError(
            f"{name}={values[outside].flat[0]:g} is not a proportion between 0 and 1, so {meaning} "
            f"is not defined. Give {name} strictly between 0 and 1 (0.95, not 95)."
        )


def check_choice(name: str, value: str, allowed: tuple[str, ...]) -> None:
    """Refuse a name that means nothing here, and list those that do."""
    if value not in allowed:
        raise DesignError(
            f"{name}={value!r} is unknown, so there is nothing to compute. "
            f"Use one of {', '.join(allowed)}."
        )


def check_count(name: str, value: ArrayLike, *, least: int, meaning: str) -> None:
    """Refuse a count below `least` or not whole, naming the first offender."""
    values = np.atleast_1d(np.asarray(value, dtype=float))
    outside = ~((values >= least) & (values == np.floor(values)))
    if outside.any():
        raise DesignError(
            f"{name}={values[outside].flat[0]:g} is not a whole number of at least {least}, so "
            f"{meaning} is not defined. Give {name} >= {least}."
        )


def check_word(name: str, value: int) -> None:
    """Refuse what is no word of 64 bits, as streams differ by."""
    if not 0 <= value < 2**64:
        raise DesignError(
            f"{name} is below 0 or takes more than 64 bits, so no stream has it. Give {name} from "
            "0 to 2**64 - 1: a word of a generator's."
        )


def check_size(name: str, value: ArrayLike, meaning: str, *, unit: str = "") -> None:
    """Refuse what is not above 0 or not finite, naming the first offender; it need not be whole."""
    values = np.atleast_1d(np.asarray(value, dtype=float))
    bad = ~((values > 0) & np.isfinite(values))
    if bad.any():
        raise DesignError(
            f"{name}={values[bad].flat[0]:g} is not positive and finite, so {meaning} is not "
            f"defined. Give {name} > 0{unit}."
        )


def as_scores(scores: Float[np.ndarray, "..."], *, least: int) -> Float[np.ndarray, "rep obs"]:
    """The block as floats, one replicate per row; refused where it has no quantile to bound."""
    block = np.asarray(scores, dtype=float)
    if block.ndim != 2:
        raise DesignError(
            f"scores have shape {block.shape}, so replicates and observations cannot be told "
            "apart. Give one replicate per row: scores[np.newaxis, :] for a single sample."
        )
    _refuse_too_few(block.shape[1], least)
    if not np.isfinite(block).all():
        raise DesignError(
            f"{np.count_nonzero(~np.isfinite(block))} scores are not finite, so their order and "
            "their quantiles are not defined. Drop them, or report those replicates as failed."
        )
    return block


def _refuse_too_few(n_obs: int, least: int) -> None:
    if n_obs < least:
        raise DesignError(
            f"n_obs={n_obs} scores per replicate is too few: with fewer than {least} there is no "
            f"spread to learn a bound from. Give at least {least} columns."
        )


def complement(proportion: ArrayLike) -> Any:
    """1 − p as a person writes it: 1 − 0.95 is 0.05 here, not 0.050000000000000044.

    The stray 4e-17 would turn a quantile that sits on one order statistic into an interpolation
    between two, and an equality between decimals into an inequality.
    """
    return np.round(1.0 - np.asarray(proportion, dtype=float), 15)[()]


def complement_of(name: str, proportion: float) -> float:
    """The complement of one proportion between 0 and 1; refused where nothing is left of it."""
    rest = float(complement(proportion))
    if not 0 < rest < 1:
        raise DesignError(
            f"{name}={proportion!r} is within 1e-15 of 0 or 1, where 1 - {name} is not told from "
            f"1 or 0. Give {name} further from them."
        )
    return rest


def plain(value: Any) -> Any:
    """A number where there are no axes, the array elsewhere."""
    return np.asarray(value)[()]
