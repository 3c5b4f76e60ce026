"""Random streams, each seeded by a hash of its address.

The address consists of seed, study, scenario, block and purpose. A stream does not depend on other
streams, so it does not change if another scenario, method, worker or replicate is added.
"""

import contextlib
import hashlib
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Streams:
    """The random streams of one block.

    `streams("data")` is the generator for the data, `streams("bootstrap")` the one for the
    bootstrap. Draws from one do not change the other. A second call with the same purpose returns
    the same generator, which continues.

    Parameters
    ----------
    seed
        The study's seed, a non-negative integer.
    study
        Name of the study, and its block size: another block size is another study.
    scenario
        Identity of the scenario, without the factors that share random numbers.
    block
        Index of the block within the scenario, from 0.
    method
        Name of the method that uses the streams; empty for the data. The streams of a method
        differ from those of the data, even if both use the same purpose.
    """

    seed: int
    study: str
    scenario: str
    block: int
    method: str = ""
    _open: dict[str, np.random.Generator] = field(default_factory=dict, repr=False, compare=False)
    _alone: set[str] = field(default_factory=set, repr=False, compare=False)

    @property
    def asked(self) -> bool:
        """Whether any stream was used."""
        return bool(self._open or self._alone)

    def __call__(self, purpose: str) -> np.random.Generator:
        if purpose not in self._open:
            self._open[purpose] = generator(*self._address, purpose)
        return self._open[purpose]

    def of_replicate(self, row: int) -> np.random.Generator:
        """Return a generator for one replicate of the block, independent of other replicates.

        Parameters
        ----------
        row
            Index of the replicate in the block, from 0.

        Returns
        -------
        np.random.Generator
            The generator at the replicate's address.
        """
        self._alone.add("replicate")
        return generator(*self._address, "replicate", row)

    @property
    def _address(self) -> tuple[int | str, ...]:
        """The part of the address that all purposes share.

        With a method it is longer, so that it differs from every address of the data.
        """
        block = (self.seed, self.study, self.scenario, self.block)
        return (*block, "method", self.method) if self.method else block


def generator(*address: int | str) -> np.random.Generator:
    """Return the generator at an address: SFC64 seeded with 256 bits hashed from the address.

    The address is hashed as JSON, so that different addresses have different texts. SFC64 draws
    normals about a fifth faster than NumPy's default PCG64 and has a period of at least 2^64.

    Parameters
    ----------
    address
        Integers and texts, such as seed, study, scenario, block and purpose.

    Returns
    -------
    np.random.Generator
        The generator.
    """
    digest = hashlib.sha256(json.dumps(address).encode()).digest()
    entropy = int.from_bytes(digest, "little")
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(entropy, pool_size=8)))


@contextlib.contextmanager
def seeded_globals(rng: np.random.Generator) -> Iterator[None]:
    """Seed NumPy's and Python's global generators from a stream, within a context.

    Use it for libraries that do not accept a generator. Both generators are restored at the end.

    Parameters
    ----------
    rng
        The generator of a replicate or of a block.

    Returns
    -------
    ContextManager
        The context, for a `with` statement.

    Examples
    --------
    >>> import random
    >>> import numpy as np
    >>> from simstudy import seeded_globals
    >>> def method(x, rng):  # `rng` is the replicate's own generator
    ...     with seeded_globals(rng):
    ...         return {"estimate": random.random()}
    >>> first, second = (method(None, np.random.default_rng(1)) for _ in range(2))
    >>> first == second
    True
    """
    numpys, pythons = np.random.get_state(), random.getstate()  # noqa: NPY002
    np.random.seed(int(rng.integers(2**32)))  # noqa: NPY002
    random.seed(int(rng.integers(2**63)))
    try:
        yield
    finally:
        np.random.set_state(numpys)  # noqa: NPY002
        random.setstate(pythons)
