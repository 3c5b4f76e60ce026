import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, special

from simstudy.documents.stats.two_stage.design import (
    boundary_n2,
    boundary_power,
    boundary_rejection,
    critical_value,
    outcome_table,
    power,
    solve_design,
)
from tests.documents.stats.two_stage.test_law import log_tail


def probability(limit, k, ratio, *, null):
    return np.exp(log_tail(limit, k, ratio, null, upper=False))


PUBLISHED = {"n1": 150, "k": 1.5, "alpha": 0.05, "power": 0.8}


# ---------------------------------------------------------------- critical value and power
@pytest.mark.parametrize(("alpha", "k", "n1", "n2"), [(0.05, 1.5, 150, 399), (0.01, -1, 10, 50)])
def test_critical_value_and_power_by_brute_force(alpha, k, n1, n2):
    limit = optimize.brentq(lambda t: probability(t, k, n2 / n1, null=True) - alpha, -20, 20)
    assert critical_value(alpha, k, n1, n2) == pytest.approx(limit, rel=1e-9)
    by_definition = probability(limit, k, n2 / n1, null=False)
    assert power(alpha, k, n1, n2) == pytest.approx(by_definition, rel=1e-9)


# ---------------------------------------------------------------- what can be reached
SETTINGS = [(alpha, k) for alpha in (0.001, 0.05, 0.5) for k in (-3, 0, 1.5, 8)]


@pytest.mark.parametrize(("alpha", "k"), SETTINGS)
def test_power_rises_with_n2_from_alpha_to_1(alpha, k):
    reached = power(alpha, k, 1e4, np.geomspace(1e-8, 1e15, 200))
    assert (np.diff(reached)[reached[1:] < 1 - 1e-9] > 0).all()
    assert reached[0] == pytest.approx(alpha, rel=1e-4)
    assert reached[-1] == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("alpha", [0.001, 0.05, 0.5])
@pytest.mark.parametrize("ratio", [0.01, 1, 3])
def test_power_falls_and_rises_along_k(alpha, ratio):
    reached = power(alpha, np.linspace(-12, 12, 400), 1, ratio)
    slopes = np.sign(np.diff(reached[reached < 1 - 1e-9]))
    assert (np.diff(slopes) != 0).sum() == 1
    assert slopes[0] == -1


# ---------------------------------------------------------------- the boundary
def test_rejects_more_often_at_the_boundary_than_on_average():
    """There the statistic is the second mean's own error."""
    design = 0.05, 1.5, 150, 400
    found = boundary_rejection(*design)
    assert found == pytest.approx(special.ndtr(critical_value(*design)), rel=1e-12)
    assert found > 2 * 0.05


@settings(max_examples=25, deadline=None)
@given(
    goal=st.floats(0.3, 0.95), alpha=st.floats(1e-4, 0.2), k=st.floats(0, 4), n1=st.integers(1, 999)
)
def test_boundary_n2_is_the_least_that_reaches(goal, alpha, k, n1):
    n2 = boundary_n2(goal, alpha, k, n1)
    assert boundary_power(alpha, k, n1, n2) >= goal
    assert n2 == 1 or boundary_power(alpha, k, n1, n2 - 1) < goal


def test_boundary_test_costs_more_than_the_average_test():
    n2 = boundary_n2(0.8, 0.05, 1.5, 150)
    assert n2 > solve_design(**PUBLISHED).n2
    limit = special.ndtri(0.05)
    assert probability(limit, 1.5, n2 / 150, null=False) >= 0.8
    assert probability(limit, 1.5, (n2 - 1) / 150, null=False) < 0.8


def test_outcomes_are_states_and_decisions_given_them():
    table, share = outcome_table(0.1, 0.5, 100, 100), special.ndtr(0.5)
    reject = power(0.1, 0.5, 100, 100)
    known = {
        "reject_null_true": 0.1 * (1 - share),
        "keep_null_true": 0.9 * (1 - share),
        "reject_null_false": reject * share,
        "keep_null_false": (1 - reject) * share,
    }
    assert table._asdict() == pytest.approx(known, rel=1e-12)


# ---------------------------------------------------------------- three determine the fourth
def test_published_design():
    design = solve_design(**PUBLISHED)
    assert design.n2 == 399
    assert 398 < design.exact_n2 < 399
    assert design.ratio == 399 / 150
    assert design.achieved_power == power(0.05, 1.5, 150, 399) >= 0.8 > power(0.05, 1.5, 150, 398)
    assert design.critical_value == critical_value(0.05, 1.5, 150, 399)


@settings(max_examples=20, deadline=None)
@given(
    k=st.floats(0, 4), alpha=st.floats(0.001, 0.3), n1=st.integers(1, 500), n2=st.integers(1, 2000)
)
def test_each_follows_from_the_other_three(k, alpha, n1, n2):
    whole = {"n2": n2, "k": k, "alpha": alpha}
    whole["power"] = solve_design(n1=n1, **whole).power
    if not alpha * 1.01 < whole["power"] < 0.999999:  # flat there: power says nothing about n2
        return
    for name in whole:
        design = solve_design(n1=n1, **{key: v for key, v in whole.items() if key != name})
        if name == "n2":
            assert design.n2 == n2
        assert design.achieved_power == pytest.approx(whole["power"], rel=1e-9)


@settings(max_examples=20, deadline=None)
@given(
    k=st.floats(-2, 8),
    alpha=st.floats(1e-4, 0.3),
    n1=st.integers(1, 500),
    goal=st.floats(0.5, 0.99),
)
def test_least_n2_and_its_real_root(k, alpha, n1, goal):
    if power(alpha, k, n1, 1) >= goal:
        return
    design = solve_design(n1=n1, k=k, alpha=alpha, power=goal)
    assert design.achieved_power >= goal > power(alpha, k, n1, design.n2 - 1)
    assert power(alpha, k, n1, design.exact_n2) == pytest.approx(goal, rel=1e-9)
    assert design.n2 - 1 <= design.exact_n2 <= design.n2


def test_k_is_the_larger_of_the_two_roots():
    design = solve_design(n1=100, n2=100, alpha=0.05, power=0.6)
    other = optimize.brentq(lambda k: power(0.05, k, 100, 100) - 0.6, -8, -1)
    assert other < design.k
    assert design.k == pytest.approx(
        optimize.brentq(lambda k: power(0.05, k, 100, 100) - 0.6, 0, 8), rel=1e-9
    )
