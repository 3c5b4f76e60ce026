"""The regression trial: the document's loop on the same random numbers, claims, failures."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import special
from sklearn.linear_model import LinearRegression

from experiments import regression_trial_inner
from experiments.regression_trial.study import CLAIMS, Config, study
from simstudy.dgps.linear import LinearModel
from simstudy.errors import ConfigError, DesignError
from simstudy.identity.streams import Streams
from simstudy.stats.bootstrap.losses import bootstrap_indices, replicate_seeds
from simstudy.stats.models.trial import Stage, trial_design, verdict
from simstudy.study import Study
from simstudy.trials.regression import AXES, MEASURES, METHODS, METRICS, RegressionTrial

SMALL = RegressionTrial(n_train=30, n_test=25, n_boot=100, draws="raw")
LOSSES = {"mse": np.square, "mae": np.abs}


def streams() -> Streams:
    return Streams(1, "trial", "scenario", 0)


@pytest.fixture(scope="module")
def small():
    return study(Config()).run(n_rep=400)


# ---------------------------------------------------------------- the document's loop
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


def plain_replicate(trial, train, samples, seeds, rep):
    """One replicate as the document runs it, for both standard errors and both truths."""
    model = LinearRegression().fit(train.features[rep], train.y[rep])
    errors = [new.y[rep] - model.predict(new.features[rep]) for new in samples]
    spread = trial.model.noise_variance + np.sum((train.coefficients[rep] - model.coef_) ** 2)
    printed = {"mse": spread, "mae": np.sqrt(spread * 2 / np.pi)}
    for metric, loss in LOSSES.items():
        first, second = (
            plain_bootstrap(loss, e, s[rep], trial) for e, s in zip(errors, seeds, strict=True)
        )
        for method in METHODS:
            scale = [x[2] / trial.k if method == "studentized" else 1.0 for x in (first, second)]
            bound = first[0] + trial.k * first[1] * scale[0]
            z = (second[0] - bound) / (second[1] * scale[1])
            yield (
                (METHODS.index(method), METRICS.index(metric)),
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
    rng, boot = streams()("data"), streams()("bootstrap")
    train = trial.model.draw(rng, n_rep, trial.n_train)
    sizes = trial.n_test, trial.design.n2
    samples = [trial.model.draw(rng, n_rep, n, train.coefficients) for n in sizes]
    seeds = [replicate_seeds(boot, n_rep) for _ in sizes]
    for rep in range(n_rep):
        for cell, said in plain_replicate(trial, train, samples, seeds, rep):
            for name, value in said.items():
                np.testing.assert_allclose(found[name][(rep, *cell)], value, 1e-8, err_msg=name)


def test_the_design_is_the_documents():
    design = RegressionTrial().design
    assert design.n2 == 399
    assert trial_design(150, 1.5, 0.05, 0.8) is design


def test_states_of_the_null_exclude_each_other():
    block = SMALL.simulate(streams(), 50)
    for suffix in ("", "_printed"):
        assert (block[f"null_is_false{suffix}"] ^ block[f"null_is_true{suffix}"]).all()


def test_data_do_not_depend_on_the_inner_standard_error():
    closed, drawn = (replace(SMALL, n_inner=n).simulate(streams(), 5) for n in (np.inf, 20.0))
    np.testing.assert_array_equal(closed["sd_true"], drawn["sd_true"])
    np.testing.assert_array_equal(closed["sd_test"][:, 1], drawn["sd_test"][:, 1])  # vanilla
    assert (closed["sd_test"][:, 0] != drawn["sd_test"][:, 0]).all()


# ---------------------------------------------------------------- claims and figures
NEED_ALL_5000 = [
    "risk without intercept",
    "vanilla against nominal",
    "vanilla against studentized",
]


def test_claims_come_out_as_foreseen(small):
    claims = small.claims.set_index("claim")
    sharp = claims.drop(NEED_ALL_5000)
    assert (sharp["verdict"] == sharp["expected"]).all(), sharp["detail"]
    assert set(claims.loc[NEED_ALL_5000, "verdict"]) <= {"reproduced", "differs"}
    assert len(claims) == len(CLAIMS)


def test_vanilla_makes_more_nulls_true(small):
    rows = small.summary.query("measure == 'null_is_false'").pivot_table(
        "estimate", "metric", "method"
    )
    assert (rows["vanilla"] < rows["studentized"]).all()


def test_figures_are_functions_of_the_result(small):
    assert small.figure("3A").labels.x == "z-score of the prospective sample"
    assert len(small.figure("3B").data) == 4 * 400
    assert set(small.figure("3C").data["panel"]) == {"MSE", "MAE"}
    assert len(small.figure("methods").data) == 2 * len(METHODS) * len(METRICS) * 3


def test_bars_of_figure_3a_are_the_counts(small):
    z = small.columns(small.plan.scenarios[0], "z", "null_is_false")
    bars_of = small.figure("3A").data.query("rows == 'null is false'")
    for at, metric in enumerate(("MSE", "MAE")):
        bars = bars_of[bars_of["panel"] == metric]
        rejected = bars.loc[bars["decision"] == "reject", "count"].sum()
        wanted = z["null_is_false"][:, 0, at].astype(bool)
        limit = small.plan.scenarios[0].design.critical_value
        assert rejected == (z["z"][wanted, 0, at] < limit).sum()


def test_inner_resamples_change_no_conclusion():
    result = regression_trial_inner.study(regression_trial_inner.Config(n_inner=[50])).run(n_rep=40)
    claim = result.claims.iloc[0]
    assert claim["verdict"] == "reproduced", claim["detail"]
    assert len(result.figure("inner").data) == 4 * 40


# ---------------------------------------------------------------- refusals
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"n_train": [20]}, r"n_train=20 observations are too few for 20 features"),
        ({"n_boot": 50}, r"n_boot=50 leaves 3\.3 resamples beyond the quantile at k=1\.5"),
        ({"k": [4.0]}, r"n_boot=1000 leaves 0\.032 resamples beyond the quantile at k=4"),
        ({"power": [0.01]}, r"power=0\.01 is not above alpha=0\.05"),
    ],
)
def test_a_study_without_an_answer_is_refused(settings, said):
    with pytest.raises(DesignError, match=said):
        study(Config(**settings))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"alpha": [1.0]}, r"alpha=\[1\]: allowed is a number above 0 and below 1"),
        ({"n_test": [1]}, r"n_test=\[1\]: allowed is a whole number at least 2"),
        ({"draws": "some"}, r"draws=some: allowed is text one of law, raw"),
        ({"n_bot": 3}, r"n_bot is not a setting"),
    ],
)
def test_a_setting_out_of_range_is_refused(settings, said):
    with pytest.raises(ConfigError, match=said):
        Config(**settings)


# ---------------------------------------------------------------- failures are data
@dataclass(frozen=True)
class Broken(LinearModel):
    """Errors that leave a bootstrap without an answer, in the second replicate of each block."""

    with_error: float = 1.0

    def draw_errors(self, rng, coefficients, fit, n_obs):
        errors = super().draw_errors(rng, coefficients, fit, n_obs)
        errors[1] = self.with_error
        return errors


def run_with(value: float, n_rep: int = 4):
    scenario = RegressionTrial(n_test=30, model=Broken(with_error=value))
    return Study("broken", [scenario], MEASURES, AXES, block_size=n_rep).run(n_rep)


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


def stage(std_error: float, plain: float, estimate: float = 1.0) -> Stage:
    both = np.array([[[std_error], [plain]]])
    return Stage(np.full((1, 1, 1), estimate), both, np.abs(both))


def test_a_quantile_on_the_wrong_side_fails_one_method_only():
    columns = verdict(stage(np.nan, 1.0), stage(1.0, 1.0), k=1.5, limit=-1.0)
    studentized, vanilla = columns["error"][0, :, 0]
    assert studentized.startswith("the studentized quantile is on the wrong side of zero")
    assert vanilla is None


def test_the_worst_reason_of_both_samples_is_told():
    columns = verdict(stage(np.nan, 0.0), stage(1.0, 1.0, np.nan), k=1.5, limit=-1.0)
    assert set(columns["error"].ravel()) == {"the metric is not a finite number"}


def test_nothing_is_said_where_nothing_is_wrong():
    assert "error" not in verdict(stage(1.0, 1.0), stage(1.0, 1.0), k=1.5, limit=-1.0)
