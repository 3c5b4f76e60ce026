"""The classifier's thresholds as an experiment, and the grid beyond it."""

import numpy as np
import pytest

from experiments import classifier_threshold_grid as wider
from experiments.classifier_threshold.claims import EXACTLY
from experiments.classifier_threshold.figures import LABELS, PUBLISHED, PUBLISHED_BESIDE
from experiments.classifier_threshold.study import Config, study
from simstudy.documents.stats.thresholds import METHODS
from tests.experiments.claimed import assert_as_foreseen, assert_rivals_fall, assert_undecided
from tests.support import assert_caught, assert_within_mcse, replicates_to_catch

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def published():
    return study(Config()).run(50_000, backend="inline", n_jobs=1)


def test_stored_test_sets_are_those_behind_the_thresholds(published):
    scenario = published.plan.scenarios[0]
    stored = published.columns(scenario, "score_1", "threshold", "bootstrap_mean", first_block=True)
    np.testing.assert_array_equal(
        stored["score_1"], stored["threshold"][:, METHODS.index("umbrella")]
    )
    assert len(stored["score_1"]) == published.plan.block_size > 250


def test_claims_come_out_as_foreseen(published):
    assert_as_foreseen(published, undecided=["empirical threshold"])  # takes 63,000
    assert_rivals_fall(published, undecided=["skewed thresholds"])  # takes 100,000


def test_of_three_test_sets_nothing_is_said():
    few = study(Config()).run(3, backend="inline", n_jobs=1)
    assert_undecided(few)


def test_the_skewness_of_thresholds_is_that_of_a_loop(published):
    values = published.columns(published.scenario(**EXACTLY), "threshold")["threshold"][:, 0]
    about = values - values.mean()
    skewness = (about**3).mean() / (about**2).mean() ** 1.5
    (row,) = published.claims.query("claim == 'skewed thresholds'").to_dict("records")
    assert row["detail"].startswith(f"skewness {skewness:.3f} (")


def test_the_coverage_table_is_the_documents_beside_ours(published):
    """Also what the document says beside its table, which the figure marks."""
    table = published.table("coverage")
    frame = table.frame.set_index("method")
    said = frame["published"].dropna()
    claimed = published.claims.set_index("claim")["published"]
    methods = {label: method for method, label in LABELS.items()}
    for label, share in said.items():
        if methods[label] in PUBLISHED:
            assert share == claimed[f"coverage, {methods[label]}"]
    assert len(said) == len(PUBLISHED | PUBLISHED_BESIDE)
    assert (said["empirical quantile"], said["umbrella"]) == (0.34, 0.92)
    limit = published.row("coverage", method="bca mid", n_boot=0)
    assert frame.loc["BCa, ties by half", "limit"] == limit["estimate"]
    text = table.markdown()
    assert "|      0.34 |" in text  # two digits, as printed
    assert "|     0.780 |" in text


def test_the_grid_agrees_with_its_theory():
    n_rep = replicates_to_catch(0.15, sd=0.5, comparisons=40)
    config = wider.Config(n_obs=[30, 50], sensitivity=[0.95], confidence=[0.8], n_rep=n_rep)
    rows = wider.study(config).run().summary.query("measure == 'coverage'").dropna(subset="exact")
    error = np.sqrt(rows["exact"] * (1 - rows["exact"]) / n_rep)
    sure = error == 0  # thresholds of minus infinity
    assert (rows["estimate"] == rows["exact"])[sure].all()
    some = rows[~sure]
    assert_within_mcse(some["estimate"], some["exact"], error[~sure])
    assert_caught(some["estimate"], some["confidence"], error[~sure])
