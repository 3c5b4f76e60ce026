"""Theory held against estimates where all replicates agree: a rare event may have been missed."""

from dataclasses import dataclass

import pytest

from simstudy.measures import mean
from simstudy.study import Study
from simstudy.testing.truth import FALSE_ALARM, comparisons


@dataclass(frozen=True)
class Rare:
    """An event that did not happen in these replicates."""

    share: float

    def simulate(self, streams, n_rep):
        return {"event": (streams("data").random(n_rep) < 1e-9).astype(float)}

    def exact(self):
        return {"share": self.share}


@pytest.mark.parametrize(("share", "is_right"), [(1e-9, True), (1e-3, True), (0.02, False)])
def test_an_event_that_never_happened(share, is_right):
    study = Study("rare", [Rare(share)], measures=[mean("event", name="share")])
    (held,) = comparisons(study.run(1000, backend="inline", n_jobs=1))
    assert held.mcse == 0
    assert (held.p_value > FALSE_ALARM) == is_right
