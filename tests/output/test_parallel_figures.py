"""Figures that workers draw are those of this process, which draws them if workers die."""

import multiprocessing
import os
import signal
from dataclasses import fields

import pytest
from matplotlib.figure import Figure

from simstudy.output import folder as module
from simstudy.output.folder import publish
from tests.output.standing import CONFIG, FILE, manifest_of, study
from tests.output.standing import plain_figure as plain


@pytest.fixture(autouse=True)
def _used_at_once(monkeypatch):
    monkeypatch.setattr(module, "FIGURES_PER_WORKER", 1)


def is_worker():
    return "Loky" in multiprocessing.current_process().name


def ending(result):
    if is_worker():
        os.kill(os.getpid(), signal.SIGKILL)
    return plain(result)


def raising(result):
    raise ZeroDivisionError(f"in {'a worker' if is_worker() else 'this process'}")


def local_figure():
    """One made in a notebook, which is sent by what it consists of."""

    def local(result):
        figure = Figure(figsize=(3, 2))
        figure.add_subplot().plot(result.rows(columns=["estimate"])["estimate"])
        return figure

    return local


def unsendable():
    generator = (each for each in ())
    return lambda result: (generator, plain(result))[1]


def figures_of(drawn, folder, n_jobs):
    """What was published, the bytes of its figures, and their captions."""
    result = study(figures=drawn).run(60, out=folder)
    made = publish(result, config=CONFIG, module_file=FILE, n_jobs=n_jobs)
    files = {path.name: path.read_bytes() for path in (result.folder / "figures").iterdir()}
    return made, files, manifest_of(result.folder)["captions"]


def test_files_are_those_that_one_process_makes(tmp_path):
    drawn = {"1": plain, "raises": raising, "2": local_figure(), "3": plain}
    here, files, captions = figures_of(drawn, tmp_path / "1", 1)
    assert here.manifest["figures_not_drawn"] == {"raises": "ZeroDivisionError: in this process"}
    there, files_there, captions_there = figures_of(drawn, tmp_path / "2", 2)
    assert there.manifest["figures_not_drawn"] == {"raises": "ZeroDivisionError: in a worker"}
    assert manifest_of(there.folder)["figures_failed"] == ["raises"]
    assert len(files) == 6
    assert files_there == files
    assert captions_there == captions


def test_the_figures_of_workers_that_were_killed_are_drawn_here(tmp_path):
    made, files, _ = figures_of({"1": plain, "ends": ending, "2": plain}, tmp_path, 2)
    assert made.manifest["figures_not_drawn"] == {}
    assert len(files) == 6


def test_what_cannot_be_sent_to_a_worker_is_drawn_here(tmp_path):
    result = study(figures={"1": plain, "2": unsendable(), "3": raising}).run(60, out=tmp_path)
    made = publish(result, config=CONFIG, n_jobs=2, report=False)
    assert made.manifest["figures_not_drawn"] == {"3": "ZeroDivisionError: in this process"}


def test_workers_get_a_result_without_its_large_frames():
    result = study(figures={"1": plain}).run(60)
    _ = result.summary, result.failures, result.claims
    sent = result.summary_only()
    assert sent.summary.equals(result.summary)
    assert set(sent._frames) == {"summary"}
    assert set(vars(sent.details)) == {each.name for each in fields(sent.details)}
