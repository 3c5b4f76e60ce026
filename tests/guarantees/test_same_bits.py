"""The same bits, whoever computes them, in what order, and in how many goes."""

import json
import os
import platform
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from experiments.bootstrap_se import BootstrapSe
from experiments.two_stage import study as two_stage
from simstudy.analysis.result import Result
from simstudy.design import scenario_key
from simstudy.documents.scenarios.regression import RegressionTrial
from simstudy.documents.scenarios.two_stage import TwoStage
from simstudy.engine import tasks
from simstudy.engine.loop import Loop
from simstudy.engine.progress import Silent
from simstudy.engine.provenance import compute_provenance
from simstudy.engine.tasks import missing_blocks
from simstudy.engine.workers import Workers
from simstudy.provenance.streams import Streams
from simstudy.store.block_files import GENERATION_KEY, PROVENANCE_KEY, RANGES_KEY, WIDTH_KEY
from simstudy.store.blocks import Store
from simstudy.study import Study
from tests import factories
from tests.factories import INTERVALS, mean_study
from tests.guarantees.content import assert_same_result, content, file_names
from tests.support import on

ROOT = Path(__file__).parents[2]
SIZES = {"toy": 220, "two_stage": 2500}  # neither is a whole number of blocks
QUICK = [on("threads", 4), on("loky", 2)]
WORKERS = QUICK + [
    pytest.param(one, marks=pytest.mark.slow)
    for one in (
        on("threads", 1), on("threads", 2), on("loky", 1), on("loky", 4),
        on("auto", 2), on("inline", 4),
    )
]  # fmt: skip


def make_study(name: str) -> Study:
    if name == "toy":
        return mean_study()
    return two_stage.study(two_stage.Config(k=[0, 1.5], n2=[50, 400]))


def run(name: str, out: Path, **settings):
    settings = on("inline", 1) | settings
    return make_study(name).run(SIZES[name], seed=3, out=out, **settings)


@pytest.fixture(scope="module", params=["toy", pytest.param("two_stage", marks=pytest.mark.slow)])
def name(request):
    return request.param


@pytest.fixture(scope="module")
def reference(name, tmp_path_factory):
    return run(name, tmp_path_factory.mktemp("reference"))


@pytest.mark.parametrize("workers", WORKERS, ids=lambda one: f"{one['backend']}-{one['n_jobs']}")
def test_workers_move_no_bit(name, reference, workers, tmp_path):
    assert_same_result(run(name, tmp_path, **workers), reference)


def test_those_comparisons_notice_another_seed(name, reference, tmp_path):
    other = make_study(name).run(SIZES[name], seed=4, out=tmp_path, backend="inline")
    assert content(other).keys() == content(reference).keys()
    assert content(other) != content(reference)


def test_any_order_of_blocks(name, reference, tmp_path):
    plan = make_study(name).plan(3)
    store = Store(tmp_path, plan.block_size, compute_provenance(plan).of_blocks)
    wanted = dict.fromkeys(plan.keys, plan.n_blocks(SIZES[name]))
    jobs = list(missing_blocks(plan, wanted, store))
    shuffled = [jobs[i] for i in np.random.default_rng(5).permutation(len(jobs))]
    Loop(plan, store, Workers("inline", 1), Silent()).draw_blocks(shuffled)
    rows = replace(reference.details.replicates, store=store)
    assert content(Result(replace(reference.details, replicates=rows))) == content(reference)


class Stop(Silent):
    """Ends the run, as Ctrl-C does, when a number of tasks is done."""

    def __init__(self, after: int) -> None:
        self.left = after

    def advance(self, n_rep: int) -> None:
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1


@pytest.mark.parametrize(
    "after", [2, *(pytest.param(n, marks=pytest.mark.slow) for n in (0, 1, 3, 4))]
)
def test_interrupted_anywhere_and_resumed(name, reference, after, tmp_path, monkeypatch):
    monkeypatch.setattr(tasks.TaskSizes, "n_blocks", lambda *_: 1)
    with pytest.raises(KeyboardInterrupt):
        run(name, tmp_path, progress=Stop(after))
    n_whole = sum(make_study(name).plan(3).n_blocks(SIZES[name]) for _ in reference.plan.keys)
    resumed = run(name, tmp_path)
    assert 0 < resumed.outcome.n_blocks < n_whole
    assert_same_result(resumed, reference)


@pytest.mark.parametrize("backend", ["threads", "loky"])
@pytest.mark.filterwarnings("ignore:.*tasks which were still being processed:UserWarning")
@pytest.mark.slow
def test_interrupted_again_and_again_with_workers(backend, tmp_path):
    workers = on(backend, 2)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            run("toy", tmp_path / "often", **workers, progress=Stop(1))
    resumed = run("toy", tmp_path / "often", **workers)
    assert_same_result(resumed, run("toy", tmp_path / "never"))


def test_shards_in_one_folder(name, reference, tmp_path):
    parts = [run(name, tmp_path, shard=(i, 3)).outcome.n_blocks for i in (3, 1, 2)]
    joined = run(name, tmp_path)
    assert min(parts) > 0
    assert joined.outcome.n_blocks == 0
    assert_same_result(joined, reference)


def test_shards_in_folders_of_their_own(name, reference, tmp_path):
    """As on machines without a common disk: the files are copied together."""
    for i in (1, 2, 3):
        part = run(name, tmp_path / str(i), shard=(i, 3))
        shutil.copytree(part.folder, tmp_path / "all" / part.plan.name, dirs_exist_ok=True)
    joined = run(name, tmp_path / "all")
    assert joined.outcome.n_blocks == 0
    assert_same_result(joined, reference)


def toy_run(out: Path, n_obs, n_rep: int = 220):
    return mean_study(n_obs).run(n_rep, seed=3, out=out, backend="inline", n_jobs=1)


def assert_same_where_both(one, other):
    first, second = content(one), content(other)
    common = first.keys() & second.keys()
    assert common
    assert {key: first[key] for key in common} == {key: second[key] for key in common}


def test_scenarios_added(tmp_path):
    few = toy_run(tmp_path / "few", (3, 10))
    more = toy_run(tmp_path / "few", (2, 3, 7, 10))
    assert more.outcome.n_blocks == 2 * few.plan.n_blocks(220)
    assert_same_where_both(few, more)
    assert_same_result(more, toy_run(tmp_path / "fresh", (2, 3, 7, 10)))


def test_scenarios_removed(tmp_path):
    many = toy_run(tmp_path, (3, 10, 30))
    assert_same_where_both(toy_run(tmp_path / "fresh", (10,)), many)
    assert toy_run(tmp_path, (10,)).outcome.n_blocks == 0


def test_scenarios_reordered(tmp_path):
    there, back = (toy_run(tmp_path / name, n) for name, n in (("a", (3, 10)), ("b", (10, 3))))
    assert content(there) == content(back)


def test_a_factor_with_a_default_is_added(tmp_path):
    @dataclass(frozen=True)
    class Mean(factories.Mean):
        color: str = "green"

    study = replace(mean_study((3,)), scenarios=[Mean(3)])
    new = study.run(220, seed=3, backend="inline", n_jobs=1)
    assert content(new) == content(toy_run(tmp_path, (3,)))


def test_methods_added(tmp_path):
    @dataclass(frozen=True)
    class Mean(factories.Mean):
        def simulate(self, streams, n_rep):
            noise = streams("bootstrap").standard_normal((n_rep, 1))
            columns = dict(super().simulate(streams, n_rep))
            widened = {
                name: np.hstack([columns[name], noise]) for name in ("estimate", "lower", "upper")
            }
            return columns | widened

    axes = {"method": (*INTERVALS, "noise")}
    study = replace(mean_study((3, 10)), scenarios=[Mean(3), Mean(10)], axes=axes)
    three, two = study.run(220, seed=3), toy_run(tmp_path, (3, 10))
    for scenario in two.plan.scenarios:
        names = ("estimate", "lower", "upper")
        more = three.columns(scenario, *names)
        for name, column in two.columns(scenario, *names).items():
            assert more[name].shape == (220, 3)
            np.testing.assert_array_equal(more[name][:, :2], column)


def test_replicates_added(tmp_path):
    short = toy_run(tmp_path / "a", (3, 10), n_rep=70)
    long = toy_run(tmp_path / "a", (3, 10), n_rep=220)
    assert long.outcome.n_blocks == 2 * (5 - 2)
    assert_same_result(long, toy_run(tmp_path / "b", (3, 10), n_rep=220))
    assert content(long, 70) == content(toy_run(tmp_path / "c", (3, 10), n_rep=70))
    head = long.replicates.query("rep < 70").reset_index(drop=True)
    pd.testing.assert_frame_equal(head, short.replicates, check_exact=True)
    again = toy_run(tmp_path / "a", (3, 10), n_rep=70)
    pd.testing.assert_frame_equal(again.summary, short.summary, check_exact=True)


def test_files_know_no_clock_and_no_machine(name, tmp_path, monkeypatch):
    monkeypatch.setattr(tasks.TaskSizes, "n_blocks", lambda *_: 1)
    here = run(name, tmp_path / "here")
    later = time.time() + 1e9
    monkeypatch.setattr(time, "time", lambda: later)
    monkeypatch.setattr(platform, "node", lambda: "elsewhere")
    monkeypatch.setenv("USER", "somebody")
    elsewhere = run(name, tmp_path / "elsewhere")
    assert file_names(elsewhere.details.store.files.path) == file_names(
        here.details.store.files.path
    )


def test_files_carry_only_what_they_hold(reference):
    path = max(reference.details.store.files.path.glob("*.parquet"))
    metadata = pq.read_metadata(path)
    keys = {RANGES_KEY, PROVENANCE_KEY, GENERATION_KEY, WIDTH_KEY, b"ARROW:schema"}
    assert set(metadata.metadata) == keys
    keys = pq.read_table(path).column("scenario").unique().to_pylist()
    assert set(keys) <= {scenario_key(one) for one in reference.plan.scenarios}
    provenance = compute_provenance(reference.plan).of_blocks
    assert metadata.metadata[PROVENANCE_KEY].decode() == provenance.to_json(keys)
    assert metadata.created_by.startswith("parquet-cpp-arrow version")


OTHER_PROCESSOR = """
import json
from tests.guarantees.test_same_bits import numbers_of_blocks
print(json.dumps(numbers_of_blocks()))
"""


def numbers_of_blocks() -> dict[str, list[float]]:
    blocks = [
        TwoStage(k=1.0, n1=100, n2=50),
        TwoStage(k=1.0, n1=100, n2=50, draws="sufficient"),
        RegressionTrial(n_boot=100),
        RegressionTrial(n_boot=100, n_inner=10.0),
        BootstrapSe(n_boot=100.0),
    ]
    return {
        f"{one} {name}": np.ravel(column).astype(float).tolist()
        for one in blocks
        for name, column in one.simulate(Streams(1, "bits", "scenario", 0), 100).items()
    }


def numbers_without_wide_registers(folder: Path) -> dict[str, list[float]]:
    """The same from compiled code, NumPy and BLAS as they are on the oldest of processors."""
    from numpy._core._multiarray_umath import __cpu_dispatch__

    plain = {
        "NUMBA_CPU_NAME": "generic",
        "NUMBA_CPU_FEATURES": "",
        "NUMBA_CACHE_DIR": str(folder),
        "NPY_DISABLE_CPU_FEATURES": " ".join(__cpu_dispatch__),
        "OPENBLAS_CORETYPE": "Nehalem",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F",
    }
    done = subprocess.run(
        [sys.executable, "-c", OTHER_PROCESSOR],
        env=os.environ | plain, cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="names are of x86")
@pytest.mark.slow
def test_another_processor_moves_no_number_by_more_than_last_bits(tmp_path):
    here, there = numbers_of_blocks(), numbers_without_wide_registers(tmp_path)
    assert here.keys() == there.keys()
    for name in here:
        np.testing.assert_allclose(there[name], here[name], rtol=1e-9, atol=1e-12, err_msg=name)
