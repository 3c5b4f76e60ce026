"""Claims about intervals of proportions: decided with enough replicates, and never by three."""

from dataclasses import replace

import numpy as np
import pytest

from experiments import proportion_intervals
from simstudy.claims import mc_limit
from simstudy.documents.scenarios.proportions import INTERVAL_METHODS
from tests.experiments.claimed import assert_holds, assert_undecided
from tests.support import INLINE

pytestmark = pytest.mark.slow

LEVEL = 0.9
CLAIMED = {name: INTERVAL_METHODS[name] for name in ("cfdr", "cfdr_clipped", "storey")}


def of_half_a_list():
    """Half of the predictions compatible, with and without a common factor."""
    config = proportion_intervals.Config(null_share=[0.5])
    axes = {"estimator": tuple(CLAIMED)}
    return replace(proportion_intervals.study(config), methods=CLAIMED, axes=axes)


def test_claims_come_out_as_derived_and_rivals_fall():
    assert_holds(of_half_a_list().run(800, **INLINE))


def test_three_lists_decide_nothing():
    assert_undecided(of_half_a_list().run(3, **INLINE), exact=())


@pytest.mark.parametrize("hits", range(4))
def test_three_replicates_are_never_far_from_nominal(hits):
    deviation = proportion_intervals._deviation(np.array([hits / 3]), np.array([3]), LEVEL)
    assert abs(deviation[0]) < mc_limit()


def test_many_replicates_are_as_far_as_their_share_is():
    n_rep = np.array([2000, 2000, 2000])
    below, at, above = proportion_intervals._deviation(np.array([0.8, 0.9, 0.97]), n_rep, LEVEL)
    assert below < -mc_limit() < at < mc_limit() < above
