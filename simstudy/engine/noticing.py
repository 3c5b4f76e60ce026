"""What a block says of its own randomness: streams unasked for, global generators, equal blocks.

Random numbers that nobody addressed make every block the same, or none of them found again, and
no replicate fails of it. So the first blocks of what is drawn are looked at as they are drawn.
"""

import contextlib
import hashlib
import math
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from simstudy.identity.streams import Streams

BLOCKS_LOOKED_AT = 16  # of each scenario: a mistake shows in the first
ROWS_LOOKED_AT = 1024  # of a block: enough to tell shares of 1% from those of any other
CELLS_LOOKED_AT = 64  # of a replicate
SHARE_OF_TIME = 0.01  # of drawing that looking may take; the first block of a task is looked at
ENOUGH_BITS = 60  # that blocks of as much surprise agree by chance has odds of 2^-60

CHECKER = "beartype"  # draws from Python's generator to choose which items of a list it checks
NO_STREAMS = "no streams"
NUMPY_MOVED, PYTHON_MOVED = "np.random", "random"


@dataclass
class Heard:
    """What was odd while a block was drawn, and the seconds that looking took."""

    odd: dict[str, None] = field(default_factory=dict)
    seconds: float = 0.0


_heard: ContextVar[Heard | None] = ContextVar("heard", default=None)


class Sample(NamedTuple):
    """A hash of a column's first replicates; by chance another's is it with odds of 2^-bits."""

    column: str
    digest: bytes
    bits: float


class Noticed(NamedTuple):
    """What was noticed of one block; `odd` names what was odd as it was drawn."""

    key: str
    block: int
    samples: tuple[Sample, ...]
    odd: tuple[str, ...]


@dataclass
class Looking:
    """Which blocks of a task are looked at, so that it costs next to nothing, and what was seen."""

    seconds: float = 0.0
    seen: list[Noticed] = field(default_factory=list)

    @contextlib.contextmanager
    def at(self, block: int, drawing: float) -> Iterator[Heard | None]:
        """Listen while a block is drawn, where `drawing` so many seconds before pays for it.

        The first of a task is looked at wherever it lies: a run that goes on where another ended,
        or a share of one, may have none of the first of a scenario.
        """
        is_paid = self.seconds <= SHARE_OF_TIME * drawing
        is_early = block < BLOCKS_LOOKED_AT or not self.seen
        heard = Heard() if is_paid and is_early else None
        token = _heard.set(heard)
        try:
            yield heard
        finally:
            _heard.reset(token)

    def note(
        self, key: str, block: int, columns: Mapping[str, np.ndarray], heard: Heard | None
    ) -> None:
        """Keep what there is to say of a block that was looked at."""
        if heard is not None:
            start = time.perf_counter()
            self.seen.append(Noticed(key, block, samples_of(columns), tuple(heard.odd)))
            self.seconds += heard.seconds + time.perf_counter() - start


@contextlib.contextmanager
def watching_generators() -> Iterator[None]:
    """Notice where what is done within moves the generators that all of the process shares.

    Libraries draw from them as they are imported: where any was, a later block will tell.
    """
    heard = _heard.get()
    if heard is None:
        yield
        return
    start = time.perf_counter()
    before, n_loaded = _states(), len(sys.modules)
    took = time.perf_counter() - start
    yield
    start = time.perf_counter()
    if len(sys.modules) == n_loaded:
        heard.odd |= {name: None for name, state in _states().items() if state != before[name]}
    heard.seconds += took + time.perf_counter() - start


def _states() -> dict[str, Any]:
    """The states of the global generators, to be compared."""
    numpys: Any = np.random.get_state()  # noqa: NPY002 - it is what is looked for
    states = {NUMPY_MOVED: (numpys[1].tobytes(), *numpys[2:]), PYTHON_MOVED: random.getstate()}
    if CHECKER in sys.modules:
        del states[PYTHON_MOVED]
    return states


def is_deterministic(drawn: object) -> bool:
    """Whether a scenario says that it draws no random numbers, or one that a method analyses."""
    return bool(getattr(getattr(drawn, "scenario", drawn), "deterministic", False))


def notice_streams(scenario: object, streams: Streams, made: Any, n_rep: int) -> None:
    """Notice replicates that differ although none of the random streams was asked for.

    A scenario whose class says `deterministic = True` is one whose replicates may.
    """
    heard = _heard.get()
    if heard is None or streams.asked or is_deterministic(scenario):
        return
    if isinstance(made, Mapping) and any(_differs(array, n_rep) for array in made.values()):
        heard.odd[NO_STREAMS] = None


def _differs(array: Any, n_rep: int) -> bool:
    """Whether an array has replicates, and they are not all the same."""
    if not isinstance(array, np.ndarray) or array.ndim == 0 or len(array) != n_rep:
        return False
    few = array[:ROWS_LOOKED_AT]
    if few.dtype.kind not in "biuf":
        return False
    there = ~np.isnan(few) & ~np.isnan(few[:1])
    return bool(((few != few[:1]) & there).any())


def samples_of(columns: Mapping[str, np.ndarray]) -> tuple[Sample, ...]:
    """What tells a block from others, column by column: constants and texts tell nothing."""
    heads = {
        name: _head(column)
        for name, column in columns.items()
        if column.ndim and column.size and column.dtype.kind in "biuf"
    }
    found = (Sample(name, _digest(head), _bits(head)) for name, head in heads.items())
    return tuple(sample for sample in found if sample.bits)


def _head(column: np.ndarray) -> np.ndarray:
    """The first replicates of a column, and as many of their cells as are soon read."""
    rows = column[:ROWS_LOOKED_AT]
    return np.ascontiguousarray(rows.reshape(len(rows), -1)[:, :CELLS_LOOKED_AT])


def _digest(head: np.ndarray) -> bytes:
    return hashlib.blake2b(head.tobytes(), digest_size=8).digest()


def _bits(head: np.ndarray) -> float:
    """How surprising the order of some replicates is: that of as many draws, with their shares.

    The cells of a replicate may all say the same, so that it is the replicates which are counted;
    those in rising or falling order were put there, and are no surprise.
    """
    rows = head.view(np.dtype((np.void, head.itemsize * head.shape[1]))).ravel().tolist()
    counts, n = Counter(rows).values(), len(rows)
    if len(counts) == 1 or _is_in_order(head):
        return 0.0
    return n * math.log2(n) - sum(count * math.log2(count) for count in counts)


def _is_in_order(head: np.ndarray) -> bool:
    first, then = head[:-1], head[1:]
    return bool((first <= then).all() or (first >= then).all())
