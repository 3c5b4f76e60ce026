"""Block by block is as all at once; and the digits that a large mean would cost."""

import math

import mpmath
import numpy as np
import pytest

from simstudy import measures as m
from simstudy.errors import StudyError
from simstudy.measures.moments import gradient
from tests.measures.calibration import TRUTH, every_measure
from tests.measures.test_failures import draw

N_REP = 40
STREAMED = {
    **{name: x for name, x in every_measure().items() if isinstance(x, m.MomentMeasure)},
    "relative_precision": m.relative_precision("estimate"),
    "relative_precision_own": m.relative_precision("estimate", replicates="own"),
    "relative_precision_normal": m.relative_precision("estimate", mcse="normal"),
    "empirical_se_normal": m.empirical_se("estimate", mcse="normal", around=TRUTH),
    "relative_error_normal": m.relative_error_model_se("estimate", "se", mcse="normal"),
    "standardised_bias_column": m.standardised_bias("estimate", "truth"),
}
ALL = pytest.mark.parametrize("name", STREAMED)


@pytest.fixture(scope="module")
def columns():
    data = {key: column.astype(float) for key, column in draw(N_REP).items()}
    data["estimate"] = np.where(np.arange(N_REP)[:, None] + (0, 3) == 7, np.nan, data["estimate"])
    data["fragile"] = data["estimate"]
    return {**data, "truth": np.array(TRUTH)}


def blocks(columns, *cuts):
    for start, stop in zip((0, *cuts), (*cuts, N_REP), strict=True):
        yield {key: c if c.ndim == 0 else c[start:stop] for key, c in columns.items()}


def merged(measure, columns, *cuts, centre=None):
    total, *others = (measure.moments(block, centre=centre) for block in blocks(columns, *cuts))
    for other in others:
        total = total + other
    return total


def assert_same(one, two):
    for left, right in zip(one[:7], two[:7], strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-11, atol=1e-13)
    np.testing.assert_array_equal(one.reason, two.reason)


@ALL
@pytest.mark.parametrize("cuts", [(), (20,), (1, 2, 8, 9, 30)])
def test_merged_blocks_are_the_whole(columns, name, cuts):
    measure = STREAMED[name]
    assert_same(measure.from_moments(merged(measure, columns, *cuts)), measure.estimate(columns))


@ALL
def test_a_block_without_a_usable_replicate_changes_nothing(columns, name):
    measure = STREAMED[name]
    whole = measure.moments(columns)
    failed = measure.moments({k: np.full(c.shape[-2:], np.nan) for k, c in columns.items()
                              if c.ndim} | {"truth": np.array(TRUTH)})  # fmt: skip
    if name == "convergence_rate":
        pytest.skip("counts failures, which are the estimate")
    for total in (whole + failed, failed + whole):
        for field in ("n", "mean", "comoment"):
            np.testing.assert_array_equal(getattr(total, field), getattr(whole, field))
        assert (total.n_failed > whole.n_failed).all()
    nothing = measure.from_moments(failed + failed)
    assert (nothing.reason == "no replicate could be used").all()


SPREAD = {
    "variance": m.variance("x"),
    "empirical_se": m.empirical_se("x"),
    "relative_error": m.relative_error_model_se("x", "se"),
    "standardised_bias": m.standardised_bias("x", "truth"),
}
FAR = 1e9  # mean, in standard deviations: its square has 18 digits


def far_columns():
    rng = np.random.default_rng(1)
    x = FAR + np.round(rng.standard_normal(N_REP) * 2**10) / 2**10  # exact in floating point
    return {"x": x, "se": np.ones(N_REP), "truth": np.array(FAR - 1)}


def near(columns):
    return {**columns, "x": columns["x"] - FAR, "truth": columns["truth"] - FAR}


@pytest.mark.parametrize("name", SPREAD)
def test_a_mean_far_above_the_spread_costs_no_digits(name):
    columns = far_columns()
    one, two = (SPREAD[name].estimate(data) for data in (columns, near(columns)))
    np.testing.assert_allclose(one[:4], two[:4], rtol=1e-7)  # rounding of the mean: 1e-16 * FAR
    streamed = merged(SPREAD[name], columns, 10, centre=SPREAD[name].centre(columns))
    assert_same(SPREAD[name].from_moments(streamed), one)


def test_the_one_pass_formula_would_fail_that_test():
    x = far_columns()["x"]
    assert (x * x).mean() - x.mean() ** 2 != pytest.approx(x.var(), rel=1e-2)


@pytest.mark.parametrize("name", [name for name in SPREAD if name != "standardised_bias"])
def test_block_wise_moments_refuse_to_lose_the_digits(name):
    moments = merged(SPREAD[name], far_columns(), 10)
    with pytest.raises(StudyError, match=r"centred 1e\+09 from its mean.*`centre` of the first"):
        SPREAD[name].from_moments(moments)


def test_a_truth_keeps_the_digits_of_a_standardised_bias():
    columns, measure = far_columns(), SPREAD["standardised_bias"]
    assert_same(measure.from_moments(merged(measure, columns, 10)), measure.estimate(columns))


def test_blocks_centred_differently_are_refused():
    measure, columns = m.variance("x"), {"x": np.arange(6.0)}
    one, two = (measure.moments(columns, centre={"x": np.array(c)}) for c in (1.0, 2.0))
    with pytest.raises(StudyError, match=r"different values \(1 and 2\).*same `centre`"):
        one + two


def test_centring_on_a_column_that_varies_falls_back_to_zero():
    columns = {"x": np.arange(6.0), "truth": np.linspace(0.0, 1.0, 6)}
    moments = m.standardised_bias("x", "truth").moments(columns)
    assert float(moments.centre[0]) == 0.0


def test_the_gradient_is_exact():
    """Complex steps against mpmath, where differences would keep half of the digits."""

    def value(means, n):
        return np.sqrt(means[1] - means[0] * means[0]) / means[2] * (n / (n - 1.0))

    point = (0.3, 1.7, 0.9)
    slopes = gradient(value, tuple(np.asarray(v) for v in point), np.asarray(10))
    mpmath.mp.dps = 40

    def exact(a, b, c):
        return mpmath.sqrt(b - a * a) / c * mpmath.mpf(10) / 9

    for k, slope in enumerate(slopes):
        order = tuple(int(j == k) for j in range(3))
        assert float(slope) == pytest.approx(float(mpmath.diff(exact, point, order)), rel=1e-14)


def test_a_measure_of_ones_own_is_its_terms_and_its_value():
    """Skewness, with the delta-method error of its three means."""

    def terms(columns):
        x = columns[m.centred("x")]
        return x, x**2, x**3

    def skewness(means, n):
        a, b, c = means
        return m.ratio(c - 3 * a * b + 2 * a * a * a, (b - a * a) * np.sqrt(b - a * a))

    measure = m.MomentMeasure(
        name="skewness", reads=("x",), terms=terms, value=skewness, centred_columns=("x",)
    )
    x = np.random.default_rng(1).standard_exponential(500)
    z = (x - x.mean()) / x.std()
    value = (z**3).mean()
    psi = z**3 - value - 3 * z - 1.5 * value * (z**2 - 1)
    result = measure.estimate({"x": x + 1e6})
    assert float(result.estimate) == pytest.approx(value, rel=1e-8)
    assert float(result.mcse) == pytest.approx(psi.std(ddof=1) / math.sqrt(500), rel=1e-8)
