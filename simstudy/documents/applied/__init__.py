"""Published methods applied to a user's own numbers, without a study.

from simstudy.documents.applied import accuracy_check, threshold_table
"""

from typing import TYPE_CHECKING

from simstudy.lazy import exports

if TYPE_CHECKING:
    from simstudy.documents.applied.accuracy import AccuracyCheck, accuracy_check
    from simstudy.documents.applied.thresholds import threshold_table

_NAMES = {"accuracy": ("AccuracyCheck", "accuracy_check"), "thresholds": ("threshold_table",)}

__all__ = ["AccuracyCheck", "accuracy_check", "threshold_table"]

__getattr__, __dir__ = exports(__name__, _NAMES)
