"""The script of shares that a verb writes: what it asks of Slurm, and what its jobs do."""

import os
import re
import shlex
import signal
import subprocess
import sys

import pytest

from tests.cli.projects import wait_for
from tests.support import ROOT

ASKED = ["batch", "experiment=two_stage", "experiment.k=[1]", "n_rep=2000", "out=my results"]

SBATCH = """#!/bin/bash
printf '%s\\n' "$*" >> "$SUBMITTED"
echo $((40 + $(wc -l < "$SUBMITTED")))
"""
SCONTROL = """#!/bin/bash
[ "$*" = "show config" ] && { echo "MaxArraySize            = $MAX_ARRAY_SIZE"; exit 0; }
printf '%s\\n' "$*" >> "$REQUEUED"
exit 1
"""
PYTHON = """#!/bin/bash
# a run whose time may be nearly up, and who is told of it
trap 'exit 75' USR1
trap 'exit 143' TERM
printf '%s\\n' "$@" > "$TOLD"
[ -n "$ENDS_WITH" ] && exit "$ENDS_WITH"
for _ in $(seq 600); do sleep 0.05; done
"""


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """Programs that stand in for Slurm's, and note what they were asked."""
    for name, text in (("sbatch", SBATCH), ("scontrol", SCONTROL), ("fake-python", PYTHON)):
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    for name in ("SUBMITTED", "REQUEUED", "TOLD"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("ENDS_WITH", "")
    monkeypatch.setenv("MAX_ARRAY_SIZE", "1001")
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_script(slurm, ours, *settings):
    text = ours(*ASKED, "shares=3", *settings)
    text = text.replace(shlex.quote(sys.executable), str(slurm / "bin" / "fake-python"), 1)
    (slurm / "run.sh").write_text(text)
    return slurm / "run.sh"


# ---------------------------------------------------------------- what is submitted
def test_it_submits_an_array_and_a_job_that_joins_whatever_becomes_of_it(slurm, ours):
    path = write_script(slurm, ours, "--partition=long", "--cpus-per-task=4", "--time=2-00:00:00")
    said = subprocess.run(["bash", path], capture_output=True, text=True, check=True).stdout
    assert said.startswith("submitted: shares as 41, the job that joins them as 42; logs in ")
    array, join = (slurm / "SUBMITTED").read_text().splitlines()
    assert "--requeue" in array
    assert "--partition=long --cpus-per-task=4 --time=2-00:00:00 --array=1-3" in array
    assert array.endswith("run.sh share")
    assert "--signal=B:USR1@120" in join
    assert "--dependency=afterany:41" in join
    assert join.endswith(f"run.sh join {path}")


def test_some_shares_are_submitted_again(slurm, ours):
    path = write_script(slurm, ours)
    subprocess.run(["bash", path, "2-3"], capture_output=True, check=True)
    array, join = (slurm / "SUBMITTED").read_text().splitlines()
    assert "--array=2-3" in array
    assert "--dependency=afterany:41" in join


def test_more_shares_than_an_array_may_have_are_refused_before_anything_is_submitted(
    slurm, ours, monkeypatch
):
    path = write_script(slurm, ours)
    for limit, status in (("3", 2), ("4", 0)):
        monkeypatch.setenv("MAX_ARRAY_SIZE", limit)
        ended = subprocess.run(["bash", path], capture_output=True, text=True)
        assert ended.returncode == status, ended.stderr
        assert (slurm / "SUBMITTED").exists() == (status == 0)
        if status:
            assert ended.stderr.startswith("shares=3: Slurm takes at most 2 jobs in an array here")


# ---------------------------------------------------------------- what a job does
def begin(path, kind, **said):
    return subprocess.Popen(
        ["bash", path, kind], text=True, stdout=subprocess.PIPE, env=os.environ | said
    )


ARRAY = {"SLURM_JOB_ID": "9", "SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": "2"}


@pytest.mark.parametrize(("kind", "told"), [("share", "shard=auto/3"), ("join", "join=3")])
def test_each_job_runs_its_part_of_the_command_and_ends_as_it_ends(slurm, ours, kind, told):
    path = write_script(slurm, ours)
    job = begin(path, kind, SLURM_JOB_ID="9", ENDS_WITH="3")
    assert job.wait(30) == 3
    assert (slurm / "TOLD").read_text().splitlines() == list(
        filter(None, [str(ROOT / "run.py"), *ASKED[1:], told])
    )
    assert not (slurm / "REQUEUED").exists()


@pytest.mark.parametrize(("environment", "name"), [(ARRAY, "7_2"), ({"SLURM_JOB_ID": "9"}, "9")])
def test_a_warned_job_tells_its_command_and_is_requeued(slurm, ours, environment, name):
    job = begin(write_script(slurm, ours), "share", **environment)
    wait_for(lambda: (slurm / "TOLD").exists() and (slurm / "TOLD").read_text())
    job.send_signal(signal.SIGUSR1)
    out, _ = job.communicate(timeout=30)
    assert job.returncode == 75, "where Slurm will not requeue it"
    assert out == f"job {name} is out of time and goes back into the queue\n"
    assert (slurm / "REQUEUED").read_text() == f"requeue {name}\n"


def test_a_terminated_job_ends_its_command_and_is_not_requeued(slurm, ours):
    job = begin(write_script(slurm, ours), "share", **ARRAY)
    wait_for(lambda: (slurm / "TOLD").exists() and (slurm / "TOLD").read_text())
    job.terminate()
    assert job.wait(30) == 143
    assert not (slurm / "REQUEUED").exists()


# ---------------------------------------------------------------- what is refused
@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ([], "batch needs the number of jobs"),
        (["shares=0"], "shares=0 is not allowed: "),
        (["shares=2", "n_rep=0"], "n_rep=0 is not allowed: "),
        (["shares=2", "missing=true"], "missing is not a setting; "),
        (["shares=2", "expriment=x"], "expriment is not a setting; did you mean 'experiment'?"),
    ],
)
def test_what_its_jobs_would_refuse_is_refused_where_it_is_made(settings, line, refused_here):
    assert refused_here(*ASKED, *settings).startswith(line)


@pytest.mark.parametrize("out", ["'/tmp/a (b'", '"it\'s $HOME x"', "'é'", "1"])
def test_values_that_a_run_takes_come_to_it_as_they_were_written(out, ours):
    text = ours("batch", "experiment=two_stage", "shares=2", f"out={out}")
    (command,) = re.findall(r"^command=\((.*?)\)  ", text, re.MULTILINE | re.DOTALL)
    assert shlex.split(command)[-1] == f"out={out}"
