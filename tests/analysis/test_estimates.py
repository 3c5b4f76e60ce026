"""Estimates of many scenarios at once, of cells without a value, and of a first block."""

import threading
from dataclasses import dataclass

import numpy as np
import pytest

from benchmarks.test_engine import tiny
from simstudy.analysis import estimates
from simstudy.analysis.estimates import CellEstimates, side_by_side
from simstudy.design import grid
from simstudy.errors import StudyError
from simstudy.measures import MomentMeasure, bias, mean, model_se, rejection_rate, relative_bias
from simstudy.measures.moments import only
from simstudy.store import blocks
from simstudy.study import Rules, Study
from tests.factories import Shifted
from tests.measures.calibration import columns, every_measure
from tests.support import INLINE

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


# ---------------------------------------------------------------- cells without a value
@dataclass(frozen=True)
class Trial:
    effect: float

    def draw(self, streams, n_rep):
        return {"z": streams("data").normal(size=(n_rep, 2)), "theta": np.array([self.effect, 1.0])}

    def simulate(self, streams, n_rep):
        b = self.effect + streams("data").normal(size=(n_rep, 2))
        se = np.ones(n_rep) if self.effect else -np.ones(n_rep)
        theta = np.array([[self.effect, 1.0]])
        return {"b": b, "se": se, "theta": theta}


SOMETIMES = [
    bias("b", "effect"),
    relative_bias("b", "effect"),
    relative_bias("b", "theta", name="by_term"),
    model_se("se"),
]


def trials(effects, measures=SOMETIMES):
    return Study(
        "trial", grid(Trial, effect=effects), axes={"term": ("x", "y")}, measures=measures,
        block_size=50,
    )  # fmt: skip


@pytest.mark.parametrize("effects", [[0.2, 0.5, 0.0], [0.0, 0.5]])
def test_a_scenario_without_a_value_keeps_the_others(effects):
    measures = SOMETIMES if effects[0] else SOMETIMES[:-1]  # the first scenario shows a mistake
    result = trials(effects, measures).run(100, n_jobs=1)
    alone = trials([0.5]).run(100, n_jobs=1)
    for measure in measures:
        axes = {} if measure.name == "model_se" else {"term": "x"}
        there = result.row(measure.name, effect=0.5, **axes)
        assert there["estimate"] == alone.row(measure.name, effect=0.5, **axes)["estimate"]
        missing = result.row(measure.name, effect=0.0, **axes)
        if measure.name == "bias":
            assert np.isfinite(missing["estimate"])
            continue
        assert np.isnan(missing["estimate"])
        assert np.isnan(missing["mcse"])
        expected = "negative standard errors" if measure.name == "model_se" else "the truth is 0"
        assert expected in missing["reason"]
    assert np.isfinite(result.row("by_term", effect=0.0, term="y")["estimate"])
    assert str(result.table())


def test_a_measure_without_any_value_is_a_mistake():
    with pytest.raises(StudyError, match="relative_bias divides by the truth, which is 0"):
        _ = trials([0.0], [relative_bias("b", "effect")]).run(50, n_jobs=1).summary
    with pytest.raises(StudyError, match="negative standard errors"):
        _ = trials([0.0, -0.0], [model_se("se")]).run(50, n_jobs=1).summary


# ---------------------------------------------------------------- mistakes in a first block
SIZE = 20


@dataclass(frozen=True)
class Two:
    truth: float = 0.0

    def simulate(self, streams, n_rep):
        x = streams("data").normal(size=(n_rep, 2))
        return {"x": x, "p": np.abs(x[:, 0]), "text": np.full(n_rep, "a")}


def misspelt(x):
    return x + ofset  # noqa: F821


def early(measures, **declared):
    return Study("early", [Two()], measures, axes={"cell": ("a", "b")}, block_size=SIZE, **declared)


WIDE = MomentMeasure(
    name="wide", reads=("x",), terms=lambda columns: (columns["x"] + np.zeros(3),), value=only
)
MISTAKES = {
    "a name": (early([mean("z")], derived={"z": misspelt}), "'z' of Two.*NameError.*ofset"),
    "p-values": (early([rejection_rate("p")]), "p"),
    "text": (early([mean("text")]), "text"),
    "a measure of one's own": (
        early([mean("x"), WIDE]),
        "measure 'wide' cannot be computed from the first block: ValueError: ",
    ),
}


@pytest.mark.parametrize(("declared", "says"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_refused_when_one_block_is_there(declared, says, tmp_path):
    with pytest.raises(StudyError, match=says) as refusal:
        declared.run(50 * SIZE, out=tmp_path, **INLINE)
    assert "\n" not in str(refusal.value)
    good = early([mean("x")], derived=declared.derived)
    assert good.run(50 * SIZE, out=tmp_path, **INLINE).outcome.n_blocks == 49


def test_it_is_refused_before_anything_is_drawn_where_a_block_is_stored(tmp_path):
    early([mean("x")]).run(SIZE, out=tmp_path, **INLINE)
    with pytest.raises(StudyError, match="text"):
        early([mean("text")]).run(50 * SIZE, out=tmp_path, **INLINE)
    assert early([mean("x")]).run(2 * SIZE, out=tmp_path, **INLINE).outcome.n_blocks == 1
