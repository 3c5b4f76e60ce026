"""Results from elsewhere keep the promises of a study's own."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import simstudy
from simstudy.errors import ConfigError
from simstudy.external.from_frame import from_file, from_frame
from simstudy.measures import bias, coverage, mean
from simstudy.output.folder import publish
from tests.external.tables import COLUMNS, TRUTH
from tests.factories import mean_study

pytestmark = pytest.mark.filterwarnings("ignore:method new has no row", "ignore:no truth is")

USUAL = [
    "bias", "empirical_se", "relative_precision", "mse", "model_se", "relative_error_model_se",
    "coverage", "bias_eliminated_coverage", "power", "convergence_rate",
]  # fmt: skip


@pytest.fixture(scope="module")
def result(table):
    return from_frame(table, truth=TRUTH, **COLUMNS)


def rows_of(table, dgm, method):
    return table[(table["dgm"] == dgm) & (table["method"] == method)]


# ---------------------------------------------------------------- numbers
def test_a_study_and_its_own_replicates_have_the_same_summary():
    """The numbers of a study that was drawn here, taken apart and put together, bit for bit."""
    own = mean_study().run(50)
    columns = {"estimate": "estimate", "method": "method", "rep": "rep", "by": ["n_obs"]}
    again = from_frame(own.replicates, **columns, measures=[bias("estimate", truth=0.0)])
    mine = own.summary[own.summary["measure"] == "bias"]
    for name in ("estimate", "mcse", "lower", "upper", "n_rep", "n_failed"):
        np.testing.assert_array_equal(again.summary[name], mine[name])


@pytest.mark.parametrize("dgm", ["normal", "skewed"])
@pytest.mark.parametrize("method", ["old", "new"])
def test_they_are_those_of_plain_formulas(table, result, dgm, method):
    assert list(dict.fromkeys(result.summary["measure"])) == USUAL
    b, se = rows_of(table, dgm, method)[["b", "se"]].dropna().to_numpy().T
    half = stats.norm.ppf(0.975) * se
    expected = {
        "bias": b.mean() - TRUTH,
        "empirical_se": b.std(ddof=1),
        "mse": np.mean((b - TRUTH) ** 2),
        "model_se": np.sqrt(np.mean(se**2)),
        "relative_error_model_se": np.sqrt(np.mean(se**2)) / b.std(ddof=1) - 1,
        "coverage": np.mean(np.abs(b - TRUTH) <= half),
        "bias_eliminated_coverage": np.mean(np.abs(b - b.mean()) <= half),
        "power": np.mean(np.abs(b) > half),
    }
    for name, number in expected.items():
        row = result.row(name, dgm=dgm, method=method)
        assert row["estimate"] == pytest.approx(number, rel=1e-12), name
        assert row["mcse"] > 0


def test_methods_are_compared_on_the_data_sets_that_they_share(table, result):
    apart = result.contrast("bias", axis="method", first="new", second="old")
    for dgm, row in apart.set_index("dgm").iterrows():
        wide = table[table["dgm"] == dgm].pivot(index="dataset", columns="method", values="b")
        difference = (wide["new"] - wide["old"]).dropna()
        assert row["n_rep"] == len(difference)
        assert row["estimate"] == pytest.approx(difference.mean(), rel=1e-10)
        assert row["mcse"] == pytest.approx(
            difference.std(ddof=1) / np.sqrt(len(difference)), rel=1e-10
        )


def test_order_of_rows_moves_no_number(table, result):
    mixed = from_frame(table.sample(frac=1, random_state=2), truth=TRUTH, **COLUMNS)
    keys = ["dgm", "method", "measure"]
    mine, theirs = (each.summary.set_index(keys).sort_index() for each in (result, mixed))
    gain = "relative_precision"  # relative to the method that comes first
    for name in ("estimate", "mcse"):
        ours, other = (s.drop(gain, level="measure")[name] for s in (mine, theirs))
        np.testing.assert_allclose(other, ours, rtol=1e-9, atol=1e-15)


# ---------------------------------------------------------------- failures
def test_what_is_missing_is_a_failure_of_that_method(result):
    counted = result.row("bias", dgm="normal", method="new")
    assert (counted["n_rep"], counted["n_failed"]) == (59, 1)
    lacking = result.row("bias", dgm="skewed", method="new")
    assert (lacking["n_rep"], lacking["n_failed"]) == (35, 5)
    assert result.row("convergence_rate", dgm="skewed", method="new")["estimate"] == 35 / 40
    assert result.row("bias", dgm="skewed", method="old")["n_failed"] == 0
    assert result.failures["error"].value_counts().to_dict() == {"no row": 5, "no estimate": 1}
    assert result.n_failed == 6


@pytest.mark.filterwarnings("default")
def test_missing_rows_are_said_at_once(table):
    said = "method new has no row for 5 of 100 data sets: they count as its failures"
    with pytest.warns(UserWarning, match=re.escape(said)):
        result = from_frame(table, truth=TRUTH, **COLUMNS)
    assert result.outcome.warnings == [said]


def test_a_standard_error_may_be_missing_beside_an_estimate(table):
    gap = table.assign(se=table["se"].where(table.index != 7))
    found = from_frame(gap, truth=TRUTH, **COLUMNS)
    where = {"dgm": table["dgm"][7], "method": table["method"][7]}
    n_bias, n_se = (found.row(name, **where)["n_failed"] for name in ("bias", "model_se"))
    assert n_se == n_bias + 1


def test_replicates_have_the_name_that_data_sets_had(result):
    rows = result.replicates
    assert list(rows.columns[:3]) == ["dgm", "rep", "method"]
    assert (rows["dataset"] == rows["rep"] + 1).all()
    assert len(rows) == 2 * 100


# ---------------------------------------------------------------- what a truth may be
def test_a_truth_may_be_a_number_a_column_or_a_mapping(table):
    truths = {"normal": 0.5, "skewed": 0.6}
    beside = table.assign(theta=table["dgm"].map(truths))
    by_level = from_frame(table, truth=truths, **COLUMNS)
    by_column = from_frame(beside, truth="theta", **COLUMNS)
    np.testing.assert_array_equal(by_level.summary["estimate"], by_column.summary["estimate"])
    by_factor = from_frame(beside, **{**COLUMNS, "by": ["theta"]}, truth="theta")
    np.testing.assert_array_equal(by_level.summary["estimate"], by_factor.summary["estimate"])
    number = from_frame(table, truth=0.6, **COLUMNS)
    assert (
        number.row("bias", dgm="skewed", method="old")["estimate"]
        == by_level.row("bias", dgm="skewed", method="old")["estimate"]
    )


def test_measures_of_spread_need_one_truth_in_a_cell(table):
    varying = table.assign(theta=np.arange(len(table)) // 2 % 7, b=lambda t: t["b"] + t["theta"])
    said = "theta differs between data sets of a cell, so there is no empirical_se, relative_prec"
    with pytest.warns(UserWarning, match=said):
        found = from_frame(varying, truth="theta", **COLUMNS)
    fixed = from_frame(table, truth=0.0, **COLUMNS)
    gone = {*fixed.summary["measure"]} - {*found.summary["measure"]}
    assert {"empirical_se", "relative_precision"} <= gone
    asked = from_frame(varying, truth="theta", **COLUMNS, measures=["empirical_se"])
    assert set(asked.summary["measure"]) >= {"empirical_se"}


def test_levels_of_single_precision_have_the_truth_of_the_same_number(table):
    whole = from_frame(table, truth={"normal": 0.5, "skewed": 0.6}, **COLUMNS)
    single = table.assign(dgm=table["dgm"].map({"normal": 0.1, "skewed": 2.0}).astype("float32"))
    found = from_frame(single, truth={0.1: 0.5, "2": 0.6}, **COLUMNS)
    np.testing.assert_array_equal(found.summary["estimate"], whole.summary["estimate"])


def test_numbers_are_pythons_or_numpys(table):
    found = from_frame(
        table, truth=np.float64(0.6), df=np.int64(9), level=np.float32(0.5), **COLUMNS
    )
    plain = from_frame(table, truth=0.6, df=9, level=0.5, **COLUMNS)
    pd.testing.assert_frame_equal(found.summary, plain.summary)
    coded = table.assign(method=(table["method"] == "new").astype(int))
    pd.testing.assert_series_equal(
        from_frame(coded, reference=1, **COLUMNS).summary["estimate"],
        from_frame(table, reference="new", **COLUMNS).summary["estimate"],
    )


def test_without_one_the_rest_is_there_and_it_is_said(table):
    found = from_frame(table, **COLUMNS)
    assert "bias" not in set(found.summary["measure"])
    assert "empirical_se" in set(found.summary["measure"])
    assert found.outcome.warnings[-1] == (
        "no truth is given, so there is no bias, mse, coverage: say truth=, a number, a column, or "
        "one for each level of by"
    )


# ---------------------------------------------------------------- intervals and tests
def test_limits_that_are_given_are_taken(table):
    wide = table.assign(low=table["b"] - 10, high=table["b"] + 10)
    found = from_frame(wide, truth=TRUTH, lower="low", upper="high", **COLUMNS)
    coverages = found.summary[found.summary["measure"] == "coverage"]
    assert (coverages["estimate"] == 1).all()


def test_degrees_of_freedom_make_t_intervals(table):
    found = from_frame(table.assign(df=3), truth=TRUTH, df="df", level=0.9, **COLUMNS)
    rows = found.replicates
    half = stats.t.ppf(0.95, 3) * rows["se"]
    np.testing.assert_allclose(rows["upper_limit"] - rows["b"], half, rtol=1e-12)
    same = from_frame(table, truth=TRUTH, df=3, level=0.9, **COLUMNS)
    np.testing.assert_array_equal(found.summary["estimate"], same.summary["estimate"])


def test_p_values_decide_about_power_at_the_level_of_the_intervals(table):
    p = table.assign(p=np.where(table["method"] == "old", 0.05, 0.06))
    found = from_frame(p, p_value="p", **COLUMNS)
    power = found.summary[found.summary["measure"] == "power"]
    assert dict(zip(power["method"], power["estimate"], strict=False)) == {"old": 1, "new": 0}


# ---------------------------------------------------------------- measures that are asked for
def test_measures_over_any_column(table):
    timed = table.assign(seconds=np.arange(len(table)) / 10)
    asked = ["bias", mean("seconds"), coverage("lower_limit", "upper_limit", 0.0, name="of_zero")]
    found = from_frame(timed, truth=TRUTH, measures=asked, **COLUMNS)
    names = dict.fromkeys(found.summary["measure"])
    assert list(names) == ["bias", "mean_seconds", "of_zero", "convergence_rate"]
    mine = rows_of(timed, "normal", "old")["seconds"].mean()
    assert found.row("mean_seconds", dgm="normal", method="old")["estimate"] == pytest.approx(mine)


# ---------------------------------------------------------------- other shapes
def test_names_that_are_none_in_python_are_made_so(table):
    as_in_r = table.rename(columns={"dgm": "data.gen", "method": "the method", "dataset": "rep"})
    asked = {**COLUMNS, "by": ["data.gen"], "method": "the method", "rep": "rep"}
    found = from_frame(as_in_r, truth=TRUTH, **asked)
    assert list(found.summary.columns[:2]) == ["data_gen", "the_method"]
    assert "rep_given" in found.replicates


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "parquet", "feather", "dta"])
def test_a_file_says_what_its_table_says(ending, table, result, tmp_path):
    path = tmp_path / f"my results.{ending}"
    write = {
        "parquet": lambda: table.to_parquet(path),
        "feather": lambda: table.to_feather(path),
        "dta": lambda: table.to_stata(path, write_index=False),
        "tsv": lambda: table.to_csv(path, sep="\t", index=False),
    }
    write.get(ending, lambda: table.to_csv(path, index=False))()
    found = from_file(path, truth=TRUTH, **COLUMNS)
    assert found.plan.name == "my_results"
    pd.testing.assert_frame_equal(found.summary, result.summary, rtol=1e-12)


def test_words_for_nothing_are_levels_where_one_is_to_stand(tmp_path):
    rows = [
        f"{missing},{n},{method},{number}"
        for missing in ("None", "MCAR")
        for n in range(3)
        for method, number in (("01", 0.5 + n), ("001", "None" if n == 2 else n))
    ]
    (tmp_path / "rows.csv").write_text("\n".join(["missing,set,method,b", *rows]))
    asked = {"estimate": "b", "method": "method", "rep": "set", "by": ["missing"], "truth": 0.0}
    found = from_file(tmp_path / "rows.csv", **asked)
    assert found.row("bias", missing="None", method="01")["estimate"] == 1.5
    assert found.row("bias", missing="MCAR", method="001")["n_failed"] == 1


def test_semicolons_come_with_commas_in_numbers_and_gaps(tmp_path):
    (tmp_path / "rows.csv").write_text("b;n\n0,5;1\nNA;2\n1,25;3\n.;4\n")
    rows = from_file(tmp_path / "rows.csv", estimate="b", truth=0).replicates
    np.testing.assert_array_equal(rows["b"], [0.5, np.nan, 1.25, np.nan])


# ---------------------------------------------------------------- figures and a folder of results
def test_every_figure_is_drawn(table):
    found = from_frame(table, truth={"normal": 0.5, "skewed": 0.6}, **COLUMNS)
    assert list(found.details.figures) == [
        "bias", "empirical_se", "model_se", "coverage", "power", "relative_precision"
    ]  # fmt: skip
    without = from_frame(table[["b"]], estimate="b")
    assert list(without.details.figures) == ["empirical_se"]
    for result in (found, without):
        for name in result.details.figures:
            assert result.figure(name).draw().axes


def test_what_is_published_reads_as_any_study(table, tmp_path):
    found = from_frame(table, truth=TRUTH, name="from_r", out=tmp_path, **COLUMNS)
    made = publish(found, figures=False)
    assert not made.manifest["tables_not_made"]
    folder = tmp_path / "from_r"
    rows = pd.read_parquet(folder / "replicates.parquet")
    assert len(rows) == 2 * 100  # no row is a filler, although cells are unequal
    page = (folder / "report.html").read_text()
    assert "40 to 60 replicates in each of 2 scenarios" in page
    assert "made by other software" in page
    assert "simstudy.from_frame(rows, estimate=&#39;b&#39;" in page
    assert "no row for 5 of 100 data sets" in page


def test_other_rows_under_one_name_are_not_mixed(table, tmp_path):
    from_frame(table, name="twice", out=tmp_path, **COLUMNS)
    from_frame(table, name="twice", out=tmp_path, **COLUMNS)
    other = table.assign(b=table["b"] + 1)
    again = from_frame(other, name="twice", out=tmp_path, **COLUMNS)
    pd.testing.assert_frame_equal(again.summary, from_frame(other, **COLUMNS).summary)
    first = from_frame(table, name="twice", out=tmp_path, **COLUMNS)
    pd.testing.assert_frame_equal(first.summary, from_frame(table, **COLUMNS).summary)
    assert len(simstudy.load(first.folder).replicates) == len(first.replicates)


# ---------------------------------------------------------------- rows in order
def test_rows_in_the_order_of_the_data_sets_need_no_numbers(table):
    complete = table[table["dataset"] <= 35]
    numbered = from_frame(complete, truth=TRUTH, **COLUMNS)
    in_order = from_frame(complete, truth=TRUTH, **{**COLUMNS, "rep": None})
    pd.testing.assert_frame_equal(in_order.summary, numbered.summary)
    one_cell = complete[complete["dgm"] == "skewed"]
    apart = from_frame(one_cell, truth=TRUTH, **{**COLUMNS, "rep": None, "by": ()})
    rows = numbered.select(measure="bias", dgm="skewed")
    np.testing.assert_array_equal(apart.select("bias")["estimate"], rows["estimate"])
    with pytest.raises(ConfigError, match="unequal numbers of rows"):
        from_frame(one_cell[1:], **{**COLUMNS, "rep": None, "by": ()})
