"""Blocks to draw: which are missing, their order, and the share of a run that draws each."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from simstudy.design import Scenario
from simstudy.design.plan import Plan, base_scenario
from simstudy.provenance.scenario_id import short_hash
from simstudy.store.blocks import Store
from simstudy.store.columns import failed_replicates
from simstudy.store.provenance import Provenance

PART_OF_DONE = 8  # divisor: consecutive blocks of a scenario are an eighth of its earlier ones
MAX_CONSECUTIVE = 1 << 10  # upper limit of consecutive blocks of a scenario
SPLIT_DIGITS = 12  # digits of the hash of a split, in the names of files


class BlockId(NamedTuple):
    """A block to draw: its scenario, index, and key of scenario and method."""

    scenario: Scenario
    block: int
    key: str


@dataclass(frozen=True)
class BlockSet(Collection[BlockId]):
    """An ordered set of blocks, created lazily.

    It takes one byte of memory per block, so that a study may have many millions.

    Parameters
    ----------
    chosen
        Booleans of shape `(n_blocks,)` by key of the work unit: whether each block is in the set.
        The arrays of a scenario's methods have the same length.
    """

    plan: Plan
    chosen: Mapping[str, np.ndarray]

    def __len__(self) -> int:
        return sum(int(np.count_nonzero(which)) for which in self.chosen.values())

    def __contains__(self, block_id: object) -> bool:
        if not isinstance(block_id, BlockId) or block_id.key not in self.chosen:
            return False
        which = self.chosen[block_id.key]
        return block_id.block < len(which) and bool(which[block_id.block])

    def __iter__(self) -> Iterator[BlockId]:
        """Iterate over the first block of every scenario, then the second of every scenario, etc.

        Later, several consecutive blocks of a scenario come together, so that they are stored in
        one file. They are at most an eighth of the scenario's earlier blocks, so that at any time
        all scenarios have about the same number of blocks.
        """
        families = group_by_dataset(self.plan, self.chosen)
        for start, end in _bands(max(map(len, self.chosen.values()), default=0)):
            for family in families:
                yield from self._in_band(family, start, end)

    def _in_band(self, family: list[str], start: int, end: int) -> Iterator[BlockId]:
        """Iterate over a range of blocks, each with all methods."""
        here = np.stack([self.chosen[key][start:end] for key in family], axis=1)
        for block, place in np.argwhere(here).tolist():
            yield BlockId(self.plan.keys[family[place]], start + block, family[place])

    def without(self, others: BlockSet) -> BlockSet:
        """These blocks without others."""
        return BlockSet(
            self.plan, {key: which & ~others.chosen[key] for key, which in self.chosen.items()}
        )


def group_by_dataset(plan: Plan, keys: Iterable[str]) -> list[list[str]]:
    """Group keys by base scenario: the methods of the same data are in one group."""
    families: dict[int, list[str]] = {}
    for key in keys:
        families.setdefault(id(base_scenario(plan.keys[key])), []).append(key)
    return list(families.values())


def _bands(n_blocks: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of block indices; each range is drawn for all scenarios before the next."""
    start = 0
    while start < n_blocks:
        end = min(start + min(max(1, start // PART_OF_DONE), MAX_CONSECUTIVE), n_blocks)
        yield start, end
        start = end


class WorkQueue:
    """A queue of blocks, each taken once.

    Attributes
    ----------
    left
        Number of blocks that have not been taken.
    """

    def __init__(self, blocks: Collection[BlockId]) -> None:
        self.left = len(blocks)
        self._by_data = itertools.groupby(blocks, _dataset_of)

    def take(self, n: int) -> list[BlockId]:
        """Take at least `n` blocks, so that all methods of the same data are taken together."""
        taken: list[BlockId] = []
        for _, of_one_dataset in self._by_data:
            taken += of_one_dataset
            if len(taken) >= n:
                break
        self.left -= len(taken)
        return taken


def _dataset_of(block_id: BlockId) -> tuple[int, int]:
    """Return a key that is the same for blocks that analyse the same data."""
    return id(base_scenario(block_id.scenario)), block_id.block


# ---------------------------------------------------------------- choices of blocks
def all_blocks(plan: Plan, n_blocks: Mapping[str, int]) -> BlockSet:
    """Choose all blocks, given the number of blocks by key."""
    return BlockSet(plan, {key: np.ones(n_blocks[key], dtype=bool) for key in plan.keys})


def missing_blocks(
    plan: Plan, n_blocks: Mapping[str, int], store: Store, *, retries: bool = False
) -> BlockSet:
    """Choose the requested blocks that are not stored.

    Parameters
    ----------
    n_blocks
        Number of requested blocks, by key.
    retries
        Whether stored blocks that failed by the machine's fault count as stored.
    """
    lacking = {key: ~store.has_blocks(key, n_blocks[key], retries=retries) for key in plan.keys}
    return BlockSet(plan, lacking)


def blocks_with_failures(plan: Plan, n_blocks: Mapping[str, int], store: Store) -> BlockSet:
    """Choose the requested blocks that are stored with a failure."""
    size, failed = plan.block_size, dict[str, np.ndarray]()
    for key in plan.keys:
        numbers = failed_replicates(store, key, n_blocks[key], size) // size
        failed[key] = np.isin(np.arange(n_blocks[key]), numbers)
    return BlockSet(plan, failed)


def n_failed_replicates(plan: Plan, store: Store, n_blocks: Mapping[str, int]) -> dict[str, int]:
    """Count the stored replicates that failed, by key."""
    size = plan.block_size
    return {key: len(failed_replicates(store, key, n_blocks[key], size)) for key in plan.keys}


def missing_after_crash(plan: Plan, blocks: Sequence[BlockId], store: Store) -> list[BlockId]:
    """List the blocks of a lost task that are not stored."""
    store.scan()
    n_blocks = max((block_id.block for block_id in blocks), default=-1) + 1
    missing = missing_blocks(plan, dict.fromkeys(plan.keys, n_blocks), store, retries=True)
    return [block_id for block_id in blocks if block_id in missing]


# ---------------------------------------------------------------- shares
def first_shares(plan: Plan, n_shares: int) -> dict[str, int]:
    """Choose the share of the first block, counted from 0, by key; later blocks take turns.

    The first shares of scenarios are spread evenly, so that numbers of blocks differ between shares
    by at most one per scenario. All methods of a block are in one share. The choice does not depend
    on the stored blocks, so that shares may start at any time.
    """
    families = group_by_dataset(plan, plan.keys)
    return {
        key: at * n_shares // len(families) for at, family in enumerate(families) for key in family
    }


def n_blocks_by_shard(plan: Plan, blocks: BlockSet, n_shards: int) -> Counter[int]:
    """Count the blocks of each share."""
    starts, found = first_shares(plan, n_shards), Counter[int]()
    for key, which in blocks.chosen.items():
        whose = (np.flatnonzero(which) + starts[key]) % n_shards
        found += Counter(dict(enumerate(np.bincount(whose).tolist(), start=1)))
    return found


def blocks_of_shard(plan: Plan, blocks: BlockSet, shard: tuple[int, int]) -> BlockSet:
    """Choose the blocks of share `i` of `n`."""
    index, n_shards = shard
    starts, chosen = first_shares(plan, n_shards), {}
    for key, which in blocks.chosen.items():
        is_own = (np.arange(len(which)) + starts[key]) % n_shards == index - 1
        chosen[key] = which & is_own
    return BlockSet(plan, chosen)


def share_label(plan: Plan, provenance: Provenance, shard: tuple[int, int] | None) -> str:
    """Make the label for the names of a share's files, from the split and the share.

    Shares of one split have no block in common, so they need not open each other's files. Runs
    with other code, data, settings, scenarios or number of shares have another split.

    Returns
    -------
    str
        `-SPLIT-INDEX`, or an empty text for a run of all blocks.
    """
    if shard is None:
        return ""
    index, n_shares = shard
    split = [provenance.to_json(plan.keys), [*plan.keys], n_shares]
    return f"-{short_hash(json.dumps(split), SPLIT_DIGITS)}-{index}"
