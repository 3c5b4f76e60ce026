"""Where blocks are taken from, against a plain table of who holds which block."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simstudy.errors import StoreError
from simstudy.store.block_files import SLICE, BlockIndex, joined_ranges, slices_of_file

SLICES = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 6), st.integers(1, 4), st.integers(-1, 2)),
    min_size=1,
    max_size=8,
)


def index_of(given_slices):
    """An index of one slice for each file."""
    index = BlockIndex()
    for key in "ab":
        index.number_of(key)
    table = np.zeros(len(given_slices), SLICE)
    for at, (key, first, n, generation) in enumerate(given_slices):
        table[at] = (key, first, n, at, 0, 0, generation)
    index.rebuild([table])
    return index


def blocks_of(slices):
    """Each block, with its file and its place there."""
    for each in slices:
        for i in range(each["n"]):
            yield int(each["first"] + i), int(each["file"]), int(each["offset"] + i)


@given(SLICES)
def test_of_every_block_the_highest_generation_holds(given_slices):
    """Against one look at each block; of equals, the first file."""
    best: dict[tuple[int, int], tuple[int, int]] = {}
    for file, (key, first, n, generation) in enumerate(given_slices):
        for block in range(first, first + n):
            best[key, block] = max(best.get((key, block), (-9, 0)), (generation, -file))
    index = index_of(given_slices)
    for number, key in enumerate("ab"):
        found = list(blocks_of(index.of(key)))
        assert found == sorted(found)
        expected = {block: -file for (k, block), (_, file) in best.items() if k == number}
        assert {block: file for block, file, _ in found} == expected
        for block, file, offset in found:
            assert offset == block - given_slices[file][1]


@given(SLICES, st.integers(0, 8), st.integers(0, 12))
def test_which_blocks_there_are(given_slices, first, end):
    index = index_of(given_slices)
    held = {b for k, f, n, _ in given_slices if k == 0 for b in range(f, f + n)}
    good = {block for block, file, _ in blocks_of(index.of("a")) if given_slices[file][3] >= 0}
    assert index.has("a", end, least=-1).tolist() == [block in held for block in range(end)]
    assert index.has("a", end, least=0).tolist() == [block in good for block in range(end)]
    without_a_gap = itertools.takewhile(held.__contains__, itertools.count())
    assert index.n_blocks("a") == len(list(without_a_gap))
    cut = [block for block, *_ in blocks_of(index.between("a", first, end))]
    assert cut == sorted(held.intersection(range(first, end)))
    assert index.n_blocks("never") == 0


def test_slices_know_their_row_groups():
    ranges = [(0, 0, 2), (0, 5, 1), (1, 0, 4)]
    slices = slices_of_file(ranges, [6, 8], 2, file=3, generation=1)
    assert slices[["row_group", "offset"]].tolist() == [(0, 0), (0, 2), (1, 0)]
    assert set(slices["file"].tolist()) == {3}


@pytest.mark.parametrize("row_groups", [[6, 7], [6], [7, 7], [], [4, 10]])
def test_blocks_of_another_length_or_across_row_groups_are_refused(row_groups):
    with pytest.raises(StoreError, match="its blocks do not"):
        slices_of_file([(0, 0, 3), (1, 0, 4)], row_groups, 2, file=0, generation=0)


def test_ranges_that_follow_each_other_are_one():
    ranges = [("a", 0, 1), ("a", 1, 2), ("a", 4, 1), ("b", 5, 1)]
    assert joined_ranges(ranges) == [("a", 0, 3), ("a", 4, 1), ("b", 5, 1)]
