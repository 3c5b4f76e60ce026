"""A time budget ends a run with a balanced study, and the next one goes on."""

import re
import threading
import time
from dataclasses import dataclass, replace

import numpy as np
import pytest

from simstudy import Study, grid
from simstudy.cli import main
from simstudy.engine import graceful_stop
from simstudy.engine.graceful_stop import OutOfTime, stop_requested
from simstudy.errors import ConfigError
from simstudy.measures import mean
from simstudy.study.run_options import read_seconds
from tests.cli.projects import inside, write
from tests.support import INLINE

STUDY = '''"""Counted."""

from dataclasses import dataclass

from tests.test_budget import counted


@dataclass
class Config:
    n_scenarios: int = 3


def study(config):
    return counted(config.n_scenarios)
'''
TIMER = threading.Timer


class BlockTimer:
    """Its time is up when so many blocks have been drawn in this process: no clock is asked."""

    running = None

    def __init__(self, seconds, end):
        self.n_left, self.end = seconds, end

    def start(self):
        BlockTimer.running = self

    def cancel(self):
        BlockTimer.running = None

    def is_alive(self):
        return False

    @classmethod
    def count(cls):
        if cls.running is not None:
            cls.running.n_left -= 1
            if cls.running.n_left == 0:
                cls.running.end()


@pytest.fixture(autouse=True)
def timer(monkeypatch):
    monkeypatch.setattr(graceful_stop.threading, "Timer", BlockTimer)


@dataclass(frozen=True)
class Counted:
    shift: int

    def simulate(self, streams, n_rep):
        BlockTimer.count()
        return {"x": streams("data").normal(self.shift, size=n_rep)}


def counted(n_scenarios=3):
    return Study(
        name="few",
        scenarios=grid(Counted, shift=list(range(n_scenarios))),
        measures=[mean("x")],
        block_size=10,
    )


def test_every_scenario_has_as_many_when_time_is_up(tmp_path):
    ended = counted().run(100_000, budget=50, **INLINE, out=tmp_path)
    (n,) = set(ended.n_rep.values())
    assert 10 <= n < 100_000
    assert n % 10 == 0
    assert ended.details.n_left > 0
    assert f"out of time: {ended.details.n_left:,} blocks are to go" in repr(ended)
    assert ended.outcome.n_blocks >= 3 * n / 10
    assert not stop_requested()
    assert (ended.summary["n_rep"] == n).all()
    longer = counted().run(n + 10, **INLINE, out=tmp_path)
    assert longer.details.n_left == 0
    assert longer.outcome.n_blocks <= 3
    for scenario in ended.plan.scenarios:
        first, more = (each.columns(scenario, "x")["x"] for each in (ended, longer))
        assert np.array_equal(first, more[:n])


def test_a_budget_that_is_spent_before_every_scenario_has_a_block_is_out_of_time(tmp_path):
    with pytest.raises(OutOfTime):
        counted().run(100, budget=1, **INLINE, out=tmp_path)
    assert not (tmp_path / "few" / "manifest.json").exists()
    assert counted().run(20, **INLINE, out=tmp_path).outcome.n_blocks < 6, "what was drawn is kept"


def test_a_budget_that_is_enough_changes_nothing():
    result = counted().run(20, budget=1000, **INLINE)
    assert result.details.n_left == 0
    assert set(result.n_rep.values()) == {20}


@dataclass(frozen=True)
class Slow(Counted):
    def simulate(self, streams, n_rep):
        time.sleep(0.02)
        return super().simulate(streams, n_rep)


@pytest.mark.slow
def test_a_budget_without_a_block_of_each_is_out_of_time(monkeypatch):
    monkeypatch.setattr(graceful_stop.threading, "Timer", TIMER)
    slow = replace(counted(), scenarios=grid(Slow, shift=list(range(200))))
    with pytest.raises(OutOfTime):
        slow.run(10, budget=0.04, **INLINE)
    assert not stop_requested()
    assert counted().run(10, **INLINE).details.n_left == 0


def test_where_a_precision_decides_each_scenario_keeps_what_it_has(tmp_path):
    asked = {"precision": {"mean_x": 1e-4}, "budget": 50, "out": tmp_path}
    ended = counted().run(10, **INLINE, **asked)
    assert ended.details.n_left > 0
    assert min(ended.n_rep.values()) >= 10


@pytest.mark.slow
def test_a_clock_ends_a_run_of_several_workers(monkeypatch, tmp_path):
    monkeypatch.setattr(graceful_stop.threading, "Timer", TIMER)
    ended = counted().run(10_000_000, budget=20.0, backend="auto", n_jobs=2, out=tmp_path)
    (n,) = set(ended.n_rep.values())
    assert 10 <= n < 10_000_000
    assert ended.details.n_left > 0


@pytest.mark.parametrize("budget", [0, -1, float("nan"), float("inf"), "2 h"])
def test_what_is_no_time_is_refused(budget):
    with pytest.raises(ConfigError, match=re.escape(f"budget={budget} is not allowed")):
        counted().run(10, budget=budget)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("1.5m", 90), ("2h", 7200), ("1d", 86400)]
)
def test_times_as_people_write_them(text, seconds):
    assert read_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "h", "2x", "0m", "-1h", "inf", "nan", "1h30m"])
def test_what_no_time_is_written_like_is_refused(text):
    with pytest.raises(ConfigError, match=re.escape(f"budget={text} is not allowed")):
        read_seconds(text)


# ---------------------------------------------------------------- on the command line
def test_a_command_publishes_what_there_is_and_says_how_to_go_on(tmp_path, capsys):
    write(tmp_path, {"experiments/__init__.py": "", "experiments/few.py": STUDY})
    asked = ["experiment=few", "n_rep=100000", "backend=inline", "report=false", "progress=false"]
    with inside(tmp_path):
        assert main([*asked, "budget=50s"]) == 75
    told = capsys.readouterr().out
    assert re.search(
        r"[\d,]+ replicates in each of 3 scenarios, [\d,]+ in all \([1-9][\d,]* blocks? drawn now",
        told,
    )
    last = told.splitlines()[-1]
    to_go = r"budget=50s is spent, and [\d,]+ blocks are missing\. To go on: simstudy "
    assert re.match(to_go, last)
    assert list((tmp_path / "results" / "few" / "runs").glob("*/summary.parquet"))
