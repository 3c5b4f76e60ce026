"""Values with labels belong to these labels, and columns to one name."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest

from simstudy import Study, each_replicate, grid
from simstudy.errors import DesignError, StudyError
from simstudy.measures import bias, coverage

TERMS = ("Intercept", "x", "C(arm)[T.b]")
TRUTH = {"Intercept": 1.0, "x": 2.0, "C(arm)[T.b]": 5.0}


@dataclass(frozen=True)
class Line:
    n_obs: int

    @property
    def truth(self):
        return dict(reversed(TRUTH.items()))

    def draw(self, streams, n_rep):
        b = np.array([*TRUTH.values()]) + streams("data").normal(size=(n_rep, 3))
        return {"b": b, "drawn_truth": TRUTH}


def labelled(b):
    return pd.Series(b, index=TERMS)


WAYS = {
    "array": each_replicate(lambda b: {"estimate": b}),
    "series": each_replicate(lambda b: {"estimate": labelled(b)}),
    "sorted": each_replicate(lambda b: {"estimate": labelled(b).sort_values()}),
    "dict": each_replicate(lambda b: {"estimate": dict(labelled(b)[::-1])}),
    "more": each_replicate(lambda b: {"estimate": {"scale": 9.0} | dict(labelled(b))}),
    "named": each_replicate(lambda b: labelled(b).sort_values(), returns="estimate"),
    "dicts": lambda b: {"estimate": {t: b[:, i] for i, t in enumerate(TERMS)}},
}


def study(**methods):
    return Study(
        "line",
        grid(Line, n_obs=[3]),
        methods=methods,
        axes={"term": TERMS},
        measures=[bias("estimate", "truth"), bias("estimate", "drawn_truth", name="again")],
        block_size=40,
    )


def test_values_go_where_their_labels_are():
    """The truth is a property with a value for each label, and a drawn dict."""
    result = study(**WAYS).run(80, n_jobs=1)
    drawn = Line(3).draw(result.plan.streams(result.plan.scenarios[0], 0), 40)["b"]
    for at, term in enumerate(TERMS):
        expected = drawn[:, at].mean() - TRUTH[term]
        for way in WAYS:
            found = result.values("estimate", term=term, method=way)
            np.testing.assert_array_equal(found[:40], drawn[:, at], way)
            row = result.row("bias", term=term, method=way)
            assert row["estimate"] == pytest.approx(found.mean() - TRUTH[term], abs=1e-12)
            assert result.row("again", term=term, method=way)["estimate"] == row["estimate"]
        assert abs(expected) < 1


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (lambda b: {"estimate": labelled(b).rename({"x": "z"})}, "labels .*z.* lack or repeat"),
        (lambda b: {"estimate": pd.Series(b)[::-1]}, "labels 2, 1, 0, which lack or"),
        (lambda b: {"estimate": pd.Series([0, *b], ["x", *TERMS])}, "lack or repeat some"),
        (lambda b: {"estimate": pd.DataFrame(b)}, "estimate is a DataFrame: return an array"),
        (lambda b: labelled(b).to_frame("estimate"), "returned DataFrame, not numbers by name"),
    ],
)
def test_other_labels_are_refused(returned, said):
    with pytest.raises(StudyError, match=said):
        study(m=each_replicate(returned)).run(40, n_jobs=1)


def test_a_series_of_a_block_is_refused():
    """Its index may be in another order than the replicates."""
    with pytest.raises(StudyError, match="column 'estimate' is a Series: return an array"):
        study(m=lambda b: {"estimate": pd.Series(b[:, 0])}).run(40, n_jobs=1)


# ---------------------------------------------------------------- one name, one number
@dataclass(frozen=True)
class Correlated:
    rho: float

    @property
    def double(self):
        return 2 * self.rho

    def draw(self, streams, n_rep):
        return {"r": streams("data").normal(self.rho, 0.1, n_rep), "drawn": np.full(n_rep, 0.5)}

    def simulate(self, streams, n_rep):
        return {"rho": streams("data").normal(self.rho, 0.1, n_rep), "lower": -1.0, "upper": 1.0}


@pytest.mark.parametrize(
    ("name", "meant"), [("rho", "factor or"), ("double", "property"), ("drawn", "draw returned")]
)
def test_a_column_does_not_stand_in_for_another_number(name, meant):
    def method(r):
        return {name: r, "lower": r - 0.05, "upper": r + 0.05}

    measures = [coverage("lower", "upper", truth=name)]
    study = Study("names", [Correlated(0.5)], methods={"m": method}, measures=measures)
    with pytest.raises(StudyError, match=f"{meant}.*unclear which of them a measure reads: rename"):
        study.run(50, n_jobs=1)
    right = replace(
        study, methods={"m": lambda r: {f"{name}_hat": r, "lower": r - 0.05, "upper": r + 0.05}}
    ).run(1000, n_jobs=1)
    rate = right.row("coverage")["estimate"]
    assert rate == 0 if name == "double" else abs(rate - 0.383) < 0.07


def test_so_does_simulate_and_a_measure_that_comes_later(tmp_path):
    study = Study("simulated", [Correlated(0.5)], measures=[bias("lower", 0.0)])
    study.run(50, n_jobs=1, out=tmp_path)
    late = replace(study, measures=[coverage("lower", "upper", truth="rho")])
    with pytest.raises(StudyError, match="unclear which of them"):
        late.run(50, n_jobs=1, out=tmp_path).summary  # noqa: B018
    with pytest.raises(StudyError, match="unclear which of them"):
        late.run(50, n_jobs=1)


def test_one_column_is_not_both_the_estimate_and_the_truth():
    with pytest.raises(DesignError, match=r"column 'rho' has two roles at once"):
        bias("rho", truth="rho")
    with pytest.raises(DesignError, match=r"column 'rho' has two roles at once"):
        coverage(estimate="rho", se="se", truth="rho")


def test_a_column_that_repeats_its_factor_is_the_same_number():
    def method(r, rho):
        return {"estimate": r, "rho": np.full(len(r), rho)}

    measures = [bias("estimate", truth="rho")]
    study = Study("same", [Correlated(0.5)], methods={"m": method}, measures=measures)
    result = study.run(50, n_jobs=1)
    expected = result.values("estimate").mean() - 0.5
    assert result.row("bias")["estimate"] == pytest.approx(expected, abs=1e-12)


# ---------------------------------------------------------------- a truth for each label
TWO_TERMS = {"term": ("intercept", "slope")}
TWO_TRUTHS = {"slope": 2.0, "intercept": 1.0}  # a dict is aligned by its labels, not by its order
TRUTHS = {"dict": TWO_TRUTHS, "array": np.array([1.0, 2.0]), "axis": [1.0, 2.0]}


@dataclass(frozen=True)
class LineOfTwo:
    """Data of a line; its truth has a value for each term."""

    kind: str
    n: int = 20

    @property
    def truth(self):
        return TRUTHS[self.kind]

    def draw_one(self, rng):
        return {"x": rng.normal([1, 2], size=(self.n, 2))}


@dataclass(frozen=True)
class DrawnLine:
    """The same, where the truth is drawn: for one replicate, or for a block."""

    kind: str
    n: int = 20

    def draw(self, streams, n_rep):
        x = streams("data").normal([1, 2], size=(n_rep, self.n, 2))
        rows = np.tile([1.0, 2.0], (n_rep, 1))
        by_term = {"slope": rows[:, 1], "intercept": 1.0}
        return {"x": x, "truth": {"dict": TWO_TRUTHS, "array": rows, "axis": by_term}[self.kind]}


@dataclass(frozen=True)
class LineByOne:
    kind: str
    n: int = 20

    def draw_one(self, rng):
        return {"x": rng.normal([1, 2], size=(self.n, 2)), "truth": TRUTHS[self.kind]}


def centre(x):
    return {"b": x.mean(axis=-2)}


def nothing(x):
    return {"b": np.zeros_like(x[..., 0, :])}


@pytest.mark.parametrize("n_methods", [1, 2, 3])
@pytest.mark.parametrize("kind", ["dict", "array", "axis"])
@pytest.mark.parametrize("scenario", [LineOfTwo, DrawnLine, LineByOne])
def test_a_truth_for_each_term_works_for_any_number_of_methods(scenario, kind, n_methods):
    """Also for as many methods as terms: an array is never taken by the axis of the methods."""
    methods = dict(list({"mean": centre, "zero": nothing, "none": nothing}.items())[:n_methods])
    study = Study("line", [scenario(kind)], methods=methods, axes=TWO_TERMS,
                  measures=[bias("b", truth="truth")], block_size=50)  # fmt: skip
    rows = study.run(100, n_jobs=1).summary.set_index(["method", "term"])["estimate"]
    for method in list(methods)[1:]:
        assert rows[method].to_dict() == {"intercept": -1.0, "slope": -2.0}
    assert rows["mean"].abs().max() < 4.4 / np.sqrt(20 * 100)


@dataclass(frozen=True)
class Square:
    """Two axes of one size: only a label says which is meant."""

    kind: str

    @property
    def truth(self):
        return dict(zip("ab" if self.kind == "rows" else "pq", (1.0, 2.0), strict=True))

    def simulate(self, streams, n_rep):
        return {"x": np.zeros((n_rep, 2, 2)) + streams("data").normal(size=(n_rep, 1, 1)) * 0}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("rows", [-1.0, -1.0, -2.0, -2.0]), ("columns", [-1.0, -2.0, -1.0, -2.0])],
)
def test_a_dict_names_its_axis_among_axes_of_one_size(kind, expected):
    axes = {"row": ("a", "b"), "column": ("p", "q")}
    study = Study("square", [Square(kind)], [bias("x", truth="truth")], axes=axes, block_size=50)
    assert study.run(100, n_jobs=1).summary["estimate"].tolist() == expected


# ---------------------------------------------------------------- values over axes
COEFFICIENTS = ("intercept", "slope")


@dataclass(frozen=True)
class Regression:
    n_obs: int

    def draw(self, streams, n_rep):
        rng = streams("data")
        x = rng.normal(size=(n_rep, self.n_obs))
        return {"x": x, "y": 1.0 + 2.0 * x + rng.normal(size=x.shape)}


def least_squares(x, y):
    """Both coefficients of one fit, and one number of all of it."""
    if x[0] > 2:
        raise ValueError("too large")
    design = np.column_stack([np.ones_like(x), x])
    estimate, (squares,), *_ = np.linalg.lstsq(design, y, rcond=None)
    variance = squares / (len(x) - 2)
    se = np.sqrt(variance * np.diag(np.linalg.inv(design.T @ design)))
    if x[0] < -2:
        se[1] = np.nan
    return {"estimate": estimate, "se": se, "truth": np.array([1.0, 2.0]), "sigma2": variance}


def regression(analyse):
    return Study(
        "line",
        grid(Regression, n_obs=[8]),
        methods={"least squares": each_replicate(analyse)},
        axes={"term": COEFFICIENTS},
        measures=[
            bias("estimate", "truth"),
            bias("sigma2", 1.0, name="bias_of_variance"),
            coverage(estimate="estimate", se="se", truth="truth", df=6.0),
        ],
        block_size=200,
    )


@pytest.fixture(scope="module")
def result():
    return regression(least_squares).run(200, n_jobs=1)


def test_failures_are_of_replicates_and_missing_values_of_positions(result):
    rows = result.failures
    whole = rows[rows["error"].str.contains("too large")]
    assert len(whole) > 0
    assert np.isnan(result.values("estimate", term="slope")[whole["rep"]]).all()
    assert np.isnan(result.values("estimate", term="intercept")[whole["rep"]]).all()
    cell = rows[~rows["error"].str.contains("too large")]
    assert set(cell["term"]) == {"slope"}
    assert np.isfinite(result.values("estimate", term="intercept")[cell["rep"]]).all()


def test_an_array_of_another_shape_is_refused():
    with pytest.raises(StudyError, match=r"shape \(3,\), not one number .* \(2,\) over term"):
        regression(lambda x, y: {"estimate": x[:3]}).run(200, n_jobs=1)
    plain = replace(regression(lambda x, y: {"estimate": x[:2]}), axes={}, measures=[])
    with pytest.raises(StudyError, match=r"shape \(2,\), not one number per replicate"):
        plain.run(200, n_jobs=1)
