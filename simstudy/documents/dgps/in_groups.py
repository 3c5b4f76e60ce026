"""Uniform and normal draws in groups that cancel each other's errors: antithetic, stratified.

Each draw has the law that it names; those of one group depend on each other, and groups do not. A
study that uses them says so: `Study(group_size=...)`.
"""

import numpy as np

from simstudy.array_types import Float
from simstudy.documents.dgps.normals import standard_normals
from simstudy.errors import DesignError, in_one_line
from simstudy.lazy import special

PAIR = 2  # replicates in a group of antithetic draws


def antithetic_uniforms(
    rng: np.random.Generator, n_rep: int, n_obs: int
) -> Float[np.ndarray, "rep obs"]:
    """Draw uniforms on [0, 1] in pairs of replicates: u, and 1 - u after it.

    The mean over a pair of a function that rises, or falls, in each of the draws varies less than
    that over two independent replicates (Hammersley & Morton 1956, Mathematical Proceedings of the
    Cambridge Philosophical Society 52, 449-475). For others it may vary up to twice as much.

    Parameters
    ----------
    rng
        Generator of the draws.
    n_rep
        Replicates, an even number.
    n_obs
        Observations of each replicate.

    Returns
    -------
    float array (rep, obs)
        Draws, one replicate per row.

    Raises
    ------
    DesignError
        For an odd number of replicates.
    """
    _refuse_part_of_group(n_rep, PAIR)
    first = rng.random((n_rep // PAIR, n_obs))
    return _in_turn(first, 1 - first)


def antithetic_normals(
    rng: np.random.Generator, n_rep: int, n_obs: int
) -> Float[np.ndarray, "rep obs"]:
    """Draw standard normals in pairs of replicates: z, and -z after it.

    Parameters
    ----------
    rng
        Generator of the draws.
    n_rep
        Replicates, an even number.
    n_obs
        Observations of each replicate.

    Returns
    -------
    float array (rep, obs)
        Draws, one replicate per row.

    Raises
    ------
    DesignError
        If the number of replicates is odd.
    """
    _refuse_part_of_group(n_rep, PAIR)
    first = standard_normals(rng, n_rep // PAIR, n_obs)
    return _in_turn(first, -first)


def stratified_uniforms(
    rng: np.random.Generator, n_rep: int, n_obs: int, *, n_strata: int
) -> Float[np.ndarray, "rep obs"]:
    """Draw uniforms on [0, 1), in groups of which each has one draw in every stratum.

    Strata are [0, 1/n), [1/n, 2/n), and so on. Which replicate of a group is in which stratum is
    random, and so for each observation apart (a Latin hypercube of the observations; McKay, Beckman
    & Conover 1979, Technometrics 21, 239-245), so every single replicate has independent uniform
    draws.

    Parameters
    ----------
    rng
        Generator of the draws.
    n_rep
        Replicates, a multiple of `n_strata`.
    n_obs
        Observations of each replicate.
    n_strata
        Strata, and replicates in a group.

    Returns
    -------
    float array (rep, obs)
        Draws, one replicate per row.

    Raises
    ------
    DesignError
        For a number of replicates that is no multiple of `n_strata`.
    """
    _refuse_part_of_group(n_rep, n_strata)
    order = rng.random((n_rep // n_strata, n_strata, n_obs)).argsort(axis=1, kind="stable")
    within = rng.random((n_rep // n_strata, n_strata, n_obs))
    return ((order + within) / n_strata).reshape(n_rep, n_obs)


def stratified_normals(
    rng: np.random.Generator, n_rep: int, n_obs: int, *, n_strata: int
) -> Float[np.ndarray, "rep obs"]:
    """Draw standard normals, of which a group has one in each of strata of equal probability.

    Quantiles of `stratified_uniforms`, by SciPy, whose last digit may depend on the machine.

    Parameters
    ----------
    rng
        Generator of the draws.
    n_rep
        Replicates, a multiple of `n_strata`.
    n_obs
        Observations of each replicate.
    n_strata
        Strata, and replicates in a group.

    Returns
    -------
    float array (rep, obs)
        Draws, one replicate per row.

    Raises
    ------
    DesignError
        If the number of replicates is no multiple of `n_strata`.
    """
    uniforms = stratified_uniforms(rng, n_rep, n_obs, n_strata=n_strata)
    return np.asarray(special.ndtri(np.maximum(uniforms, SMALLEST)))


SMALLEST = 2.0**-54  # half of the smallest uniform above 0, in place of 0


def _in_turn(first: np.ndarray, second: np.ndarray) -> Float[np.ndarray, "rep obs"]:
    """Rows of the one and of the other, in turn."""
    return np.stack([first, second], axis=1).reshape(PAIR * len(first), -1)


def _refuse_part_of_group(n_rep: int, size: int) -> None:
    is_whole = isinstance(size, int | np.integer) and not isinstance(size, bool)
    if not is_whole or size < 1:
        raise DesignError(
            f"n_strata={in_one_line(repr(size))} is no number of strata. Give a whole number of at "
            "least 1."
        )
    if n_rep % size:
        raise DesignError(
            f"{n_rep} replicates are no whole number of groups of {size}, so the last group would "
            f"not be whole. Draw {max(1, round(n_rep / size)) * size}, or give the Study a "
            f"block_size that is a multiple of {size}, and group_size={size}."
        )
