"""Contrasts of methods and scenarios: identities, failures, what pairing saves, references."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from simstudy import Study
from simstudy import measures as m
from simstudy.errors import DesignError, StudyError
from simstudy.measures.contrasts import take_index
from tests.measures import plain
from tests.support import INLINE

N_REP = 300


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(1)
    common = rng.standard_normal((N_REP, 1))
    x = 1 + common + 0.1 * rng.standard_normal((N_REP, 2)) * (1, 2)
    x[:5, 0], x[3:9, 1] = np.nan, np.nan
    return {"x": x, "given": rng.random(N_REP) < 0.5, "flag": np.where(np.isnan(x), x, x > 1)}


def complete(columns, name="x"):
    both = columns[name]
    return both[~np.isnan(both).any(axis=1)].T


def test_a_difference_of_biases_is_a_mean_of_differences(columns):
    first, second = complete(columns)
    result = m.paired_methods(m.bias("x", 0.3), columns, method=0, reference=1)
    got = float(result.estimate), float(result.mcse)
    assert got == pytest.approx(plain.error_of_mean((first - second).tolist()), rel=1e-12)
    assert (int(result.n_rep), int(result.n_failed)) == (N_REP - 9, 9)


def test_a_difference_of_proportions_is_that_of_mcnemar(columns):
    """(b - c)/n with variance (b + c - (b - c)^2/n)/n^2, up to the divisor n - 1."""
    first, second = complete(columns, "flag")
    n, b, c = len(first), (first > second).sum(), (first < second).sum()
    result = m.paired_methods(m.rejection_rate("flag"), columns, method=0, reference=1)
    variance = (b + c - (b - c) ** 2 / n) / n**2 * n / (n - 1)
    assert float(result.estimate) == pytest.approx((b - c) / n, rel=1e-12)
    assert float(result.mcse) == pytest.approx(math.sqrt(variance), rel=1e-12)


def test_a_ratio_of_variances_is_relative_precision_plus_one(columns):
    ratio = m.paired_methods(m.variance("x"), columns, method=0, reference=1, scale="ratio")
    gain = m.relative_precision("x", reference=0).estimate(columns)
    assert float(ratio.estimate) == pytest.approx(1 + gain.estimate[1], rel=1e-12)
    assert float(ratio.mcse) == pytest.approx(gain.mcse[1], rel=1e-12)


def test_a_method_against_itself_differs_by_nothing(columns):
    for measure in (m.rmse("x", 0.0), m.median("x"), m.empirical_se("x")):
        result = m.paired_methods(measure, columns, method=0, reference=0)
        assert (result.estimate, result.mcse, result.lower, result.upper) == (0, 0, 0, 0)


def test_pairing_saves_what_the_methods_share(columns):
    first, second = take_index(columns, axis=0, index=0), take_index(columns, axis=0, index=1)
    together = m.paired(m.bias("x", 0.0), first, second)
    apart = m.unpaired(m.bias("x", 0.0), first, second)
    assert together.mcse < apart.mcse / 4  # sd 0.22 of the difference, 1.4 of two independent


@pytest.mark.parametrize("scale", ["difference", "ratio"])
def test_independent_errors_add_as_squares(columns, scale):
    first = take_index(columns, axis=0, index=0)
    second = {"x": np.random.default_rng(2).standard_normal(50) + 3}
    measure = m.mse("x", 0.0)
    one, two = measure.estimate(first), measure.estimate(second)
    result = m.unpaired(measure, first, second, scale=scale)
    if scale == "difference":
        expected = one.estimate - two.estimate, math.hypot(one.mcse, two.mcse)
    else:
        value = one.estimate / two.estimate
        relative = math.hypot(one.mcse / one.estimate, two.mcse / two.estimate)
        expected = value, value * relative
    assert (result.estimate, result.mcse) == pytest.approx(expected, rel=1e-12)
    assert (int(result.n_rep), int(result.n_failed)) == (N_REP - 5 + 50, 5)


def test_a_ratio_to_zero_has_a_reason():
    data = {"flag": np.array([[1.0, 0], [0, 0], [1, 0]])}
    measure = m.rejection_rate("flag")
    result = m.paired_methods(measure, data, method=0, reference=1, scale="ratio")
    assert np.isnan(result.estimate)
    assert "second estimate is zero" in str(result.reason)


def test_convergence_rates_are_contrasted_over_all_replicates(columns):
    result = m.paired_methods(m.convergence_rate("x"), columns, method=0, reference=1)
    assert float(result.estimate) == pytest.approx((6 - 5) / N_REP)
    assert int(result.n_rep) == N_REP


def test_columns_of_one_method_keep_the_other_axes():
    columns = {"x": np.arange(24.0).reshape(2, 3, 4), "one": np.ones((2, 1, 4)), "t": np.array(1)}
    taken = take_index(columns, axis=0, index=2)
    np.testing.assert_array_equal(taken["x"], columns["x"][:, 2])
    assert {name: column.shape for name, column in taken.items()} == {
        "x": (2, 4), "one": (2, 4), "t": (),
    }  # fmt: skip


def test_contrasts_that_cannot_be_made_are_refused(columns):
    bias, one = m.bias("x", 0.0), take_index(columns, axis=0, index=0)
    with pytest.raises(StudyError, match=r"\(300,\) against \(10,\).*Use unpaired"):
        m.paired(bias, one, {"x": np.ones(10)})
    with pytest.raises(StudyError, match="index 2 is not on axis 0, which has 2 values"):
        m.paired_methods(bias, columns, method=2, reference=0)
    with pytest.raises(DesignError, match=r"scale='log' is not.*'ratio'"):
        m.paired(bias, one, one, scale="log")


def test_two_ways_to_the_same_number_do_not_differ():
    """Means in another order of summation differ in the last digit, and only in one direction."""
    x = np.random.default_rng(2).normal(3.0, size=(500, 20))
    one, other = ({"e": x[:, ::step].mean(axis=1)} for step in (1, -1))
    assert (one["e"] != other["e"]).any()
    for scale, equal in (("difference", 0.0), ("ratio", 1.0)):
        found = m.paired(m.mean("e"), one, other, scale=scale)
        assert (found.estimate, found.mcse) == (equal, 0)
        assert [found.lower, found.upper] == pytest.approx([equal, equal], abs=1e-6)
    shifted = m.paired(m.mean("e"), one, {"e": one["e"] + 1e-6})
    assert float(shifted.estimate) == pytest.approx(-1e-6)


# ---------------------------------------------------------------- the reference of a study
@dataclass(frozen=True)
class Two:
    n_obs: int = 5

    def simulate(self, streams, n_rep):
        x = streams("data").standard_normal((n_rep, self.n_obs))
        return {"estimate": np.stack([np.median(x, axis=1), x.mean(axis=1)], axis=1)[..., None]}


def study(**options):
    axes = {"method": ("median", "mean"), "half": ("all",)}
    measures = [m.relative_precision("estimate", **options)]
    return Study("precise", [Two()], measures, axes=axes, block_size=100)


def test_a_reference_is_found_by_its_label():
    named = study(reference="mean", axis="method").run(200, **INLINE).summary
    counted = study(reference=1).run(200, **INLINE).summary
    np.testing.assert_allclose(named["estimate"], counted["estimate"], atol=1e-12)
    assert named["estimate"][0] < 0
    assert named["estimate"][1] == pytest.approx(0, abs=1e-12)


def test_a_name_that_no_method_has_is_refused_before_anything_is_drawn():
    with pytest.raises(StudyError, match=r"reference='means' is not in the study.*mean"):
        study(reference="means")
    with pytest.raises(StudyError, match=r"axis='methods' is not in the study.*method"):
        study(reference="mean", axis="methods")
