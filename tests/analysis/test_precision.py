"""Enough replicates for the Monte Carlo error asked for, still a prefix of the long run."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from benchmarks.stopping import N_RUNS, Rule
from simstudy.analysis.estimates import Target, read_targets
from simstudy.analysis.precision import next_sizes, precision_ratios
from simstudy.claims import mc_limit
from simstudy.errors import ConfigError
from simstudy.measures import Estimates, mse
from simstudy.study import Study
from tests.factories import mean_study
from tests.support import INLINE


def run(**settings: object):
    return mean_study().run(100, seed=3, **INLINE, **settings)


def estimates(estimate: float, mcse: float, n: int = 100) -> Estimates:
    cell = [np.asarray(x) for x in (estimate, mcse, estimate - 0.02, estimate + 0.02)]
    return Estimates(*cell, np.asarray(n), np.asarray(0), np.asarray(n), np.asarray(""))


def test_every_scenario_reaches_the_error_and_little_is_drawn_beyond_need():
    result = run(precision={"bias": 0.02})
    short = precision_ratios(result, read_targets({"bias": 0.02}, result.details.measures))
    assert all(value <= 1 for value in short.values())
    assert all(value > 0.8 for key, value in short.items() if result.n_rep[key] > 400)


def test_the_result_is_a_prefix_of_the_long_run():
    adaptive, long = run(precision={"bias": 0.03}), mean_study().run(5000, seed=3, **INLINE)
    for scenario in adaptive.plan.scenarios:
        short = adaptive.columns(scenario, "estimate")["estimate"]
        assert np.array_equal(short, long.columns(scenario, "estimate")["estimate"][: len(short)])


def test_where_it_stops_is_reproducible_and_resumable(tmp_path):
    first = run(precision={"bias": 0.03}, out=tmp_path)
    again = run(precision={"bias": 0.03}, out=tmp_path)
    assert again.outcome.n_blocks == 0
    assert again.n_rep == first.n_rep == run(precision={"bias": 0.03}).n_rep


def test_the_floor_and_the_ceiling_hold():
    result = run(precision={"coverage": 1e-5}, max_rep=450)
    assert set(result.n_rep.values()) == {450}
    assert set(run(precision={"coverage": 10.0}).n_rep.values()) == {100}


def test_a_relative_error_is_a_share_of_the_estimate():
    absolute = run(precision={"empirical_se": 0.01})
    relative = run(precision={"empirical_se": "3%"})
    rows = relative.summary.query("measure == 'empirical_se'")
    assert (rows["mcse"] <= 0.03 * rows["estimate"]).all()
    assert absolute.n_rep != relative.n_rep


@pytest.mark.parametrize(
    ("n", "block_size", "is_reached"),
    [(100, 50, False), (999, 500, False), (1000, 1000, False), (1000, 500, True)],
)
def test_an_error_of_0_counts_with_a_thousand_replicates_of_two_blocks(n, block_size, is_reached):
    short = Target("mse", 0.2).shortfall(estimates(1.21, 0.0, n), block_size)
    assert short == (0.0 if is_reached else math.inf)


@dataclass(frozen=True)
class Seldom:
    """An estimate of 0, and of 40 in one of 2,000 replicates."""

    def simulate(self, streams, n_rep):
        return {"est": 40.0 * (streams("data").random(n_rep) < 5e-4)}


@pytest.mark.parametrize("truth", [1.0, 1.1, 0.7])
def test_replicates_that_are_alike_by_luck_reach_no_precision_without_a_warning(truth):
    """The mean of equal numbers is not always exact in binary: an error of 1e-17 is one of 0."""
    right = truth**2 + 5e-4 * (40**2 - 80 * truth)
    for seed in range(5):
        study = Study("rare", [Seldom()], [mse("est", truth)], n_rep=1000, block_size=500)
        result = study.run(seed=seed, precision={"mse": 0.2}, max_rep=100_000, **INLINE)
        row = result.summary.iloc[0]
        if row["mcse"] == 0:
            assert row["n_rep"] >= 1000
            assert row["warning"].startswith(f"all {row['n_rep']:,} are alike")
        else:
            assert row["mcse"] > 1e-3
            assert abs(row["estimate"] - right) < 40**2 * 0.01


def test_an_error_that_is_not_known_asks_for_more():
    assert math.isinf(Target("power", 0.005).shortfall(estimates(np.nan, np.nan), 50))
    assert next_sizes({"a": 100}, {"a": math.inf}, block_size=50, ceiling=10**6) == {"a": 400}


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ({"coverge": 0.1}, "precision.coverge: no such measure; did you mean 'coverage'?"),
        ({"coverage": 0}, "precision.coverage=0: must be a Monte Carlo standard error above 0"),
        ({"coverage": -0.1}, "precision.coverage=-0.1"),
        ({"coverage": "nan"}, "precision.coverage=nan"),
        ({"coverage": "little"}, "nearest that works: precision.coverage=0.005"),
    ],
)
def test_refuses_a_target_that_makes_no_sense(wanted, says):
    with pytest.raises(ConfigError, match=None) as refusal:
        run(precision=wanted)
    assert says in str(refusal.value)


def test_a_shard_cannot_know_when_to_stop():
    with pytest.raises(ConfigError, match="shard with precision"):
        run(precision={"bias": 0.1}, shard=(1, 2))


def test_a_plan_foresees_what_the_run_takes():
    cost = mean_study().forecast({"bias": 0.02}, n_rep=2000, seed=3)
    result = run(precision={"bias": 0.02})
    taken = np.array(list(result.n_rep.values()))
    assert np.all(np.abs(cost["n_rep"] / taken - 1) < 0.35)
    assert (cost["seconds"] > 0).all()
    assert (cost["bytes"] > 8 * cost["n_rep"]).all()


def test_an_error_beyond_all_numbers_is_drawn_for_up_to_the_ceiling():
    sizes = {"a": 100}
    assert next_sizes(sizes, {"a": 1e300}, block_size=100, ceiling=150) == {"a": 150}
    done = mean_study((3,)).run(20, precision={"coverage": 1e-300}, max_rep=70, **INLINE)
    assert set(done.n_rep.values()) == {70}
    cost = mean_study((3,)).forecast({"coverage": 1e-300}, 20)
    assert math.isinf(cost["n_rep"].max())


@pytest.mark.slow
def test_sequential_stopping_leaves_rare_rates_low():
    """As docs/precision.md says; a pilot with another seed does not."""
    rule = Rule(rate=0.01, error=0.004, n_rep=50)
    found = rule.runs().summary["estimate"].to_numpy()
    error = found.std(ddof=1) / math.sqrt(N_RUNS)
    assert (found.mean() - rule.rate) / error < -mc_limit()
