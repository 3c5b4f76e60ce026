"""Scenarios in which nothing can be tested are refused by name and value when they are built."""

import math

import pytest

from experiments.bootstrap_se import BootstrapSe
from experiments.trial_outcomes import TwoStageOutcomes
from simstudy.documents.scenarios.accuracy import AccuracyCheck
from simstudy.documents.scenarios.leave_one_out import LeaveOneOut
from simstudy.documents.scenarios.regression import RegressionTrial
from simstudy.documents.scenarios.thresholds import Trial, Umbrella
from simstudy.errors import DesignError

REFUSED = {
    "accuracy": [
        (lambda: AccuracyCheck(n=32, accuracy=0.3, effect=1), "n=32 prompts have a θ"),
        (lambda: AccuracyCheck(n=32, accuracy=0.9, effect=1, correlation=0.9), "correlation=0.9"),
        (lambda: AccuracyCheck(n=32, correlation=1.0), "correlation=1"),
        (lambda: AccuracyCheck(n=0), "n=0"),
        (lambda: AccuracyCheck(n=32, quantile=1.0), r"is not in \[0, 1\)"),
    ],
    "regression": [
        (
            lambda: RegressionTrial(n_train=20),
            "n_train=20 observations are too few for 20 features",
        ),
        (lambda: RegressionTrial(n_boot=50), r"n_boot=50 leaves 3\.3 resamples beyond"),
        (lambda: RegressionTrial(k=4.0), r"n_boot=1000 leaves 0\.032 resamples .* at k=4"),
        (lambda: RegressionTrial(power=0.01), r"power=0\.01 is not above alpha=0\.05"),
        (lambda: RegressionTrial(n_inner=1.0), "n_inner=1"),
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
        (lambda: TwoStageOutcomes(k=1.5, n1=150, power=0.01), "power=0.01"),
    ],
}


@pytest.mark.parametrize("module", REFUSED)
def test_what_leaves_nothing_to_test_is_refused_by_name_and_value(module):
    for make, about in REFUSED[module]:
        with pytest.raises(DesignError, match=about):
            make()
