"""What methods cost: one more of them beside those that are stored, and a block of four.

Ratios are between things timed in turn in the same run: no limit is in seconds, which are the
machine's.
"""

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.timing import least
from simstudy.design import grid
from simstudy.engine.methods import each_replicate
from simstudy.measures import mean
from simstudy.provenance.streams import Streams
from simstudy.study import Study

INLINE: dict[str, Any] = {"backend": "inline", "n_jobs": 1}
SIZE = 100  # replicates in a block
SLOW = 1e-3  # seconds per replicate


@dataclass(frozen=True)
class Sample:
    """Data that cost next to nothing."""

    shift: float

    def draw(self, streams: Streams, n_rep: int) -> dict[str, Any]:
        return {"x": self.shift + streams("data").standard_normal((n_rep, 10))}


def slow(x: np.ndarray) -> dict[str, float]:
    """Waits, so that no busy machine can make it slower."""
    time.sleep(SLOW)
    return {"estimate": float(x.mean())}


def quick(x: np.ndarray, power: float) -> dict[str, np.ndarray]:
    return {"estimate": (np.abs(x) ** power).mean(axis=1)}


QUICK = {f"power {power}": partial(quick, power=power) for power in (1, 2, 3, 4)}


def study(n_scenarios: int = 4, **methods: Any) -> Study:
    return Study(
        name="methods",
        scenarios=grid(Sample, shift=np.arange(n_scenarios).tolist()),
        measures=[mean("estimate")],
        methods=methods,
        block_size=SIZE,
    )


def test_a_method_added_costs_what_it_costs_alone(benchmark, tmp_path):
    """Into folders of their own, of which the first hold the other methods already."""
    n_rep = 10 * SIZE  # in each of four scenarios: 4 s in all
    added = {"slow": each_replicate(slow)}
    folders = [tmp_path / str(i) for i in range(6)]
    for folder in folders[:3]:
        study(**QUICK).run(n_rep, out=folder, **INLINE)

    def run(methods: dict[str, Any], unused: Iterator[Path]) -> None:
        outcome = study(**methods).run(n_rep, out=next(unused), **INLINE).outcome
        assert outcome.n_blocks == 4 * n_rep / SIZE

    beside = partial(run, QUICK | added, iter(folders[:3]))
    alone = partial(run, added, iter(folders[3:]))
    benchmark.pedantic(beside, rounds=1)
    alone()
    spent, own = least([beside, alone], 2)
    benchmark.extra_info["ratio"] = spent / own
    assert spent < 1.05 * own


def test_a_block_of_four_methods_costs_little_beside_them(benchmark, tmp_path):
    whole_study, n_rep = study(**QUICK), 100 * SIZE
    plan = whole_study.plan(1)
    blocks = list(itertools.product(plan.scenarios, range(n_rep // SIZE)))

    def directly() -> None:
        for scenario, block in blocks:
            data = scenario.draw(plan.streams(scenario, block), SIZE)
            for method in QUICK.values():
                method(data["x"])

    def through_the_engine() -> None:
        whole_study.run(n_rep, **INLINE)

    def a_file_each() -> None:
        """What a script does that is not to lose anything: a file for each block."""
        table = pa.table({name: np.zeros(SIZE) for name in QUICK})
        for at in range(len(blocks)):
            with (tmp_path / f"{at}.parquet").open("wb") as file:
                pq.write_table(table, file)

    benchmark.pedantic(through_the_engine, rounds=1)
    own, whole, plain = least([directly, through_the_engine, a_file_each], 2)
    benchmark.extra_info["ms_per_block"] = (whole - own) / len(blocks) * 1e3
    benchmark.extra_info["ratio"] = (whole - own) / plain
    assert whole - own < 12 * plain
