"""The two-stage trial: the document's loop, and its theory."""

import numpy as np
from scipy import special

from simstudy.documents.scenarios.two_stage import TwoStage
from simstudy.documents.stats.two_stage import critical_value, power
from simstudy.provenance.streams import Streams
from tests.documents.scenarios.draws import streams
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


def test_the_states_of_the_null_exclude_each_other():
    block = TRIAL.simulate(streams(), 500)
    assert (block["null_is_false"] ^ block["null_is_true"]).all()
    assert (block["null_is_false"] == (block["distance"] > 0)).all()


# ---------------------------------------------------------------- theory
ERROR = 0.02  # two points of power or of type-I error must not pass
CELLS = 3 * 4 * 2


def rates(draws: str, limit=critical_value) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rejection rates, exact values and their errors, over a grid and both states of the null."""
    found, exact, mcse = [], [], []
    for k in (0.0, 0.5, 1.0):
        for n2 in (50, 100, 400, 1000):
            trial = TwoStage(k=k, n1=100, n2=n2, draws=draws)
            p_true = special.ndtr(-k)
            theory = {True: trial.alpha, False: float(power(trial.alpha, k, 100, n2))}
            n_rep = int(replicates_to_catch(ERROR, sd=0.5, comparisons=CELLS) / p_true)
            block = trial.simulate(Streams(5, "rates", f"{k}/{n2}", 0), n_rep)
            reject = block["s2"] < float(limit(trial.alpha, k, 100, n2))
            for state, p in theory.items():
                given = block["null_is_true"] == state
                found.append(reject[given].mean())
                exact.append(p)
                mcse.append(np.sqrt(p * (1 - p) / given.sum()))
    return np.array(found), np.array(exact), np.array(mcse)


def test_power_and_size_are_what_theory_says():
    assert_within_mcse(*rates("sufficient"))

    # Caught: the unconditional critical value.
    def unconditional(alpha, k, n1, n2):
        r = np.sqrt(n2 / n1)
        return -r * k + np.sqrt(1 + r**2) * special.ndtri(alpha)

    assert_caught(*rates("sufficient", limit=unconditional))
