"""A mark says what its process is at, also when that says nothing any more; who hangs is ended."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from simstudy.engine.marks import Marks
from tests.guarantees.server import ROOT, wait_until

pytestmark = pytest.mark.slow

AT = """
import sys, time
from simstudy.engine.marks import keep_in, note_block, note_no_block, own_mark
keep_in(sys.argv[1])
note_block("a key", 3)
{then}
print("there", flush=True)
time.sleep(60)
"""


@pytest.fixture
def begin():
    """Processes that keep marks, and are at something else then."""
    begun = []

    def start(some, then=""):
        command = [sys.executable, "-c", AT.format(then=then), some.folder]
        begun.append(subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT))
        assert begun[-1].stdout.readline() == b"there\n"
        return begun[-1]

    yield start
    for process in begun:
        process.kill()
        process.communicate()


def test_what_a_process_was_at_is_known_when_it_is_dead_until_it_is_forgotten(begin):
    some = Marks()
    begin(some, "note_no_block()")
    begin(some).kill()
    assert some.spots() == (("a key", 3),)
    some.forget()
    assert some.spots() == ()


def test_who_is_stopped_is_ended_and_who_works_or_waits_is_not(begin):
    some = Marks()
    at_work, idle = begin(some), begin(some, "note_no_block()")
    assert not wait_until(lambda: some.end_overdue(0.1, 0.1), 0.5)
    for process in (at_work, idle):
        process.send_signal(signal.SIGSTOP)
    assert some.end_overdue(0.1, 0.1) == [], "it may go on at once"
    ended = []
    assert wait_until(lambda: ended.extend(some.end_overdue(0.1, 0.1)) or len(ended) == 2, 5)
    assert set(ended) == {None, ("a key", 3)}
    assert {process.wait() for process in (at_work, idle)} == {-signal.SIGKILL}


def test_a_block_whose_time_is_over_is_ended_and_no_process_that_has_its_number_by_now(begin):
    some = Marks()
    process = begin(some, "own_mark().set(time.monotonic() + 0.1)")
    (path,) = Path(some.folder).iterdir()
    another = path.with_name(f"{process.pid}-1")
    path.rename(another)
    assert wait_until(lambda: some.end_overdue(60, 0.0), 5)
    os.kill(process.pid, 0)
    another.rename(path)
    assert some.end_overdue(60, 30) == [], "it may end itself first"
    assert wait_until(lambda: some.end_overdue(60, 0.0) == [("a key", 3)], 5)
    assert process.wait() == -signal.SIGKILL
