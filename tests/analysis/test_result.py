"""A result: tidy frames and arrays of what was drawn, and what failed with its address."""

from dataclasses import dataclass

import numpy as np
import pytest

from simstudy.design import grid, scenario_key
from simstudy.engine.workers import Workers
from simstudy.errors import FigureError, StudyError
from simstudy.measures import mean
from simstudy.study import Study
from tests import toy

INLINE = Workers("inline", 1)


@pytest.fixture(scope="module")
def result():
    return toy.study((3, 10)).run(120, workers=INLINE)


@dataclass(frozen=True)
class Fragile:
    """The first method fails now and then, the whole replicate less often."""

    k: float

    def simulate(self, streams, n_rep):
        x = streams("data").random((n_rep, 2))
        error = np.full((n_rep, 2), None, dtype=object)
        error[x[:, 0] < 0.1, 0] = "no root"
        error[x[:, 1] < 0.05] = "no data"
        return {"x": x, "error": error, "single": x[:, 0]}


def fragile():
    axes = {"method": ("a", "b")}
    return Study("fragile", grid(Fragile, k=[0, 1]), [mean("x")], axes, block_size=40)


def test_a_result_is_shown_in_a_few_lines(result):
    assert repr(result).splitlines() == [
        "Result of toy: 2 scenarios of Mean",
        "  n_obs = 3, 10; truth = 0.0",
        "  method: t, z",
        "  measures: bias, coverage, empirical_se",
        "  120 replicates of each scenario, none failed; seed 1",
    ]
    failing = fragile().run(80, workers=INLINE)
    assert f"80 replicates of each scenario, {failing.n_failed} failed" in repr(failing)


def test_replicates_are_tidy(result):
    rows = result.replicates
    assert len(rows) == 2 * 120 * 2
    assert list(rows)[:4] == ["n_obs", "truth", "rep", "method"]
    assert set(rows) >= {"estimate", "lower", "upper"}
    for one in result.plan.scenarios:
        arrays = result.columns(one, "estimate", "upper")
        for i, method in enumerate(toy.METHODS):
            cell = rows[(rows["n_obs"] == one.n_obs) & (rows["method"] == method)]
            assert cell["rep"].tolist() == list(range(120))
            np.testing.assert_array_equal(cell["estimate"], arrays["estimate"][:, i])
            np.testing.assert_array_equal(cell["upper"], arrays["upper"][:, i])


def test_rows_of_some_scenarios_and_columns(result):
    one = result.plan.scenarios[1]
    rows = result.rows(one, columns=["truth"])
    assert len(rows) == 120, "without the axes' columns a replicate is one row"
    assert set(rows["n_obs"]) == {10}
    assert "method" not in rows


def test_a_column_is_an_array_over_replicates_and_axes(result):
    data = result.columns(result.plan.scenarios[0], "estimate", "truth")
    assert data["estimate"].shape == (120, 2)
    assert data["truth"].shape == (120,)


def test_the_first_block_is_whole_however_few_replicates_were_asked_for(result):
    scenario, size = result.plan.scenarios[0], result.plan.block_size
    few = toy.study((3, 10)).run(2, workers=INLINE)
    assert few.columns(scenario, "estimate")["estimate"].shape == (2, 2)
    plain = scenario.simulate(result.plan.streams(scenario, 0), size)
    for run in (few, result):
        block = run.first_block(scenario, "estimate", "truth")
        np.testing.assert_array_equal(block["estimate"], plain["estimate"])
        assert block["truth"].shape == (size,)


def test_a_value_by_measure_and_factors(result):
    row = result.value("coverage", n_obs=3, method="t")
    assert row["exact"] == 0.95
    assert row["n_obs"] == 3
    assert result.value("coverage", truth=0.0, n_obs=3.0 + 1e-12, method="t")["exact"] == 0.95
    for where in ({"n_obs": 3}, {"n_obs": 4, "method": "t"}):
        with pytest.raises(LookupError, match="rows have measure 'coverage' and"):
            result.value("coverage", **where)


def test_a_scenario_that_was_not_drawn(result):
    with pytest.raises(LookupError, match="is not in this run"):
        result.columns(toy.Mean(99), "estimate")
    with pytest.raises(LookupError, match="is not in this run"):
        result.first_block(toy.Mean(99), "estimate")
    with pytest.raises(LookupError, match="is not in this run"):
        result.rows(toy.Mean(99))


def test_a_figure_by_name():
    study = Study(
        "drawn", grid(toy.Mean, n_obs=[3]), axes={"method": toy.METHODS},
        figures={"1": lambda r: ("figure of", r.plan.name), "1B": lambda r: "other"},
    )  # fmt: skip
    result = study.run(10, workers=INLINE)
    assert result.figure("1") == ("figure of", "drawn")
    with pytest.raises(FigureError, match=r"no figure '1b' in drawn; did you mean '1B'\?"):
        result.figure("1b")


# ---------------------------------------------------------------- failures
def test_every_failure_has_its_place_and_address():
    result = fragile().run(100, workers=INLINE)
    plain = []
    for one in result.plan.scenarios:
        draws = [
            simulated
            for block in range(3)
            for simulated in [one.simulate(result.plan.streams(one, block), 40)]
        ]
        error = np.concatenate([d["error"] for d in draws])[:100]
        plain += [
            (one.k, rep // 40, rep, "ab"[cell], error[rep, cell], f"{scenario_key(one)}/{rep}")
            for cell in (0, 1)
            for rep in range(100)
            if error[rep, cell] is not None
        ]
    found = result.failures.itertuples(index=False, name=None)
    assert list(result.failures) == ["k", "block", "rep", "method", "error", "address"]
    assert sorted(found) == sorted(plain)
    assert len(plain) > 10


# ---------------------------------------------------------------- moments only
def test_without_replicates_the_summary_is_all_there_is():
    result = toy.study((3,)).run(100, keep="summary", workers=INLINE)
    assert len(result.summary) == 6
    assert len(result.failures) == 0
    for ask in (
        lambda: result.replicates,
        lambda: result.columns(result.plan.scenarios[0], "x"),
        lambda: result.first_block(result.plan.scenarios[0], "x"),
        lambda: result.summary_all_methods,
    ):
        with pytest.raises(StudyError, match="kept no replicates, only its summary"):
            ask()


def test_what_is_held_in_memory_goes_with_the_result():
    from pathlib import Path

    result = toy.study((3,)).run(10, workers=INLINE)
    folder = Path(result.store.files.path)
    assert folder.exists()
    del result
    assert not folder.exists()


def test_a_column_that_has_a_factors_name_and_other_values_hides_no_factor():
    @dataclass(frozen=True)
    class Shifted:
        shift: float = 2.0

        def simulate(self, streams, n_rep):
            return {"shift": streams("data").normal(self.shift, 1.0, size=n_rep)}

    rows = Study("shifted", [Shifted()], [mean("shift")]).run(10, workers=INLINE).replicates
    assert (rows["shift (factor)"] == 2.0).all()
    assert rows["shift"].nunique() == 10
