"""Runs of few blocks: a pilot shows whether replicates depend on each other."""

import pickle
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import special

from simstudy.engine import loop, second_draw
from simstudy.engine.independence import block_spread
from simstudy.engine.progress import Silent
from simstudy.engine.second_draw import (
    LEVEL,
    N_BLOCKS,
    least_spread,
    pilot_size,
)
from simstudy.measures import mean, rejection_rate
from simstudy.study import Rules, Study
from tests.factories import mean_study


@pytest.fixture(autouse=True)
def _is_on(monkeypatch):
    monkeypatch.setattr(loop, "check_repeatable", second_draw.check_repeatable)
    monkeypatch.setattr(loop, "draw_pilot", second_draw.draw_pilot)
    monkeypatch.setattr(second_draw, "MIN_SECONDS", 60.0)


@dataclass(frozen=True)
class Data:
    kind: str
    n: int = 5

    def draw(self, streams, n_rep):
        rng = streams("data")
        x = rng.normal(size=(n_rep, self.n))
        if self.kind == "repeated":
            x = np.repeat(x[: -(-n_rep // 10)], 10, axis=0)[:n_rep]
        if self.kind == "neighbours":
            for row in range(1, n_rep):
                x[row] = 0.8 * x[row - 1] + 0.6 * x[row]
        if self.kind == "shifted":
            x += rng.normal(scale=0.3)
        if self.kind == "pairs":
            x[1::2] = -x[::2]
        if self.kind == "centred":
            x -= x.mean()
        return {"x": x}


def average(x):
    b = x.mean(axis=1)
    return {
        "b": b,
        "reject": np.abs(b) > 2.0,
        "count": np.round(2 * b),
        "p": np.round(special.ndtr(b), 2),
    }


def in_order(x):
    return {"b": np.sort(x.mean(axis=1))}


MEASURES = [mean("b"), rejection_rate("reject"), mean("count"), mean("p")]


def run(kind, method=average, n_rep=2000, measures=MEASURES, **settings):
    study = Study(
        "pilot", [Data(kind)], measures, methods={"m": method}, block_size=1000, **settings
    )
    return study.run(n_rep, backend="inline", n_jobs=1, progress=Silent()).outcome


@pytest.mark.parametrize(
    ("kind", "n_rep"),
    [("repeated", 2000), ("neighbours", 2000), ("shifted", 1000), ("shifted", 4000)],
)
def test_dependence_is_found_in_runs_of_few_blocks(kind, n_rep):
    warnings = run(kind, n_rep=n_rep).warnings
    (said,) = [text for text in warnings if "vary" in text]
    assert "block means of b vary" in said
    assert "Rules(group_size=...)" in said


def test_independent_replicates_give_no_warning():
    """Shares, counts, rounded p-values."""
    outcome = run("independent")
    assert outcome.warnings == []
    (said,) = outcome.notes
    assert said.startswith("independence of replicates: a pilot of 20 blocks would have found")


@pytest.mark.parametrize("kind", ["pairs", "centred"])
def test_replicates_that_balance_each_other_give_a_warning(kind):
    """Their mean varies less than its error says: it is exact here, and the error is not 0."""
    (said,) = run(kind).warnings
    assert "of b vary 0" in said
    assert "for a mean over replicates that is subtracted" in said
    assert "Rules(group_size=...)" in said
    assert kind != "pairs" or run(kind, rules=Rules(group_size=2)).warnings == []


def test_the_order_within_blocks_accuses_nobody():
    outcome = run(
        "independent", in_order, measures=[mean("b")], rules=Rules(across_replicates=("m",))
    )
    assert outcome.warnings == []


def test_groups_are_tested_as_groups():
    assert run("repeated", rules=Rules(group_size=10), measures=[mean("b")]).warnings == []


def test_what_the_pilot_could_not_see_is_said():
    (said,) = run("independent").notes
    assert said.endswith("not tested (constant, rare or missing values): reject")


def test_an_exception_in_a_pilot_is_no_failure():
    def needs_whole_blocks(x):
        if len(x) < 1000:
            raise ValueError("too few")
        return {"b": x.mean(axis=1)}

    outcome = run(
        "independent",
        needs_whole_blocks,
        measures=[mean("b")],
        rules=Rules(across_replicates=("m",)),
    )
    assert outcome.n_failed == 0
    assert not [text for text in outcome.warnings if "vary" in text]


def test_long_runs_and_deterministic_ones_need_no_pilot(monkeypatch):
    drawn = []

    def redrawn(payload, _seconds):
        drawn.append(pickle.loads(payload).work)
        return second_draw.Answer(None, 0.0)

    monkeypatch.setattr(second_draw, "in_other_process", redrawn)
    assert run("independent", n_rep=5000).notes == []
    assert drawn == [second_draw._rows_of_block], "no pilot"


def test_without_time_it_is_said_that_nothing_was_checked(monkeypatch):
    monkeypatch.setattr(second_draw, "MIN_SECONDS", 1e-9)
    monkeypatch.setattr(second_draw, "PART_OF_RUN", 0.0)
    (said,) = run("independent").warnings
    assert "whether replicates of method m of Data depend on each" in said


# ---------------------------------------------------------------- its size
def plan_of(size, group_size=1):
    return replace(mean_study().plan(1), block_size=size, rules=Rules(group_size=group_size))


@pytest.mark.parametrize(
    ("size", "group", "seconds", "expected"),
    [
        (1000, 1, 40.0, 1000),
        (1000, 1, 21.8, 540),
        (1000, 1, 0.4, 20),
        (1000, 1, 0.3, None),
        (1000, 8, 21.8, 520),
        (5, 1, 100.0, 5),
        (50, 1, 0.0, None),
        (1000, 1, np.inf, 1000),
    ],
)
def test_a_block_is_as_large_as_the_time_allows(size, group, seconds, expected):
    """A replicate takes a millisecond."""
    assert pilot_size(plan_of(size, group), 1 / 1000, seconds) == expected


def test_the_least_spread_is_found_half_of_the_time():
    rng = np.random.default_rng(2)
    shift = least_spread(100, 1)
    values = rng.normal(size=(2000, N_BLOCKS, 100)) + shift * rng.normal(size=(2000, N_BLOCKS, 1))
    found = np.mean([block_spread(each)[1] < LEVEL for each in values])
    assert 0.35 < found < 0.65
