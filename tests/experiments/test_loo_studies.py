"""Leave-one-out studies: claims as foreseen at reduced size, figures from what is stored."""

import numpy as np
import pytest

from experiments.loo_calibration.study import Config as CalibrationConfig
from experiments.loo_calibration.study import study as calibration
from experiments.loo_importance.study import Config as ImportanceConfig
from experiments.loo_importance.study import study as importance
from experiments.loo_r2.cells import TAYLOR, standard_errors, values
from experiments.loo_r2.figures import few_observations, many_features, ordinary
from experiments.loo_r2.study import Config, study
from simstudy.stats.leave_one_out.utilities import UTILITIES


@pytest.fixture(scope="module")
def small():
    return study(Config(n_obs=[100], n_draw=500, high_p=[50, 100])).run(n_rep=30)


def test_the_published_grid_is_the_documents():
    made = study(Config())
    assert len(made.scenarios) == 27 + 18 + 3
    assert {s.noise_sd for s in made.scenarios if s.prior == "default"} == {2.0, 1.0, 0.5}
    assert {s.n_feature for s in made.scenarios if s.prior == "wide"} == {20, 50, 100}
    assert made.n_rep == 100


def undecided(claims) -> set[str]:
    """Claims without an answer at this size; every other comes out as foreseen."""
    without = claims["verdict"] == "no data"
    decided = claims[~without]
    assert (decided["verdict"] == decided["expected"]).all(), decided[["claim", "detail"]]
    return set(claims.loc[without, "claim"])


def test_claims_come_out_as_foreseen(small):
    enough = {"low n", "low n, right form", "low n, dispersion", "one definition"}
    assert not undecided(small.claims) & enough


def test_values_are_those_of_their_place_on_the_axes(small):
    scenario = small.plan.scenarios[0]
    whole = small.columns(scenario, "std_error")["std_error"]
    found = values(small, scenario, "std_error", utility="mae", method="bootstrap")
    np.testing.assert_array_equal(found, whole[:, 0, UTILITIES.index("mae"), 1])


def test_standard_errors_have_a_row_for_each_data_set(small):
    parts = [ordinary(small), few_observations(small), many_features(small)]
    assert sum(map(len, parts)) == len(small.plan.scenarios)
    drawn = standard_errors(small, parts[0], form="r2_variance")
    assert len(drawn) == 30 * len(parts[0])
    first = values(small, parts[0][0], "std_error", utility=TAYLOR, method="taylor")
    np.testing.assert_array_equal(drawn["taylor"][:30], first)


def test_figures_draw_every_data_set_that_has_a_place(small):
    simres = small.figure("simres").data
    assert simres.groupby(["panel", "rows"], observed=True).size().tolist() == [30] * 9
    assert len(small.figure("simres_high_p_n50").data) == 30 * 2
    forms = small.figure("forms").data
    assert forms.groupby("panel", observed=True).size().max() == 30 * 27


def test_a_run_without_their_scenarios_has_no_figure_and_no_claim():
    result = study(Config(n_obs=[100], low_n=[200], high_p=[1], n_draw=50)).run(n_rep=10)
    with pytest.raises(LookupError, match="a scenario of this figure"):
        result.figure("simres_low_n")
    said = result.claims.set_index("claim")["verdict"]
    assert set(said[["low n", "high p", "overfitted, p = 50"]]) == {"no data"}


def test_calibration_holds_the_formula_against_the_truth():
    config = CalibrationConfig(
        n_obs=[5, 100], n_feature=[5], noise_sd=[1.0], high_p=[50, 100], n_draw=50
    )
    result = calibration(config).run(n_rep=300)
    assert undecided(result.claims) == {"right for large n"}  # one cell knows it to 4%
    elpd = result.summary.query("utility == 'elpd' and measure == 'coverage_given_fit'")
    assert elpd["estimate"].isna().all()
    assert set(result.summary["compared"]) == {"model", "less half", "less useless"}


def test_importance_sampling_does_not_leave_out_what_the_fit_interpolates():
    pytest.importorskip("arviz")
    config = ImportanceConfig(wide_n_feature=[50, 100], low_n=[5], n_feature=[1], n_draw=1000)
    result = importance(config).run(n_rep=40)
    enough = {"overfitted, p = 50, importance sampling", "leaves an observation out"}
    assert not undecided(result.claims) & enough
