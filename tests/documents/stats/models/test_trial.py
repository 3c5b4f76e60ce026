"""Stages of a trial against loops over resamples, and its verdict, method by method."""

import numpy as np
import pytest
from scipy import special

from simstudy.documents.stats.mean_bootstrap import replicate_seeds
from simstudy.documents.stats.models import trial
from tests.documents.draws import bootstrap_indices, rng_at

K = 1.5
ERRORS = rng_at(5).normal(size=(2, 30))
LOSSES = np.stack([ERRORS**2, np.abs(ERRORS)], axis=-1)


def stage_of(errors, n_boot=101, n_inner=np.inf, k=K):
    return trial.stage_of_errors(errors, rng_at(), k=k, n_boot=n_boot, n_inner=n_inner)


def slow_stage(loss, seeds, n_boot, n_inner):
    """Adjusted and vanilla standard error of one mean loss, and minus its studentized quantile."""
    n_obs, draws, t = len(loss), [], []
    patterns = [] if np.isinf(n_inner) else bootstrap_indices(seeds[1], n_obs, int(n_inner))
    for index in bootstrap_indices(seeds[0], n_obs, n_boot):
        resample = loss[index]
        std_error = resample.std() / np.sqrt(n_obs)
        if len(patterns):
            std_error = np.std([resample[pattern].mean() for pattern in patterns])
        draws.append(resample.mean())
        t.append((resample.mean() - loss.mean()) / std_error)
    reach = -np.quantile(t, special.ndtr(-K))
    return [np.std(draws) * reach / K, np.std(draws)], reach


@pytest.mark.parametrize("n_inner", [np.inf, 20])
def test_a_stage_is_a_loop_over_resamples(n_inner):
    found = stage_of(ERRORS, n_inner=n_inner)
    for rep, seeds in enumerate(replicate_seeds(rng_at(), 2)):
        for m in range(2):
            std_errors, reach = slow_stage(LOSSES[rep, :, m], seeds, 101, n_inner)
            np.testing.assert_allclose(found.std_error[rep, :, m], std_errors, rtol=1e-10)
            np.testing.assert_allclose(found.reach[rep, :, m], [reach, K], rtol=1e-10)
            assert found.estimate[rep, 0, m] == pytest.approx(LOSSES[rep, :, m].mean())


@pytest.mark.parametrize("n_inner", [np.inf, 10])
@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200])
def test_an_error_that_is_not_finite_fails_its_replicate_alone(bad, n_inner):
    spoilt = ERRORS.copy()
    spoilt[1, 4:10] = bad  # the square of 1e200 overflows
    found, clean = stage_of(spoilt, n_inner=n_inner), stage_of(ERRORS, n_inner=n_inner)
    assert np.isnan(found.std_error[1, :, 0]).all()
    np.testing.assert_array_equal(found.std_error[0], clean.std_error[0])


@pytest.mark.parametrize("n_inner", [np.inf, 10])
def test_constant_losses_have_no_standard_error(n_inner):
    found = stage_of(np.full((1, 10), 0.1), n_inner=n_inner)  # ten tenths do not add up to one
    assert (found.std_error[:, 1] == 0).all()
    assert np.isnan(found.std_error[:, 0]).all()


def test_a_few_resamples_without_spread_lie_beyond_every_other():
    errors = np.array([0.3] * 17 + [1.1, 0.7, 0.9])  # one resample in 26 holds only the first
    found = stage_of(errors[np.newaxis], n_boot=500)
    seeds = replicate_seeds(rng_at(), 1)[0]
    resamples = errors[bootstrap_indices(seeds[0], 20, 500)]
    constant = np.ptp(resamples, axis=1) == 0
    spread = np.where(constant, 1.0, resamples.std(axis=1)) / np.sqrt(20)
    t = np.where(constant, -np.inf, (resamples.mean(axis=1) - errors.mean()) / spread)
    assert 0 < constant.sum() < 500 * special.ndtr(-K) - 1
    assert found.reach[0, 0, 1] == pytest.approx(-np.quantile(t, special.ndtr(-K)))
    assert np.isnan(stage_of(np.eye(1, 20), n_boot=200).reach[0, 0]).all()  # a third without


def adjusted(t: float, k: float) -> float:
    """The adjusted over the plain standard error, where the quantile is t."""
    deviation = np.array([-1.0, 1.0])[np.newaxis, :, np.newaxis]
    inner = np.full((1, 2, 1), 1.0)
    quantile = float(trial._quantile(deviation, float(special.ndtr(-k)))[0, 0])
    stage = trial._stage(np.ones((1, 1)), deviation, inner * (quantile / t) ** 2, k)
    return float(stage.std_error[0, 0, 0])


def test_a_quantile_on_the_wrong_side_is_no_scale():
    assert adjusted(-0.1, k=0.05) == pytest.approx(2.0)
    assert adjusted(1.8, k=-1.5) == pytest.approx(1.2)
    up = np.array([-0.1, 2.0, 2.0])[np.newaxis, :, np.newaxis]  # its median is above zero
    stage = trial._stage(np.ones((1, 1)), up, np.ones((1, 3, 1)), 0.05)
    assert np.isnan(stage.std_error[0, 0, 0])
    assert stage.std_error[0, 1, 0] == up.std()
    at_zero = trial._stage(np.ones((1, 1)), up, np.ones((1, 3, 1)), 0.0)
    assert at_zero.std_error[0, 0, 0] == up.std()


def stage(std_error: float, plain: float, estimate: float = 1.0) -> trial.Stage:
    both = np.array([[[std_error], [plain]]])
    return trial.Stage(np.full((1, 1, 1), estimate), both, np.abs(both))


@pytest.mark.parametrize(
    ("first", "second", "reasons"),
    [
        (stage(1.0, 1.0), stage(1.0, 1.0), None),
        (stage(np.nan, 1.0), stage(1.0, 1.0), [trial.WRONG_SIDE, None]),
        (stage(1.0, 1.0), stage(np.nan, 0.0), [trial.NO_SPREAD, trial.NO_SPREAD]),
        (stage(np.nan, 0.0), stage(1.0, 1.0, np.nan), [trial.NOT_FINITE, trial.NOT_FINITE]),
    ],
)
def test_the_worst_reason_of_both_samples_is_told_by_method(first, second, reasons):
    error = trial.verdict(first, second, k=1.5, limit=-1.0).get("error")
    assert (None if error is None else error[0, :, 0].tolist()) == reasons
