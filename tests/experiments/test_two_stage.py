"""The two-stage trial: its claims, and where its theory breaks."""

import pytest

from experiments import two_stage_robustness
from experiments.two_stage.study import CLAIMS, Config, study
from simstudy.engine.workers import Workers
from simstudy.stats.two_stage.design import critical_value


@pytest.fixture(scope="module")
def claims():
    result = study(Config(draws="sufficient", n2=[50, 100, 300, 500, 1000])).run(5000, seed=2)
    return result.claims.set_index("claim")


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_every_claim_has_the_verdict_that_derivation_says(claims, claim):
    assert claims.loc[claim.name, "verdict"] == claim.expected


def test_the_published_sample_size_is_exact(claims):
    assert claims.loc["sample size", "reproduced"] == 399


def test_the_claims_can_fail(monkeypatch):
    """With a critical value that is too large, the claims about power and size are not kept."""

    def lenient(*design: float) -> float:
        return float(critical_value(*design)) + 0.1

    monkeypatch.setattr("simstudy.trials.two_stage._limit", lenient)
    config = Config(draws="sufficient", n2=[50, 100, 200, 400])
    result = study(config).run(5000, workers=Workers("inline"))
    verdicts = result.claims.set_index("claim")["verdict"]
    assert verdicts["average type-I error"] == "differs"
    assert verdicts["empirical power"] == "differs"
    assert verdicts["outcome table"] == "differs"


def test_robustness_shows_what_breaks_and_what_does_not():
    config = two_stage_robustness.Config(k=[0], n2=[50], dgps=["gaussian", "lognormal"])
    summary = two_stage_robustness.study(config).run(8000).summary
    rows = summary[(summary["measure"] == "type_1_error") & (summary["variance"] == "estimated")]
    rows = rows.set_index("dgp")
    assert rows.loc["Gaussian", "lower"] < 0.05 < rows.loc["Gaussian", "upper"] + 0.01
    assert rows.loc["Lognormal", "lower"] > 0.08
