"""Differences with the error that pairing leaves."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest

from simstudy.design import Columns, grid
from simstudy.errors import StudyError
from simstudy.measures import mean, relative_bias, rmse
from simstudy.provenance.streams import Streams
from simstudy.study import Rules, Study
from tests.factories import Shifted, mean_study
from tests.support import INLINE


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


def test_scenarios_that_share_random_numbers_are_paired():
    result = shifted("shift")
    row = result.contrast("level", first=Shifted(1.0), second=Shifted(0.0)).iloc[0]
    assert row["paired"]
    assert row["estimate"] == pytest.approx(1)
    assert row["mcse"] == pytest.approx(0, abs=1e-12)


def test_scenarios_with_their_own_are_not():
    result = shifted()
    row = result.contrast("level", first=Shifted(1.0), second=Shifted(0.0)).iloc[0]
    each = result.summary["mcse"]
    assert not row["paired"]
    assert row["mcse"] == pytest.approx(np.hypot(*each))


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
