"""Any function of the columns as a measure: its error, its bits, its failures, its refusals."""

from dataclasses import dataclass

import numpy as np
import pytest

from simstudy import Study
from simstudy import measures as m
from simstudy.errors import ConfigError, DesignError, StudyError
from simstudy.provenance.streams import generator
from tests.support import INLINE

N_BOOT = 200


def center(x):
    return x.mean(axis=0)


def agreement(x):
    """A number of all methods at once."""
    return np.corrcoef(x.T)[0, 1]


def made(function=center, **options):
    return m.bootstrapped(function, **{"n_boot": N_BOOT, **options})


@pytest.fixture(scope="module")
def x():
    return np.random.default_rng(1).standard_exponential((60, 2))


def test_the_error_is_the_spread_over_resampled_rows(x):
    found = made().estimate({"x": x})
    rng = generator(1, "", "bootstrap", "center")
    means = [x[rng.integers(60, size=60)].mean(axis=0) for _ in range(N_BOOT)]
    np.testing.assert_array_equal(found.estimate, x.mean(axis=0))
    np.testing.assert_allclose(found.mcse, np.std(means, axis=0, ddof=1), rtol=1e-12)
    np.testing.assert_array_equal(found.n_rep, 60)


def test_each_cell_has_the_replicates_that_did_not_fail_in_it(x):
    holes = x.copy()
    holes[:7, 1] = np.nan
    found, whole = (made().estimate({"x": each}) for each in (holes, x))
    alone = made().estimate({"x": holes[7:, 1]})
    for field in ("estimate", "mcse"):
        assert getattr(found, field)[0] == getattr(whole, field)[0]
        assert getattr(found, field)[1] == pytest.approx(float(getattr(alone, field)), rel=1e-12)
    np.testing.assert_array_equal(found.n_failed, [0, 7])


def test_a_function_may_combine_the_last_axes(x):
    holes = x.copy()
    holes[3, 0] = holes[5, 1] = np.nan
    found = made(agreement).estimate({"x": holes})
    complete = np.delete(x, [3, 5], axis=0)
    assert float(found.estimate) == pytest.approx(np.corrcoef(complete.T)[0, 1], rel=1e-12)
    assert (found.n_rep, found.n_failed) == (58, 2)


def test_a_contrast_resamples_both_alike(x):
    same = m.paired(made(), {"x": x}, {"x": x + 1})
    np.testing.assert_allclose(same.estimate, -1)
    np.testing.assert_allclose(same.mcse, 0, atol=1e-12)


def test_a_cell_without_replicates_and_one_of_which_resamples_have_no_number(x):
    nobody = np.where([[True, False]], np.nan, x)
    found = made().estimate({"x": nobody})
    assert list(found.reason) == ["no replicate could be used", ""]
    rare = {"x": np.r_[1.0, np.zeros(9)]}
    lost = made(lambda x: 1 / x.sum(axis=0) if x.any() else np.nan, name="inverse").estimate(rare)
    assert float(lost.estimate) == 1
    assert np.isnan(lost.mcse)
    assert str(lost.reason) == "the function gives no number for a resample of these replicates"


@dataclass(frozen=True)
class Draws:
    n_obs: int = 3

    def simulate(self, streams, n_rep):
        return {"x": streams("data").standard_normal(n_rep), "truth": 1.0}


def skewness(x, truth):
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    return (z**3).mean(axis=0) * truth.mean(axis=0)


def test_a_study_seeds_it_and_says_the_same_bits_again():
    def summary(name, seed):
        study = Study(name, [Draws()], [made(skewness)], block_size=50)
        return study.run(150, seed=seed, **INLINE).summary[["estimate", "mcse"]].to_numpy()

    first = summary("a", 1)
    np.testing.assert_array_equal(first, summary("a", 1))
    assert first[0, 1] > 0

    def placed(study, seed):
        columns = {"x": np.arange(20.0) ** 2, "truth": 1.0}
        within = made(skewness).bind(m.MeasureContext({}, study, seed))
        return float(within.estimate(columns).mcse)

    assert len({placed("a", 1), placed("a", 2), placed("b", 1)}) == 3


REFUSED = [
    (lambda: m.bootstrapped(lambda x: x), "has no name for the summary.*name='skewness'"),
    (lambda: m.bootstrapped(lambda *x: x, name="a"), "does not name the columns it needs"),
    (lambda: made(n_boot=1), "n_boot=1: must be a whole number at least 2, resamples"),
    (lambda: made(lambda x: x, name="a").estimate({"x": np.ones(4)}), r"shape \(4,\).*cells have"),
    (
        lambda: made(lambda x: "b", name="a").estimate({"x": np.ones(4)}),
        "returned 'b', which is no",
    ),
    (lambda: made(lambda x=1: x, name="f"), "does not name the columns it needs"),
    (lambda: made(lambda x: None, name="f").estimate({"x": np.ones(4)}), "returned None"),
    (lambda: made().estimate({"y": np.ones(4)}), "reads the column 'x', which the replicates"),
]


@pytest.mark.parametrize(("call", "text"), REFUSED)
def test_what_makes_no_sense_is_refused_with_what_to_do(call, text):
    with pytest.raises((ConfigError, DesignError, StudyError), match=text):
        call()
