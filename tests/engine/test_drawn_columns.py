"""Measures read what `draw` returned and numbers of the scenario, which no method hands through."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest

from simstudy import Rules, Study, grid
from simstudy.errors import StudyError
from simstudy.measures import bias, coverage


@dataclass(frozen=True)
class RandomTruth:
    n_obs: int

    @property
    def double(self):
        return 2.0 * self.n_obs

    @property
    def table(self):
        return "no number"

    def draw(self, streams, n_rep):
        rng = streams("data")
        truth = rng.normal(size=n_rep)
        return {"truth": truth, "x": rng.normal(truth[:, None], 1.0, (n_rep, self.n_obs))}


def average(x):
    return {"estimate": x.mean(axis=1), "se": np.full(len(x), x.shape[1] ** -0.5)}


def handed_through(x, truth):
    return average(x) | {"truth": truth}


MEASURES = [
    bias("estimate", "truth"),
    coverage(estimate="estimate", se="se", truth="truth"),
    bias("estimate", "double", name="far"),
]


def study(**methods):
    return Study(
        "random_truth",
        grid(RandomTruth, n_obs=[4, 9]),
        methods=methods,
        measures=MEASURES,
        block_size=100,
    )


def test_the_drawn_truth_is_that_which_a_method_would_hand_through():
    mine = study(average=average).run(150, n_jobs=1)
    theirs = study(average=handed_through).run(150, n_jobs=1)
    pd.testing.assert_frame_equal(mine.summary, theirs.summary)
    assert abs(mine.row("coverage", n_obs=9)["estimate"] - 0.95) < 0.1
    far = mine.row("far", n_obs=4)["estimate"]
    assert far == pytest.approx(mine.values("estimate", n_obs=4).mean() - 8.0)


@pytest.mark.parametrize("name", ["x", "table", "thruth"])
def test_what_is_no_number_of_a_replicate_or_scenario_is_refused(name):
    wrong = replace(study(average=average), measures=[bias("estimate", name)])
    with pytest.raises(StudyError, match=f"reads column '{name}'"):
        wrong.run(100, n_jobs=1)


@dataclass(frozen=True)
class OneTruth(RandomTruth):
    def draw(self, streams, n_rep):
        return {"truth": 0.5, "x": streams("data").normal(0.5, 1.0, (n_rep, self.n_obs))}


def test_one_number_for_all_replicates_is_read_too():
    measures = [bias("estimate", truth="truth")]
    drawn = Study("one", [OneTruth(5)], methods={"mean": average}, measures=measures)
    result = drawn.run(100)
    assert (result.replicates["truth"] == 0.5).all()
    expected = result.replicates["estimate"].mean() - 0.5
    assert result.row("bias")["estimate"] == pytest.approx(expected)


def test_a_new_measure_reads_drawn_numbers_without_the_methods(tmp_path):
    """The data are drawn again; methods, which may take long, are not called."""
    calls = []

    def counted(x):
        calls.append(round(float(x.sum()), 6) if len(x) == 100 else calls[-1])
        blocks = list(dict.fromkeys(calls))
        if len(blocks) == 2 and len(x) == 100:
            raise ValueError("a block that fails")
        return average(x)

    rules = Rules(max_failed=1)
    few = replace(study(m=counted), rules=rules, measures=[bias("estimate", 0.0, name="raw")])
    few.run(200, n_jobs=1, out=tmp_path)
    n_calls = len(calls)
    more = replace(few, measures=MEASURES)
    found = more.run(200, n_jobs=1, out=tmp_path)
    assert len(calls) == n_calls
    failed = {n_obs: found.row("bias", n_obs=n_obs)["n_failed"] for n_obs in (4, 9)}
    assert sorted(failed.values()) == [0, 100]
    longer = more.run(300, n_jobs=1, out=tmp_path)  # whose new blocks store the drawn truth
    whole = study(m=average).run(300, n_jobs=1)
    for n_obs, n_failed in failed.items():
        x, y = (each.values("estimate", n_obs=n_obs) for each in (longer, whole))
        errors = y - whole.values("truth", n_obs=n_obs)
        row = longer.row("bias", n_obs=n_obs)
        assert row["estimate"] == pytest.approx(errors[~np.isnan(x)].mean(), abs=1e-12)
        assert row["n_rep"] == 300 - n_failed


@dataclass(frozen=True)
class Censored:
    """A time that some replicates lack, and data under names that tables use."""

    def draw(self, streams, n_rep):
        rng = streams("data")
        time = rng.exponential(size=n_rep)
        time[::10] = np.nan
        return {"time": time, "error": rng.normal(size=n_rep), "block": np.arange(n_rep),
                "x": rng.normal(size=(n_rep, 3))}  # fmt: skip


def test_drawn_numbers_are_stored_and_are_no_failures_until_a_measure_reads_them(tmp_path):
    first = Study("censored", [Censored()], methods={"m": lambda x: {"y": x[:, 0]}}, block_size=50,
                  measures=[bias("y", 0.0, name="y")])  # fmt: skip
    result = first.run(100, n_jobs=1, out=tmp_path)
    assert result.n_failed == 0
    assert result.details.store.column_names() == {"scenario", "rep", "y", "time"}
    later = replace(first, measures=[bias("time", 1.0, name="time")])
    found = later.run(100, n_jobs=1, out=tmp_path)
    assert found.outcome.n_blocks == 0
    assert (found.row("time")["n_rep"], found.row("time")["n_failed"]) == (90, 10)
    anew = later.run(100, n_jobs=1, out=tmp_path / "anew")
    assert found.row("time")["estimate"] == anew.row("time")["estimate"]
    assert set(anew.failures["error"]) == {"NaN in time"}
