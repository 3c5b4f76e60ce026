"""`each_replicate` returns values along the axes of a study: several estimands of one fit."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from simstudy import Study, each_replicate, grid
from simstudy.errors import StudyError
from simstudy.measures import bias, coverage

TERMS = ("intercept", "slope")


@dataclass(frozen=True)
class Line:
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


def study(analyse):
    return Study(
        "line",
        grid(Line, n_obs=[8]),
        methods={"least squares": each_replicate(analyse)},
        axes={"term": TERMS},
        measures=[
            bias("estimate", "truth"),
            bias("sigma2", 1.0, name="bias_of_variance"),
            coverage(estimate="estimate", se="se", truth="truth", df=6.0),
        ],
        block_size=200,
    )


@pytest.fixture(scope="module")
def result():
    return study(least_squares).run(200, n_jobs=1)


def test_each_value_is_that_of_a_plain_loop(result):
    drawn = Line(8).draw(result.plan.streams(result.plan.scenarios[0], 0), 200)
    for k, term in enumerate(TERMS):
        found = result.values("estimate", term=term)
        for rep in range(0, 200, 17):
            x, y = drawn["x"][rep], drawn["y"][rep]
            if x[0] <= 2:
                slope, intercept = np.polyfit(x, y, 1)
                assert found[rep] == pytest.approx((intercept, slope)[k], abs=1e-12)


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
        study(lambda x, y: {"estimate": x[:3]}).run(200, n_jobs=1)
    plain = replace(study(lambda x, y: {"estimate": x[:2]}), axes={}, measures=[])
    with pytest.raises(StudyError, match=r"shape \(2,\), not one number per replicate"):
        plain.run(200, n_jobs=1)
