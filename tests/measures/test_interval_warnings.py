"""A warning stands where an interval is too short, also of a contrast, and nowhere by rounding."""

import numpy as np
import pytest
from scipy import special

from simstudy import measures as m
from simstudy.measures.warnings import ALL_ALIKE
from tests.support import critical_z

N_STUDIES = 1000


def normals(n, seed=1):
    return np.random.default_rng(seed).standard_normal((n, N_STUDIES))


def warned(found: m.Estimates) -> float:
    """The share of studies with a warning."""
    return 0.0 if found.warning is None else float(np.mean(found.warning != ""))


def covers(found: m.Estimates, truth: float) -> float:
    return float(np.mean((found.lower <= truth) & (truth <= found.upper)))


# ---------------------------------------------------------------- rounding is no error
def constants(value, half, n):
    return {
        "x": np.full(n, value),
        "se": np.full(n, half),
        "lower": np.full(n, value - half),
        "upper": np.full(n, value + half),
        "hit": np.ones(n),
    }


TRUTH = 1.1
OF_CONSTANTS = [
    m.mean("x"),
    m.bias("x", TRUTH),
    m.relative_bias("x", TRUTH),
    m.mse("x", TRUTH),
    m.rmse("x", TRUTH),
    m.mae("x", TRUTH),
    m.median("x"),
    m.variance("x"),
    m.empirical_se("x"),
    m.model_se("se"),
    m.interval_width("lower", "upper"),
    m.interval_score("lower", "upper", TRUTH),
    m.mean("x", given="hit", name="mean_given"),
    m.weighted_mean("x", weight="hit", name="weighted_mean"),
]


@pytest.mark.parametrize("measure", OF_CONSTANTS, ids=lambda measure: measure.name)
def test_equal_values_have_an_error_of_0_and_a_warning_whatever_they_are(measure):
    """Of two decimals, whose mean is not always exact in binary."""
    rng = np.random.default_rng(1)
    for n in (20, 33, 100, 500):
        for value, half in np.round(rng.uniform([0.01, 0.01], [9.99, 2.0], (40, 2)), 2):
            found = measure.estimate(constants(value, half, n))
            assert found.mcse == 0
            assert f"all {n} are alike" in str(found.warning)


def test_values_that_differ_by_rounding_alone_are_alike():
    x = np.full(50, 1.3)
    x[::3] = np.nextafter(1.3, 2)
    for truth in (0.0, 1.1, 1.3, 1.3 - 1e-7):
        for measure in (m.bias("x", truth), m.mse("x", truth), m.rmse("x", truth)):
            found = measure.estimate({"x": x})
            assert found.mcse == 0
            assert "all 50 are alike" in str(found.warning)


def test_differences_above_rounding_stay():
    """To nine digits of a mean far from 0, and whatever the others are."""
    x = 1e6 + 1e-3 * normals(200)[:, 0]
    found = m.bias("x", 1e6).estimate({"x": x})
    np.testing.assert_allclose(found.mcse, x.std(ddof=1) / np.sqrt(200), rtol=1e-6)
    one = np.zeros(50)
    one[0] = 1e-9
    np.testing.assert_allclose(m.mean("x").estimate({"x": one}).mcse, 1e-9 / 50, rtol=1e-9)


def test_a_median_of_values_of_which_one_differs_has_a_warning():
    x = np.full(100, 1.3)
    x[7] = 5.0
    found = m.median("x").estimate({"x": x})
    assert (found.estimate, found.mcse) == (1.3, 0)
    assert str(found.warning).startswith("all 99 are alike")
    assert m.median("x").estimate({"x": normals(100)}).warning is None


# ---------------------------------------------------------------- contrasts
def skew_pair(n, scale=2.0):
    first, second = np.exp(scale * normals(n)), np.exp(scale * normals(n, 2))
    return {"x": first}, {"x": (first + second) / 2}


@pytest.mark.parametrize("n", [20, 100, 1000])
def test_a_contrast_of_skew_values_has_the_warning_of_one_side(n):
    mean_square = np.exp(8)
    truth = np.sqrt(mean_square) - np.sqrt((mean_square + np.exp(4)) / 2)
    found = m.paired(m.rmse("x", 0.0), *skew_pair(n))
    assert covers(found, truth) < 0.7
    assert warned(found) > 0.5


def test_few_pairs_and_pairs_that_agree_are_said_of_a_contrast():
    few = m.paired(m.mean("x"), {"x": normals(5)}, {"x": normals(5, 2)})
    text = "fewer than 10 replicates: the interval holds for normal values only"
    assert set(few.warning) == {text}
    zeros = {"x": np.zeros(50)}
    found = m.paired(m.mean("x"), zeros, zeros)
    assert (found.estimate, found.mcse) == (0, 0)
    assert str(found.warning).startswith("the two agree in all 50 pairs: a difference rarer than 1")
    x = {"x": normals(ALL_ALIKE)[:, 0]}
    assert m.paired(m.mean("x"), x, x).warning is None


def test_contrasts_of_normal_values_have_none():
    for n in (20, 100, 1000):
        assert warned(m.paired(m.mean("x"), {"x": normals(n)}, {"x": normals(n, 2)})) < 0.02


@pytest.mark.parametrize("n", [100, 1000])
def test_paired_correlations_have_their_own_error(n):
    """Half the width is 1.96 errors, and common random numbers gain."""
    x, y, more = normals(n), normals(n, 2), normals(n, 3)
    y = x + y
    pair = {"x": x, "y": y}, {"x": x, "y": y + 0.05 * more}
    found = m.paired(m.correlation("x", "y"), *pair)
    half = (found.upper - found.lower) / 2
    assert np.median(half / found.mcse) == pytest.approx(1.96, abs=0.06)
    loose = m.unpaired(m.correlation("x", "y"), *pair)
    assert np.median(found.mcse) < 0.1 * np.median(loose.mcse)
    truth = np.sqrt(1 / 2) - np.sqrt(1 / (2 + 0.05**2))
    least = 0.9 - critical_z() * np.sqrt(0.09 / N_STUDIES)
    assert covers(found, truth) >= least


# ---------------------------------------------------------------- measures that count no events
@pytest.mark.parametrize("n", [20, 100, 1000])
def test_a_correlation_of_skew_values_has_a_warning(n):
    first, second = np.exp(normals(n)), np.exp(normals(n, 2))
    found = m.correlation("x", "y").estimate({"x": first, "y": (first + second) / 2})
    assert covers(found, np.sqrt(0.5)) < 0.92
    assert warned(found) > 0.5
    of_normals = {"x": normals(n), "y": normals(n) + normals(n, 2)}
    assert warned(m.correlation("x", "y").estimate(of_normals)) < (0.35 if n == 20 else 0.03)


@pytest.mark.parametrize("n", [20, 100, 1000])
def test_a_conditional_mean_has_the_interval_and_the_warning_of_a_mean(n):
    p = special.ndtr((normals(n) - 4) / 0.7)
    columns = {"p": p, "r": np.random.default_rng(3).random(p.shape) < p}
    found = m.conditional(m.mean("p"), raw=m.power("r")).estimate(columns)
    alone = m.mean("p").estimate(columns)
    np.testing.assert_allclose(found.lower, np.clip(alone.lower, 0, 1), atol=1e-15)
    np.testing.assert_allclose(found.upper, np.clip(alone.upper, 0, 1), atol=1e-15)
    assert covers(found, float(special.ndtr(-4 / np.sqrt(1.49)))) < 0.9
    assert warned(found) > 0.9


@pytest.mark.parametrize(("scale", "n"), [(1.0, 20), (1.0, 100), (2.0, 100)])
def test_a_standardised_bias_is_as_doubtful_as_its_parts(scale, n):
    measure = m.standardised_bias("x", 0.0)
    found = measure.estimate({"x": np.exp(scale * normals(n))})
    assert covers(found, 1 / np.sqrt(np.expm1(scale**2))) < 0.75
    assert warned(found) > 0.5
    assert warned(measure.estimate({"x": normals(n)})) < 0.06


@pytest.mark.parametrize("n", [20, 50])
def test_without_a_miss_the_upper_limit_of_a_score_is_not_known(n):
    x, half = normals(n), special.ndtri(0.975)
    columns = {"l": x - half, "u": x + half}
    found = m.interval_score("l", "u", 0.0).estimate(columns)
    never = (np.abs(x) <= half).all(axis=0)
    assert never.mean() == pytest.approx(0.95**n, abs=5 * np.sqrt(0.25 / N_STUDIES))
    assert np.isinf(found.upper[never]).all()
    assert np.isfinite(found.upper[~never]).all()
    expected = f"no interval misses, and {0.05 * n:.2g} of {n} were to be expected"
    assert all(text.startswith(expected) for text in found.warning[never])
    density = np.exp(-(half**2) / 2) / np.sqrt(2 * np.pi)
    truth = 2 * half + 40 * 2 * (density - half * 0.025)
    assert truth == pytest.approx(4.68, abs=0.01)
    assert covers(found, truth) > 0.78


# ---------------------------------------------------------------- heavy tails
@pytest.mark.parametrize("measure", [m.bias("x", truth=0.0), m.empirical_se("x")])
def test_one_replicate_carries_the_error_without_a_variance_and_not_of_normal_values(measure):
    """Chance of a normal sample: 1000 P(z^2 - 1 > sqrt(2 * 150)), about 0.02, for spreads."""
    values = np.random.default_rng(1).pareto(1.5, (1000, N_STUDIES)), normals(1000)
    heavy, light = (np.ravel(measure.estimate({"x": x}).warning) for x in values)
    assert np.mean(["one replicate carries" in text for text in heavy]) > 0.5
    assert np.mean(["one replicate carries" in str(text) for text in light]) <= 0.05


def test_the_warning_names_the_share_of_the_replicate():
    x = np.zeros(1000)
    x[:2] = [300.0, -100.0]
    found = m.bias("x", truth=0.0).estimate({"x": x})
    share = (300 - 0.2) ** 2 / ((300 - 0.2) ** 2 + (100 + 0.2) ** 2 + 998 * 0.2**2)
    assert f"one replicate carries {share:.0%} of the squared error" in str(found.warning)


# ---------------------------------------------------------------- no false alarms
QUIET = {
    "mean": (m.mean("x"), lambda n: {"x": normals(n)}),
    "bias of uniform values": (
        m.bias("x", 0.5), lambda n: {"x": np.random.default_rng(1).random((n, N_STUDIES))},
    ),
    "mae": (
        m.mae("x", 0.5), lambda n: {"x": np.random.default_rng(1).random((n, N_STUDIES))},
    ),
    "power": (m.power("r"), lambda n: {"r": normals(n) < special.ndtri(min(0.5, 10 / n))}),
    "mean of flags": (
        m.mean("r"), lambda n: {"r": normals(n) < special.ndtri(min(0.5, 10 / n))},
    ),
}  # fmt: skip


@pytest.mark.parametrize("n", [20, 100, 1000])
@pytest.mark.parametrize("name", QUIET)
def test_normal_uniform_and_binomial_values_with_ten_events_have_no_warning(name, n):
    measure, drawn = QUIET[name]
    limit = 0.01 + critical_z(len(QUIET) * 3) * np.sqrt(0.01 * 0.99 / N_STUDIES)
    assert warned(measure.estimate(drawn(n))) < limit


def test_a_reference_beside_itself_is_exactly_0_and_no_doubt():
    x = np.random.default_rng(1).normal(size=(200, 2))
    found = m.relative_precision("x", axis=0, reference=0).estimate({"x": x})
    assert (found.estimate[0], found.mcse[0]) == (0, 0)
    assert found.warning is None
