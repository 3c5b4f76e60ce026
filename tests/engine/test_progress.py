"""How far a run is: rarely said where nobody watches, and never where nobody asked."""

import contextlib
import io

import pytest

from simstudy.engine import progress
from simstudy.engine.progress import LINE_SECONDS, Bar
from tests.factories import Terminal


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
    assert told.err == "toy: 16%\n"


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
