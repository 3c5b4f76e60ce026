"""Every measure that the package offers keeps one contract; a new one fails until it is here."""

import inspect
import re

import numpy as np
import pytest

from simstudy import measures as m
from simstudy.measures.core import OWN
from tests.measures.test_identities import CASES
from tests.support import ROOT

X, TRUTH = "x", 2.0
MEASURES = {
    "bias": [m.bias(X, TRUTH)],
    "bias_eliminated_coverage": [
        m.bias_eliminated_coverage(X, "lower", "upper"),
        m.bias_eliminated_coverage(X, se="se", level=(0.5, 0.9)),
        m.bias_eliminated_coverage(X, se="se", df=4.0),
    ],
    "conditional": [
        m.conditional(m.mean("p"), raw=m.power("reject")),
        m.conditional(m.mean("p", given="given"), raw=m.power("reject", given="given")),
    ],
    "convergence_rate": [m.convergence_rate(X)],
    "correlation": [m.correlation(X, "se")],
    "coverage": [
        m.coverage("lower", "upper", TRUTH),
        m.coverage(estimate=X, se="se", truth=TRUTH, level=(0.5, 0.9)),
        m.coverage(estimate=X, se="se", truth=TRUTH, df=4.0),
    ],
    "empirical_se": [m.empirical_se(X)],
    "interval_score": [m.interval_score("lower", "upper", TRUTH)],
    "interval_width": [m.interval_width("lower", "upper")],
    "mae": [m.mae(X, TRUTH)],
    "mean": [m.mean(X), m.mean("reject"), m.mean(X, given="given")],
    "median": [m.median(X)],
    "median_bias": [m.median_bias(X, TRUTH)],
    "model_se": [m.model_se("se")],
    "mse": [m.mse(X, TRUTH)],
    "non_rejection_rate": [m.non_rejection_rate("reject", given="given")],
    "power": [
        m.power("reject"),
        m.power("reject", given="given"),
        m.power(estimate=X, se="se", null=1.0, alpha=(0.05, 0.5)),
        m.power(estimate=X, se="se", null=1.0, df=4.0, given="given"),
    ],
    "proportion": [
        m.proportion("share", ("reject",), lambda columns: columns["reject"] > 0),
        m.proportion("share", ("p",), lambda columns: columns["p"] < 0.5, given="given"),
    ],
    "quantile": [m.quantile(X, 0.8)],
    "rejection_rate": [
        m.rejection_rate("reject"),
        m.rejection_rate("reject", given="given"),
        m.rejection_rate(p_value="p", alpha=(0.1, 0.5)),
        m.rejection_rate(p_value="p", given="given"),
    ],
    "relative_bias": [m.relative_bias(X, TRUTH)],
    "relative_error_model_se": [m.relative_error_model_se(X, "se")],
    "relative_precision": [m.relative_precision(X)],
    "rmse": [m.rmse(X, TRUTH)],
    "run_time": [m.run_time("se")],
    "sensitivity": [m.sensitivity("reject", effect="given")],
    "specificity": [m.specificity("reject", effect="given")],
    "standardised_bias": [m.standardised_bias(X, TRUTH)],
    "tail_miss": [
        m.tail_miss("lower", "upper", TRUTH, side="below"),
        m.tail_miss("lower", "upper", TRUTH, side="above"),
    ],
    "type_1_error": [m.type_1_error("reject", given="given")],
    "variance": [m.variance(X)],
    "weighted_mean": [m.weighted_mean(X, weight="se")],
    "weighted_proportion": [m.weighted_proportion("reject", weight="se")],
}
"""By factory: every measure in `simstudy.measures.__all__`, plain and given a condition."""
RESAMPLED = {"bootstrapped"}
"""Whose errors come from resamples, and not from an influence of each replicate."""
NO_ERROR = {"rank_check"}
"""p-values, which have no Monte Carlo error: `test_sbc.py` has their contract."""
NO_MEASURES = {
    "all_methods", "centred", "given", "paired",
    "paired_methods", "ratio", "unpaired", "variance_of", "wilson",
}  # fmt: skip
"""Functions of the package that make no measure of replicates."""
EVERY = [
    pytest.param(one, id=f"{name}-{i}") for name in MEASURES for i, one in enumerate(MEASURES[name])
]
every_measure = pytest.mark.parametrize("measure", EVERY)
EPS = np.finfo(float).eps


def test_every_measure_is_here():
    functions = {name for name in m.__all__ if inspect.isfunction(getattr(m, name))}
    assert functions - NO_MEASURES - RESAMPLED - NO_ERROR == set(MEASURES)


def drawn(n_rep: int = 200) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(8)
    x, se = TRUTH + rng.standard_normal((n_rep, 3)), rng.uniform(0.5, 1.5, (n_rep, 3))
    return {
        "x": x,
        "se": se,
        "lower": x - se,
        "upper": x + 1.5 * se,
        "reject": (rng.random((n_rep, 3)) < 0.4).astype(float),
        "given": (rng.random((n_rep, 3)) < 0.6).astype(float),
        "p": rng.random((n_rep, 3)),
    }


def rounding(measure: m.Measure, columns: dict[str, np.ndarray]) -> float:
    """Of sums over replicates, whose terms the slopes of the measure may enlarge."""
    return float(
        10 * len(columns["x"]) * EPS * (1 + np.nanmax(np.abs(measure.influence(columns).psi)))
    )


@every_measure
def test_influence_has_mean_zero_and_its_spread_is_the_error(measure):
    columns = drawn()
    found = measure.influence(columns)
    assert np.abs(np.nanmean(found.psi, axis=0)).max() < rounding(measure, columns)
    estimate, mcse, *_ = measure.estimate(columns)
    if measure.interval.is_proportion:  # a share of 0 or 1 varies not at all, and is not certain
        varies = (estimate > 0) & (estimate < 1)
        assert (mcse[~varies] > 0).all()
        mcse = np.where(varies, mcse, 0.0)
    n = len(columns["x"])
    np.testing.assert_allclose(
        mcse, np.sqrt(np.nansum(found.psi**2, axis=0) / (n - measure.ddof) / n), rtol=1e-12
    )


@every_measure
def test_values_without_errors_are_those_of_the_estimate(measure):
    columns = drawn()
    columns["x"][3:7, 0] = np.nan
    estimates = measure.estimate(columns)
    for name, values in measure.values(columns).items():
        np.testing.assert_array_equal(values, getattr(estimates, name))


@every_measure
def test_the_order_of_replicates_does_not_matter(measure):
    columns = drawn()
    turned = {name: column[::-1] for name, column in columns.items()}
    for left, right in zip(measure.estimate(columns), measure.estimate(turned), strict=True):
        if left is not None and left.dtype.kind == "f":
            np.testing.assert_allclose(left, right, rtol=0, atol=rounding(measure, columns))


@every_measure
def test_a_failed_replicate_is_as_if_it_were_not_there(measure):
    """In the last cell, or in all where cells are compared; others keep all their replicates."""
    columns = drawn()
    n_whole = 0 if measure.name == "relative_precision" else 2
    failed = {name: column.copy() for name, column in columns.items()}
    for name in measure.reads:
        failed[name][17, n_whole:] = np.nan
    found, influence = measure.estimate(failed), measure.influence(failed)
    if measure.name == "convergence_rate":  # failures are what it counts
        assert found.estimate.tolist() == [1, 1, 1 - 1 / 200]
        return
    without = {name: np.delete(column, 17, axis=0) for name, column in columns.items()}
    whole, fewer = measure.estimate(columns), measure.estimate(without)
    for field in ("estimate", "mcse", "lower", "upper", "n_rep"):
        got, limit = getattr(found, field), rounding(measure, columns)
        expected = getattr(whole, field)[:n_whole], getattr(fewer, field)[n_whole:]
        np.testing.assert_allclose(got, np.concatenate(expected), rtol=0, atol=limit)
    assert (found.n_failed[:n_whole] == 0).all()
    assert (found.n_failed[n_whole:] == 1).all()
    assert np.isnan(influence.psi[17, n_whole:]).all()


@every_measure
def test_columns_of_other_types_are_the_numbers_they_are(measure):
    columns = drawn()
    narrow = {name: column.astype(np.float32) for name, column in columns.items()}
    wide = {name: column.astype(float) for name, column in narrow.items()}
    other = {name: column.astype(">f4") for name, column in narrow.items()}
    for given in (narrow, other, {name: np.asfortranarray(x) for name, x in wide.items()}):
        for left, right in zip(measure.estimate(given), measure.estimate(wide), strict=True):
            np.testing.assert_array_equal(left, right)


OTHER_NAMES = {
    "conditional": "test_rao_blackwell",
    "convergence_rate": "test_convergence_counts_every_replicate",
    "relative_error_model_se": "relative_error",
    "relative_precision": "test_relative_precision_is_its_formula_over_complete_pairs",
    "tail_miss": "miss_below, miss_above",
    "type_1_error": "power, under its other name",
    "weighted_mean": "test_importance_sampling",
    "weighted_proportion": "test_importance_sampling",
}
"""Measures whose plain loop goes by another name, here or in test_identities."""


def test_every_measure_has_a_plain_loop():
    assert set(MEASURES) - set(CASES) == set(OTHER_NAMES)


CONDITIONAL_MEAN = m.mean(X, given="given").formula
SAME_AS = {
    "median": "quantile",
    "power": "rejection_rate",
    "run_time": "mean",
    "type_1_error": "rejection_rate",
}
"""Other names of a measure, which the page has once."""


# ---------------------------------------------------------------- what is written of them
PAGE, REFERENCE = (
    (ROOT / "docs" / name).read_text(encoding="utf-8")
    for name in ("measures.md", "api/measures.md")
)


def test_the_table_of_the_package_has_every_name_once():
    """Names of the table, each with its words; and those of the parts, which have none."""
    table, parts = m.__doc__.split("Building blocks")
    names = re.findall(r"^    (\w+)  +\S.*$", table, flags=re.MULTILINE)
    names += re.findall(r"\w+", " ".join(re.findall(r"^    (.+)$", parts, flags=re.MULTILINE)))
    assert sorted(names) == sorted(m.__all__)


def test_every_measure_is_in_the_table_of_the_page():
    lines = (PAGE + REFERENCE).splitlines()
    table = "\n".join(line for line in lines if line.startswith("|"))
    assert set(MEASURES) | RESAMPLED <= set(re.findall(r"`(\w+)`", table))


@pytest.mark.parametrize("name", sorted(set(MEASURES) - set(SAME_AS)))
def test_the_formulas_of_the_reference_are_those_of_the_code(name):
    rows = [line.replace("\\|", "|") for line in REFERENCE.splitlines()]
    rows = [row for row in rows if row.startswith(f"| `{name}`")]
    for formula in {measure.formula for measure in MEASURES[name]} - {CONDITIONAL_MEAN}:
        assert formula != OWN
        estimate = formula.estimate.removesuffix(", in the condition")
        is_within = estimate != formula.estimate
        ending = f"| {estimate} |" if is_within else f"| {estimate} | {formula.mcse} |"
        assert any(ending in row for row in rows), formula
