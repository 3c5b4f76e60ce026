"""A run that a batch system warns: it says what is left, how to go on, and to be run again."""

import os
import signal

import pytest

from tests.cli.test_command_line import LONG, start, wait_for


@pytest.mark.parametrize("backend", ["inline", "loky"])
def test_a_warned_run_finishes_its_blocks_and_ends_with_a_status_of_its_own(backend, tmp_path):
    """Also where all processes of the job are told, as by `--signal=USR1@60`."""
    asked = [*LONG, f"out={tmp_path}", f"backend={backend}", "n_jobs=2", "progress=false"]
    folder = tmp_path / "two_stage" / "replicates"
    process = start(*asked)
    try:
        wait_for(lambda: len(list(folder.glob("*.parquet"))) >= 3)
        os.killpg(process.pid, signal.SIGUSR1)
        out, err = process.communicate(timeout=60)
    finally:
        process.poll() is None and os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 75
    assert out == ""
    line = err.splitlines()[-1]
    assert line.startswith("out of time: what was begun is finished and kept, and 4")
    assert " blocks are to go. To go on: python run.py experiment=two_stage " in line
    assert "worker died" not in err
    assert not list(folder.glob(".writing-*")), "nothing was cut short"
