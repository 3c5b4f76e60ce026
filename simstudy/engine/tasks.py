"""What a worker gets and gives: a task of blocks to draw, a receipt for blocks that are written.

Workers write what they compute, so that nothing finished depends on the parent.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from simstudy.design.plan import Analysed, Plan, method_of, scenario_behind
from simstudy.engine.block import Address, draw_block, failed_block
from simstudy.engine.columns import Constant, Constants, constants_among, refuse_unread
from simstudy.engine.failures import is_machine_trouble
from simstudy.engine.jobs import Job
from simstudy.engine.marks import note_block, note_no_block
from simstudy.engine.methods import TEXTS, LastData, Returned, column_over, refuse_other_columns
from simstudy.engine.noticing import Looking, Noticed
from simstudy.engine.threads import drawn_with_one_thread
from simstudy.engine.time_limits import OverTimeError, at_most, over_time
from simstudy.errors import StudyError, describe
from simstudy.store.files import Files
from simstudy.store.header import TENTATIVE, Group, joined_groups
from simstudy.store.layout import ERROR, Block, Keep, has_text, values_per_row
from simstudy.store.owner import NOBODY, Owner
from simstudy.store.write import Form, joint_schema, write_blocks, write_laid_out


class Lasting(NamedTuple):
    """Files that are to stay as the worker of a task writes them.

    Parameters
    ----------
    files
        The groups of each, in order: all blocks of the task, each once.
    again
        Blocks of these files that are stored already and drawn once more, to lie with the others,
        and how many replicates failed in each.
    """

    files: tuple[tuple[Group, ...], ...]
    form: Form
    again: tuple[tuple[Job, int], ...] = ()


class Task(NamedTuple):
    """Some blocks, what to keep of them, where, whose they are, and which they outrank.

    `witnesses` are fingerprinted by the worker, which draws nothing where its code is not the
    `expected` one: it imports for itself, from files that may have been edited meanwhile. `beside`
    has by scenario key a method that is stored already, and the columns that all have to return.
    `block_seconds` is how long drawing one of them may take, if not for ever. `lasting` says in
    which files the blocks go, where these are to stay.
    """

    plan: Plan
    jobs: tuple[Job, ...]
    keep: Keep
    files: Files
    owner: Owner = NOBODY
    rank: int = 0
    witnesses: tuple[tuple[Any, ...], ...] = ()
    expected: str = ""
    beside: tuple[tuple[str, Returned], ...] = ()
    block_seconds: float | None = None
    lasting: Lasting | None = None

    def only(self, jobs: Sequence[Job]) -> "Task":
        """The same with some of its blocks."""
        scenarios = {job.key: job.scenario for job in jobs}
        plan, owner = self.plan.only(scenarios.values()), self.owner.only(scenarios)
        return self._replace(plan=plan, jobs=tuple(jobs), owner=owner, lasting=None)


class Receipt(NamedTuple):
    """What a worker says of a task whose blocks are written."""

    done: tuple[tuple[str, int], ...]  # keys and blocks: scenarios do not travel back
    seconds: float
    n_failed: int
    first_failure: tuple[Address, str] | None
    seconds_each: tuple[float, ...]  # of drawing each block, without writing or a method's data
    seconds_of_data: tuple[tuple[str, float], ...] = ()  # by scenario key, of each block's data
    n_bytes: int = 0  # of the rows, in memory
    files: tuple[str, ...] = ()  # names of those that were written
    failed_each: tuple[int, ...] = ()  # replicates of each block that failed
    noticed: tuple[Noticed, ...] = ()  # of the first blocks of what is drawn
    texts: frozenset[tuple[str, bool]] = frozenset()  # columns, and whether they hold text
    constants: frozenset[Constant] = frozenset()  # columns with one value for a whole block
    data_each: tuple[float, ...] = ()  # seconds of each block's data, 0 where they were kept
    schema: pa.Schema | None = None  # of what was written, but for what the machine made fail
    width: int = 1  # the most values that a row of it has in a column
    are_lasting: bool = False  # whether the files are those that a finished folder has


# ---------------------------------------------------------------- the work
def compute(task: Task) -> Receipt:
    """Draw the blocks of a task and write them as one file, or as those that are to stay."""
    blocks, seconds = [], _Seconds()
    last, looking, begun = LastData(time.perf_counter), Looking(), time.perf_counter()
    for job in task.jobs:
        note_block(job.key, job.block)
        start, before = time.perf_counter(), last.seconds
        with looking.at(job.block, start - begun) as heard:
            blocks.append(_drawn_block(task, job, last))
        seconds.add(task.plan, job, time.perf_counter() - start, last.seconds - before)
        looking.note(job.key, job.block, blocks[-1].columns, heard)
    note_no_block()
    _refuse_other_columns(task, blocks)
    _refuse_unread(task, blocks)
    constants = constants_among(task.plan, blocks)
    Constants().refuse_others(constants)
    receipt = _write_all(task, blocks, seconds, beside=_drawn_again(task))
    return receipt._replace(
        noticed=tuple(looking.seen), texts=_texts_among(blocks), constants=constants
    )


def _drawn_again(task: Task) -> list[Block]:
    """Blocks that lie elsewhere too; none where not all of them come out as they did."""
    last, again = LastData(time.perf_counter), list[Block]()
    for job, n_failed in task.lasting.again if task.lasting else ():
        again.append(_drawn_block(task, job, last))
        if again[-1].n_failed != n_failed:
            return []
    return again


def _texts_among(blocks: Sequence[Block]) -> frozenset[tuple[str, bool]]:
    """Columns of values with whether they hold text: of one name there has to be one."""
    columns = (column for block in blocks for column in block.columns.items())
    return frozenset((name, c.dtype.kind in "UO") for name, c in columns if name not in TEXTS)


@dataclass
class _Seconds:
    """What blocks took, and apart from it what their data took."""

    each: list[float] = field(default_factory=list)
    data_each: list[float] = field(default_factory=list)
    of_data: list[tuple[str, float]] = field(default_factory=list)

    def add(self, plan: Plan, job: Job, seconds: float, on_data: float) -> None:
        self.each.append(seconds - on_data)
        self.data_each.append(on_data)
        if on_data:
            self.of_data.append((plan.key_of(scenario_behind(job.scenario)), on_data))

    @property
    def total(self) -> float:
        return sum(self.each) + sum(seconds for _, seconds in self.of_data)


def _refuse_other_columns(task: Task, blocks: Sequence[Block]) -> None:
    """The methods of a scenario return the same columns, whenever they are drawn."""
    returned: dict[tuple[str, int], list[Returned]] = {}
    for block in blocks:
        if isinstance(block.scenario, Analysed):
            key = task.plan.key_of(block.scenario.scenario)
            stored = [of for scenario, of in task.beside if scenario == key]
            same_data = returned.setdefault((key, block.number), stored)
            same_data.append(_returned(task.plan, block))
    for of_one_block in returned.values():
        refuse_other_columns(of_one_block)


def _refuse_unread(task: Task, blocks: Sequence[Block]) -> None:
    """What measures read is there: refused in the first block, before anything is stored."""
    for block in blocks:
        try:
            refuse_unread(task.plan, block.scenario, block.columns)
        except StudyError as error:
            raise StudyError(f"{block.scenario!r}: {error}") from None


def _returned(plan: Plan, block: Block) -> Returned:
    columns = tuple(
        column_over(
            plan,
            name,
            wide=column.ndim - (name in plan.vectors) > 1,
            is_text=column.dtype.kind in "UO",
        )
        for name, column in block.columns.items()
    )
    return method_of(block.scenario), columns


def _drawn_block(task: Task, job: Job, last: LastData) -> Block:
    """A block; where not even its threads can be looked at, the machine has run out."""
    plan, limit = task.plan, task.block_seconds
    draw = partial(draw_block, plan, job.scenario, job.block, last)
    try:
        with at_most(limit, f"block {job.block} of {job.scenario!r}"):
            return drawn_with_one_thread(draw)
    except OverTimeError:
        return failed_block(plan, job.scenario, job.block, over_time(limit or 0.0))
    except OSError as error:
        if not is_machine_trouble(error):
            raise
        return failed_block(plan, job.scenario, job.block, describe(error), machine=True)


def record_failed(task: Task, reason: str, *, machine: bool) -> Receipt:
    """Write the blocks of a task as failed, for a reason of the machine's or of their own."""
    blocks = [
        failed_block(task.plan, job.scenario, job.block, reason, machine=machine)
        for job in task.jobs
    ]
    nothing = [0.0] * len(blocks)
    return _write_all(task, blocks, _Seconds(nothing, nothing))


def _write_all(
    task: Task, blocks: Sequence[Block], seconds: _Seconds, beside: Sequence[Block] = ()
) -> Receipt:
    """Write blocks, and say so."""
    start = time.perf_counter()
    lasting = _write_lasting(task, [*blocks, *beside])
    written = lasting or _write_loose(task, blocks)
    counted = [file for file in written if file.rank > TENTATIVE]
    n_failed = sum(block.n_failed for block in blocks)
    return Receipt(
        done=tuple((job.key, job.block) for job in task.jobs),
        seconds=seconds.total + time.perf_counter() - start,
        n_failed=n_failed,
        first_failure=_first_failure(task, blocks) if n_failed else None,
        seconds_each=tuple(seconds.each),
        seconds_of_data=tuple(seconds.of_data),
        data_each=tuple(seconds.data_each),
        n_bytes=sum(file.n_bytes for file in written),
        files=tuple(file.name for file in written),
        failed_each=tuple(block.n_failed for block in blocks),
        schema=joint_schema(dict.fromkeys(file.schema for file in counted)) if counted else None,
        width=max((file.width for file in counted), default=1),
        are_lasting=bool(lasting),
    )


class _Written(NamedTuple):
    """A file, how large its rows are in memory, its columns, the most values in one, its rank."""

    name: str
    n_bytes: int
    schema: pa.Schema
    width: int
    rank: int


def _write_lasting(task: Task, blocks: Sequence[Block]) -> list[_Written]:
    """The files that are to stay; none where there are no such, or not all of their blocks."""
    found = {(block.key, block.number): block for block in blocks if not block.machine}
    files = task.lasting.files if task.lasting else ()
    n_blocks = sum(group.n for groups in files for group in groups)
    return [_write_as_laid_out(task, groups, found) for groups in files if len(found) == n_blocks]


def _write_as_laid_out(
    task: Task, groups: Sequence[Group], found: Mapping[tuple[str, int], Block]
) -> _Written:
    """One of these files, as a compaction would write it."""
    assert task.lasting is not None
    tables = [
        task.keep(task.plan, [found[key, first + i] for i in range(n)]) for key, first, n in groups
    ]
    form = task.lasting.form.over(tables)
    name = write_laid_out(task.files, groups, tables, form, owner=task.owner)
    n_bytes = sum(int(table.nbytes) for table in tables)
    return _Written(name, n_bytes, form.schema, form.width, form.rank)


def _write_loose(task: Task, blocks: Sequence[Block]) -> list[_Written]:
    """Blocks that the machine made fail go into a file of their own, to be drawn again."""
    written: list[_Written] = []
    for by_machine in (False, True):
        some = [block for block in blocks if block.machine == by_machine]
        if some:
            written.append(_write_file(task, some, rank=TENTATIVE if by_machine else task.rank))
    return written


def _write_file(task: Task, some: Sequence[Block], *, rank: int) -> _Written:
    """Write blocks scenario by scenario, so that they are few groups."""
    in_order = sorted(some, key=lambda block: (block.key, block.number))
    table = task.keep(task.plan, in_order)
    groups = joined_groups((block.key, block.number) for block in in_order)
    name = write_blocks(task.files, groups, table, owner=task.owner, rank=rank)
    return _Written(name, int(table.nbytes), table.schema, values_per_row(table), rank)


def _first_failure(task: Task, blocks: Sequence[Block]) -> tuple[Address, str] | None:
    size = task.plan.block_size
    for job, block in zip(task.jobs, blocks, strict=True):
        if block.n_failed:
            errors = block.columns[ERROR].reshape(size, -1)
            row, cell = np.argwhere(has_text(errors))[0]
            return Address(job.key, job.block * size + int(row)), errors[row, cell]
    return None
