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

from simstudy.output import folder, parallel_figures
from simstudy.output.folder import publish
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


@pytest.mark.parametrize(
    ("n_jobs", "seconds"), [(1, 0.0), (2, 60.0)], ids=["one job", "not worth it"]
)
def test_without_workers_all_are_drawn_here(n_jobs, seconds, monkeypatch):
    monkeypatch.setattr(parallel_figures, "START_SECONDS", seconds)
    with FigureWorkers(n_jobs) as workers:
        assert {process for _, process in workers.map(where, "abc")} == {os.getpid()}


def test_what_cannot_be_pickled_is_drawn_here():
    unsendable = partial(lambda _, name: where(name), (each for each in ()))
    with FigureWorkers(2) as workers:
        assert {process for _, process in workers.map(unsendable, "abc")} == {os.getpid()}


def test_workers_that_began_at_once_draw_all_and_those_that_end_cost_one():
    with FigureWorkers(2) as workers:
        begun = workers.begin(where, "abc")
        names, processes = zip(*workers.map(where, "abc", begun), strict=True)
        ended = workers.begin(end_at_b, "abc")
        assert [each and each[0] for each in workers.map(end_at_b, "abc", ended)] == [
            "a",
            None,
            "c",
        ]
    assert "".join(names) == "abc"
    assert os.getpid() not in processes
    with FigureWorkers(1) as workers:
        assert workers.begin(where, "abc") is None


def end_at_b(name):
    if name == "b":
        os.kill(os.getpid(), signal.SIGKILL)
    return where(name)


def is_worker():
    return "Loky" in multiprocessing.current_process().name


def ending(result):
    if is_worker():
        os.kill(os.getpid(), signal.SIGKILL)
    return plain(result)


def raising(result):
    raise ZeroDivisionError(f"in {'a worker' if is_worker() else 'this process'}")


def figures():
    """One made in a notebook among them, which is sent by what it consists of."""

    def local(result):
        figure = Figure(figsize=(3, 2))
        figure.add_subplot().plot(result.rows(columns=["estimate"])["estimate"])
        return figure

    return {"1": plain, "2": local, "3": lambda result: plain(result), "4": plain}


def published(folder, figures, workers):
    result = study(figures=figures).run(60, out=folder)
    made = publish(result, config=CONFIG, module_file=FILE, workers=workers)
    return made, {path.name: path.read_bytes() for path in (made.folder / "figures").iterdir()}


@pytest.fixture(params=[5.0, -1.0], ids=["after the claims", "beside the claims"])
def _begun(request, monkeypatch):
    monkeypatch.setattr(folder, "LONG_SECONDS", request.param)


@pytest.mark.usefixtures("_begun")
def test_files_and_captions_are_those_that_one_process_makes(tmp_path):
    in_turn, expected = published(tmp_path / "in_turn", figures(), None)
    with FigureWorkers(2) as workers:
        made, files = published(tmp_path / "workers", figures(), workers)
    assert files == expected
    assert len(files) == 8
    captions = [manifest_of(each.folder)["captions"] for each in (in_turn, made)]
    assert captions[0] == captions[1]


@pytest.mark.usefixtures("_begun")
def test_a_figure_that_raises_or_kills_its_worker_is_recorded_and_the_others_are_drawn(tmp_path):
    broken = {"1": plain, "ends": ending, "raises": raising, "2": plain, "3": plain}
    with FigureWorkers(2) as workers:
        made, files = published(tmp_path, broken, workers)
    assert made.not_drawn == {"ends": ENDED, "raises": "ZeroDivisionError: in a worker"}
    manifest = manifest_of(made.folder)
    assert sorted(manifest["figures_failed"]) == ["ends", "raises"]
    assert {name.partition(".")[0] for name in files} == {"1", "2", "3"}


def test_workers_get_a_result_without_its_large_frames():
    from simstudy.output.folder import _Draw

    result = study(figures={"1": plain}).run(60)
    _ = result.summary, result.failures, result.claims
    _, (sent, _, _) = _Draw(result, None, {}).__reduce__()
    assert sent.summary is result.summary
    assert not {"failures", "claims", "warnings"} & set(vars(sent))
    assert set(vars(sent.details)) == {each.name for each in fields(sent.details)}
