"""Each measure knows what made it, and what it says of its error is how large its error is."""

import math

import numpy as np
import pytest

from simstudy import measures as m
from simstudy.measures.formulas import BINOMIAL, FORMULAS, NORMAL, OWN, WITHIN, formula_of
from tests.measures.test_contract import MEASURES

ALIASES = {
    "bias_eliminated_coverage_at": "bias_eliminated_coverage",
    "median": "quantile",
    "power": "rejection_rate",
    "run_time": "mean",
    "type_1_error": "rejection_rate",
}


def test_a_measure_of_any_name_has_the_formula_of_the_function_that_made_it():
    for name, made in MEASURES.items():
        assert {measure.kind for measure in made} == {ALIASES.get(name, name)}
        assert all(formula_of(measure) != OWN for measure in made), name
    assert formula_of(m.median_bias("x", 0.0, name="bias")) == FORMULAS["median_bias"]


def test_no_formula_is_of_nothing():
    kinds = {measure.kind for made in MEASURES.values() for measure in made}
    assert set(FORMULAS) - kinds == {"bootstrapped", "controlled", "rank_check"}


def test_conditions_closed_forms_and_own_measures_are_said():
    assert formula_of(m.rejection_rate("r", given="g")).mcse == WITHIN
    assert formula_of(m.rejection_rate("r")).mcse == BINOMIAL
    assert formula_of(m.empirical_se("x", mcse="normal")).mcse == NORMAL
    plain = m.bias_eliminated_coverage("x", "l", "u", mcse="normal")
    assert formula_of(plain).mcse == BINOMIAL
    own = m.MomentMeasure(
        name="bias", reads=("x",), terms=lambda c: (c["x"],), value=lambda t, n: t[0]
    )
    assert formula_of(own) == OWN


def test_closed_forms_of_the_table_are_the_errors_that_measures_have():
    """Those that are written out, evaluated as they are written."""
    rng = np.random.default_rng(3)
    n = 50
    x, low = rng.gamma(2, 1, n), rng.normal(size=n)
    se, hit = rng.uniform(1, 2, n), rng.random(n) < 0.3
    columns = {"x": x, "se": se, "low": low, "up": low + se, "hit": hit, "g": rng.random(n) < 0.6}

    def sd(values):
        return values.std(ddof=1)

    p, within, squares = hit.mean(), hit[columns["g"]].mean(), (x - 1.5) ** 2
    z, w = ((v - v.mean()) / v.std() for v in (x, se))
    r = (z * w).mean()
    written = [
        (m.bias("x", 1.5), sd(x - 1.5) / math.sqrt(n)),
        (m.mae("x", 1.5), sd(abs(x - 1.5)) / math.sqrt(n)),
        (m.rmse("x", 1.5), sd(squares) / math.sqrt(n) / (2 * math.sqrt(squares.mean()))),
        (m.variance("x"), sd((x - x.mean()) ** 2) * n / (n - 1) / math.sqrt(n)),
        (m.model_se("se"), sd(se**2) / math.sqrt(n) / (2 * np.mean(se**2) ** 0.5)),
        (m.interval_width("low", "up"), sd(se) / math.sqrt(n)),
        (m.rejection_rate("hit"), math.sqrt(p * (1 - p) / n)),
        (m.sensitivity("hit", effect="g"), math.sqrt(within * (1 - within) / columns["g"].sum())),
        (m.correlation("x", "se"), sd(z * w - r * (z**2 + w**2) / 2) / math.sqrt(n)),
    ]  # fmt: skip
    for measure, error in written:
        assert float(measure.estimate(columns).mcse) == pytest.approx(error, rel=1e-10), (
            measure.name
        )


def test_groups_and_conditions_change_the_error():
    share = m.rejection_rate("r")
    assert (
        formula_of(share.of_groups(4)).mcse
        == "sd(averages of ψᵢ over groups of 4 replicates)/√(n/4)"
    )
    assert formula_of(m.mean("x", given="g")) != formula_of(m.mean("x"))
    assert formula_of(m.controlled(share, m.control("x", mean=0.0))) == FORMULAS["controlled"]
