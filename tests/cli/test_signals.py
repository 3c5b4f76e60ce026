"""What a signal raises, where, and what a caller gets back; `test_stopped_runs.py` sends some."""

import os
import signal
import threading

from simstudy.cli import ending, main, runs
from simstudy.cli.runs import Outcome
from tests.support import command_line


# ---------------------------------------------------------------- in this process
def test_the_command_that_goes_on_after_a_signal_deletes_nothing(monkeypatch):
    """Also while results are published, when a signal ends the process at once."""
    printed = []

    def draw_and_publish(run, *, is_sweep):
        printed.append(ending.interruption())
        return Outcome(0)

    monkeypatch.setattr(runs, "_draw_and_publish", draw_and_publish)
    assert command_line(["experiment=two_stage", "redraw=true", "experiment.k=[1]"]) == 0
    assert printed[0].endswith("To go on: python run.py experiment=two_stage 'experiment.k=[1]'")


def test_a_handler_of_a_batch_system_ends_the_command_and_not_the_study(monkeypatch, capsys):
    """Such as submitit's, which queues the job again and exits."""
    done = []

    def run(*_, **__):
        os.kill(os.getpid(), signal.SIGUSR2)
        done.append("to its end")
        return Outcome(0)

    def requeue(number, frame):
        raise SystemExit(-1)

    monkeypatch.setattr(runs, "_draw_and_publish", run)
    before = signal.signal(signal.SIGUSR2, requeue)
    try:
        status = command_line(["experiment=two_stage"])
    finally:
        signal.signal(signal.SIGUSR2, before)
    assert (status, done) == (-1, ["to its end"])
    assert "the study's own code" not in capsys.readouterr().err


def test_in_another_thread_signals_are_left_alone():
    """Only the main one may say what they do."""
    statuses = []
    other = threading.Thread(target=lambda: statuses.append(main(["--version"])))
    other.start()
    other.join()
    assert statuses == [0]
