"""The summary: one row per scenario, cell and measure, with its numbers in place."""

import itertools
from dataclasses import dataclass, replace

import numpy as np
import pytest

from simstudy.analysis.summary import NUMBERS
from simstudy.design import grid
from simstudy.errors import StudyError
from simstudy.measures import bias, empirical_se, mean, rejection_rate
from simstudy.study import Rules, Study
from tests.factories import mean_study
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


# ---------------------------------------------------------------- blocks that are lost
class Lost(Exception):
    """Of a block from which nothing comes back."""


@dataclass(frozen=True)
class LosesBlocks(TwoAxes):
    """Loses the blocks whose first number is among the larger half, or all of them."""

    always: bool = False

    def simulate(self, streams, n_rep):
        if self.always or streams("fate").random() < 0.5:
            raise Lost("nothing came back")
        return super().simulate(streams, n_rep)


@pytest.mark.parametrize("always", [False, True])
def test_blocks_that_failed_as_a_whole_count_as_failures(always):
    study = replace(
        two_axes(),
        name="spread",
        scenarios=[LosesBlocks(4, always=always), LosesBlocks(16)],
        rules=Rules(max_failed=1),
    )
    rows = study.run(280, **INLINE).summary
    of_measures = rows[rows["measure"] != "convergence_rate"]
    assert set(of_measures["n_failed"]) == ({280, 160} if always else {80, 160})


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


def test_theory_of_other_measures_is_no_slip():
    study = two_axes()
    assert "empirical_se" in study.scenarios[0].exact()
    fewer = Study(
        "fewer", study.scenarios, [mean("x", name="mean_x")], axes=study.axes, block_size=40
    )
    assert len(fewer.run(40, **INLINE).summary) == 2


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
