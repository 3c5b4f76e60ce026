"""The summary: numbers in their places, against theory, between methods, and by factors."""

import itertools
import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

from simstudy import publish
from simstudy.analysis.summary import NUMBERS, factor_rows, one_with, overview, rows_with, worst_z
from simstudy.design import Columns, grid
from simstudy.design.plan import Plan
from simstudy.errors import StudyError
from simstudy.measures import bias, empirical_se, mean, rejection_rate, relative_bias, rmse
from simstudy.provenance.streams import Streams
from simstudy.study import Rules, Study
from tests.factories import Shifted, mean_study
from tests.support import INLINE

METRICS = ("mse", "mae", "r2")


@dataclass(frozen=True)
class TwoAxes:
    """Known values in every cell: method m and metric k shift the replicate's own number."""

    n_obs: int
    with_failures: bool = False

    def simulate(self, streams, n_rep):
        x = streams("data").standard_normal(n_rep) / np.sqrt(self.n_obs)
        cells = 10.0 * np.arange(2)[:, None] + np.arange(3)
        estimate = x[:, None, None] + cells
        if self.with_failures:
            estimate[x > 0.2, 1, 2] = np.nan
        return {"estimate": estimate, "truth": cells + np.zeros((n_rep, 1, 1)), "x": x}

    def exact(self):
        se = np.full((2, 3), 1 / np.sqrt(self.n_obs))
        return {"bias": 0.0, "empirical_se": se, "mean_x": 0.0}


def two_axes(**scenario):
    return Study(
        name="two_axes",
        scenarios=grid(TwoAxes, n_obs=[4, 16], **scenario),
        measures=[
            bias("estimate", truth="truth"),
            empirical_se("estimate"),
            mean("x", name="mean_x"),
        ],
        axes={"method": ("a", "b"), "metric": METRICS},
        block_size=40,
    )


def test_a_row_for_every_scenario_cell_and_measure_in_order():
    result = mean_study((3, 10)).run(60, **INLINE)
    cells = itertools.product((3, 10), ("bias", "coverage", "empirical_se"), ("t", "z"))
    found = result.summary[["n_obs", "measure", "method"]].itertuples(index=False, name=None)
    assert list(found) == list(cells)
    names = ["n_obs", "truth", "method", "measure", *NUMBERS]
    assert list(result.summary)[: len(names)] == names


def test_every_number_is_that_of_the_plain_formula():
    result = mean_study((3,)).run(120, **INLINE)
    rows = result.replicates
    for method, data in rows.groupby("method"):
        error = (data["estimate"] - data["truth"]).to_numpy()
        hit = ((data["lower"] <= data["truth"]) & (data["truth"] <= data["upper"])).to_numpy()
        found = result.row("bias", method=method)
        assert found["estimate"] == pytest.approx(error.mean(), rel=1e-14)
        assert found["mcse"] == pytest.approx(error.std(ddof=1) / np.sqrt(120), rel=1e-14)
        found = result.row("coverage", method=method)
        assert found["estimate"] == hit.mean()
        assert found["mcse"] == pytest.approx(hit.std() / np.sqrt(120), rel=1e-14)
        assert found["n_rep"] == 120
        assert found["n_failed"] == 0
        assert found["lower"] < found["estimate"] < found["upper"]


def test_theory_stands_beside_its_own_cell():
    summary = mean_study((3, 10)).run(60, **INLINE).summary
    exact = summary.set_index(["n_obs", "measure", "method"])["exact"]
    assert (exact[:, "bias"] == 0).all()
    assert (exact[:, "coverage", "t"] == 0.95).all()
    assert exact[:, "coverage", "z"].isna().all()
    assert exact[:, "empirical_se"].isna().all()


def test_two_axes_come_in_storage_order():
    result = two_axes().run(80, **INLINE)
    rows = result.summary.query("measure == 'bias' and n_obs == 4")
    assert list(zip(rows["method"], rows["metric"], strict=True)) == list(
        itertools.product("ab", METRICS)
    )
    assert rows["estimate"].nunique() == 1 or np.ptp(rows["estimate"]) < 1e-13
    estimates = result.columns(result.plan.scenarios[0], "estimate")["estimate"]
    found = result.summary.query("measure == 'empirical_se' and n_obs == 4")["estimate"]
    np.testing.assert_allclose(found, estimates.std(axis=0, ddof=1).ravel(), rtol=1e-13)


def test_a_measure_without_the_axes_has_one_row_and_no_labels():
    rows = two_axes().run(80, **INLINE).summary.query("measure == 'mean_x'")
    assert len(rows) == 2
    assert rows[["method", "metric"]].isna().all(axis=None)


def test_a_failed_cell_is_counted_in_its_own_cell():
    result = two_axes(with_failures=True).run(200, **INLINE)
    n_failed = int((result.columns(result.plan.scenarios[0], "x")["x"] > 0.2).sum())
    assert 0 < n_failed < 200
    rows = result.summary.query("measure == 'bias' and n_obs == 4").set_index(["method", "metric"])
    assert rows["n_failed"]["b", "r2"] == n_failed
    assert rows["n_rep"]["b", "r2"] == 200 - n_failed
    assert rows["n_failed"].sum() == n_failed
    assert (rows["n_rep"] + rows["n_failed"] == 200).all()


# ---------------------------------------------------------------- axes of a measure's own
@dataclass(frozen=True)
class PValues:
    def simulate(self, streams, n_rep):
        p = streams("data").random((n_rep, 2))
        return {"p": p, "n_error": (p < 0.3).astype(float)}


def test_a_measure_brings_axes_of_its_own():
    study = Study(
        name="levels",
        scenarios=[PValues()],
        measures=[rejection_rate(p_value="p", alpha=(0.1, 0.5)), mean("p")],
        axes={"method": ("a", "b")},
        block_size=100,
    )
    result = study.run(100, **INLINE)
    (name,) = result.details.measures[0].axes
    rows = result.summary.dropna(subset=[name])
    p = result.columns(PValues(), "p")["p"]
    assert list(zip(rows["method"], rows[name], strict=True)) == list(
        itertools.product("ab", (0.1, 0.5))
    )
    np.testing.assert_allclose(
        rows["estimate"], [(p[:, m] < a).mean() for m in (0, 1) for a in (0.1, 0.5)]
    )
    assert result.summary.query("measure == 'mean'")[name].isna().all()


# ---------------------------------------------------------------- slips
def test_a_misspelt_name_of_theory_is_refused():
    @dataclass(frozen=True)
    class Slip:
        def simulate(self, streams, n_rep):
            return {"x": streams("data").random(n_rep)}

        def exact(self):
            return {"mean_of_x": 0.5, "meam_x": 0.5}

    study = Study("slip", [Slip()], [mean("x", name="mean_x")], block_size=10)
    with pytest.raises(StudyError, match=r"names 'mea.*did you mean 'mean_x'"):
        study.run(10, **INLINE).summary  # noqa: B018


@pytest.mark.parametrize(
    ("exact", "said"), [(np.zeros(4), "array([0., 0., 0., 0.])"), ("a lot", "'a lot'")]
)
def test_theory_that_does_not_fit_the_cells_is_refused(exact, said, monkeypatch):
    monkeypatch.setattr(TwoAxes, "exact", lambda self: {"bias": exact})
    with pytest.raises(StudyError) as refusal:
        two_axes().run(10, **INLINE).summary  # noqa: B018
    assert str(refusal.value) == (
        f"TwoAxes(n_obs=4, with_failures=False): exact() gives 'bias' {said}, which does not fit "
        "the measure's cells of shape (2, 3) (axes method: 2, metric: 3), so theory cannot stand "
        "by the estimates. Return one number, or an array with one for each cell."
    )


# ---------------------------------------------------------------- scenarios of two classes
@dataclass(frozen=True)
class Normal:
    n: int

    def simulate(self, streams, n_rep):
        return {"x": streams("data").standard_normal((n_rep, self.n)).mean(axis=1)}


@dataclass(frozen=True)
class Lognormal(Normal):
    label: ClassVar[str] = "skewed"


def test_scenarios_of_two_classes_with_the_same_fields_are_told_apart(tmp_path):
    normal, skewed = (grid(kind, n=[5, 10, 20]) for kind in (Normal, Lognormal))
    study = Study("classes", [*normal, *skewed], measures=[mean("x")], block_size=10)
    result = study.run(20, out=tmp_path, **INLINE)
    publish(result)
    assert result.summary["scenario_class"].tolist() == ["Normal"] * 3 + ["skewed"] * 3
    assert result.replicates.groupby(["scenario_class", "n"]).size().tolist() == [20] * 6
    assert len(result.seconds) == len(result.table("summary").frame) == 6
    for name in ("summary", "scenarios"):
        rows = pd.read_parquet(result.folder / f"{name}.parquet")
        assert not rows.duplicated(["scenario_class", "n"]).any()
    assert "skewed" in (result.folder / "report.html").read_text()
    assert result.row("mean_x", scenario_class="skewed", n=5)["n_rep"] == 20
    with pytest.raises(LookupError, match="scenario_class"):
        result.row("mean_x", n=5)
    one = replace(study, scenarios=normal).run(20, **INLINE)
    assert "scenario_class" not in one.summary


# ---------------------------------------------------------------- contrasts
@pytest.fixture(scope="module")
def result():
    return mean_study().run(400, seed=2, **INLINE)


def shifted(*common: str):
    scenarios = grid(Shifted, shift=[0.0, 1.0])
    return Study(
        "shifted", scenarios, [mean("x", name="level")], rules=Rules(common_random_numbers=common)
    ).run(500, **INLINE)


def test_rows_of_a_contrast_are_chosen_by_factors(result):
    both = {"axis": "method", "first": "t", "second": "z"}
    every = result.contrast("coverage", **both)
    n_obs = int(every["n_obs"].iloc[0])
    chosen = result.contrast("coverage", **both, n_obs=n_obs)
    assert chosen["n_obs"].tolist() == [n_obs]
    assert chosen["mcse"].item() == every["mcse"].iloc[0]


def test_a_ratio_is_one_where_methods_agree(result):
    found = result.contrast("empirical_se", axis="method", first="t", second="z", scale="ratio")
    np.testing.assert_allclose(found["estimate"], 1)
    np.testing.assert_allclose(found["mcse"], 0, atol=1e-12)


@pytest.mark.parametrize("common", [(), ("shift",)])
def test_scenarios_that_share_random_numbers_are_paired(common):
    result = shifted(*common)
    row = result.contrast("level", first=Shifted(1.0), second=Shifted(0.0)).iloc[0]
    assert row["paired"] == bool(common)
    error = 0.0 if common else np.hypot(*result.summary["mcse"])
    assert row["mcse"] == pytest.approx(error, abs=1e-12)
    assert row["estimate"] == pytest.approx(1, abs=5 * error + 1e-12)


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (("coverge", "method", "t", "z"), "no measure 'coverge'; did you mean 'coverage'?"),
        (("coverage", "metod", "t", "z"), "no axis 'metod' to compare along; did you mean"),
        (("coverage", "method", "t", "u"), "axis 'method' has no 'u'; available: t, z"),
    ],
)
def test_refuses_what_is_not_there(result, ask, says):
    measure, axis, first, second = ask
    with pytest.raises(StudyError) as refusal:
        result.contrast(measure, axis=axis, first=first, second=second)
    assert says in str(refusal.value)


def test_the_only_axis_needs_no_name(result):
    named = result.contrast("coverage", axis="method", first="t", second="z")
    pd.testing.assert_frame_equal(result.contrast("coverage", first="t", second="z"), named)


def test_two_names_without_their_axis_are_refused():
    result = shifted()
    with pytest.raises(StudyError, match=r"add axis=\.\.\., one of shift"):
        result.contrast("level", first=1.0, second=0.0)


def test_levels_of_a_factor_are_compared_in_scenarios_that_are_equal_otherwise(result):
    low, high = (result.scenario(n_obs=n) for n in (3, 30))
    expected = result.contrast("coverage", first=low, second=high)
    found = result.contrast("coverage", axis="n_obs", first=3, second=30)
    for name in ("method", "estimate", "mcse", "paired"):
        assert found[name].tolist() == expected[name].tolist()
    with pytest.raises(StudyError, match="axis 'n_obs' has no 6"):
        result.contrast("coverage", axis="n_obs", first=3, second=6)


@dataclass(frozen=True)
class Terms:
    """Two methods and two terms, one of which has a truth of 0."""

    scale: float

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        truth = np.array([0.0, self.scale])
        x = truth + streams("data").standard_normal((n_rep, 2, 2))
        return {"x": x, "truth": np.broadcast_to(truth, x.shape)}


def test_a_contrast_is_nan_with_the_reason_where_a_side_is_undefined():
    axes = {"method": ("a", "b"), "term": ("none", "some")}
    scenarios = grid(Terms, scale=[2.0, 0.0])
    study = Study("terms", scenarios, [relative_bias("x", "truth")], axes=axes)
    result = study.run(200, **INLINE)
    found = result.contrast("relative_bias", axis="method", first="a", second="b")
    assert found["estimate"].isna().tolist() == [True, False, True, True]
    assert found["reason"].tolist() == ["the truth is 0", "", "the truth is 0", "the truth is 0"]
    x = result.columns(scenarios[0], "x")["x"][..., 1] / 2
    assert found["estimate"][1] == pytest.approx((x[:, 0] - x[:, 1]).mean())
    both = result.contrast("relative_bias", first=scenarios[0], second=scenarios[1])
    assert both["estimate"].isna().all()
    with pytest.raises(StudyError, match="has no 'c'"):
        result.contrast("relative_bias", axis="method", first="a", second="c")


@dataclass(frozen=True)
class Skewed:
    """Lognormal errors of two methods, of which the second averages two."""

    scale: float = 2.0

    def simulate(self, streams, n_rep):
        x = np.exp(self.scale * streams("data").standard_normal((n_rep, 2)))
        return {"estimate": np.stack([x[:, 0], x.mean(axis=1)], axis=1)}


def test_a_contrast_has_the_warning_that_both_rows_have():
    study = Study("skewed", [Skewed()], [rmse("estimate", 0.0)], axes={"method": ("one", "two")})
    result = study.run(500, seed=1, **INLINE)
    assert (result.summary["warning"] != "").all()
    row = result.contrast("rmse", first="one", second="two").iloc[0]
    assert row["warning"].startswith("few replicates for values this skew")
    normal = replace(study, scenarios=[Skewed(scale=0.1)]).run(500, seed=1, **INLINE)
    assert "warning" not in normal.contrast("rmse", first="one", second="two")


# ---------------------------------------------------------------- look-up
@dataclass(frozen=True)
class Point:
    n: int
    k: float
    way: str = "raw"


POINTS = grid(Point, n=[10, 50], k=[0.1 + 0.2, math.inf], way=["raw", "law"])
PLAN = Plan(name="points", seed=1, scenarios=tuple(POINTS), axes={}, block_size=1)
FACTORS = factor_rows(PLAN, POINTS)


def test_the_one_scenario_with_these_factors():
    at = one_with(FACTORS, {"n": 50, "k": 0.3, "way": "law"}).name
    assert POINTS[at] == Point(50, 0.1 + 0.2, "law")
    at = one_with(FACTORS, {"n": 10, "k": math.inf, "way": "raw"}).name
    assert POINTS[at] == Point(10, math.inf)


@pytest.mark.parametrize(
    ("factors", "said"),
    [
        (
            {"n": 40, "way": "law"},
            r"0 rows have n=40, way='law'; available: n=\[10, 50\], way=\['raw', 'law'\]",
        ),
        ({"n": 10}, "4 rows have n=10, and it is not clear which is meant: name k, way too"),
        ({}, "8 rows, and it is not clear which is meant: name n, k, way too"),
        ({"m": 10}, "there is no column 'm'; available: k, n, way"),
    ],
)
def test_what_names_no_one_scenario_is_refused(factors, said):
    with pytest.raises(LookupError, match=said):
        one_with(FACTORS, factors)


def test_numbers_are_equal_up_to_rounding():
    rows = pd.DataFrame({"p": [1e-9, 2e-9, 2e-9], "method": list("aab"), "measure": "bias"})
    assert one_with(rows, {"p": 1e-9 * (1 + 1e-12)}).name == 0
    with pytest.raises(LookupError, match=r"0 rows have p=0\.0; available: p=\[1e-09, 2e-09\]"):
        one_with(rows, {"p": 0.0})


def test_none_is_a_level():
    rows = pd.DataFrame(
        {"max_depth": [None, 3.0, None], "measure": ["bias", "bias", "mse"], "estimate": 1.0}
    )
    assert one_with(rows, {"measure": "bias", "max_depth": None}).name == 0
    assert list(rows_with(rows, {"max_depth": [None, 3]}).index) == [0, 1, 2]
    assert list(rows_with(rows, {"max_depth": 3}).index) == [1]
    with pytest.raises(LookupError, match="name max_depth too"):
        one_with(rows, {"measure": "bias"})


def test_what_is_said_of_a_row_does_not_tell_rows_apart():
    rows = pd.DataFrame({"n": [1, 2], "measure": "bias", "estimate": 1.0, "warning": ["", "few"]})
    with pytest.raises(LookupError, match="name n too"):
        one_with(rows, {"measure": "bias"})


# ---------------------------------------------------------------- overview
COLUMNS = ["estimate", "mcse", "exact"]


def rows(*numbers):
    return pd.DataFrame(list(numbers), columns=COLUMNS)


def test_a_line_for_each_measure_in_the_studys_order():
    result = mean_study((3, 10)).run(100, **INLINE)
    lines = overview(result.summary, result.details.measures)
    assert lines["measure"].tolist() == [measure.name for measure in result.details.measures]
    for line in lines.to_dict("records"):
        own = result.summary[result.summary["measure"] == line["measure"]]
        assert line["rows"] == len(own)
        assert (line["least"], line["greatest"]) == (own["estimate"].min(), own["estimate"].max())
        assert line["largest_mcse"] == own["mcse"].max()


def test_distance_from_theory_is_in_standard_errors():
    given = rows((1.0, 0.1, 1.2), (3.0, 0.5, 2.0), (1.0, 0.0, 9.0), (1.0, 0.1, math.nan))
    assert worst_z(given, is_proportion=False) == pytest.approx(2.0)
    assert math.isnan(worst_z(rows((1.0, 0.1, math.nan)), is_proportion=False))


def test_proportions_are_told_by_their_bounds():
    summary = pd.DataFrame(
        {"measure": ["power", "mean_x"], "estimate": 0.5, "mcse": 0.025, "exact": 0.6}
    )
    share = rejection_rate("reject", name="power")
    lines = overview(summary, [share, mean("x")]).set_index("measure")
    assert lines.loc["mean_x", "worst_z"] == pytest.approx(4.0)
    assert lines.loc["power", "worst_z"] == pytest.approx(0.1 / math.sqrt(0.24 / 400))
