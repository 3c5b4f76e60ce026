"""Looking early at a growing check: group-sequential boundaries and what they cost and save.

After each look a standardised difference Z_k, positive for worse, is held against a boundary; the
check fails at the first look at which Z_k ≥ b_k (for two sides: or ≤ −b_k). Z_k is normal with
mean drift·√I_k and variance 1, and √I_k·Z_k has independent increments, where the information I_k
is 1/se_k² for the standard error at that look and `drift` the true difference θ. So it is for any
estimate by means, also of a check that grows against a reference of fixed n.

Probabilities come from recursive integration: the density of √I_k·Z_k among checks still running
is carried from look to look on Gauss-Legendre nodes, as many as the narrowest increment asks for.

References
----------
Armitage, McPherson & Rowe (1969), J. R. Stat. Soc. A 132, 235-244: the recursion; Pocock (1977),
Biometrika 64, 191-199; O'Brien & Fleming (1979), Biometrics 35, 549-556; Lan & DeMets (1983),
Biometrika 70, 659-663; Jennison & Turnbull (2000), Group Sequential Methods, chapters 2, 7 and 19.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from simstudy.errors import DesignError
from simstudy.lazy import special
from simstudy.shapes import Float
from simstudy.stats.accuracy.checks import check_errors, check_finite, check_positive
from simstudy.stats.arguments import Numbers, check_choice, check_count, check_proportion, plain
from simstudy.stats.reading import reading

KINDS = ("obrien_fleming", "pocock")
REACH = 9.0
"""Standard deviations beyond which nothing is carried on: 1e-19 of the checks."""
NODES, PER_SCALE = 32, 2
"""Nodes come by so many, and there are so many for each standard deviation of an increment."""
MOST_NODES = 4096
"""Of a look, whose kernels are then of 134 MB; so many take one second to find."""
CLOSEST = (2 * REACH * PER_SCALE / (MOST_NODES - NODES)) ** 2
"""Of two looks, over the information at them: what that many nodes resolve."""
THIRD_DECIMAL = 0.0005
"""By how much boundaries of a table may be off."""
MOST_INFLATION = 1e6
TO_THE_LAST_BITS = 4 * float(np.finfo(float).eps)

Looks = Float[np.ndarray, " look"]
Points = Float[np.ndarray, " point"]


class Exits(NamedTuple):
    """Probability of leaving first at each look, above the upper boundary and below the lower."""

    above: Looks
    below: Looks


class _Running(NamedTuple):
    """Checks still running: places of √I·Z, the probability at each, and the information."""

    place: Points
    mass: Points
    information: float


# ---------------------------------------------------------------- probabilities
@reading
def exit_probabilities(
    lower: ArrayLike, upper: ArrayLike, information: ArrayLike, drift: float = 0.0
) -> Exits:
    """For any boundaries, also of a check that may pass early.

    Parameters
    ----------
    lower, upper
        Of Z at each look; infinite for none.
    information
        1/se² at each look, rising, in 1 / (units of the scores)².
    drift
        True difference θ, positive for worse, in the units of the scores.
    """
    low, high = np.asarray(lower, float), np.asarray(upper, float)
    at = _checked_information(information, low, high)
    _refuse_crossed(low, high)
    check_finite("drift", drift, "the law of a look")
    running, above, below = _start(), np.zeros(at.size), np.zeros(at.size)
    for k, root in enumerate(np.sqrt(at)):
        above[k] = _beyond(running, at[k], drift, high[k] * root)
        below[k] = _beyond(_mirrored(running), at[k], -drift, -low[k] * root)
        if k + 1 < at.size:
            running = _after(running, at[k], at[k + 1], drift, low[k] * root, high[k] * root)
    return Exits(above, below)


@reading
def crossing_probabilities(
    boundaries: ArrayLike, information: ArrayLike, drift: Numbers = 0.0, *, sides: int = 1
) -> Float[np.ndarray, "... look"]:
    """Probability that the check first fails at each look; their sum is the power.

    Parameters
    ----------
    boundaries
        Of Z at each look, positive for worse.
    information
        1/se² at each look, rising, in 1 / (units of the scores)².
    drift
        True difference θ, positive for worse, in the units of the scores; any shape.
    sides
        1, or 2 for a check that also "fails" by being better, at Z ≤ −boundary.

    Returns
    -------
    Float[np.ndarray, "... look"]
        With the axes of `drift` before that of the looks. For two sides those of both.
    """
    _check_sides(sides)
    upper = np.asarray(boundaries, float)
    lower = -upper if sides == 2 else np.full_like(upper, -np.inf)
    found = [
        np.sum(exit_probabilities(lower, upper, information, float(each)), axis=0)
        for each in np.ravel(drift)
    ]
    return np.reshape(found, (*np.shape(drift), upper.size))


def _start() -> _Running:
    return _Running(np.zeros(1), np.ones(1), 0.0)


def _mirrored(running: _Running) -> _Running:
    return running._replace(place=-running.place)


def _beyond(running: _Running, information: float, drift: float, limit: float) -> float:
    """Probability of running until now, and being at the limit or above it at this look."""
    step = information - running.information
    z = (running.place + drift * step - limit) / np.sqrt(step)
    return float(running.mass @ special.ndtr(z))


def _after(
    running: _Running, information: float, later: float, drift: float, low: float, high: float
) -> _Running:
    """What runs on between the limits, with as many nodes as this and the next step ask for."""
    step = information - running.information
    center, reach = drift * information, REACH * np.sqrt(information)
    low, high = max(low, center - reach), min(high, center + reach)
    if low >= high:
        return _Running(np.zeros(0), np.zeros(0), information)
    scale = np.sqrt(min(step, later - information))
    n_nodes = NODES * (1 + int(np.ceil(PER_SCALE * (high - low) / scale / NODES)))
    nodes, weights = _legendre(n_nodes)
    place = low + (high - low) * (nodes + 1) / 2
    z = (place[:, np.newaxis] - running.place - drift * step) / np.sqrt(step)
    density = np.exp(-0.5 * z**2) @ running.mass / np.sqrt(2 * np.pi * step)
    return _Running(place, weights * density * (high - low) / 2, information)


@lru_cache(maxsize=64)
def _legendre(n: int) -> tuple[Points, Points]:
    """Nodes and weights on [−1, 1]."""
    nodes, weights = special.roots_legendre(n)
    return nodes, weights


# ---------------------------------------------------------------- boundaries
@reading
def pocock(n_looks: int, alpha: float, *, sides: int = 1) -> Looks:
    """The same boundary at every look, for looks at equal steps of information.

    Parameters
    ----------
    n_looks
        At least 1.
    alpha
        Probability of crossing at all where nothing has changed, in (0, 1); below 1/2 for a side.
    sides
        1, or 2 for α over both sides.

    Returns
    -------
    Looks
        Of Z. For two sides Jennison & Turnbull's C_P(K, α).
    """
    return _scaled(np.ones(_checked_looks(n_looks)), alpha, sides)


@reading
def obrien_fleming(n_looks: int, alpha: float, *, sides: int = 1) -> Looks:
    """Boundaries c·√(K/k), high at first, for looks at equal steps of information.

    Parameters and return value are those of `pocock`; the last is Jennison & Turnbull's C_B(K, α).
    """
    look = np.arange(1, _checked_looks(n_looks) + 1)
    return _scaled(np.sqrt(n_looks / look), alpha, sides)


def _checked_looks(n_looks: int) -> int:
    check_count("n_looks", n_looks, least=1, meaning="a sequence of looks")
    return int(n_looks)


def _scaled(shape: Looks, alpha: float, sides: int) -> Looks:
    """The multiple of a shape that is crossed with probability alpha."""
    _check_level(alpha, sides)
    information = np.arange(1.0, shape.size + 1)

    def excess(factor: float) -> float:
        return float(crossing_probabilities(factor * shape, information, sides=sides).sum()) - alpha

    one_look = -float(special.ndtri(alpha / sides))
    each_alone = -float(special.ndtri(alpha / sides / shape.size))  # Bonferroni's: no shape is < 1
    return shape * _root(excess, one_look / shape[0], each_alone)


def _root(falling: Callable[[float], float], low: float, high: float) -> float:
    """Where a function crosses 0, or the end at which roundings put it."""
    from scipy import optimize

    if falling(low) <= 0:
        return low
    if falling(high) >= 0:
        return high
    return float(optimize.brentq(falling, low, high, xtol=1e-15, rtol=TO_THE_LAST_BITS))


@reading
def spent(fraction: Numbers, alpha: float, *, kind: str = "obrien_fleming") -> Any:
    """Level that a one-sided test may have used up at a fraction of its information.

    Parameters
    ----------
    fraction
        Of the largest information, in (0, 1].
    alpha
        Level in all.
    kind
        "obrien_fleming": 2·(1 − Φ(z/√fraction)) with z = −Φ⁻¹(α/2); "pocock":
        α·ln(1 + (e − 1)·fraction).

    References
    ----------
    Lan & DeMets (1983), Biometrika 70, 659-663.
    """
    check_choice("kind", kind, KINDS)
    check_proportion("alpha", alpha, "a test of that level")
    share = np.asarray(fraction, float)
    bad = np.atleast_1d(~((share > 0) & (share <= 1)))
    if bad.any():
        raise DesignError(
            f"fraction={np.atleast_1d(share)[bad][0]:g} is not in (0, 1], so no level is spent "
            "there. Give information over its largest."
        )
    if kind == "pocock":
        return plain(alpha * np.log1p((math.e - 1) * share))
    return plain(2 * special.ndtr(special.ndtri(alpha / 2) / np.sqrt(share)))


@reading
def lan_demets(
    information: ArrayLike, alpha: float, *, kind: str = "obrien_fleming", sides: int = 1
) -> Looks:
    """Boundaries that spend the level by a function of information, for looks at any times.

    Parameters
    ----------
    information
        At each look, rising, in any units: the last is the largest. Looks that were not planned
        may be added, as long as the last is as planned and results do not decide when.
    alpha
        Probability of crossing at all where nothing has changed, in (0, 1).
    kind
        As in `spent`.
    sides
        1; or 2, where each side spends as a one-sided test of α/2.

    Returns
    -------
    Looks
        Of Z; infinite where the level to spend is below what a double holds.
    """
    _check_level(alpha, sides)
    at = _checked_information(information)
    total = np.asarray(spent(at / at[-1], alpha / sides, kind=kind))
    found, running = np.empty(at.size), _start()
    for k, level in enumerate(np.diff(total, prepend=0.0)):
        found[k] = _boundary(running, at[k], level)
        if k + 1 < at.size:
            root = np.sqrt(at[k])
            low = -found[k] * root if sides == 2 else -np.inf
            running = _after(running, at[k], at[k + 1], 0.0, low, found[k] * root)
    return found


def _boundary(running: _Running, information: float, level: float) -> float:
    """Of Z, that is crossed from among the running with this probability."""
    if level <= 0:
        return float(np.inf)
    root = np.sqrt(information)
    return _root(lambda z: _beyond(running, information, 0.0, z * root) - level, -REACH, 4 * REACH)


# ---------------------------------------------------------------- costs
@reading
def expected_sample_size(
    boundaries: ArrayLike,
    sizes: ArrayLike,
    information: ArrayLike,
    drift: Numbers = 0.0,
    *,
    sides: int = 1,
) -> Any:
    """Mean number of scores at the look at which the check ends.

    Parameters
    ----------
    boundaries, information, drift, sides
        As in `crossing_probabilities`.
    sizes
        Scores at each look, rising; those of the check, or of all, as one counts.

    Returns
    -------
    Any
        Of the shape of `drift`.
    """
    crossed = crossing_probabilities(boundaries, information, drift, sides=sides)
    at = np.asarray(sizes, float)
    _refuse_other_length("sizes", at, crossed.shape[-1])
    _refuse_unless_rising("sizes", at)
    return plain(at[-1] - crossed[..., :-1] @ (at[-1] - at[:-1]))


@reading
def inflation(
    boundaries: ArrayLike,
    alpha: float,
    beta: float,
    *,
    information: ArrayLike | None = None,
    sides: int = 1,
) -> float:
    """Largest sample size of a sequential check, over that of one look with the same errors.

    Parameters
    ----------
    boundaries
        Of Z at each look, crossed with probability alpha or less where nothing has changed; to
        three decimals, as tables have them, is enough.
    alpha, beta
        Rates of the two errors, together less than 1.
    information
        At each look in any units; None: equal steps.
    sides
        As in `crossing_probabilities`; power is that of failing on the side of worse.

    Returns
    -------
    float
        Ratio of the information at the last look to that of a single look: Jennison & Turnbull's
        R for their two-sided tests. At least 1 (boundaries to three decimals: but for those).
    """
    check_errors(alpha, beta)
    _check_sides(sides)
    upper = np.asarray(boundaries, float)
    lower = -upper if sides == 2 else np.full_like(upper, -np.inf)
    at = np.arange(1.0, upper.size + 1) if information is None else np.asarray(information, float)
    at = _checked_information(at, upper)
    _refuse_above_level(lower, upper, at, alpha)
    alone = -float(special.ndtri(alpha / sides) + special.ndtri(beta))  # drift·√information

    def missing(ratio: float) -> float:
        drift = alone * np.sqrt(ratio / at[-1])
        return 1 - beta - float(exit_probabilities(lower, upper, at, drift).above.sum())

    return _root(missing, 0.0, _enough(missing))


def _enough(missing: Callable[[float], float]) -> float:
    """A ratio at which no power is missing, among 1, 2, 4, …"""
    ratio = 1.0
    while missing(ratio) > 0:
        ratio *= 2
        if ratio > MOST_INFLATION:
            raise DesignError(
                f"no sample size up to {MOST_INFLATION:g} times that of one look reaches the "
                "power with these boundaries, so there is no inflation to name. Take boundaries "
                "that this module makes for the same alpha."
            )
    return ratio


# ---------------------------------------------------------------- checks
def _check_sides(sides: int) -> None:
    if sides not in (1, 2):
        raise DesignError(
            f"sides={sides} is no number of sides, so it is not clear what fails. Give 1 for a "
            "check that may only be worse, or 2."
        )


def _check_level(alpha: float, sides: int) -> None:
    _check_sides(sides)
    check_proportion("alpha", alpha, "a test of that level")
    if alpha / sides >= 0.5:
        raise DesignError(
            f"alpha={alpha:g} leaves {alpha / sides:g} to a side, where a coin does as well and "
            "boundaries are not above 0. Give alpha below one half of the number of sides."
        )


def _checked_information(information: ArrayLike, *boundaries: Looks) -> Looks:
    """As an array; refused unless positive and rising, with one boundary for each look."""
    at = np.asarray(information, float)
    if at.ndim != 1 or not at.size:
        raise DesignError(
            f"information has shape {at.shape}, so looks cannot be told apart. Give one number "
            "for each look, at least one."
        )
    check_positive("information", at, "the spread at a look")
    _refuse_unless_rising("information", at)
    _refuse_too_close(at)
    for each in boundaries:
        _refuse_other_length("boundaries", each, at.size)
    if any(np.isnan(each).any() for each in boundaries):
        raise DesignError(
            "a boundary is NaN, so it is not known what fails at that look. Give numbers, or "
            "infinity where nothing fails."
        )
    return at


def _refuse_unless_rising(name: str, values: Looks) -> None:
    if (np.diff(values) <= 0).any():
        k = int(np.argmax(np.diff(values) <= 0))
        raise DesignError(
            f"{name} goes from {values[k]:g} to {values[k + 1]:g} between looks {k + 1} and "
            f"{k + 2}, so the later one adds nothing. Give {name} in rising order."
        )


def _refuse_too_close(at: Looks) -> None:
    """Between looks k and k + 1 at the first, and at the second where more follow."""
    steps, later = np.diff(at), np.append(at[1:-1], 0.0)[: at.size - 1]
    least = CLOSEST * np.maximum(at[:-1], later)
    if (steps < least).any():
        k = int(np.argmax(steps < least))
        raise DesignError(
            f"information goes from {at[k]:.9g} to {at[k + 1]:.9g} between looks {k + 1} and "
            f"{k + 2}, so close that what runs on between them takes more than {MOST_NODES} nodes "
            f"to follow. Leave one of the two out, or put them {least[k]:.3g} or more apart."
        )


def _refuse_crossed(lower: Looks, upper: Looks) -> None:
    if (lower > upper).any():
        k = int(np.argmax(lower > upper))
        raise DesignError(
            f"at look {k + 1} the lower boundary {lower[k]:g} is above the upper one {upper[k]:g}, "
            "so what lies between them would leave on both sides. Give lower <= upper; for sides=2 "
            "boundaries of at least 0."
        )


def _refuse_above_level(lower: Looks, upper: Looks, at: Looks, alpha: float) -> None:
    """Raised by half a unit of the third decimal: those of a table are rounded."""
    exits = exit_probabilities(lower - THIRD_DECIMAL, upper + THIRD_DECIMAL, at)
    if np.sum(exits) > alpha:
        level = np.sum(exit_probabilities(lower, upper, at))
        raise DesignError(
            f"these boundaries are crossed with probability {level:.4g} where nothing has changed, "
            f"more than alpha={alpha:g}, so a sample size for that level is not theirs. Give the "
            "alpha that they were made for."
        )


def _refuse_other_length(name: str, values: np.ndarray, n_looks: int) -> None:
    if values.shape != (n_looks,):
        raise DesignError(
            f"{name} of shape {values.shape} for {n_looks} looks: which belongs to which is not "
            "clear. Give one for each look."
        )
