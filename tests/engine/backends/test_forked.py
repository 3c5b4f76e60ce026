"""A copy of this process gives what an iterator gives, and its end is told from that."""

import collections
import faulthandler
import itertools
import os
import signal
import sys
import threading
import time

import pytest

from simstudy.engine import time_limits
from simstudy.engine.backends import forked as module
from simstudy.engine.backends.forked import can_fork, forked, forks_safely
from simstudy.engine.backends.protocol import WorkerDiedError
from simstudy.engine.time_limits import at_most
from simstudy.errors import StudyError

pytestmark = pytest.mark.skipif(not can_fork(), reason="this system makes no copies of processes")


def numbers(end=lambda: None):
    yield from (os.getpid(), [1, 2])
    end()


def test_what_is_given_comes_from_another_process_in_order():
    process, rest = forked(numbers())
    assert process != os.getpid()
    assert rest == [1, 2]


@pytest.mark.parametrize(
    ("end", "said", "by_signal"),
    [
        (lambda: os._exit(0), r"the process died: EXIT\(0\)", False),
        (lambda: os._exit(7), r"the process died: EXIT\(7\)", False),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), r"died: SIGKILL\(-9\)", True),
        (lambda: signal.raise_signal(signal.SIGTERM), r"died: SIGTERM\(-15\)", True),
    ],
)
def test_an_end_before_the_last_is_a_death(end, said, by_signal):
    given = forked(numbers(end))
    assert [next(given), next(given)][1] == [1, 2]
    with pytest.raises(WorkerDiedError, match=said) as died:
        next(given)
    assert died.value.by_signal == by_signal


@pytest.mark.slow
def test_a_death_is_seen_where_a_process_of_the_copys_lives_on():
    def leave_one_behind():
        if os.fork():
            os._exit(3)
        time.sleep(5)  # has the other end of the pipe, too
        os._exit(0)

    start = time.monotonic()
    with pytest.raises(WorkerDiedError, match=r"EXIT\(3\)"):
        list(forked(numbers(leave_one_behind)))
    assert time.monotonic() - start < 5, "before the other one ends"


@pytest.mark.slow
def test_a_copy_that_is_stopped_ends_with_the_time_of_its_block(monkeypatch):
    monkeypatch.setattr(time_limits, "GRACE_SECONDS", 0.1)

    def stopped():
        with at_most(0.1, "it"):
            os.kill(os.getpid(), signal.SIGSTOP)

    given = forked(numbers(stopped))
    process, _ = next(given), next(given)
    with pytest.raises(WorkerDiedError, match="did not end with its block's time") as died:
        next(given)
    assert not died.value.by_signal, "by its block's own fault"
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def send_half(writer, kind, content):
    os.write(writer, module.LENGTH.pack(100) + b"half")
    os.kill(os.getpid(), signal.SIGSTOP)


@pytest.mark.parametrize("sends_half", [False, True])
@pytest.mark.slow
def test_a_copy_that_is_stopped_between_blocks_ends_with_their_time(monkeypatch, sends_half):
    """It may be writing a file, or in the middle of a receipt; no block is being drawn."""
    monkeypatch.setattr(time_limits, "GRACE_SECONDS", 0.1)
    if sends_half:
        monkeypatch.setattr(module, "_send", send_half)
    given = forked(numbers(lambda: os.kill(os.getpid(), signal.SIGSTOP)), 0.1)
    start = time.monotonic()
    with pytest.raises(WorkerDiedError, match="it was stopped"):
        list(given)
    assert 0.2 < time.monotonic() - start < 5


def fail():
    raise ZeroDivisionError("no such number")


class OwnError(Exception):
    """Cannot be made of its text alone, as pickle would."""

    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


def own():
    raise OwnError(1, 2)


def test_an_exception_arrives_with_the_place_where_it_was_raised():
    with pytest.raises(ZeroDivisionError, match="no such number") as raised:
        list(forked(numbers(fail)))
    assert "in fail" in raised.value.__notes__[0]
    with pytest.raises(StudyError, match="OwnError: 1 and 2"):
        list(forked(numbers(own)))


def test_a_copy_ends_when_nobody_listens_any_more():
    given = forked(numbers(lambda: time.sleep(60)))
    process = next(given)
    given.close()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_a_copy_leaves_ctrl_c_to_its_parent_and_ends_where_it_is_told_to():
    def heard():
        yield signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())
        yield signal.getsignal(signal.SIGTERM) == signal.SIG_DFL

    assert list(forked(heard())) == [True, True]
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


@pytest.mark.slow
def test_a_copy_does_not_wait_for_a_watchdog_that_the_program_had_begun():
    """That of `faulthandler` is a thread, which a copy has not; C's own wait ends with its time."""

    def limited():
        with at_most(0.1, "a block"):
            yield "within"
        with at_most(0.1, "a block"):
            collections.deque(itertools.repeat(None), maxlen=0)  # hears of no exception
        yield "never"

    faulthandler.dump_traceback_later(60)
    try:
        given = forked(limited())
        assert next(given) == "within"
        with pytest.raises(WorkerDiedError, match="did not end with its block's time"):
            next(given)
    finally:
        faulthandler.cancel_dump_traceback_later()


# ---------------------------------------------------------------- where it is safe
@pytest.fixture
def as_if_fresh(monkeypatch):
    """Other tests of this process may have loaded libraries, and begun pools of threads."""
    monkeypatch.setattr(module, "THREADED_LIBRARIES", ("polars",))
    monkeypatch.setattr(module, "_has_native_state", lambda: False)
    monkeypatch.delitem(sys.modules, "polars", raising=False)


def test_no_copy_is_made_beside_a_thread_that_may_hold_a_lock(as_if_fresh, monkeypatch):
    with monkeypatch.context() as alone:
        alone.setattr(module, "_has_other_threads", lambda: False)
        assert forks_safely()
    gate = threading.Event()
    other = threading.Thread(target=gate.wait)
    other.start()
    assert not forks_safely()
    gate.set()
    other.join()


def test_no_copy_is_made_where_a_library_would_wait_in_it_or_a_debugger_watches(
    as_if_fresh, monkeypatch
):
    monkeypatch.setattr(module, "_has_other_threads", lambda: False)
    monkeypatch.setitem(sys.modules, "polars", object())
    assert not forks_safely()
    monkeypatch.delitem(sys.modules, "polars")
    assert forks_safely()
    monkeypatch.setattr(sys, "getprofile", lambda: print)  # a real one once spun for ever
    assert not forks_safely()
