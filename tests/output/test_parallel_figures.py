"""Figures that workers draw are those of this process; one that kills its worker costs itself."""

import multiprocessing
import os
import signal
import threading
import time
from dataclasses import fields
from functools import partial

import pytest
from matplotlib.figure import Figure

from simstudy.output import parallel_figures
from simstudy.output.folder import _Draw, publish
from simstudy.output.parallel_figures import ENDED, FigureWorkers
from tests.output.standing import CONFIG, FILE, manifest_of, study
from tests.output.standing import plain_figure as plain


@pytest.fixture(autouse=True)
def _used_at_once(monkeypatch):
    monkeypatch.setattr(parallel_figures, "START_SECONDS", 0.0)


def where(name):
    time.sleep(0.05)
    return name, os.getpid()


def test_the_first_is_drawn_here_and_workers_draw_the_others_in_order():
    with FigureWorkers(2) as workers:
        names, processes = zip(*workers.map(where, "abcdef"), strict=True)
        (_, again), *_ = workers.map(where, "ab")
    assert "".join(names) == "abcdef"
    assert processes[0] == os.getpid()
    assert len(set(processes[1:])) == 2
    assert os.getpid() not in processes[1:]
    assert again in processes[1:], "they are kept for the next study"
    for process in set(processes[1:]):
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


def wait(folder, name):
    (folder / str(os.getpid())).touch()
    time.sleep(60 if is_worker() else 0)


def test_a_stop_ends_workers_in_the_middle_of_a_figure(tmp_path):
    def stop():
        while len(list(tmp_path.iterdir())) < 3:
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=stop, daemon=True).start()
    with pytest.raises(KeyboardInterrupt), FigureWorkers(2) as workers:
        workers.map(partial(wait, tmp_path), "abc")
    for process in {int(path.name) for path in tmp_path.iterdir()} - {os.getpid()}:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


UNSENDABLE = partial(lambda _, name: where(name), (each for each in ()))


@pytest.mark.parametrize(
    ("n_jobs", "seconds", "draw"),
    [(1, 0.0, where), (2, 60.0, where), (2, 0.0, UNSENDABLE)],
    ids=["one job", "not worth it", "cannot be pickled"],
)
def test_without_workers_all_are_drawn_here(n_jobs, seconds, draw, monkeypatch):
    monkeypatch.setattr(parallel_figures, "START_SECONDS", seconds)
    with FigureWorkers(n_jobs) as workers:
        assert {process for _, process in workers.map(draw, "abc")} == {os.getpid()}


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


def test_files_are_those_that_one_process_makes_and_one_that_ends_its_worker_costs_itself(tmp_path):
    drawn = {"1": plain, "ends": ending, "raises": raising, "2": local_figure(), "3": plain}
    made, files, captions = [], [], []
    with FigureWorkers(2) as two:
        for name, workers in (("here", None), ("workers", two)):
            result = study(figures=drawn).run(60, out=tmp_path / name)
            made.append(publish(result, config=CONFIG, module_file=FILE, workers=workers))
            there = (result.folder / "figures").iterdir()
            files.append({path.name: path.read_bytes() for path in there})
            captions.append(manifest_of(result.folder)["captions"])
    assert made[0].not_drawn == {"raises": "ZeroDivisionError: in this process"}
    assert made[1].not_drawn == {"ends": ENDED, "raises": "ZeroDivisionError: in a worker"}
    assert sorted(manifest_of(made[1].folder)["figures_failed"]) == ["ends", "raises"]
    assert len(files[1]) == 6
    assert files[1] == {name: files[0][name] for name in files[1]}
    assert captions[1] == {name: captions[0][name] for name in captions[1]}


def test_workers_get_a_result_without_its_large_frames():
    result = study(figures={"1": plain}).run(60)
    _ = result.summary, result.failures, result.claims
    _, (sent, _, _) = _Draw(result, None, {}).__reduce__()
    assert sent.summary is result.summary
    assert not {"failures", "claims", "warnings"} & set(vars(sent))
    assert set(vars(sent.details)) == {each.name for each in fields(sent.details)}
