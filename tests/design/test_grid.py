"""Grids: every combination once, in order, under the names of levels; what a terminal shows."""

import itertools
import pickle
from dataclasses import dataclass, field, make_dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simstudy import Study
from simstudy.design import Scenario, grid, scenario_key, zipped
from simstudy.design.plan import Plan, factors_of
from simstudy.design.reprs import format_factors, format_names, format_scenarios
from simstudy.errors import DesignError
from simstudy.lazy import stats
from simstudy.measures import bias, mean
from simstudy.provenance.scenario_id import identity, with_factor


@dataclass(frozen=True)
class Normal:
    mean: float = 0.0


@dataclass(frozen=True)
class Trial:
    k: float
    n_obs: int = 10
    dgp: Normal = Normal()
    tail: str = "left"

    def simulate(self, streams, n_rep):
        return {}


VALUES = st.lists(st.integers(-5, 5), min_size=1, max_size=4, unique=True)


@given(VALUES, VALUES)
def test_a_full_grid_is_the_nested_loop(ks, sizes):
    plain = [Trial(k, n_obs) for k in ks for n_obs in sizes]
    assert grid(Trial, k=ks, n_obs=sizes) == plain
    other_order = [Trial(k, n_obs) for n_obs in sizes for k in ks]
    assert grid(Trial, n_obs=sizes, k=ks) == other_order


def test_single_values_text_and_parts_are_one_value():
    assert grid(Trial, k=1, tail="right", dgp=Normal(2)) == [Trial(1, dgp=Normal(2), tail="right")]


def test_values_may_come_from_anything_that_can_be_looped_over():
    expected = [Trial(0), Trial(1)]
    for values in ([0, 1], (0, 1), range(2), np.arange(2), iter([0, 1])):
        assert [trial.k for trial in grid(Trial, k=values)] == [trial.k for trial in expected]


def test_together_pairs_values_and_crosses_the_pairs_with_the_rest():
    made = grid(Trial, zipped(k=[0, 1], n_obs=[5, 6]), tail=["left", "right"])
    shown = [(trial.k, trial.n_obs, trial.tail) for trial in made]
    assert shown == [(0, 5, "left"), (0, 5, "right"), (1, 6, "left"), (1, 6, "right")]


@given(VALUES, VALUES)
def test_where_keeps_what_is_true_in_order(ks, sizes):
    def wanted(trial):
        return trial.k < trial.n_obs

    plain = list(filter(wanted, itertools.starmap(Trial, itertools.product(ks, sizes))))
    if plain:
        assert grid(Trial, k=ks, n_obs=sizes, where=wanted) == plain
    else:
        with pytest.raises(DesignError, match="no combination was kept"):
            grid(Trial, k=ks, n_obs=sizes, where=wanted)


class Plain:
    """Not a dataclass."""


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: grid(Trial, k=[], n_obs=1), "factor k has no values.*Give at least one"),
        (lambda: grid(Trial, k={1, 2}, n_obs=1), "factor k has a set of values, which has another"),
        (lambda: grid(Trial, k=1, n_ob=[1]), "no factor 'n_ob'; did you mean 'n_obs'"),
        (lambda: grid(Trial, zipped(k=[1]), k=[2]), "factor 'k' is given twice"),
        (lambda: grid(Trial, k=[1, 1.0]), r"Trial\(k=1\) is in the grid twice"),
        (lambda: grid(Trial, k=[1], n_obs=[10, 10]), r"Trial\(k=1\) is in the grid twice"),
        (lambda: zipped(k=[1, 2], n_obs=[1]), "one to one, but the lengths differ.*'k': 2"),
        (lambda: grid(Trial, n_obs=5), "Trial needs a value of the factor 'k': give it to grid"),
        (lambda: grid(Trial(1)), r"Trial\(k=1.* is not a dataclass.*Give grid the class"),
        (lambda: grid(Trial, 5), r"given 5 for no factor\. Write grid\(Trial, n=\[5, 10\]\)"),
        (lambda: grid(Trial, {"k": [1]}), r"given {'k': \[1\]} for no factor"),
        (lambda: grid(Plain, k=[1]), "Plain.* is not a dataclass.*with @dataclass"),
    ],
)
def test_refuses(make, says):
    with pytest.raises(DesignError, match=says):
        make()


def test_a_default_need_not_be_hashable():
    @dataclass(frozen=True)
    class Weighted:
        n_obs: int
        weights: tuple[list[int], ...] = ([1, 2],)

    assert len(grid(Weighted, n_obs=[5, 10])) == 2


def test_a_grid_is_shown_in_one_line_and_is_a_list():
    made = grid(Trial, k=range(9), n_obs=[10, 20], dgp=Normal(0.25))
    assert repr(made) == (
        "<18 scenarios of Trial: k = 0, 1, 2, 3, 4, ... (9 values); n_obs = 10, 20; "
        "dgp = Normal(mean=0.25); tail = left>"
    )
    assert made == list(made)
    assert pickle.loads(pickle.dumps(made)) == made
    assert isinstance(made + made[:1], list)


def test_a_factor_that_is_not_for_the_constructor_is_not_asked_for():
    @dataclass(frozen=True)
    class Derived:
        k: float
        squared: float = field(init=False)

        def __post_init__(self):
            object.__setattr__(self, "squared", self.k**2)

    assert [derived.squared for derived in grid(Derived, k=[2, 3])] == [4, 9]


def test_factors_are_shown_as_plain_values():
    shown = factors_of(Trial(np.float64(1.5), np.int64(3), Normal(2)))
    assert shown == {"k": 1.5, "n_obs": 3, "dgp": "Normal(mean=2)", "tail": "left"}
    assert type(shown["k"]) is float
    assert type(shown["n_obs"]) is int
    assert factors_of(Trial(0))["dgp"] == "Normal"


def test_a_scenario_is_a_dataclass():
    assert isinstance(Trial(1), Scenario)
    assert not isinstance(object(), Scenario), "its factors have no names"


SCENARIOS = grid(Trial, k=[0, 1, 2])
PLAN = Plan("trial", 1, tuple(SCENARIOS), {"m": ("a", "b"), "s": ("x", "y", "z")}, block_size=7)


def test_cells_come_in_storage_order():
    places = np.arange(6).reshape(PLAN.shape)
    cells = list(PLAN.cells())
    assert PLAN.shape == (2, 3)
    for (i, m), (j, s) in itertools.product(enumerate("ab"), enumerate("xyz")):
        assert cells[places[i, j]] == (m, s)


def test_keys_are_in_order_and_last():
    assert list(PLAN.keys.values()) == SCENARIOS
    assert scenario_key(Trial(1)) == "d85269ee6af5dc22"
    wider = make_dataclass("Trial", [("k", float), ("new", int, 3)], frozen=True)
    assert scenario_key(wider(1)) == scenario_key(Trial(1))


def test_fewer_scenarios_keep_their_streams():
    some = PLAN.only(SCENARIOS[1:2])
    assert list(some.keys.values()) == SCENARIOS[1:2]
    assert some.streams(SCENARIOS[1], 3) == PLAN.streams(SCENARIOS[1], 3)


def test_a_factor_may_have_any_name():
    kind = make_dataclass("Cell", ["scenario"], frozen=True)
    assert [each.scenario for each in grid(kind, scenario=["a", "b"])] == ["a", "b"]


# ---------------------------------------------------------------- levels with names
@dataclass(frozen=True)
class OfLaw:
    law: Any
    shift: Any = 0.0

    def draw(self, streams, n_rep):
        return {"x": self.law.rvs(size=(n_rep, 5), random_state=streams("data"))}


def shifted(x, shift):
    return {"x": x.mean(axis=1) + np.sum(shift)}


def study(**factors) -> Study:
    return Study("laws", grid(OfLaw, **factors), [mean("x")], methods={"mean": shifted}, n_rep=40,
                 block_size=20)  # fmt: skip


LAWS = {"normal": stats.norm(), "t": stats.t(3.0)}


def test_a_scenario_has_the_object_and_is_known_by_the_name():
    normal, t = grid(OfLaw, law=LAWS)
    assert t.law is LAWS["t"]
    assert identity(t) == "OfLaw(law='t')"
    assert identity(pickle.loads(pickle.dumps(normal))) == identity(normal) == "OfLaw(law='normal')"


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
    (t,) = grid(OfLaw, law={"t": LAWS["t"]}, shift=1.0)
    assert identity(with_factor(t, "shift", 2.0)) == "OfLaw(law='t',shift=2)"
    assert identity(with_factor(t, "law", "normal")) == "OfLaw(law='normal',shift=1)"


def test_a_number_with_a_name_is_read_as_a_number():
    shifts = {"none": 0.0, "big": 2.0}
    made = Study("laws", grid(OfLaw, law=LAWS, shift=shifts), [bias("x", truth="shift")],
                 methods={"mean": shifted}, n_rep=400, block_size=20)  # fmt: skip
    assert np.abs(made.run().summary["estimate"]).max() < 0.5


# ---------------------------------------------------------------- what a terminal shows
@dataclass(frozen=True)
class First:
    text: str = "one"


@dataclass(frozen=True)
class Second:
    size: int = 1


def test_classes_and_factors_are_in_order_of_appearance():
    both = [Second(1), First("a"), Second(2)]
    assert format_scenarios(both) == "3 scenarios of Second, First"
    assert format_factors(both) == "size = 1, 2; text = a"
    assert format_scenarios(both[:1]) == "1 scenario of Second"


def test_long_values_and_many_factors_are_cut():
    assert format_factors([First("a\n" * 40)]) == "text = a a a a a a a a a a a..."
    wide = make_dataclass("Wide", [(f"f{i}", int, i) for i in range(9)])
    assert format_factors([wide()]).endswith("; f5 = 5; ... (9 factors)")


def test_of_many_names_the_first_are_shown():
    assert format_names("abc") == "a, b, c"
    assert format_names([]) == "none"
    assert format_names(map(str, range(12))).endswith("8, 9, ... (12)")
