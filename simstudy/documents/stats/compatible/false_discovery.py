"""Achieved, corrected and re-ranked false discovery rates of each prediction's p-value.

p is (..., n), with NaN whenever one of the n is NaN; so is what comes back, place by place.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from simstudy.array_types import Float, Int
from simstudy.documents.stats.arguments import check_choice, check_count
from simstudy.documents.stats.reading import reading
from simstudy.errors import DesignError

ORDERS = ("nfdr", "p")
PRINTED_RATIO = 1.6
PValues = Float[np.ndarray, "... n"]
Ranks = Float[np.ndarray, " n"]


@reading
def nfdr(p: PValues) -> PValues:
    """Compute the achieved nonlocal false discovery rate: min(n p / #{p_j <= p}, 1).

    Parameters
    ----------
    p
        p-values in [0, 1], one list along the last axis; NaN fails its list.

    Returns
    -------
    PValues
        A rate for each p-value.

    References
    ----------
    Bickel (2019), hal-02334579, section 4.2.
    """
    p = checked(p)
    order = np.argsort(p, axis=-1, kind="stable")
    return _put_back(ascending_nfdr(np.take_along_axis(p, order, axis=-1)), order)


@reading
def cfdr(p: PValues, *, order: str = "nfdr", clipped: bool = False) -> PValues:
    """Compute the corrected false discovery rate: the NFDR at rank i times 1 + 1/2 + ... + 1/i.

    Parameters
    ----------
    p
        p-values.
    order
        Ranked values: `nfdr` as in the paper, ties by p, or `p`; equal p-values have the ranks of
        their places.
    clipped
        Whether values above 1 are taken for 1. As printed they are not, and are no probabilities.

    Returns
    -------
    PValues
        A rate for each p-value.

    References
    ----------
    Bickel (2019), hal-02334579, equation 4; Bickel & Rahal (2019), Commun. Stat. Simul. Comput.
    """
    return _by_rank(p, order, lambda rates: corrected(rates, clipped=clipped))


@reading
def rfdr(p: PValues, *, order: str = "nfdr", ratio: float = PRINTED_RATIO) -> PValues:
    """Compute the re-ranked false discovery rate: the NFDR at rank [1.6 i], or 1 where none is.

    Parameters
    ----------
    p, order
        See `cfdr`.
    ratio
        At least 1: as printed, or 1 / (1 - 1/e). (1.6 i is never halfway between whole numbers.)

    Returns
    -------
    PValues
        A rate for each p-value.

    References
    ----------
    Bickel (2019), hal-02334579, equation 5.
    """
    return _by_rank(p, order, lambda rates: reranked(rates, ratio=ratio))


def _by_rank(p: PValues, order: str, correct: Callable[[PValues], PValues]) -> PValues:
    p = checked(p)
    check_choice("order", order, ORDERS)
    by_p = np.argsort(p, axis=-1, kind="stable")
    rates = ascending_nfdr(np.take_along_axis(p, by_p, axis=-1))
    if order == "nfdr":
        by_rate = np.argsort(rates, axis=-1, kind="stable")
        by_p = np.take_along_axis(by_p, by_rate, axis=-1)
        rates = np.take_along_axis(rates, by_rate, axis=-1)
    return _put_back(correct(rates), by_p)


def _put_back(values: PValues, order: Int[np.ndarray, "... n"]) -> PValues:
    found = np.empty_like(values)
    np.put_along_axis(found, order, values, axis=-1)
    return found


# ---------------------------------------------------------------- in the order of the ranks


@reading
def ascending_nfdr(ordered: PValues) -> PValues:
    """Compute the NFDR of p-values in ascending order.

    Parameters
    ----------
    ordered
        p-values in ascending order along the last axis.

    Returns
    -------
    PValues
        Rates; NaN in all of a row with one.
    """
    n = ordered.shape[-1]
    last_of_ties = np.ones(ordered.shape, dtype=bool)
    last_of_ties[..., :-1] = ordered[..., 1:] > ordered[..., :-1]
    ranks = np.where(last_of_ties, np.arange(1, n + 1), n)
    n_at_most = np.minimum.accumulate(ranks[..., ::-1], axis=-1)[..., ::-1]
    rates = np.minimum(ordered * n / n_at_most, 1.0)
    return np.where(np.isnan(ordered[..., -1:]), np.nan, rates)  # NaN is sorted to the end


@reading
def corrected(rates: PValues, *, clipped: bool) -> PValues:
    """Multiply ranked NFDRs by harmonic numbers.

    Parameters
    ----------
    rates
        NFDRs in the order of ranks.
    clipped
        Whether values above 1 are taken for 1.

    Returns
    -------
    PValues
        CFDRs.
    """
    values = rates * harmonic_numbers(rates.shape[-1])
    return np.asarray(np.minimum(values, 1.0) if clipped else values)


@reading
def harmonic_numbers(n: int) -> Ranks:
    """Compute 1, 1 + 1/2, ..., 1 + 1/2 + ... + 1/n.

    Parameters
    ----------
    n
        Number of terms.

    Returns
    -------
    Ranks
        The sums.
    """
    check_count("n", n, least=0, meaning="a number of terms")
    return np.asarray(np.cumsum(1 / np.arange(1, n + 1)))


@reading
def reranked(rates: PValues, *, ratio: float) -> PValues:
    """Take the NFDR at a later rank, or 1.

    Parameters
    ----------
    rates
        NFDRs in the order of ranks.
    ratio
        Factor by which ranks are later, at least 1.

    Returns
    -------
    PValues
        RFDRs.
    """
    later = later_ranks(rates.shape[-1], ratio)
    found = np.ones_like(rates)
    there = later <= len(later)
    found[..., there] = rates[..., later[there] - 1]
    return np.where(np.isnan(rates), np.nan, found)


@reading
def later_ranks(n: int, ratio: float) -> Int[np.ndarray, " n"]:
    """Compute the rank whose NFDR each rank gets: from 1 on, possibly above n.

    Parameters
    ----------
    n
        p-values of a list.
    ratio
        Factor by which ranks are later, at least 1.

    Returns
    -------
    int array (n,)
        A rank for each rank.

    Raises
    ------
    DesignError
        If the ratio is below 1.
    """
    if not (np.isfinite(ratio) and ratio >= 1):
        raise DesignError(
            f"ratio={ratio:g} would give a prediction the rate of one with a smaller p-value, and "
            "the correction is the other way. Use at least 1: 1.6 as printed, or 1 / (1 - 1/e)."
        )
    later = np.floor(ratio * np.arange(1, n + 1) + 0.5)
    # As far above n as need be, and no farther: whole numbers have an end.
    return np.asarray(np.minimum(later, n + 1.0).astype(np.int64))


def checked(p: ArrayLike) -> PValues:
    """Return p-values as floats, or raise an error; NaN is allowed.

    Parameters
    ----------
    p
        p-values in [0, 1], one list along the last axis; NaN fails its list.

    Returns
    -------
    PValues
        The p-values.

    Raises
    ------
    DesignError
        If there is no list of p-values, or one is outside [0, 1].
    """
    values = np.asarray(p, float)
    if values.ndim == 0 or values.shape[-1] == 0:
        raise DesignError(
            f"p has shape {values.shape}, so there is no list of p-values. Give one for each "
            "prediction on the last axis, at least 1."
        )
    outside = (values < 0) | (values > 1)
    if outside.any():
        raise DesignError(
            f"p={values[outside].flat[0]:g} is not a p-value, so it has no false discovery rate. "
            "Give probabilities from 0 to 1; np.exp of logs."
        )
    return values
