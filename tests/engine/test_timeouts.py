"""A time limit stops what takes longer, and leaves everything else as it was."""

import signal
import subprocess
import sys
import time

import pytest

from simstudy.engine.graceful_stop import BlockTimeoutError, time_limit


def spin():
    while True:
        pass


@pytest.mark.parametrize("work", [lambda: time.sleep(60), spin])
def test_what_takes_too_long_is_stopped(work):
    with pytest.raises(BlockTimeoutError), time_limit(0.05):
        work()


def test_an_alarm_of_the_users_own_is_given_back():
    def mine(*_):
        raise AssertionError("nobody asked for it")

    before = signal.signal(signal.SIGALRM, mine)
    signal.setitimer(signal.ITIMER_REAL, 1000)
    try:
        with time_limit(5):
            assert signal.getitimer(signal.ITIMER_REAL)[0] < 6
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 900
        assert signal.getsignal(signal.SIGALRM) is mine
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.slow
def test_a_process_that_may_be_lost_ends_with_what_cannot_be_stopped():
    code = """
import collections
import itertools

from simstudy.engine import graceful_stop

graceful_stop.GRACE_SECONDS = 0.1
graceful_stop.mark_as_worker()
with graceful_stop.time_limit(0.1):
    collections.deque(itertools.repeat(None), maxlen=0)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, timeout=300, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "Timeout" in done.stderr, "it says where"
    assert "line" in done.stderr
