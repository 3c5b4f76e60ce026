"""Replicates that share random numbers are found; independent ones are not accused."""

import functools
from dataclasses import dataclass

import numpy as np
import pytest

from simstudy.engine import independence
from simstudy.engine.error_policy import BlockContext
from simstudy.engine.independence import ALL_ALIKE, LEVEL, block_spread, check_alike
from simstudy.engine.methods import each_replicate
from simstudy.engine.progress import Silent
from simstudy.measures import bias, mean
from simstudy.study import Rules, Study

SIZE = 50


@dataclass(frozen=True)
class Shared:
    """A part of the error is drawn once for all replicates of a block."""

    n_obs: int = 3

    def draw(self, streams, n_rep):
        rng = streams("data")
        u = rng.normal(size=self.n_obs)  # meant: (n_rep, self.n_obs)
        return {"x": u + rng.normal(size=(n_rep, self.n_obs))}


@dataclass(frozen=True)
class Repeated(Shared):
    def draw(self, streams, n_rep):
        rng = streams("data")
        x = np.broadcast_to(rng.normal(size=self.n_obs), (n_rep, self.n_obs))
        return {"x": x, "noise": rng.normal(size=n_rep)}


@dataclass(frozen=True)
class FixedDesign(Shared):
    def draw(self, streams, n_rep):
        x = np.broadcast_to(np.linspace(0, 1, self.n_obs), (n_rep, self.n_obs))
        return {"x": x, "noise": streams("data").normal(size=n_rep)}


@dataclass(frozen=True)
class Unread(Shared):
    label: float = 0.0

    def draw(self, streams, n_rep):
        return {"x": streams("data").normal(size=(n_rep, self.n_obs))}


def noticed(*scenarios, n_rep=20 * SIZE, out=None):
    def average(x):
        return {"e": x.mean(axis=1), "positive": x.mean(axis=1) > 0.5}

    study = Study(
        "blocks", scenarios, [mean("e"), mean("positive")], methods={"mean": average},
        block_size=SIZE,
    )  # fmt: skip
    return study.run(n_rep, out=out, backend="inline", progress=Silent()).outcome.warnings


@pytest.mark.parametrize("scenario", [Shared(), Repeated()])
def test_a_number_that_a_block_shares_shows_in_its_means(scenario, tmp_path):
    said = noticed(scenario, out=tmp_path)
    assert [text for text in said if "block means of e vary" in text], said
    again = noticed(scenario, out=tmp_path, n_rep=21 * SIZE)
    assert ["block means of e vary" in text for text in again] == [True], "it is said once"


@pytest.mark.parametrize("scenario", [FixedDesign(), Unread()])
def test_independent_replicates_are_not_accused(scenario):
    assert noticed(scenario) == []


def test_a_factor_that_nothing_reads_is_named():
    (said,) = noticed(Unread(label=0.0), Unread(label=1.0), n_rep=SIZE)
    assert "reads the factor label" in said
    assert noticed(Unread(label=1.0), Unread(n_obs=4, label=1.0), n_rep=SIZE) == []


def plain(x):
    return {"e": x.mean(axis=1)}


def by_block(x, label):
    return {"e": x.mean(axis=1) + label}


def by_row(x, label):
    return {"e": x.mean() + label}


READERS = {
    "method": {"methods": {"a": by_block}},
    "method of one replicate": {"methods": {"a": each_replicate(by_row)}},
    "one of two methods": {"methods": {"a": plain, "b": by_block}},
    "partial": {"methods": {"a": functools.partial(by_block)}},
    "derived": {"methods": {"a": plain}, "derived": {"d": lambda e, label: e - label}},
    "measure": {"methods": {"a": plain}, "measures": [bias("e", "label")]},
}


@pytest.mark.parametrize("reader", READERS)
def test_a_factor_that_only_a_parameter_names_is_read(reader):
    scenarios = Unread(label=0.0), Unread(label=1.0)
    options = {"measures": [mean("e")], "block_size": SIZE} | READERS[reader]
    study = Study("read", scenarios, **options)
    assert study.run(SIZE, backend="inline", progress=Silent()).outcome.warnings == []


LAWS = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "cauchy": lambda rng, shape: rng.standard_cauchy(size=shape),
    "rare": lambda rng, shape: (rng.random(shape) < 0.01).astype(float),
    "very rare": lambda rng, shape: (rng.random(shape) < 0.003).astype(float),
    "mostly zero": lambda rng, shape: rng.normal(size=shape) * (rng.random(shape) < 0.02),
    "counts": lambda rng, shape: rng.poisson(2.0, size=shape).astype(float),
}


@pytest.mark.parametrize("shape", [(8, SIZE), (200, 10)], ids=["few blocks", "many small blocks"])
@pytest.mark.parametrize("law", LAWS)
def test_the_level_holds_for_any_law(law, shape):
    """Of 1,000 tests, 1 is expected below 1e-3: more than 9 have a probability below 1e-6."""
    rng = np.random.default_rng(1)
    p_values = np.array([block_spread(LAWS[law](rng, shape))[1] for _ in range(1000)])
    assert (p_values < 1e-3).sum() <= 9
    assert (p_values > LEVEL).all()


def test_rare_values_that_blocks_share_are_found():
    """The probability of a rejection differs between blocks: 1% or 11%."""
    rng = np.random.default_rng(1)
    chance = rng.choice([0.01, 0.11], size=(200, 1))
    ratio, p_value = block_spread((rng.random((200, SIZE)) < chance).astype(float))
    assert ratio > 1.5
    assert p_value < LEVEL


def test_blocks_with_the_same_values_have_no_spread():
    values = np.random.default_rng(1).normal(size=SIZE)
    assert block_spread(np.tile(values, (5, 1)))[1] == 0.0
    assert block_spread(np.zeros((5, SIZE)))[1] == 1.0


def test_many_columns_are_no_reason_for_an_alarm(monkeypatch):
    """With a level of 0.01 for all columns together, each of 40 p-values counts 40 times."""
    columns = [f"x{k}" for k in range(40)]

    @dataclass(frozen=True)
    class Many:
        def simulate(self, streams, n_rep):
            return {name: streams("data").normal(size=n_rep) for name in columns}

    study = Study("many", [Many()], [mean(name) for name in columns], block_size=SIZE)
    result = study.run(5 * SIZE, backend="inline", progress=Silent())
    p_values = iter([0.002, *[0.5] * 38, 0.0002])
    monkeypatch.setattr(independence, "LEVEL", 0.01)
    monkeypatch.setattr(independence, "block_spread", lambda values: (2.0, next(p_values)))
    units = result.plan.work_units
    (found,) = independence.odd_spreads(units, result.details.store, units.keys)
    assert found.column == sorted(columns)[-1]


@dataclass(frozen=True)
class InGroups:
    """Replicates of a group have the same value."""

    def simulate(self, streams, n_rep):
        return {"x": np.repeat(streams("data").normal(size=n_rep // 10), 10)}


@pytest.mark.parametrize("group_size", [1, 10])
def test_groups_that_are_declared_are_compared_by_their_means(group_size):
    study = Study(
        "groups", [InGroups()], [mean("x")], block_size=100, rules=Rules(group_size=group_size)
    )
    said = study.run(20_000, backend="inline", progress=Silent()).outcome.warnings
    assert ["block means of x vary" in text for text in said] == [True] * (group_size == 1)


@dataclass(frozen=True)
class OneCell:
    """The last of eight cells shares a number within a block."""

    def simulate(self, streams, n_rep):
        x = streams("data").normal(size=(n_rep, 8))
        x[:, 7] += 5 * streams("shared").normal()
        return {"x": x}


def test_each_of_the_first_cells_is_looked_at():
    axes = {"cell": tuple("abcdefgh")}
    study = Study("cells", [OneCell()], [mean("x")], axes=axes, block_size=SIZE)
    said = study.run(20 * SIZE, backend="inline", progress=Silent()).outcome.warnings
    assert ["block means of x vary" in text for text in said] == [True]


@pytest.mark.parametrize("place", [None, 30])
def test_replicates_are_alike_only_if_no_later_one_differs(place):
    """Rare events may be absent from the first rows."""
    rare = np.zeros(100)
    if place:
        rare[place] = 1
    context = BlockContext(rng_events={})
    check_alike(context, object(), {"e": rare}, {"x": rare})
    assert list(context.rng_events) == ([] if place else [ALL_ALIKE])
