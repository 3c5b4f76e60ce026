"""Scenarios of trials, and of what they rest on: a truth to compare with, a standard error.

They are general: what a study says of its own is the grid, the figures and the claims.
"""

from simstudy.trials.models import Model, ModelTrial
from simstudy.trials.regression import RegressionTrial
from simstudy.trials.risk import RegressionRisk
from simstudy.trials.standard_error import BootstrapSe
from simstudy.trials.study import model_trial_study
from simstudy.trials.two_stage import TwoStage

__all__ = [
    "BootstrapSe",
    "Model",
    "ModelTrial",
    "RegressionRisk",
    "RegressionTrial",
    "TwoStage",
    "model_trial_study",
]
