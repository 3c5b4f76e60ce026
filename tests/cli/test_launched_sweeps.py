"""Sweeps whose jobs run in other processes: how they end, and what is refused before they begin.

A launcher that starts processes of this machine stands in for Slurm's, of the same author: it is
handed the same things, and pickles them.
"""

import json
from pathlib import Path

import pytest

from simstudy.cli.hydra_compose import compose_one
from simstudy.cli.project import Project
from tests.cli.projects import python, write
from tests.support import ROOT, command_line

pytest.importorskip("hydra_plugins.hydra_submitit_launcher", reason="needs pip install -e '.[dev]'")

ASKED = ["-m", "experiment=two_stage", "hydra/launcher=slurm"]
STUDY = '''"""Which job am I?"""
import os
from dataclasses import dataclass

import numpy as np

from simstudy import Study
from simstudy.measures import mean
from simstudy.options import option


@dataclass
class Config:
    job: int = option("which", default=0)


@dataclass(frozen=True)
class Job:
    number: int = 0

    def simulate(self, streams, n_rep):
        x = streams("data").standard_normal(n_rep)
        return {"x": np.where(np.arange(n_rep) < self.number, np.nan, x)}


def study(config):
    if os.environ.get("SUBMITIT_EXECUTOR") and config.job == 9:
        os._exit(1)
    return Study(name=f"job_{config.job}", scenarios=[Job(config.job)], measures=[mean("x")])
'''


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    run = (ROOT / "run.py").read_text()
    write(folder, {"run.py": run, "experiments/__init__.py": "", "experiments/which.py": STUDY})
    return folder


# ---------------------------------------------------------------- how jobs end
@pytest.mark.slow
def test_the_worst_status_of_jobs_elsewhere_is_that_of_the_sweep(project):
    """Also where one ends without a word; the others are waited for."""
    asked = ["experiment=which", "n_rep=20", "progress=false", "report=false", "backend=inline"]
    launcher = "hydra/launcher=submitit_local"
    done = python(project, "run.py", "-m", launcher, *asked, "experiment.job=9,0,4")
    assert done.returncode == 3, done.stderr
    first, line = done.stderr.splitlines()
    folder = Path(first.rpartition(": ")[2])
    assert first == f"3 jobs are handed on; what they print: {folder}"
    assert folder.parent == project / "sweeps"
    assert line.startswith("the job of experiment=which ")
    ended = " experiment.job=9 ended without a status (UncompletedJobError); its log lies in "
    assert ended in line
    assert "Traceback" not in done.stdout
    results = project / "results"
    for written in (results / "job_0", results / "tries/job_4/job_4"):  # 0 is the default
        manifest = json.loads((written / "manifest.json").read_text())
        assert manifest["replicates"] == 20


# ---------------------------------------------------------------- what is refused
@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            [*ASKED, "n_rep=10,20", "hydra.launcher.timeout_min=3"],
            "hydra.launcher.timeout_min=3 with signal_delay_s=120: a job would be requeued 120 s "
            "before the end of its 180 s, before it has done much; nearest that works: "
            "hydra.launcher.signal_delay_s=90",
        ),
        (
            ASKED[1:],
            "hydra/launcher=slurm: a launcher runs the jobs of a sweep: give -m and "
            "hydra/launcher=slurm as well, or leave it out. Shares of one study are jobs of "
            "simstudy batch",
        ),
        (
            [*ASKED, "hydra.launcher.partion=long"],
            "hydra.launcher.partion is not a setting of this launcher",
        ),
        (
            [*ASKED, "hydra.launcher.mem_gb=0.5"],
            "hydra.launcher.mem_gb=0.5 cannot be set: Value '0.5' of type 'float' could not be "
            "converted to Integer",
        ),
    ],
)
def test_a_launcher_that_would_not_do_is_refused_in_a_line(arguments, line, capsys):
    assert command_line(arguments) == 2
    assert capsys.readouterr().err == f"{line}\n"


@pytest.mark.slow
def test_without_the_launcher_it_says_what_to_install(tmp_path):
    """In a process that finds no plugin of that name."""
    hide = "import sys; sys.modules['hydra_plugins.hydra_submitit_launcher'] = None; "
    call = "from simstudy.cli import main; sys.exit(main(script=sys.argv.pop(1)))"
    done = python(tmp_path, "-c", hide + call, str(ROOT / "run.py"), *ASKED, "n_rep=1,2")
    assert done.returncode == 2, done.stderr
    assert done.stderr.splitlines()[-1] == (
        "hydra/launcher=slurm needs submitit's launcher, which is not installed: pip install "
        "'simstudy[slurm]'"
    )


# ---------------------------------------------------------------- workers of Dask on Slurm
@pytest.mark.slow
def test_dasks_workers_on_slurm_are_asked_for_as_the_config_says():
    """The script of their jobs, without any job: a cluster is made, and no worker asked of it."""
    jobqueue = pytest.importorskip("dask_jobqueue", reason="needs pip install -e '.[dev]'")
    asked = ["experiment=two_stage", "backend=slurm_dask"]
    own = ["backend.cluster_options.queue=long", "backend.cluster_options.memory=2GB"]
    request = compose_one([*asked, *own], Project.of(str(ROOT / "run.py")))
    assert request.settings.backend == "dask"
    told = request.backend_options
    assert told["cluster"] == "dask_jobqueue:SLURMCluster"
    loopback = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    options = told["cluster_options"] | {"interface": "lo", "scheduler_options": loopback}
    with jobqueue.SLURMCluster(**options) as cluster:
        script = cluster.job_script()
    assert "#SBATCH -p long" in script
    assert "#SBATCH --cpus-per-task=1" in script
    assert "#SBATCH -t 01:00:00" in script
    assert "--lifetime 50m" in script
    assert "#SBATCH -A" not in script
