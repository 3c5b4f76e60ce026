"""The verdict of a trial, method by method."""

import numpy as np

from simstudy.documents.stats.models.trial import Stage, verdict


def stage(std_error: float, plain: float, estimate: float = 1.0) -> Stage:
    both = np.array([[[std_error], [plain]]])
    return Stage(np.full((1, 1, 1), estimate), both, np.abs(both))


def test_a_quantile_on_the_wrong_side_fails_one_method_only():
    columns = verdict(stage(np.nan, 1.0), stage(1.0, 1.0), k=1.5, limit=-1.0)
    studentized, vanilla = columns["error"][0, :, 0]
    assert studentized.startswith("the studentized quantile is on the wrong side of zero")
    assert vanilla is None


def test_the_worst_reason_of_both_samples_is_told():
    columns = verdict(stage(np.nan, 0.0), stage(1.0, 1.0, np.nan), k=1.5, limit=-1.0)
    assert set(columns["error"].ravel()) == {"the metric is not a finite number"}


def test_nothing_is_said_where_nothing_is_wrong():
    assert "error" not in verdict(stage(1.0, 1.0), stage(1.0, 1.0), k=1.5, limit=-1.0)
