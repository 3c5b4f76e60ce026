"""While blocks are drawn in a user's process, `os._exit` raises there and nowhere else."""

import os
import threading

import pytest

from simstudy.engine.exits import exits_raise


def test_it_raises_in_every_thread_and_ends_copies_and_is_given_back():
    before, raised = os._exit, []

    def leave():
        try:
            os._exit(0)
        except SystemExit as error:
            raised.append(str(error))

    with exits_raise():
        with exits_raise(), pytest.raises(SystemExit, match=r"os\._exit\(4\) would have ended"):
            os._exit(4)
        other = threading.Thread(target=leave)
        other.start()
        other.join()
        child = os.fork()
        if not child:
            os._exit(5)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
    assert raised == ["os._exit(0) would have ended the whole run"]
    assert os._exit is before
