"""Levels that are objects or arrays: the name is the level, the object is what the study gets."""

import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from simstudy import Study, grid
from simstudy.lazy import stats
from simstudy.measures import bias, mean
from simstudy.provenance.scenario_id import identity, with_factor


@dataclass(frozen=True)
class Trial:
    law: Any
    shift: Any = 0.0

    def draw(self, streams, n_rep):
        return {"x": self.law.rvs(size=(n_rep, 5), random_state=streams("data"))}


@dataclass(frozen=True)
class ByName:
    """The same with names as levels."""

    law: str


def shifted(x, shift):
    return {"x": x.mean(axis=1) + np.sum(shift)}


def study(**factors) -> Study:
    return Study("laws", grid(Trial, **factors), [mean("x")], methods={"mean": shifted}, n_rep=40,
                 block_size=20)  # fmt: skip


LAWS = {"normal": stats.norm(), "t": stats.t(3.0)}


def test_a_scenario_has_the_object_and_is_known_by_the_name():
    normal, t = grid(Trial, law=LAWS)
    assert t.law is LAWS["t"]
    assert identity(t) == "Trial(law='t')"
    assert identity(grid(ByName, law=["normal", "t"])[0]) == identity(normal).replace(
        "Trial", "ByName"
    )


def test_one_that_was_sent_to_a_worker_is_known_by_the_name_too():
    made = grid(Trial, law=LAWS)
    sent = pickle.loads(pickle.dumps(made))
    assert [*map(identity, sent)] == [*map(identity, made)]


def test_tables_and_selection_use_the_name():
    result = study(law=LAWS, shift={"none": np.zeros(2), "one": np.array([1.0, 0.0])}).run()
    assert result.summary["law"].tolist() == ["normal", "normal", "t", "t"]
    one = result.scenario(law="t", shift="one")
    estimate = result.row("mean_x", law="t", shift="one")["estimate"]
    assert estimate == pytest.approx(result.columns(one, "x")["x"].mean())
    assert one.shift[0] == 1
    with pytest.raises(LookupError, match=r"available: law=\['normal', 't'\]"):
        result.row("mean_x", law=LAWS["t"])


def test_another_object_under_the_name_is_drawn(tmp_path):
    first = study(law=LAWS).run(out=tmp_path)
    again = study(law=LAWS).run(out=tmp_path)
    assert again.outcome.n_blocks == 0
    other = study(law=LAWS | {"t": stats.t(4.0)}).run(out=tmp_path)
    assert other.outcome.n_blocks == first.outcome.n_blocks / len(LAWS)
    assert not other.summary.equals(first.summary)


@dataclass(frozen=True)
class Weighted:
    """A scenario whose factor is a vector."""

    weights: Any

    def simulate(self, streams, n_rep):
        return {"x": streams("data").normal(size=n_rep) + np.sum(self.weights)}


def weighted(*levels: Any) -> Study:
    scenarios = grid(Weighted, weights=levels)
    return Study("weighted", scenarios, [mean("x")], n_rep=40, block_size=20)


def test_short_vectors_are_levels_named_by_their_values(tmp_path):
    """A vector draws the numbers of the same values in a list."""
    first, second = np.array([1.0, 2.0]), np.array([0.5, 0.25])
    found = weighted(first, second).run(out=tmp_path)
    assert found.summary["weights"].tolist() == ["(1,2)", "(0.5,0.25)"]
    assert found.summary.equals(weighted([1, 2], [0.5, 0.25]).run().summary)
    assert weighted(first, second).run(out=tmp_path).outcome.n_blocks == 0
    for level in (second, [0.5, 0.25], "(0.5,0.25)"):
        assert found.scenario(weights=level).weights is second
    with pytest.raises(LookupError, match=r"\(1,2\)"):
        found.scenario(weights=[3])
    with pytest.raises(TypeError, match="shape"):
        weighted(np.zeros(21)).run()


def test_another_factor_leaves_the_names():
    (t,) = grid(Trial, law={"t": LAWS["t"]}, shift=1.0)
    assert identity(with_factor(t, "shift", 2.0)) == "Trial(law='t',shift=2)"
    assert identity(with_factor(t, "law", "normal")) == "Trial(law='normal',shift=1)"


def test_a_number_with_a_name_is_read_as_a_number():
    shifts = {"none": 0.0, "big": 2.0}
    made = Study("laws", grid(Trial, law=LAWS, shift=shifts), [bias("x", truth="shift")],
                 methods={"mean": shifted}, n_rep=400, block_size=20)  # fmt: skip
    assert np.abs(made.run().summary["estimate"]).max() < 0.5
