"""Tests by their Wald intervals, and as diagnoses: identities between measures, and ends."""

import numpy as np
import pytest

from simstudy import measures as m
from simstudy.errors import DesignError


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(1)
    x, effect = rng.standard_normal((200, 2)), rng.random(200) < 0.4
    x = x + effect[:, None]
    return {"x": x, "se": rng.uniform(0.5, 1.5, x.shape), "df": rng.uniform(2, 9, 200)}


@pytest.mark.parametrize("df", [None, 3.0, "df"])
def test_power_at_is_what_coverage_of_the_null_leaves(columns, df):
    alphas = (0.05, 0.3)
    power = m.power(estimate="x", se="se", null=0.5, alpha=alphas, df=df).estimate(columns)
    levels = tuple(1 - alpha for alpha in alphas)
    covered = m.coverage(estimate="x", se="se", truth=0.5, level=levels, df=df).estimate(columns)
    np.testing.assert_allclose(power.estimate + covered.estimate, 1, rtol=1e-14)
    np.testing.assert_allclose(power.mcse, covered.mcse, rtol=1e-12)
    assert power.estimate.shape == (2, 2)


def test_a_standard_error_of_zero_rejects_all_but_the_null():
    exact = {"x": np.array([0.0, 0.1]), "se": np.zeros(2)}
    assert m.power(estimate="x", se="se").estimate(exact).estimate == 0.5


def test_one_measure_has_two_names():
    columns = {"p": np.random.default_rng(2).random((200, 2))}
    both = m.type_1_error(p_value="p"), m.rejection_rate(p_value="p")
    for mine, theirs in zip(*(measure.estimate(columns) for measure in both), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert both[0].name == "type_1_error"


@pytest.mark.parametrize(
    "made",
    [
        lambda: m.coverage("lower", "upper"),
        lambda: m.coverage("lower", truth=0.0, se="se"),
        lambda: m.coverage("lower", "upper", 0.0, estimate="x", se="se"),
        lambda: m.rejection_rate(),
        lambda: m.power("reject", p_value="p"),
        lambda: m.power(estimate="x"),
    ],
)
def test_what_says_too_little_or_two_things_is_refused(made):
    with pytest.raises(DesignError, match="Give"):
        made()
