"""P-values of a user's predictive distributions, against SciPy and loops."""

import numpy as np
import pytest
from scipy import stats

from simstudy.documents.applied import check_predictions
from simstudy.documents.stats.compatible import ESTIMATORS
from tests.support import refused

RNG = np.random.default_rng(8)
MEAN = RNG.normal(size=168)
Y = MEAN + RNG.normal(size=168)
DRAWS = MEAN[:, None] + RNG.normal(size=(168, 399))


@pytest.mark.parametrize("seed", range(8))
def test_p_values_and_measures_by_independent_computation(seed):
    rng = np.random.default_rng(seed)
    n, sd = int(rng.integers(20, 300)), float(rng.uniform(0.6, 1.5))
    mean = rng.normal(size=n)
    y = mean + rng.normal(size=n)
    found = check_predictions(y, mean=mean, sd=np.full(n, sd), n_boot=99)
    p = 2 * stats.norm.sf(np.abs(y - mean) / sd)
    assert found.p_values == pytest.approx(p, rel=1e-9)
    assert 10**found.log10_p == pytest.approx(stats.combine_pvalues(p, "fisher").pvalue, rel=1e-8)
    uniform = stats.kstest(p, "uniform")
    assert found.distance == pytest.approx(uniform.statistic)
    assert found.distance_p == pytest.approx(uniform.pvalue, rel=1e-6)
    assert found.share[0] == pytest.approx(min(1.0, (p > 0.5).mean() / 0.5))
    assert sum(found.counts) == n
    for measure, name in ((found.cfdr, "cfdr_clipped"), (found.rfdr, "rfdr")):
        assert measure[0] == pytest.approx(ESTIMATORS[name](p))


@pytest.mark.parametrize("tail", ["both", "lower", "upper"])
def test_p_values_of_draws_are_ranks(tail):
    y, draws = Y.round(1), DRAWS.round(1)  # some are equal
    found = check_predictions(y, draws, tail=tail, n_boot=99)
    for i in (0, 7, 100):
        lower = (1 + sum(draw <= y[i] for draw in draws[i])) / 400
        upper = (1 + sum(draw >= y[i] for draw in draws[i])) / 400
        expected = {"lower": lower, "upper": upper, "both": min(1, 2 * min(lower, upper))}
        assert found.p_values[i] == pytest.approx(expected[tail])


def test_a_perfect_model_fits_and_the_documents_narrow_ones_do_not():
    """Document 001's networks have the spread of the fitted function only: narrower by far."""
    fit = check_predictions(Y, mean=MEAN, sd=np.ones(168))
    assert fit.share[1] <= 1.0 <= fit.share[2]
    assert fit.log10_p > -5
    narrow = check_predictions(Y, MEAN[:, None] + 0.3 * (DRAWS - MEAN[:, None]), law="normal")
    assert narrow.log10_p < -5
    assert narrow.share[2] < 0.9
    assert narrow.rfdr[0] >= 63 / 168  # below that it cannot fall, whatever the model
    assert "only the spread of a fitted function" in repr(narrow)


def test_an_interval_has_the_percentiles_of_resampled_predictions():
    fit = check_predictions(Y, mean=MEAN, sd=np.ones(168), n_boot=199, seed=5)
    rng = np.random.default_rng(5)
    drawn = [ESTIMATORS["storey"](fit.p_values[rng.integers(0, 168, 168)]) for _ in range(199)]
    assert fit.share[1:] == pytest.approx(np.quantile(drawn, [0.05, 0.95], method="weibull"))


def test_groups_of_copies_have_the_interval_of_their_predictions():
    rows = np.repeat(np.arange(168), 4)
    alone = check_predictions(Y, DRAWS)
    copies = check_predictions(Y[rows], DRAWS[rows], cluster=rows)
    naive = check_predictions(Y[rows], DRAWS[rows])
    widths = [each.share[2] - each.share[1] for each in (alone, copies, naive)]
    assert widths[1] == pytest.approx(widths[0], rel=0.25)
    assert widths[2] < 0.7 * widths[0]
    assert "Wilson" in repr(copies)


def test_few_draws_cannot_give_small_p_values_and_that_is_said():
    assert "with 20 draws no p-value can be below 0.095" in repr(
        check_predictions(Y, DRAWS[:, :20])
    )


@pytest.mark.parametrize(
    ("y", "given", "said"),
    [
        (Y, {"draws": DRAWS[:9]}, "draws have shape (9, 399) for 168 responses"),
        (Y, {"draws": DRAWS[:, :1]}, "at least 2"),
        (Y, {"draws": np.where(DRAWS > 2, np.nan, DRAWS)}, "a draw is missing or not finite"),
        (Y, {"mean": MEAN, "sd": np.zeros(168)}, "row 1: sd is 0, and a predictive distribution"),
        (Y[:1], {"mean": MEAN[:1], "sd": [1.0]}, "1 prediction says nothing of a share"),
        (Y, {}, "give draws, or mean and sd"),
    ],
)
def test_what_has_no_answer_is_refused(y, given, said):
    with refused(said):
        check_predictions(y, **given)


@pytest.mark.parametrize(
    ("tail", "is_count"),
    [
        ("lower", True),
        ("both", False),
        pytest.param("lower", False, marks=pytest.mark.slow),
        pytest.param("both", True, marks=pytest.mark.slow),
    ],
)
def test_responses_that_are_as_their_few_draws_are_uniform(tail, is_count):
    """20 draws, also of counts with ties: p-values of the distance are uniform over 60 files."""
    found = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        law = (lambda size: rng.poisson(3.0, size)) if is_count else rng.standard_normal  # noqa: B023
        fit = check_predictions(law(200), law((200, 20)), tail=tail, n_boot=100, seed=seed)
        found.append(fit.distance_p)
        assert sum(fit.counts) == 200
    assert stats.kstest(found, "uniform").pvalue > 1e-4
