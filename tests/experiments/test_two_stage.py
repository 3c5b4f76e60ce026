"""The two-stage trial: its claims and their rivals, and a bound that is fixed."""

import numpy as np
import pytest
from scipy import stats

from experiments import two_stage_expert
from experiments.two_stage.laws import distance_between
from experiments.two_stage.study import Config, study
from experiments.two_stage.trials import reach
from simstudy.documents.stats.two_stage import critical_value
from simstudy.provenance.streams import Streams
from tests.experiments.claimed import assert_holds
from tests.support import critical_z

pytestmark = pytest.mark.slow

SIZES = [50, 100, 300, 500, 1000]
EXACT = {
    *("sample size", "three of four"),
    *("density of s2", "equation 3", "expected share"),
}  # of them a simulation says nothing
PLAIN = {"filter", "other data"}  # effects so large that forty replicates of each trial show them


def drawn(n_rep, **settings):
    config = Config(**{"draws": "sufficient", "n2": SIZES} | settings)
    return study(config).run(n_rep, seed=2, backend="inline")


@pytest.fixture(scope="module")
def published():
    """As many as are published: where few nulls are true, fewer decide nothing."""
    return drawn(Config().n_rep)


def test_claims_come_out_as_derived_and_rivals_fall(published):
    assert_holds(published)


def test_few_replicates_reproduce_nothing_that_is_simulated():
    few = drawn(40).claims.set_index("claim")
    assert set(few.index[few["verdict"] == "reproduced"]) == EXACT | PLAIN


def test_the_distance_of_two_samples_is_kolmogorovs():
    first, second = (np.sort(np.random.default_rng(seed).normal(size=40 + seed)) for seed in (1, 2))
    known = stats.ks_2samp(first, second).statistic
    assert distance_between(first, second) == pytest.approx(known, rel=1e-12)


def test_mc_margines_as_far_as_kolmogorovs_law_says():
    """One of three cells of 400 is further out once in ten thousand studies."""
    (each,) = set(reach([400] * 3))
    assert 3 * stats.kstwobign.sf(each * np.sqrt(400)) == pytest.approx(1e-4)


def test_trials_beside_the_grid_are_at_its_ratios_or_far_beyond():
    trials = study(Config()).scenarios
    beside = [trial for trial in trials if trial.n1 != 100]
    assert {trial.n2 / trial.n1 for trial in beside if trial.n1 < 100} == {3, 5}
    assert {trial.n2 / trial.n1 for trial in beside if trial.n1 > 100} == {300 / 1_000_000}
    assert len(set(trials)) == len(trials) == 6 * (20 + 2 + 1)
    assert {trial.n1 for trial in study(Config(n2=[70, 400])).scenarios} == {100}
    other = study(Config(n2=[300], other_n1=[7, 9], large_n1=[5000])).scenarios
    assert {(trial.n1, trial.n2) for trial in other} == {(100, 300), (7, 21), (9, 27), (5000, 300)}


@pytest.mark.parametrize(
    ("n1", "n2", "size"), [(150, 399, 0.2396), (100, 100, 0.1683), (100, 400, 0.2765)]
)
def test_a_fixed_bound_is_rejected_too_often(n1, n2, size):
    """By the trial as it reads, one replicate at a time, and by quadrature."""
    trial = two_stage_expert.ExpertBound(0.0, n1, n2)
    assert trial.exact()["rejection_rate"] == pytest.approx([size, 0.05], abs=6e-5)
    n_rep = 400
    rejects = trial.simulate(Streams(1, "expert", "plain", 0), n_rep)["reject"]
    z1, z2 = Streams(1, "expert", "plain", 0)("data").standard_normal((2, n_rep))
    by_hand = [
        mean2 < critical_value(0.05, -mean1, n1, n2) for mean1, mean2 in zip(z1, z2, strict=True)
    ]
    np.testing.assert_array_equal(rejects[:, 0], by_hand)


def test_the_expert_study_finds_its_theory_and_differs():
    config = two_stage_expert.Config(margin=[0.0], n1=[100, 150], n2=[100, 399, 400, 1000])
    found = two_stage_expert.study(config).run(4000)
    z = (found.summary["estimate"] - found.summary["exact"]) / found.summary["mcse"]
    assert z.abs().max() < critical_z(len(z))
    assert set(found.claims["verdict"]) == {"differs"}
