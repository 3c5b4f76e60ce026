"""Leave-one-out studies: claims as foreseen at reduced size, figures from what is stored."""

import pytest

from experiments.loo_calibration.study import Config as CalibrationConfig
from experiments.loo_calibration.study import study as calibration
from experiments.loo_importance.study import Config as ImportanceConfig
from experiments.loo_importance.study import study as importance
from experiments.loo_r2.study import Config, study
from experiments.loo_r2.tables import TERMS

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def small():
    return study(Config(n_obs=[100], n_draw=500, high_p=[50, 100])).run(n_rep=30)


def test_the_published_grid_is_the_documents():
    made = study(Config())
    assert len(made.scenarios) == 27 + 18 + 3
    assert {s.noise_sd for s in made.scenarios if s.prior == "default"} == {2.0, 1.0, 0.5}
    assert {s.n_feature for s in made.scenarios if s.prior == "wide"} == {20, 50, 100}
    assert made.n_rep == 100


def test_the_table_has_a_standard_error_for_each_utility(small):
    text = small.table("approximations").markdown()
    assert all(f"| {terms.name} " in text for terms in TERMS.values())
    assert "30 data sets of 100 observations" in text


def undecided(claims) -> set[str]:
    """Claims without an answer at this size; others come out as foreseen, rivals do not hold."""
    without = claims["verdict"] == "too few replicates"
    decided = claims[~without]
    assert (decided["verdict"] == decided["expected"]).all(), decided[["claim", "detail"]]
    assert not claims["rival"].str.endswith(": reproduced").any(), claims["rival"]
    return set(claims.loc[without, "claim"])


def fell(claims) -> set[str]:
    return set(claims.loc[claims["rival"].str.endswith(": differs"), "claim"])


def test_claims_come_out_as_foreseen(small):
    enough = {"low n", "low n, right form", "low n, dispersion", "one definition"}
    assert not undecided(small.claims) & enough
    assert {"large n", "low n, dispersion"} <= fell(small.claims)


@pytest.fixture(scope="module")
def calibrated():
    config = CalibrationConfig(
        n_obs=[5, 100], n_feature=[5], noise_sd=[1.0], high_p=[50, 100], n_draw=50
    )
    return calibration(config).run(n_rep=300)


def test_calibration_holds_the_formula_against_the_truth(calibrated):
    result = calibrated
    assert undecided(result.claims) == {"right for large n"}  # one cell knows it to 4%
    assert fell(result.claims) == {"right for large n"}  # of the others one cell does not
    elpd = result.summary.query("utility == 'elpd' and measure == 'coverage_given_fit'")
    assert elpd["estimate"].isna().all()
    assert set(result.summary["compared"]) == {"model", "less half", "less useless"}


OVERFITTED = "overfitted, p = 50, importance sampling"


def test_importance_sampling_does_not_leave_out_what_the_fit_interpolates():
    config = ImportanceConfig(wide_n_feature=[50, 100], low_n=[5], n_feature=[1], n_draw=1000)
    result = importance(config).run(n_rep=40)
    assert "leaves an observation out" not in undecided(result.claims)
    # 40 replicates decide what the document prints, and not what it means.
    printed = {claim.name: claim for claim in result.details.claimed}[OVERFITTED]
    assert printed.verdict(printed.reproduce(result)) == "reproduced"
    assert "overfitted, p = 100, importance sampling" in fell(result.claims)
