"""A study on a real Slurm, whose jobs are cancelled, killed, warned and requeued: the same bytes.

Runs where Slurm answers (its jobs have to see this folder), or where one can be started here.
"""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import pandas as pd
import pytest

from tests.cli.projects import write
from tests.cluster.one_node import one_node_slurm, why_not
from tests.guarantees.content import files_but_manifest
from tests.support import ROOT

pytestmark = pytest.mark.slow

N_SHARES = 4
STUDY = '''"""What survives of blocks that take their time?"""
import time
from dataclasses import dataclass

from simstudy import Study, grid
from simstudy.measures import mean
from simstudy.options import option


@dataclass
class Config:
    pause: float = option("seconds in a block", default=0.5, at_least=0)


@dataclass(frozen=True)
class Slow:
    shift: float
    pause: float = 0.5

    def simulate(self, streams, n_rep):
        time.sleep(self.pause)
        return {"x": self.shift + streams("data").standard_normal(n_rep)}


def study(config):
    scenarios = grid(Slow, shift=[0.0, 1.0, 2.0], pause=config.pause)
    return Study(name="slow", scenarios=scenarios, measures=[mean("x")], block_size=10)
'''
SETTINGS = ["experiment=slow", "n_rep=200", "progress=false", "report=false"]


@pytest.fixture(scope="module")
def slurm():
    """The environment of a Slurm that is there, or of one started for these tests."""
    if (
        shutil.which("sinfo")
        and subprocess.run(["sinfo", "-h"], capture_output=True, timeout=120).stdout
    ):
        yield dict(os.environ)
    elif reason := why_not():
        pytest.skip(f"no Slurm answers, and none can be started: {reason}")
    else:
        with one_node_slurm(cpus=8) as environment:
            yield environment


@pytest.fixture(scope="module")
def project(slurm):
    """A project in a folder that jobs on other machines see too."""
    is_own = slurm.get("SLURM_CONF") != os.environ.get("SLURM_CONF")
    folder = Path(tempfile.mkdtemp(prefix="cluster-", dir=None if is_own else Path.cwd()))
    write(
        folder,
        {
            "run.py": (ROOT / "run.py").read_text(),
            "experiments/__init__.py": "",
            "experiments/slow.py": STUDY,
        },
    )
    # a process that is aborted prints its stacks
    yield Project(folder, slurm | {"PYTHONPATH": str(ROOT), "PYTHONFAULTHANDLER": "1"})
    shutil.rmtree(folder)


class Stuck(AssertionError):
    """A command that does not end."""


class Project:
    def __init__(self, folder, environment):
        self.folder, self.environment = folder, environment

    def said(self, *command, seconds=300.0) -> str:
        """What a command prints that ends well."""
        with subprocess.Popen(
            command, cwd=self.folder, env=self.environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as process:  # fmt: skip
            try:
                out, error = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired as expired:
                process.send_signal(signal.SIGABRT)
                out, error = process.communicate(timeout=60)
                raise Stuck(f"{command} does not end: {out}{error}{self.state()}") from expired
        assert process.returncode == 0, error + out
        return out

    def state(self) -> str:
        """What Slurm and its jobs say, with the stacks of those that run; they are ended."""
        asked = (["squeue", "-l"], ["sinfo", "-R"], ["scontrol", "show", "job"])
        told = [self.said(*command) for command in asked]
        self.said("scancel", "--signal=ABRT", "--full", "--user", str(os.geteuid()))
        time.sleep(5)
        self.said("scancel", "--user", str(os.geteuid()))
        logs = [path for pattern in ("*.out", "*.err") for path in self.folder.rglob(pattern)]
        told += [f"{path}: {path.read_text()[-2000:]}" for path in logs]
        return "\n".join(told + [str(path) for path in self.folder.rglob("*result.pkl")])

    def simstudy(self, *arguments, **limit) -> str:
        return self.said(sys.executable, "run.py", *arguments, **limit)

    def wait(self, what, condition, seconds=240.0):
        end = time.monotonic() + seconds
        while not condition():
            logs = "\n".join(path.read_text() for path in self.folder.glob("slurm/slow/*.out"))
            assert time.monotonic() < end, f"not {what}: {logs}"
            time.sleep(0.3)

    def logs(self, job) -> str:
        return "".join(path.read_text() for path in self.folder.glob(f"slurm/slow/{job}.out"))


def running(project, array) -> list[str]:
    """The jobs of an array that run now."""
    return project.said("squeue", "-h", "-t", "RUNNING", "-j", array).splitlines()


def test_what_becomes_of_jobs_moves_no_byte_of_the_result(project):
    script = project.simstudy("batch", *SETTINGS, f"shares={N_SHARES}", "--mem=200M", "--time=10")
    (project.folder / "slow.sh").write_text(script)
    said = project.said("bash", "slow.sh").split()
    array, join = said[3].rstrip(","), said[10].rstrip(";")

    store = project.folder / "results" / "slow" / "replicates"
    project.wait("begun", lambda: len(running(project, array)) == N_SHARES and any(store.glob("*")))
    project.said("scancel", f"{array}_1")
    project.said("scontrol", "requeue", f"{array}_2")
    project.said("scancel", "--signal=KILL", "--full", f"{array}_3")
    project.said("scancel", "--signal=USR1", "--batch", f"{array}_4")

    told = project.simstudy("status", *SETTINGS)
    assert "\nblocks   60: " in told
    project.wait("ended", lambda: not project.said("squeue", "-h", "-j", f"{array},{join}"))
    assert "out of time: what was begun is finished and kept" in project.logs(f"{array}_4")
    assert f"shard 4/{N_SHARES}: " in project.logs(f"{array}_4"), "it was requeued, and went on"
    assert f"shard 2/{N_SHARES}: " in project.logs(f"{array}_2")
    if " files in " not in project.logs(
        join
    ):  # two shares were lost: more than one is left to draw
        command = project.logs(join).partition("To draw them in an array: ")[2].splitlines()[0]
        assert shlex.split(command) == ["bash", str(project.folder / "slow.sh"), "1,3"]
        join = project.said(*shlex.split(command)).split()[10].rstrip(";")
        project.wait("joined", lambda: not project.said("squeue", "-h", "-j", join))
    assert " files in " in project.logs(join)

    project.simstudy(*SETTINGS, "out=here", "backend=threads", "n_jobs=20")
    joined = files_but_manifest(project.folder / "results" / "slow")
    assert joined == files_but_manifest(project.folder / "here" / "slow")
    assert "nothing to do" in project.simstudy(*SETTINGS)
    assert joined == files_but_manifest(project.folder / "results" / "slow")


def test_a_sweep_of_jobs_moves_no_bit_and_ends_with_one_table(project):
    """Two factors and three seeds."""
    points = ["experiment.pause=0,0.01", "n_rep=20,40", "seed=1,2,3", "experiment=slow"]
    asked = ["-m", *points, "progress=false", "report=false"]
    memory = ["hydra.launcher.mem_gb=null", "+hydra.launcher.additional_parameters.mem=200M"]
    launcher = ["hydra/launcher=slurm", "hydra.launcher.timeout_min=9", *memory]
    try:
        project.simstudy(*asked, *launcher, "out=jobs", seconds=150)
    except Stuck as stuck:  # without accounting, the launcher waits for ever for a job that is lost
        warnings.warn(str(stuck), stacklevel=1)
        project.simstudy(*asked, *launcher, "out=jobs", seconds=300)
    project.simstudy(*asked, "out=basic")
    jobs, basic = (table(project.folder / out) for out in ("jobs", "basic"))
    assert len(jobs) == 12 * 3  # scenarios
    pd.testing.assert_frame_equal(jobs, basic, check_exact=True)


def table(folder) -> pd.DataFrame:
    """The table of a sweep, without what a clock says."""
    (path,) = (folder / "sweeps").rglob("summary.parquet")
    return pd.read_parquet(path).drop(columns="seconds")
