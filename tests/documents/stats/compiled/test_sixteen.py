"""Sixteen numbers side by side: fused once, transposed, multiplied; words of SplitMix64."""

import numpy as np
import pytest
from numba import njit

from simstudy.documents.stats.compiled.sixteen import (
    LANES,
    TILE_COLUMNS,
    TILE_ROWS,
    add_product,
    load,
    store,
    store_columns,
    where_above_zero,
)
from simstudy.documents.stats.compiled.splitmix64 import GOLDEN, mixed, mixed_by_numpy
from simstudy.documents.stats.networks._training_kernels import multiply

EPS = float(np.finfo(np.float32).eps)


@njit
def fused(a, b, c, out):
    store(out, 0, add_product(load(a, 0), load(b, 0), load(c, 0)))


@njit
def kept(a, b, out):
    store(out, 0, where_above_zero(load(a, 0), load(b, 0)))


@njit
def columns(table, rows, out):
    store_columns(table, rows, out, 1, 2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_product_is_added_with_one_rounding(dtype):
    """(1 + e)^2 - (1 + 2e) is e^2, which a product that is rounded by itself has lost."""
    e = dtype(2.0 ** (-12 if dtype is np.float32 else -27))
    one, out = np.ones(LANES, dtype), np.empty(LANES, dtype)
    fused(-(one + 2 * e), one + e, one + e, out)
    np.testing.assert_array_equal(out, e * e)
    assert dtype((one[0] + e) * (one[0] + e)) - (one[0] + 2 * e) == 0


def test_zero_where_a_number_is_not_above_zero_or_is_none():
    a = np.resize(np.array([1.0, 0.0, -0.0, -1.0, np.nan, np.inf]), LANES)
    out = np.empty(LANES)
    kept(a, np.full(LANES, 7.0), out)
    np.testing.assert_array_equal(out, np.where(a > 0, 7.0, 0.0))


def test_columns_of_chosen_rows_lie_where_they_were_asked_for():
    table, rows = np.arange(40.0 * LANES).reshape(40, LANES), np.arange(LANES) ** 2 % 37
    out = np.full((2 * LANES + 1, LANES), -1.0)
    columns(table, rows, out)
    np.testing.assert_array_equal(out[1::2], table[rows].T)
    assert (out[::2] == -1).all()  # nothing beside them


def test_products_of_all_sizes_are_those_of_einsum_and_nothing_else_is_written():
    rng = np.random.default_rng(1)
    for n_row in range(1, 2 * TILE_ROWS):
        for n_column in range(1, 2 * TILE_COLUMNS):
            n_in = 1 + (n_row + n_column) % 7
            a = rng.standard_normal((n_in, n_row, LANES)).astype(np.float32)
            b = rng.standard_normal((n_in, n_column, LANES)).astype(np.float32)
            out = np.full((n_column + 1, n_row, LANES), np.float32(-9))
            flat = (each.reshape(-1, LANES) for each in (a, b, out))
            a_flat, b_flat, out_flat = flat
            multiply(
                a_flat, 0, 1, n_row, b_flat, 0, n_column, 1, out_flat, 0, 1, n_row,
                n_row, n_in, n_column,
            )  # fmt: skip
            expected = np.einsum("nrk,nck->crk", a.astype(float), b.astype(float))
            size = np.einsum("nrk,nck->crk", np.abs(a), np.abs(b))
            assert (np.abs(out[:-1] - expected) <= n_in * EPS * size).all()
            assert (out[-1] == -9).all()


PUBLISHED = {
    0: [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F],
    1234567: [6457827717110365317, 3203168211198807973],
}
"""First outputs of the authors' reference program, by its seed."""


@pytest.mark.parametrize("seed", PUBLISHED)
def test_words_are_those_of_the_published_generator(seed):
    states = np.uint64(seed) + np.arange(1, len(PUBLISHED[seed]) + 1, dtype=np.uint64) * GOLDEN
    assert [mixed(state) for state in states] == PUBLISHED[seed]
    assert mixed_by_numpy(states).tolist() == PUBLISHED[seed]
