"""What the run loop costs, beside drawing and beside what a plain script would take.

`python -m benchmarks.run_loop` prints a table of `benchmarks/README.md`; with that name after
it, it puts it there. Every number that is compared is a ratio of things done in turn in this run.
Processor time is that of a process and its workers; times by the clock need a machine without other
work. Each is the least of some tries.
"""

import os
import resource
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, sleep

import numpy as np
import pandas as pd

from benchmarks.pages import print_or_put, table
from benchmarks.scale import cost
from benchmarks.test_engine import INLINE, tiny
from benchmarks.timing import ROOT, python
from simstudy.design import Columns, grid
from simstudy.documents.scenarios.two_stage import MEASURES, TwoStage
from simstudy.engine.methods import each_replicate
from simstudy.provenance.streams import Streams
from simstudy.study import Study

K, N2 = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5), (100, 300, 500)
N_SMALL, SMALL = 160_000, 10  # blocks, and replicates of each
ROWS = 1_000_000
N_CALLS = 120_000  # data sets, each analysed by one call


def eighteen() -> Study:
    """The two-stage trial, every observation drawn, in 18 scenarios."""
    return Study("eighteen", grid(TwoStage, k=K, n1=100, n2=N2), MEASURES, block_size=1000)


# ---------------------------------------------------------------- workers
WHOLE_RUN = """
import os, sys
from time import perf_counter, process_time
from joblib.externals.loky import get_reusable_executor
from benchmarks.run_loop import eighteen
study, n_rep, n_workers = eighteen(), int(sys.argv[1]), int(sys.argv[2])
study.run(1000, backend="inline", n_jobs=1)  # kernels are loaded
begun, spent = perf_counter(), process_time()
result = study.run(n_rep, out=sys.argv[3], backend="auto", n_jobs=n_workers)
assert len(result.summary) == 18 * 4
seconds, of_parent = perf_counter() - begun, process_time() - spent
get_reusable_executor().shutdown(wait=True) if n_workers > 1 else None
print(seconds, of_parent, sum(os.times()[2:4]))
"""


def whole_run(n_rep: int, n_workers: int) -> tuple[float, float, float]:
    """A run with its summary, held to as many cores.

    Returns
    -------
    tuple
        Seconds by the clock, and of processor time: of the parent, and of its workers.
    """
    cores = sorted(os.sched_getaffinity(0))
    try:
        os.sched_setaffinity(0, cores[:n_workers])
        with tempfile.TemporaryDirectory() as folder:
            said = python("-c", WHOLE_RUN, str(n_rep), str(n_workers), folder)
    finally:
        os.sched_setaffinity(0, cores)
    by_clock, of_parent, of_workers = map(float, said.split())
    return by_clock, of_parent, of_workers


def worker_rows(n_rep: int, n_tries: int) -> list[list[str]]:
    """One worker against two, and what the parent of two does beside drawing."""
    tries = [(whole_run(n_rep, 1), whole_run(n_rep, 2)) for _ in range(n_tries)]
    one, two = (min(each[i][0] for each in tries) for i in (0, 1))
    alone, parent = (min(each[i][1] for each in tries) for i in (0, 1))
    workers = min(each[1][2] for each in tries)
    study = eighteen()
    plan = study.plan(1)
    streams = [(each, plan.streams(each, 1)) for each in plan.scenarios]
    a_block = cost(lambda: [each.simulate(of, 1000) for each, of in streams], 10)
    drawing = a_block * n_rep / 1000
    named = f"18 scenarios × {n_rep:,} raw replicates"
    return [
        [
            f"{named}, with one and with two workers",
            f"{one:.1f} and {two:.1f} by the clock",
            f"{one / two:.2f} times as fast",
        ],
        [f"{named}: one worker", f"{alone:.1f}", f"{alone / drawing:.1f} of drawing"],
        [
            f"{named}: two workers, with their start",
            f"{parent:.1f} of the parent, {workers:.1f} of the workers",
            f"{(parent + workers) / drawing:.1f} of drawing",
        ],
    ]


# ---------------------------------------------------------------- one call per data set
@dataclass(frozen=True)
class Sample:
    """Normal data, for a t interval of each data set."""

    n_obs: int = 20

    def draw(self, streams: Streams, n_rep: int) -> dict[str, np.ndarray]:
        return {"x": streams("data").standard_normal((n_rep, self.n_obs))}


def t_interval(x: np.ndarray) -> dict[str, float]:
    """A t interval for the mean of 20 values."""
    half = 2.093 * x.std(ddof=1) / np.sqrt(len(x))
    return {"estimate": x.mean(), "lower": x.mean() - half, "upper": x.mean() + half}


def call_rows() -> list[list[str]]:
    """A method that is called once per data set, against a plain loop over the same calls."""
    methods = {"t": each_replicate(t_interval)}
    study = Study("calls", [Sample()], methods=methods, block_size=1000)

    def plain() -> None:
        x = np.random.default_rng(1).standard_normal((N_CALLS, 20))
        rows = [t_interval(row) for row in x]
        _ = {name: np.array([row[name] for row in rows]) for name in rows[0]}

    loop, whole = cost(plain), cost(lambda: study.run(N_CALLS, **INLINE))
    made = f"{1e6 * whole / N_CALLS:.0f} µs a call"
    return [[f"{N_CALLS:,} calls of a t interval", made, f"{whole / loop:.2f} of a plain loop"]]


# ---------------------------------------------------------------- blocks
def seeded(n: int) -> None:
    """A generator for each block, and a number from it: the least that drawing them would cost."""
    for block in range(n):
        np.random.Generator(np.random.Philox(key=block)).standard_normal()


def block_rows() -> list[list[str]]:
    """What the engine takes of each block, and very many small ones."""
    study = tiny(4, 100)
    plan, n_each = study.plan(1), 500

    def directly() -> None:
        for scenario in plan.scenarios:
            for block in range(n_each):
                scenario.simulate(plan.streams(scenario, block), plan.block_size)

    own, whole = cost(directly), cost(lambda: study.run(100 * n_each, **INLINE))
    a_block = (whole - own) / (4 * n_each)
    many = tiny(10, SMALL)
    small = cost(lambda: many.run(N_SMALL // 10 * SMALL, **INLINE), 1)
    plain = cost(lambda: seeded(N_SMALL), 1)
    return [
        ["engine around a block", f"{a_block * 1e3:.2f} ms", f"{a_block / (own / 4 / n_each):.1f} "
         "of drawing 100 normals"],
        [f"{N_SMALL:,} blocks of {SMALL} replicates", f"{small:.1f}",
         f"{small / plain:.1f} of seeding their generators"],
    ]  # fmt: skip


# ---------------------------------------------------------------- rows
def rows_row() -> list[str]:
    """A million rows written, compacted and summarised, against a frame written and read."""
    trials = grid(
        TwoStage, k=np.linspace(0, 2, 10).tolist(), n1=100, n2=[*range(100, 1100, 100)],
        draws="sufficient",
    )  # fmt: skip
    study = Study("rows", trials, MEASURES, block_size=1000)

    def ours() -> None:
        with tempfile.TemporaryDirectory() as folder:
            result = study.run(ROWS // 100, out=folder, **INLINE)
            assert len(result.summary) == 400

    def plain() -> None:
        streams = study.plan(1).streams
        drawn = [each.simulate(streams(each, 0), ROWS // 100) for each in trials]
        frames = [pd.DataFrame(columns).assign(scenario=i) for i, columns in enumerate(drawn)]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.parquet"
            pd.concat(frames).to_parquet(path)
            rows = pd.read_parquet(path)
            means = [
                rows[rows[given]].groupby("scenario")["reject"].mean()
                for given in ("null_is_false", "null_is_true")
            ]
            means += [rows.groupby("scenario")[name].mean() for name in ("null_is_false", "s2")]
            assert all(len(each) == 100 for each in means)

    ours()  # kernels are loaded
    plain()
    ours_, plain_ = cost(ours), cost(plain)
    return ["1,000,000 rows written, compacted and summarised by four measures",
            f"{ours_:.2f}", f"{ours_ / plain_:.1f} of pandas"]  # fmt: skip


# ---------------------------------------------------------------- short runs
class Waits(TwoStage):
    """Blocks of 25 ms."""

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        sleep(0.025)
        return super().simulate(streams, n_rep)


def short_rows() -> list[list[str]]:
    """Workers of a study of a second, and a command with nothing to do."""
    study = Study("short", grid(Waits, k=K[:2], n1=10, n2=10), MEASURES, block_size=100)
    before = set(children())
    begun = perf_counter()
    study.run(2000, backend="auto", n_jobs=2)
    seconds, n_workers = perf_counter() - begun, len(set(children()) - before)
    with tempfile.TemporaryDirectory() as folder:
        words = [str(ROOT / "run.py"), "experiment=two_stage", "n_rep=1000", f"out={folder}"]
        python(*words)
        nothing = of_process(words, 5)
    imports = of_process(["-c", "import numpy, pyarrow.parquet, yaml"], 5)
    hydra = of_process(["-c", "import numpy, pandas, pyarrow, hydra"], 5)
    said = f"{nothing / imports:.1f} of importing NumPy, PyArrow and PyYAML; {nothing / hydra:.1f} "
    return [
        ["a study of one second", f"{seconds:.1f} by the clock", f"{n_workers} workers started"],
        ["nothing to do, 138 scenarios stored, start to end", f"{nothing:.2f}",
         f"{said}of these with pandas and Hydra"],
    ]  # fmt: skip


def children() -> list[int]:
    """Processes that this one started, and their own."""
    here, found = {os.getpid()}, list[int]()
    for folder in sorted(Path("/proc").glob("[0-9]*"), key=lambda path: int(path.name)):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent in here:
            here.add(int(folder.name))
            found.append(int(folder.name))
    return found


def of_process(arguments: list[str], n: int) -> float:
    """Processor time of an interpreter, the least of some tries."""

    def spent() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    def once() -> float:
        before = spent()
        python(*arguments)
        return spent() - before

    return min(once() for _ in range(n))


def tables(parts: dict[str, Callable[[], list[list[str]]]]) -> str:
    """As Markdown."""
    rows = [row for make in parts.values() for row in make()]
    return table(["what", "seconds of processor time, unless said", "ratio"], rows)


PARTS: dict[str, Callable[[], list[list[str]]]] = {
    "workers": lambda: [*worker_rows(165_000, 3), *worker_rows(1_500_000, 2)],
    "calls": call_rows,
    "blocks": block_rows,
    "rows": lambda: [rows_row()],
    "short": short_rows,
}

if __name__ == "__main__":
    only = [text for text in sys.argv[1:] if text in PARTS]
    pages = [text for text in sys.argv[1:] if text not in PARTS]
    print_or_put(tables({name: PARTS[name] for name in only or PARTS}), pages, "run loop")
