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


@pytest.mark.parametrize("kind", ["independent", "pairs"])
def test_independent_replicates_give_no_warning(kind):
    """Shares, counts, rounded p-values, and pairs that balance each other."""
    outcome = run(kind)
    assert outcome.warnings == []
    (said,) = outcome.notes
    assert said.startswith("independence of replicates: a pilot of 20 blocks would have found")


def test_the_order_within_blocks_accuses_nobody():
    outcome = run(
        "independent", in_order, measures=[mean("b")], rules=Rules(across_replicates=("m",))
    )
    assert outcome.warnings == []


def test_groups_are_tested_as_groups():
    assert run("repeated", rules=Rules(group_size=10), measures=[mean("b")]).warnings == []


def test_what_the_pilot_could_not_see_is_said():
    (said,) = run("independent").notes
    assert "not tested: reject (always 0)" in said or "not tested: reject (share of " in said


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
        (1000, 1, 20.0, 1000),
        (1000, 1, 10.9, 540),
        (1000, 1, 0.4, 20),
        (1000, 1, 0.3, None),
        (1000, 8, 10.9, 520),
        (5, 1, 100.0, 5),
        (50, 1, 0.0, None),
        (1000, 1, np.inf, 1000),
    ],
)
def test_a_block_is_as_large_as_the_time_allows(size, group, seconds, expected):
    """A replicate takes a millisecond."""
    assert pilot_size(plan_of(size, group), 1 / 1000, seconds) == expected


def test_blocks_that_take_no_time_are_as_large_as_those_of_the_study():
    assert pilot_size(plan_of(1000), 0.0, 1.0) == 1000


@pytest.mark.parametrize(("n_rows", "shift", "is_found"), [(20, 0.1, False), (1000, 0.1, True)])
def test_a_shift_of_a_tenth_needs_large_blocks(n_rows, shift, is_found):
    rng = np.random.default_rng(1)
    values = rng.normal(size=(200, N_BLOCKS, n_rows)) + shift * rng.normal(size=(200, N_BLOCKS, 1))
    found = [block_spread(each)[1] < LEVEL for each in values]
    assert np.mean(found) == (1.0 if is_found else 0.0)
    assert (least_spread(n_rows, 1) < shift) == is_found


def test_the_least_spread_is_found_half_of_the_time():
    rng = np.random.default_rng(2)
    shift = least_spread(100, 1)
    values = rng.normal(size=(2000, N_BLOCKS, 100)) + shift * rng.normal(size=(2000, N_BLOCKS, 1))
    found = np.mean([block_spread(each)[1] < LEVEL for each in values])
    assert 0.35 < found < 0.65


# ---------------------------------------------------------------- false alarms
def p_values_of_counts(counts):
    """The test of block means for sets of counts of each value, shape `(set, block, value)`."""
    size = counts[0, 0].sum()
    total = counts.sum(axis=1)
    ranks = total.cumsum(axis=1) - (total - 1) / 2
    n = N_BLOCKS * size
    center = (total * ranks).sum(axis=1) / n
    spread = np.sqrt((total * (ranks - center[:, None]) ** 2).sum(axis=1) / (n - 1))
    scores = (ranks - center[:, None]) / np.where(spread > 0, spread, 1.0)[:, None]
    means = (counts * scores[:, None, :]).sum(axis=2) / size
    statistic = size * (means**2).sum(axis=1)
    return special.chdtrc(N_BLOCKS - 1, statistic)


def test_sums_of_counts_are_those_of_the_test():
    rng = np.random.default_rng(4)
    values = rng.choice(3, p=[0.5, 0.3, 0.2], size=(10, N_BLOCKS, 60))
    counts = np.stack([(values == level).sum(axis=2) for level in range(3)], axis=2)
    expected = [block_spread(each.astype(float))[1] for each in values]
    np.testing.assert_allclose(p_values_of_counts(counts), expected, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    "shares",
    [[0.5, 0.5], [0.8, 0.2], [0.95, 0.05], [0.6, 0.3, 0.1], np.full(20, 0.05)],
    ids=["half", "fifth", "twentieth", "three", "rounded p-values"],
)
def test_false_alarms_of_a_million_sets_of_rows(shares):
    """At most 1e-5 for any number of columns: of a million sets, ten on average for one column."""
    rng, n_alarms, size = np.random.default_rng(5), 0, 100 if min(shares) > 0.1 else 200
    for _ in range(50):
        counts = rng.multinomial(size, shares, size=(20_000, N_BLOCKS))
        n_alarms += int((p_values_of_counts(counts) < LEVEL).sum())
    assert n_alarms <= 10


@pytest.mark.slow
def test_false_alarms_of_a_million_sets_of_rows_without_ties():
    """Ranks are a random permutation, whatever the distribution; the smallest blocks of a pilot."""
    rng, n_alarms, n = np.random.default_rng(6), 0, 20 * N_BLOCKS
    spread = np.sqrt(n * (n + 1) / 12)
    for _ in range(100):
        ranks = rng.random((10_000, n), dtype=np.float32).argsort(axis=1)
        means = ranks.reshape(10_000, N_BLOCKS, 20).mean(axis=2)
        statistic = 20 * (((means - (n - 1) / 2) / spread) ** 2).sum(axis=1)
        n_alarms += int((special.chdtrc(N_BLOCKS - 1, statistic) < LEVEL).sum())
    assert n_alarms <= 10
