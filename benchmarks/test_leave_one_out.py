"""Exact leave-one-out and the Bayesian bootstrap beside the plain loops they replace.

Both sides run in the same process of their own, with one thread each, and are compared as a ratio.
"""

import numpy as np

from benchmarks.timing import least_alone
from simstudy.documents.dgps.linear import RandomCoefficients
from simstudy.documents.stats.leave_one_out.bayesian_bootstrap import bayesian_bootstrap
from simstudy.documents.stats.leave_one_out.priors import default_prior
from simstudy.documents.stats.leave_one_out.regression import exact_leave_one_out
from simstudy.documents.stats.leave_one_out.utilities import Pointwise
from tests.documents.stats.leave_one_out.plain import standard_design

N_REP, N_OBS, N_FEATURE = 20, 100, 5
N_NODE = 32  # of the plain loop's quadrature: as many as ours takes
N_DRAW, N_PLAIN = 4000, 400  # Bayesian-bootstrap draws of ours, and of the plain loop

# Asserted, and as measured.
EXACT_FASTER = 60  # 130
BOOTSTRAP_FASTER = 7  # 10 to 17


def draw(n_rep: int):
    drawn = RandomCoefficients(n_feature=N_FEATURE).draw(np.random.default_rng(1), n_rep, N_OBS)
    return drawn.features, drawn.y, default_prior(drawn.features, drawn.y)


def exact_block() -> None:
    """A block of data sets, with drawing and all."""
    exact_leave_one_out(*draw(N_REP))


def plain_refits() -> None:
    """One data set: every observation left out in turn, over nodes about the scale of errors."""
    features, y, prior = draw(1)
    design, response = standard_design(features, prior, 0), y[0] - y[0].mean()
    scale, unit = response.std() / np.sqrt(N_FEATURE + 1), np.eye(N_FEATURE + 1)
    for left_out, row in enumerate(design):
        rows, kept = np.delete(design, left_out, axis=0), np.delete(response, left_out)
        gram, moments = rows.T @ rows, rows.T @ kept
        for variance in scale**2 * np.exp(np.linspace(-2, 2, N_NODE)):
            precision = gram / variance + unit
            np.linalg.solve(precision, np.column_stack([moments / variance, row]))
            np.linalg.slogdet(precision)


def errors(n_rep: int) -> Pointwise:
    y, error = np.random.default_rng(1).standard_normal((2, n_rep, N_OBS))
    return Pointwise(y, error, -(error**2))


def bootstrap_block() -> None:
    bayesian_bootstrap([errors(N_REP)], np.random.default_rng(1), n_draw=N_DRAW)


def plain_bootstrap() -> None:
    """One replicate, R² alone, one draw at a time."""
    (y,), (error,), _ = errors(1)
    rng, values = np.random.default_rng(1), []
    for _ in range(N_PLAIN):
        w = rng.dirichlet(np.ones(N_OBS))
        own = w @ error**2 - (w @ error) ** 2
        values.append(1 - own / (w @ y**2 - (w @ y) ** 2))
    np.std(values, ddof=1)


def test_exact_leave_one_out_is_over_sixty_times_faster_than_refits(benchmark):
    ours, plain = least_alone(benchmark, __name__, ["exact_block", "plain_refits"], rounds=5)
    ratio = plain / (ours / N_REP)
    benchmark.extra_info.update(ratio=ratio)
    assert ratio >= EXACT_FASTER


def test_bayesian_bootstrap_is_over_seven_times_faster_than_a_loop(benchmark):
    calls = ["bootstrap_block", "plain_bootstrap"]
    ours, plain = least_alone(benchmark, __name__, calls, rounds=5)
    ratio = (plain / N_PLAIN) / (ours / N_REP / N_DRAW)
    benchmark.extra_info.update(ratio=ratio)
    assert ratio >= BOOTSTRAP_FASTER
