"""Draws in groups: each has the law it names, and a group has what makes its errors cancel."""

import numpy as np
import pytest
from scipy import stats

from simstudy.documents.dgps.in_groups import (
    antithetic_normals,
    antithetic_uniforms,
    stratified_normals,
    stratified_uniforms,
)
from tests.support import FALSE_ALARM

N, N_OBS, N_STRATA = 20_000, 3, 5


def rng():
    return np.random.default_rng(1)


def distance_p(values, law):
    """Of the largest distance between what was drawn and its law."""
    return stats.kstest(values, law).pvalue


DRAWS = {
    "antithetic uniforms": (antithetic_uniforms(rng(), N, N_OBS), "uniform", 2),
    "antithetic normals": (antithetic_normals(rng(), N, N_OBS), "norm", 2),
    "strata": (stratified_uniforms(rng(), N, N_OBS, n_strata=N_STRATA), "uniform", N_STRATA),
    "normal strata": (stratified_normals(rng(), N, N_OBS, n_strata=N_STRATA), "norm", N_STRATA),
}


@pytest.mark.parametrize("name", DRAWS)
def test_every_place_of_a_group_has_the_law_and_independent_observations(name):
    drawn, law, size = DRAWS[name]
    assert drawn.shape == (N, N_OBS)
    for place in range(size):
        alone = drawn[place::size]
        assert min(distance_p(x, law) for x in alone.T) > FALSE_ALARM
        together = [stats.pearsonr(alone[:, i], alone[:, i - 1]).pvalue for i in range(N_OBS)]
        assert min(together) > FALSE_ALARM


def test_that_test_catches_strata_in_order():
    drawn = np.sort(DRAWS["strata"][0].reshape(-1, N_STRATA, N_OBS), axis=1)
    assert distance_p(drawn[:, 0, 0], "uniform") < FALSE_ALARM


def test_a_group_has_one_draw_in_every_stratum():
    drawn = DRAWS["strata"][0].reshape(-1, N_STRATA, N_OBS)
    strata = np.sort(np.floor(drawn * N_STRATA), axis=1)
    np.testing.assert_array_equal(strata, np.broadcast_to(np.arange(5)[:, None], strata.shape))


def test_a_pair_has_one_draw_and_its_mirror_image():
    uniforms, normals = DRAWS["antithetic uniforms"][0], DRAWS["antithetic normals"][0]
    np.testing.assert_array_equal(uniforms[1::2], 1 - uniforms[::2])
    np.testing.assert_array_equal(normals[1::2], -normals[::2])


def test_a_draw_of_0_has_a_finite_normal():
    class Zeros:
        def random(self, size):
            return np.zeros(size)

    assert np.isfinite(stratified_normals(Zeros(), 4, 1, n_strata=2)).all()
