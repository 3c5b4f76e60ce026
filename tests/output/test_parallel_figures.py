"""Figures that workers draw are those of this process; one that kills its worker costs itself."""

import multiprocessing
import os
import signal
from dataclasses import fields

import pytest
from matplotlib.figure import Figure

from simstudy.output import folder as module
from simstudy.output.folder import _Draw, publish
from tests.output.standing import CONFIG, FILE, manifest_of, study
from tests.output.standing import plain_figure as plain


@pytest.fixture(autouse=True)
def _used_at_once(monkeypatch):
    monkeypatch.setattr(module, "START_SECONDS", 0.0)


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


def test_files_are_those_that_one_process_makes_and_one_that_ends_its_worker_costs_itself(tmp_path):
    drawn = {"1": plain, "ends": ending, "raises": raising, "2": local_figure(), "3": plain}
    made, files, captions = [], [], []
    for n_jobs in (1, 2):
        result = study(figures=drawn).run(60, out=tmp_path / str(n_jobs))
        made.append(publish(result, config=CONFIG, module_file=FILE, n_jobs=n_jobs))
        there = (result.folder / "figures").iterdir()
        files.append({path.name: path.read_bytes() for path in there})
        captions.append(manifest_of(result.folder)["captions"])
    assert made[0].not_drawn == {"raises": "ZeroDivisionError: in this process"}
    assert sorted(made[1].not_drawn) == ["ends", "raises"]
    assert made[1].not_drawn["ends"].startswith("its process ended")
    assert made[1].not_drawn["raises"] == "ZeroDivisionError: in a worker"
    assert sorted(manifest_of(made[1].folder)["figures_failed"]) == ["ends", "raises"]
    assert len(files[1]) == 6
    assert files[1] == {name: files[0][name] for name in files[1]}
    assert captions[1] == {name: captions[0][name] for name in captions[1]}


def test_what_cannot_be_sent_to_a_worker_is_drawn_here(tmp_path):
    result = study(figures={"1": plain, "2": unsendable(), "3": raising}).run(60, out=tmp_path)
    made = publish(result, config=CONFIG, n_jobs=2, report=False)
    assert made.not_drawn == {"3": "ZeroDivisionError: in this process"}


def test_workers_get_a_result_without_its_large_frames():
    result = study(figures={"1": plain}).run(60)
    _ = result.summary, result.failures, result.claims
    _, (sent, _, _) = _Draw(result, None, False).__reduce__()
    assert sent.summary.equals(result.summary)
    assert set(sent._frames) == {"summary"}
    assert set(vars(sent.details)) == {each.name for each in fields(sent.details)}
