"""The five documents' methods, applied to a user's own numbers.

from simstudy.documents.applied import plan_regression_trial, plan_classifier_trial
"""

from typing import TYPE_CHECKING

from simstudy.lazy import exports

if TYPE_CHECKING:
    from simstudy.documents.applied.accuracy import AccuracyCheck, accuracy_check
    from simstudy.documents.applied.answers import Answer
    from simstudy.documents.applied.classifier_trial import (
        ClassifierPlan,
        ClassifierVerdict,
        judge_classifier_trial,
        plan_classifier_trial,
    )
    from simstudy.documents.applied.loo import LooEstimate, estimate_loo
    from simstudy.documents.applied.predictive import PredictiveFit, check_predictions
    from simstudy.documents.applied.regression_trial import (
        RegressionPlan,
        RegressionVerdict,
        judge_regression_trial,
        plan_regression_trial,
    )
    from simstudy.documents.applied.thresholds import threshold_table

_NAMES = {
    "accuracy": ("AccuracyCheck", "accuracy_check"),
    "answers": ("Answer",),
    "classifier_trial": (
        "ClassifierPlan", "ClassifierVerdict", "judge_classifier_trial", "plan_classifier_trial",
    ),
    "loo": ("LooEstimate", "estimate_loo"),
    "predictive": ("PredictiveFit", "check_predictions"),
    "regression_trial": (
        "RegressionPlan", "RegressionVerdict", "judge_regression_trial", "plan_regression_trial",
    ),
    "thresholds": ("threshold_table",),
}  # fmt: skip

__all__ = [
    "AccuracyCheck", "Answer", "ClassifierPlan", "ClassifierVerdict", "LooEstimate",
    "PredictiveFit", "RegressionPlan", "RegressionVerdict", "accuracy_check", "check_predictions",
    "estimate_loo", "judge_classifier_trial", "judge_regression_trial", "plan_classifier_trial",
    "plan_regression_trial", "threshold_table",
]  # fmt: skip

__getattr__, __dir__ = exports(__name__, _NAMES)
