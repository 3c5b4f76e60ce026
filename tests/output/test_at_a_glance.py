"""The answer of a study that states none, and its figures: three studies as a reader meets them."""

import json
from dataclasses import dataclass

import numpy as np
import pytest

from simstudy import Rules, Study, each_replicate, grid, publish
from simstudy.analysis.frames import failure_rates
from simstudy.analysis.result import doubts_of
from simstudy.cli import runs
from simstudy.figures.captions import caption_of, describe_figure
from simstudy.measures import bias, coverage, mean, mse
from simstudy.output.findings import at_a_glance


@dataclass(frozen=True)
class Line:
    """A slope through the origin, with normal errors or those of Student's t."""

    n_obs: int
    df: float = np.inf
    slope: float = 0.5

    def draw(self, streams, n_rep):
        rng = streams("data")
        x = rng.normal(size=(n_rep, self.n_obs))
        error = rng.normal(size=x.shape) if np.isinf(self.df) else rng.standard_t(self.df, x.shape)
        return {"x": x, "y": self.slope * x + error}


def least_squares(x, y):
    slope = (x * y).sum(axis=1) / (x * x).sum(axis=1)
    error = 1 / np.sqrt((x * x).sum(axis=1))
    return {"estimate": slope, "lower": slope - 1.96 * error, "upper": slope + 1.96 * error}


def twice_as_wide(x, y):
    found = least_squares(x, y)
    half = found["upper"] - found["estimate"]
    noisy = found["estimate"] + 0.3 * np.sign(x[:, 0])
    return {"estimate": noisy, "lower": noisy - 2 * half, "upper": noisy + 2 * half}


def slopes(**settings):
    given = {
        "name": "slopes",
        "scenarios": grid(Line, n_obs=[10, 40], df=[np.inf, 2.5]),
        "methods": {"least squares": least_squares, "noisy": twice_as_wide},
        "measures": [
            mse("estimate", truth="slope"),
            bias("estimate", truth="slope"),
            coverage("lower", "upper", truth="slope"),
        ],
    }
    return Study(**given | settings)


@dataclass(frozen=True)
class Sample:
    n_obs: int

    def draw_one(self, rng):
        return {"x": rng.normal(size=self.n_obs)}


def likelihood(x):
    if x[0] > 1.2:
        raise ArithmeticError(f"no convergence after {int(100 * x[1])} iterations")
    return {"estimate": x.mean()}


def moments(x):
    return {"estimate": x.mean()}


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    study = Study(
        "failing",
        grid(Sample, n_obs=[5, 20]),
        [mse("estimate", truth=0.0)],
        methods={"likelihood": each_replicate(likelihood), "moments": each_replicate(moments)},
    )
    return study.run(300, out=tmp_path_factory.mktemp("failing"), n_jobs=1)


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    return slopes().run(400, out=tmp_path_factory.mktemp("slopes"), n_jobs=1)


# The text -------------------------------------------------------------
def test_each_method_has_a_line_with_its_first_measures_and_their_errors(result):
    first, second, *_ = at_a_glance(result)
    for name, text in {"least squares": first, "noisy": second}.items():
        assert text.startswith(f"{name}: mse ")
        assert text.count("±") >= 3
        assert text.index("mse") < text.index("bias") < text.index("coverage")
    told = first.split("bias ")[1].split(";")[0]
    assert told.endswith("(all 4 within chance)"), "all are 0: their mean, not the extremes"
    rows = result.select("bias", method="least squares")
    shown = float(told.replace("−", "-").split(" ±")[0])
    assert shown == pytest.approx(rows["estimate"].mean(), abs=0.01)
    assert "beyond chance it differs from 0.95 in 2 of 4 scenarios" in second, "by Bonferroni"


def test_the_best_method_is_told_with_how_often_the_best_two_cannot_be_told_apart(result):
    said = next(text for text in at_a_glance(result) if text.startswith("Best by mse"))
    assert said.startswith("Best by mse, of 4 scenarios: least squares in")


def test_of_one_scenario_the_difference_is_told_with_its_error():
    one = slopes(scenarios=[Line(40)]).run(400, n_jobs=1)
    gap = one.contrast("mse", first="noisy", second="least squares").iloc[0]
    said = next(text for text in at_a_glance(one) if text.startswith("Best by mse"))
    assert said.startswith("Best by mse: least squares, 0.09")
    assert gap["lower"] > 0
    same = {"a": least_squares, "b": least_squares}
    alike = slopes(scenarios=[Line(40)], methods=same).run(400, n_jobs=1)
    said = next(text for text in at_a_glance(alike) if text.startswith("Best by mse"))
    assert "cannot be told apart" in said


def test_a_measure_without_a_best_value_has_no_best_method():
    plain = slopes(measures=[mean("estimate")]).run(100, n_jobs=1)
    assert not any("Best" in text for text in at_a_glance(plain))


# Failures -------------------------------------------------------------
def test_failures_are_told_by_method_with_their_rate(failing):
    n = len(failing.failures)
    said = f"likelihood failed in {n} of 600 replicates ({n / 600:.1%})"
    assert at_a_glance(failing)[-1] == f"Failures: {said}."
    page = (publish(failing, figures=False).folder / "report.html").read_text()
    assert said in page
    assert '<h2 id="findings">At a glance</h2>' in page


def test_failures_have_a_row_for_each_method_and_scenario(failing):
    rates = failure_rates(failing.plan, failing.failures, failing.n_rep)
    assert rates["n_obs"].tolist() == [5, 20]
    assert set(rates["method"]) == {"likelihood"}
    assert rates["failed replicates"].sum() == len(failing.failures)
    np.testing.assert_allclose(rates["rate failed"], rates["failed replicates"] / 300)
    first = failing.failures.groupby("n_obs", sort=False).first()
    assert rates["first address"].tolist() == first["address"].tolist()


# Warnings -------------------------------------------------------------
@pytest.fixture(scope="module")
def doubtful(tmp_path_factory):
    study = slopes(scenarios=grid(Line, n_obs=[5], df=[1.5, np.inf]))
    return study.run(100, out=tmp_path_factory.mktemp("doubtful"), n_jobs=1)


def test_a_number_in_doubt_is_marked_wherever_it_is_shown(doubtful):
    warned = doubtful.summary[doubtful.summary["warning"] != ""]
    assert len(warned) >= 2
    table = doubtful.table()
    for text in (str(table), table.markdown(), repr(doubtful)):
        assert "†" in text
    assert str(table).count("†") > len(warned)  # the cells, and the notes
    assert r"\dag{}" in table.latex()
    assert "mse_warning" in table.csv().splitlines()[0]
    n, n_all = len(warned), len(doubtful.summary)
    assert doubts_of(doubtful).startswith(f"{n} of {n_all} numbers are in doubt: mse at ")


def test_a_number_in_doubt_is_told_by_report_manifest_index_and_caption(doubtful):
    folder = publish(doubtful, figures=False).folder
    told = doubts_of(doubtful)
    assert told.split(":")[0] in (folder / "report.html").read_text()
    (first, *_) = json.loads((folder / "manifest.json").read_text())["warnings"]
    assert (first["kind"], first["place"]) == ("estimate", "mse at df 1.5, method least squares")
    assert "More replicates" in first["remedy"]
    assert (
        "estimate: mse at df 1.5, method least squares"
        in (folder.parent / "index.html").read_text()
    )
    figure = doubtful.figure("mse")
    assert "in doubt: the summary has the warnings" in caption_of(figure)


def test_nothing_is_marked_where_nothing_is_doubted():
    fine = slopes(scenarios=[Line(40)], measures=[bias("estimate", truth="slope")])
    result = fine.run(400, n_jobs=1)
    assert "†" not in str(result.table())
    assert doubts_of(result) == ""
    assert "warning" not in result.table().csv()


# Figures --------------------------------------------------------------
def test_a_study_without_figures_has_one_for_each_measure(result):
    assert list(result.details.figures) == ["mse", "bias", "coverage"]
    assert "Dashed" in caption_of(result.figure("coverage"))
    assert publish(result).manifest["figures_not_drawn"] == {}
    assert dict(slopes(figures={}).figures) == {}, "an empty dict means none"


def test_a_description_says_what_is_compared(result):
    told = describe_figure(result.figure("mse"))
    assert told.startswith("Mse against n obs")
    assert "least squares, noisy" in told
    assert told not in caption_of(result.figure("mse"))


# What a stranger tried ------------------------------------------------
@dataclass(frozen=True)
class Named:
    """Factors with the names of columns of tables."""

    n: int
    seconds: int = 1
    difference: str = "a"
    rate: float = 0.5
    kind: str = "b"
    failed: int = 0
    replicates: int = 3

    def draw(self, streams, n_rep):
        return {"x": streams("data").normal(size=(n_rep, self.n))}


def sometimes(x):
    middle = x.mean(axis=1)
    return {"estimate": np.where(x[:, 0] > 1.5, np.nan, middle), "big": np.abs(middle) > 0.3}


def test_a_factor_may_have_the_name_of_a_column(tmp_path):
    measures = [mean("estimate"), mean("estimate", given="big", name="of_big")]
    study = Study(
        "named", grid(Named, n=[3, 6]), measures, methods={"a": sometimes, "b": sometimes}
    )
    made = publish(study.run(200, out=tmp_path, n_jobs=1), figures=False)
    assert (made.folder / "report.html").exists()
    assert (made.folder / "explore.html").exists()


@dataclass(frozen=True)
class Centred:
    n_obs: int
    method_of: str | None = None

    def draw(self, streams, n_rep):
        return {"x": streams("data").normal(size=(n_rep, self.n_obs))}


def centred(x, times=1.0):
    return {"estimate": x.mean(axis=1), "se": np.full(len(x), times * x.shape[1] ** -0.5)}


def wide(x):
    return centred(x, 1.4)


def other_sum(x):
    return centred(x) | {"estimate": np.sum(x / x.shape[1], axis=1)}


def test_coverage_is_compared_with_the_level_that_was_asked_for():
    asked = coverage(estimate="estimate", se="se", truth=0.0, level=0.9)
    study = Study(
        "ninety", grid(Centred, n_obs=[5, 10]), [asked], methods={"exact": centred, "wide": wide}
    )
    lines = at_a_glance(study.run(4000, n_jobs=1))
    assert "differs from 0.9 in 0 of 2 scenarios" in lines[0]
    assert "differs from 0.9 in 2 of 2 scenarios" in lines[1]
    assert lines[2] == "Best by coverage, of 2 scenarios: exact in 2."


def test_rounding_decides_no_best_method():
    study = Study(
        "codes", [Centred(7)], [mse("estimate", truth=0.0)], methods={"a": centred, "b": other_sum}
    )
    said = at_a_glance(study.run(500, n_jobs=1))[-1]
    assert "cannot be told apart" in said


def test_missing_levels_and_names_with_slashes_have_default_figures():
    study = Study(
        "adjusted",
        grid(Centred, n_obs=[5, 10], method_of=[None, "bonferroni"]),
        [mean("estimate", name="a/b")],
        methods={"m": centred},
    )
    result = study.run(20, n_jobs=1)
    assert list(result.details.figures) == ["a_b"]
    result.figure("a_b").draw()


def test_no_squared_error_has_a_limit_below_zero():
    law = np.random.default_rng(1).standard_cauchy(50)
    assert mse("estimate", truth=0.0).estimate({"estimate": law}).lower == 0


def test_default_figures_have_the_words_of_the_labels():
    labels = {
        "n_obs": "sample size",
        "method": "estimator",
        "df": ("law", {2.5: "t", np.inf: "normal"}),
    }
    drawn = slopes(labels=labels, scenarios=grid(Line, n_obs=[10, 20, 40], df=[np.inf, 2.5]))
    figure = drawn.run(50, n_jobs=1).figure("bias")
    assert figure.labels.x == "sample size"
    assert {scale.name for scale in figure.scales if "color" in scale.aesthetics} == {"estimator"}
    assert set(figure.data["panel"]) == {"normal", "t"}


def test_a_mean_is_told_of_rows_that_share_no_random_numbers():
    """Rows of one data set, or of common random numbers, have a common error."""
    few = {
        "methods": {"least squares": least_squares},
        "measures": [bias("estimate", truth="slope")],
    }
    alone = slopes(**few).run(40, backend="inline")
    (pooled,), (shared,) = map(
        at_a_glance, (alone, slopes(**few, rules=Rules(common_random_numbers=("df",))).run(40))
    )
    assert "(all 4 within chance)" in pooled
    assert " to " in shared
    assert "within chance" not in shared
    both = slopes(measures=few["measures"]).run(40, backend="inline")
    assert "(all 4 within chance)" in runs._first_estimates(alone)["bias"]
    assert " to " in runs._first_estimates(both)["bias"]
