"""Streams are found by their address: nothing that is added elsewhere moves a number."""

import itertools
from dataclasses import dataclass, replace

import numpy as np
import pytest

from simstudy.design import grid
from simstudy.design.plan import Method, Plan, Rules, WorkUnit
from simstudy.provenance.scenario_id import identity
from simstudy.provenance.streams import Streams, generator

STREAM = Streams(seed=1, study="toy/50", scenario="Mean(n_obs=3)", block=0)


@dataclass(frozen=True)
class Trial:
    k: float
    n_obs: int = 10
    alpha: float = 0.05


def plan_of(*scenarios, **changes):
    rules = Rules(common_random_numbers=changes.pop("common_random_numbers", ()))
    return replace(Plan("trial", 1, scenarios, {}, block_size=20, rules=rules), **changes)


def data(plan, scenario, block=0, purpose="data"):
    return plan.streams(scenario, block)(purpose).integers(0, 2**63, 4).tolist()


def test_known_answers():
    """Pinned, so that no rewriting of the code can move a published number."""
    words = generator(1, "toy/50", "Mean(n_obs=3)", 0, "data").integers(0, 2**63, 3)
    assert words.tolist() == PINNED_WORDS
    normal = generator(7, "two_stage/1000", "TwoStage(k=1,n1=100,n2=50)", 3, "bootstrap")
    assert normal.standard_normal(2).tolist() == PINNED_NORMALS


def test_known_answer_of_a_plan():
    assert data(plan_of(Trial(1.5)), Trial(1.5), 2) == PINNED_PLAN


def test_known_key_of_a_method():
    """Pinned, so that no new name of a class loses stored blocks."""
    method = Method("welch", lambda x: {"e": x})
    unit = WorkUnit(Trial(1.5), method)
    assert identity(unit) == "Analysed(method=welch,scenario=Trial(k=1.5))"
    assert (
        replace(plan_of(Trial(1.5)), methods=(method,)).work_units.key_of(unit)
        == "c55e1df79e63059b"
    )


@pytest.mark.parametrize("field", ["seed", "study", "scenario", "block", "purpose"])
def test_every_part_of_the_address_matters(field):
    other = {"seed": 2, "study": "toy/51", "scenario": "Mean(n_obs=4)", "block": 1}
    purpose = "bootstrap" if field == "purpose" else "data"
    moved = replace(STREAM, _open={}, **{k: v for k, v in other.items() if k == field})
    first = replace(STREAM, _open={})("data").random(4)
    assert not (moved(purpose).random(4) == first).any()


def test_asking_again_goes_on_with_the_same_generator():
    stream = replace(STREAM, _open={})
    pieces = [stream("data").random(2), stream("data").random(3)]
    whole = replace(STREAM, _open={})("data").random(5)
    np.testing.assert_array_equal(np.concatenate(pieces), whole)


def test_what_one_purpose_draws_never_moves_another():
    plan = plan_of(Trial(1))
    streams = plan.streams(Trial(1), 0)
    streams("bootstrap").random(1000)
    streams("another method").random(1)
    assert streams("data").integers(0, 2**63, 4).tolist() == data(plan, Trial(1))


@pytest.mark.parametrize(
    ("change", "moves"),
    [
        ({"block_size": 21}, True),
        ({"seed": 2}, True),
        ({"name": "trial2"}, True),
        ({"axes": {"m": ("a",)}}, False),
        ({"rules": Rules(may_be_missing=("x",))}, False),
        ({"scenarios": (Trial(0), Trial(1))}, False),
    ],
)
def test_block_size_seed_and_name_belong_to_the_study_and_nothing_else(change, moves):
    plan = plan_of(Trial(1))
    assert (data(replace(plan, **change), Trial(1)) != data(plan, Trial(1))) == moves


def test_common_factors_share_their_random_numbers_and_only_they():
    plan = plan_of(Trial(0), Trial(1), common_random_numbers=("k", "alpha"))
    assert data(plan, Trial(0)) == data(plan, Trial(1, alpha=0.1))
    assert data(plan, Trial(0)) != data(plan, Trial(0, n_obs=11))


def test_no_two_streams_collide():
    """First words of many thousand addresses: equal ones are expected 1e-11 times."""
    scenarios = grid(Trial, k=range(10), n_obs=range(10))
    plan = plan_of(*scenarios)
    addresses = itertools.product(scenarios, range(20), ("data", "bootstrap"))
    words = [int(plan.streams(s, b)(p).integers(0, 2**63)) for s, b, p in addresses]
    assert len(set(words)) == len(words) == 4000


def test_addresses_cannot_imitate_one_another():
    alike = [(1, "a", "b"), (1, "ab", ""), (1, "a,b"), (1, 'a", "b'), ("1", "a", "b")]
    words = {int(generator(*address).integers(0, 2**63)) for address in [*alike, (1, "a", "b", "")]}
    assert len(words) == 6


def test_streams_are_uniform_across_addresses():
    """First doubles of neighbouring blocks fill the unit interval: chi-square of 64 cells.

    The statistic of a uniform sample exceeds its 1 - 1e-5 quantile once in 100,000 studies.
    """
    from scipy import stats

    plan = plan_of(Trial(1))
    first = np.array([plan.streams(Trial(1), block)("data").random() for block in range(3200)])
    counts = np.bincount((first * 64).astype(int), minlength=64)
    limit = stats.chi2.isf(1e-5, 63)
    assert ((counts - 50) ** 2 / 50).sum() < limit
    overlapping = np.bincount((np.sqrt(first) * 64).astype(int), minlength=64)
    assert ((overlapping - 50) ** 2 / 50).sum() > limit, "the test can fail"


PINNED_WORDS = [2657915430858224702, 5525609776016971952, 1194299056455998964]
PINNED_NORMALS = [1.1270277181334385, -0.9088410191928188]
PINNED_PLAN = [6844204802097082596, 3073202836189177537, 4486264627954900944, 4148417002597166503]
