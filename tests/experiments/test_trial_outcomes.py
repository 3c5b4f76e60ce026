"""The table of outcomes in three ways, and counts of a histogram beside a law."""

import numpy as np
import pytest
from scipy import stats

from experiments._law_histogram import counts_with_law
from experiments.trial_outcomes import OUTCOMES, Config, TwoStageOutcomes, study
from simstudy.documents.scenarios.two_stage import TwoStage
from tests.documents.draws import streams
from tests.support import assert_within_mcse

DESIGN = TwoStageOutcomes(k=1.5, n1=150)


@pytest.fixture(scope="module")
def result():
    return study(Config()).run(n_rep=20_000)


def test_each_replicate_ends_as_the_two_stage_trial_says():
    drawn = DESIGN.simulate(streams(), 500)
    trial = TwoStage(k=1.5, n1=150, n2=399).simulate(streams(), 500)
    for name, column in drawn.items():
        rejects, null_is_true = name.startswith("reject"), name.endswith("true")
        ends_so = (trial["reject"] == rejects) & (trial["null_is_true"] == null_is_true)
        np.testing.assert_array_equal(column, ends_so)
    assert np.all(sum(column.astype(int) for column in drawn.values()) == 1)


def test_the_design_is_the_documents():
    assert DESIGN.design.n2 == 399
    assert [round(DESIGN.exact()[name], 4) for name in OUTCOMES] == [0.0033, 0.7467, 0.0635, 0.1865]


def test_the_table_has_the_four_outcomes_in_three_ways(result):
    frame = result.table("outcomes").frame
    assert frame["nominal"].round(4).tolist() == [0.0033, 0.7466, 0.0635, 0.1866]
    assert frame["exact"].tolist() == [DESIGN.exact()[name] for name in OUTCOMES]
    error = np.sqrt(frame["exact"] * (1 - frame["exact"]) / 20_000)
    assert_within_mcse(frame["simulated"].to_numpy(), frame["exact"].to_numpy(), error.to_numpy())


EDGES = np.linspace(-3, 3, 13)
VALUES = np.random.default_rng(3).standard_normal(400)
BARS = counts_with_law(VALUES, EDGES, np.diff(stats.norm.cdf(EDGES)))


def test_counts_of_a_histogram_and_their_expectations_are_those_of_a_loop():
    for bar in BARS.itertuples():
        assert bar.count == sum(bar.left <= value < bar.right for value in VALUES)
        chance = stats.norm.cdf(bar.right) - stats.norm.cdf(bar.left)
        spread = 2 * stats.binom(400, chance).std()
        assert bar.expected == pytest.approx(400 * chance)
        assert bar.upper - bar.expected == pytest.approx(spread)
        assert bar.lower == pytest.approx(max(bar.expected - spread, 0))
