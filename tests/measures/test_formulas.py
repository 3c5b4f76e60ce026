"""Each measure states how large its error is."""

from simstudy import measures as m
from simstudy.measures.core import BINOMIAL, NORMAL, OWN, WITHIN


def test_a_measure_of_any_name_has_the_formula_of_the_function_that_made_it():
    assert m.median_bias("x", 0.0, name="bias").formula == m.median_bias("x", 0.0).formula
    own = m.MomentMeasure(
        name="bias", reads=("x",), terms=lambda c: (c["x"],), value=lambda t, n: t[0]
    )
    assert own.formula == OWN


def test_conditions_and_closed_forms_change_the_error():
    assert m.rejection_rate("r", given="g").formula.mcse == WITHIN
    assert m.rejection_rate("r").formula.mcse == BINOMIAL
    assert m.empirical_se("x", mcse="normal").formula.mcse == NORMAL
    plain = m.bias_eliminated_coverage("x", "l", "u", mcse="normal")
    assert plain.formula.mcse == BINOMIAL
    assert m.mean("x", given="g").formula != m.mean("x").formula
