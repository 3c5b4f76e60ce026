"""Accuracy regression: claims come out as foreseen, can fail, and need replicates to be decided."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from experiments.accuracy_regression import answers
from experiments.accuracy_regression.figures import TARGETS, mid_p_power, prompts_needed, sizes_of
from experiments.accuracy_regression.study import Config, study
from simstudy.claims import Finding
from simstudy.engine.workers import Workers
from simstudy.errors import TooFewReplicatesError
from simstudy.trials.accuracy import METHODS, AccuracyCheck
from tests.experiments.claimed import assert_holds, assert_undecided
from tests.figures.data import segments, text_of

pytestmark = pytest.mark.slow

INLINE = Workers("inline", 1)
FORMULAS = {
    *("threshold", "at the threshold", "at a rounded threshold", "t test", "least n"),
    *("two forms of θ", "least n of all"),
}
SMALL = {"n": [32, 64], "accuracy": [0.5], "correlation": [0.2], "paired_accuracy": [0.5],
         "quantile": [0.5]}  # fmt: skip
CLAIMED = {"n": [32, 512], "accuracy": [0.5, 0.9], "correlation": [0.6], "paired_accuracy": [0.5],
           "quantile": [0.5, 0.75, 0.95, 0.975]}  # fmt: skip


@pytest.fixture(scope="module")
def published():
    """The part of the published run that claims look at, as many replicates, the summary alone."""
    return study(Config(**CLAIMED)).run(keep="summary", workers=INLINE)


def test_claims_come_out_as_foreseen_and_fall_for_their_rivals(published):
    assert_holds(published)


def test_every_share_that_fails_has_its_exact_value(published):
    rows = published.summary
    assert rows["exact"].notna().all()
    assert len(rows) == len(published.plan.scenarios) * (len(METHODS) + 1)


def test_claims_need_replicates_to_be_decided():
    """Of ten replicates nothing follows, however the ten come out, and no rival holds."""
    assert_undecided(study(Config(**CLAIMED)).run(10, workers=INLINE), exact=FORMULAS)


def test_claims_of_the_document_say_nothing_at_other_levels():
    found = study(Config(alpha=0.1, **SMALL)).run(100, workers=INLINE).claims.set_index("claim")
    assert "alpha = 0.05" in found.loc["alpha", "detail"]
    assert found.loc["alpha", "verdict"] == "no data"


# ---------------------------------------------------------------- statements can fail
def test_two_replicates_decide_no_variance():
    """Their influence-function error is 0, whatever they are."""
    result = study(Config(**CLAIMED)).run(2, workers=INLINE)
    assert answers._squared_spread(result, answers.one_half(result)).mcse > 0
    found = result.claims.set_index("claim")["verdict"]
    undecided = found[["spread", "sigma", "spread on the same prompts"]]
    assert (undecided == "too few replicates").all()


def test_the_variance_on_the_same_prompts_is_less_by_their_correlation(published):
    found = answers.variance(published, answers.of_same_prompts)
    assert abs(found.value - 0.4) < 4 * found.mcse
    assert found.detail == "exactly 0.4000"


def test_a_twentieth_of_the_variance_moves_the_level_by_less_than_half_a_percent():
    larger = stats.norm.cdf(stats.norm.ppf(0.05) / np.sqrt(1 + answers.TWENTIETH)) - 0.05
    smaller = 0.05 - stats.norm.cdf(stats.norm.ppf(0.05) / np.sqrt(1 - answers.TWENTIETH))
    assert 0 < larger < answers.HALF_A_PERCENT
    assert 0 < smaller < answers.HALF_A_PERCENT


def enumerated(shift: float, n_rep: int = 2_000_000) -> Finding:
    exact = np.array([0.0, 1e-7, 0.05, 0.8, 1.0])
    share = np.round(np.clip(exact + shift, 0, 1) * n_rep) / n_rep
    rows = {"measure": "rejection_rate", "estimate": share, "exact": exact, "n_rep": n_rep}
    return answers.as_enumerated(SimpleNamespace(summary=pd.DataFrame(rows)))


def test_shares_half_a_percent_off_are_not_those_of_enumeration():
    assert enumerated(0).value == enumerated(0.003).value == 1
    assert enumerated(0.007).value == enumerated(-0.007).value == 0
    with pytest.raises(TooFewReplicatesError):
        enumerated(0, n_rep=1000)


# ---------------------------------------------------------------- numbers of figures
def test_the_sizes_are_those_of_the_formula():
    check = AccuracyCheck(32)
    z = 1.6448536269514722 + 0.8416212335729143
    for target in TARGETS:
        found = sizes_of(target, check)
        assert found["least"] == np.ceil(2 * (50 * z / target) ** 2)
        doublings = np.log2(found["doubled"] / 32)
        assert doublings == int(doublings)
        assert found["doubled"] / 2 < found["least"] <= found["doubled"]


def test_prompts_needed_are_the_least_with_the_power():
    check = AccuracyCheck(512, accuracy=0.8, effect=1, correlation=0.6)
    n = int(prompts_needed(check)["n"])
    assert mid_p_power(n - 1, check) < 0.8 <= mid_p_power(n, check)


# ---------------------------------------------------------------- figures
@pytest.fixture(scope="module")
def small():
    return study(Config(**SMALL)).run(100, workers=INLINE)


def test_the_document_s_line_lies_wide_below_those_that_would_cover_it(small):
    """Whichever of the rounded thresholds is on it, at every n."""
    plot = small.figure("lattice")
    beneath, above = plot.layers[0], plot.layers[2]
    assert beneath.geom.aes_params["size"] > above.geom.aes_params["size"]
    exact = above._data.pivot(index=["x", "rows"], columns="color", values="exact")
    document = exact.pop("z, σ = 1/2 (document)")
    assert exact.eq(document, axis=0).any(axis=1).all()
    assert sorted(beneath._data["exact"]) == sorted(document)
    assert "Once γ is rounded to a number of right answers they differ." in text_of(plot)


def test_the_curves_of_one_reference_have_names_and_strokes(small):
    plot = small.figure("one_reference")
    strokes = [layer.geom.aes_params.get("linetype") for layer in plot.layers]
    assert "dashdot" in strokes
    labels = [layer for layer in plot.layers if layer.geom.__class__.__name__ == "geom_text"]
    words = pd.concat([layer._data for layer in labels])
    named = words.set_index("words")["exact"]
    assert named["exact"] > named["normal approximation"]
    averages = words[words["words"].str.startswith("average")].set_index("effect")
    assert (averages.loc[0, "luck"] < 0).all()  # where no curve comes to
    assert (averages.loc[1, "luck"] > 0).all()


def test_alpha_stands_at_its_area(small):
    plot = small.figure("hypotheses")
    area = plot.layers[0]._data
    (leader,) = (ends for ends in segments(plot.draw()) if np.diff(ends, axis=0).all())
    x, y = leader[1]
    assert area["x"].min() < x < area["x"].max()
    assert 0 < y < np.interp(x, area["x"], area["density"])


# ---------------------------------------------------------------- the grid
def test_the_grid_is_different_prompts_then_the_same_then_one_reference():
    scenarios = study(Config(**SMALL, effect=[0])).scenarios
    assert [(s.n, s.correlation, s.quantile) for s in scenarios] == [
        (32, 0, 0), (64, 0, 0), (64, 0.2, 0), (32, 0, 0.5), (64, 0, 0.5),
    ]  # fmt: skip


def test_figures_of_scenarios_that_are_left_out_say_what_they_lack():
    whole = study(Config(**SMALL))
    result = replace(whole, scenarios=whole.scenarios[:4]).run(100, workers=INLINE)
    for name, lacks in {
        "one_reference": "a reference that is used again",
        "same_prompts": "the same prompts for the reference and the check",
        "savings": "the same prompts",
    }.items():
        with pytest.raises(LookupError, match=lacks):
            result.details.figures[name](result)
