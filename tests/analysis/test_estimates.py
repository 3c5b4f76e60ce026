"""Estimates of many scenarios at once: the bits of each alone, whatever lies beside it."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simstudy.analysis.estimates import FromRows
from simstudy.design import grid
from simstudy.engine.workers import Workers
from simstudy.errors import StudyError
from simstudy.measures import MomentMeasure, mean, mse
from simstudy.measures.columns import total
from simstudy.measures.moments import only
from simstudy.study import Study
from tests.measures.calibration import columns, every_measure

MEASURES = list(every_measure().values())
N_REP = 37


@dataclass(frozen=True)
class Everything:
    """All that measures read, in three cells; NaN where the last was fragile, if `fails`."""

    n: int
    fails: bool = False

    def simulate(self, streams, n_rep):
        rng = streams("data")
        made = columns(lambda rng, shape: rng.standard_normal(shape), rng, n_rep, 3)
        if self.fails:
            made = {**made, "error": np.where(np.isnan(made["fragile"]), "stuck", None)}
        return {**made, "se": made["se"][:, 0]}  # a column without the axis


def everything(n_scenarios, **settings):
    return Study(
        "everything",
        [Everything(n, **settings) for n in range(n_scenarios)],
        measures=MEASURES,
        axes={"method": ("a", "b", "c")},
        block_size=20,
        may_be_missing=("fragile", "fragile_reject"),
    )


def bits(estimates):
    return [np.asarray(part).tolist() for part in estimates]


@pytest.mark.parametrize("fails", [False, True])
def test_side_by_side_has_the_bits_of_one_alone(fails):
    result = everything(6, fails=fails).run(N_REP, workers=Workers("inline"))
    found = result.estimates(MEASURES)
    for scenario in result.plan.scenarios:
        key = result.plan.key_of(scenario)
        for measure in MEASURES:
            alone = measure.estimate(result.columns(scenario, *measure.reads))
            ours = found[key, measure.name]
            for part, expected in zip(ours, alone, strict=True):
                assert np.shape(part) == np.shape(expected), measure.name
                np.testing.assert_array_equal(part, expected, err_msg=measure.name)


def test_most_measures_are_taken_side_by_side(monkeypatch):
    """A negative control of the test above: it would prove nothing if none were."""
    taken = []
    plain = FromRows._side_by_side

    def watched(self, batch):
        taken.append((batch.n, {measure.name for measure in self._by_cell}))
        return plain(self, batch)

    monkeypatch.setattr(FromRows, "_side_by_side", watched)
    result = everything(6).run(N_REP, workers=Workers("inline"))
    _ = result.estimates(MEASURES)
    ((n_scenarios, names),) = taken
    assert n_scenarios == 6
    assert len(names) > 20
    assert not names & {"bias_eliminated_coverage", "median_estimate"}


@dataclass(frozen=True)
class Shifted:
    shift: float

    def simulate(self, streams, n_rep):
        return {"x": self.shift + streams("data").standard_normal(n_rep)}


def shifted(measures, shifts):
    return Study("shifted", grid(Shifted, shift=shifts), measures=measures, block_size=10)


def test_another_scenario_moves_no_bit():
    """Of one, two or many, and of any number of replicates: nobody's sum depends on company."""
    measures = [mean("x"), mse("x", 0.0)]
    many = shifted(measures, list(range(9))).run(30, workers=Workers("inline"))
    few = shifted(measures, [3, 5]).run(30, workers=Workers("inline"))
    alone = shifted(measures, [5]).run(30, workers=Workers("inline"))
    numbers = ["estimate", "mcse", "lower", "upper"]
    rows = [r.summary.query("shift == 5")[numbers].to_numpy() for r in (many, few, alone)]
    np.testing.assert_array_equal(rows[0], rows[1])
    np.testing.assert_array_equal(rows[0], rows[2])


def test_a_users_own_measure_sees_one_scenario_at_a_time():

    seen = []

    def terms(columns):
        seen.append(columns["x"].shape)
        return (columns["x"],)

    watching = MomentMeasure(name="watching", reads=("x",), terms=terms, value=only)
    result = shifted([watching], [1, 2, 3]).run(30, workers=Workers("inline"))
    seen.clear()  # it was looked at early, of a first block
    result.estimates([watching])
    assert set(seen) == {(30,)}


def test_a_column_that_cannot_be_measured_is_said_of_its_scenario():
    with pytest.raises(StudyError, match=r"Shifted\(shift=1\): measure 'mean_y' reads column 'y'"):
        shifted([mean("y")], [1, 2]).run(10, workers=Workers("inline"))


# ---------------------------------------------------------------- sums
def halves(values):
    """The sum as it is described, for one cell."""
    values = [float(value) for value in values]
    while len(values) > 1:
        half = len(values) // 2
        rest = values[2 * half :]
        values = [a + b for a, b in zip(values[:half], values[half : 2 * half], strict=True)]
        values[0] += sum(rest)
    return values[0] if values else 0.0


@given(st.integers(0, 70), st.integers(1, 4), st.sampled_from("CFT"), st.booleans())
def test_a_total_is_the_same_however_it_lies(n, n_cells, lies, flags):
    rng = np.random.default_rng(n)
    values = rng.standard_normal((n, n_cells)) * 10.0 ** rng.integers(-9, 9, (n, n_cells))
    values = values > 0 if flags else values
    expected = [halves(values[:, cell]) for cell in range(n_cells)]
    laid = {
        "C": np.ascontiguousarray(values),
        "F": np.asfortranarray(values),
        "T": np.repeat(values, 2, axis=0)[::2],
    }[lies]
    assert total(laid).tolist() == expected
    assert total(laid[:, 0]).tolist() == expected[0]


def test_a_total_leaves_what_it_adds_as_it_was():
    values = np.arange(7.0)
    total(values)
    assert values.tolist() == list(range(7))
