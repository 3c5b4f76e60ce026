"""Estimates of many scenarios at once: the bits of each alone, whatever lies beside it."""

import threading
from dataclasses import dataclass

import numpy as np
import pytest

from benchmarks.test_engine import tiny
from simstudy.analysis import estimates
from simstudy.analysis.estimates import CellEstimates, side_by_side
from simstudy.design import grid
from simstudy.measures import MomentMeasure
from simstudy.measures.moments import only
from simstudy.store import blocks
from simstudy.study import Rules, Study
from tests.factories import Shifted
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
        rules=Rules(may_be_missing=("fragile", "fragile_reject")),
    )


@pytest.mark.parametrize("fails", [False, True])
def test_side_by_side_has_the_bits_of_one_alone(fails):
    result = everything(6, fails=fails).run(N_REP, backend="inline")
    found = result.details.estimates(MEASURES)
    for scenario in result.plan.scenarios:
        key = result.plan.key_of(scenario)
        for measure in MEASURES:
            alone = measure.estimate(result.columns(scenario, *measure.reads))
            ours = found[key, measure.name]
            for part, expected in zip(ours[:-1], alone[:-1], strict=True):
                assert np.shape(part) == np.shape(expected), measure.name
                np.testing.assert_array_equal(part, expected, err_msg=measure.name)


def test_most_measures_are_taken_side_by_side(monkeypatch):
    """A negative control of the test above: it would prove nothing if none were."""
    taken = []
    plain = CellEstimates._side_by_side

    def watched(self, batch):
        taken.append((len(batch.keys), {measure.name for measure in self.measures}))
        return plain(self, batch)

    monkeypatch.setattr(CellEstimates, "_side_by_side", watched)
    result = everything(6).run(N_REP, backend="inline")
    _ = result.details.estimates(MEASURES)
    ((n_scenarios, names),) = taken
    assert n_scenarios == 6
    assert len(names) > 20
    assert not names & {"bias_eliminated_coverage", "median_estimate"}


def shifted(measures, shifts):
    return Study("shifted", grid(Shifted, shift=shifts), measures=measures, block_size=10)


def test_a_users_own_measure_sees_one_scenario_at_a_time():

    seen = []

    def terms(columns):
        seen.append(columns["x"].shape)
        return (columns["x"],)

    watching = MomentMeasure(name="watching", reads=("x",), terms=terms, value=only)
    result = shifted([watching], [1, 2, 3]).run(30, backend="inline")
    seen.clear()  # it was looked at early, of a first block
    result.details.estimates([watching])
    assert set(seen) == {(30,)}


# ---------------------------------------------------------------- in threads
@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_order_is_that_of_the_items(n_threads):
    first_may_end = threading.Event()

    def work(item):
        if item == 0 and n_threads > 1:
            assert first_may_end.wait(10)
        if item == 1:
            first_may_end.set()
        return item**2

    assert list(side_by_side(work, range(20), n_threads)) == [item**2 for item in range(20)]


def test_settings_of_numpy_hold_in_threads():
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        list(side_by_side(lambda item: np.ones(1) / item, [1, 0, 2], 2))


@pytest.mark.parametrize("n_cores", [2, pytest.param(7, marks=pytest.mark.slow)])
def test_a_summary_by_threads_has_the_same_bits(n_cores, monkeypatch, tmp_path):
    study = tiny(12, 1000)
    result = study.run(n_rep=3000, out=tmp_path)
    monkeypatch.setattr(blocks, "VALUES_AT_ONCE", 4000)
    monkeypatch.setattr(estimates, "available_cores", lambda: 1)
    alone = study.run(n_rep=3000, out=tmp_path).summary
    monkeypatch.setattr(estimates, "available_cores", lambda: n_cores)
    threaded = study.run(n_rep=3000, out=tmp_path).summary
    assert threaded.equals(alone)
    assert result.summary.equals(alone)
