"""The lower tail of Student's t in logs, also where the probability itself is 0 in doubles."""

import numpy as np

from simstudy.array_types import Float
from simstudy.documents.stats.reading import reading
from simstudy.lazy import special

Values = Float[np.ndarray, "..."]
SMALLEST = 1e-280  # below, the probability loses digits and then is 0
TERM_LIMIT = 10_000
MANY = 1e9  # degrees of freedom, where the continued fraction has as few digits as a normal's tail
TINY = 1e-300  # stands for 0 in a denominator (Lentz)


@reading
def log_student_below(t: Values, df: Values) -> Values:
    """Natural log of the probability that a standard t is at most `t`.

    Parameters
    ----------
    t, df
        Statistics and degrees of freedom; they broadcast.

    Returns
    -------
    Values
        Relative error of the probability: about 1e-13 above 1e-280. Below, some 1e-12 for a few
        degrees of freedom, and 1e-9 at worst for very many.
    """
    t, df = np.broadcast_arrays(np.asarray(t, float), np.asarray(df, float))
    below, above = special.stdtr(df, t), special.stdtr(df, -t)
    with np.errstate(divide="ignore"):
        found = np.where(t > 0, np.log1p(-above), np.log(below))
    lost = (below < SMALLEST) & np.isfinite(t)
    if lost.any():
        found = np.array(found)
        many = lost & (df > MANY)
        few = lost & ~many
        found[few] = _far_below(t[few], df[few])
        found[many] = _nearly_normal(t[many], df[many])
    return np.asarray(found)


def _nearly_normal(
    t: Float[np.ndarray, " value"], df: Float[np.ndarray, " value"]
) -> Float[np.ndarray, " value"]:
    """The tail of a normal at w = √(df log(1 + t²/df)), times √(u / (1 - exp(-u))) for u = w²/df.

    With w in the place of t the density is that of a normal times such a factor, which moves so
    slowly that its value at the end represents all of the tail: to a relative error below 2/df.
    """
    share = np.logaddexp(0.0, 2 * np.log(np.abs(t)) - np.log(df))  # u; t² itself may be too large
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(share > 0, share / -np.expm1(-share), 1.0)
    return np.asarray(special.log_ndtr(-np.sqrt(df * share)) + 0.5 * np.log(factor))


def _far_below(
    t: Float[np.ndarray, " value"], df: Float[np.ndarray, " value"]
) -> Float[np.ndarray, " value"]:
    """Half of the incomplete beta function of df / (df + t²), by its continued fraction.

    References
    ----------
    NIST Digital Library of Mathematical Functions, 8.17.22; evaluated forwards as Lentz (1976),
    Appl. Opt. 15, 668-671.
    """
    a, b = df / 2, 0.5
    log_ratio = 2 * np.log(np.abs(t)) - np.log(df)  # t² itself may be too large
    log_x, log_rest = -np.logaddexp(0.0, log_ratio), -np.logaddexp(0.0, -log_ratio)
    front = a * log_x + b * log_rest - np.log(a) - special.betaln(a, b)
    return np.asarray(front + np.log(_fraction(a, b, np.exp(log_x))) - np.log(2))


def _fraction(
    a: Float[np.ndarray, " value"], b: float, x: Float[np.ndarray, " value"]
) -> Float[np.ndarray, " value"]:
    """1 / (1 + d1 / (1 + d2 / (1 + ...))) with the coefficients of the incomplete beta function."""
    value, numerator, denominator = np.ones_like(x), np.ones_like(x), np.zeros_like(x)
    for k in range(1, TERM_LIMIT):
        coefficient = _coefficient(k, a, b, x)
        denominator = 1 / _not_zero(1 + coefficient * denominator)
        numerator = _not_zero(1 + coefficient / numerator)
        value = value * numerator * denominator
        if (np.abs(numerator * denominator - 1) < 2 * np.finfo(float).eps).all():
            break
    return np.asarray(1 / value)


def _coefficient(
    k: int, a: Float[np.ndarray, " value"], b: float, x: Float[np.ndarray, " value"]
) -> Float[np.ndarray, " value"]:
    m = k // 2
    if k % 2:
        return np.asarray(-(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)))
    return np.asarray(m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)))


def _not_zero(values: Float[np.ndarray, " value"]) -> Float[np.ndarray, " value"]:
    return np.where(values == 0, TINY, values)
