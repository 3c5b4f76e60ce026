"""The two-stage trial by the errors of its means is the trial, however its errors are drawn."""

import numpy as np
import pytest

from simstudy.documents.scenarios.two_stage import TwoStage
from simstudy.documents.scenarios.two_stage_means import TwoStageInGroups, TwoStageWhereItRejects
from simstudy.measures import mean, power, rejection_rate, type_1_error, weighted_mean
from simstudy.provenance.streams import Streams
from tests.support import critical_z

STREAMS = Streams(1, "study", "scenario", 0)
MEASURES = [
    power("reject", given="null_is_false"),
    type_1_error("reject", given="null_is_true"),
    rejection_rate("null_is_false", name="null_is_false"),
    mean("s2", name="mean_s2"),
]


@pytest.mark.parametrize(
    "draws", [("independent", 1), ("antithetic", 2), ("stratified", 8)], ids=lambda d: d[0]
)
def test_every_measure_is_what_theory_says(draws):
    trial = TwoStageInGroups(0.5, 100, 200, 0.05, *draws)
    columns = trial.simulate(Streams(1, "study", draws[0], 0), 80_000)
    assert trial.exact() == TwoStage(0.5, 100, 200).exact()
    for measure in MEASURES:
        found = measure.of_groups(draws[1]).estimate(columns)
        off = abs(found.estimate - trial.exact()[measure.name])
        assert off <= critical_z(12) * found.mcse + 1e-12, measure.name


def test_the_chance_of_rejecting_is_that_given_the_first_stage():
    columns = TwoStageInGroups(0.5, 100, 200).simulate(STREAMS, 80_000)
    for low, high in [(-0.5, 0.0), (0.0, 0.5), (1.0, 2.0)]:
        there = (columns["distance"] > low) & (columns["distance"] < high)
        hits, chance = columns["reject"][there], columns["p_reject"][there]
        error = np.sqrt(np.sum(chance * (1 - chance)))
        assert abs(hits.sum() - chance.sum()) < critical_z(3) * error


@pytest.mark.parametrize("shifted", [0.0, 0.5])
def test_weights_are_likelihood_ratios_of_a_true_null(shifted):
    trial = TwoStageWhereItRejects(0.5, 100, 200, 0.05, shifted)
    columns = trial.simulate(STREAMS, 40_000)
    is_true = np.asarray(columns["null_is_true"])
    assert (np.asarray(columns["weight"])[~is_true] == 0).all()
    found = weighted_mean("one", weight="weight").estimate({**columns, "one": np.ones(40_000)})
    assert abs(found.estimate - 1) < critical_z() * found.mcse
    if not shifted:
        assert np.ptp(np.asarray(columns["weight"])[is_true]) == 0
