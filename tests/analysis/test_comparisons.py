"""Differences with the error that pairing leaves."""

from dataclasses import dataclass

import numpy as np
import pytest

from simstudy.design import Columns, grid
from simstudy.engine.workers import Workers
from simstudy.errors import StudyError
from simstudy.measures import mean
from simstudy.provenance.streams import Streams
from simstudy.study import Study
from tests import toy

INLINE = Workers("inline", 1)


@pytest.fixture(scope="module")
def result():
    return toy.study().run(400, seed=2, workers=INLINE)


@dataclass(frozen=True)
class Shifted:
    shift: float

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        return {"x": self.shift + streams("data").standard_normal(n_rep)}


def shifted(*common: str):
    scenarios = grid(Shifted, shift=[0.0, 1.0])
    return Study("shifted", scenarios, [mean("x", name="level")], common=common).run(
        500, workers=INLINE
    )


def test_a_paired_difference_is_the_mean_of_differences(result):
    found = result.contrast("coverage", axis="method", first="t", second="z")
    for scenario, row in zip(result.plan.scenarios, found.to_dict("records"), strict=True):
        data = result.columns(scenario, "lower", "upper")
        covers = (data["lower"] <= 0) & (data["upper"] >= 0)
        difference = covers[:, 0].astype(float) - covers[:, 1]
        assert row["estimate"] == pytest.approx(difference.mean())
        assert row["mcse"] == pytest.approx(difference.std(ddof=1) / np.sqrt(400))
        assert row["n_obs"] == scenario.n_obs
        assert row["contrast"] == "t against z"


def test_pairing_leaves_less_error_than_independence(result):
    found = result.contrast("coverage", axis="method", first="t", second="z")
    alone = result.summary.query("measure == 'coverage'").groupby("n_obs")["mcse"]
    assert (found.set_index("n_obs")["mcse"] < alone.apply(lambda one: np.hypot(*one))).all()


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
        (("coverage", "method", "t", "u"), "axis 'method' has no 'u'; there is: t, z"),
    ],
)
def test_refuses_what_is_not_there(result, ask, says):
    measure, axis, first, second = ask
    with pytest.raises(StudyError) as refusal:
        result.contrast(measure, axis=axis, first=first, second=second)
    assert says in str(refusal.value)


def test_two_names_without_their_axis_are_refused(result):
    with pytest.raises(StudyError, match=r"add axis=\.\.\., one of method"):
        result.contrast("coverage", first="t", second="z")
