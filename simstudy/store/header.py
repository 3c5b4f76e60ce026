"""What a file of blocks says of itself: which blocks, whose, and what they outrank."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from simstudy.store.files import Files
from simstudy.store.owner import Owner

GROUPS_KEY = b"simstudy.groups"
OWNER_KEY = b"simstudy.owner"
RANK_KEY = b"simstudy.rank"
WIDTH_KEY = b"simstudy.width"
TENTATIVE = -1  # rank of blocks that failed by the machine's fault: kept until they are drawn


class Group(NamedTuple):
    """Consecutive whole blocks of one scenario: `n` of them, from `first` on."""

    key: str
    first: int
    n: int

    @property
    def end(self) -> int:
        """The block after the last."""
        return self.first + self.n


def joined_groups(blocks: Iterable[tuple[str, int]]) -> list[Group]:
    """Keys and numbers of blocks, in order, as groups of those that follow each other."""
    groups: list[Group] = []
    for key, number in blocks:
        last = groups[-1] if groups else None
        if last and (last.key, last.end) == (key, number):
            groups[-1] = Group(key, last.first, last.n + 1)
        else:
            groups.append(Group(key, number, 1))
    return groups


@dataclass(frozen=True)
class Header:
    """What a file says of itself.

    Parameters
    ----------
    parquet
        Metadata of the whole file.
    owner
        Whose its blocks are.
    rank
        Above that of files which it outranks.
    """

    parquet: pq.FileMetaData
    owner: Owner
    rank: int

    @cached_property
    def said(self) -> dict[bytes, bytes]:
        return dict(self.parquet.metadata or {})

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns, a list as one, without what else the file says."""
        return self.parquet.schema.to_arrow_schema().remove_metadata()

    @property
    def holds_blocks(self) -> bool:
        """Whether it says which."""
        return GROUPS_KEY in self.said

    @cached_property
    def groups(self) -> list[Group]:
        return [Group(*said) for said in json.loads(self.said[GROUPS_KEY])]

    def says(self, name: str) -> bool:
        """Whether a column holds any value, or may do so."""
        groups = map(self.parquet.row_group, range(self.parquet.num_row_groups))
        columns = (group.column(i) for group in groups for i in range(group.num_columns))
        return any(
            column.statistics is None or column.statistics.num_values
            for column in columns
            if column.path_in_schema.partition(".")[0] == name
        )

    @property
    def width(self) -> int:
        """The most values that a row has in any column."""
        return int(self.said.get(WIDTH_KEY, b"1"))


def metadata_for(groups: Sequence[Group], owner: Owner, rank: int, width: int) -> dict[bytes, str]:
    """What a file with these blocks is to say."""
    whose = owner.text(group.key for group in groups)
    listed = json.dumps([list(group) for group in groups])
    return {GROUPS_KEY: listed, OWNER_KEY: whose, RANK_KEY: str(rank), WIDTH_KEY: str(width)}


def verified_header(files: Files, name: str) -> Header:
    """What a file says, whose bytes are the ones that were written.

    Raises
    ------
    StoreError
        Where its name is not that of its bytes.
    """
    with files.open_checked(name) as file:
        parquet = pq.read_metadata(file)
    said = parquet.metadata or {}
    return Header(parquet, _owner_said(said), int(said.get(RANK_KEY, b"0")))


def owner_in(files: Files, name: str) -> Owner:
    """Whose blocks a file holds, as it says; of a damaged file, nobody known."""
    try:
        with files.open_end(name) as file:
            return _owner_said(pq.read_metadata(file).metadata or {})
    except (OSError, ValueError, pa.ArrowException):
        return Owner.read("")


def _owner_said(metadata: dict[bytes, bytes]) -> Owner:
    return Owner.read(metadata.get(OWNER_KEY, b"").decode())
