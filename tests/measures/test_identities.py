"""Every measure against its formula in a loop over replicates, cell by cell, with failures."""

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


CASES = {
    "bias": (m.bias("x", "truth"), ("x",), lambda x: plain.bias(x, TRUTH)),
    "relative_bias": (m.relative_bias("x", 2.0), ("x",), lambda x: plain.relative_bias(x, TRUTH)),
    "mse": (m.mse("x", "truth"), ("x",), lambda x: plain.mse(x, TRUTH)),
    "mae": (m.mae("x", "truth"), ("x",), lambda x: plain.mae(x, TRUTH)),
    "rmse": (m.rmse("x", "truth"), ("x",), lambda x: plain.rmse(x, TRUTH)),
    "variance": (m.variance("x"), ("x",), plain.variance),
    "empirical_se": (m.empirical_se("x"), ("x",), plain.empirical_se),
    "empirical_se_normal": (
        m.empirical_se("x", mcse="normal"),
        ("x",),
        plain.empirical_se_normal,
    ),
    "standardised_bias": (
        m.standardised_bias("x", "truth"),
        ("x",),
        lambda x: plain.standardised_bias(x, TRUTH),
    ),
    "model_se": (m.model_se("se"), ("se",), plain.model_se),
    "relative_error": (
        m.relative_error_model_se("x", "se"),
        ("x", "se"),
        plain.relative_error_model_se,
    ),
    "relative_error_normal": (
        m.relative_error_model_se("x", "se", mcse="normal"),
        ("x", "se"),
        plain.relative_error_model_se_normal,
    ),
    "coverage": (
        m.coverage("lower", "upper", "truth"),
        ("lower", "upper"),
        lambda lower, upper: plain.share(
            [a <= TRUTH <= b for a, b in zip(lower, upper, strict=True)]
        ),
    ),
    "coverage_at": (
        m.coverage_at("x", "se", "truth", level=0.7),
        ("x", "se"),
        lambda x, se: plain.share(covered(x, se, stats.norm.ppf(0.85))),
    ),
    "coverage_at_t": (
        m.coverage_at("x", "se", "truth", level=0.7, df="df"),
        ("x", "se", "df"),
        lambda x, se, df: plain.share(covered(x, se * stats.t.ppf(0.85, df), 1.0)),
    ),
    "bias_eliminated_coverage": (
        m.bias_eliminated_coverage("x", "lower", "upper"),
        ("x", "lower", "upper"),
        plain.bias_eliminated_coverage,
    ),
    "bias_eliminated_at": (
        m.bias_eliminated_coverage_at("x", "se", level=0.7),
        ("x", "se"),
        lambda x, se: plain.bias_eliminated_coverage(x, *around(x, se, stats.norm.ppf(0.85))),
    ),
    "bias_eliminated_normal": (
        m.bias_eliminated_coverage("x", "lower", "upper", mcse="normal"),
        ("x", "lower", "upper"),
        lambda x, lower, upper: plain.share(
            [a <= plain.mean_of(x) <= b for a, b in zip(lower, upper, strict=True)]
        ),
    ),
    "correlation": (m.correlation("x", "se"), ("x", "se"), plain.correlation),
    "median_bias": (
        m.median_bias("x", "truth"),
        ("x",),
        lambda x: plain.quantile([v - TRUTH for v in x], 0.5),
    ),
    "non_rejection_rate": (
        m.non_rejection_rate("reject"),
        ("reject",),
        lambda reject: plain.share([not r for r in reject]),
    ),
    "power_at": (
        m.power_at("x", "se", null="truth", alpha=0.3),
        ("x", "se"),
        lambda x, se: plain.share([not c for c in covered(x, se, stats.norm.ppf(0.85))]),
    ),
    "sensitivity": (
        m.sensitivity("reject", effect="given"),
        ("reject", "given"),
        lambda reject, given: plain.share([r for r, g in zip(reject, given, strict=True) if g]),
    ),
    "specificity": (
        m.specificity("reject", effect="given"),
        ("reject", "given"),
        lambda reject, given: plain.share(
            [not r for r, g in zip(reject, given, strict=True) if not g]
        ),
    ),
    "positive_predictive_value": (
        m.positive_predictive_value("reject", effect="given"),
        ("reject", "given"),
        lambda reject, given: plain.share([g for r, g in zip(reject, given, strict=True) if r]),
    ),
    "negative_predictive_value": (
        m.negative_predictive_value("reject", effect="given"),
        ("reject", "given"),
        lambda reject, given: plain.share(
            [not g for r, g in zip(reject, given, strict=True) if not r]
        ),
    ),
    "positive_likelihood_ratio": (
        m.positive_likelihood_ratio("reject", effect="given"),
        ("reject", "given"),
        plain.likelihood_ratio,
    ),
    "negative_likelihood_ratio": (
        m.negative_likelihood_ratio("reject", effect="given"),
        ("reject", "given"),
        lambda reject, given: plain.likelihood_ratio([not r for r in reject], given),
    ),
    "outlier_rate": (
        m.outlier_rate("x", beyond=1.5),
        ("x",),
        lambda x: plain.outlier_rate(x, 1.5),
    ),
    "miss_below": (
        m.tail_miss("lower", "upper", "truth", side="below"),
        ("upper",),
        lambda upper: plain.share([u < TRUTH for u in upper]),
    ),
    "miss_above": (
        m.tail_miss("lower", "upper", "truth", side="above"),
        ("lower",),
        lambda lower: plain.share([v > TRUTH for v in lower]),
    ),
    "interval_width": (
        m.interval_width("lower", "upper"),
        ("lower", "upper"),
        lambda lower, upper: plain.error_of_mean(
            [b - a for a, b in zip(lower, upper, strict=True)]
        ),
    ),
    "interval_score": (
        m.interval_score("lower", "upper", "truth", level=0.8),
        ("lower", "upper"),
        lambda lower, upper: plain.interval_score(lower, upper, TRUTH, 0.8),
    ),
    "rejection_rate": (m.rejection_rate("reject"), ("reject",), plain.share),
    "power": (
        m.power("reject", given="given"),
        ("reject", "given"),
        lambda reject, given: plain.share([r for r, g in zip(reject, given, strict=True) if g]),
    ),
    "rejection_rate_at": (
        m.rejection_rate_at("p", alpha=0.3),
        ("p",),
        lambda p: plain.share([v < 0.3 for v in p]),
    ),
    "type_s_rate": (
        m.type_s_rate("x", -1.0, significant="reject"),
        ("x", "reject"),
        lambda x, reject: plain.share([v * -1.0 < 0 for v, r in zip(x, reject, strict=True) if r]),
    ),
    "exaggeration": (
        m.exaggeration("x", "truth", significant="reject"),
        ("x", "reject"),
        lambda x, reject: plain.conditional_mean([abs(v / TRUTH) for v in x], reject),
    ),
    "mean": (m.mean("se"), ("se",), plain.error_of_mean),
    "mean, given": (m.mean("x", given="reject"), ("x", "reject"), plain.conditional_mean),
    "run_time": (m.run_time("se"), ("se",), plain.error_of_mean),
    "median": (m.median("x"), ("x",), lambda x: plain.quantile(x, 0.5)),
    "quantile": (m.quantile("x", 0.85), ("x",), lambda x: plain.quantile(x, 0.85)),
    "quantile_at_the_end": (m.quantile("x", 0.99), ("x",), lambda x: plain.quantile(x, 0.99)),
}


@pytest.mark.parametrize("case", CASES)
def test_measure_is_its_formula(columns, case):
    measure, names, formula = CASES[case]
    result = measure.estimate(columns)
    for method in range(N_METHODS):
        complete = rows(columns, names, method)
        expected = formula(*(np.array(column) if case == "coverage_at_t" else column
                             for column in complete))  # fmt: skip
        if measure.bounds == "wilson" and expected[0] in (0, 1):
            expected = expected[0], plain.cautious_error(expected[0], result.n_given[method])
        got = result.estimate[method], result.mcse[method]
        assert got == pytest.approx(expected, rel=1e-11)
        assert result.n_rep[method] == len(complete[0])
        assert result.n_failed[method] == N_REP - len(complete[0])


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
    tests = m.rejection_rate_at("p", alpha=alphas, given="given")
    intervals = m.coverage_at("x", "se", "truth", level=levels, df="df")
    assert tests.axes == {"alpha": alphas}
    assert intervals.axes == {"level": levels}
    for k, alpha in enumerate(alphas):
        alone = m.rejection_rate_at("p", alpha=alpha, given="given").estimate(columns)
        same(tests.estimate(columns), alone, k)
    for k, level in enumerate(levels):
        alone = m.coverage_at("x", "se", "truth", level=level, df="df").estimate(columns)
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


def test_the_sides_of_coverage_sum_to_one(columns):
    sides = [m.tail_miss("lower", "upper", "truth", side=side) for side in ("below", "above")]
    parts = [m.coverage("lower", "upper", "truth"), *sides]
    total = sum(part.estimate(columns).estimate for part in parts)
    np.testing.assert_allclose(total, 1.0, rtol=1e-14)


def test_ends_count_as_the_conventions_say():
    columns = {"low": np.array([1.0, 0.0]), "high": np.array([2.0, 1.0]), "p": np.array([0.05, 1])}
    assert m.coverage("low", "high", 1.0).estimate(columns).estimate == 1  # closed
    assert m.tail_miss("low", "high", 1.0, side="above").estimate(columns).estimate == 0
    assert m.rejection_rate_at("p", alpha=0.05).estimate(columns).estimate == 0.5  # at most
    rounded = {"p": np.array([0.1 + 0.2, 0.3 + 1e-9])}  # the first is 0.3 but for rounding
    assert m.rejection_rate_at("p", alpha=0.3).estimate(rounded).estimate == 0.5
    exact = {"x": np.array([1.0, 1.0]), "se": np.array([0.0, 0.0])}
    assert m.coverage_at("x", "se", 1.0).estimate(exact).estimate == 1


def test_a_truth_that_varies_is_compared_row_by_row():
    rng = np.random.default_rng(1)
    truth, x = rng.random(50), rng.random((50, 2))
    columns = {"x": x, "truth": truth}
    by_hand = (x - truth[:, None]).mean(axis=0)
    np.testing.assert_allclose(m.bias("x", "truth").estimate(columns).estimate, by_hand)


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
