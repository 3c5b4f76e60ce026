"""Mistakes that raise no error give the right number, a refusal or a warning.

`tests/engine/test_pilot.py` has replicates that depend on each other, and `tests/external` tables.
"""

import os
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest

from simstudy import Study, each_replicate, grid
from simstudy.engine import loop, second_draw
from simstudy.engine.progress import Silent
from simstudy.errors import StudyError
from simstudy.measures import bias, convergence_rate, mean, variance
from simstudy.study import Rules
from tests.support import INLINE

N_REP = 400


TABLE, ARRAY = pd.DataFrame({"dose": np.arange(5.0)}), np.zeros(5)
LIST, HELD = [0.0] * 5, {"x": np.zeros(5)}
MATRIX, BLOCK = np.zeros((2, 5)), np.zeros((50, 5))


HOW = {"how": "new"}  # no factor, so that the streams are the same


@dataclass(frozen=True)
class Drawn:
    n: int = 5

    def draw_one(self, rng):
        x = rng.normal(size=self.n)
        match HOW["how"]:
            case "frame":
                TABLE["y"] = x
                return {"x": TABLE}
            case "column":
                TABLE["y"] = x
                return {"x": TABLE["y"]}
            case "array":
                ARRAY[:] = x
                return {"x": ARRAY}
            case "view":
                MATRIX[1] = x
                return {"x": MATRIX[1]}
            case "list":
                LIST[:] = x.tolist()
                return {"x": LIST}
            case "dict":
                HELD["x"][:] = x
                return HELD
            case "tuple":
                ARRAY[:] = x
                return {"x": (ARRAY, 1)}
            case "frame on an array":
                MATRIX[0] = x
                return {"x": pd.DataFrame(MATRIX.T, copy=False)}
        return {"x": x}


def numbers_of(x):
    if isinstance(x, tuple):
        return x[0]
    if isinstance(x, pd.DataFrame):
        return x["y" if "y" in x else 0].to_numpy()
    return np.asarray(x)


def average(x):
    return {"b": numbers_of(x).mean()}


def median(x):
    return {"b": np.median(numbers_of(x))}


def run_of(how, monkeypatch):
    monkeypatch.setitem(HOW, "how", how)
    methods = {"mean": average, "median": median}
    study = Study("filled", [Drawn()], [mean("b"), variance("b")], methods=methods)
    return study.run(N_REP, seed=1, **INLINE)


@pytest.mark.parametrize(
    "how", ["frame", "column", "array", "view", "list", "dict", "tuple", "frame on an array"]
)
def test_a_data_set_that_is_filled_again_gives_the_numbers_of_a_plain_loop(how, monkeypatch):
    found, plain = run_of(how, monkeypatch), run_of("new", monkeypatch)
    assert found.n_failed == 0
    np.testing.assert_array_equal(found.replicates["b"], plain.replicates["b"])
    assert abs(plain.row("variance", method="mean")["estimate"] - 0.2) < 0.06


def test_a_vector_that_a_method_fills_again():
    held = np.empty(3)

    def three(x):
        held[:] = x[:3]
        return {"v": held}

    def first(v):
        return v[:, 0]

    study = Study(
        "vector", [Drawn()], [variance("first")], methods={"m": three},
        derived={"first": first}, rules=Rules(vectors={"v": 3}),
    )  # fmt: skip
    assert study.run(N_REP, **INLINE).replicates["first"].nunique() == N_REP


@dataclass(frozen=True)
class Filled:
    n: int = 5

    def draw(self, streams, n_rep):
        BLOCK[:n_rep] = streams("data").normal(size=(n_rep, self.n))
        return {"x": BLOCK[:n_rep] if n_rep < len(BLOCK) else BLOCK}


@dataclass(frozen=True)
class New:
    n: int = 5

    def draw(self, streams, n_rep):
        return {"x": streams("data").normal(size=(n_rep, self.n))}


def block_average(x):
    return {"b": x.mean(axis=1)}


@pytest.mark.parametrize("backend", ["inline", pytest.param("loky", marks=pytest.mark.slow)])
def test_an_array_that_draw_fills_again_gives_other_numbers_in_each_block(backend):
    study = Study(
        "block",
        [Filled()],
        [variance("b")],
        methods={"m": block_average, "again": block_average},
        block_size=50,
    )
    result = study.run(N_REP, backend=backend, n_jobs=2, progress=Silent())
    assert result.n_failed == 0
    each = result.replicates.groupby("method")["b"].nunique()
    assert each.to_dict() == {"m": N_REP, "again": N_REP}


@dataclass(frozen=True)
class Trial:
    n: int = 5
    mu: float = 0.0

    def draw_one(self, rng):
        return {"x": rng.normal(size=self.n)}


def with_gaps(x):
    """An extra number that is missing half of the time, depending on the estimate."""
    extra = np.nan if x[0] > 0 else 1.0
    return {"b": x.mean(), "se": np.nan if x[1] > 1 else x.std(), "extra": extra}


def without_gaps(x):
    return {"b": np.median(x), "se": 1.0, "extra": 1.0}


GAPS = {"gaps": with_gaps, "none": without_gaps}
BOTH = [bias("b", truth="mu"), mean("se"), convergence_rate("converged")]


@pytest.fixture(scope="module")
def gaps():
    return Study("gaps", [Trial()], BOTH, methods=GAPS).run(N_REP, seed=1, **INLINE)


def test_nan_counts_against_the_measures_that_read_it(gaps):
    rows = gaps.replicates.query("method == 'gaps'")
    n_missing = int(rows["se"].isna().sum())
    assert 40 < n_missing < 90
    assert rows["extra"].isna().sum() > 150
    of_bias, of_se = (gaps.row(name, method="gaps") for name in ("bias", "mean_se"))
    assert (of_bias["n_rep"], of_bias["n_failed"]) == (N_REP, 0)
    assert of_bias["estimate"] == pytest.approx(rows["b"].mean(), abs=1e-12)
    assert abs(of_bias["estimate"]) < 4 * of_bias["mcse"]
    assert (of_se["n_rep"], of_se["n_failed"]) == (N_REP - n_missing, n_missing)
    assert of_se["estimate"] == pytest.approx(rows["se"].mean(), abs=1e-12)


def test_failures_are_those_that_a_measure_reads(gaps):
    n_missing = int(gaps.replicates.query("method == 'gaps'")["se"].isna().sum())
    assert gaps.n_failed == n_missing == len(gaps.failures)
    assert gaps.failures["error"].str.startswith("NaN in ").all()
    assert gaps.failures["error"].str.contains("se").all()
    rate = gaps.row("convergence_rate", method="gaps")["estimate"]
    assert rate == pytest.approx(1 - n_missing / N_REP)


def test_contrasts_use_replicates_in_which_both_are_numbers(gaps):
    rows = gaps.replicates.pivot(index="rep", columns="method", values="se").dropna()
    found = gaps.contrast("mean_se", first="gaps", second="none").iloc[0]
    assert found["n_rep"] == len(rows)
    assert found["estimate"] == pytest.approx((rows["gaps"] - rows["none"]).mean(), abs=1e-12)
    assert gaps.contrast("bias", first="gaps", second="none").iloc[0]["n_rep"] == N_REP


def test_a_derived_column_of_nan_is_missing():
    """NaN > 0 is false, which would count as a result."""
    study = Study(
        "derived", [Trial()], [mean("above")], methods={"gaps": with_gaps},
        derived={"above": lambda se: se > 0.5},
    )  # fmt: skip
    result = study.run(N_REP, seed=1, **INLINE)
    se = result.replicates["se"]
    row = result.row("mean_above")
    assert row["n_failed"] == se.isna().sum() == result.n_failed
    assert row["estimate"] == pytest.approx((se.dropna() > 0.5).mean(), abs=1e-12)


def test_another_measure_reads_stored_blocks_with_nan(tmp_path):
    first = Study("gaps", [Trial()], [bias("b", truth="mu")], methods=GAPS)
    first = first.run(500, seed=1, out=tmp_path, **INLINE)
    assert first.n_failed == 0
    again = Study("gaps", [Trial()], BOTH, methods=GAPS).run(500, seed=1, out=tmp_path, **INLINE)
    assert again.outcome.n_blocks == 0
    assert again.n_failed == int(again.replicates["se"].isna().sum()) > 0


def test_an_error_still_fails_the_replicate_for_all_measures():
    def fails(x):
        if x[0] > 0:
            raise ValueError("no fit")
        return {"b": x.mean(), "se": 1.0, "extra": 1.0}

    result = Study("gaps", [Trial()], BOTH[:2], methods={"m": fails}).run(500, seed=1, **INLINE)
    assert result.row("bias")["n_failed"] == result.row("mean_se")["n_failed"] == result.n_failed
    assert result.n_failed > 200


def test_a_first_block_of_nan_is_a_mistake_if_a_measure_reads_it():
    def nothing(x):
        return {"b": x.mean(), "se": np.nan, "extra": np.nan}

    study = Study("gaps", [Trial()], [bias("b", truth="mu")], methods={"m": nothing})
    assert study.run(100, **INLINE).row("bias")["n_rep"] == 100
    with pytest.raises(StudyError, match="NaN in se, extra in all replicates of the first block"):
        replace(study, measures=BOTH[:2]).run(100, **INLINE)


LEVELS = {"level": ("10", "30", "50", "70", "90")}
AT = [0.1, 0.3, 0.5, 0.7, 0.9]


def transposed(x):
    return {"b": np.quantile(x, AT, axis=1)}


def upright(x):
    return {"b": np.quantile(x, AT, axis=1).T}


def of_rows(method, size, **settings):
    study = Study(
        "axes", [New(50)], [mean("b")], methods={"q": method}, axes=LEVELS, block_size=size,
        **settings,
    )  # fmt: skip
    return study.run(400, seed=1, **INLINE)


def test_replicates_on_another_axis_of_the_same_length_are_refused():
    with pytest.raises(
        StudyError, match=r"is \(5, 1\), where \(1, 5\) is asked. Return np.moveaxis"
    ):
        of_rows(transposed, 5)
    with pytest.raises(StudyError, match="shape"):
        of_rows(transposed, 100)


@pytest.mark.parametrize("size", [5, 100])
def test_replicates_on_the_first_axis_are_right(size):
    estimates = of_rows(upright, size).summary["estimate"]
    assert estimates.is_monotonic_increasing
    np.testing.assert_allclose(estimates, [-1.28, -0.52, 0.0, 0.52, 1.28], atol=0.15)


def test_a_method_that_needs_several_replicates_is_not_refused():
    def needs_five(x):
        if len(x) < 5:
            raise ValueError("too few")
        return upright(x)

    assert of_rows(needs_five, 5, rules=Rules(across_replicates=("q",))).n_failed == 0


def test_columns_of_simulate_on_another_axis_are_refused():
    @dataclass(frozen=True)
    class Simulated:
        n: int = 50

        def simulate(self, streams, n_rep):
            return transposed(streams("data").normal(size=(n_rep, self.n)))

    study = Study("axes", [Simulated()], [mean("b")], axes=LEVELS, block_size=5)
    with pytest.raises(StudyError, match="has its replicates on axis 1, not on the first"):
        study.run(100, **INLINE)


KNOWN = {}


def half_width(x, n):
    if "q" not in KNOWN:  # the key lacks n
        KNOWN["q"] = n
    return {"b": x.mean(axis=1) * KNOWN["q"]}


def from_the_system(x):
    return {"b": x.mean() + os.urandom(1)[0] / 256}


def resampled(x):
    from scipy import stats

    interval = stats.bootstrap((x,), np.mean, n_resamples=20).confidence_interval
    return {"b": interval.low}


def forest(x):
    from sklearn.linear_model import SGDRegressor

    model = SGDRegressor(max_iter=5, tol=None).fit(np.arange(len(x))[:, None] / len(x), x)
    return {"b": model.coef_[0]}


@pytest.fixture
def second(monkeypatch):
    """The second process, with the time that an idle machine has."""
    monkeypatch.setattr(loop, "check_repeatable", second_draw.check_repeatable)
    monkeypatch.setattr(loop, "draw_pilot", second_draw.draw_pilot)
    monkeypatch.setattr(second_draw, "MIN_SECONDS", 60.0)


def warnings_of(study, n_rep=100):
    return study.run(n_rep, backend="inline", n_jobs=1, progress=Silent()).outcome.warnings


def test_a_cache_whose_key_lacks_a_factor_is_found(second):
    KNOWN.clear()
    study = Study("kept", grid(New, n=[3, 30]), [mean("b")], methods={"m": half_width})
    assert any("another process draws other values of b" in text for text in warnings_of(study))


@pytest.mark.parametrize(
    "method",
    [from_the_system, *(pytest.param(one, marks=pytest.mark.slow) for one in (resampled, forest))],
)
def test_random_numbers_without_a_seed_are_found(method, second):
    if method is forest:
        pytest.importorskip("sklearn", reason="needs pip install -e '.[dev]'")
    study = Study("unseeded", [Trial()], [mean("b")], methods={"m": method})
    assert any("another process draws other values of b" in text for text in warnings_of(study))


def test_functions_that_a_loop_made_are_told():
    methods = {f"k={k}": lambda x: {"b": k * x.mean()} for k in (1, 2, 3)}  # noqa: B023 - meant
    study = Study("late", [Trial()], [variance("b")], methods=methods)
    (said,) = warnings_of(study)
    assert said.startswith("methods k=1; k=2; k=3 have the same code and the same values")
    assert "lambda x, k=k" in said


def test_functions_with_values_of_their_own_are_not():
    methods = {f"k={k}": lambda x, k=k: {"b": k * x.mean()} for k in (1, 2, 3)}
    study = Study("early", [Trial()], [variance("b")], methods=methods)
    assert warnings_of(study) == []


@dataclass(frozen=True)
class OneSeed:
    kind: str

    def draw_one(self, rng):
        fixed = np.random.default_rng(3) if self.kind == "fixed" else rng
        return {"x": np.ones(5) if self.kind == "constant" else fixed.normal(size=5)}


def one_mean(x):
    return {"e": x.mean()}


def one_resample(x, rng):
    return {"e": rng.choice(x, size=5).mean()}


@pytest.mark.parametrize(
    ("kind", "method", "is_told"),
    [
        ("fixed", one_mean, True),
        ("constant", one_mean, True),
        ("fixed", one_resample, False),  # of one data set, on purpose
        ("drawn", one_mean, False),
    ],
)
def test_replicates_that_are_one_data_set_are_told(kind, method, is_told):
    study = Study("one", [OneSeed(kind)], [mean("e")], methods={"m": each_replicate(method)})
    warnings = study.run(N_REP, progress=Silent(), **INLINE).outcome.warnings
    said = [text for text in warnings if "has the same data and the same numbers" in text]
    assert len(said) == is_told
