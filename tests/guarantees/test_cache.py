"""The store is a cache: what differs stands beside, is drawn, and is found again."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from simstudy import load, publish
from simstudy.cli import main
from tests.cli.projects import inside
from tests.factories import mean_study
from tests.guarantees.content import assert_same_result
from tests.support import INLINE, ROOT

LEVELS = '''
"""Which level?"""
from dataclasses import dataclass
from functools import partial

from scipy import special

from simstudy import Study, grid, option
from simstudy.measures import rejection_rate


@dataclass(frozen=True)
class Normal:
    n: int

    def draw(self, streams, n_rep):
        return {"x": streams("data").normal(0.3, size=(n_rep, self.n))}


def one_sided(x, alpha):
    return {"reject": x.mean(axis=1) * x.shape[1] ** 0.5 > special.ndtri(1 - alpha)}


@dataclass
class Config:
    alpha: float = option("level", default=0.05)


def study(config):
    tests = {"z": partial(one_sided, alpha=config.alpha)}
    return Study("levels", grid(Normal, n=[5, 10]), [rejection_rate("reject")], methods=tests,
                 n_rep=200, block_size=50)
'''


@pytest.fixture
def project(tmp_path):
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "__init__.py").touch()
    (tmp_path / "experiments" / "levels.py").write_text(LEVELS)
    with inside(tmp_path):
        yield tmp_path


def sweep(capsys, values):
    assert main(["-m", "experiment=levels", f"experiment.alpha={values}", "figures=false"]) == 0
    return capsys.readouterr()


def test_a_sweep_over_a_level_draws_each_job_and_shares_the_data(project, capsys):
    told = sweep(capsys, "0.05,0.1")
    assert "changed since" not in told.err, "other options are no other code"
    folder = project / "results" / "levels"
    runs = [load(folder), load(folder / "runs" / "alpha=0.1")]
    strict, lenient = (run.replicates.set_index(["n", "rep"])["reject"] for run in runs)
    assert len(strict) == len(lenient) == 400
    assert (lenient >= strict).all(), "the same data, so that levels can be compared pairwise"
    assert lenient.sum() > strict.sum() > 0


def test_a_sweep_goes_on_in_any_order(project, capsys):
    assert main(["experiment=levels", "experiment.alpha=0.1", "figures=false"]) == 0
    capsys.readouterr()
    told = sweep(capsys, "0.2,0.1,0.05")
    assert told.out.count("nothing to do") == 1
    again = sweep(capsys, "0.05,0.2,0.1")
    assert again.out.count("nothing to do") == 3


SCRIPT = """
import os
import sys
import time
from dataclasses import dataclass

from simstudy import Study
from simstudy.measures import mean

SCALE = float(os.environ["SCALE"])


@dataclass(frozen=True)
class Normal:
    def simulate(self, streams, n_rep):
        time.sleep(0.02)
        return {"x": SCALE * streams("data").normal(1, size=n_rep)}


result = Study("both", [Normal()], [mean("x")], block_size=10).run(
    200, out=sys.argv[1], backend="inline")
print(result.outcome.n_blocks, repr(float(result.summary["estimate"].iloc[0])))
"""


def test_two_runs_of_other_code_at_once_share_a_store(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)

    def start(scale, out):
        return subprocess.Popen(
            [sys.executable, "-W", "ignore", "script.py", out], cwd=tmp_path, text=True,
            stdout=subprocess.PIPE,
            env=os.environ | {"SCALE": str(scale), "PYTHONPATH": str(ROOT)},
        )  # fmt: skip

    def read(process):
        n_blocks, estimate = process.communicate(timeout=120)[0].split()
        return int(n_blocks), float(estimate)

    (n_one, one), (n_two, two) = map(read, [start(1, "out"), start(2, "out")])
    assert (n_one, n_two) == (20, 20)
    assert two == pytest.approx(2 * one, rel=1e-12)
    assert [read(start(scale, "out")) for scale in (1, 2)] == [(0, one), (0, two)]


def test_a_folder_that_is_only_read_is_looked_at(tmp_path, monkeypatch):
    before = publish(mean_study().run(100, out=tmp_path, **INLINE), config={})

    def refuse(*_, **__):
        raise OSError(errno.EROFS, "Read-only file system")

    for name in ("unlink", "mkdir", "write_bytes", "write_text", "rename", "touch"):
        monkeypatch.setattr(Path, name, refuse)
    monkeypatch.setattr("simstudy.atomic_files.atomic_write", refuse)
    monkeypatch.setattr("os.replace", refuse)
    monkeypatch.setattr(
        "simstudy.store.files.Folder.__post_init__", lambda self: None
    )  # a folder that is there may be made
    again = mean_study().run(100, out=tmp_path, **INLINE)
    assert again.outcome.n_blocks == 0
    assert not publish(again, config={}, only_if_changed=True).is_new
    assert before.folder == again.folder


def test_drawing_again_gives_the_same_numbers_and_says_so(tmp_path):
    first = mean_study().run(100, out=tmp_path, **INLINE)
    with pytest.warns(UserWarning, match="redraw: 6 stored blocks .* with the same numbers"):
        again = mean_study().run(100, out=tmp_path, **INLINE, redraw=True)
    assert again.outcome.n_blocks == 6
    assert_same_result(again, first)
    assert np.array_equal(again.replicates["rep"], first.replicates["rep"])
