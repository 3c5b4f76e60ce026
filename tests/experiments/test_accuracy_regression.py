"""Accuracy regression: claims come out as foreseen, can fail, and need replicates to be decided."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from experiments.accuracy_regression import answers
from experiments.accuracy_regression.figures import TARGETS, mid_p_power, prompts_needed, sizes_of
from experiments.accuracy_regression.study import Config, study
from simstudy.claims import Finding
from simstudy.documents.scenarios.accuracy import METHODS, AccuracyCheck
from simstudy.errors import TooFewReplicatesError
from tests.experiments.claimed import assert_holds, assert_undecided
from tests.support import INLINE

pytestmark = pytest.mark.slow

FORMULAS = {
    *("threshold", "at the threshold", "at a rounded threshold", "t test", "least n"),
    *("two forms of θ", "least n of all"),
}
CLAIMED = {"n": [32, 512], "accuracy": [0.5, 0.9], "correlation": [0.6], "paired_accuracy": [0.5],
           "quantile": [0.5, 0.75, 0.95, 0.975]}  # fmt: skip


@pytest.fixture(scope="module")
def published():
    """The part of the published run that claims look at, as many replicates."""
    return study(Config(**CLAIMED)).run(**INLINE)


def test_claims_come_out_as_foreseen_and_fall_for_their_rivals(published):
    assert_holds(published)


def test_every_share_that_fails_has_its_exact_value(published):
    rows = published.summary
    assert rows["exact"].notna().all()
    assert len(rows) == len(published.plan.scenarios) * (len(METHODS) + 1)


def test_claims_need_replicates_to_be_decided():
    assert_undecided(study(Config(**CLAIMED)).run(10, **INLINE), exact=FORMULAS)


def test_two_replicates_decide_no_variance():
    """Their influence-function error is 0, whatever they are."""
    result = study(Config(**CLAIMED)).run(2, **INLINE)
    assert answers._squared_spread(result, answers.one_half(result)).mcse > 0
    found = result.claims.set_index("claim")["verdict"]
    undecided = found[["spread", "sigma", "spread on the same prompts"]]
    assert (undecided == "too few replicates").all()


def test_the_variance_on_the_same_prompts_is_less_by_their_correlation(published):
    found = answers.variance(published, answers.of_same_prompts)
    assert abs(found.value - 0.4) < 4 * found.mcse
    assert found.detail == "exactly 0.4000"


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
