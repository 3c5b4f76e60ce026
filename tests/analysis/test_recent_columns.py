"""Columns that several claims ask for are read once, and nobody sees what another wrote."""

import pickle
import sys

import pytest

from simstudy.analysis import replicates
from tests.factories import mean_study


@pytest.fixture
def result():
    return mean_study().run(40, backend="inline")


def test_what_is_written_into_columns_is_not_there_when_they_are_asked_for_again(result):
    scenario, recent = result.plan.scenarios[0], result.details.replicates
    plain = result.columns(scenario, "estimate")["estimate"].copy()
    result.columns(scenario, "estimate")["estimate"][:] = 2
    assert (result.columns(scenario, "estimate")["estimate"] == plain).all()
    assert len(recent._recent) == 1
    assert pickle.loads(pickle.dumps(recent))._recent == {}


def test_a_full_cache_is_emptied(result, monkeypatch):
    scenario = result.plan.scenarios[0]
    result.columns(scenario, "estimate")
    monkeypatch.setattr(replicates, "CACHE_BYTES", 100)
    assert set(result.columns(scenario, "estimate", "truth")) == {"estimate", "truth"}
    assert not result.details.replicates._recent


def steps_of(read) -> int:
    """Python functions that are called, and steps of generators."""
    n_steps = 0

    def count(frame, event, argument):
        nonlocal n_steps
        n_steps += event == "call"

    sys.setprofile(count)
    try:
        read()
    finally:
        sys.setprofile(None)
    return n_steps


def test_the_last_scenarios_take_as_many_steps_as_the_first():
    """The fewest of each, because a scenario that is the first of its file takes more."""
    result = mean_study(tuple(range(3, 83)), block_size=5).run(5, backend="inline")
    for read in (
        lambda n: result.columns(result.plan.scenarios[n], "estimate"),
        lambda n: result.values("truth", n_obs=n + 3, method="t"),
    ):
        steps = [steps_of(lambda n=n, read=read: read(n)) for n in range(80)]
        assert min(steps[5:30]) == min(steps[-25:])
