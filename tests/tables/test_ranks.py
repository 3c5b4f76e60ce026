"""Methods are ranked in every scenario, with their paired differences from the best."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from simstudy import Study, grid
from simstudy.errors import TableError
from simstudy.measures import mse
from simstudy.tables import ranked_methods


@dataclass(frozen=True)
class Sample:
    sd: float
    n_obs: int = 8

    def draw(self, streams, n_rep):
        x = streams("data").normal(size=(n_rep, self.n_obs))
        return {"x": self.sd * x}


def mean(x):
    return {"estimate": x.mean(axis=1), "truth": np.zeros(len(x))}


def first(x, sd):
    """Worse than the mean where the spread is small, and perfect where it is not."""
    return {"estimate": x[:, 0] * (sd < 2), "truth": np.zeros(len(x))}


@pytest.fixture(scope="module")
def result():
    study = Study(
        "ranks",
        grid(Sample, sd=[1.0, 2.0]),
        measures=[mse("estimate", truth="truth")],
        methods={"first_value": first, "mean": mean, "again": mean},
        block_size=50,
    )
    return study.run(100, backend="inline")


def test_a_row_for_each_scenario_and_method_from_the_best_on(result):
    frame = ranked_methods(result, "mse").frame
    assert frame["sd"].tolist() == [1.0] * 3 + [2.0] * 3
    order = ["mean", "again", "first_value", "first_value", "mean", "again"]
    assert frame["method"].tolist() == order
    assert frame["rank"].tolist() == [1, 1, 3, 1, 2, 2]
    assert "n_obs" not in frame


def test_differences_are_those_of_the_contrast_with_the_best(result):
    frame = ranked_methods(result, "mse").frame.set_index(["sd", "method"])
    for sd, best, other in ((1.0, "mean", "first_value"), (2.0, "first_value", "again")):
        paired = result.contrast("mse", axis="method", first=other, second=best)
        expected = paired.set_index("sd").loc[sd, ["estimate", "mcse"]].astype(float)
        found = frame.loc[(sd, other), ["difference", "difference_mcse"]].astype(float)
        np.testing.assert_array_equal(found.to_numpy(), expected.to_numpy())
        assert np.isnan(frame.loc[(sd, best), "difference"])


def test_the_largest_may_be_the_best_and_numbers_are_rounded(result):
    table = ranked_methods(result, "mse", best="largest")
    assert table.frame["method"].tolist()[:3] == ["first_value", "mean", "again"]
    assert table.frame["rank"].tolist()[:3] == [1, 2, 2]
    text = table.markdown()
    assert "| first value |" in text
    assert "n obs = 8." in text
    assert "nan" not in text


def test_a_method_without_an_estimate_comes_last_and_has_no_rank():
    estimates = {"none": np.nan, "b": 0.1, "a": 0.0}
    rows = [
        {"n": None, "method": name, "measure": "power", "estimate": value, "mcse": 0.1}
        for name, value in estimates.items()
    ]
    paired = pd.DataFrame([{"n": None, "estimate": np.nan, "mcse": np.nan}])
    result = SimpleNamespace(summary=pd.DataFrame(rows), contrast=lambda *_, **__: paired)
    table = ranked_methods(result, "power", best="smallest")
    assert table.frame["method"].tolist() == ["a", "b", "none"]
    assert table.markdown().splitlines()[-5].split("|")[2].strip() == "–"


@pytest.mark.parametrize("wrong", [{"measure": "power"}, {"axis": "metric"}])
def test_what_is_not_there_is_refused(wrong, result):
    with pytest.raises(TableError, match="has the measures mse and the columns sd, n_obs, method"):
        ranked_methods(result, **{"measure": "mse"} | wrong)


def test_a_direction_that_is_not_known_has_to_be_given(result):
    accuracy = SimpleNamespace(
        summary=result.summary.replace({"measure": {"mse": "accuracy"}}),
        contrast=lambda _, **where: result.contrast("mse", **where),
    )
    with pytest.raises(TableError, match="not known which value is best"):
        ranked_methods(accuracy, "accuracy")
    table = ranked_methods(accuracy, "accuracy", best="largest")
    assert table.caption == "Methods ranked by accuracy; the largest is best"
    assert table.frame["method"].tolist()[0] == "first_value"
