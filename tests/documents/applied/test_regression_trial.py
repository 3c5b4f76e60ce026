"""The trial of a user's regression model, against the document, loops, and its law."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from simstudy.documents.applied import judge_regression_trial, plan_regression_trial
from simstudy.documents.stats.two_stage import cdf, critical_value, power
from simstudy.errors import ConfigError, SimstudyError

RNG = np.random.default_rng(46)
Y = RNG.normal(50, 10, 150)
PREDICTION = Y + RNG.normal(0, 5, 150)
NEW_Y = RNG.normal(50, 10, 399)
NEW = NEW_Y, NEW_Y + RNG.normal(0, 4, 399)


def test_the_documents_example():
    """Power 80%, level 5%, k = 1.5 and 150 test cases take 399 prospective ones."""
    plan = plan_regression_trial(Y, PREDICTION, metric="mse", k=1.5, alpha=0.05, power=0.8)
    assert (plan.n1, plan.n2, plan.solved) == (150, 399, "n2")
    assert plan.boundary_n2 == 694
    assert plan.boundary_rejection == pytest.approx(stats.norm.cdf(plan.critical_value))
    assert "92.9 ± 0.1% of bounds held (93.3% promised)" in repr(plan)


@pytest.mark.parametrize("seed", range(3))
def test_estimate_errors_and_design_by_independent_computation(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(40, 300)), float(rng.uniform(0.8, 2.0))
    y = rng.gamma(2.0, size=n)
    prediction = y + rng.normal(size=n)
    n2 = int(rng.integers(50, 1000))
    plan = plan_regression_trial(y, prediction, metric="mae", k=k, n2=n2, n_boot=4000)
    loss = np.abs(y - prediction)
    assert plan.estimate == pytest.approx(loss.mean())
    assert plan.kurtosis == pytest.approx(stats.kurtosis(y - prediction, fisher=False))
    vanilla = loss.std() / np.sqrt(n)
    assert plan.vanilla_std_error == pytest.approx(vanilla, rel=6 / np.sqrt(2 * 4000))
    draws = loss[rng.integers(0, n, (4000, n))]
    t = (draws.mean(axis=1) - loss.mean()) / (draws.std(axis=1) / np.sqrt(n))
    reach = -np.quantile(t, stats.norm.cdf(-k))
    assert plan.bound == pytest.approx(loss.mean() + reach * vanilla, abs=0.25 * vanilla)
    assert plan.critical_value == critical_value(0.05, k, n, n2)
    assert plan.power == power(0.05, k, n, n2)


@pytest.mark.parametrize(
    ("given", "solved"),
    [
        ({}, "n2"),
        ({"n2": 300}, "power"),
        ({"n2": 300, "power": 0.9}, "k"),
        ({"n2": 300, "power": 0.9, "k": 1.5}, "alpha"),
        ({"k": 1.0, "power": 0.9, "alpha": 0.1}, "n2"),
    ],
)
def test_the_one_that_is_left_out_is_solved_for(given, solved):
    plan = plan_regression_trial(Y, PREDICTION, **given)
    assert plan.solved == solved
    for name in {"n2", "k", "alpha"} & set(given):
        assert getattr(plan, name) == given[name]
    again = plan_regression_trial(Y, PREDICTION, k=plan.k, alpha=plan.alpha, n2=plan.n2)
    assert again.power == pytest.approx(plan.power, rel=1e-6)


def test_where_more_is_better_the_bound_lies_below():
    plan = plan_regression_trial(Y, PREDICTION, metric="r2")
    assert plan.bound < plan.estimate
    assert plan.estimate == pytest.approx(1 - ((Y - PREDICTION) ** 2).mean() / Y.var())
    assert "the r2 is above" in repr(plan)


def test_copies_of_a_case_in_one_group_add_nothing():
    rows = np.repeat(np.arange(150), 4)
    alone = plan_regression_trial(Y, PREDICTION, metric="rmse")
    copies = plan_regression_trial(Y[rows], PREDICTION[rows], metric="rmse", cluster=rows)
    assert copies.n1 == 150
    assert copies.bound == pytest.approx(alone.bound, rel=1e-9)
    naive = plan_regression_trial(Y[rows], PREDICTION[rows], metric="rmse")
    assert naive.std_error < 0.6 * copies.std_error


def test_many_rows_are_merged_without_changing_the_error():
    rng = np.random.default_rng(3)
    error = rng.exponential(size=50_000)
    plan = plan_regression_trial(error, np.zeros_like(error))
    assert plan.n1 == 50_000
    assert plan.estimate == pytest.approx(error.mean())
    assert plan.vanilla_std_error == pytest.approx(error.std() / np.sqrt(50_000), rel=0.08)


def test_the_second_sample_is_tested_given_the_plan():
    plan = plan_regression_trial(Y, PREDICTION)
    found = judge_regression_trial(plan, *NEW)
    loss = np.abs(NEW[0] - NEW[1])
    assert found.estimate == pytest.approx(loss.mean())
    assert found.statistic == pytest.approx((loss.mean() - plan.bound) / found.std_error)
    assert found.p_value == cdf(found.statistic, False, plan.k, 150, 399)
    assert found.rejects
    assert found.p_value <= 0.05
    assert repr(found).startswith("confirmed: the mae is below")


def test_fewer_cases_have_a_critical_value_of_their_own():
    plan = plan_regression_trial(Y, PREDICTION)
    found = judge_regression_trial(plan, NEW[0][:100], NEW[1][:100])
    assert found.critical_value != plan.critical_value
    assert "399 were planned" in repr(found)


@pytest.mark.parametrize(("name", "value"), [("bound", 9.9), ("critical_value", -0.5)])
def test_a_changed_plan_is_refused(name, value):
    plan = replace(plan_regression_trial(Y, PREDICTION), **{name: value})
    with pytest.raises(ConfigError, match=f"the plan has {name} {value}, and its settings give"):
        judge_regression_trial(plan, *NEW)


def test_a_simulated_plan_keeps_its_promises():
    plan = plan_regression_trial(Y, PREDICTION, simulate=True, n_rep=200, n_boot=1000)
    rates = {name: (estimate, mcse) for name, estimate, mcse in plan.simulated}
    assert set(rates) == {"power", "size", "size at bound", "bound holds"}
    for name, promised in (
        ("power", plan.power),
        ("size at bound", plan.boundary_rejection),
        ("bound holds", stats.norm.cdf(1.5)),
    ):
        estimate, mcse = rates[name]
        assert abs(estimate - promised) < 5 * mcse + 0.03, name
    assert "of the simulated trials" in repr(plan)


@pytest.mark.parametrize(
    ("y", "prediction", "given", "said"),
    [
        (Y, PREDICTION[:9], {}, "y has 150 values and prediction 9"),
        (Y[:4], PREDICTION[:4], {}, "4 cases are too few for a bootstrap"),
        (np.full(9, 2.0), np.full(9, 1.0), {}, "the losses are constant"),
        (np.arange(9.0), np.ones(9), {"metric": "mape"}, r"row 1 has no mape \(y 0"),
        (Y, PREDICTION, {"n2": 9, "k": 1.0, "alpha": 0.1, "power": 0.9}, "none of n2, k"),
        (Y, PREDICTION, {"cluster": ["a"] * 150}, "cluster has one group"),
    ],
)
def test_what_makes_no_plan_is_refused(y, prediction, given, said):
    with pytest.raises(SimstudyError, match=said) as refusal:
        plan_regression_trial(y, prediction, **given)
    assert "\n" not in str(refusal.value)
