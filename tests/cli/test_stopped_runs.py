"""Whenever a signal comes, a run ends with its status and one line, keeps what is finished, and
leaves nothing half done."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.projects import alive, wait_for
from tests.support import ROOT

pytestmark = pytest.mark.slow

LONG = ["experiment=two_stage", "experiment.k=[1]", "experiment.n2=[50]", "n_rep=50000000"]
PATIENCE = 300.0  # seconds, of a machine that does other things too


def start(folder, *arguments) -> "subprocess.Popen[str]":
    """A run with a process group of its own, as in a terminal: Ctrl-C reaches them all.

    Also where the tests themselves were started by something that ignores it, as a shell does for
    what it runs in the background.
    """
    asked = [*LONG, f"out={folder}", "n_jobs=2", "progress=false", *arguments]
    return subprocess.Popen(
        [sys.executable, "run.py", *asked],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip


def ended(process, send) -> tuple[str, str]:
    """What a run said that was sent a signal."""
    try:
        send(process)
        return process.communicate(timeout=PATIENCE)
    finally:
        process.poll() is None and os.killpg(process.pid, signal.SIGKILL)


def blocks(folder: Path) -> list[Path]:
    return list((folder / "two_stage" / "replicates").glob("*.parquet"))


def listens(process):
    """Whether the command's own handlers are there: before that the system ends it."""
    said = Path(f"/proc/{process.pid}/status").read_text()
    caught = next(line for line in said.splitlines() if line.startswith("SigCgt"))
    return int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1


# From the first moment on: through imports, composition, the first blocks.
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="nobody says who listens")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("seconds", [0.0, 0.4, 1.5])
def test_one_signal_one_line_and_its_status(number, seconds, tmp_path):
    process = start(tmp_path)
    wait_for(lambda: listens(process))
    time.sleep(seconds)
    out, err = ended(process, lambda each: os.killpg(each.pid, number))
    assert process.returncode == 128 + number, err
    assert err.startswith("interrupted; every finished block is kept. To go on: python run.py ")
    assert len(err.splitlines()) == 1
    assert out == ""


def ctrl_c(process) -> None:
    """Reaches the whole session."""
    os.killpg(process.pid, signal.SIGINT)


def terminate(process) -> None:
    """As `kill` and schedulers send it: to the program alone."""
    process.terminate()


@pytest.mark.parametrize(("stop", "status"), [(ctrl_c, 130), (terminate, 143)])
@pytest.mark.parametrize("backend", ["inline", "loky"])
def test_what_is_finished_is_kept_and_used_and_it_is_said_how_to_go_on(
    backend, stop, status, tmp_path
):
    process = start(tmp_path, f"backend={backend}")
    wait_for(lambda: len(blocks(tmp_path)) >= 8)  # the first tasks of both workers are among them
    out, err = ended(process, stop)
    assert (process.returncode, out) == (status, "")
    asked = [f"'{one}'" if "[" in one else one for one in process.args[2:]]
    assert err.splitlines()[-1] == (
        f"interrupted; every finished block is kept. To go on: python run.py {' '.join(asked)}"
    )
    assert "Traceback" not in err
    wait_for(lambda: not alive(process.pid))
    again = [*LONG[:-1], "n_rep=2000", f"out={tmp_path}", "figures=false", "report=false"]
    done = subprocess.run(
        [sys.executable, "run.py", *again], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "(0 blocks drawn now" in " ".join(done.stdout.split())
    assert "damaged" not in done.stderr


@pytest.mark.parametrize("backend", ["inline", "loky"])
def test_a_warned_run_finishes_its_blocks_and_ends_with_a_status_of_its_own(backend, tmp_path):
    """Also where all processes of the job are told, as by `--signal=USR1@60`."""
    process = start(tmp_path, f"backend={backend}")
    wait_for(lambda: len(blocks(tmp_path)) >= 3)
    out, err = ended(process, lambda each: os.killpg(each.pid, signal.SIGUSR1))
    assert (process.returncode, out) == (75, "")
    line = err.splitlines()[-1]
    assert line.startswith("out of time: what was begun is finished and kept, and 4")
    assert " blocks are to go. To go on: python run.py experiment=two_stage " in line
    assert "worker died" not in err
    assert not list(tmp_path.rglob(".writing-*")), "nothing was cut short"


@pytest.mark.parametrize("backend", ["auto", "loky"])
def test_workers_end_soon_after_a_parent_that_was_killed(backend, tmp_path):
    process = start(tmp_path, f"backend={backend}")
    wait_for(lambda: blocks(tmp_path) and len(alive(process.pid)) >= 2)
    ended(process, subprocess.Popen.kill)
    wait_for(lambda: not alive(process.pid))
