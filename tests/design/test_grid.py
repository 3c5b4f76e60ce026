"""Grids: every combination once, in order, and nothing that was not meant."""

import itertools
import pickle
from dataclasses import dataclass, field, make_dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simstudy.design import Scenario, grid, scenario_key, zipped
from simstudy.design.plan import Plan, factors_of
from simstudy.errors import DesignError


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
        (lambda: grid(Trial(1)), r"Trial\(k=1.* is not a dataclass.*Give grid the class"),
        (lambda: grid(Trial, 5), r"given 5 for no factor\. Write grid\(Trial, n=\[5, 10\]\)"),
        (lambda: grid(Trial, {"k": [1]}), r"given {'k': \[1\]} for no factor"),
        (lambda: grid(Plain, k=[1]), "Plain.* is not a dataclass.*with @dataclass"),
    ],
)
def test_refuses(make, says):
    with pytest.raises(DesignError, match=says):
        make()


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
