"""A time limit stops what takes longer, and leaves everything else as it was."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from simstudy.engine import time_limits
from simstudy.engine.time_limits import OverTimeError, at_most, in_an_expendable_process


def spin():
    while True:
        pass


@pytest.mark.parametrize("work", [lambda: time.sleep(60), spin])
def test_what_takes_too_long_is_stopped(work):
    with pytest.raises(OverTimeError), at_most(0.05, "it"):
        work()


def test_an_alarm_of_the_users_own_is_given_back():
    def mine(*_):
        raise AssertionError("nobody asked for it")

    before = signal.signal(signal.SIGALRM, mine)
    signal.setitimer(signal.ITIMER_REAL, 1000)
    try:
        with at_most(5, "it"):
            assert signal.getitimer(signal.ITIMER_REAL)[0] < 6
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 900
        assert signal.getsignal(signal.SIGALRM) is mine
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system makes no copies of processes")
@pytest.mark.parametrize("then", [lambda: None, spin])
@pytest.mark.slow
def test_a_block_that_was_suspended_has_its_time_anew_and_no_more(monkeypatch, then):
    """As Ctrl-Z and `fg` do with a whole run: its time went by while nobody drew."""
    monkeypatch.setattr(time_limits, "GRACE_SECONDS", 0.0)
    monkeypatch.setattr(time_limits, "LATE_SECONDS", 0.1)
    copy = os.fork()
    if not copy:
        in_an_expendable_process(ends_itself=False)
        with contextlib.suppress(OverTimeError), at_most(0.2, "it"):
            os.kill(os.getpid(), signal.SIGSTOP)
            then()
            os._exit(7)
        os._exit(8)
    os.waitpid(copy, os.WUNTRACED)
    time.sleep(0.6)
    os.kill(copy, signal.SIGCONT)
    _, status = os.waitpid(copy, 0)
    assert os.waitstatus_to_exitcode(status) == (8 if then is spin else 7)


def test_in_another_thread_python_is_stopped_and_what_ends_in_time_is_not():
    ended = []

    def run(work):
        try:
            with at_most(0.2, "it"):
                work()
            ended.append("in time")
            sum(range(1000))  # nothing comes afterwards
        except OverTimeError:
            ended.append("stopped")

    for work in (spin, lambda: None):
        thread = threading.Thread(target=run, args=(work,))
        thread.start()
        thread.join()
    assert ended == ["stopped", "in time"]


@pytest.mark.slow
def test_what_cannot_be_stopped_here_is_said_once(monkeypatch, capsys):
    monkeypatch.setattr(time_limits, "GRACE_SECONDS", 0.0)

    def sleep():
        with contextlib.suppress(OverTimeError), at_most(0.1, "block 3 of T()"):
            time.sleep(0.4)

    thread = threading.Thread(target=sleep)
    thread.start()
    thread.join()
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("block 3 of T() has been drawing for 0.1 s, and is in a call that")
    assert line.endswith("draw with backend=loky, which can")


@pytest.mark.slow
def test_a_process_that_may_be_lost_ends_with_what_cannot_be_stopped():
    code = """
import collections
import itertools
from simstudy.engine import time_limits
time_limits.GRACE_SECONDS = 0.1
time_limits.in_an_expendable_process()
with time_limits.at_most(0.1, "it"):
    collections.deque(itertools.repeat(None), maxlen=0)
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, timeout=300)
    assert done.returncode == 1
