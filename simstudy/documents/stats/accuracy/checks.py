"""Arguments of accuracy tests that make no sense, refused."""

import numpy as np
from numpy.typing import ArrayLike

from simstudy.array_types import Float
from simstudy.documents.stats.arguments import check_count, check_proportion, check_size
from simstudy.errors import DesignError

Real = Float[np.ndarray, "..."]


def check_finite(name: str, value: ArrayLike, meaning: str) -> None:
    """Raise an error for infinities and NaN, naming the first.

    Parameters
    ----------
    name
        Name of the argument, for the message.
    value
        A number or an array.
    meaning
        The quantity that a wrong value leaves unknown, for the message.

    Raises
    ------
    DesignError
        If a value is not finite.
    """
    values = np.atleast_1d(np.asarray(value, dtype=float))
    bad = ~np.isfinite(values)
    if bad.any():
        raise DesignError(
            f"{name}={values[bad].flat[0]:g} is not finite, so {meaning} is not defined. Give "
            f"{name} as a number, and leave out what has none."
        )


def check_positive(name: str, value: ArrayLike, meaning: str) -> None:
    """Raise an error for what is not above 0 or not finite, naming the first.

    Parameters
    ----------
    name
        Name of the argument, for the message.
    value
        A number or an array.
    meaning
        The quantity that a wrong value leaves unknown, for the message.

    Raises
    ------
    DesignError
        If a value is not positive and finite.
    """
    check_size(name, value, meaning, unit=", in the units of the scores")


def check_not_negative(name: str, value: ArrayLike, meaning: str) -> None:
    """Raise an error for what is below 0 or not finite, naming the first.

    Parameters
    ----------
    name
        Name of the argument, for the message.
    value
        A number or an array.
    meaning
        The quantity that a wrong value leaves unknown, for the message.

    Raises
    ------
    DesignError
        If a value is negative or not finite.
    """
    values = np.atleast_1d(np.asarray(value, dtype=float))
    bad = ~((values >= 0) & np.isfinite(values))
    if bad.any():
        raise DesignError(
            f"{name}={values[bad].flat[0]:g} is negative or not finite, so {meaning} is not "
            f"defined. Give {name} >= 0, in the units of the scores."
        )


def check_sizes(n: ArrayLike, n_check: ArrayLike | None, *, least: int = 1) -> None:
    """Raise an error for numbers of scores that are not whole, or too few.

    Parameters
    ----------
    n
        Scores in the reference.
    n_check
        Scores in the check; None for as many as in the reference, of the same prompts.
    least
        The least number allowed.

    Raises
    ------
    DesignError
        If a number is too small or not whole.
    """
    check_count("n", n, least=least, meaning="the reference's mean")
    if n_check is not None:
        check_count("n_check", n_check, least=least, meaning="the check's mean")


def check_correlation(correlation: ArrayLike, n_check: ArrayLike | None) -> None:
    """Raise an error for what is no correlation of two scores, and for one of different prompts.

    Parameters
    ----------
    correlation
        Correlation of the two scores of one prompt.
    n_check
        Scores in the check; None for as many as in the reference, of the same prompts.

    Raises
    ------
    DesignError
        If it is outside [-1, 1), or not 0 with `n_check`.
    """
    values = np.atleast_1d(np.asarray(correlation, dtype=float))
    bad = ~((values >= -1) & (values < 1))
    if bad.any():
        raise DesignError(
            f"correlation={values[bad].flat[0]:g} is not in [-1, 1), so the mean difference has no "
            "spread to test against: at 1 every difference is real. Give that of the two scores "
            "of one prompt, or 0 for different prompts."
        )
    if n_check is not None and values.any():
        raise DesignError(
            f"correlation={values[values != 0][0]:g} together with n_check: only scores of the "
            "same prompts correlate, and then there are as many of both. Leave out n_check, or "
            "give correlation=0."
        )


def check_errors(alpha: ArrayLike, beta: ArrayLike) -> None:
    """Raise an error for rates that a test reaches without any data.

    Parameters
    ----------
    alpha, beta
        Rates of the two errors; broadcast.

    Raises
    ------
    DesignError
        If a rate is not in (0, 1), or the two add up to 1 or more.
    """
    check_proportion("alpha", alpha, "a test of that level")
    check_proportion("beta", beta, "a requirement")
    alpha, beta = np.broadcast_arrays(np.atleast_1d(alpha), beta)
    bad = alpha + beta >= 1
    if bad.any():
        raise DesignError(
            f"alpha={alpha[bad].flat[0]:g} and beta={beta[bad].flat[0]:g} add up to 1 or more, so "
            "a coin has these error rates without a single score, and nothing has to be "
            "detectable. Give alpha + beta < 1."
        )


def check_counts_within(name: str, counts: ArrayLike, n: ArrayLike) -> None:
    """Raise an error for counts outside 0 to n, and for those that are not whole.

    Parameters
    ----------
    name
        Name of the argument, for the message.
    counts
        Counts of successes.
    n
        The largest count; broadcast.

    Raises
    ------
    DesignError
        If a count is outside 0 to n, or not whole.
    """
    check_count(name, counts, least=0, meaning="a result")
    given, most = np.broadcast_arrays(np.atleast_1d(counts), n)
    if (given > most).any():
        count, limit = given[given > most][0], most[given > most][0]
        raise DesignError(
            f"{name}={count:g} is more than the {limit:g} there are, so it is no result. Give "
            f"counts of at most {limit:g}."
        )


def check_critical(critical: ArrayLike, length: int, least: int, most: int) -> None:
    """Raise an error for lists of critical counts that belong to another design.

    Parameters
    ----------
    critical
        Critical counts.
    length
        How many there have to be.
    least, most
        Range of a critical count.

    Raises
    ------
    DesignError
        If there are more or fewer, or one is out of range.
    """
    counts = np.asarray(critical)
    if counts.shape != (length,):
        raise DesignError(
            f"critical counts of shape {counts.shape} do not fit a design with {length} results of "
            "what they are listed for. Take critical and n from the same design."
        )
    outside = (counts < least) | (counts > most)
    if outside.any():
        raise DesignError(
            f"a critical count of {counts[outside][0]} is not within {least} to {most}, as "
            "those of this design are. Take critical and n from the same design."
        )


def check_probability(name: str, value: ArrayLike) -> None:
    """Raise an error for anything outside [0, 1], naming the first.

    Parameters
    ----------
    name
        Name of the argument, for the message.
    value
        A number or an array.

    Raises
    ------
    DesignError
        If a value is outside [0, 1].
    """
    values = np.atleast_1d(np.asarray(value, dtype=float))
    outside = ~((values >= 0) & (values <= 1))
    if outside.any():
        raise DesignError(
            f"{name}={values[outside].flat[0]:g} is not a probability, so there is no chance of "
            f"anything to compute. Give {name} between 0 and 1 (0.95, not 95)."
        )


def sign_of_better(lower_is_better: bool) -> float:
    """Return the factor by which scores are multiplied so that higher is better.

    Parameters
    ----------
    lower_is_better
        Whether lower scores are better.

    Returns
    -------
    float
        -1 where lower is better, else 1.
    """
    return -1.0 if lower_is_better else 1.0
