"""A time budget ends a run with a balanced study, and the next one goes on."""

import inspect
import re
import sys
import time
from dataclasses import dataclass

import numpy as np
import pytest

from simstudy import Study, Workers, grid
from simstudy.cli import main
from simstudy.cli.settings import read_seconds
from simstudy.engine.warning import OutOfTime, is_warned
from simstudy.errors import ConfigError
from simstudy.measures import mean
from tests.cli.projects import write

HEAD = '''"""Slow."""

import time
from dataclasses import dataclass

from simstudy import Study, grid
from simstudy.measures import mean

SLOW = 0.02


'''
STUDY = """
@dataclass
class Config:
    n_scenarios: int = 3


def study(config):
    return slow(config.n_scenarios)
"""
SLOW = 0.02  # seconds of a block
ENOUGH = 4.0  # for some blocks, on a machine that does other things too
INLINE = Workers("inline", 1)


@dataclass(frozen=True)
class Slow:
    shift: int

    def simulate(self, streams, n_rep):
        time.sleep(SLOW)
        return {"x": streams("data").normal(self.shift, size=n_rep)}


def slow(n_scenarios=3):
    return Study(
        name="slow",
        scenarios=grid(Slow, shift=list(range(n_scenarios))),
        measures=[mean("x")],
        block_size=10,
    )


@pytest.fixture(autouse=True, scope="module")
def _what_a_first_run_imports():
    slow().run(10, workers=INLINE)


@pytest.mark.parametrize("workers", [INLINE, Workers("auto", 2)], ids=["inline", "auto"])
def test_every_scenario_has_as_many_when_time_is_up(workers, tmp_path):
    ended = slow().run(100_000, budget=ENOUGH, workers=workers, out=tmp_path)
    (n,) = set(ended.n_rep.values())
    assert 10 <= n < 100_000
    assert n % 10 == 0
    assert ended.n_left > 0
    assert f"out of time: {ended.n_left:,} blocks are to go" in repr(ended)
    assert ended.outcome.n_blocks >= 3 * n / 10
    assert ended.outcome.seconds > SLOW
    assert not is_warned()
    assert (ended.summary["n_rep"] == n).all()
    longer = slow().run(n + 10, workers=INLINE, out=tmp_path)
    assert longer.n_left == 0
    assert longer.outcome.n_blocks <= 3
    for scenario in ended.plan.scenarios:
        first, more = (each.columns(scenario, "x")["x"] for each in (ended, longer))
        assert np.array_equal(first, more[:n])


def test_a_budget_that_is_enough_changes_nothing():
    result = slow().run(20, budget=1000, workers=INLINE)
    assert result.n_left == 0
    assert set(result.n_rep.values()) == {20}


def test_a_budget_without_a_block_of_each_is_out_of_time():
    with pytest.raises(OutOfTime):
        slow(200).run(10, budget=2 * SLOW, workers=INLINE)
    assert not is_warned()
    assert slow().run(10, workers=INLINE).n_left == 0


def test_where_a_precision_decides_each_scenario_keeps_what_it_has(tmp_path):
    asked = {"precision": {"mean_x": 1e-4}, "budget": ENOUGH / 2, "out": tmp_path}
    ended = slow().run(10, workers=INLINE, **asked)
    assert ended.n_left > 0
    assert min(ended.n_rep.values()) >= 10


@pytest.mark.parametrize("budget", [0, -1, float("nan"), float("inf"), "2h", True])
def test_what_is_no_time_is_refused(budget):
    with pytest.raises(ConfigError, match=re.escape(f"budget={budget!r}: a run takes some time")):
        slow().run(10, budget=budget)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("1.5m", 90), ("2h", 7200), ("1d", 86400)]
)
def test_times_as_people_write_them(text, seconds):
    assert read_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "h", "2x", "0m", "-1h", "inf", "nan", "1h30m"])
def test_what_no_time_is_written_like_is_refused(text):
    with pytest.raises(ConfigError, match=re.escape(f"budget={text}: allowed is a time above 0")):
        read_seconds(text)


# ---------------------------------------------------------------- on the command line
def test_a_command_publishes_what_there_is_and_says_how_to_go_on(tmp_path, monkeypatch, capsys):
    body = inspect.getsource(Slow) + inspect.getsource(slow).replace('"slow"', '"few"')
    write(tmp_path, {"experiments/__init__.py": "", "experiments/few.py": HEAD + body + STUDY})
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [name for name in sys.modules if name.partition(".")[0] == "experiments"]:
        monkeypatch.delitem(sys.modules, name)
    asked = ["experiment=few", "n_rep=100000", "backend=inline", "report=false", "progress=false"]
    assert main([*asked, "budget=2s"]) == 75
    told = capsys.readouterr().out
    assert re.search(
        r"[\d,]+ replicates in each of 3 scenarios, [\d,]+ in all \([1-9][\d,]* drawn now", told
    )
    last = told.splitlines()[-1]
    to_go = r"budget=2s is spent, and [\d,]+ blocks are to go, about [\d.]+ \w+ on one core\. "
    assert re.match(rf"{to_go}To go on: simstudy ", last)
    assert (tmp_path / "results" / "few" / "summary.parquet").exists()
