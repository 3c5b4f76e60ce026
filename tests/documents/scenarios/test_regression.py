"""The regression trial: the document's loop on the same random numbers, and what fails."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from simstudy.documents.dgps.linear import LinearModel
from simstudy.documents.scenarios import regression
from simstudy.documents.stats.mean_bootstrap import replicate_seeds
from tests.documents.draws import streams
from tests.documents.stats.models.linear_models import plain_fits
from tests.documents.stats.models.test_trial import slow_stage

SMALL = regression.RegressionTrial(n_train=30, n_test=25, n_boot=100, draws="raw")


def plain_replicate(trial, spread, errors, seeds):
    """One replicate as the document runs it, for both standard errors and both truths."""
    printed = [spread, np.sqrt(spread * 2 / np.pi)]
    for metric, loss in enumerate((np.square, np.abs)):
        losses, sizes = [loss(each) for each in errors], (trial.n_boot, trial.n_inner)
        first, second = (slow_stage(*one, *sizes)[0] for one in zip(losses, seeds, strict=True))
        for method in range(len(regression.METHODS)):
            bound = losses[0].mean() + trial.k * first[method]
            z = (losses[1].mean() - bound) / second[method]
            said = {
                "z": z,
                "reject": z < trial.design.critical_value,
                "null_is_false_printed": bound > printed[metric],
                "sd_test": first[method] * np.sqrt(trial.n_test),
                "sd_prospective": second[method] * np.sqrt(trial.design.n2),
            }
            yield (method, metric), said


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


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (1.0, "the losses are constant, so their bootstrap has no standard error"),
        (np.nan, "the metric is not a finite number"),
        (np.inf, "the metric is not a finite number"),
    ],
)
def test_losses_without_an_answer_are_recorded_failures(value, said):
    scenario = regression.RegressionTrial(n_test=30, model=Broken(with_error=value))
    error = scenario.simulate(streams(), 4)["error"]
    assert [set(each.ravel()) for each in error] == [{None}, {said}, {None}, {None}]
