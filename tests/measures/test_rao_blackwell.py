"""A measure of conditional expectations beside the raw one: paired, and held against it."""

import numpy as np
import pytest
from scipy import special

from simstudy import measures as m
from simstudy.errors import DesignError, StudyError
from simstudy.measures.core import MeasureContext, bind
from simstudy.measures.warnings import far_from_zero
from tests.support import critical_z, replicates_to_catch

N_STUDIES = replicates_to_catch(0.1, sd=np.sqrt(0.5))
N = 200
OWN_ERROR = 0.005  # by which Wilson's interval may miss its level at so many replicates


def drawn(n_rep=N, n_cells=N_STUDIES, slope=1.0):
    """Whether z2 < slope z1 - 1, and the chance of that, given z1."""
    z1, z2 = np.random.default_rng(2).standard_normal((2, n_rep, n_cells))
    hit = z2 < slope * z1 - 1
    return {"hit": hit, "p": special.ndtr(z1 - 1), "given": z1 > 0}


RAW = m.power("hit", given="given")
BY_CHANCE = m.conditional(m.mean("p", given="given"), raw=RAW)


def truth():
    """By Simpson's rule over z1 in (0, 9)."""
    z = np.linspace(0, 9, 9001)
    weights = np.ones(9001)
    weights[1:-1:2], weights[2:-1:2] = 4, 2
    density = np.exp(-z * z / 2) * np.sqrt(2 / np.pi) * special.ndtr(z - 1)
    return float(np.sum(weights * density) * (z[1] - z[0]) / 3)


def test_it_is_the_mean_of_what_is_expected_with_its_error_and_the_raw_ones():
    columns = drawn(n_cells=2)
    found = BY_CHANCE.estimate(columns)
    smooth, raw = m.mean("p", given="given").estimate(columns), RAW.estimate(columns)
    np.testing.assert_array_equal(found.estimate, smooth.estimate)
    np.testing.assert_array_equal(found.mcse, smooth.mcse)
    np.testing.assert_allclose(found.variance_reduction, (raw.mcse / smooth.mcse) ** 2, rtol=1e-12)
    np.testing.assert_array_equal(found.n_given, raw.n_given)


def test_over_studies_it_is_unbiased_its_interval_covers_and_nothing_is_doubted():
    found, exact = BY_CHANCE.estimate(drawn()), truth()
    error = found.estimate.std() / np.sqrt(N_STUDIES)
    assert abs(found.estimate.mean() - exact) < critical_z() * error
    covered = np.mean((found.lower <= exact) & (exact <= found.upper))
    assert abs(covered - 0.95) < critical_z() * np.sqrt(0.95 * 0.05 / N_STUDIES) + OWN_ERROR
    assert found.warning is None
    raw = RAW.estimate(drawn())
    measured = raw.estimate.var() / found.estimate.var()
    assert abs(np.log(measured / np.median(found.variance_reduction))) < critical_z() * np.sqrt(
        4 / N_STUDIES
    )


def test_an_expectation_of_something_else_is_said():
    found = BY_CHANCE.estimate(drawn(n_rep=4000, n_cells=1, slope=1.4))
    assert found.warning.item().startswith("it is -0.")
    assert "standard errors of the difference: one of the two is wrong" in found.warning.item()


def test_only_replicates_that_both_have_are_used_and_groups_are_those_of_the_study():
    columns = drawn(n_cells=1)
    columns["p"][:30] = np.nan
    found = bind(BY_CHANCE, MeasureContext({}, "study", 1, 2)).estimate(columns)
    rest = {name: column[30:] for name, column in columns.items()}
    alone = bind(m.mean("p", given="given"), MeasureContext({}, "study", 1, 2)).estimate(rest)
    assert (found.n_rep, found.n_failed) == (N - 30, 30)
    np.testing.assert_allclose(found.mcse, alone.mcse, rtol=1e-12)
    raw = RAW.estimate(rest)  # of independent replicates
    np.testing.assert_allclose(found.variance_reduction, (raw.mcse / alone.mcse) ** 2, rtol=1e-12)


RIGHT = {
    "normal": lambda rng, size: rng.standard_normal(size),
    "exponential": lambda rng, size: rng.standard_exponential(size) - 1,
    "rare": lambda rng, size: (rng.random(size) < 0.03) - 0.03,
    "heavy": lambda rng, size: np.exp(1.5 * rng.standard_normal(size) - 1.125) - 1,
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_means_are_not_doubted_and_wrong_ones_are(name):
    values = RIGHT[name](np.random.default_rng(6), (1000, 4000))
    assert not far_from_zero(values).any(), "one in a million"
    if name != "heavy":  # whose spread nobody knows
        off = 12 * values.std() / np.sqrt(1000)
        assert (far_from_zero(values + off) > 0).mean() > 0.99


def test_what_cannot_be_compared_is_refused():
    two = m.rejection_rate(p_value="p", alpha=(0.1, 0.5))
    with pytest.raises(DesignError, match="Give two measures with the same cells"):
        m.conditional(m.mean("p"), raw=two)
    with pytest.raises(DesignError, match="has no error by the influence of each replicate"):
        m.conditional(m.mean("p"), raw=m.bootstrapped(lambda hit: hit, name="mine"))
    with pytest.raises(StudyError, match="Return both columns with the same axes"):
        m.conditional(m.mean("p"), raw=m.power("hit")).estimate(
            {"p": np.zeros(5), "hit": np.zeros((5, 2))}
        )
