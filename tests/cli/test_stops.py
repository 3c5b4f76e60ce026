"""Whenever a signal comes, a command ends with its status and one line, and leaves nothing."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from simstudy.cli import main, stops
from simstudy.cli.carry_out import in_words
from simstudy.cli.project import Project
from simstudy.cli.stops import HungUp, Terminated, at_once, heard_by_a_guest, raising, status_of

ROOT = Path(__file__).parents[2]
ASKED = ["experiment=two_stage", "experiment.k=[1]", "experiment.n2=[50]", "n_rep=50000000"]


def start(*arguments, cwd=ROOT):
    return subprocess.Popen(
        [sys.executable, "run.py", *arguments],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def alive(group):
    """Processes of a session that run: those that have ended may be listed for a while."""
    listed = subprocess.run(["ps", "-o", "stat=", "-g", str(group)], capture_output=True, text=True)
    return [state for state in listed.stdout.split() if not state.startswith("Z")]


def listens(process):
    """Whether the command's own handlers are there: before that the system ends it."""
    said = Path(f"/proc/{process.pid}/status").read_text()
    caught = next(line for line in said.splitlines() if line.startswith("SigCgt"))
    return int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="nobody says who listens")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("seconds", [0.0, 0.4, 1.5])
def test_one_signal_one_line_and_its_status(number, seconds, tmp_path):
    """From the first moment on: through imports, composition, the first blocks."""
    process = start(*ASKED, f"out={tmp_path}", "n_jobs=2", "progress=false")
    while not listens(process):
        time.sleep(0.002)
    time.sleep(seconds)
    os.killpg(process.pid, number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number, err
    assert err.startswith("interrupted; every finished block is kept. To go on: python run.py ")
    assert len(err.splitlines()) == 1
    assert out == ""
    assert list(tmp_path.rglob(".writing-*")) == []


HALF_LOADED = """
import sys, types
import simstudy.cli
sys.modules["simstudy.atomic_files"] = types.ModuleType("simstudy.atomic_files")
simstudy.cli._end(130, "run")
"""


def test_a_signal_while_modules_load_is_one_line_too():
    told = subprocess.run([sys.executable, "-c", HALF_LOADED], cwd=ROOT, capture_output=True)
    assert (told.returncode, len(told.stderr.splitlines())) == (130, 1)


@pytest.mark.parametrize("backend", ["auto", "loky"])
def test_workers_end_soon_after_a_parent_that_was_killed(backend, tmp_path):
    process = start(*ASKED, f"out={tmp_path}", "n_jobs=2", "progress=false", f"backend={backend}")
    while not list(tmp_path.rglob("*.parquet")) or len(alive(process.pid)) < 2:
        assert process.poll() is None
        time.sleep(0.05)
    process.kill()
    process.communicate(timeout=60)
    end = time.monotonic() + 60
    while alive(process.pid):
        assert time.monotonic() < end, "they would stay for minutes"
        time.sleep(0.05)


# ---------------------------------------------------------------- in this process
def test_each_stop_has_its_status():
    stopped = KeyboardInterrupt(), Terminated(), HungUp()
    assert [status_of(stop) for stop in stopped] == [130, 143, 129]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_was_swallowed_is_raised_again():
    """Python lets no exception out of what it calls itself, such as an object's end."""
    heard = []

    class Ending:
        def __del__(self):
            signal.raise_signal(signal.SIGTERM)
            heard.append("nothing comes before the handler")

    with heard_by_a_guest(), pytest.raises(Terminated), raising():
        _end(Ending())
    assert heard == []


def _end(_ending):
    """Drop what was given."""


def test_a_guest_gives_back_what_signals_did(monkeypatch):
    before = [signal.getsignal(number) for number in stops.STOPS]
    with pytest.raises(HungUp), heard_by_a_guest(), at_once():
        signal.raise_signal(signal.SIGHUP)
    assert [signal.getsignal(number) for number in stops.STOPS] == before


def test_what_is_ignored_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with heard_by_a_guest():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_in_another_thread_signals_are_left_alone():
    """Only the main one may say what they do."""
    statuses = []
    other = threading.Thread(target=lambda: statuses.append(main(["--version"])))
    other.start()
    other.join()
    assert statuses == [0]


def test_a_stop_that_was_told_of_one_study_is_not_told_again_of_all(capsys):
    """As in a sweep, around whose studies a stop raises, too."""

    def work():
        signal.raise_signal(signal.SIGTERM)
        return 0

    with heard_by_a_guest(), raising():
        assert in_words(work, Project.of(None), ["all"]) == 143
    assert capsys.readouterr().err.count("interrupted") == 1
