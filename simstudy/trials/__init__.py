"""Scenarios of trials, and of what they rest on: a truth to compare with, a standard error.

They are general: what a study says of its own is the grid, the figures and the claims. Importing
this package, or a scenario from it, imports no other scenario.
"""

from typing import TYPE_CHECKING

from simstudy.lazy import exports

if TYPE_CHECKING:
    from simstudy.trials.applied import AppliedTrial
    from simstudy.trials.models import Model, ModelTrial
    from simstudy.trials.predictions import Networks, Predictions, Regressor, TableRows
    from simstudy.trials.regression import RegressionTrial
    from simstudy.trials.risk import RegressionRisk
    from simstudy.trials.sensitivity import Trial
    from simstudy.trials.standard_error import BootstrapSe
    from simstudy.trials.study import model_trial_study
    from simstudy.trials.thresholds import Bound, Threshold
    from simstudy.trials.two_sample import ComparedSamples, TwoSample
    from simstudy.trials.two_stage import TwoStage
    from simstudy.trials.umbrella import Umbrella

_NAMES = {
    "applied": ("AppliedTrial",),
    "models": ("Model", "ModelTrial"),
    "predictions": ("Networks", "Predictions", "Regressor", "TableRows"),
    "regression": ("RegressionTrial",),
    "risk": ("RegressionRisk",),
    "sensitivity": ("Trial",),
    "standard_error": ("BootstrapSe",),
    "study": ("model_trial_study",),
    "thresholds": ("Bound", "Threshold"),
    "two_sample": ("ComparedSamples", "TwoSample"),
    "two_stage": ("TwoStage",),
    "umbrella": ("Umbrella",),
}  # by module

__all__ = [
    "AppliedTrial",
    "BootstrapSe",
    "Bound",
    "ComparedSamples",
    "Model",
    "ModelTrial",
    "Networks",
    "Predictions",
    "RegressionRisk",
    "RegressionTrial",
    "Regressor",
    "TableRows",
    "Threshold",
    "Trial",
    "TwoSample",
    "TwoStage",
    "Umbrella",
    "model_trial_study",
]

__getattr__, __dir__ = exports(__name__, _NAMES)
