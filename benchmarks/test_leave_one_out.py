"""Exact leave-one-out and the Bayesian bootstrap beside the plain loops they replace.

Both sides run in the same process of their own, with one thread each, and are compared as a ratio;
the time that a whole study takes is printed and not asserted.
"""

from time import process_time

import numpy as np
import pytest

from benchmarks.timing import least_alone, python
from simstudy.documents.dgps.random_coefficients import RandomCoefficients
from simstudy.documents.stats.leave_one_out.bayesian_bootstrap import bayesian_bootstrap
from simstudy.documents.stats.leave_one_out.priors import default_prior
from simstudy.documents.stats.leave_one_out.regression import exact_leave_one_out
from simstudy.documents.stats.leave_one_out.utilities import Pointwise, taylor
from tests.documents.stats.leave_one_out.plain import refit_coefficients

N_REP, N_OBS, N_FEATURE = 20, 100, 5
N_NODE = 32  # of the plain loop's quadrature: as many as ours takes
N_DRAW, N_PLAIN = 4000, 400  # Bayesian-bootstrap draws of ours, and of the plain loop

# Asserted, and as measured.
EXACT_FASTER = 200  # 960
BOOTSTRAP_FASTER = 7  # 10 to 17
GRID = [(n, p, sigma) for n in (100, 500, 1000) for p in (1, 5, 10) for sigma in (2.0, 1.0, 0.5)]
N_REP_PUBLISHED = 100


def draw(n_rep: int, n_obs: int, n_feature: int, sigma: float = 1.0):
    model = RandomCoefficients(n_feature=n_feature, noise_variance=sigma**2)
    drawn = model.draw(np.random.default_rng(1), n_rep, n_obs)
    return drawn.features, drawn.y, default_prior(drawn.features, drawn.y)


def exact_block() -> None:
    """A block of data sets, with drawing and all."""
    exact_leave_one_out(*draw(N_REP, N_OBS, N_FEATURE))


def plain_refits() -> None:
    """One data set: every observation left out in turn, over nodes about the scale of errors."""
    features, y, prior = draw(1, N_OBS, N_FEATURE)
    residual = y[0] - y[0].mean()
    nodes = np.linspace(-1, 1, N_NODE) + np.log(residual.std() / np.sqrt(N_FEATURE + 1))
    for left_out in range(N_OBS):
        refit_coefficients(features, y, prior, 0, left_out, nodes)


def errors(n_rep: int) -> Pointwise:
    y, error = np.random.default_rng(1).standard_normal((2, n_rep, N_OBS))
    return Pointwise(y, error, -(error**2))


def bootstrap_block() -> None:
    bayesian_bootstrap(errors(N_REP), np.random.default_rng(1), n_draw=N_DRAW)


def plain_bootstrap() -> None:
    """One replicate, R² alone, one draw at a time."""
    (y,), (error,), _ = errors(1)
    rng, values = np.random.default_rng(1), []
    for _ in range(N_PLAIN):
        w = rng.dirichlet(np.ones(N_OBS))
        own = w @ error**2 - (w @ error) ** 2
        values.append(1 - own / (w @ y**2 - (w @ y) ** 2))
    np.std(values, ddof=1)


def published_study() -> None:
    """Nine hundred fits of each sample size: exact leave-one-out, Taylor, and 4000 draws."""
    for n_obs, n_feature, sigma in GRID:
        fits = exact_leave_one_out(*draw(N_REP_PUBLISHED, n_obs, n_feature, sigma)).pointwise
        taylor(fits)
        bayesian_bootstrap(fits, np.random.default_rng(1), n_draw=N_DRAW)


def test_exact_leave_one_out_is_over_200_times_faster_than_refits(benchmark):
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


def processor_seconds() -> float:
    """Of the published study, in this process: what others do on the machine does not count."""
    start = process_time()
    published_study()
    return process_time() - start


@pytest.mark.slow
def test_the_time_of_the_published_study_is_printed(benchmark):
    code = f"from {__name__} import processor_seconds; print(processor_seconds())"
    seconds = float(benchmark.pedantic(python, args=("-c", code), rounds=1))
    n_fit = len(GRID) * N_REP_PUBLISHED
    print(f"{n_fit} fits with {N_DRAW} draws each: {seconds:.1f} s of one core")
    benchmark.extra_info.update(processor_seconds=seconds)
