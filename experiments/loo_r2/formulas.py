"""Formulas of the report, as printed and as intended, on a small fixed data set."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import numpy as np

from simstudy.array_types import Float
from simstudy.claims import Claim, Finding, Uncheckable, WrongValue, decide
from simstudy.documents.stats.leave_one_out.utilities import (
    UTILITIES,
    Pointwise,
    taylor,
    taylor_difference,
)

N_OBS = 20
EXACTLY = 1e-9  # relative, for a standard error
R2 = UTILITIES.index("r2_mean_square")
Each = Float[np.ndarray, " obs"]


def _data() -> tuple[Each, Each, Each]:
    """A feature, another, and a response of both: no random numbers, no pattern."""
    i = np.arange(N_OBS)
    first, second, noise = (np.cos(7.3 * i**1.5), np.sin(2.9 * i**1.7), np.sin(11.1 * i**1.3))
    return first, second, 1 + first + 0.5 * second + 0.8 * noise


def _fit(y: Each, *features: Each) -> tuple[Each, Each]:
    """Leverages of least squares, and its residuals."""
    design = np.column_stack([np.ones(N_OBS), *features])
    hat = design @ np.linalg.pinv(design)
    return np.diag(hat).copy(), y - hat @ y


def _left_out(*which: int) -> Pointwise:
    """The response, and leave-one-out errors of a model with these of the two features."""
    *features, y = _data()
    leverage, residual = _fit(y, *(features[i] for i in which))
    return Pointwise(y[np.newaxis], (residual / (1 - leverage))[np.newaxis])


def _std_error(sign: int = -1, *, of_predictions: bool = False) -> float:
    """The standard error of R² by the report's last equation.

    The covariance's term with either sign, and MSE_y about the mean or, as its variance is
    printed, about the predictions.
    """
    pointwise = _left_out(0)
    y, e = pointwise.y[0], pointwise.error[0]
    about = e if of_predictions else y - y.mean()
    x, z = e**2, about**2
    mse_y = float(((y - y.mean()) ** 2).mean())
    ratio = x.mean() / mse_y
    (xx, xz), (_, zz) = (
        [((a - m) * (b - k)).sum() / (N_OBS * (N_OBS - 1)) for b, k in ((x, x.mean()), (z, mse_y))]
        for a, m in ((x, x.mean()), (z, mse_y))
    )
    return float(np.sqrt(xx + sign * 2 * ratio * xz + ratio**2 * zz) / mse_y)


def _by_gradient() -> float:
    """The same by our influence function."""
    return float(taylor(_left_out(0)).std_error[0, R2])


def _equation_is(_: Any, sign: int = -1) -> Finding:
    off = abs(_std_error(sign) / _by_gradient() - 1)
    return decide(EXACTLY - off, 0.0, f"relative distance {off:.1e}")


def _about_predictions(_: Any) -> Finding:
    ratio = _std_error(of_predictions=True) / _std_error()
    return Finding(ratio, detail=f"on {N_OBS} fixed observations")


def _difference_as_printed(_: Any) -> Finding:
    """The difference of two models' MSE, less that of a model and itself, in its own errors."""
    meant = taylor_difference(_left_out(0), _left_out(0, 1))
    mse = UTILITIES.index("mse")
    value, error = float(meant.value[0, mse]), float(meant.std_error[0, mse])
    said = f"as printed 0 whatever the models; of two models of {N_OBS} observations {value:.3f}"
    return Finding(value, detail=f"{said} with a standard error of {error:.3f}")


def _optimistic(_: Any, left_out: bool = False) -> Finding:
    """Expected mean squared errors over σ²: on the training data, or left out, and on new data.

    The features are the same, for which σ²(1 - h), σ²/(1 - h) and σ²(1 + h) are exact.
    """
    first, second, y = _data()
    leverage, _ = _fit(y, first, second)
    own = (1 / (1 - leverage) if left_out else 1 - leverage).mean()
    new = (1 + leverage).mean()
    return decide(new - own, 0.0, f"{own:.3f}, on new data {new:.3f}, in units of σ²")


def _beyond_one(_: Any, slope: float | None = 3.0) -> Finding:
    """Whether Var(ŷ)/Var(y) can exceed 1: with the slope of a certain prior, or a fitted one."""
    first, _, y = _data()
    by_prior = slope if slope is not None else float(np.polyfit(first, y, 1)[0])
    ratio = float(np.var(by_prior * first) / np.var(y))
    return decide(ratio - 1, 0.0, f"explained over all variance {ratio:.2f}")


def _mae_as_printed(_: Any) -> Finding:
    """The MAE of n errors of 1, by a sum from 0 to n over n."""
    n_terms = N_OBS + 1
    return Finding(n_terms / N_OBS, detail=f"{n_terms} terms over n = {N_OBS}")


def _brackets_close(_: Any, text: str = r"E\left[ \tilde{y} \right| y, M_k \right]") -> Finding:
    """Whether each bracket of a formula in LaTeX is closed by a bracket of the same kind."""
    opened: list[str] = []
    closes = {"[": "]", "(": ")", "|": "|"}
    wrong = 0
    for side, sign in re.findall(r"\\(left|right)(.)", text):
        if side == "left":
            opened.append(sign)
        elif not opened or closes[opened.pop()] != sign:
            wrong += 1
    return Finding(float(not wrong and not opened), detail=f"{wrong + len(opened)} do not")


def _slopes_are(_: Any, sign: int = -1) -> Finding:
    """Derivatives of f(x, y) = 1 - x/y: -1/y and x/y², against complex steps."""
    x, y, step = 0.7, 1.9, 1e-100
    by_x, by_y = (
        (1 - (x + 1j * dx) / (y + 1j * dy)).imag / step for dx, dy in ((step, 0), (0, step))
    )
    off = max(abs(by_x - sign / y), abs(by_y - x / y**2))
    return decide(EXACTLY - off, 0.0, f"off by {off:.1g} at most")


def _mean_of_ratio(_: Any, n: int = 1000) -> Finding:
    """E(X/Y) over E(X)/E(Y), of independent gamma means of n values: n/(n - 1), exactly."""
    return Finding(n / (n - 1), detail=f"means of {n} exponential values")


def _best_by_square(_: Any, *, by_median: bool = False) -> Finding:
    """Whether the mean of a skewed law has the least expected square among points of a grid."""
    values, law = np.arange(6.0), np.array([0.35, 0.25, 0.15, 0.1, 0.1, 0.05])
    points = np.linspace(0, 5, 5001)
    loss = ((points[:, np.newaxis] - values) ** 2 @ law).argmin()
    chosen = values[np.searchsorted(law.cumsum(), 0.5)] if by_median else float(values @ law)
    return decide(0.001 - abs(points[loss] - chosen), 0.0, f"{chosen:.3f}, best {points[loss]:.3f}")


FORMULAS = (
    Claim(
        "brackets of the MAE",
        "The MAE is the mean distance of ỹ from its expectation given y and the model",
        "section 4, first display",
        _brackets_close,
        published=True,
        expected="differs",
        misprint=True,
        note="The bracket of the expectation is closed by a bar, so the condition stands outside.",
    ),
    Claim(
        "derivatives of a ratio",
        "The Taylor approximation of 1 - x/y has the slopes -1/y and x/y²",
        "section 3",
        _slopes_are,
        published=True,
        wrong_value=WrongValue("the other sign", partial(_slopes_are, sign=1)),
        criterion="1e−9",
    ),
    Claim(
        "mean of a function",
        "The mean of f(X, Y) is f of the means, to first order",
        "section 3.1",
        _mean_of_ratio,
        published=1.0,
        difference=0.005,
        wrong_value=WrongValue("means of ten values", partial(_mean_of_ratio, n=10)),
        note="Of a ratio of two means of 1,000 exponential values: n/(n - 1).",
    ),
    Claim(
        "posterior mean",
        "The posterior mean is the optimal prediction for the mean squared error",
        "section 2",
        _best_by_square,
        published=True,
        wrong_value=WrongValue("the median", partial(_best_by_square, by_median=True)),
    ),
    Claim(
        "equation of the standard error",
        "The variance of R² by the variances and the covariance of two mean squares",
        "section 4, last equation",
        _equation_is,
        published=True,
        wrong_value=WrongValue("a covariance that is added", partial(_equation_is, sign=1)),
        criterion="1e−9",
        note="Against the spread of our influence function, on fixed data.",
    ),
    Claim(
        "centre of MSE_y",
        "The variance of MSE_y, and its covariance, have errors of prediction in them",
        "section 4, equations of the variance and the covariance",
        _about_predictions,
        published=1.0,
        difference=0.01,
        expected="differs",
        misprint=True,
        note="As printed they have ŷ, where the line below says ȳ, which is meant: published is "
        "the ratio of the two standard errors of R².",
    ),
    Claim(
        "difference of two models",
        "The estimate of a difference has the terms of model A twice",
        "section 2, model comparison",
        _difference_as_printed,
        published=0.0,
        difference=0.001,
        expected="differs",
        misprint=True,
        note="The second term is of model B. As printed every difference is 0.",
    ),
    Claim(
        "terms of the MAE",
        "The leave-one-out MAE is a sum from i = 0 to n, over n",
        "section 4, mean absolute error",
        _mae_as_printed,
        published=1.0,
        expected="differs",
        misprint=True,
        note="It begins at i = 1, as the in-sample one above it. Tried with errors of 1.",
    ),
    Claim(
        "training utility",
        "A utility on the training data is over-optimistic",
        "section 2",
        _optimistic,
        published=True,
        wrong_value=WrongValue("leave-one-out", partial(_optimistic, left_out=True)),
        note="By the expected mean square of least squares, which is exact.",
    ),
    Claim(
        "R² above 1",
        "Classical R² can be larger than 1 for Bayesian regression",
        "section 4",
        _beyond_one,
        published=True,
        wrong_value=WrongValue("least squares", partial(_beyond_one, slope=None)),
        note="Explained over all variance, where a prior is sure of a slope of 3 and 1 is true.",
    ),
)

NOT_CHECKED = (
    Uncheckable(
        "typos of another paper",
        "Page 8 of the paper that suggested the approach has a bar and a square missing",
        "note",
        missing="that paper",
        note="The reference that is given, Hastings (1970), has pages 97 to 109.",
    ),
    Uncheckable(
        "empty cells",
        "Seven of eight standard errors in the table of approximations",
        "section 4, table",
        missing="the formulas: the cells are empty, as is the section on RMSE",
        note="They are derived and checked here, as ours.",
    ),
    Uncheckable(
        "points of the figures",
        "Pairs of standard errors of 100 data sets a panel",
        "figures simres, simres_low_n and simres_high_p_n50",
        missing="the numbers, which stand in the pictures alone, and the settings: p and σ of the "
        "second figure, σ of the third, and the seeds",
    ),
)
