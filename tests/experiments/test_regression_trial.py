"""The regression trial: claims, figures, refusals."""

import pytest

from experiments import regression_trial_models
from experiments.regression_trial.study import Config, study
from simstudy.errors import DesignError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def small():
    return study(Config()).run(n_rep=400)


SHARP = [
    "prospective sample",
    "risk without intercept",
    "variance overestimated",
    "quantiles beyond k",
]


@pytest.fixture(scope="module")
def claims():
    """Of a twentieth of the published replicates: enough for what is sharp."""
    return study(Config()).run(n_rep=10_000).claims.set_index("claim")


def test_what_is_sharp_is_decided_and_nothing_is_decided_otherwise(claims):
    sharp, is_foreseen = claims.loc[SHARP], claims["verdict"] == claims["expected"]
    assert is_foreseen[SHARP].all(), sharp["detail"]
    fallen = sharp.loc[sharp["expected"] == "reproduced", "rival"]
    assert fallen.str.endswith(": differs").all(), fallen
    assert set(claims.loc[~is_foreseen, "verdict"]) <= {"too few replicates"}
    assert not claims["rival"].str.contains("reproduced").any(), claims["rival"]


def test_few_replicates_reproduce_nothing_that_is_simulated():
    few = study(Config()).run(n_rep=20).claims.set_index("claim")
    exact, sharpest = "prospective sample", "quantiles beyond k"
    assert set(few.index[few["verdict"] == "reproduced"]) <= {exact, sharpest}


def test_vanilla_makes_more_nulls_true(small):
    rows = small.summary.query("measure == 'null_is_false'").pivot_table(
        "estimate", "metric", "method"
    )
    assert (rows["vanilla"] < rows["studentized"]).all()


def test_the_coverage_table_is_the_documents_beside_ours(small):
    frame = small.table("coverage").frame
    said = frame.dropna(subset="published").set_index("metric")
    assert said["published"].to_dict() == {"MSE": 0.935, "MAE": 0.939}
    assert set(said["bootstrap"]) == {"studentized"}
    assert set(frame["nominal"].round(3)) == {0.933}
    ours = small.row("null_is_false_printed", metric="mae", method="studentized")
    assert said.loc["MAE", "simulated"] == ours["estimate"]
    assert "0.939" in small.table("coverage").markdown()


def test_bars_of_figure_3a_are_the_counts(small):
    z = small.columns(small.plan.scenarios[0], "z", "null_is_false")
    bars_of = small.figure("3A").data.query("rows == 'null is false'")
    for at, metric in enumerate(("MSE", "MAE")):
        bars = bars_of[bars_of["panel"] == metric]
        rejected = bars.loc[bars["decision"] == "reject", "count"].sum()
        wanted = z["null_is_false"][:, 0, at].astype(bool)
        limit = small.plan.scenarios[0].design.critical_value
        assert rejected == (z["z"][wanted, 0, at] < limit).sum()


def test_too_few_fresh_observations_are_refused():
    pytest.importorskip("sklearn", reason="needs pip install -e '.[models]'")
    config = regression_trial_models.Config(n_test=[500], n_truth=1000, n_boot=80, n_train=40)
    said = r"n_truth=1000 fresh observations know the true metric hardly better"
    with pytest.raises(DesignError, match=said):
        regression_trial_models.study(config)
