"""Replicates that depend on each other in groups: errors are those of groups."""

import numpy as np
import pytest

from benchmarks.less_work import antithetic_normals
from simstudy import measures as m
from simstudy.errors import StudyError
from simstudy.measures.core import MeasureContext, bind, group_means
from tests.support import critical_z, replicates_to_catch

SIZE = 4


def in_groups(measure, size=SIZE):
    return bind(measure, MeasureContext({}, "study", 1, size))


def drawn(n_rep=60):
    rng = np.random.default_rng(3)
    x = rng.standard_normal((n_rep, 2))
    return {"x": x, "reject": x > 0.3, "given": rng.random((n_rep, 2)) < 0.6}


MEASURES = [
    m.mean("x"),
    m.mse("x", 0.5),
    m.empirical_se("x"),
    m.power("reject"),
    m.power("reject", given="given"),
]


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: f"{measure.name}{measure.reads}")
def test_the_error_is_that_of_sums_over_groups_with_failures_among_them(measure):
    columns = drawn()
    columns["x"][[5, 6, 20, 21, 22, 23], 0] = np.nan  # part of a group, and a whole one
    columns["reject"] = np.where(np.isnan(columns["x"]), np.nan, columns["reject"])
    found, psi = in_groups(measure).estimate(columns), measure.influence(columns).psi
    for cell in range(2):
        used = ~np.isnan(psi[:, cell])
        sums = [psi[i : i + SIZE, cell][used[i : i + SIZE]].sum() for i in range(0, 60, SIZE)]
        n_used = sum(used[i : i + SIZE].any() for i in range(0, 60, SIZE))
        square = sum(s * s for s in sums) * n_used / (n_used - measure.ddof)
        np.testing.assert_allclose(found.mcse[cell], np.sqrt(square) / used.sum(), rtol=1e-12)
    n_used = (~np.isnan(psi)).sum(axis=0)
    assert group_means(psi, n_used, SIZE)[1].tolist() == [14, 15]
    plain = measure.estimate(columns)
    np.testing.assert_array_equal(found.estimate, plain.estimate)
    np.testing.assert_allclose(found.variance_reduction, (plain.mcse / found.mcse) ** 2, rtol=1e-12)


@pytest.mark.parametrize("measure", [m.mean("x"), m.power("reject"), MEASURES[-1]])
def test_a_group_of_equal_replicates_says_as_much_as_one_of_them(measure):
    one = drawn()
    several = {name: np.repeat(column, SIZE, axis=0) for name, column in one.items()}
    found, alone = in_groups(measure).estimate(several), measure.estimate(one)
    for name in ("estimate", "mcse", "lower", "upper"):
        np.testing.assert_allclose(getattr(found, name), getattr(alone, name), rtol=1e-12)
    too_small = measure.estimate(several)
    assert (too_small.mcse < 0.6 * alone.mcse).all()


def test_the_error_of_a_quantile_is_that_of_one_of_each_group():
    one = {"x": np.random.default_rng(1).standard_normal(2000)}
    several = {"x": np.repeat(one["x"], SIZE)}
    found, alone = in_groups(m.median("x")).estimate(several), m.median("x").estimate(one)
    np.testing.assert_allclose(found.mcse, alone.mcse, rtol=0.1)
    np.testing.assert_allclose(found.upper - found.estimate, 1.96 * found.mcse, rtol=0.01)


# ---------------------------------------------------------------- calibration
N_STUDIES = replicates_to_catch(0.1, sd=np.sqrt(0.5))  # an error off by a tenth of itself
Z = critical_z() * np.sqrt(0.5 / N_STUDIES)  # of a ratio of standard deviations


def spread_over_error(size):
    """Of exp(z) in antithetic pairs: spread of the mean over studies over its root mean square."""
    z = antithetic_normals(np.random.default_rng(5), 200, N_STUDIES)
    found = in_groups(m.mean("x"), size).estimate({"x": np.exp(0.5 * z)})
    return float(found.estimate.std() / np.sqrt(np.mean(found.mcse**2)))


def test_the_error_of_antithetic_pairs_is_their_spread_over_studies():
    assert abs(spread_over_error(2) - 1) < Z


def test_that_test_catches_pairs_taken_as_independent():
    assert abs(spread_over_error(1) - 1) > Z


def test_a_paired_contrast_is_that_of_groups():
    rng = np.random.default_rng(2)
    x = np.repeat(rng.standard_normal((50, 2)), SIZE, axis=0)
    measure = in_groups(m.mean("x"))
    found = m.paired_methods(measure, {"x": x}, method=0, reference=1)
    apart = x[::SIZE, 0] - x[::SIZE, 1]
    np.testing.assert_allclose(found.mcse, apart.std(ddof=1) / np.sqrt(50), rtol=1e-12)


# ---------------------------------------------------------------- what cannot be
def test_the_ends_of_a_share_are_as_uncertain_as_a_trial_for_each_group():
    found = in_groups(m.power("reject")).estimate({"reject": np.zeros(40)})
    ten = m.power("reject").estimate({"reject": np.zeros(10)})
    assert (found.upper, found.mcse) == (ten.upper, ten.mcse)
    assert np.isnan(found.variance_reduction)


@pytest.mark.parametrize("n_groups", [4, 20])
def test_intervals_of_few_groups_cover_and_those_of_shares_have_a_warning(n_groups):
    x = np.random.default_rng(1).standard_normal((n_groups, 4000)).repeat(SIZE, axis=0)
    found = in_groups(m.mean("x")).estimate({"x": x})
    covered = np.mean(np.abs(found.estimate) < (found.upper - found.lower) / 2)
    assert abs(covered - 0.95) < critical_z() * np.sqrt(0.95 * 0.05 / 4000)
    of_share = in_groups(m.power("r")).estimate({"r": x > 0}).warning
    assert (of_share is None) == (n_groups == 20)


def test_one_group_has_no_error():
    found = in_groups(m.mean("x")).estimate({"x": np.arange(4.0)})
    assert np.isnan(found.mcse)
    assert str(found.reason).startswith("fewer than two groups of 4 replicates")
    middle = in_groups(m.median("x")).estimate({"x": np.arange(4.0)})
    assert middle.estimate == 1.5
    assert np.isnan([middle.mcse, middle.lower, middle.upper]).all()


@pytest.mark.parametrize(
    "measure",
    [
        m.empirical_se("x", mcse="normal"),
        m.bias_eliminated_coverage("x", "lower", "upper", mcse="normal"),
        m.bootstrapped(lambda x: x.mean(axis=0), name="mine"),
    ],
)
def test_errors_of_independent_replicates_only_are_refused(measure):
    with pytest.raises(StudyError, match=r"replicates come in groups of 4\. Take a measure with"):
        in_groups(measure)


def test_a_last_group_that_is_not_whole_is_a_smaller_group():
    x = np.random.default_rng(1).standard_normal(62)
    found, apart = in_groups(m.mean("x")).estimate({"x": x}), x - x.mean()
    sums = np.array([apart[i : i + SIZE].sum() for i in range(0, 62, SIZE)])
    np.testing.assert_allclose(found.mcse, np.sqrt(16 / 15 * (sums**2).sum()) / 62, rtol=1e-12)
    assert (found.n_rep, found.n_failed) == (62, 0)
