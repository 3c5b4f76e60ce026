"""Sums whose bits depend on nothing but the values of a cell, in the order of its replicates."""

import numpy as np
import pytest

from simstudy.measures.columns import total

LENGTHS = [1, 2, 3, 4, 7, 8, 99, 100, 1000, 1023]


def drawn(n: int, *cells: int) -> np.ndarray:
    """Values of many sizes, so that every order of a sum has bits of its own."""
    rng = np.random.default_rng(n)
    return rng.standard_normal((n, *cells)) * 10.0 ** rng.integers(-8, 8, (n, *cells))


def plain_total(values: list[float]) -> float:
    """The second half onto the first, one number after the other."""
    while len(values) > 1:
        half = len(values) // 2
        left = [values[at] + values[half + at] for at in range(half)]
        if len(values) % 2:
            left[0] += values[-1]
        values = left
    return values[0]


@pytest.mark.parametrize("n", LENGTHS)
def test_a_total_is_the_plain_loop(n):
    values = drawn(n, 3)
    before, expected = values.copy(), [plain_total(cell) for cell in values.T.tolist()]
    np.testing.assert_array_equal(total(values), expected)
    np.testing.assert_array_equal(values, before)
    assert total(values > 0).tolist() == (values > 0).sum(axis=0).tolist()


def test_another_order_has_other_bits():
    values = drawn(1000, 30)
    one_by_one = [sum(cell) for cell in values.T.tolist()]
    assert (total(values) != one_by_one).any()


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize(
    "laid",
    [
        np.asfortranarray,
        lambda values: np.repeat(values, 2, axis=0)[::2],
        lambda values: np.repeat(values, 3, axis=-1)[..., ::3],
        lambda values: np.ascontiguousarray(values[::-1])[::-1],
        lambda values: np.ascontiguousarray(np.moveaxis(values, 0, -1)).transpose(2, 0, 1),
    ],
    ids=["Fortran", "every second row", "every third cell", "backwards", "replicates last"],
)
def test_a_total_does_not_depend_on_how_values_lie_in_memory(laid, n):
    values = drawn(n, 4, 5)
    np.testing.assert_array_equal(laid(values), values)
    np.testing.assert_array_equal(total(laid(values)), total(values))


@pytest.mark.parametrize("n", LENGTHS)
def test_a_total_does_not_depend_on_what_lies_beside_it(n):
    values = drawn(n, 17)
    for cell in range(17):
        np.testing.assert_array_equal(total(values)[cell], total(values[:, cell].copy()))
        np.testing.assert_array_equal(total(values)[cell], total(values[:, cell : cell + 1])[0])
