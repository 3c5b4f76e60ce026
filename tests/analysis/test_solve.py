"""The curve against slower formulas, the search against known answers, and the 399 of the trial."""

import dataclasses
import functools
import itertools
import math
import re
from collections.abc import Callable, Mapping

import mpmath
import numpy as np
import pytest
from scipy import interpolate, linalg, special

from simstudy.analysis import solve as search
from simstudy.analysis.curve import Curve, cross
from simstudy.analysis.solve import ONE_SE, Number, Solution, solve
from simstudy.analysis.solve import _Search as Search
from simstudy.design import Columns
from simstudy.documents.scenarios.two_stage import MEASURES, TwoStage
from simstudy.documents.stats.two_stage import solve_design
from simstudy.errors import ConfigError, StudyError
from simstudy.measures import Estimates, mean, power, rejection_rate
from simstudy.measures.intervals import critical_value, wilson
from simstudy.provenance.streams import Streams
from simstudy.study import Rules, Study
from tests.factories import Mean, mean_study
from tests.support import FALSE_ALARM, INLINE, assert_within_mcse, replicates_to_catch

CERTAIN = 1 - FALSE_ALARM  # level of an interval that misses once in 100,000 solutions

# ---------------------------------------------------------------- the curve
PLACES = np.array([0.0, 0.21, 0.3, 0.34, 0.7, 1.0])
HEIGHTS = np.array([-1.0, 0.3, 0.35, 0.5, 0.9, 1.6])
ERRORS = np.array([0.1, 0.06, 0.02, 0.05, 0.1, 0.2])
AT = np.linspace(0, 1, 23)


def wiener(u: float, v: float) -> float:
    """Covariance of the integral of a Wiener process at two times, in its textbook form."""
    least, most = min(u, v), max(u, v)
    return least**3 / 3 + least**2 * (most - least) / 2


def kriged(at: float, size: float) -> tuple[float, float]:
    """Best linear unbiased prediction, from the kriging equations with a Lagrange multiplier."""
    n, size2 = len(PLACES), size**2
    noisy = [[size2 * wiener(u, v) for v in PLACES] for u in PLACES] + np.diag(ERRORS**2)
    lines = np.array([[1.0, u] for u in PLACES])
    system = np.block([[noisy, lines], [lines.T, np.zeros((2, 2))]])
    right = np.array([*(size2 * wiener(at, v) for v in PLACES), 1.0, at])
    solved = np.linalg.solve(system, right)
    return solved[:n] @ HEIGHTS, math.sqrt(size2 * wiener(at, at) - solved @ right)


def restricted_likelihood(size: float) -> float:
    """Density of what is left of the heights after every straight line is projected out."""
    noisy = [[size**2 * wiener(u, v) for v in PLACES] for u in PLACES] + np.diag(ERRORS**2)
    free = linalg.null_space(np.array([[1.0, u] for u in PLACES]).T)
    spread, left = free.T @ noisy @ free, free.T @ HEIGHTS
    return math.exp(-left @ np.linalg.solve(spread, left) / 2) / math.sqrt(np.linalg.det(spread))


def curve(roughness: np.ndarray) -> Curve:
    return Curve(PLACES, HEIGHTS, ERRORS, rise=1.0, roughness=roughness)


def test_sizes_are_averaged_with_the_restricted_likelihood() -> None:
    sizes = np.array([4.0, 8.0, 40.0])
    weights = np.array([restricted_likelihood(size) for size in sizes])
    weights /= weights.sum()
    assert weights.max() < 0.9, "one size alone would not show a wrong average"
    plain = np.array([[kriged(at, size) for at in AT] for size in sizes])
    center = weights @ plain[..., 0]
    spread = weights @ (plain[..., 1] ** 2 + (plain[..., 0] - center) ** 2)
    mean, error = curve(sizes)(AT)
    np.testing.assert_allclose(mean, center, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(error, np.sqrt(spread), rtol=1e-7)


@pytest.mark.parametrize("size", [0.3, 3.0])
def test_mean_is_the_smoothing_spline_of_scipy(size: float) -> None:
    spline = interpolate.make_smoothing_spline(PLACES, HEIGHTS, w=ERRORS**-2, lam=size**-2)
    np.testing.assert_allclose(curve(np.array([size]))(AT)[0], spline(AT), rtol=1e-8)


def test_interval_for_the_crossing_of_a_line_is_fiellers() -> None:
    line, covariance = np.polyfit(PLACES, HEIGHTS, 1, w=1 / ERRORS, cov="unscaled")
    z, goal = 1.96, 0.4
    quadratic = np.polysub(
        np.polymul(np.polysub(line, [goal]), np.polysub(line, [goal])),
        z**2 * np.array([covariance[0, 0], 2 * covariance[0, 1], covariance[1, 1]]),
    )
    lower, upper = sorted(np.roots(quadratic))
    found = cross(curve(np.array([1e-9])), goal, z)
    np.testing.assert_allclose(found.place, (goal - line[1]) / line[0], rtol=1e-9)
    np.testing.assert_allclose([found.lower, found.upper], [lower, upper], rtol=1e-4)
    np.testing.assert_allclose(found.slope, line[0], rtol=1e-9)


def kriged_in_60_digits(places: list[float], heights: list[float], noise: float) -> list[float]:
    """Mean and error at the third place, of a process of size 8."""
    with mpmath.workdps(60):
        n, at = len(places), places[2]
        system = mpmath.zeros(n + 2)
        for i, j in itertools.product(range(n), repeat=2):
            system[i, j] = 64 * wiener(*map(mpmath.mpf, (places[i], places[j])))
            system[i, j] += mpmath.mpf(noise) ** 2 * (i == j)
        for i in range(n):
            system[i, n] = system[n, i] = 1
            system[i, n + 1] = system[n + 1, i] = places[i]
        right = mpmath.matrix(
            [64 * wiener(mpmath.mpf(at), mpmath.mpf(v)) for v in places] + [1, at]
        )
        solved = mpmath.lu_solve(system, right)
        mean = sum(solved[i] * mpmath.mpf(heights[i]) for i in range(n))
        variance = 64 * wiener(mpmath.mpf(at), mpmath.mpf(at)) - (solved.T * right)[0]
        return [float(mean), float(mpmath.sqrt(variance))]


@pytest.mark.parametrize("noise", [1e-2, 1e-5, 1e-8, 1e-12])
@pytest.mark.parametrize("gap", [2**-4, 2**-10, 2**-16])
def test_curve_keeps_its_digits_however_small_noise_and_gaps_are(noise: float, gap: float) -> None:
    places = [0.0, 0.4, 0.5, 0.5 + gap, 0.6, 1.0]
    heights = [math.sin(place) for place in places]
    arrays = (np.array(places), np.array(heights), np.full(6, noise))
    exact = Curve(*arrays, rise=1.0, roughness=np.array([8.0]))
    found = np.ravel(exact(np.array(places[2:3])))
    np.testing.assert_allclose(found, kriged_in_60_digits(places, heights, noise), rtol=1e-7)


def test_factor_is_on_a_log_scale_where_it_can_be() -> None:
    for low, high, middle in ((10, 1000, 100.0), (0, 1000, 500.0), (-1, 3, 1.0)):
        one = z_search(low=low, high=high)
        assert one.value(0.5) == pytest.approx(middle)
        assert one.unit(one.value(0.3)) == pytest.approx(0.3)


# ---------------------------------------------------------------- the search, on a known curve
class Trials:
    """Replicates that succeed with a known probability, in place of a simulation."""

    def __init__(self, probability: Callable[[float], float], seed: int) -> None:
        self.probability = probability
        self.rng = np.random.default_rng(seed)
        self.counts: dict[Number, tuple[int, int]] = {}

    def __call__(self, n_rep: Mapping[Number, int]) -> dict[Number, Estimates]:
        return {value: self.read(value, n) for value, n in n_rep.items()}

    def read(self, value: Number, n: int) -> Estimates:
        x, before = self.counts.get(value, (0, 0))
        x += int(self.rng.binomial(n - before, self.probability(value)))
        self.counts[value] = (x, n)
        limits, mcse = wilson(x / n, n, level=ONE_SE), math.sqrt(x / n * (1 - x / n) / n)
        return Estimates(*map(np.asarray, (x / n, mcse, *limits, n, 0, n, "")))


DRIFT, LEVEL, BLOCK = 0.2, 0.95, 1000
Z_TARGET = float(((special.ndtri(0.8) - special.ndtri(0.025)) / DRIFT) ** 2)
SD = math.sqrt(LEVEL * (1 - LEVEL))  # of one hit under the claim


def z_test_power(n: float) -> float:
    return float(special.ndtr(DRIFT * math.sqrt(n) + special.ndtri(0.025)))


def z_search(
    probability: Callable[[float], float] = z_test_power,
    seed: int = 1,
    block_size: int = BLOCK,
    **other: object,
) -> Search:
    asked = {"target": 0.8, "low": 0, "high": 1000, "tolerance": 4, "level": LEVEL} | other
    trials = Trials(probability, seed)
    return Search(trials, block_size, "n", "power", **asked)  # type: ignore[arg-type]


def hits(n_seeds: int) -> np.ndarray:
    solutions = [z_search(seed=seed).solve() for seed in range(n_seeds)]
    return np.array([one.lower <= Z_TARGET <= one.upper for one in solutions])


def assert_covers(covered: np.ndarray) -> None:
    """At least at the nominal level: the interval ends up a little narrower than was asked."""
    rate = min(float(covered.mean()), LEVEL)
    assert_within_mcse(rate, LEVEL, SD / math.sqrt(len(covered)))


@pytest.mark.slow
def test_interval_covers_the_true_answer() -> None:
    assert_covers(hits(replicates_to_catch(0.07, SD)))


@pytest.mark.slow
def test_that_test_catches_a_straight_line_through_everything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    straight = functools.partial(Curve, roughness=np.array([1e-6]))
    monkeypatch.setattr(search, "Curve", straight)
    covered = hits(100)
    with pytest.raises(AssertionError, match="suspect the code"):
        assert_covers(covered)


@pytest.mark.parametrize("falling", [False, True])
def test_rising_and_falling_are_found_alike(falling: bool) -> None:
    def probability(n: float) -> float:
        return 1 - z_test_power(n) if falling else z_test_power(n)

    asked = {"level": CERTAIN, "tolerance": 9, "target": 0.2 if falling else 0.8}
    found = z_search(probability, **asked).solve()  # type: ignore[arg-type]
    assert found.lower < Z_TARGET < found.upper
    assert found.reached
    assert found.integer == math.ceil(found.value)
    assert found.integer_interval[0] <= math.ceil(Z_TARGET) <= found.integer_interval[1]


def test_a_step_is_found_between_its_sides() -> None:
    asked = {"low": 20, "high": 200, "tolerance": 0.4, "level": CERTAIN}
    found = z_search(lambda n: 0.3 if n < 100 else 0.95, **asked).solve()  # type: ignore[arg-type]
    assert found.lower < 100
    assert found.upper > 99


def test_replicates_are_counted_and_never_more_than_allowed() -> None:
    found = z_search(tolerance=0.1, max_n_rep=20_500).solve()
    assert found.n_rep == found.trace["n_rep"].sum() == 20_000
    assert not found.reached
    assert found.trace["n_rep_in_all"].iloc[-1] == 20_000
    spent = z_search(block_size=50, tolerance=None, max_n_rep=9_990).solve()
    assert spent.n_rep == 9_950
    assert spent.reached


def test_less_than_half_of_the_replicates_is_wasted() -> None:
    """Replicates at the answer itself, with the slope known, would need a variance of p(1 - p)."""
    slope = (z_test_power(Z_TARGET + 1e-3) - z_test_power(Z_TARGET - 1e-3)) / 2e-3
    found = z_search(tolerance=1.0).solve()
    half_width = (found.upper - found.lower) / 2
    least = 0.16 * (critical_value(LEVEL) / (slope * half_width)) ** 2
    assert least / found.n_rep > 0.5


# ---------------------------------------------------------------- refusals
@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"low": 5, "high": 5}, "low=5 and high=5 leave nothing between them to search"),
        ({"low": 0, "high": math.inf}, "Give two finite values with low < high"),
        ({"target": 1.0}, "target=1 is not allowed: give a number between 0 and 1 for power"),
        ({"target": math.nan, "proportion": False}, "target=nan is not allowed"),
        ({"max_n_rep": 5000}, "max_n_rep=5000: .* at least 6000, .*: max_n_rep=6000"),
    ],
)
def test_a_question_without_answer_is_refused(change: dict[str, object], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        z_search(**change)


def refused(probability: Callable[[float], float], **change: object) -> str:
    with pytest.raises(StudyError) as caught:
        z_search(probability, **change).solve()  # type: ignore[arg-type]
    return str(caught.value)


def test_a_target_that_is_not_bracketed_says_what_the_measure_is_there() -> None:
    text = refused(z_test_power, high=50)
    assert re.match(
        r"power is 0\.02\d* \(MCSE 0\.00\d+, 1000 replicates\) at n=0 and power is 0\.\d+ \(MCSE "
        r"0\.01\d*, 1000 replicates\) at n=50: both on one side of the target 0\.8",
        text,
    )
    assert text.endswith("Choose low and high on either side of it.")


def test_an_end_that_is_the_answer_is_drawn_again_and_then_refused() -> None:
    text = refused(lambda n: 0.8 if n == 0 else 1.0, max_n_rep=100_000)
    assert re.match(r"power is 0\.\d+ \(MCSE 0\.00\d+, \d\d000 replicates\) at n=0, which", text)
    assert "cannot be told from the target 0.8: the answer may lie outside" in text


# ---------------------------------------------------------------- through the engine
TRIAL = TwoStage(k=1.5, n1=150, n2=2, alpha=0.05, draws="sufficient")
EXACT = solve_design(n1=150, k=1.5, alpha=0.05, power=0.8)


def two_stage(scenarios: list[TwoStage] | None = None) -> Study:
    return Study("two_stage", scenarios or [TRIAL], MEASURES, block_size=1000)


def solve_n2(tolerance: float, **other: object) -> Solution:
    settings = {"measure": "power", "target": 0.8, "low": 50, "high": 1000, **INLINE}
    return solve(two_stage(), TRIAL, "n2", tolerance=tolerance, **settings | other)  # type: ignore


@pytest.fixture(scope="module")
def found() -> Solution:
    return solve_n2(18, level=CERTAIN)


def test_the_399_is_found_without_theory(found: Solution) -> None:
    assert EXACT.n2 == 399
    assert found.reached
    assert found.lower < EXACT.exact_n2 < found.upper
    assert found.integer_interval[0] <= 399 <= found.integer_interval[1]


@pytest.mark.slow
def test_that_test_catches_power_over_all_replicates() -> None:
    """Forgetting the condition asks for 80% rejections in all, true nulls among them."""
    careless = rejection_rate("reject", name="power")
    wrong = solve_n2(18, level=CERTAIN, measure=careless)
    assert not wrong.lower < EXACT.exact_n2 < wrong.upper


def test_the_same_question_has_the_same_answer_to_the_last_bit(found: Solution) -> None:
    again = solve_n2(18, level=CERTAIN, backend="threads", n_jobs=2)
    assert again == found
    assert again.trace.equals(found.trace)
    assert solve_n2(18, level=CERTAIN, seed=2).value != found.value


def test_replicates_are_those_of_the_study(found: Solution) -> None:
    best = found.trace.sort_values("mcse").iloc[0]
    n_rep = int(found.trace.query("at == @best['at']")["n_rep"].sum())
    one = dataclasses.replace(TRIAL, n2=int(best["at"]))
    row = two_stage([one]).run(n_rep, **INLINE).row("power")
    assert (row["estimate"], row["mcse"]) == (best["estimate"], best["mcse"])


def test_common_random_numbers_are_not_shared_between_readings() -> None:
    study = dataclasses.replace(two_stage(), rules=Rules(common=("n2",)))
    settings = {"measure": "power", "target": 0.8, "low": 50, "high": 1000, **INLINE}
    assert solve(study, TRIAL, "n2", tolerance=20, **settings) == solve_n2(20)  # type: ignore


def test_another_factor_and_a_function_of_it() -> None:
    exact = solve_design(n1=150, n2=399, alpha=0.05, power=0.8).k
    found = solve(
        two_stage(), lambda k: TwoStage(k, 150, 399, draws="sufficient"), "k", measure="power",
        target=0.8, low=1.0, high=2.0, tolerance=0.1, integer=False, level=CERTAIN, **INLINE,
    )  # fmt: skip
    assert found.lower < exact < found.upper
    assert found.integer is None
    assert found.trace["at"].iloc[-1] % 1 != 0


def test_a_measure_without_link_and_a_cell_of_it() -> None:
    """The empirical SE of a mean falls to 1/4 at 16 observations."""
    found = solve(
        mean_study(block_size=200), Mean(3), "n_obs", measure="empirical_se", target=0.25,
        low=4, high=100, tolerance=2.5, level=CERTAIN, where={"method": "z"}, **INLINE,
    )  # fmt: skip
    assert found.lower < 16 < found.upper


# ---------------------------------------------------------------- a scenario that misbehaves
@dataclasses.dataclass(frozen=True)
class Coin:
    """Shows heads with probability x / 100."""

    x: float
    fails_above: float = math.inf
    share_failed: float = 1.0
    never_below: float = -math.inf

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        if self.x > self.fails_above and self.share_failed == 1:
            raise ValueError("the coin is lost")
        uniform = streams("data").random((2, n_rep))
        failed = (uniform[1] < self.share_failed) & (self.x > self.fails_above)
        heads = np.where(failed, np.nan, uniform[0] < self.x / 100)
        return {"heads": heads, "asked": uniform[1] > 0.5 if self.x > self.never_below else False}


COIN_MEASURES = (
    power("heads"),
    mean("heads", name="mean"),
    power("heads", given="asked", name="if_asked"),
)


def solve_coin(coin: object = Coin(0), measure: str = "power", **other: object) -> Solution:
    study = Study("coin", [Coin(0)], COIN_MEASURES, block_size=200, rules=Rules(max_failed=1))
    settings = {"target": 0.5, "low": 10, "high": 90, "level": CERTAIN, **INLINE}
    return solve(study, coin, "x", measure=measure, **{"tolerance": 5} | settings | other)  # type: ignore


def test_failed_replicates_are_left_out_and_counted() -> None:
    found = solve_coin(Coin(0, fails_above=30, share_failed=0.3))
    assert found.lower < 50 < found.upper
    drawn = found.trace.groupby("at")[["n_rep", "n_failed"]].agg(
        {"n_rep": "sum", "n_failed": "max"}
    )
    assert (drawn["n_failed"] < drawn["n_rep"]).all()
    assert (drawn["n_failed"].to_numpy() > 0).tolist() == [at > 30 for at in drawn.index]


def test_a_point_where_all_fails_is_named_with_its_error() -> None:
    text = r"no replicate of Coin\(x=90, .* so power has no value there. .*coin is lost. Fix it"
    with pytest.raises(StudyError, match=text):
        solve_coin(Coin(0, fails_above=60))


def test_a_measure_that_is_nowhere_defined_at_an_end_is_refused() -> None:
    text = (
        r"if_asked is nan \(.*, no replicate has asked\) at x=10, .* where the measure is defined"
    )
    with pytest.raises(StudyError, match=text):
        solve_coin(Coin(0, never_below=20), measure="if_asked", max_n_rep=20_000)


def test_replicates_that_happen_to_be_equal_are_not_certain() -> None:
    """A mean of 0 of n has an MCSE of 0, but not an error of 0."""
    found = solve_coin(measure="mean", low=0, target=0.5, integer=True)
    assert found.lower < 50 < found.upper
    assert (found.trace["mcse"].iloc[0], found.trace["at"].iloc[0]) == (0, 0)


def test_what_is_not_random_is_refused() -> None:
    with pytest.raises(StudyError, match=r"has a Monte Carlo error of 0 wherever .*brentq"):
        solve_coin(lambda x: Coin(100 * (x > 50)), measure="mean")


def test_a_scenario_that_ignores_the_factor_is_refused() -> None:
    with pytest.raises(StudyError, match="values 10 and 90 give the same scenario"):
        solve_coin(lambda x: Coin(50))


def test_a_cell_that_is_not_said_is_refused() -> None:
    settings = {"target": 0.25, "low": 4, "high": 100, "tolerance": 2.5, **INLINE}
    study, one = mean_study(block_size=200), Mean(3)
    text = r"where={}: it is not clear which method is meant: name one, such as 't'"
    with pytest.raises(StudyError, match=text):
        solve(study, one, "n_obs", measure="empirical_se", **settings)  # type: ignore[arg-type]
    with pytest.raises(StudyError, match=r"where={'method': 'F'}: method='F' is not in this run"):
        solve(study, one, "n_obs", measure="empirical_se", where={"method": "F"}, **settings)  # type: ignore[arg-type]
