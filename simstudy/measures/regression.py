"""Regression of influences on controls of mean 0, cell by cell, by sums alone."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from simstudy.measures.columns import mean_used, total

COLLINEAR = 1e-10  # share of a control's sum of squares that the others may leave of it
CONSTANT = 1e-20  # of a control's squared mean that a sum of rounding errors may come to


class Fit(NamedTuple):
    """What controls explain: how far the mean moves, influences, and how many took part.

    `residuals` are what they leave of the influences, before what the regression itself costs.
    """

    shift: np.ndarray
    psi: np.ndarray
    residuals: np.ndarray
    n_controls: np.ndarray


class _Direction(NamedTuple):
    """What a control has that those before it have not; all of it 0 where that is nothing."""

    values: np.ndarray  # about their mean
    mean: np.ndarray
    squares: np.ndarray  # their sum; 1 where there is nothing
    is_new: np.ndarray


def regress(psi: np.ndarray, controls: Sequence[np.ndarray]) -> Fit:
    """Influences after regression on controls whose means are 0: by Gram and Schmidt, twice over.

    Only sums over replicates and arithmetic by cell, so that a cell has the same bits alone and
    beside others.

    Parameters
    ----------
    psi, controls
        Of shape (rep, *cells), finite; `psi` has mean 0.
    """
    shift, n_controls = np.zeros(psi.shape[1:]), np.zeros(psi.shape[1:], dtype=int)
    weight, basis = np.ones(psi.shape), list[_Direction]()
    for control in controls:
        way = _new_direction(control, basis)
        basis.append(way)
        slope = total(way.values * psi) / way.squares
        psi = psi - slope * way.values
        shift, n_controls = shift + slope * way.mean, n_controls + way.is_new
        weight = weight - len(psi) * way.mean / way.squares * way.values
    return Fit(shift, psi * weight, psi, n_controls)


def _new_direction(control: np.ndarray, basis: Sequence[_Direction]) -> _Direction:
    average = mean_used(control, np.ones(control.shape, dtype=bool), complete=True)
    rest, mean = control - average, average
    at_first = total(rest * rest)
    for way in (*basis, *basis):
        slope = total(way.values * rest) / way.squares
        rest, mean = rest - slope * way.values, mean - slope * way.mean
    squares = total(rest * rest)
    is_new = (squares > COLLINEAR * at_first) & (at_first > CONSTANT * len(rest) * average**2)
    rest, mean = np.where(is_new, rest, 0.0), np.where(is_new, mean, 0.0)
    return _Direction(rest, mean, np.where(is_new, squares, 1.0), is_new)
