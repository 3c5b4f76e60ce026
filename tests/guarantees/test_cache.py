"""The store is a cache: what differs stands beside, is drawn, and is found again."""

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from simstudy import load, publish
from simstudy.cli import main
from simstudy.provenance import modules
from simstudy.store.compaction import clean
from simstudy.store.runs import list_runs, read_manifest
from tests.cli.projects import forget_experiments, inside
from tests.cli.projects import write as write_files
from tests.factories import mean_study
from tests.guarantees.content import slow_but
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


def write(project, files):
    write_files(project, files)
    forget_experiments()


def store(project):
    return project / "results" / "levels"


def sweep(capsys, values):
    assert main(["-m", "experiment=levels", f"experiment.alpha={values}", "figures=false"]) == 0
    return capsys.readouterr()


def test_a_sweep_over_a_level_draws_each_job_and_shares_the_data(project, capsys):
    told = sweep(capsys, "0.05,0.1")
    assert "changed since" not in told.err, "other options are no other code"
    folder = project / "results" / "levels"
    runs = [load(folder / "runs" / f"alpha={level}") for level in (0.05, 0.1)]
    strict, lenient = (run.replicates.set_index(["n", "rep"])["reject"] for run in runs)
    assert len(strict) == len(lenient) == 400
    assert (lenient >= strict).all(), "the same data, so that levels can be compared pairwise"
    assert lenient.sum() > strict.sum() > 0


def test_a_sweep_over_two_options_that_was_interrupted_goes_on_in_another_order(project, capsys):
    both = LEVELS.replace("normal(0.3,", "normal(self.shift,").replace(
        "    n: int\n", "    n: int\n    shift: float = 0.3\n"
    )
    both = both.replace(
        "default=0.05)\n", 'default=0.05)\n    shift: float = option("mean", default=0.3)\n'
    ).replace("n=[5, 10])", "n=[5, 10], shift=config.shift)")
    write(project, {"experiments/levels.py": both})
    how = ["experiment=levels", "figures=false", "report=false"]
    assert main([*how, "experiment.alpha=0.1", "experiment.shift=0.5", "shard=1/2"]) == 0
    assert main([*how, "experiment.alpha=0.05", "experiment.shift=0.5"]) == 0
    capsys.readouterr()
    assert main(["-m", *how, "experiment.shift=0.5,0.3", "experiment.alpha=0.1,0.05"]) == 0
    told = capsys.readouterr()
    assert told.out.count("nothing to do") == 1
    assert "changed since" not in told.err
    drawn = [read_manifest(run.folder)["blocks_computed"] for run in list_runs(store(project))]
    assert sorted(drawn) == [4, 8, 8, 8], "half of one job was there"


def test_cleaning_after_a_sweep_keeps_the_blocks_of_every_job(project, capsys):
    sweep(capsys, "0.05,0.1,0.2")
    folder = store(project)
    assert clean(folder, older_than=0).n_blocks == 0
    shutil.rmtree(folder / "runs" / "alpha=0.2")
    assert main(["clean", "experiment=levels"]) == 0
    assert "used by no run: 8 blocks" in capsys.readouterr().out
    assert clean(folder, older_than=0).n_blocks == 8
    assert sweep(capsys, "0.05,0.1").out.count("nothing to do") == 2


HELD = {
    "a partial": "partial(one_sided, alpha=config.alpha)",
    "a closure": "lambda x: one_sided(x, config.alpha)",
    "its own variable": "(lambda alpha: lambda x: one_sided(x, alpha))(config.alpha)",
}


@pytest.mark.parametrize("held", slow_but("a closure", of=HELD))
def test_adoption_after_a_sweep_takes_no_block_of_another_option(held, project, capsys):
    """Blocks of the other level would agree in most rows, so a sample would not tell them apart."""
    text = LEVELS.replace(HELD["a partial"], HELD[held])
    write(project, {"experiments/levels.py": text})
    assert "changed since" not in sweep(capsys, "0.05,0.1").err
    rewritten = text.replace("x.mean(axis=1) * x.shape[1]", "x.shape[1] ** 0.5 * x.mean(axis=1)")
    rewritten = rewritten.replace(" ** 0.5 > special", " > special")
    write(project, {"experiments/levels.py": rewritten})
    how = ["experiment=levels", "adopt=true", "figures=false", "report=false"]
    assert main([*how, "experiment.alpha=0.1"]) == 0
    told = capsys.readouterr()
    assert "2 of 8 were drawn again and compared, and agree" in told.err
    assert "(0 blocks drawn now)" in told.out
    assert main([*how, "experiment.alpha=0.11"]) == 0
    told = capsys.readouterr()
    assert "adopt" not in told.err
    assert "(8 blocks drawn now" in told.out


EDITED = LEVELS.replace("ndtri(1 - alpha)", "ndtri(1-2*alpha)")
SHARED = ["experiment=levels", "figures=false", "report=false", "backend=inline"]


def test_shards_of_two_codes_are_joined_by_drawing_no_more_than_one_share(project, capsys):
    assert main([*SHARED, "shard=1/3"]) == 0
    write(project, {"experiments/levels.py": EDITED})
    for share in ("2/3", "3/3"):
        assert main([*SHARED, f"shard={share}"]) == 0
    capsys.readouterr()
    assert main([*SHARED, "join=3"]) == 0
    assert "method z: one_sided has changed" in capsys.readouterr().err
    joined = load(store(project))
    assert joined.manifest["blocks_computed"] < 8 / 2
    assert main([*SHARED, f"out={project / 'alone'}"]) == 0
    assert joined.summary.equals(load(project / "alone" / "levels").summary)


def test_a_join_of_shards_of_other_code_says_what_changed_and_draws_nothing(project, capsys):
    for share in ("1/3", "2/3"):
        assert main([*SHARED, f"shard={share}"]) == 0
    write(project, {"experiments/levels.py": EDITED})
    assert main([*SHARED, "shard=3/3"]) == 0
    capsys.readouterr()
    assert main([*SHARED, "join=3"]) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert "in 2 of 3 shards; " in line
    assert "method z: one_sided has changed" in line
    assert line.endswith("To draw them in an array: bash SCRIPT 1-2")
    assert main(SHARED) == 0


def test_shards_by_two_sets_of_versions_are_judged_by_a_sample_at_the_join(
    project, capsys, monkeypatch
):
    library = modules.library_version
    assert main([*SHARED, "shard=1/3"]) == 0
    monkeypatch.setattr(
        modules, "library_version", lambda top: "9.9" if top == "scipy" else library(top)
    )
    for share in ("2/3", "3/3"):
        assert main([*SHARED, f"shard={share}"]) == 0
    monkeypatch.setattr(modules, "library_version", library)
    capsys.readouterr()
    assert main(["status", *SHARED]) == 0
    told = capsys.readouterr().out
    assert "2 of 2 units have blocks of other versions (scipy was 9.9 and is" in told
    assert main([*SHARED, "join=3"]) == 0
    assert (
        "were drawn again and compared, and agree to 1e-9, so all count" in capsys.readouterr().err
    )
    joined = load(store(project))
    assert joined.manifest["blocks_computed"] == 0
    assert len(joined.replicates) == 400
    (other,) = joined.manifest["compared"]
    assert other["versions"]["scipy"] == "9.9"
    assert (other["units"], other["blocks_compared"]) == (2, 1)


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


@pytest.mark.slow
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
    mean_study().run(100, out=tmp_path / "drawn", **INLINE)
    before = publish(mean_study().run(100, out=tmp_path, **INLINE), config={})

    def refuse(*_, **__):
        raise OSError(errno.EROFS, "Read-only file system")

    for name in ("unlink", "mkdir", "write_bytes", "write_text", "rename", "touch"):
        monkeypatch.setattr(Path, name, refuse)
    monkeypatch.setattr("simstudy.places.atomic_write", refuse)
    monkeypatch.setattr("os.replace", refuse)
    monkeypatch.setattr(
        "simstudy.store.files.Folder.__post_init__", lambda self: None
    )  # a folder that is there may be made
    again = mean_study().run(100, out=tmp_path, **INLINE)
    assert again.outcome.n_blocks == 0
    assert not publish(again, config={}, only_if_changed=True).is_new
    assert before.folder == again.folder
    assert mean_study().run(100, out=tmp_path / "drawn", **INLINE).outcome.n_blocks == 0
