"""How far a run is: rarely said where nobody watches, and never where nobody asked."""

import contextlib
import io

import pytest

from simstudy.engine import progress
from simstudy.engine.progress import LINE_SECONDS, Bar
from tests.factories import Terminal, mean_study


class Clock:
    now = 100.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(progress.time, "monotonic", made.monotonic)
    return made


def test_a_line_now_and_then_where_there_is_no_terminal(clock, capsys):
    with Bar("toy") as bar:
        bar.begin(10_000)
        for _ in range(5):
            clock.now += LINE_SECONDS / 4 + 0.1
            bar.advance(400)
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == "toy: 16%, 55 s left\n"


def test_the_first_block_and_the_start_of_workers_say_nothing_about_the_rest(clock):
    """Twenty seconds of compilation, then a hundred replicates per second."""
    bar = Bar("toy")
    bar.begin(10_000)
    clock.now += 20
    bar.advance(100)
    assert bar.seconds_left() is None
    estimates = []
    while bar.done < bar.total:
        clock.now += 1
        bar.advance(100)
        estimates.append((bar.seconds_left(), (bar.total - bar.done) / 100))
    told = [(left, right) for left, right in estimates if left is not None]
    assert len(told) >= len(estimates) - 2
    assert all(left == pytest.approx(right) for left, right in told)


def test_a_resumed_run_starts_where_it_was(clock):
    bar = Bar("toy")
    bar.resume(600)
    bar.begin(400)
    assert (bar.done, bar.total) == (600, 1000)
    assert bar._text() == "60%"


def test_a_resumed_study_shows_what_is_stored(tmp_path):
    seen = []

    class Display(Bar):
        def resume(self, n_rep):
            seen.append(n_rep)

    study = mean_study(block_size=10)
    study.run(20, out=tmp_path, n_jobs=1)
    study.run(50, out=tmp_path, n_jobs=1, progress=Display("toy", visible=False))
    assert seen == [20 * len(study.scenarios) * max(len(study.methods), 1)]


def test_unasked_nothing_is_said_but_a_note(clock, capsys):
    with Bar("toy", visible=False) as bar:
        bar.begin(100)
        clock.now += 10 * LINE_SECONDS
        bar.advance(50)
        bar.note("a worker died; 3 blocks to go")
    assert capsys.readouterr().err == "a worker died; 3 blocks to go\n"


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    return Terminal()


def test_a_bar_where_there_is_a_terminal(terminal):
    with contextlib.redirect_stderr(terminal), Bar("toy") as bar:
        bar.begin(200)
        bar.advance(100)
        bar.note("a worker died")
        bar.advance(100)
        bar.step("figure 3 of 4")
    assert "toy" in terminal.getvalue()
    assert "a worker died" in terminal.getvalue()
    assert "figure 3 of 4" in terminal.getvalue()


@pytest.mark.parametrize(
    ("asked", "in_terminal", "is_shown"),
    [(None, True, True), (None, False, False), (False, True, False), (True, False, True)],
)
def test_who_sees_progress_of_a_run_from_python(
    asked, in_terminal, is_shown, terminal, monkeypatch
):
    monkeypatch.setattr(progress.sys, "stderr", terminal if in_terminal else io.StringIO())
    with progress.progress_of("toy", asked) as shown:
        assert isinstance(shown, Bar) == is_shown
        shown.note("warned of elsewhere")
    assert "elsewhere" not in progress.sys.stderr.getvalue()
