"""Data sets drawn one at a time, values that methods may ask for, and mistakes that stop a run."""

import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.linalg

from simstudy import Rules, Study, each_replicate, grid
from simstudy.errors import StudyError
from simstudy.measures import bias, bootstrapped, mean
from simstudy.study.run import try_measures
from tests.support import INLINE, on


@dataclass(frozen=True)
class Sizes:
    """Data sets of random size; some cannot be drawn."""

    shift: float = 1.0
    truth = 1.0

    def draw_one(self, rng):
        n = rng.integers(2, 9)
        if n == 2:
            raise ValueError("too few")
        return {"x": self.shift + rng.normal(size=n), "names": list("ab")}


def average(x, names):
    return {"estimate": x.mean(), "n": len(x), "first": names[0]}


def test_data_sets_are_drawn_one_at_a_time_and_one_that_fails_costs_one_replicate():
    study = Study("sizes", [Sizes()], [bias("estimate", truth="truth"), mean("n")],
                  methods={"mean": average, "again": each_replicate(average)})  # fmt: skip
    assert study.block_size == 50
    result = study.run(100, **INLINE)
    rows = result.replicates
    failed = rows["error"].notna()
    assert 0 < failed.sum() < 60
    assert set(rows["error"][failed]) == {"ValueError: too few"}
    assert rows["n"][~failed].between(3, 8).all()
    assert set(rows["first"][~failed]) == {"a"}
    wide = rows.pivot_table(index="rep", columns="method", values="estimate")
    assert (wide["mean"] == wide["again"]).all()
    streams = study.plan(1).streams(Sizes(), 0)
    alone = [streams.of_replicate(row) for row in range(50)]
    sizes = [rng.integers(2, 9) for rng in alone]
    assert [n == 2 for n in sizes] == failed[rows["method"] == "mean"].tolist()[:50]
    found = result.row("bias", method="mean")
    assert found["estimate"] == pytest.approx(rows["estimate"][::2].mean() - 1.0, abs=0.2)


@dataclass(frozen=True)
class WithoutGenerator:
    def draw_one(self):
        return {"x": 1.0}


def test_where_no_data_set_can_be_drawn_the_reason_is_named():
    """And not that the method's parameter `x` is unknown."""
    study = Study("none", [WithoutGenerator()], [mean("e")], methods={"m": lambda x: {"e": x}})
    with pytest.raises(StudyError, match=r"all 50 replicates .*\.draw_one\(\) takes 1 positional"):
        study.run(50, **INLINE)


def test_a_replicate_whose_data_cannot_be_drawn_is_replayed():
    result = Study("sizes", [Sizes()], methods={"mean": average}).run(50, **INLINE)
    with pytest.raises(ValueError, match="too few"):
        Study("sizes", [Sizes()], methods={"mean": average}).replay(result.failures["address"][0])


@dataclass(frozen=True)
class Arms:
    n_obs: int = 20
    cuts = (0.25, 0.75)

    @property
    def weights(self):
        return np.arange(self.n_obs) / 10

    def draw(self, streams, n_rep):
        x = streams("data").normal(size=(n_rep, self.n_obs))
        return {"x": x}

    @property
    def arm(self):
        return np.arange(self.n_obs) % 2


def by_arm(x, arm):
    return {"difference": x[..., arm == 1].mean(-1) - x[..., arm == 0].mean(-1)}


def weighted(x, weights, cuts):
    return {"difference": np.asarray(x @ weights + sum(cuts))}


@pytest.mark.parametrize("method", [by_arm, weighted])
def test_properties_are_given_whole(method):
    """The block has as many replicates as there are observations."""
    methods = {"whole": method, "rows": each_replicate(method)}
    study = Study("arms", [Arms()], [mean("difference")], methods=methods, block_size=20)
    result = study.run(40, **INLINE)
    block, rows = (result.columns(Arms(), "difference")["difference"][:, i] for i in (0, 1))
    assert result.n_failed == 0
    np.testing.assert_allclose(block, rows)


@pytest.mark.parametrize("rep", [0, 33])
def test_the_data_of_one_replicate(rep):
    methods = {"m": each_replicate(by_arm)}
    study = Study("arms", [Arms()], [mean("difference")], methods=methods, block_size=20)
    stored = study.run(40, **INLINE).columns(Arms(), "difference")["difference"][rep, 0]
    data = study.data(Arms(), rep)
    assert data["x"].shape == (20,)
    assert by_arm(**data, arm=Arms().arm)["difference"] == stored


# ---------------------------------------------------------------- mistakes
@dataclass(frozen=True)
class Matrices:
    k: float = 0.0

    def draw(self, streams, n_rep):
        return {"x": streams("data").standard_normal((n_rep, 6, 6))}


def fast(x):
    return {"e": float(scipy.linalg.svd(x.T, compute_uv=False, overwrite_a=True)[0])}


def plain(x):
    return {"e": x.sum(axis=(1, 2))}


def test_a_method_that_changes_the_data_of_others_is_named():
    methods = {"fast": each_replicate(fast), "plain": plain}
    with pytest.raises(StudyError, match="method 'fast' changed its data 'x', which other methods"):
        Study("matrices", [Matrices()], [mean("e")], methods=methods).run(100, **INLINE)


@pytest.mark.parametrize(
    "method",
    [lambda x: {"e": np.full(len(x), np.nan)}, each_replicate(lambda x: {"e": np.nan})],
    ids=["block", "rows"],
)
def test_nothing_but_nan_stops_the_study(method):
    study = Study("matrices", [Matrices()], [mean("e")], methods={"m": method}, block_size=20)
    with pytest.raises(StudyError, match="NaN in e in all replicates of the first block"):
        study.run(40, **INLINE)


@pytest.mark.parametrize("rules", [Rules(max_failed=1), Rules(may_be_missing=("e",))])
def test_nothing_but_nan_may_be_a_result(rules):
    method = {"m": lambda x: {"e": np.full(len(x), np.nan)}}
    study = Study("matrices", [Matrices()], methods=method, block_size=20, rules=rules)
    assert study.run(40, **INLINE).n_failed == (40 if rules.max_failed else 0)


# ---------------------------------------------------------------- warnings
@dataclass(frozen=True)
class Noisy:
    k: float

    def draw(self, streams, n_rep):
        warnings.warn("of the data", stacklevel=1)
        return {"x": streams("data").random(n_rep)}


def warns(x):
    if x < 0.1:
        warnings.warn(f"small {x:.4f}", stacklevel=1)
    return {"e": x}


def loud(x):
    for _ in range(200):
        warnings.warn("of a block", stacklevel=1)
    return {"e": x}


@pytest.mark.filterwarnings("ignore:of a block", "ignore:of the data")
def test_warnings_are_recorded_alike_on_every_backend():
    methods = {"rows": each_replicate(warns), "whole": loud}
    scenarios = grid(Noisy, k=[1.0, 2.0, 3.0, 4.0])
    study = Study("noisy", scenarios, [mean("e")], methods=methods, block_size=20)
    tables = [
        study.run(200, **on(backend, 4)).replicates[["k", "method", "rep", "e", "warning"]]
        for backend in ("inline", "threads")
    ]
    assert tables[0].equals(tables[1])
    small = (tables[0]["e"] < 0.1) & (tables[0]["method"] == "rows")
    assert (tables[0]["warning"].notna() == small).all()


def test_trying_the_measures_leaves_the_warnings_of_other_threads_alone():
    tried, warned, trials = threading.Event(), threading.Event(), []

    def slow(e):
        tried.set()
        warned.wait(10)
        return e.mean()

    def warn_meanwhile(x):
        trials.append(threads.submit(try_measures, result))
        tried.wait(10)
        warnings.warn("late", stacklevel=1)
        warned.set()
        return {"e": x}

    warned.set()  # until the run has ended
    measure = bootstrapped(slow, n_boot=100)
    result = Study("slow", [Noisy(1.0)], [measure], methods={"rows": each_replicate(warns)},
                   block_size=20).run(20, **INLINE)  # fmt: skip
    tried.clear()
    warned.clear()
    with ThreadPoolExecutor(1) as threads:
        columns = each_replicate(warn_meanwhile)(x=np.zeros(1))
        trials[0].result()
    assert columns["warning"].tolist() == ["UserWarning: late"]


def test_what_is_no_dict_is_named_data_and_the_refusal_says_so():
    class Bare(Sizes):
        def draw_one(self, rng):
            return rng.normal(size=5)

    study = Study("bare", [Bare()], [mean("m")], methods={"m": lambda x: {"m": x.mean()}})
    with pytest.raises(StudyError, match="what draw_one returns is named data, if it is no dict"):
        study.run(10, **INLINE)
