"""Every measure can be restricted to the replicates that meet a condition."""

import numpy as np
import pytest

from simstudy import measures as of
from simstudy.measures import given, paired
from tests.measures.test_contract import EVERY, drawn, rounding

N = 400
COLUMNS = drawn(N) | {"good": np.random.default_rng(5).random(N) < 0.6}
COLUMNS["x"][::17] = np.nan


@pytest.mark.parametrize("measure", [each for each in EVERY if "convergence" not in each.id])
def test_it_is_the_measure_of_the_other_rows_left_out(measure):
    """Influence functions give the same numbers as a file without these rows."""
    good, limit = COLUMNS["good"], rounding(measure, COLUMNS)
    some = {name: column[good] for name, column in COLUMNS.items()}
    whole, part = given(measure, "good").estimate(COLUMNS), measure.estimate(some)
    for name in ("estimate", "mcse", "lower", "upper"):
        np.testing.assert_allclose(getattr(whole, name), getattr(part, name), 1e-12, limit)
    for name in ("n_rep", "n_failed"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(part, name))


def test_a_condition_of_each_method_and_a_missing_one():
    """Where the condition is missing, a replicate has failed."""
    holds = (COLUMNS["p"] < 0.5).astype(float)
    holds[:3] = np.nan
    found = given(of.mean("p"), "holds", name="low").estimate(COLUMNS | {"holds": holds})
    np.testing.assert_array_equal(found.n_failed, [3, 3, 3])
    for method in range(3):
        low = COLUMNS["p"][3:, method]
        assert found.estimate[method] == pytest.approx(low[low < 0.5].mean())


def test_no_replicate_in_the_condition_is_said():
    never = COLUMNS | {"good": np.zeros(N)}
    found = given(of.bias("x", 2.0), "good").estimate(never)
    assert np.isnan(found.estimate).all()
    assert set(found.reason) == {"no replicate has good"}


def test_contrasts_are_those_of_the_pairs_within():
    good = COLUMNS["good"]
    sides = [{"x": COLUMNS["x"][:, i], "good": good} for i in range(2)]
    whole = paired(given(of.mean("x"), "good"), *sides)
    part = paired(of.mean("x"), *({"x": side["x"][good]} for side in sides))
    assert whole.estimate == pytest.approx(part.estimate)
    assert whole.mcse == pytest.approx(part.mcse)
    assert whole.n_rep == part.n_rep
    assert whole.n_failed == part.n_failed


def test_a_replicate_in_which_one_side_is_outside_has_not_failed():
    sides = [{"x": COLUMNS["x"][:, i], "good": np.arange(N) % 3 != i} for i in range(2)]
    found = paired(given(of.mean("x"), "good"), *sides)
    both = np.arange(N) % 3 == 2
    assert found.n_rep == np.sum(both & ~np.isnan(COLUMNS["x"][:, 0]))
    assert found.n_rep + found.n_failed == both.sum()


def test_a_column_that_is_no_condition_is_refused():
    with pytest.raises(Exception, match="should say yes or no"):
        given(of.mean("x"), "se").estimate(COLUMNS)
