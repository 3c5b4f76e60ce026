"""A test that hangs costs its limit and no more."""

import threading

import psutil
import pytest

from tests.cli.projects import python, write

CONFTEST = """
import time
from pathlib import Path
from types import SimpleNamespace
import psutil
from tests import hangs

leap = 0.0

def hangs_now():
    try:
        return psutil.Process(int(Path("child").read_text())).status() != psutil.STATUS_ZOMBIE
    except (OSError, ValueError, psutil.NoSuchProcess):
        return False

def hurried():
    global leap
    if hangs_now():
        leap = 1000.0 * (time.time() - Path("child").stat().st_mtime)
    return time.monotonic() + leap

hangs.time = SimpleNamespace(monotonic=hurried)

def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(hangs.Watch(longest=1000.0, look=0.1))
"""
TESTS = """
import subprocess, sys, time
from pathlib import Path

def test_before():
    pass

def test_that_hangs():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
    Path("child").write_text(str(child.pid))
    child.wait()

def test_after():
    pass
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    write(folder, {"conftest.py": CONFTEST, "test_it.py": TESTS})
    return folder


def test_a_worker_that_hangs_is_ended_and_the_others_go_on(folder):
    """By a clock that hurries as soon as the test hangs."""
    done = python(folder, "-m", "pytest", "-v", "-n", "1", "-p", "no:cacheprovider")
    assert "gw0 said nothing for 1000 s: its stacks, and its end" in done.stdout
    assert "in test_that_hangs" in done.stderr, "where it hangs"
    assert "worker 'gw0' crashed while running 'test_it.py::test_that_hangs'" in done.stdout
    assert "1 failed, 2 passed" in done.stdout
    assert ends(int((folder / "child").read_text()))


def ends(process):
    """Whether it has gone within a minute; whoever inherits it may be slow to notice."""
    try:
        left = psutil.Process(process)
        return left.status() == psutil.STATUS_ZOMBIE or left.wait(60) is None
    except psutil.NoSuchProcess:
        return True


def test_the_watch_is_no_thread_where_tests_run(request):
    """Whether blocks are drawn in copies of a process depends on its threads."""
    watches = [each for each in request.config.pluginmanager.get_plugins() if is_watch(each)]
    assert len(watches) == (0 if hasattr(request.config, "workerinput") else 1)
    assert not [thread.name for thread in threading.enumerate() if "_look" in thread.name]


def is_watch(plugin):
    return type(plugin).__name__ == "Watch"
