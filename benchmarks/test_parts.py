"""What vectors, many cells and many scenarios cost, beside plain scripts on the same arrays.

Ratios are between things timed in turn in the same run, in a process of their own: no limit is in
seconds, which are the machine's. What was measured stands in `extra_info`.
"""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.timing import least_alone, python
from simstudy.analysis.result import Result
from simstudy.design import Columns, grid
from simstudy.measures import empirical_se, mean, rejection_rate
from simstudy.provenance.streams import Streams
from simstudy.study import Rules, Study

INLINE: dict[str, Any] = {"backend": "inline", "n_jobs": 1}


def summary_of(result: Result) -> Any:
    """Made again, and not remembered."""
    result._frames.clear()
    return result.summary


# ---------------------------------------------------------------- a vector
N_VALUES, N_VECTORS, IN_BLOCK = 168, 10_000, 1000
DRAWN = np.random.default_rng(1).random((IN_BLOCK, N_VALUES))


@dataclass(frozen=True)
class PValues:
    """A p-value for each of so many points, which are there already: drawing costs nothing."""

    n_test: int = N_VALUES

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        return {"p": DRAWN}


def stored_vectors() -> np.ndarray:
    """13 MB in ten blocks, written whole, synced, gathered into one file and read."""
    study = Study("vectors", [PValues()], rules=Rules(vectors={"p": "n_test"}), block_size=IN_BLOCK)
    return study.run(N_VECTORS, **INLINE).columns(PValues(), "p")["p"]


def saved_vectors() -> np.ndarray:
    """The same array by NumPy, into the memory that the system keeps of files."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "p.npy"
        np.save(path, np.tile(DRAWN, (N_VECTORS // IN_BLOCK, 1)))
        read: np.ndarray = np.load(path)
    return read


def test_vectors_come_back_as_they_were():
    np.testing.assert_array_equal(stored_vectors(), saved_vectors())


def test_a_vector_is_stored_and_read(benchmark):
    """Measured 20 to 37 times: Parquet, written twice, hashes, and waiting for the disk."""
    ours, plain = least_alone(benchmark, __name__, ["stored_vectors", "saved_vectors"], rounds=5)
    benchmark.extra_info |= {"ratio": ours / plain, "seconds": ours}
    assert ours / plain < 80


# ---------------------------------------------------------------- many cells
N_SCENARIOS, N_REP, SIDE = 20, 1000, 20
AXES = {axis: [f"{axis} {i}" for i in range(SIDE)] for axis in ("method", "metric")}


@dataclass(frozen=True)
class Wide:
    """Two columns of numbers and one of truth values, of 400 cells each."""

    shift: int

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        rng, shape = streams("data"), (n_rep, SIDE, SIDE)
        x, y = rng.random(shape), rng.random(shape)
        return {"x": x, "y": y, "r": x < 0.05}


def wide() -> Study:
    return Study(
        "wide",
        grid(Wide, shift=range(N_SCENARIOS)),
        axes=AXES,
        measures=[mean("x"), empirical_se("y"), rejection_rate("r")],
        block_size=N_REP,
    )


def wide_run() -> Result:
    return wide().run(N_REP, **INLINE)


def wide_blocks() -> list[Columns]:
    """136 MB."""
    plan = wide().plan(1)
    return [each.simulate(plan.streams(each, 0), N_REP) for each in plan.scenarios]


def drawn_written_and_read() -> list[pa.Table]:
    """Each scenario's arrays in a file of its own, as a script would keep them."""
    with tempfile.TemporaryDirectory() as folder:
        for at, block in enumerate(wide_blocks()):
            table = pa.table({name: as_lists(column) for name, column in block.items()})
            pq.write_table(table, f"{folder}/{at}.parquet")
        return [pq.read_table(f"{folder}/{at}.parquet") for at in range(N_SCENARIOS)]


def as_lists(column: Any) -> pa.Array:
    return pa.FixedSizeListArray.from_arrays(pa.array(column.reshape(-1)), SIDE * SIDE)


def plain_summary(blocks: list[Any]) -> np.ndarray:
    """Means and spreads over replicates, of arrays in memory: `(scenario, measure, cell)`."""
    rows = [[b["x"].mean(axis=0), b["y"].std(axis=0, ddof=1), b["r"].mean(axis=0)] for b in blocks]
    return np.reshape(rows, (N_SCENARIOS, 3, SIDE * SIDE))


def of_stored() -> Callable[[], Any]:
    return partial(summary_of, wide_run())


def of_arrays() -> Callable[[], Any]:
    return partial(plain_summary, wide_blocks())


def test_the_two_summaries_of_many_cells_are_the_same():
    found = of_stored()()
    order = [found["measure"].unique().tolist().index(name) for name in found["measure"]]
    estimates = found.assign(order=order).sort_values(["shift", "order"], kind="stable")["estimate"]
    np.testing.assert_allclose(estimates, of_arrays()().ravel(), rtol=1e-12)


def test_many_cells_cost_what_writing_them_costs(benchmark):
    """Measured 1.0 to 1.7 for the run; 26 to 37 for the summary, read from files, with errors."""
    calls = ["wide_run", "drawn_written_and_read", "of_stored()", "of_arrays()"]
    run, files, summary, plain = least_alone(benchmark, __name__, calls, rounds=2)
    ratios = {"run_ratio": run / files, "summary_ratio": summary / plain}
    benchmark.extra_info |= {"run_seconds": run, "summary_seconds": summary, **ratios}
    assert run / files < 4
    assert summary / plain < 90


MEMORY = f"""
from pathlib import Path
from {__name__} import wide_run
print(len(wide_run().summary), Path("/proc/self/status").read_text())
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="asks Linux for its memory")
def test_many_cells_need_little_memory(benchmark):
    """Less than three times the 136 MB that they are as arrays, the libraries included.

    By the mark of the program itself: what `getrusage` says of a process begins with the memory of
    the one that started it.
    """
    n_rows, *words = benchmark.pedantic(python, args=("-c", MEMORY), rounds=1).split()
    gigabytes = int(words[words.index("VmHWM:") + 1]) / 1e6
    benchmark.extra_info["gigabytes"] = gigabytes
    assert int(n_rows) == N_SCENARIOS * SIDE * SIDE * 3
    assert gigabytes < 0.4


# ---------------------------------------------------------------- many scenarios
@dataclass(frozen=True)
class Tiny:
    """A kernel that costs next to nothing."""

    shift: float

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        return {"x": self.shift + streams("data").standard_normal(n_rep)}


def of_many(n_scenarios: int) -> Callable[[], Any]:
    scenarios = grid(Tiny, shift=np.arange(n_scenarios).tolist())
    study = Study("many", scenarios, measures=[mean("x"), empirical_se("x")], block_size=100)
    return partial(summary_of, study.run(100, **INLINE))


def test_summaries_cost_in_proportion_to_scenarios(benchmark):
    """Measured 0.9 to 1.2 times as long for each."""
    sizes = np.array([1000, 5000, 20_000])
    times = least_alone(benchmark, __name__, [f"of_many({n})" for n in sizes], rounds=3)
    each = np.array(times) / sizes
    benchmark.extra_info |= {"seconds": times, "ratio": each[-1] / each[0]}
    assert each[-1] <= 1.5 * each[0]
