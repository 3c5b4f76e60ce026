"""Scenarios of trials, and of what they rest on: a truth to compare with, a standard error.

They are general: a study adds the grid, the figures and the claims. Importing
this package, or a scenario from it, imports no other scenario.
"""

from typing import TYPE_CHECKING

from simstudy.lazy import exports

if TYPE_CHECKING:
    from simstudy.documents.scenarios.applied import AppliedTrial
    from simstudy.documents.scenarios.models import Model, ModelTrial
    from simstudy.documents.scenarios.predictions import Networks, Predictions, Regressor, TableRows
    from simstudy.documents.scenarios.regression import RegressionTrial
    from simstudy.documents.scenarios.risk import RegressionRisk
    from simstudy.documents.scenarios.standard_error import BootstrapSe
    from simstudy.documents.scenarios.thresholds import Bound, Threshold, Trial, Umbrella
    from simstudy.documents.scenarios.two_stage import TwoStage

_NAMES = {
    "applied": ("AppliedTrial",),
    "models": ("Model", "ModelTrial"),
    "predictions": ("Networks", "Predictions", "Regressor", "TableRows"),
    "regression": ("RegressionTrial",),
    "risk": ("RegressionRisk",),
    "standard_error": ("BootstrapSe",),
    "thresholds": ("Bound", "Threshold", "Trial", "Umbrella"),
    "two_stage": ("TwoStage",),
}  # names, module by module

__all__ = [
    "AppliedTrial",
    "BootstrapSe",
    "Bound",
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
    "TwoStage",
    "Umbrella",
]

__getattr__, __dir__ = exports(__name__, _NAMES)
