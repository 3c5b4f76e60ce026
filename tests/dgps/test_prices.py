import numpy as np
import pytest

from simstudy.dgps.prices import Prices
from tests.support import assert_within_mcse


def test_prices_have_the_spread_and_signal_they_declare():
    drawn = Prices(0.5, signal=0.75).draw(np.random.default_rng(2), 40, 5000)
    log = np.log(drawn.y)
    # A replicate's variance has a relative spread of the root of 2 over n.
    assert_within_mcse(log.var(axis=1).mean(), 0.25, 0.25 * np.sqrt(2 / 200000))
    assert drawn.coefficients[0] @ drawn.coefficients[0] == pytest.approx(0.75 * 0.25)
