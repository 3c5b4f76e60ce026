"""Scenarios in which nothing can be tested are refused by name and value when they are built."""

import math
from dataclasses import replace

import numpy as np
import pytest

from simstudy import Data
from simstudy.documents.dgps.friedman import Friedman
from simstudy.documents.dgps.location import StudentT
from simstudy.documents.dgps.prompts import BinaryScores
from simstudy.documents.scenarios.accuracy import AccuracyCheck
from simstudy.documents.scenarios.leave_one_out import LeaveOneOut
from simstudy.documents.scenarios.predictions import Predictions, TableRows, refuse_truth_of
from simstudy.documents.scenarios.proportions import Proportion, ProportionInterval
from simstudy.documents.scenarios.regression import RegressionTrial
from simstudy.documents.scenarios.score_checks import ScoreCheck
from simstudy.documents.scenarios.standard_error import BootstrapSe
from simstudy.documents.scenarios.thresholds import Trial, Umbrella
from simstudy.documents.scenarios.two_sample import TwoSample
from simstudy.documents.scenarios.two_stage import TwoStage
from simstudy.documents.scenarios.two_stage_outcomes import TwoStageOutcomes
from simstudy.errors import ConfigError, DesignError

PREDICTIONS = Predictions(Friedman(n_feature=5), n_train=30, n_test=12, n_boot=(4, 6))
ZEROS = TableRows(Data.from_array(np.zeros((45, 3)), name="t"))


def check(**about):
    return ScoreCheck(BinaryScores(mean=0.5), **{"n": 8} | about)


REFUSED = {
    "accuracy": [
        (lambda: AccuracyCheck(n=32, accuracy=0.3, effect=1), "n=32 prompts have a θ"),
        (lambda: AccuracyCheck(n=32, accuracy=0.9, effect=1, correlation=0.9), "correlation=0.9"),
        (lambda: AccuracyCheck(n=32, correlation=1.0), "correlation=1"),
        (lambda: AccuracyCheck(n=0), "n=0"),
        (lambda: AccuracyCheck(n=32, quantile=1.0), r"is not in \[0, 1\)"),
    ],
    "predictions": [
        (lambda: replace(PREDICTIONS, n_train=1), "n_train=1"),
        (lambda: replace(PREDICTIONS, n_test=0), "n_test=0"),
        (lambda: replace(PREDICTIONS, n_boot=(1,)), r"n_boot=\(1,\)"),
        (lambda: replace(PREDICTIONS, n_boot=(5, 4)), r"n_boot=\(5, 4\)"),
        (lambda: replace(PREDICTIONS, response="root"), "response='root'"),
        (lambda: ZEROS.sample(np.random.default_rng(1), 1, 46), "has 45 rows, .* take 46"),
        (
            lambda: replace(PREDICTIONS, source=ZEROS, response="log").draw(
                lambda purpose: np.random.default_rng(1), 2
            ),
            "84 responses are not above 0",
        ),
        (lambda: refuse_truth_of(ZEROS), "nobody knows the distribution behind t#"),
    ],
    "proportions": [
        (lambda: ProportionInterval(n_boot=1), "n_boot=1"),
        (lambda: ProportionInterval(level=95), "level=95"),
        (lambda: Proportion(null_share=2), "null_share=2"),
    ],
    "regression": [
        (
            lambda: RegressionTrial(n_train=20),
            "n_train=20 observations are too few for 20 features",
        ),
        (lambda: RegressionTrial(n_boot=50), r"n_boot=50 leaves 3\.3 resamples beyond"),
        (lambda: RegressionTrial(k=4.0), r"n_boot=1000 leaves 0\.032 resamples .* at k=4"),
        (lambda: RegressionTrial(power=0.01), r"power=0\.01 is not above alpha=0\.05"),
    ],
    "score_checks": [
        (lambda: check(n=1), "n=1 "),
        (lambda: check(alpha=0.6), "alpha=0.6"),
        (lambda: check(beta=1.5), "beta=1.5"),
        (lambda: check(correlation=1.0), "correlation=1"),
        (lambda: check(reference=0.5), "reference=0.5"),
        (lambda: check(reference=2.0, same_prompts=False), "reference=2 "),
        (lambda: check(detectable_at=2), r"mean=-0.\d+"),
    ],
    "leave_one_out": [
        (lambda: LeaveOneOut(prior="flat"), "prior='flat' is unknown"),
        (lambda: LeaveOneOut(coefficients="same"), "coefficients='same' is unknown"),
        (lambda: LeaveOneOut(against=("third",)), "against='third' is unknown"),
        (lambda: LeaveOneOut(n_feature=0), "n_feature=0"),
    ],
    "others": [
        (lambda: Trial(sensitivity=0.85, margin=0.95), "sensitivity 0.85"),
        (lambda: BootstrapSe(n_boot=1.0), "n_boot=1.0"),
        (lambda: BootstrapSe(n_boot=math.nan), "no variance"),
        (lambda: Umbrella(3), "n_obs=3"),
        (lambda: TwoSample(n1=1, n2=9), "n1=1, n2=9"),
        (lambda: TwoSample(n1=5, n2=9, variance_ratio=np.inf), "variance_ratio=inf"),
        (lambda: TwoStage(k=1, n1=10, n2=10, dgp=StudentT(), draws="sufficient"), "StudentT"),
        (lambda: TwoStageOutcomes(k=1.5, n1=150, power=0.01), "power=0.01"),
    ],
}


@pytest.mark.parametrize("module", REFUSED)
def test_what_leaves_nothing_to_test_is_refused_by_name_and_value(module):
    for make, about in REFUSED[module]:
        with pytest.raises((DesignError, ConfigError), match=about):
            make()
