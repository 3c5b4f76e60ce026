"""The regression trial: the document's loop on the same random numbers, and what fails."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import special

from simstudy.documents.dgps.linear import LinearModel
from simstudy.documents.scenarios import regression
from simstudy.documents.stats.mean_bootstrap import replicate_seeds
from simstudy.study import Study
from tests.documents.scenarios.draws import streams
from tests.documents.stats.draws import bootstrap_indices
from tests.documents.stats.models.linear_models import plain_fits

SMALL = regression.RegressionTrial(n_train=30, n_test=25, n_boot=100, draws="raw")
LOSSES = {"mse": np.square, "mae": np.abs}


def plain_bootstrap(loss, errors, seeds, trial):
    """Variance of the resampled means and studentized quantile, resample by resample."""
    value, n_obs = loss(errors).mean(), len(errors)
    pattern = (
        None if np.isinf(trial.n_inner) else bootstrap_indices(seeds[1], n_obs, int(trial.n_inner))
    )
    means, t = [], []
    for indices in bootstrap_indices(seeds[0], n_obs, trial.n_boot):
        drawn = loss(errors[indices])
        inner = drawn.var() / n_obs if pattern is None else drawn[pattern].mean(axis=1).var()
        means.append(drawn.mean())
        t.append((drawn.mean() - value) / np.sqrt(inner))
    return value, np.std(means), -np.quantile(t, special.ndtr(-trial.k))


def plain_replicate(trial, spread, errors, seeds):
    """One replicate as the document runs it, for both standard errors and both truths."""
    printed = {"mse": spread, "mae": np.sqrt(spread * 2 / np.pi)}
    for metric, loss in LOSSES.items():
        first, second = (
            plain_bootstrap(loss, e, s, trial) for e, s in zip(errors, seeds, strict=True)
        )
        for method in regression.METHODS:
            scale = [x[2] / trial.k if method == "studentized" else 1.0 for x in (first, second)]
            bound = first[0] + trial.k * first[1] * scale[0]
            z = (second[0] - bound) / (second[1] * scale[1])
            yield (
                (regression.METHODS.index(method), regression.METRICS.index(metric)),
                {
                    "z": z,
                    "reject": z < trial.design.critical_value,
                    "null_is_false_printed": bound > printed[metric],
                    "sd_test": first[1] * scale[0] * np.sqrt(trial.n_test),
                    "sd_prospective": second[1] * scale[1] * np.sqrt(trial.design.n2),
                },
            )


@pytest.mark.parametrize("n_inner", [np.inf, 30.0])
def test_a_block_is_the_plain_loop(n_inner):
    trial, n_rep = replace(SMALL, n_inner=n_inner), 4
    found = trial.simulate(streams(), n_rep)
    boot, sizes = streams()("bootstrap"), (trial.n_test, trial.design.n2)
    seeds = zip(*(replicate_seeds(boot, n_rep) for _ in sizes), strict=True)
    fits = plain_fits(trial.model, streams()("data"), n_rep, trial.n_train, *sizes)
    for rep, ((distance, _, errors), both) in enumerate(zip(fits, seeds, strict=True)):
        spread = trial.model.noise_variance + distance
        for cell, said in plain_replicate(trial, spread, errors, both):
            for name, value in said.items():
                np.testing.assert_allclose(found[name][(rep, *cell)], value, 1e-8, err_msg=name)


@dataclass(frozen=True)
class Broken(LinearModel):
    """Errors that leave a bootstrap without an answer, in the second replicate of each block."""

    with_error: float = 1.0

    def draw_errors(self, rng, coefficients, fit, n_obs):
        errors = super().draw_errors(rng, coefficients, fit, n_obs)
        errors[1] = self.with_error
        return errors


def run_with(value: float, n_rep: int = 4):
    scenario = regression.RegressionTrial(n_test=30, model=Broken(with_error=value))
    return Study(
        "broken", [scenario], regression.MEASURES, axes=regression.AXES, block_size=n_rep
    ).run(n_rep)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (1.0, "the losses are constant, so their bootstrap has no standard error"),
        (np.nan, "the metric is not a finite number"),
        (np.inf, "the metric is not a finite number"),
    ],
)
def test_losses_without_an_answer_are_recorded_failures(value, said):
    result = run_with(value)
    assert set(result.failures["error"]) == {said}
    assert set(result.failures["rep"]) == {1}
    rows = result.summary.query("measure == 'null_is_false'")
    assert (rows["n_failed"] == 1).all()
    assert (rows["n_rep"] == 3).all()
