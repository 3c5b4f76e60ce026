"""Tasks whose files stay: they draw all blocks of a file that the finished folder is to have.

Which files these are follows from how many blocks are wanted. So a worker can write one itself,
byte for byte as a compaction would, which then leaves it as it is. That is worth it where blocks
are fast: a whole file takes a moment, and no scenario gets far ahead of the others by it.
"""

from collections.abc import Iterator, Mapping, Sequence

from simstudy.design.plan import Plan
from simstudy.engine.assignment import Assignment
from simstudy.engine.jobs import Job, Jobs, Waiting, families_of
from simstudy.engine.portions import Portions
from simstudy.engine.tasks import Lasting, Receipt
from simstudy.store.blocks import Store
from simstudy.store.header import TENTATIVE, Group
from simstudy.store.volumes import chunk_length, own_file, shared_files
from simstudy.store.write import Form, joint_schema

PART_AGAIN = 16  # of a file's blocks at most this part is drawn a second time, to be in it
FIRST_BLOCKS = 8  # of a scenario: no others are
PART_AT_FIRST = 32  # scenarios are all begun before a file, where they are this part of all blocks

File = tuple[Group, ...]
"""What one file is to hold, in order."""


def may_last(assignment: Assignment) -> bool:
    """Whether what is drawn is there to stay, in columns that are known before.

    Blocks that replace others may be rid of columns, such as that of errors, and nobody knows
    before all of them are drawn.
    """
    return assignment.ownership is not None and not assignment.rank


class Prospect:
    """The files of a folder when all is drawn, and which of them a task may draw whole.

    Parameters
    ----------
    jobs
        All that are missing, of every scenario.
    """

    def __init__(self, assignment: Assignment, jobs: Jobs) -> None:
        self.plan, self.rank = assignment.plan, assignment.rank
        self.rows_per_block = assignment.store.rows_per_block
        self.n_blocks = _blocks_in_the_end(assignment.store, jobs)
        self.form = _form_of(assignment.store, self.rank)
        self._layout: _Layout | None = None
        self._failed: dict[tuple[str, int], int] = {}
        self._begins = PART_AT_FIRST * len(jobs.chosen) <= len(jobs)

    def learn_from(self, receipt: Receipt) -> None:
        """What columns there are, and how the first blocks came out that did not fail whole."""
        if receipt.schema is not None:
            known = self.form or Form(receipt.schema, self.rank, 1)
            schema = joint_schema([known.schema, receipt.schema])
            self.form = Form(schema, self.rank, max(known.width, receipt.width))
        for (key, block), n_failed in zip(receipt.done, receipt.failed_each, strict=True):
            if block < FIRST_BLOCKS and n_failed < self.plan.block_size:
                self._failed[key, block] = n_failed

    def n_to_begin(self, jobs: Waiting) -> int:
        """How many scenarios are to have a block before any has a file; 0 when they have."""
        n = sum(int(some[0]) for some in jobs.waits.values() if len(some)) if self._begins else 0
        self._begins = n > 0
        return n

    def take(self, waiting: Waiting, portions: Portions) -> tuple[list[Job], Lasting | None]:
        """Take the jobs of the next files, enough for a task; none where that does not pay."""
        form = self.form
        jobs, files, again = list[Job](), list[File](), list[tuple[Job, int]]()
        while form and not portions.fills(len(jobs)):
            more = self._next_files(waiting, portions, form, len(jobs))
            found = list(_jobs_of(self.plan, more))
            new = [job for job in found if waiting.has(job.key, job.block)]
            stored = [job for job in found if not waiting.has(job.key, job.block)]
            if not self._may_draw_again(stored, len(found)):
                break
            waiting.drop((job.key, job.block) for job in new)
            jobs, files = [*jobs, *new], [*files, *more]
            again += [(job, self._failed[job.key, job.block]) for job in stored]
        return jobs, Lasting(tuple(files), form, tuple(again)) if form and jobs else None

    def left_before(self, waiting: Waiting, portions: Portions) -> tuple[int, int | None]:
        """How many blocks are to go before the next files can be drawn whole, and which is theirs.

        The file with the block that comes next has lost others already.
        """
        first, layout = waiting.first(), self._layout
        if first is None or layout is None or not portions.may_take(layout.step // 2, waiting.left):
            return waiting.left, None
        end = layout.end_of_file(first)
        return sum(int(some[:end].sum()) for some in waiting.waits.values()), end

    def _next_files(
        self, waiting: Waiting, portions: Portions, form: Form, n_taken: int
    ) -> list[File]:
        """The files with the block that comes next; none where they are too much for a task."""
        first, n_left = waiting.first(), waiting.left + n_taken
        step = chunk_length(form.width, self.rows_per_block)
        if first is None or not portions.may_take(n_taken + min(step // 2, waiting.left), n_left):
            return []
        layout = self._laid_out(step)
        files = layout.files_with(first, waiting)
        n_blocks = sum(group.n for file in files for group in file)
        fit = portions.may_take(n_taken + n_blocks, n_left, layout.n_beside(files))
        return files if fit else []

    def _may_draw_again(self, stored: Sequence[Job], n_blocks: int) -> bool:
        """Whether so few of so many blocks are stored that it pays, and are known."""
        few = n_blocks > PART_AGAIN * len(stored)
        return few and all((job.key, job.block) in self._failed for job in stored)

    def _laid_out(self, step: int) -> "_Layout":
        if self._layout is None or self._layout.step != step:
            self._layout = _Layout(self.plan, self.n_blocks, step)
        return self._layout


class _Layout:
    """Which blocks go into which file: found for a file when it is its turn.

    Parameters
    ----------
    step
        Blocks of a chunk.
    """

    def __init__(self, plan: Plan, n_blocks: Mapping[str, int], step: int) -> None:
        self.step, self.n_blocks = step, n_blocks
        self._beside: dict[int, int] = {}
        self._family = {key: some for some in families_of(plan, n_blocks) for key in some}
        self._shared = {
            group.key: tuple(file) for file in shared_files(n_blocks, step) for group in file
        }

    def files_with(self, job: Job, waiting: Waiting) -> list[File]:
        """The file with a block, and those of methods that analyse the same data and wait too.

        None where the blocks of these do not lie in the same way.
        """
        keys = [key for key in self._family[job.key] if waiting.has(key, job.block)]
        files = [self._file_with(key, job.block) for key in keys]
        extents = {tuple((group.first, group.n) for group in file) for file in files}
        is_alone = len(self._family[job.key]) == 1
        apart = all(len({group.key for group in file}) == 1 for file in files)
        return files if is_alone or (apart and len(extents) == 1) else []

    def _file_with(self, key: str, block: int) -> File:
        own = own_file(key, self.n_blocks[key], block, self.step)
        return tuple(own) or self._shared[key]

    def end_of_file(self, job: Job) -> int:
        """The block after the last that one scenario has in the file with some block."""
        return max(g.end for g in self._file_with(job.key, job.block) if g.key == job.key)

    def n_beside(self, files: Sequence[File]) -> int:
        """Blocks of all files that are drawn before any scenario goes on from these."""
        return max((self._n_from(file[0].first) for file in files), default=0)

    def _n_from(self, first: int) -> int:
        """Blocks of all scenarios in files of theirs that hold this block."""
        if first not in self._beside:
            longer = [key for key, n in self.n_blocks.items() if n > first]
            files = (self._file_with(key, first) for key in longer)
            own = zip(longer, files, strict=True)
            self._beside[first] = sum(g.n for key, file in own for g in file if g.key == key)
        return self._beside[first]


def _jobs_of(plan: Plan, files: Sequence[File]) -> Iterator[Job]:
    """The blocks of some files, those of the same data next to each other."""
    for groups in zip(*files, strict=True):
        for i in range(groups[0].n):
            for key, first, _ in groups:
                yield Job(plan.keys[key], first + i, key)


def _form_of(store: Store, rank: int) -> Form | None:
    """What the files that are there have in common; all of a folder have the same columns.

    What the machine made fail is drawn again, and has no part in what stays.
    """
    headers = [store.headers[name] for name in store.files_in_use]
    headers = [header for header in headers if header.rank > TENTATIVE]
    if not headers:
        return None
    schema = joint_schema({header.schema: None for header in headers})
    return Form(schema, rank, max(header.width for header in headers))


def _blocks_in_the_end(store: Store, jobs: Jobs) -> dict[str, int]:
    """How many first blocks of each scenario there are when all jobs are done, by key."""
    wanted = {key: len(which) for key, which in jobs.chosen.items()}
    for key, places in store.places.items():
        wanted[key] = max(wanted.get(key, 0), *(place.group.end for place in places))
    return wanted
