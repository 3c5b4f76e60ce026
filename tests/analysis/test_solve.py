"""Bisection against a scan of all values, its coverage, and the 399 of the two-stage trial."""

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import special

from simstudy.analysis.solve import Search, Solution
from simstudy.design import Columns
from simstudy.documents.scenarios.two_stage import MEASURES, TwoStage
from simstudy.documents.stats.two_stage import solve_design
from simstudy.errors import ConfigError, StudyError
from simstudy.measures import mean, power, rejection_rate
from simstudy.measures.intervals import wilson
from simstudy.provenance.streams import Streams
from simstudy.study import Rules, Study
from tests.factories import Mean, mean_study
from tests.support import INLINE, assert_caught, assert_within_mcse

# ---------------------------------------------------------------- the search alone
LOW, HIGH, TARGET, LEVEL = 20, 1000, 0.8, 0.95
N_SEARCHES = 300


def probability(n: float) -> float:
    return float(special.ndtr(-1.645 + 0.15 * np.sqrt(n)))


LEAST = next(n for n in range(LOW, HIGH) if probability(n) >= TARGET)


class OneRow:
    """A result of one row."""

    def __init__(self, share: float, n_rep: int, z: float = 1.0) -> None:
        lower, upper = wilson(share, n_rep, level=special.erf(z / 2**0.5))
        error = math.sqrt(share * (1 - share) / n_rep)
        numbers = {"estimate": share, "mcse": error, "lower": float(lower), "upper": float(upper)}
        self._row = numbers | {"n_rep": n_rep, "reason": ""}

    def row(self, measure: str) -> dict[str, Any]:
        return self._row


def searched(run: Callable[[float], OneRow], low: float = LOW, high: float = HIGH) -> Solution:
    return Search(run, "n", "power", TARGET, low, high).solve()  # type: ignore[arg-type]


def on_common_numbers(rng: np.random.Generator, n_rep: int, z: float) -> Callable[..., OneRow]:
    uniform = np.sort(rng.random(n_rep))
    return lambda n: OneRow(np.searchsorted(uniform, probability(n)) / n_rep, n_rep, z)


@pytest.mark.parametrize("falls", [False, True])
def test_value_and_limits_are_those_of_a_scan_of_all_values(falls: bool) -> None:
    shares = {n: (1 - probability(n) if falls else probability(n)) for n in range(LOW, HIGH + 1)}
    rows = {n: OneRow(share, 500).row("") for n, share in shares.items()}
    target = 1 - TARGET if falls else TARGET
    found = Search(
        lambda n: OneRow(shares[n], 500), "n", "x", target, LOW, HIGH,  # type: ignore
    ).solve()  # fmt: skip
    sign, near, far = (-1, "lower", "upper") if falls else (1, "upper", "lower")

    def least(column: str) -> int:
        return next(n for n, row in rows.items() if sign * row[column] >= sign * target)

    assert (found.value, found.lower, found.upper) == (least("estimate"), least(near), least(far))
    assert found.value == LEAST
    assert found.trace["estimate"].is_monotonic_increasing != falls


def coverage_of(reading: Callable[..., Callable[..., OneRow]], z: float) -> list[bool]:
    runs = (reading(np.random.default_rng(seed), 400, z) for seed in range(N_SEARCHES))
    return [found.lower <= LEAST <= found.upper for found in map(searched, runs)]


def test_the_interval_has_its_coverage_on_common_random_numbers() -> None:
    error = math.sqrt(LEVEL * (1 - LEVEL) / N_SEARCHES)
    covered = np.mean(coverage_of(on_common_numbers, special.ndtri((1 + LEVEL) / 2)))
    assert_within_mcse(covered, LEVEL, error)
    assert_caught(np.mean(coverage_of(on_common_numbers, 1.0)), LEVEL, error)


def test_an_interval_ends_at_the_bracket() -> None:
    found = searched(lambda n: OneRow(probability(n), 30), LEAST - 1, LEAST + 1)
    assert (found.lower, found.value, found.upper) == (LEAST - 1, LEAST, LEAST + 1)


def test_real_values_are_found_to_the_tolerance() -> None:
    exact = ((special.ndtri(TARGET) + 1.645) / 0.15) ** 2
    found = searched(lambda n: OneRow(probability(n), 500), 20.0, 1000.0)
    assert exact <= found.value < exact + 980 / 1000


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"low": 9, "high": 9}, "low=9 and high=9 leave nothing between them"),
        ({"low": -math.inf}, "low=-inf and high=1000 leave nothing"),
        (
            {"low": 2.0, "tolerance": 0},
            "tolerance=0 is not allowed: .* for example tolerance=0.998",
        ),
        (
            {"low": 500},
            r"power is 0.9\d* \(MCSE .*\) at n=500 and power is .* both are on one side",
        ),
    ],
)
def test_a_search_without_an_answer_is_refused(change: dict[str, float], text: str) -> None:
    asked = {"low": LOW, "high": HIGH} | change
    with pytest.raises((ConfigError, StudyError), match=text):
        Search(
            lambda n: OneRow(probability(n), 500), "n", "power", TARGET, **asked,  # type: ignore
        ).solve()  # fmt: skip


# ---------------------------------------------------------------- through the engine
TRIAL = TwoStage(k=1.5, n1=150, n2=2, alpha=0.05, draws="sufficient")
EXACT = solve_design(n1=150, k=1.5, alpha=0.05, power=0.8)
QUESTION = {"measure": "power", "target": 0.8, "low": 50, "high": 1000, "n_rep": 20_000}


def two_stage(scenarios: tuple[TwoStage, ...] = (TRIAL,), **rules: object) -> Study:
    return Study("two_stage", scenarios, MEASURES, block_size=1000, rules=Rules(**rules))  # type: ignore


def solve_n2(**other: object) -> Solution:
    return two_stage().solve(TRIAL, "n2", **QUESTION | INLINE | other)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def found() -> Solution:
    return solve_n2()


def test_the_399_is_found_without_theory(found: Solution) -> None:
    assert EXACT.n2 == 399
    assert found.lower < 399 < found.upper
    assert found.upper - found.lower < 40
    assert abs(found.value - 399) < (found.upper - found.lower)


@pytest.mark.slow
def test_that_test_catches_power_over_all_replicates() -> None:
    """Forgetting the condition asks for 80% rejections in all, true nulls among them."""
    wrong = solve_n2(measure=rejection_rate("reject", name="power"))
    assert not wrong.lower < 399 < wrong.upper


def test_replicates_are_those_of_a_study_with_common_random_numbers(found: Solution) -> None:
    one = dataclasses.replace(TRIAL, n2=found.value)
    result = two_stage((one,), common_random_numbers=("n2",)).run(20_000, **INLINE)
    row = found.trace[found.trace["n2"] == found.value].squeeze()
    assert result.row("power")[["estimate", "mcse"]].equals(row[["estimate", "mcse"]])


def test_stored_blocks_are_found_again(tmp_path: Path) -> None:
    found = solve_n2(n_rep=2000)
    assert solve_n2(n_rep=2000, out=tmp_path) == found
    files = sorted(tmp_path.rglob("*.parquet"))
    again = solve_n2(n_rep=2000, out=tmp_path, backend="threads", n_jobs=2)
    assert again == found
    assert again.trace.equals(found.trace)
    assert files
    assert sorted(tmp_path.rglob("*.parquet")) == files


def test_a_measure_that_falls_in_one_cell() -> None:
    """The empirical SE of a mean falls to 1/4 at 16 observations."""
    found = mean_study(block_size=200).solve(
        Mean(3), "n_obs", measure="empirical_se", target=0.25, low=4, high=100,
        where={"method": "z"}, n_rep=2000, **INLINE,
    )  # fmt: skip
    assert found.lower <= 16 <= found.upper
    assert set(found.trace["method"]) == {"z"}


@dataclasses.dataclass(frozen=True)
class Flips:
    """One flip, whose heads have probability x / 100."""

    x: int

    def draw(self, streams: Streams, n_rep: int) -> Columns:
        return {"heads": streams("data").random(n_rep) < self.x / 100}


def counted(heads: np.ndarray) -> Columns:
    return {"hit": heads}


def not_asked_for(heads: np.ndarray) -> Columns:
    raise ValueError("this method was not asked for")


def test_other_methods_are_not_drawn() -> None:
    methods = {"counted": counted, "other": not_asked_for}
    rules = Rules(across_replicates=("other",))
    study = Study("flips", [Flips(1)], [power("hit")], methods, block_size=200, rules=rules)
    found = study.solve(
        Flips(1), "x", measure="power", target=0.5, low=10, high=90, n_rep=400,
        where={"method": "counted"}, **INLINE,
    )  # fmt: skip
    assert found.lower <= 50 <= found.upper


# ---------------------------------------------------------------- a scenario that misbehaves
@dataclasses.dataclass(frozen=True)
class Coin:
    """Shows heads with probability x / 100."""

    x: float
    fails_above: float = math.inf
    undefined_above: float = math.inf

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        if self.x > self.fails_above:
            raise ValueError("the coin is lost")
        uniform = streams("data").random((2, n_rep))
        asked = (uniform[1] > 0.5) & (self.x <= self.undefined_above)
        return {"heads": uniform[0] < self.x / 100, "asked": asked}


COIN_MEASURES = (power("heads"), mean("heads"), power("heads", given="asked", name="if_asked"))


def solve_coin(coin: Coin, measure: object = "power", **other: object) -> Solution:
    study = Study("coin", [Coin(0)], COIN_MEASURES, block_size=200)
    asked = {"target": 0.5, "low": 10, "high": 90, "n_rep": 400, **INLINE}
    return study.solve(coin, "x", measure=measure, **asked | other)  # type: ignore[arg-type]


def test_a_point_where_all_fails_is_named_with_its_error() -> None:
    with pytest.raises(StudyError, match=r"Coin\(x=90, .*coin is lost"):
        solve_coin(Coin(0, fails_above=60))


def test_a_value_without_an_estimate_is_refused() -> None:
    text = r"if_asked has no value at x=90 \(no replicate has asked\)"
    with pytest.raises(StudyError, match=text):
        solve_coin(Coin(0, undefined_above=80), "if_asked")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"measure": "pover"}, "measure='pover': the study has none; .*'power'"),
        ({"factor": "z"}, "Coin has no factor 'z'"),
        ({"n_reps": 3}, "n_reps: a run has no such option"),
    ],
)
def test_a_wrong_name_is_refused_before_anything_is_drawn(
    change: dict[str, object], text: str
) -> None:
    lost = Coin(0, fails_above=-1)
    asked = {"factor": "x", "measure": "power", "target": 0.5, "low": 10, "high": 90} | change
    with pytest.raises(ConfigError, match=text):
        Study("coin", [lost], COIN_MEASURES).solve(lost, **asked)  # type: ignore[arg-type]
