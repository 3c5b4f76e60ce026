"""What has no truth, or leaves nothing to test, is refused by name and value when it is built."""

import math

import pytest

from experiments.bootstrap_se import BootstrapSe
from experiments.trial_outcomes import TwoStageOutcomes
from simstudy.documents.dgps.linear import LinearModel
from simstudy.documents.dgps.location import Gaussian
from simstudy.documents.dgps.prices import Prices
from simstudy.documents.scenarios.accuracy import AccuracyCheck
from simstudy.documents.scenarios.leave_one_out import LeaveOneOut
from simstudy.documents.scenarios.regression import RegressionTrial
from simstudy.documents.scenarios.thresholds import Trial, Umbrella
from simstudy.errors import DesignError

REFUSED = [
    (LinearModel, {"n_feature": 0}, "n_feature=0"),
    (LinearModel, {"noise_variance": math.inf}, "noise_variance=inf"),
    (LinearModel, {"curvature": math.nan}, "curvature=nan"),
    (LinearModel, {"coefficient": 0.0, "curvature": 1.0}, "truth is bent"),
    (LinearModel, {"df": 2.0}, "df=2"),
    (LinearModel, {"heteroskedasticity": 1.5}, "heteroskedasticity=1.5"),
    (Prices, {"spread": 0.0, "signal": 0.5}, "spread=0"),
    (Gaussian, {"variance": 0.0}, "Gaussian.*variance"),
    (AccuracyCheck, {"n": 32, "accuracy": 0.3, "effect": 1}, "n=32 prompts have a θ"),
    (
        AccuracyCheck,
        {"n": 32, "accuracy": 0.9, "effect": 1, "correlation": 0.9},
        "correlation=0.9",
    ),
    (AccuracyCheck, {"n": 32, "correlation": 1.0}, "correlation=1"),
    (AccuracyCheck, {"n": 0}, "n=0"),
    (AccuracyCheck, {"n": 32, "quantile": 1.0}, r"is not in \[0, 1\)"),
    (RegressionTrial, {"n_train": 20}, "n_train=20 observations are too few for 20 features"),
    (RegressionTrial, {"n_boot": 50}, r"n_boot=50 leaves 3\.3 resamples beyond"),
    (RegressionTrial, {"k": 4.0}, r"n_boot=1000 leaves 0\.032 resamples .* at k=4"),
    (RegressionTrial, {"power": 0.01}, r"power=0\.01 is not above alpha=0\.05"),
    (RegressionTrial, {"n_inner": 1.0}, "n_inner=1"),
    (LeaveOneOut, {"prior": "flat"}, "prior='flat' is unknown"),
    (LeaveOneOut, {"coefficients": "same"}, "coefficients='same' is unknown"),
    (LeaveOneOut, {"against": ("third",)}, "against='third' is unknown"),
    (LeaveOneOut, {"n_feature": 0}, "n_feature=0"),
    (Trial, {"sensitivity": 0.85, "margin": 0.95}, "sensitivity 0.85"),
    (BootstrapSe, {"n_boot": 1.0}, "n_boot=1.0"),
    (BootstrapSe, {"n_boot": math.nan}, "no variance"),
    (Umbrella, {"n_obs": 3}, "n_obs=3"),
    (TwoStageOutcomes, {"k": 1.5, "n1": 150, "power": 0.01}, "power=0.01"),
]


@pytest.mark.parametrize(("kind", "settings", "about"), REFUSED)
def test_it_is_refused_by_name_and_value(kind, settings, about):
    with pytest.raises(DesignError, match=about):
        kind(**settings)
