"""Draws around a mean: chunks change nothing, means by their own law follow the same one."""

import numpy as np
import pytest

from simstudy.documents.dgps import location
from simstudy.documents.dgps.location import Gaussian
from tests.support import assert_caught, assert_within_mcse, replicates_to_catch

DGP = Gaussian(mean=3.0, variance=2.0)


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("chunk", [1, 50, 10**6])
def test_sample_means_are_those_of_a_plain_loop_for_any_chunk(chunk, monkeypatch):
    stream, whole = rng(), DGP.sample_means(rng(), 200, 13)
    by_hand = [3 + np.sqrt(2) * sum(stream.standard_normal(13)) / 13 for _ in range(200)]
    np.testing.assert_allclose(whole, by_hand, rtol=1e-13)
    monkeypatch.setattr(location, "CHUNK", chunk)
    np.testing.assert_array_equal(DGP.sample_means(rng(), 200, 13), whole)


ERROR = 0.02  # of a standard deviation
N_REP = replicates_to_catch(ERROR, sd=1.0, comparisons=2)


def moments(means: np.ndarray) -> tuple[list[float], list[float], list[float]]:
    """Mean and mean square of standardised means, their values by theory, and their errors."""
    z = (means - 3) / np.sqrt(2 / 7)
    return [z.mean(), (z**2).mean()], [0, 1], [N_REP**-0.5, (2 / N_REP) ** 0.5]


def test_means_by_their_law_have_the_law_of_means():
    assert_within_mcse(*moments(DGP.sample_means(rng(), N_REP, 7)))
    assert_within_mcse(*moments(DGP.draw_means(rng(2), N_REP, 7)))
    # Caught: the variance of one observation more.
    assert_caught(*moments(DGP.draw_means(rng(2), N_REP, 8)))
