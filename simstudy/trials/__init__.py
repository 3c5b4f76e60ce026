"""Trials to study: of a mean, of a regression, and of any model by any metric.

Scenarios here are general: what a study says of its own is the grid, the figures and the claims.
"""

from simstudy.trials.models import Model, ModelTrial
from simstudy.trials.regression import RegressionTrial
from simstudy.trials.study import model_trial_study
from simstudy.trials.two_stage import TwoStage

__all__ = ["Model", "ModelTrial", "RegressionTrial", "TwoStage", "model_trial_study"]
