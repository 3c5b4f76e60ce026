"""Accuracy scores: claims hold where they should, and can fail; few replicates decide nothing."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from experiments.accuracy_scores.answers import RARE, _worth_of_prompts, margin_about
from experiments.accuracy_scores.claims import CLAIMS
from experiments.accuracy_scores.figures import SCORES
from experiments.accuracy_scores.study import Config, study
from simstudy.documents.dgps.prompts import GaussianScores
from simstudy.documents.scenarios.score_checks import METHODS, ScoreCheck
from tests.support import INLINE

pytestmark = pytest.mark.slow

SMALL = {"n": [32, 128], "correlation": [0, 0.8], "saved_from": 128, "n_with_reference": [32]}
N_DECISIVE = 200_000  # chance then reaches 0.002 from a level of 0.05, less than half its margin


def claimed(of, n_rep: int):
    return of.run(n_rep, **INLINE).claims.set_index("claim")


@pytest.fixture(scope="module")
def of_normal():
    return claimed(study(Config(**SMALL, scores=["normal"])), N_DECISIVE)


def test_of_normal_scores_theory_holds_and_no_rival_does(of_normal):
    said = ["level at the least n, normal", "power at the least n, normal", "a large σ is safe",
            "σ of a pilot of 32, normal", "prompts saved, normal",
            "luck of the reference, normal"]  # fmt: skip
    assert of_normal.loc[said, "verdict"].tolist() == ["reproduced"] * len(said)
    assert of_normal.loc[said, "rival"].str.endswith(": differs").all()


def test_what_the_document_leaves_out_differs(of_normal):
    said = ["a two-sample t-test", "level given the reference"]
    assert of_normal.loc[said, "verdict"].tolist() == ["differs"] * len(said)


def test_scores_that_were_not_drawn_have_no_verdict(of_normal):
    others = [claim.name for claim in CLAIMS if "perplexity" in claim.name]
    assert (of_normal.loc[others, "verdict"] == "no data").all()


def test_with_few_replicates_no_claim_holds_for_want_of_them():
    found = claimed(study(Config(**SMALL)), 20)
    assert "reproduced" not in set(found["verdict"])
    assert not found["rival"].str.endswith(": reproduced").any()


class Misnamed(ScoreCheck):
    """Gives each method's answer under the name of the one before it."""

    def simulate(self, streams, n_rep):
        columns = super().simulate(streams, n_rep)
        return {**columns, "reject": np.roll(columns["reject"], -1, axis=1)}


def test_those_claims_fail_where_z_is_another_test():
    declared = study(Config(**SMALL, scores=["normal"]))
    wrong = replace(
        declared,
        scenarios=[
            Misnamed(**{name: getattr(each, name) for name in each.__dataclass_fields__})
            for each in declared.scenarios
        ],
    )
    found = claimed(wrong, 20_000)["verdict"]
    assert found["level at the least n, normal"] == "differs"
    assert found["luck of the reference, normal"] == "differs"


def test_the_margin_is_by_the_size_of_what_is_said():
    """A level of 0.002 is not near one of 0.0001."""
    known, alpha = np.array([0.25, 0.01, 1e-4]), np.full(3, 0.05)
    np.testing.assert_allclose(margin_about(known, alpha), [0.025, 0.005, RARE - 1e-4])


def test_powers_are_about_the_same_within_what_a_tenth_more_prompts_make():
    """By the formula of a z test with known σ, whatever the size."""
    reach = stats.norm.ppf([0.95, 0.8])
    more = stats.norm.cdf(np.sqrt(1.1) * reach.sum() - reach[0])
    for n in (32, 512):
        margin = _worth_of_prompts(ScoreCheck(GaussianScores(), n=n))
        assert margin == pytest.approx(more - 0.8, rel=1e-12)


def test_the_sizes_that_save_prompts_are_those_of_the_formula():
    declared = study(Config(saved_from=512, n=[32]))
    sizes = {
        each.correlation: each.n for each in declared.scenarios if each.detectable_at == 512
    }  # fmt: skip
    assert sizes == {0: 512, 0.5: 256, 0.8: 103, 0.95: 26}


def test_scenarios_that_come_by_two_ways_come_once():
    declared = study(Config())
    assert len(set(declared.scenarios)) == len(declared.scenarios)
    assert {type(each.scores) for each in declared.scenarios} == {
        type(scores) for scores in SCORES.values()
    }
    assert declared.axes == {"method": METHODS}
