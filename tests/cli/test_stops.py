"""What a signal raises, where, and what a caller gets back; `test_stopped_runs.py` sends some."""

import signal
import subprocess
import sys
import threading

import pytest

from simstudy.cli import main, stops
from simstudy.cli.carry_out import in_words
from simstudy.cli.project import Project
from simstudy.cli.stops import HungUp, Terminated, at_once, heard_by_a_guest, raising, status_of
from tests.support import ROOT

HALF_LOADED = """
import sys, types
import simstudy.cli
sys.modules["simstudy.atomic_files"] = types.ModuleType("simstudy.atomic_files")
simstudy.cli._end(130, "run")
"""


def test_a_signal_while_modules_load_is_one_line_too():
    told = subprocess.run([sys.executable, "-c", HALF_LOADED], cwd=ROOT, capture_output=True)
    assert (told.returncode, len(told.stderr.splitlines())) == (130, 1)


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
