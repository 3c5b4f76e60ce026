"""Replicates that failed, values that do not exist, and what is said about both."""

import warnings

import cloudpickle
import numpy as np
import pytest

from simstudy import measures as m
from simstudy.errors import DesignError, StudyError
from tests.measures.test_contract import drawn, every_measure

NAN = np.nan


@every_measure
def test_what_a_mask_hides_is_missing_and_no_number(measure):
    hidden = np.random.default_rng(2).random(40) < 0.3
    masked = {key: np.ma.array(column, float) for key, column in drawn(40).items()}
    masked["x"][hidden] = np.ma.masked
    missing = {key: np.ma.filled(column, NAN) for key, column in masked.items()}
    got, expected = (measure.estimate(each) for each in (masked, missing))
    np.testing.assert_array_equal(got.estimate, expected.estimate)
    np.testing.assert_array_equal(got.n_failed, expected.n_failed)


@every_measure
@pytest.mark.parametrize("n_rep", [1, 2])
def test_few_or_failed_replicates_give_no_warning_and_a_reason(measure, n_rep):
    columns = drawn(n_rep)
    failed = {key: np.full(column.shape, NAN) for key, column in columns.items()}
    constant = {key: np.ones_like(column) for key, column in columns.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for data in (columns, failed, constant):
            result = measure.estimate(data)
            known = np.isfinite(result.estimate) & np.isfinite(result.mcse)
            assert ((result.reason == "") == known).all()
    if measure.name != "convergence_rate":
        result = measure.estimate(failed)
        assert (result.reason == "no replicate could be used").all()
        assert (result.n_failed == n_rep).all()


@every_measure
def test_an_infinite_replicate_is_not_hidden_and_gives_no_warning(measure):
    columns = drawn(40)
    for key in ("x", "upper"):
        columns[key] = np.where(np.arange(40)[:, None] == 3, np.inf, columns[key])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = measure.estimate(columns)
    known = np.isfinite(result.estimate) & np.isfinite(result.mcse)
    assert ((result.reason == "") == known).all()
    if measure.name in ("bias", "mse", "interval_width"):
        assert np.isinf(result.estimate).all()
        assert (result.reason == "a replicate is infinite").all()


@every_measure
def test_measures_travel_to_workers(measure):
    copy = cloudpickle.loads(cloudpickle.dumps(measure))
    one, two = measure.estimate(drawn()), copy.estimate(drawn())
    np.testing.assert_array_equal(one.estimate, two.estimate)


@pytest.mark.parametrize(
    ("measure", "reason"),
    [
        (m.standardised_bias("x", 0.0), "the estimates have no spread"),
        (m.relative_error_model_se("x", "x"), "the estimates have no spread"),
        (m.relative_precision("x"), "this method have no spread"),
        (m.power("flag", given="none"), "no replicate has none"),
        (m.mean("x", given="none"), "no replicate has none"),
        (m.specificity("flag", effect="always"), "no replicate is without always"),
        (m.correlation("x", "always"), "one of the two columns has no spread"),
    ],
)
def test_a_zero_denominator_is_nan_with_its_reason(measure, reason):
    columns = {"x": np.full((30, 1), 0.1), "flag": np.ones(30), "none": np.zeros(30)}
    columns |= {"always": np.ones(30)}
    result = measure.estimate(columns)
    assert np.isnan(result.estimate).all()
    assert np.isnan(result.mcse).all()
    assert reason in result.reason.flat[0]


def test_exact_estimates_have_no_error():
    columns = {"x": np.full(1000, 0.1)}  # whose plain mean is not 0.1 in floating point
    for measure in (m.rmse("x", 0.1), m.empirical_se("x"), m.variance("x"), m.mae("x", 0.1)):
        result = measure.estimate(columns)
        assert (result.estimate, result.mcse, result.lower, result.upper) == (0, 0, 0, 0)


def test_all_methods_drops_the_replicate_everywhere_and_only_along_its_axis():
    x = np.arange(24.0).reshape(3, 2, 4)
    x[1, 0, 2] = NAN
    flag = np.ones((3, 2), dtype=bool)
    columns = {"x": x, "flag": flag, "null": np.array([True, False, True]), "truth": np.array(1.0)}
    dropped = m.all_methods(columns, axis=0)
    expected = x.copy()
    expected[1, 1, 2] = NAN
    np.testing.assert_array_equal(dropped["x"], expected)
    np.testing.assert_array_equal(np.isnan(dropped["flag"]), [[0, 0], [1, 1], [0, 0]])
    assert dropped["null"] is columns["null"]
    assert dropped["truth"] is columns["truth"]


REFUSED = [
    (
        lambda: m.bias("y", 0.0).estimate({"x": np.ones(3)}),
        StudyError, r"bias reads the column 'y', which the replicates do not have.*name one of: x",
    ),
    (
        lambda: m.bias("x", "truth").estimate({"x": np.ones(3), "truth": np.ones(4)}),
        StudyError, r"x \(3,\), truth \(4,\).*rows cannot be matched.*\(rep, \*axes\)",
    ),
    (
        lambda: m.bias("x", 0.0).estimate({"x": np.array(1.0)}),
        StudyError, "do not share one replicate axis",
    ),
    (
        lambda: m.bias("x", 0.0).estimate({"x": np.array(["a", "b"])}),
        StudyError, "column 'x' holds <U1, which has no mean.*NaN where",
    ),
    (lambda: m.relative_bias("x", 0), DesignError, "divides by the truth, which is 0.*Use bias"),
    (
        lambda: m.relative_bias("x", "t").estimate({"x": np.ones(2), "t": np.array([1.0, 0])}),
        StudyError, "divides by the truth, which is 0 here.*standardised_bias",
    ),
    (
        lambda: m.model_se("x").estimate({"x": np.array([0.1, -0.2, -0.3])}),
        StudyError, r"negative standard errors.*found -0\.2, 2 in all.*not log",
    ),
    (
        lambda: m.rejection_rate("x").estimate({"x": np.array([0.03, 1.0])}),
        StudyError, r"yes or no.*found 0\.03, 1 in all.*rejection_rate.p_value=",
    ),
    (
        lambda: m.rejection_rate(p_value="x").estimate({"x": np.array([0.03, 5.0])}),
        StudyError, r"p-values outside \[0, 1\].*found 5.*percentages",
    ),
    (
        lambda: m.rejection_rate(p_value="x", alpha=5),
        DesignError, "alpha=5 is not a prop.*alpha=0.05",
    ),
    (
        lambda: m.coverage(estimate="x", se="s", truth=0, level=(0.9, 95)),
        DesignError, "level=95 is not",
    ),
    (lambda: m.quantile("x", 1.0), DesignError, "probability=1 is not a proportion"),
    *(
        (
            lambda made=made: made.estimate({"a": np.array([1.0, 0]), "b": np.array([0.0, 1])}),
            StudyError, "'a' to 'b' have negative width.*found -1, 1 in all.*Exchange",
        )
        for made in (
            m.coverage("a", "b", 0.5),
            m.tail_miss("a", "b", 0.5, side="below"),
            m.bias_eliminated_coverage("a", "a", "b"),
        )
    ),
    (
        lambda: m.coverage(estimate="x", se="s", truth=0.0, df="d").estimate(
            {"x": np.ones(2), "s": np.ones(2), "d": -np.ones(2)}
        ),
        StudyError, "df holds degrees of freedom that are not positive.*found -1, 2 in all",
    ),
    (lambda: m.wilson(5, 10, level=0.9), DesignError, "proportion=5 is not a share of successes"),
    (lambda: m.wilson(0.5, 10, level="0.9"), DesignError, "level='0.9' is not a coverage"),
    (
        lambda: m.bias("x", 0.0).estimate({"x": np.zeros(3)}, level=95.0),
        DesignError, r"is not a coverage an interval can have.*0\.95",
    ),
    (lambda: m.quantile("p", True), DesignError, "probability=True is not a number"),
    (lambda: m.bias("e", truth=None), DesignError, "None is neither the name of a column nor"),
    (lambda: m.coverage("a", "b", 0.0, level=95), DesignError, "level=95 is for estimate= and se="),
    (lambda: m.tail_miss("a", "b", 0.0, side="left"), DesignError, "side='left' is not.*'above'"),
    (lambda: m.empirical_se("x", mcse="robust"), DesignError, "mcse='robust'.*'influence'"),
    (
        lambda: m.relative_precision("x", axis=1).estimate({"x": np.ones((3, 2))}),
        StudyError, r"on axis=1 is no method in a column of shape \(3, 2\).*count from 0: axes",
    ),
    (
        lambda: m.relative_precision("x", reference=2).estimate({"x": np.ones((3, 2))}),
        StudyError, "reference=2 on axis=0 is no method .* and methods",
    ),
    (
        lambda: m.relative_precision("x", reference="cox").estimate({"x": np.ones((3, 2))}),
        StudyError, "reference='cox' are names.*indices from 0",
    ),
    (
        lambda: m.bias_eliminated_coverage("x", "l", "u", mcse="binomial"),
        DesignError, "mcse='binomial'.*'influence'",
    ),
    (
        lambda: m.all_methods({"x": np.ones(3)}),
        StudyError, "axis=0 is not an axis.*no methods to hold together",
    ),
    *(
        (made, DesignError, "Give")
        for made in (
            lambda: m.coverage("lower", "upper"),
            lambda: m.coverage("lower", truth=0.0, se="se"),
            lambda: m.coverage("lower", "upper", 0.0, estimate="x", se="se"),
            lambda: m.rejection_rate(),
            lambda: m.power("reject", p_value="p"),
            lambda: m.power(estimate="x"),
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "text"), REFUSED)
def test_what_makes_no_sense_is_refused_with_what_to_do(call, error, text):
    with pytest.raises(error, match=text):
        call()
