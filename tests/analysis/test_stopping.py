"""What ends a run that is to reach an error: looks at its own bias rare rates, a pilot does not."""

import math
import re
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from benchmarks.stopping import N_RUNS, Rule
from simstudy.analysis.precision import seed_of_pilot
from simstudy.claims import mc_limit
from simstudy.design import grid
from simstudy.errors import ConfigError
from simstudy.measures import mean
from simstudy.output.formatting import format_precision
from simstudy.study import Study
from simstudy.study.run_options import PILOT
from tests.factories import mean_study

INLINE = {"backend": "inline", "n_jobs": 1}

RATE, ERROR = 0.01, 0.004


def runs(stop_by, n_rep):
    return Rule(RATE, ERROR, stop_by, n_rep).runs()


def bias_in_errors(result):
    """Of the mean of all runs' rates."""
    found = result.summary["estimate"].to_numpy()
    return (found.mean() - RATE) / (found.std(ddof=1) / math.sqrt(N_RUNS))


@pytest.fixture(scope="module")
def by_pilot():
    return runs("pilot", 500)


@pytest.mark.slow
def test_looks_leave_rare_rates_low():
    assert bias_in_errors(runs("sequential", 50)) < -mc_limit()


@pytest.mark.slow
def test_a_pilot_biases_nothing(by_pilot):
    assert abs(bias_in_errors(by_pilot)) < mc_limit()


@pytest.mark.slow
def test_the_error_is_the_one_asked_for_whatever_luck_the_pilot_had(by_pilot):
    sizes = np.array(list(by_pilot.n_rep.values()))
    assert by_pilot.details.n_pilot == 500
    assert (sizes % 50 == 0).all()
    true_error = np.sqrt(RATE * (1 - RATE) / sizes)
    n_above = (true_error > ERROR).sum()
    assert n_above <= stats.binom.isf(1e-4, N_RUNS, 0.025), "of the pilots, 2.5% had such luck"


@pytest.mark.slow
def test_its_words_say_how_far_the_error_is_from_what_was_asked(by_pilot):
    said = format_precision(by_pilot)
    assert re.fullmatch(
        r"precision reached in \d+ of 400 scenarios, by a pilot of 500 replicates; the largest "
        r"error is [01]\.\d+ times what was asked for",
        said,
    )


def test_the_pilot_is_kept_and_the_run_is_a_prefix_of_any_other(tmp_path):
    asked = {"precision": {"bias": 0.03}, "stop_by": PILOT, "out": tmp_path, "seed": 3}
    first, again = mean_study().run(100, **asked), mean_study().run(100, **asked)
    assert again.outcome.n_blocks == 0
    assert again.n_rep == first.n_rep
    assert (tmp_path / "toy" / "pilot" / "toy").is_dir() or list(tmp_path.glob("*/pilot/*"))
    long = mean_study().run(5000, seed=3, **INLINE)
    for scenario in first.plan.scenarios:
        drawn, of_long = (each.columns(scenario, "estimate")["estimate"] for each in (first, long))
        assert np.array_equal(drawn, of_long[: len(drawn)])


def test_what_a_pilot_s_rule_costs_is_told_beforehand():
    looks, pilot = (
        mean_study().forecast({"bias": 0.03}, stop_by=rule) for rule in ("sequential", "pilot")
    )
    assert (pilot["needed"] >= looks["needed"]).all(), "a block at least"
    assert pilot["needed"].sum() > looks["needed"].sum()


def test_a_pilot_s_random_numbers_are_no_run_s():
    assert len({seed_of_pilot(seed) for seed in range(1000)} | set(range(1000))) == 2000


def test_the_floor_and_the_ceiling_hold():
    few = mean_study().run(200, precision={"bias": 10.0}, stop_by=PILOT, **INLINE)
    many = mean_study().run(200, precision={"bias": 1e-6}, stop_by=PILOT, max_rep=350, **INLINE)
    assert set(few.n_rep.values()) == {200}
    assert set(many.n_rep.values()) == {350}


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        (
            {"stop_by": "luck", "precision": {"bias": 1}},
            "stop_by='luck': must be one of sequential, pilot",
        ),
        ({"stop_by": "pilot"}, "stop_by=pilot without precision"),
    ],
)
def test_what_makes_no_sense_is_refused(asked, text):
    with pytest.raises(ConfigError, match=re.escape(text)):
        mean_study().run(100, **asked)


@dataclass(frozen=True)
class Rare:
    """An outcome of 1 in a hundred, as a number whose mean is taken."""

    chance: float

    def simulate(self, streams, n_rep):
        return {"hit": (streams("data").random(n_rep) < self.chance) * 1.0}


@pytest.mark.parametrize("stop_by", ["sequential", "pilot"])
def test_replicates_that_are_all_alike_tell_no_error(stop_by):
    """They are drawn up to the maximum: five times too large an error could look like 0."""
    study = Study("rare", grid(Rare, chance=[0.0, 0.5]), [mean("hit")], block_size=50)
    asked = {"precision": {"mean_hit": 0.05}, "stop_by": stop_by, "max_rep": 2000}
    with pytest.warns(UserWarning, match="replicates of .*chance=0.* show no spread") as said:
        result = study.run(50, **asked)
    n_rep = result.summary.set_index("chance")["n_rep"]
    assert n_rep[0.0] == 2000
    assert n_rep[0.5] < 1000
    assert sum("no spread" in str(each.message) for each in said) == 1, "the other one has a spread"
