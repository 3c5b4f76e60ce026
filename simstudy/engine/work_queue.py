"""The missing blocks, in the order in which they are drawn, and which share each belongs to."""

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

PART_OF_DONE = 8  # blocks of a scenario that come together: at most this part of those before them
TOGETHER = 1 << 10  # and never more
SPLIT_DIGITS = 12  # of the hash of a split, in the names of files


class BlockId(NamedTuple):
    """A block to draw: key of its scenario and method, and index."""

    scenario: Scenario
    block: int
    key: str


@dataclass(frozen=True)
class BlockSet(Collection[BlockId]):
    """An ordered set of blocks, created lazily.

    What is remembered is a byte for each block, so a study of many millions can be asked for.

    Parameters
    ----------
    chosen
        By the key of what is drawn, which of its first blocks, shape `(n_blocks,)`; the methods
        of a scenario have as many.
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
        """Iterate: the first block of every scenario before the second of any.

        Far on some blocks of a scenario come together, so that they lie together in a file: never
        more than an eighth of those before them, which is what an early look may lack.
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
    """The keys grouped by base scenario: methods of the same data side by side."""
    families: dict[int, list[str]] = {}
    for key in keys:
        families.setdefault(id(base_scenario(plan.keys[key])), []).append(key)
    return list(families.values())


def _bands(n_blocks: int) -> Iterator[tuple[int, int]]:
    """Ranges of block indices that are drawn for every scenario before the next range."""
    start = 0
    while start < n_blocks:
        end = min(start + min(max(1, start // PART_OF_DONE), TOGETHER), n_blocks)
        yield start, end
        start = end


class WorkQueue:
    """A queue of blocks, each handed out once.

    Attributes
    ----------
    left
        How many have not been handed out.
    """

    def __init__(self, blocks: Collection[BlockId]) -> None:
        self.left = len(blocks)
        self._by_data = itertools.groupby(blocks, _dataset_of)

    def take(self, n: int) -> list[BlockId]:
        """Take some blocks, and the other methods of the last block's data."""
        taken: list[BlockId] = []
        for _, of_one_dataset in self._by_data:
            taken += of_one_dataset
            if len(taken) >= n:
                break
        self.left -= len(taken)
        return taken


def _dataset_of(block_id: BlockId) -> tuple[int, int]:
    """What blocks that analyse the same data have in common."""
    return id(base_scenario(block_id.scenario)), block_id.block


# ---------------------------------------------------------------- which
def all_blocks(plan: Plan, n_blocks: Mapping[str, int]) -> BlockSet:
    """All blocks, given the number of blocks of each scenario."""
    return BlockSet(plan, {key: np.ones(n_blocks[key], dtype=bool) for key in plan.keys})


def missing_blocks(
    plan: Plan, n_blocks: Mapping[str, int], store: Store, *, retries: bool = False
) -> BlockSet:
    """The requested blocks that are not stored.

    Parameters
    ----------
    n_blocks
        Blocks wanted of each scenario, by its key.
    retries
        Whether blocks that the machine made fail will do.
    """
    lacking = {key: ~store.has_blocks(key, n_blocks[key], retries=retries) for key in plan.keys}
    return BlockSet(plan, lacking)


def blocks_with_failures(plan: Plan, n_blocks: Mapping[str, int], store: Store) -> BlockSet:
    """The requested blocks that are stored with a failure."""
    size, failed = plan.block_size, dict[str, np.ndarray]()
    for key in plan.keys:
        numbers = failed_replicates(store, key, n_blocks[key], size) // size
        failed[key] = np.isin(np.arange(n_blocks[key]), numbers)
    return BlockSet(plan, failed)


def n_failed_replicates(plan: Plan, store: Store, n_blocks: Mapping[str, int]) -> dict[str, int]:
    """By key, the number of stored replicates that failed."""
    size = plan.block_size
    return {key: len(failed_replicates(store, key, n_blocks[key], size)) for key in plan.keys}


def missing_after_crash(plan: Plan, blocks: Sequence[BlockId], store: Store) -> list[BlockId]:
    """The blocks of some that are not stored."""
    store.scan()
    n_blocks = max((block_id.block for block_id in blocks), default=-1) + 1
    missing = missing_blocks(plan, dict.fromkeys(plan.keys, n_blocks), store, retries=True)
    return [block_id for block_id in blocks if block_id in missing]


# ---------------------------------------------------------------- shares
def first_shares(plan: Plan, n_shares: int) -> dict[str, int]:
    """By key, the share of the first block, counted from 0; the next block is the next share's.

    Scenarios begin at shares that are spread evenly, so shares have equal numbers of blocks, give
    or take one of each scenario. Methods of a block are in one share. It does not depend on what is
    stored, so that shares may start at any time.
    """
    families = group_by_dataset(plan, plan.keys)
    return {
        key: at * n_shares // len(families) for at, family in enumerate(families) for key in family
    }


def n_blocks_by_shard(plan: Plan, blocks: BlockSet, n_shards: int) -> Counter[int]:
    """The number of blocks of each share."""
    starts, found = first_shares(plan, n_shards), Counter[int]()
    for key, which in blocks.chosen.items():
        whose = (np.flatnonzero(which) + starts[key]) % n_shards
        found += Counter(dict(enumerate(np.bincount(whose).tolist(), start=1)))
    return found


def blocks_of_shard(plan: Plan, blocks: BlockSet, shard: tuple[int, int]) -> BlockSet:
    """The blocks of share `i` of `n`."""
    index, n_shards = shard
    starts, chosen = first_shares(plan, n_shards), {}
    for key, which in blocks.chosen.items():
        is_own = (np.arange(len(which)) + starts[key]) % n_shards == index - 1
        chosen[key] = which & is_own
    return BlockSet(plan, chosen)


def share_label(plan: Plan, provenance: Provenance, shard: tuple[int, int] | None) -> str:
    """The label in the names of a share's files: the split of the study, and the share.

    Shares of one split have no block in common, so they need not open each other's files. Where
    code, data, settings, scenarios or the number of shares differ, the split does.

    Returns
    -------
    str
        `-SPLIT-INDEX`; empty where a run is no share.
    """
    if shard is None:
        return ""
    index, n_shares = shard
    split = [provenance.to_json(plan.keys), [*plan.keys], n_shares]
    return f"-{short_hash(json.dumps(split), SPLIT_DIGITS)}-{index}"
