"""Misprinted formulas of the document: the results of each as printed."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from experiments.two_stage.trials import SIZE, grid_of
from simstudy.analysis.result import Result
from simstudy.claims import Claim, Finding, average, share
from simstudy.documents.scenarios.two_stage import TwoStage
from simstudy.documents.stats.two_stage import cdf, critical_value


def _spread(trial: TwoStage) -> float:
    """Standard deviation of s2, the document's sigma_W: the root of 1 + n2/n1."""
    return float(np.sqrt(1 + trial.n2 / trial.n1))


def _quantile_of_w(trial: TwoStage) -> float:
    """The alpha-quantile of w, which is (s2 + r k) / sigma_W, given that the null is true."""
    limit = float(critical_value(trial.alpha, trial.k, trial.n1, trial.n2))
    return float(limit + trial.k * np.sqrt(trial.n2 / trial.n1)) / _spread(trial)


def _rejected_below_quantile_of_w(result: Result) -> Finding:
    """Share of the true nulls of the grid whose s2 is below the quantile of w."""
    rejects = []
    for trial in grid_of(result):
        data = result.columns(trial, "s2", "null_is_true")
        s2 = data["s2"][data["null_is_true"].astype(bool)]
        rejects.append(s2 < _quantile_of_w(trial))
    return share(np.concatenate(rejects), "type-I error over the grid, of the printed formula")


def _mean_of_printed_cdf(result: Result) -> Finding:
    """Mean of F_W as printed, at the simulated w of the grid's first trial, in either state."""
    trial = grid_of(result)[0]
    data = result.columns(trial, "s2", "null_is_false")
    state = data["null_is_false"].astype(bool)
    p = cdf(data["s2"], state, trial.k, trial.n1, trial.n2)
    said = f"sigma_W={_spread(trial):.4f}; without the factor {p.mean():.4f}"
    return average(p / _spread(trial), said)


def _variance_as_printed(result: Result) -> Finding:
    """Variance of the statistic with sigma^2/n2 instead of its root, over that of the law."""
    trial = grid_of(result)[0]
    as_printed = np.sqrt(trial.n2 / trial.dgp.variance)
    s2 = result.columns(trial, "s2")["s2"]
    square = ((s2 + trial.k * np.sqrt(trial.n2 / trial.n1)) / _spread(trial)) ** 2
    said = f"n1={trial.n1}, n2={trial.n2}; with the root {square.mean():.4f}"
    return average(as_printed**2 * square, said)


def _false_nulls_of_variances(result: Result) -> Finding:
    """Share of false nulls if the bound is k variances above the first mean."""
    trial = result.scenario(k=1.5, n1=grid_of(result)[0].n1, n2=max(t.n2 for t in grid_of(result)))
    distance = result.columns(trial, "distance")["distance"]
    std_error = np.sqrt(trial.dgp.variance / trial.n1)
    lower = trial.k * (1 - std_error)  # k standard errors minus k variances, in standard errors
    said = f"standard error {std_error:.3f}; with k of them {np.mean(distance > 0):.4f}"
    return share(distance > lower, said)


FORMULAS = (
    Claim(
        "critical value",
        "The critical value of s2 is the quantile of F_W",
        "equation 4",
        _rejected_below_quantile_of_w,
        published=0.05,
        difference=SIZE,
        expected="differs",
        misprint=True,
        note="It is that of F_X, as the document's code has it: sqrt(1 + r^2) F_W^-1(alpha) - r k.",
    ),
    Claim(
        "factor 1/sigma_W",
        "The density of w has a factor 1/sigma_W",
        "section 1, before equation 3",
        _mean_of_printed_cdf,
        published=0.5,
        difference=SIZE,
        expected="differs",
        misprint=True,
        note="A distribution function is 1/2 on average over its own draws. w is standardised "
        "already: with the factor its density integrates to 1/sigma_W. The bivariate normal in the "
        "next display, and the code, do not have it.",
    ),
    Claim(
        "denominator of s2",
        "The denominator of s2 is sigma^2/n2, and its variance 1 + n2/n1",
        "section 1, before equation 1",
        _variance_as_printed,
        published=1.0,
        difference=0.05,  # relative to the variance
        expected="differs",
        misprint=True,
        note="The denominator is the root, as in step 2. Published is the variance over 1 + n2/n1.",
    ),
    Claim(
        "bound in variances",
        "With a bound k variances above the first estimate the null is false Phi(k) of the time",
        "section 3, step 4",
        _false_nulls_of_variances,
        published=NormalDist().cdf(1.5),
        difference=SIZE,
        expected="differs",
        misprint=True,
        note="It is k standard errors, as in step 1 and in the code. Tried here with a mean.",
    ),
)
