"""What the engine costs: per block, to resume, to summarise, to start; and whole studies.

Ratios are between things timed in turn in the same run: no limit is in seconds, which are the
machine's. What takes minutes is marked slow: `pytest -m slow benchmarks`.
"""

import os
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter, process_time, sleep, thread_time

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import multivariate_normal, norm

from benchmarks.timing import ROOT, least, least_alone, python
from experiments.two_stage import study as two_stage
from simstudy.analysis import estimates
from simstudy.design import Columns, grid
from simstudy.documents.scenarios.two_stage import TwoStage
from simstudy.engine import tasks
from simstudy.engine.progress import Silent
from simstudy.engine.provenance import compute_provenance
from simstudy.engine.tasks import TaskFactory
from simstudy.measures import empirical_se, mean
from simstudy.provenance.streams import Streams
from simstudy.store.block_files import BlockRange, write_blocks
from simstudy.store.compaction import compact
from simstudy.store.files import Folder
from simstudy.study import Study
from tests.support import assert_within_mcse

INLINE = {"backend": "inline", "n_jobs": 1}


@dataclass(frozen=True)
class Tiny:
    """A kernel that costs next to nothing."""

    shift: float

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        return {"x": self.shift + streams("data").standard_normal(n_rep)}


def tiny(n_scenarios: int, block_size: int) -> Study:
    return Study(
        name="tiny",
        scenarios=grid(Tiny, shift=np.arange(n_scenarios).tolist()),
        measures=[mean("x"), empirical_se("x")],
        block_size=block_size,
    )


# ---------------------------------------------------------------- per block
@pytest.mark.parametrize(
    "backend", ["inline", "threads", "loky", pytest.param("dask", marks=pytest.mark.slow)]
)
def test_overhead_per_block(backend, benchmark, tmp_path):
    study, n_blocks = tiny(4, 100), 800
    plan = study.plan(1)
    workers = {"backend": backend, "n_jobs": 2}
    study.run(800, **workers)  # starts the workers

    def directly():
        for scenario in plan.scenarios:
            for block in range(n_blocks // 4):
                scenario.simulate(plan.streams(scenario, block), plan.block_size)

    def through_the_engine():
        study.run(100 * n_blocks // 4, **workers)

    def a_file_each():
        """What a script does that is not to lose anything."""
        table = pa.table(plan.scenarios[0].simulate(plan.streams(plan.scenarios[0], 0), 100))
        for block in range(n_blocks):
            with (tmp_path / f"{block}.parquet").open("wb") as file:
                pq.write_table(table, file)

    benchmark.pedantic(through_the_engine, rounds=1)
    own, whole, plain = least([directly, through_the_engine, a_file_each], 2)
    benchmark.extra_info["ms_per_block"] = (whole - own) / n_blocks * 1e3
    benchmark.extra_info["ratio"] = (whole - own) / plain
    assert whole - own < 12 * plain


@dataclass(frozen=True)
class Waits:
    """Blocks of 50 ms that take nothing from other work on the machine."""

    shift: float

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        sleep(0.05)
        return {"x": self.shift + streams("data").standard_normal(n_rep)}


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["threads", "loky"])
def test_two_workers_do_nearly_twice_as_much(backend):
    """Runs of 20 and 10 seconds, with what is laid out and summarised at their end."""
    study = replace(tiny(8, 1000), scenarios=grid(Waits, shift=np.arange(8.0).tolist()))

    def run(n_workers: int, n_blocks: int) -> float:
        start = perf_counter()
        result = study.run(1000 * n_blocks, backend=backend, n_jobs=n_workers)
        assert len(result.summary) == 16
        return perf_counter() - start

    times = []
    for n_workers in (1, 2):
        run(n_workers, 1)  # starts the workers
        times.append(run(n_workers, 50))
    efficiency = times[0] / times[1] / 2
    print(f"{backend}: {times[0]:.1f} s and {times[1]:.1f} s, efficiency {efficiency:.0%}")
    assert efficiency > 0.9


def test_what_comes_after_drawing_is_little_beside_it(monkeypatch, benchmark):
    """Of the fastest kernel that draws its data: handing out, laying out and summarising.

    Measured by processor time, in hundredths of drawing: two thirds of one for handing out and
    laying out, since workers write final files directly, and 10 to 12 for four measures. Of these,
    two thirds of one are the asking thread's: reading and measuring are spread over the cores.
    Serial is what cannot be spread over cores: all of the first, and what the asking thread does.
    """
    most, most_serial = 0.25, 0.05
    study = raw_two_stage()
    plan, n_each = study.plan(1), 200
    monkeypatch.setattr(estimates, "available_cores", lambda: 2)
    spent: dict[str, float] = {}

    def noted(what, work):
        def timed(*arguments, **settings):
            start, start_here = process_time(), thread_time()
            found = work(*arguments, **settings)
            spent[what] = spent.get(what, 0.0) + process_time() - start
            spent[f"{what}_here"] = spent.get(f"{what}_here", 0.0) + thread_time() - start_here
            return found

        return timed

    def drawing():
        for scenario in plan.scenarios:
            for block in range(n_each):
                scenario.simulate(plan.streams(scenario, block), plan.block_size)

    def whole():
        result = study.run(n_each * plan.block_size, **INLINE)
        noted("summary", lambda: result.summary)()

    drawing()
    monkeypatch.setattr("simstudy.study.run.compact", noted("engine", compact))
    monkeypatch.setattr(TaskFactory, "task", noted("engine", TaskFactory.task))
    whole()
    spent.clear()
    benchmark.pedantic(whole, rounds=1)
    start = process_time()
    drawing()
    alone = process_time() - start
    after, serial = spent["engine"] + spent["summary"], spent["engine"] + spent["summary_here"]
    benchmark.extra_info |= {f"{what}_ratio": seconds / alone for what, seconds in spent.items()}
    benchmark.extra_info["serial_ratio"] = serial / alone
    assert after / alone < most
    assert serial / alone < most_serial


def raw_two_stage() -> Study:
    """The fastest kernel that draws its data, in four scenarios."""
    return two_stage.study(two_stage.Config(k=[0.0, 1.0], n2=[100, 400], draws="raw"))


@pytest.mark.slow
def test_two_workers_of_the_fastest_kernel_are_worth_nearly_two():
    """Runs of some twenty and ten seconds, laid out and summarised; for a machine that is quiet.

    Each is held to as many cores as it has workers, and is the best of two, taken in turn.
    """
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        pytest.skip("two workers need two cores")
    code = (
        "import os, sys, time; from joblib.externals.loky import get_reusable_executor\n"
        "from benchmarks.test_engine import raw_two_stage\n"
        "from simstudy.engine.workers import Workers\n"
        "n = int(sys.argv[1]); run = raw_two_stage().run\n"
        "run(2000, backend='loky', n_jobs=n)\n"  # starts and compiles
        "start = time.perf_counter()\n"
        "result = run(4_000_000, backend='loky', n_jobs=n); len(result.summary)\n"
        "wall = time.perf_counter() - start\n"
        "get_reusable_executor().shutdown(wait=True)\n"
        "print(wall, sum(os.times()[:4]))"
    )
    times: dict[int, list[list[float]]] = {1: [], 2: []}
    try:
        for n_workers in (1, 2, 2, 1):
            os.sched_setaffinity(0, cores[:n_workers])
            times[n_workers].append([*map(float, python("-c", code, str(n_workers)).split())])
    finally:
        os.sched_setaffinity(0, cores)
    (one, cpu), (two, cpu_of_two) = min(times[1]), min(times[2])
    print(f"{one:.1f} s and {two:.1f} s, efficiency {one / two / 2:.0%}")
    print(f"with what starting takes, processor time of {cpu:.1f} s and {cpu_of_two:.1f} s")
    assert one / two / 2 > 0.9


class Clock(Silent):
    """When each task was done."""

    def __init__(self) -> None:
        self.times = [perf_counter()]

    def advance(self, n_rep: int) -> None:
        self.times.append(perf_counter())

    @property
    def each(self) -> np.ndarray:
        return np.diff(self.times)


def test_the_last_block_costs_what_the_first_did(monkeypatch, tmp_path, benchmark):
    """3000 files of one block, gathered on the way; what that costs is spread evenly too.

    Without waiting for the disk, whose time is its own.
    """
    monkeypatch.setattr(tasks, "TASK_SECONDS", 0.0)
    monkeypatch.setattr(tasks, "PART_OF_RUN", 0.0)
    monkeypatch.setattr(os, "fsync", lambda _: None)
    clock = Clock()
    run = partial(tiny(10, 20).run, 300 * 20, out=tmp_path, **INLINE, progress=clock)
    benchmark.pedantic(run, rounds=1)
    assert len(clock.each) == 3000
    first, last = np.median(clock.each[:100]), np.median(clock.each[-100:])
    assert last / first < 2
    halves = clock.each.reshape(2, 1500).sum(axis=1)
    assert halves[1] / halves[0] < 2


# ---------------------------------------------------------------- resuming
N_FINISHED = 100_000
SCENARIOS = 10


def finished(folder: Path, n_files: int) -> Study:
    """A study of 100,000 blocks of one replicate, in so many files, breadth first as runs do."""
    study = tiny(SCENARIOS, 1)
    plan = study.plan(1)
    owner = compute_provenance(plan).of_blocks
    keys = np.array(list(plan.keys))
    place, block = np.arange(N_FINISHED) % SCENARIOS, np.arange(N_FINISHED) // SCENARIOS
    for part in np.array_split(np.arange(N_FINISHED), n_files):
        ranges = [
            BlockRange(keys[i], int(b), 1) for i, b in zip(place[part], block[part], strict=True)
        ]
        rows = {"scenario": keys[place[part]], "rep": block[part], "x": place[part] + 0.5}
        write_blocks(
            Folder(folder / "tiny" / "replicates"), ranges, pa.table(rows), provenance=owner
        )
    return study


def seeded() -> None:
    """A generator for each block, and a number from it: the least that drawing them would cost."""
    for block in range(N_FINISHED):
        np.random.Generator(np.random.Philox(key=block)).standard_normal()


@pytest.mark.parametrize("n_files", [1, 400])
def test_resuming_a_finished_study(n_files, benchmark, tmp_path):
    """Loose files are gathered on the way, which the next time finds done.

    Measured 1.5 to 2.4 times what seeding the generators of 100,000 blocks costs.
    """
    (tmp_path / "tiny" / "replicates").mkdir(parents=True)
    study = finished(tmp_path, n_files)
    resume = partial(study.run, N_FINISHED // SCENARIOS, out=tmp_path, **INLINE)
    result = benchmark.pedantic(resume, rounds=1)
    assert result.outcome.n_blocks == 0
    assert len(result.details.store.referenced_files) == 1
    benchmark.extra_info["ratio"] = ratio = benchmark.stats.stats.max / least([seeded], 3)[0]
    assert ratio < 6
    np.testing.assert_array_equal(result.summary.query("measure == 'mean_x'")["estimate"],
                                  np.arange(SCENARIOS) + 0.5)  # fmt: skip


# ---------------------------------------------------------------- summarising
ROWS = 1_000_000


def written_rows(folder: Path, n_rows: int, n_scenarios: int = 100) -> Study:
    """Replicates as a finished run leaves them, without the time to draw them in blocks."""
    study = tiny(n_scenarios, 1000)
    plan = study.plan(1)
    (folder / "tiny" / "replicates").mkdir(parents=True)
    owner = compute_provenance(plan).of_blocks
    each = n_rows // n_scenarios
    for some in np.array_split(np.arange(n_scenarios), 10):
        keys = [list(plan.keys)[i] for i in some]
        x = np.random.default_rng(int(some[0])).standard_normal(each * len(some))
        rows = {
            "scenario": np.repeat(keys, each),
            "rep": np.tile(np.arange(each), len(some)),
            "x": x,
        }
        ranges = [BlockRange(key, 0, each // 1000) for key in keys]
        write_blocks(
            Folder(folder / "tiny" / "replicates"), ranges, pa.table(rows), provenance=owner
        )
    study.run(each, out=folder, **INLINE)
    return study


def plain_summary(path: Path) -> pd.DataFrame:
    """Mean and its standard error, spread and its usual error, as a script would take them.

    Parameters
    ----------
    path
        Of a folder of files.
    """
    rows = pd.read_parquet(path, columns=["scenario", "x"]).groupby("scenario")["x"]
    n, sd = rows.size(), rows.std()
    return pd.DataFrame({"mean": rows.mean(), "mcse": sd / np.sqrt(n), "sd": sd})


def test_a_summary_costs_little_more_than_a_plain_groupby(benchmark, tmp_path):
    study = written_rows(tmp_path, ROWS)
    path = tmp_path / "tiny" / "replicates"

    def summary():
        return study.run(ROWS // 100, out=tmp_path, **INLINE).summary

    found = benchmark.pedantic(summary, rounds=1)
    ours, plain = least([summary, partial(plain_summary, path)], 3)
    benchmark.extra_info["ratio"] = ours / plain
    expected = plain_summary(path).loc[list(study.plan(1).keys)]
    rows = found.query("measure == 'mean_x'")
    np.testing.assert_allclose(rows["estimate"], expected["mean"], rtol=0, atol=1e-14)
    np.testing.assert_allclose(rows["mcse"], expected["mcse"], rtol=1e-12)
    assert ours / plain < 6


SUMMARISE = """
import resource, sys, time
from pathlib import Path
from benchmarks.test_engine import INLINE, tiny
start = time.perf_counter()
rows = tiny(100, 1000).run({each}, out=sys.argv[1], **INLINE).summary
seconds = time.perf_counter() - start
print(len(rows), seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)
"""


@pytest.mark.slow
def test_ten_million_replicates_in_one_gigabyte(tmp_path):
    n_rows = 10_000_000
    written_rows(tmp_path, n_rows)
    code = SUMMARISE.format(each=n_rows // 100)
    n, time_taken, gigabytes = map(float, python("-c", code, str(tmp_path)).split())
    print(f"10 million replicates: {time_taken:.2f} s, {gigabytes:.2f} GB")
    assert n == 200
    assert gigabytes < 1


# ---------------------------------------------------------------- starting
def test_finding_nothing_to_do_costs_little_more_than_imports(benchmark, tmp_path):
    arguments = [
        str(ROOT / "run.py"), "experiment=two_stage", "n_rep=100", "figures=false",
        "report=false", f"out={tmp_path}", "experiment.k=[0,1]", "experiment.n2=[50,100]",
    ]  # fmt: skip
    python(*arguments)
    assert "nothing to do" in python(*arguments)
    start = partial(python, *arguments)
    imports_alone = partial(python, "-c", "import numpy, pandas, pyarrow, hydra")
    ours, imports = benchmark.pedantic(least, args=([start, imports_alone], 3), rounds=1)
    benchmark.extra_info["ratio"] = ours / imports
    assert ours / imports <= 3


# ---------------------------------------------------------------- a whole study against its script
MEAN, VARIANCE, N1, ALPHA = 3, 2, 100, 0.05
N_SIM = 5000  # the document's
K, N2 = (0.0, 1.0, 2.0), (150, 400, 650, 900)  # a tenth of its grid, with the same mean n2


class ConditionalLaw:
    """The document's distribution: a bivariate normal probability over that of the condition."""

    def __init__(self, k, n1, n2, null):
        self.k, self.r, self.s = k, np.sqrt(n2 / n1), -1 if null else 1

    def cdf(self, x):
        w = (x + self.r * self.k) / np.sqrt(1 + self.r**2)
        rho = self.s * self.r / np.sqrt(1 + self.r**2)
        law = multivariate_normal(mean=[0, 0], cov=[[1, rho], [rho, 1]])
        return law.cdf([self.s * self.k, w]) / norm.cdf(self.s * self.k)

    def quantile(self, p):
        return minimize_scalar(lambda x: (self.cdf(x) - p) ** 2, method="brent").x


def by_the_script() -> pd.DataFrame:
    """Power and type-I error as the document computes them, scenario after scenario."""
    np.random.seed(1234)  # noqa: NPY002
    randn = np.random.randn
    rows = []
    for k in K:
        for n2 in N2:
            limit = ConditionalLaw(k, N1, n2, null=True).quantile(ALPHA)
            theory = ConditionalLaw(k, N1, n2, null=False).cdf(limit)
            x1 = MEAN + np.sqrt(VARIANCE) * randn(N1, N_SIM)
            x2 = MEAN + np.sqrt(VARIANCE) * randn(n2, N_SIM)
            mean1, mean2 = x1.mean(0), x2.mean(0)
            bound = mean1 + k * np.sqrt(VARIANCE / N1)
            s2 = (mean2 - bound) / np.sqrt(VARIANCE / n2)
            power = np.mean(s2[bound > MEAN] < limit)
            type_1 = np.mean(s2[bound < MEAN] < limit)
            rows.append({"k": k, "n2": n2, "exact": theory, "power": power, "type_1": type_1})
    return pd.DataFrame(rows)


def by_the_study(draws: str) -> pd.DataFrame:
    config = two_stage.Config(k=list(K), n1=[N1], n2=list(N2), alpha=[ALPHA], draws=draws)
    return two_stage.study(config).run(N_SIM, **INLINE).summary


def by_the_kernel(draws: str) -> None:
    """The same replicates from `simulate` alone, as the engine asks for them."""
    config = two_stage.Config(k=list(K), n1=[N1], n2=list(N2), alpha=[ALPHA], draws=draws)
    plan = two_stage.study(config).plan(1)
    for scenario in plan.scenarios:
        for block in range(N_SIM // 1000):
            scenario.simulate(plan.streams(scenario, block), 1000)


def test_the_two_answer_the_same_question():
    script, study = by_the_script(), by_the_study("raw").query("measure == 'power'")
    np.testing.assert_allclose(script["exact"], study["exact"], atol=1e-6)
    n_false = N_SIM * norm.cdf(script["k"].to_numpy())  # expected, with a false null
    mcse = np.sqrt(2 * study["exact"] * (1 - study["exact"]) / n_false)
    assert_within_mcse(script["power"], study["estimate"], mcse)


def test_raw_draws_against_the_script(benchmark):
    """Measured 4.9 for the kernel, 2.9 with blocks stored and summarised, on part of the grid."""
    by_the_study("raw")
    calls = [by_the_script, partial(by_the_kernel, "raw"), partial(by_the_study, "raw")]
    script, kernel, study = benchmark.pedantic(least, args=(calls, 3), rounds=1)
    benchmark.extra_info |= {"kernel_ratio": script / kernel, "study_ratio": script / study}
    assert script / kernel >= 3
    assert script / study >= 1.7


def test_sufficient_statistics_against_the_script(benchmark):
    """Measured: 200 to 210."""
    calls = ["by_the_script", "lambda: by_the_kernel('sufficient')"]
    script, kernel = least_alone(benchmark, __name__, calls, rounds=3)
    benchmark.extra_info["ratio"] = script / kernel
    assert script / kernel >= 120


@pytest.mark.parametrize("n2", [50, 400, 1000])
def test_the_kernel_costs_little_more_than_its_normals(n2, benchmark):
    scenario = TwoStage(k=1.0, n1=N1, n2=n2)
    plan = two_stage.study(two_stage.Config(k=[1.0], n2=[n2])).plan(1)
    rng = np.random.default_rng(1)

    def kernel():
        scenario.simulate(plan.streams(scenario, 0), 1000)

    kernel()
    benchmark.pedantic(kernel, rounds=5)
    ours, numpy = least([kernel, lambda: rng.standard_normal((1000, N1 + n2))], 15)
    benchmark.extra_info["ratio"] = ours / numpy
    assert ours / numpy <= 1.3
