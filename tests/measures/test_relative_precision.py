"""Relative precision in a study: which method the others are compared with."""

from dataclasses import dataclass

import numpy as np
import pytest

from simstudy import Study
from simstudy import measures as m
from simstudy.errors import StudyError
from tests.support import INLINE


@dataclass(frozen=True)
class Two:
    n_obs: int = 5

    def simulate(self, streams, n_rep):
        x = streams("data").standard_normal((n_rep, self.n_obs))
        return {"estimate": np.stack([np.median(x, axis=1), x.mean(axis=1)], axis=1)}


def study(**options):
    axes = {"method": ("median", "mean"), "half": ("all",)}

    @dataclass(frozen=True)
    class WithHalves(Two):
        def simulate(self, streams, n_rep):
            return {"estimate": super().simulate(streams, n_rep)["estimate"][:, :, None]}

    measures = [m.relative_precision("estimate", **options)]
    return Study("precise", [WithHalves()], measures, axes=axes, block_size=100)


def test_a_reference_is_found_by_its_label():
    named = study(reference="mean", axis="method").run(200, **INLINE).summary
    counted = study(reference=1).run(200, **INLINE).summary
    np.testing.assert_allclose(named["estimate"], counted["estimate"], atol=1e-12)
    assert named["estimate"][0] < 0
    assert named["estimate"][1] == pytest.approx(0, abs=1e-12)


def test_a_name_that_no_method_has_is_refused_before_anything_is_drawn():
    with pytest.raises(StudyError, match=r"reference='means' is not in the study.*mean"):
        study(reference="means")
    with pytest.raises(StudyError, match=r"axis='methods' is not in the study.*method"):
        study(reference="mean", axis="methods")
