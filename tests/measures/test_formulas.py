"""Each measure knows what made it, and what it says of its error is how large its error is."""

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


def test_groups_and_conditions_change_the_error():
    share = m.rejection_rate("r")
    assert (
        formula_of(share.of_groups(4)).mcse
        == "sd(averages of ψᵢ over groups of 4 replicates)/√(n/4)"
    )
    assert formula_of(m.mean("x", given="g")) != formula_of(m.mean("x"))
    assert formula_of(m.controlled(share, m.control("x", mean=0.0))) == FORMULAS["controlled"]
