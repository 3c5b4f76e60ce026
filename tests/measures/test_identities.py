"""Every measure against its formula in a loop over replicates, cell by cell, with failures."""

from functools import partial

import numpy as np
import pytest
from scipy import stats

from simstudy import measures as m
from tests.measures import plain

TRUTH = 2.0
N_REP, N_METHODS = 61, 3


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(5)
    shape = (N_REP, N_METHODS)
    x = TRUTH + rng.standard_exponential(shape) * (1, 2, 3) - 1
    se = rng.uniform(0.5, 1.5, shape)
    x[rng.random(shape) < 0.1] = np.nan
    se[rng.random(shape) < 0.1] = np.nan
    return {
        "x": x,
        "se": se,
        "lower": x - se,
        "upper": x + 1.5 * se,
        "truth": np.array(TRUTH),
        "reject": rng.random(shape) < 0.4,
        "given": rng.random(N_REP) < 0.6,  # no axis of methods: holds for all of them
        "p": rng.random(shape),
        "df": rng.uniform(2, 9, N_REP),
    }


def rows(columns, names, method):
    """The replicates of one method without NaN, as lists."""
    picked = [np.broadcast_to(columns[name].T, (N_METHODS, N_REP))[method] for name in names]
    keep = ~np.isnan(np.array(picked, float)).any(axis=0)
    return [np.asarray(column)[keep].tolist() for column in picked]


def covered(x, se, quantile):
    return [abs(v - TRUTH) <= quantile * s for v, s in zip(x, se, strict=True)]


def around(x, se, quantile):
    return ([v + sign * quantile * s for v, s in zip(x, se, strict=True)] for sign in (-1, 1))


def share_holding(point_of):
    """The share of intervals that hold a point, which may depend on the estimates."""

    def counted(lower, upper, *estimates):
        point = point_of(*estimates)
        return plain.share([a <= point <= b for a, b in zip(lower, upper, strict=True)])

    return counted


def share_among(events, condition, *, event=True, inside=True):
    """The share with the event, or without it, in the condition or outside."""
    pairs = zip(events, condition, strict=True)
    return plain.share([bool(e) == event for e, c in pairs if bool(c) == inside])


Z_70 = stats.norm.ppf(0.85)  # of an interval at 70%
LIMITS = ("lower", "upper")
CASES = {
    "bias": (m.bias("x", "truth"), "x", lambda x: plain.bias(x, TRUTH)),
    "relative_bias": (m.relative_bias("x", 2.0), "x", lambda x: plain.relative_bias(x, TRUTH)),
    "mse": (m.mse("x", "truth"), "x", lambda x: plain.mse(x, TRUTH)),
    "mae": (m.mae("x", "truth"), "x", lambda x: plain.mae(x, TRUTH)),
    "rmse": (m.rmse("x", "truth"), "x", lambda x: plain.rmse(x, TRUTH)),
    "variance": (m.variance("x"), "x", plain.variance),
    "empirical_se": (m.empirical_se("x"), "x", plain.empirical_se),
    "empirical_se_normal": (m.empirical_se("x", mcse="normal"), "x", plain.empirical_se_normal),
    "standardised_bias": (
        m.standardised_bias("x", "truth"), "x", lambda x: plain.standardised_bias(x, TRUTH),
    ),
    "model_se": (m.model_se("se"), "se", plain.model_se),
    "relative_error": (m.relative_error_model_se("x", "se"), "x se", plain.relative_error_model_se),
    "relative_error_normal": (
        m.relative_error_model_se("x", "se", mcse="normal"), "x se",
        plain.relative_error_model_se_normal,
    ),
    "coverage": (m.coverage(*LIMITS, "truth"), "lower upper", share_holding(lambda: TRUTH)),
    "coverage_at": (
        m.coverage(estimate="x", se="se", truth="truth", level=0.7), "x se",
        lambda x, se: plain.share(covered(x, se, Z_70)),
    ),
    "coverage_at_t": (
        m.coverage(estimate="x", se="se", truth="truth", level=0.7, df="df"), "x se df",
        lambda x, se, df: plain.share(covered(x, np.array(se) * stats.t.ppf(0.85, df), 1.0)),
    ),
    "bias_eliminated_coverage": (
        m.bias_eliminated_coverage("x", *LIMITS), "x lower upper", plain.bias_eliminated_coverage,
    ),
    "bias_eliminated_at": (
        m.bias_eliminated_coverage("x", se="se", level=0.7), "x se",
        lambda x, se: plain.bias_eliminated_coverage(x, *around(x, se, Z_70)),
    ),
    "bias_eliminated_normal": (
        m.bias_eliminated_coverage("x", *LIMITS, mcse="normal"), "lower upper x",
        share_holding(plain.mean_of),
    ),
    "correlation": (m.correlation("x", "se"), "x se", plain.correlation),
    "median_bias": (
        m.median_bias("x", "truth"), "x", lambda x: plain.quantile([v - TRUTH for v in x], 0.5),
    ),
    "non_rejection_rate": (
        m.non_rejection_rate("reject"), "reject",
        lambda reject: plain.share([not r for r in reject]),
    ),
    "power_at": (
        m.power(estimate="x", se="se", null="truth", alpha=0.3), "x se",
        lambda x, se: plain.share([not c for c in covered(x, se, Z_70)]),
    ),
    "power_at_t": (
        m.power(estimate="x", se="se", null="truth", alpha=0.3, df="df"), "x se df",
        lambda x, se, df: plain.share(
            [not c for c in covered(x, np.array(se) * stats.t.ppf(0.85, df), 1.0)]
        ),
    ),
    "power_at, given": (
        m.power(estimate="x", se="se", null="truth", alpha=0.3, given="given"), "x se given",
        lambda x, se, given: share_among(covered(x, se, Z_70), given, event=False),
    ),
    "sensitivity": (m.sensitivity("reject", effect="given"), "reject given", share_among),
    "specificity": (
        m.specificity("reject", effect="given"), "reject given",
        partial(share_among, event=False, inside=False),
    ),
    "miss_below": (
        m.tail_miss(*LIMITS, "truth", side="below"), "upper",
        lambda upper: plain.share([u < TRUTH for u in upper]),
    ),
    "miss_above": (
        m.tail_miss(*LIMITS, "truth", side="above"), "lower",
        lambda lower: plain.share([v > TRUTH for v in lower]),
    ),
    "interval_width": (
        m.interval_width(*LIMITS), "lower upper",
        lambda lower, upper: plain.error_of_mean(np.subtract(upper, lower).tolist()),
    ),
    "interval_score": (
        m.interval_score(*LIMITS, "truth", level=0.8), "lower upper",
        lambda lower, upper: plain.interval_score(lower, upper, TRUTH, 0.8),
    ),
    "rejection_rate": (m.rejection_rate("reject"), "reject", plain.share),
    "power": (m.power("reject", given="given"), "reject given", share_among),
    "rejection_rate_at": (
        m.rejection_rate(p_value="p", alpha=0.3), "p", lambda p: plain.share([v < 0.3 for v in p]),
    ),
    "rejection_rate_at, given": (
        m.rejection_rate(p_value="p", alpha=0.3, given="given"), "p given",
        lambda p, given: share_among([v < 0.3 for v in p], given),
    ),
    "non_rejection_rate, given": (
        m.non_rejection_rate("reject", given="given"), "reject given",
        partial(share_among, event=False),
    ),
    "proportion": (
        m.proportion("share", ("p",), lambda columns: columns["p"] < 0.5, given="given"), "p given",
        lambda p, given: share_among([v < 0.5 for v in p], given),
    ),
    "mean": (m.mean("se"), "se", plain.error_of_mean),
    "mean, given": (m.mean("x", given="reject"), "x reject", plain.conditional_mean),
    "run_time": (m.run_time("se"), "se", plain.error_of_mean),
    "median": (m.median("x"), "x", lambda x: plain.quantile(x, 0.5)),
    "quantile": (m.quantile("x", 0.85), "x", lambda x: plain.quantile(x, 0.85)),
    "quantile_at_the_end": (m.quantile("x", 0.99), "x", lambda x: plain.quantile(x, 0.99)),
}  # fmt: skip
"""A measure, the columns that its formula takes, and the formula."""


@pytest.mark.parametrize("case", CASES)
def test_measure_is_its_formula(columns, case):
    measure, names, formula = CASES[case]
    result = measure.estimate(columns)
    for method in range(N_METHODS):
        complete = rows(columns, names.split(), method)
        expected = formula(*complete)
        if measure.interval.is_proportion and expected[0] in (0, 1):
            expected = expected[0], plain.cautious_error(expected[0], result.n_given[method])
        got = result.estimate[method], result.mcse[method]
        assert got == pytest.approx(expected, rel=1e-11)
        assert result.n_rep[method] == len(complete[0])
        assert result.n_failed[method] == N_REP - len(complete[0])


WITH_TRUTH = {
    "bias": lambda truth: m.bias("x", truth),
    "median_bias": lambda truth: m.median_bias("x", truth),
    "mse": lambda truth: m.mse("x", truth),
    "rmse": lambda truth: m.rmse("x", truth),
    "mae": lambda truth: m.mae("x", truth),
    "coverage": lambda truth: m.coverage("lower", "upper", truth),
    "coverage_at": lambda truth: m.coverage(estimate="x", se="se", truth=truth, level=0.8),
    "interval_score": lambda truth: m.interval_score("lower", "upper", truth),
    "tail_miss": lambda truth: m.tail_miss("lower", "upper", truth, side="below"),
}


@pytest.mark.parametrize("name", WITH_TRUTH)
def test_a_truth_of_each_replicate_is_taken_from_its_own_estimate(columns, name):
    """So the measure is that of the errors, whose truth is 0: one truth for all would be wrong."""
    truth = np.random.default_rng(7).uniform(1, 3, N_REP)
    errors = {key: columns[key] - truth[:, None] for key in ("x", "lower", "upper")}
    found = WITH_TRUTH[name]("truth").estimate({**columns, "truth": truth})
    expected = WITH_TRUTH[name](0.0).estimate({**columns, **errors})
    for mine, theirs in zip(found[:4], expected[:4], strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)


def test_a_relative_bias_divides_by_the_truth_of_each_replicate():
    x, truth = np.random.default_rng(7).uniform(1, 3, (2, 50))
    found = m.relative_bias("x", "truth").estimate({"x": x, "truth": truth})
    expected = plain.error_of_mean(((x - truth) / truth).tolist())
    assert (found.estimate, found.mcse) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("reference", range(N_METHODS))
@pytest.mark.parametrize(
    ("mcse", "formula"),
    [("influence", plain.relative_precision), ("normal", plain.relative_precision_normal)],
)
def test_relative_precision_is_its_formula_over_complete_pairs(columns, reference, mcse, formula):
    measure = m.relative_precision("x", axis=0, reference=reference, mcse=mcse)
    result = measure.estimate(columns)
    for method in range(N_METHODS):
        pair = columns["x"][:, [method, reference]]
        pair = pair[~np.isnan(pair).any(axis=1)]
        expected = formula(*pair.T.tolist())
        got = result.estimate[method], result.mcse[method]
        assert got == pytest.approx(expected, rel=1e-10, abs=1e-7 * (method == reference))
        assert result.n_rep[method] == len(pair)


def test_several_levels_at_once_are_each_of_them(columns):
    alphas, levels = (0.05, 0.3, 0.7), (0.5, 0.9)
    tests = m.rejection_rate(p_value="p", alpha=alphas, given="given")
    intervals = m.coverage(estimate="x", se="se", truth="truth", level=levels, df="df")
    assert tests.axes == {"alpha": alphas}
    assert intervals.axes == {"level": levels}
    for k, alpha in enumerate(alphas):
        alone = m.rejection_rate(p_value="p", alpha=alpha, given="given").estimate(columns)
        same(tests.estimate(columns), alone, k)
    for k, level in enumerate(levels):
        alone = m.coverage(estimate="x", se="se", truth="truth", level=level, df="df").estimate(
            columns
        )
        same(intervals.estimate(columns), alone, k)


def same(several, alone, k):
    assert several.estimate.shape[0] == N_METHODS
    for field in ("estimate", "mcse", "lower", "upper", "n_rep", "n_failed"):
        np.testing.assert_array_equal(getattr(several, field)[:, k], getattr(alone, field))


def test_convergence_counts_every_replicate(columns):
    result = m.convergence_rate("x", "se").estimate(columns)
    for method in range(N_METHODS):
        there = ~np.isnan(columns["x"][:, method] + columns["se"][:, method])
        got = result.estimate[method], result.mcse[method]
        assert got == pytest.approx(plain.share(there.tolist()), rel=1e-12)
    np.testing.assert_array_equal(result.n_rep, N_REP)
    np.testing.assert_array_equal(result.n_failed, 0)


def test_ends_count_as_the_conventions_say():
    columns = {"low": np.array([1.0, 0.0]), "high": np.array([2.0, 1.0]), "p": np.array([0.05, 1])}
    assert m.coverage("low", "high", 1.0).estimate(columns).estimate == 1  # closed
    assert m.tail_miss("low", "high", 1.0, side="above").estimate(columns).estimate == 0
    assert m.rejection_rate(p_value="p", alpha=0.05).estimate(columns).estimate == 0.5  # at most
    rounded = {"p": np.array([0.1 + 0.2, 0.3 + 1e-9])}  # the first is 0.3 but for rounding
    assert m.rejection_rate(p_value="p", alpha=0.3).estimate(rounded).estimate == 0.5
    exact = {"x": np.array([1.0, 1.0]), "se": np.array([0.0, 0.0])}
    assert m.coverage(estimate="x", se="se", truth=1.0).estimate(exact).estimate == 1
    one_is_off = exact | {"x": np.array([0.0, 0.1])}
    assert m.power(estimate="x", se="se").estimate(one_is_off).estimate == 0.5


def test_one_measure_has_two_names(columns):
    both = m.type_1_error(p_value="p"), m.rejection_rate(p_value="p")
    for mine, theirs in zip(*(measure.estimate(columns) for measure in both), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert both[0].name == "type_1_error"


def test_a_truth_for_each_metric_is_one_row():
    rng = np.random.default_rng(1)
    columns = {"x": rng.random((50, 2, 3)), "truth": np.array([[[1.0, 2.0, 3.0]]])}
    by_hand = columns["x"].mean(axis=0) - (1.0, 2.0, 3.0)
    np.testing.assert_allclose(m.bias("x", "truth").estimate(columns).estimate, by_hand)


@pytest.mark.parametrize(
    "case", [name for name, case in CASES.items() if isinstance(case[0], m.MomentMeasure)]
)
def test_jackknife_agrees_to_first_order(case):
    """Leave-one-out changes, scaled, are the influence values up to terms of order 1/n."""
    rng = np.random.default_rng(3)
    n = 400
    x, se = TRUTH + rng.standard_normal(n), rng.uniform(0.5, 1.5, n)
    columns = {
        "x": x, "se": se, "lower": x - se, "upper": x + se, "truth": np.array(TRUTH),
        "reject": rng.random(n) < 0.4, "given": rng.random(n) < 0.6, "p": rng.random(n),
        "df": rng.uniform(2, 9, n),
    }  # fmt: skip
    measure = CASES[case][0]
    psi = measure.influence(columns).psi
    without = np.where(np.eye(n, dtype=bool), np.nan, 1.0)  # column i leaves replicate i out
    left_out = {
        name: c if c.ndim == 0 else np.where(np.isnan(without), np.nan, c[:, None])
        for name, c in columns.items()
    }
    change = (n - 1) * (measure.estimate(columns).estimate - measure.estimate(left_out).estimate)
    assert np.abs(change - psi).max() < 30 / n * np.abs(psi).max()


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.float16, np.float32, np.int64, bool])
def test_a_measure_calculates_in_doubles_however_narrow_its_columns(dtype):
    """Narrow numbers wrap, or overflow, and differ from the same numbers stored wide."""
    x = np.array([3, 1, 0, 100, 7, 90]).astype(dtype)
    truth = np.array([5, 0, 1, 9, 120, 2]).astype(dtype)
    narrow, wide = ({"x": x, "t": truth}, {"x": x.astype(float), "t": truth.astype(float)})
    for measure in (m.bias("x", "t"), m.mse("x", "t"), m.rmse("x", "t"), m.mae("x", "t")):
        np.testing.assert_array_equal(
            [*measure.estimate(narrow)][:4], [*measure.estimate(wide)][:4], err_msg=measure.name
        )
