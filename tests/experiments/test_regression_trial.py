"""The regression trial: claims, figures, refusals."""

import pytest

from experiments import regression_trial_inner
from experiments.regression_trial.study import CLAIMS, Config, study
from simstudy.errors import ConfigError, DesignError
from simstudy.trials.regression import METHODS, METRICS


@pytest.fixture(scope="module")
def small():
    return study(Config()).run(n_rep=400)


# ---------------------------------------------------------------- claims and figures
NEED_ALL_5000 = [
    "risk without intercept",
    "vanilla against nominal",
    "vanilla against studentized",
]


def test_claims_come_out_as_foreseen(small):
    claims = small.claims.set_index("claim")
    sharp = claims.drop(NEED_ALL_5000)
    assert (sharp["verdict"] == sharp["expected"]).all(), sharp["detail"]
    assert set(claims.loc[NEED_ALL_5000, "verdict"]) <= {"reproduced", "differs"}
    assert len(claims) == len(CLAIMS)


def test_vanilla_makes_more_nulls_true(small):
    rows = small.summary.query("measure == 'null_is_false'").pivot_table(
        "estimate", "metric", "method"
    )
    assert (rows["vanilla"] < rows["studentized"]).all()


def test_figures_are_functions_of_the_result(small):
    assert small.figure("3A").labels.x == "z-score of the prospective sample"
    assert len(small.figure("3B").data) == 4 * 400
    assert set(small.figure("3C").data["panel"]) == {"MSE", "MAE"}
    assert len(small.figure("methods").data) == 2 * len(METHODS) * len(METRICS) * 3


def test_bars_of_figure_3a_are_the_counts(small):
    z = small.columns(small.plan.scenarios[0], "z", "null_is_false")
    bars_of = small.figure("3A").data.query("rows == 'null is false'")
    for at, metric in enumerate(("MSE", "MAE")):
        bars = bars_of[bars_of["panel"] == metric]
        rejected = bars.loc[bars["decision"] == "reject", "count"].sum()
        wanted = z["null_is_false"][:, 0, at].astype(bool)
        limit = small.plan.scenarios[0].design.critical_value
        assert rejected == (z["z"][wanted, 0, at] < limit).sum()


def test_inner_resamples_change_no_conclusion():
    result = regression_trial_inner.study(regression_trial_inner.Config(n_inner=[50])).run(n_rep=40)
    claim = result.claims.iloc[0]
    assert claim["verdict"] == "reproduced", claim["detail"]
    assert len(result.figure("inner").data) == 4 * 40


# ---------------------------------------------------------------- refusals
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"n_train": [20]}, r"n_train=20 observations are too few for 20 features"),
        ({"n_boot": 50}, r"n_boot=50 leaves 3\.3 resamples beyond the quantile at k=1\.5"),
        ({"k": [4.0]}, r"n_boot=1000 leaves 0\.032 resamples beyond the quantile at k=4"),
        ({"power": [0.01]}, r"power=0\.01 is not above alpha=0\.05"),
    ],
)
def test_a_study_without_an_answer_is_refused(settings, said):
    with pytest.raises(DesignError, match=said):
        study(Config(**settings))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"alpha": [1.0]}, r"alpha=\[1\]: allowed is a number above 0 and below 1"),
        ({"n_test": [1]}, r"n_test=\[1\]: allowed is a whole number at least 2"),
        ({"draws": "some"}, r"draws=some: allowed is text one of law, raw"),
        ({"n_bot": 3}, r"n_bot is not a setting"),
    ],
)
def test_a_setting_out_of_range_is_refused(settings, said):
    with pytest.raises(ConfigError, match=said):
        Config(**settings)
