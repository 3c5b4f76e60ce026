"""Sums of four columns over prompts drawn with replacement: compiled, imported late.

Indices come from a counter, as those of bootstrap resamples do: a quarter of a word of splitmix64
(Steele, Lea & Flood 2014) gives one index by Lemire's (2019) multiplication, and a quarter that
would favour an index is replaced by that quarter of the word mixed again. Here the number drawn
has nothing to do with the number of prompts that there are.

If the number of prompts is a power of two no quarter is ever refused. Any other number costs
another mixing of most chunks, which is about twice the time.
"""

# mypy: disable-error-code="untyped-decorator, no-any-return"

import numpy as np

from simstudy.array_types import Float, UInt64
from simstudy.documents.stats.bootstrap._resample_kernels import (
    ALL,
    COLUMNS,
    ONE,
    QUARTERS_LIMIT,
    U16,
    WORDS_PER_CHUNK,
    _chunks,
    _sum_columns,
)
from simstudy.documents.stats.compiled.kernel import kernel
from simstudy.documents.stats.compiled.lanes import aligned_zeros, counted, place_indices
from simstudy.documents.stats.compiled.splitmix64 import GOLDEN, mixed

PROMPT_LIMIT = QUARTERS_LIMIT  # one more place is the row of zeros


@kernel
def _place(
    state: np.uint64,
    n: np.uint64,
    threshold: np.uint64,
    words: UInt64[np.ndarray, " word"],
    at: int,
) -> None:
    """The 32 indices below `n` of the eight words from a state on."""
    drawn = mixed(counted(state, GOLDEN))
    refused = place_indices(drawn, n, threshold, ALL, words, at)
    while refused != 0:
        drawn = mixed(drawn + GOLDEN)
        refused = place_indices(drawn, n, threshold, refused, words, at)


@kernel
def drawn_sums(
    rows: Float[np.ndarray, " place_column"],
    n_draw: int,
    seed: np.uint64,
    sums: Float[np.ndarray, " rep_column"],
) -> None:
    """Sums of the rows of `n_draw` prompts in each replicate; both arrays flat, row after row.

    After the prompts, at most `PROMPT_LIMIT`, `rows` has a row of zeros.
    """
    n_prompts = rows.shape[0] // COLUMNS - 1
    n, n_chunk, n_looked_up = np.uint64(n_prompts), _chunks(n_draw), (n_draw + 7) // 8 * 8
    threshold, state = (ONE << U16) % n, seed + GOLDEN
    words = aligned_zeros(n_chunk * WORDS_PER_CHUNK).view(np.uint64)
    indices = words.view(np.uint16)
    for rep in range(sums.shape[0] // COLUMNS):
        for chunk in range(n_chunk):
            _place(state, n, threshold, words, chunk * WORDS_PER_CHUNK)
            state += np.uint64(WORDS_PER_CHUNK) * GOLDEN
        # Sums look up eight at a time: what is left over looks up the row of zeros.
        indices[n_draw:n_looked_up] = n_prompts
        _sum_columns(rows, words[: n_looked_up // 4], sums, rep)


def rows_of(columns: Float[np.ndarray, "column prompt"]) -> Float[np.ndarray, " place_column"]:
    """At most four columns side by side, on cache lines, with the row of zeros after them."""
    n_column, n_prompts = columns.shape
    rows = aligned_zeros((n_prompts + 1) * COLUMNS)
    rows.reshape(-1, COLUMNS)[:n_prompts, :n_column] = columns.T
    return rows
