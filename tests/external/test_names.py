"""Names, labels and truths of a table belong to their numbers."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import special

from simstudy.errors import ConfigError
from simstudy.external.from_frame import from_file, from_frame
from simstudy.measures import relative_precision

pytestmark = pytest.mark.filterwarnings("ignore:.* has no row", "ignore:no truth is")
TERMS = {"trt": -0.5, "frailty": 0.75}


def terms(n_rep=200):
    """Estimates of two parameters by two methods, and exact 95% intervals."""
    rng = np.random.default_rng(7)
    rows = [
        {"term": term, "n": n, "rep": i, "method": method, "b": truth + rng.normal() / n**0.5}
        for n in (25, 100)
        for term, truth in TERMS.items()
        for i in range(n_rep)
        for method in ("cc", "mi")
    ]
    return pd.DataFrame(rows).assign(se=lambda rows: rows["n"] ** -0.5)


LONG = {"estimate": "b", "se": "se", "method": "method", "rep": "rep", "by": ["term", "n"]}


def estimates(result, measure, **where):
    return result.select(measure=measure, **where)["estimate"].to_numpy()


# ---------------------------------------------------------------- data sets that stand twice
def test_rows_that_stand_twice_are_warned_of():
    rows = terms()
    twice = pd.concat([rows, rows.assign(rep=rows["rep"] + 1000)], ignore_index=True)
    with pytest.warns(UserWarning, match=r"1,600 rows repeat all .* \(row 1,601 those of row 1\)"):
        doubled = from_frame(twice, **LONG)
    assert any("count twice" in text for text in doubled.outcome.warnings)
    for plain in (rows, rows.assign(b=np.round(rows["b"] * 10))):
        assert not from_frame(plain, **LONG, measures=["empirical_se"]).outcome.warnings


def rounded(decimals, n=500):
    rng = np.random.default_rng(5)
    columns = {"b": rng.normal(size=n), "se": rng.uniform(0.9, 1.1, n), "p": rng.random(n)}
    return pd.DataFrame(columns).round(decimals)


def counted(n):
    """Proportions of 40, with standard errors and p-values that are made of them."""
    b = np.random.default_rng(6).binomial(40, 0.4, n) / 40
    se = np.sqrt(b * (1 - b) / 40)
    return pd.DataFrame({"b": b, "se": se, "p": special.ndtr((0.3 - b) / se).round(3)}).round(4)


def of_z(n):
    z = np.random.default_rng(7).normal(size=n)
    return pd.DataFrame({"b": z.round(1), "se": 1.0, "p": (2 * special.ndtr(-abs(z))).round(2)})


def warnings_of(*parts):
    """Two jobs in one table, whose data sets have numbers of their own."""
    rows = pd.concat(parts, ignore_index=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        from_frame(rows, estimate="b", se="se", p_value="p", measures=["empirical_se"])
    return [str(each.message) for each in caught]


@pytest.mark.parametrize("decimals", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("n_again", [50, 500])
def test_a_job_that_stands_twice_is_found_in_rounded_numbers(decimals, n_again):
    rows = rounded(decimals)
    (said,) = warnings_of(rows, rows[:n_again])
    assert "(row 501 those of row 1), as where two jobs with one seed" in said
    assert abs(int(said.split()[0]) - n_again) <= n_again / 10, "single rows may agree by chance"


@pytest.mark.parametrize("made", [counted, of_z])
def test_a_job_of_few_values_that_stands_twice_is_found(made):
    rows = made(300)
    assert len(warnings_of(rows, rows)) == 1
    assert warnings_of(rows) == []


@pytest.mark.parametrize("order", [None, "b", "p", ["p", "b"]])
@pytest.mark.parametrize("made", [counted, of_z, partial(rounded, 2)])
def test_rows_that_agree_by_chance_give_no_word(made, order):
    rows = made(n=1000)
    halves = [rows[:500], rows[500:]]
    ordered = [half if order is None else half.sort_values(order) for half in halves]
    assert warnings_of(*ordered) == []


def test_results_of_one_trial_give_no_word():
    b = np.random.default_rng(8).integers(0, 2, 1000).astype(float)
    assert warnings_of(pd.DataFrame({"b": b, "se": 1.0, "p": 1 - b})) == []


# ---------------------------------------------------------------- a truth for each parameter
def test_a_truth_by_one_of_several_columns_or_by_method():
    rows = terms()
    found = from_frame(rows, **LONG, truth=TERMS)
    column = rows.assign(theta=rows["term"].map(TERMS))
    np.testing.assert_array_equal(
        found.summary["estimate"], from_frame(column, **LONG, truth="theta").summary["estimate"]
    )
    assert (abs(estimates(found, "coverage") - 0.95) < 0.06).all()
    by_method = from_frame(rows, **LONG, truth={"cc": 1.0, "mi": 2.0}, measures=["bias"])
    cc, mi = (estimates(by_method, "bias", method=method) for method in ("cc", "mi"))
    assert (abs(cc - mi - 1) < 0.1).all()


@pytest.mark.parametrize("by", [["dgm", "effect"], ["effect", "dgm"]])
def test_a_truth_by_levels_that_two_columns_have_is_refused_unless_it_is_the_same(by):
    rows = pd.DataFrame({"dgm": [1, 1, 2, 2], "effect": [1, 2, 1, 2], "b": [0.9, 2.1, 1.2, 1.7]})
    several = pd.concat([rows, rows.assign(b=rows["b"] + 0.1)])
    with pytest.raises(ConfigError, match=f"1, 2, which are levels of {by[0]} and of {by[1]}"):
        from_frame(several, estimate="b", by=by, truth={1: 1.0, 2: 2.0})
    same = from_frame(several, estimate="b", by=by, truth={1: 1.0, 2: 1.0})
    assert same.row("bias", dgm=1, effect=2)["estimate"] == pytest.approx(1.15)


# ---------------------------------------------------------------- limits and tests
def test_infinite_and_single_limits_are_limits():
    rows = terms().query("term == 'trt'").assign(low=lambda r: r["b"] - 1.645 * r["se"])
    both = rows.assign(high=np.inf)
    asked = {**LONG, "truth": -0.5, "measures": ["coverage", "power"]}
    two = from_frame(both, lower="low", upper="high", **asked)
    one = from_frame(rows, lower="low", **asked)
    assert not two.n_failed
    np.testing.assert_array_equal(two.summary["estimate"], one.summary["estimate"])
    assert (abs(estimates(one, "coverage") - 0.95) < 0.06).all()
    assert (estimates(one, "power") < 0.05).all()


# ---------------------------------------------------------------- as a study does
def test_measures_are_bound_to_the_methods():
    mine = from_frame(terms(), **LONG, measures=[relative_precision("b", reference="mi")])
    named = from_frame(terms(), **LONG, reference="mi", measures=["relative_precision"])
    np.testing.assert_array_equal(mine.summary["estimate"], named.summary["estimate"])
    assert (estimates(mine, "relative_precision", method="mi") == 0).all()


def test_measures_by_name():
    names = ["relative_bias", "rmse", "interval_width"]
    found = from_frame(terms(), **LONG, truth=TERMS, measures=names)
    assert [*dict.fromkeys(found.summary["measure"])] == names
    assert found.summary["estimate"].notna().all()


def test_a_method_may_stand_in_two_columns_and_say_whether_it_converged():
    rows = terms().assign(kind=lambda r: np.where(r["method"] == "cc", "robust", "plain"))
    rows["ok"] = np.where(rows.index % 10 == 0, "FALSE", "TRUE")
    asked = {**LONG, "method": ["method", "kind"], "converged": "ok", "truth": TERMS}
    found = from_frame(rows, **asked)
    assert found.plan.axes == {"method_kind": ("cc, robust", "mi, plain")}
    assert set(found.failures["error"]) == {"not converged"}
    kept = rows[(rows["ok"] == "TRUE") & (rows["term"] == "trt") & (rows["n"] == 25)]
    row = found.row("bias", term="trt", n=25, method_kind="cc, robust")
    mean = kept.loc[kept["method"] == "cc", "b"].mean()
    assert row["estimate"] == pytest.approx(mean + 0.5, abs=1e-12)
    assert row["n_failed"] == 40


# ---------------------------------------------------------------- not applied
def test_a_method_without_rows_in_a_cell_is_left_out_of_it(tmp_path):
    rows = terms().query("not (method == 'mi' and term == 'frailty' and n == 100)")
    said = "method mi has no row in 1 of 4 cells: it was not applied there"
    with pytest.warns(UserWarning, match=said):
        found = from_frame(rows, **LONG, truth=TERMS, out=tmp_path)
    assert found.n_failed == 0
    assert found.failures.empty
    assert len(found.select(measure="bias")) == 7
    assert len(found.replicates) == len(rows)
    declared = found.summary[found.summary["measure"] != "convergence_rate"]
    together = found.summary_all_methods
    pd.testing.assert_frame_equal(together, declared.reset_index(drop=True))
    whole = from_frame(terms(), **LONG, truth=TERMS)
    same = {"measure": "coverage", "method": "cc"}
    np.testing.assert_array_equal(
        found.select(**same)["estimate"], whole.select(**same)["estimate"]
    )


# ---------------------------------------------------------------- of a public table
def test_a_second_name_of_a_method_may_be_empty(tmp_path):
    """As in the data set MIsim2 of rsimsum, where complete cases have one name only."""
    names = {"m1": ["CC", "MI", "MI"] * 20, "m2": ["", "T", "LOGT"] * 20}
    rows = pd.DataFrame({"set": np.repeat(np.arange(20), 3), **names})
    rows["b"] = np.random.default_rng(1).normal(size=60)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    asked = {"estimate": "b", "method": ["m1", "m2"], "rep": "set"}
    for found in (from_file(tmp_path / "rows.csv", **asked), from_frame(rows, **asked)):
        assert found.plan.axes == {"m1_m2": ("CC", "MI, T", "MI, LOGT")}
