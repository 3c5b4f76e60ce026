"""The two-stage trial: the document's loop, and its theory."""

import numpy as np
from scipy import special

from simstudy.documents.scenarios.two_stage import TwoStage
from simstudy.documents.stats.two_stage import critical_value, power
from simstudy.provenance.streams import Streams
from tests.documents.draws import streams
from tests.support import assert_caught, assert_within_mcse, replicates_to_catch

TRIAL = TwoStage(k=1.5, n1=100, n2=250)


def plain_loop(trial: TwoStage, n_rep: int) -> dict[str, list[float]]:
    """The document's simulation, one replicate at a time, on the same random numbers."""
    rng, mu, var = streams()("data"), trial.dgp.mean, trial.dgp.variance
    first, second = (
        [mu + np.sqrt(var) * rng.standard_normal(n).mean() for _ in range(n_rep)]
        for n in (trial.n1, trial.n2)
    )
    limit = float(critical_value(trial.alpha, trial.k, trial.n1, trial.n2))
    rows: dict[str, list[float]] = {"s2": [], "null_is_false": [], "reject": []}
    for mean1, mean2 in zip(first, second, strict=True):
        null_mu = mean1 + trial.k * np.sqrt(var / trial.n1)
        s2 = (mean2 - null_mu) / np.sqrt(var / trial.n2)
        rows["s2"].append(s2)
        rows["null_is_false"].append(null_mu > mu)
        rows["reject"].append(s2 < limit)
    return rows


def test_a_block_is_the_plain_loop():
    block = TRIAL.simulate(streams(), 300)
    for name, column in plain_loop(TRIAL, 300).items():
        np.testing.assert_allclose(block[name], column, rtol=1e-10, err_msg=name)


N_REP = 3 * replicates_to_catch(0.02, sd=0.5, comparisons=2)  # of which 31% have a true null


def rates(limit: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rejection rates where the null is true and where it is false, as theory has them, errors."""
    trial = TwoStage(k=0.5, n1=100, n2=400, draws="sufficient")
    block = trial.simulate(Streams(5, "rates", "trial", 0), N_REP)
    states = np.stack([block["null_is_true"], block["null_is_false"]])
    exact = np.array([trial.alpha, float(power(trial.alpha, 0.5, 100, 400))])
    n_given = states.sum(axis=1)
    found = (states & (block["s2"] < limit)).sum(axis=1) / n_given
    return found, exact, np.sqrt(exact * (1 - exact) / n_given)


def test_power_and_size_are_what_theory_says():
    assert_within_mcse(*rates(critical_value(0.05, 0.5, 100, 400)))
    # Caught: the unconditional critical value.
    assert_caught(*rates(-2 * 0.5 + np.sqrt(5) * special.ndtri(0.05)))
