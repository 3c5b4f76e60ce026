"""Leave-one-out utilities of a user's model, against refits, formulas by hand and ArviZ."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from simstudy.documents.applied import estimate_loo
from simstudy.documents.applied.loo import estimate_inference, estimate_table
from simstudy.documents.applied.settings import LooSettings
from simstudy.documents.applied.tables import Table
from simstudy.errors import SimstudyError
from tests.support import refused

RNG = np.random.default_rng(4)
X = RNG.normal(size=(100, 3))
Y = X @ [1.0, 0.5, 0.0] + RNG.normal(size=100)


def of(rows):
    return {name: values for name, *values in rows}


@pytest.mark.parametrize("seed", range(5))
def test_utilities_and_errors_of_predictions_by_the_reports_formulas(seed):
    """Var(R²) from variances and covariance of the squares; elpd's is n times that of its terms."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 300))
    y = rng.gamma(2.0, size=n)
    prediction = y + rng.normal(size=n)
    density = stats.norm.logpdf(y, prediction, 1.1)
    found = of(estimate_loo(y, prediction=[prediction], log_density=[density]).utilities)
    e2, v2 = (y - prediction) ** 2, (y - y.mean()) ** 2
    mse, total = e2.mean(), v2.mean()
    covariance = np.cov(e2, v2) / n
    gradient = np.array([-1 / total, mse / total**2])
    assert found["r2"][0] == pytest.approx(1 - mse / total)
    assert found["r2"][1] == pytest.approx(math.sqrt(gradient @ covariance @ gradient))
    assert found["rmse"][:2] == pytest.approx(
        [math.sqrt(mse), math.sqrt(covariance[0, 0]) / (2 * math.sqrt(mse))]
    )
    assert found["elpd"][:2] == pytest.approx([density.sum(), math.sqrt(n) * density.std(ddof=1)])
    # The bootstrap's errors are Taylor's but for sqrt((n - 1) / (n + 1)) and 1 / sqrt(2 draws).
    expected = found["elpd"][1] * math.sqrt((n - 1) / (n + 1))
    assert found["elpd"][2] == pytest.approx(expected, rel=5 / math.sqrt(2 * 4000))


@pytest.mark.parametrize("n", [400, 2048, 5000])  # 2048 observations are computed at a time
def test_a_linear_model_predicts_as_least_squares_where_the_prior_is_weak(n):
    rng = np.random.default_rng(5)
    features = rng.normal(size=(n, 2))
    y = features @ [1.0, -1.0] + rng.normal(size=n)
    design = np.column_stack([np.ones(n), features])
    inverse = np.linalg.pinv(design)
    leverage = (design * inverse.T).sum(axis=1)
    refit = (y - design @ (inverse @ y)) / (1 - leverage)
    found = estimate_loo(y, features)
    assert found.errors == pytest.approx(refit, abs=0.01)
    assert of(found.utilities)["r2"][0] == pytest.approx(1 - (refit**2).mean() / y.var(), abs=1e-4)


def test_a_difference_is_paired():
    found = estimate_loo(Y, X, against=X[:, :1])
    first, second = estimate_loo(Y, X), estimate_loo(Y, X[:, :1])
    for name, (difference, std_error, _) in of(found.differences).items():
        single = of(first.utilities)[name], of(second.utilities)[name]
        assert difference == pytest.approx(single[0][0] - single[1][0])
        assert std_error < math.hypot(single[0][1], single[1][1])
    assert "elpd less" in repr(found)


def test_groups_of_copies_have_the_error_of_their_cases():
    prediction = Y + RNG.normal(size=100)
    rows = np.repeat(np.arange(100), 3)
    alone = of(estimate_loo(Y, prediction=[prediction]).utilities)
    copies = estimate_loo(Y[rows], prediction=[prediction[rows]], cluster=rows)
    for name, (value, std_error, drawn) in of(copies.utilities).items():
        assert [value, std_error] == pytest.approx(alone[name][:2])
        assert drawn is None
    assert "leave out a group at a time" in repr(copies)


def test_where_the_study_says_that_errors_fail_a_note_does():
    crowded = estimate_loo(Y[:20], RNG.normal(size=(20, 30)))
    assert "30 features of 20 observations: both standard errors are far too small" in repr(crowded)
    few = estimate_loo(Y[:6], X[:6, :1])
    assert "with 6 observations and 1 features neither standard error can be trusted" in repr(few)
    assert not estimate_loo(Y, X).notes


def write_arviz_file(path, **groups):
    xarray = pytest.importorskip("xarray")
    for group, values in groups.items():
        names = ("chain", "draw", "case")[-values.ndim :]
        data = xarray.Dataset({"y": (names, values)})
        data.to_netcdf(path, group=group, mode="a" if path.exists() else "w", engine="h5netcdf")


def test_an_arviz_file_is_read(tmp_path):
    """Draws of a normal mean, by a flat prior and a known variance: elpd is exact."""
    pytest.importorskip("h5netcdf")
    rng, n, n_draw = np.random.default_rng(6), 30, 2000
    y = rng.normal(size=n)
    mu = (y.mean() + rng.normal(size=(2, n_draw)) / np.sqrt(n))[:, :, None]
    groups = {
        "observed_data": y,
        "log_likelihood": stats.norm.logpdf(y, mu),
        "posterior_predictive": mu + rng.normal(size=(2, n_draw, n)),
    }
    path = tmp_path / "fit.nc"
    write_arviz_file(path, **groups, sample_stats=mu)
    found = estimate_inference(str(path), LooSettings())
    others = (y.sum() - y) / (n - 1)
    exact = stats.norm.logpdf(y, others, np.sqrt(1 + 1 / (n - 1)))
    elpd = of(found.utilities)["elpd"]
    # Each density is the mean of 4000 weights, whose relative scatter is below 1 for light tails.
    assert elpd[0] == pytest.approx(exact.sum(), abs=n / np.sqrt(2 * n_draw))
    assert elpd[1] == pytest.approx(np.sqrt(n) * exact.std(ddof=1), rel=0.05)
    assert found.errors == pytest.approx(y - others, abs=5 * np.sqrt(2 / (2 * n_draw)))
    assert found.source.name == "fit.nc"
    with pytest.raises(SimstudyError, match=r"cluster=g: fit\.nc has no such column"):
        estimate_inference(str(path), LooSettings(cluster="g"))
    del groups["posterior_predictive"]
    write_arviz_file(tmp_path / "less.nc", **groups)
    with pytest.raises(SimstudyError, match="has 0 variables in posterior_predictive"):
        estimate_inference(str(tmp_path / "less.nc"), LooSettings())
    (tmp_path / "no.nc").write_text("no")
    with pytest.raises(SimstudyError, match="cannot be read as an ArviZ file"):
        estimate_inference(str(tmp_path / "no.nc"), LooSettings())


@pytest.mark.parametrize(
    ("y", "given", "said"),
    [
        (Y, {}, "give features, or predictions, of one model or of two"),
        (Y[:2], {"features": X[:2]}, "2 observations are too few to leave one out"),
        (np.ones(9), {"features": X[:9]}, "every response is 1, so there is nothing to predict"),
        (Y, {"features": X[:9]}, "y has 100 values and features 9"),
        (Y, {"features": X, "prediction": [Y]}, "give features or predictions, not both"),
        (Y, {"prediction": [Y + 1], "log_density": [Y, Y]}, "2 log densities for 1 predictions"),
        (X[:9, 0], {"features": X[:9, :1]}, "is fitted without any error"),
        (1e-80 * Y, {"features": X}, "the response spreads over"),
        (Y, {"features": 1e80 * X}, "a feature spreads over"),
        (Y, {"prediction": [1e80 + Y]}, "an error of prediction spreads over 1e+80"),
    ],
)
def test_what_has_no_answer_is_refused(y, given, said):
    with refused(said):
        estimate_loo(y, **given)


def test_columns_that_are_left_out_or_count_the_rows_are_named(tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(case=range(7, 107), town="x", y=Y)
    frame.to_csv(tmp_path / "own.csv", index=False)
    every = estimate_table(Table.read(str(tmp_path / "own.csv"), LooSettings()))
    assert "not among the features, since they are no numbers: town" in every.notes
    (counts,) = (note for note in every.notes if note.startswith("case numbers the rows"))
    assert "features=[a,b,c]" in counts
    settings = LooSettings(features=["a", "b", "c"])
    named = estimate_table(Table.read(str(tmp_path / "own.csv"), settings))
    assert named.utilities == estimate_loo(Y, X).utilities
    assert not any("town" in note or "case" in note for note in named.notes)
