"""The classifier's thresholds as an experiment, and the grid beyond it."""

import numpy as np
import pytest

from experiments import classifier_threshold_grid as wider
from experiments.classifier_threshold.claims import EXACTLY
from experiments.classifier_threshold.figures import LABELS, NONE, PUBLISHED, PUBLISHED_BESIDE
from experiments.classifier_threshold.study import Config, study
from simstudy.engine.workers import Workers
from simstudy.errors import ConfigError
from simstudy.stats.classifier.thresholds import METHODS
from simstudy.trials.thresholds import Bound
from tests.experiments.claimed import assert_as_foreseen, assert_rivals_fall, assert_undecided
from tests.figures.data import text_of
from tests.support import assert_caught, assert_within_mcse, replicates_to_catch

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def published():
    return study(Config()).run(50_000, workers=Workers("inline", 1))


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
    few = study(Config()).run(3, workers=Workers("inline", 1))
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


def test_figures_of_other_sizes_are_drawn():
    result = study(Config(n_obs=[20], sensitivity=[0.9], n_boot=[0], confidence=[0.7])).run(
        n_rep=60
    )
    for name in result.details.figures:
        result.figure(name).draw()
    assert (result.claims["verdict"] == "no data").sum() > 5


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"sensitivity": [1.2]}, "sensitivity=\\[1.2\\]: must be a number above 0 and below 1"),
        ({"n_boot": [-1]}, "n_boot=\\[-1\\]: must be a whole number at least 0"),
        ({"n_obs": [1]}, "n_obs=\\[1\\]: must be a whole number at least 2"),
    ],
)
def test_impossible_settings_are_refused(given, said):
    with pytest.raises(ConfigError, match=said):
        Config(**given)


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


def test_methods_of_the_grid_share_their_data_between_confidences():
    config = wider.Config(n_obs=[50], sensitivity=[0.95], scores=["normal"], n_rep=100)
    result = wider.study(config).run()
    place = Bound.methods.index("empirical")
    low, high = (
        result.columns(scenario, "safe")["safe"][:, place] for scenario in result.plan.scenarios
    )
    np.testing.assert_array_equal(low, high)


# ---------------------------------------------------------------- what figures say
def test_the_published_marks_are_on_every_row_that_the_document_has(published):
    plot = published.figure("coverage_table")
    crosses = next(
        layer._data for layer in plot.layers if layer.geom.aes_params.get("shape") == "x"
    )
    share = dict(zip(crosses["y"], crosses["estimate"], strict=True))
    assert share == {
        "BCa, ties left out": 0.78, "normal bootstrap": 0.684, "basic": 0.652, "percentile": 0.64,
        "empirical quantile": 0.34, "umbrella": 0.92,
    }  # fmt: skip
    assert "not in the document, and the umbrella's is exact there. BCa shifts" in text_of(plot)


def test_what_holds_for_all_test_sets_is_said_once(published):
    """A resampled quantile equals the test set's own in 0.1025 of all resamples of 50 scores."""
    plot = published.figure("2")
    assert list(plot.data["panel"].cat.categories) == [f"test set {i}" for i in (1, 2, 3, 4)]
    assert "of which 10.3% equal the quantile, whatever the scores" in text_of(plot)


def test_figure_2_speaks_of_all_test_sets(published):
    names = ("threshold", "bootstrap_mean")
    stored = published.columns(published.scenario(**EXACTLY), *names)
    share = (stored["bootstrap_mean"] > stored["threshold"][:, METHODS.index("empirical")]).mean()
    said = text_of(published.figure("2"))
    assert f"exceeds the quantile in {share:.0%}, and" in said
    assert said.endswith("of 50,000 test sets.")


def test_methods_without_a_bootstrap_have_a_mark_of_their_own(published):
    drawn = published.figure("coverage_table").data
    without = set(drawn.loc[drawn["color"] == NONE, "y"])
    assert without == {"empirical quantile", "umbrella", "normal tolerance"}


def test_rates_stand_once_in_figure_4(published):
    scenario = max(published.plan.scenarios, key=lambda trial: trial.n_boot)
    safe = published.columns(scenario, "safe")["safe"][:, METHODS.index("umbrella")].mean()
    plot = published.figure("4")
    words = plot.layers[-1]._data.set_index("panel")["said"].str.strip()
    assert f"umbrella\n    {safe:.4f} ±" in words["threshold"]
    assert words["true sensitivity"] == ""
    assert "BCa leaves out resampled quantiles that equal the test set's own." in text_of(plot)


@pytest.fixture(scope="module")
def grid():
    config = wider.Config(n_obs=[20, 40], sensitivity=[0.95], scores=["normal", "skewed"])
    return wider.study(config).run(20)


@pytest.mark.parametrize("name", ["coverage", "efficiency"])
def test_no_panel_of_the_grid_has_more_than_four_methods(grid, name):
    drawn = grid.figure(name).data
    n_methods = drawn.groupby(["panel", "rows"], observed=True)["color"].nunique()
    assert (n_methods == 4).all()
    assert drawn["color"].nunique() == 8


def test_the_grids_coverage_draws_every_point(grid):
    plot = grid.figure("coverage")
    low, high = plot.draw().axes[0].get_ylim()
    assert low < plot.data["estimate"].min() < 0.6
    assert plot.data["estimate"].max() <= high


def test_a_method_has_one_colour_in_all_studies_of_thresholds(published, grid):
    """In figure 4, in the grid and in the nested loop."""
    figures = (published.figure("4"), grid.figure("coverage"), grid.figure("nested_loop"))
    scales = [figure.scales.get_scales("color") for figure in figures]
    assert len({scale.palette(len(scale.limits))["umbrella"] for scale in scales}) == 1
