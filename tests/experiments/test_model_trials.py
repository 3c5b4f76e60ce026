"""A study of trials of models: its docstring's example, and each model a method of its own."""

import doctest
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from experiments._model_trials import design_levels, keeps_the_design, model_trial_study
from simstudy.design.plan import factors_of
from simstudy.documents.dgps.linear import LinearModel
from simstudy.documents.scenarios.models import Model, try_model
from simstudy.documents.stats.models.metrics import MSE, R2
from simstudy.errors import ConfigError, TooFewReplicatesError
from tests.documents.stats.models.linear_models import LinearRegression, Ridge
from tests.support import INLINE

LINE, RIDGE, WEAK = (
    Model("line", LinearRegression),
    Model("ridge", Ridge(alpha=10.0)),
    Model("ridge", Ridge(alpha=1.0)),
)
COLUMNS = ("reject", "null_is_false", "null_is_true")


def study(*models):
    dgps = {"linear": LinearModel(n_feature=3), "curved": LinearModel(n_feature=3, curvature=1.0)}
    return model_trial_study(
        "trials", dgps=dgps, models=models, metrics=[MSE, R2], n_test=[20, 40], n_train=25,
        n_boot=80, n_truth=400, n_rep=10,
    )  # fmt: skip


def run(folder, *models, **how):
    return study(*models).run(out=folder, **INLINE, **how)


BLOCKS = 2 * 2  # of one model: two kinds of data, ten replicates in blocks of five


def test_the_example_of_the_docstring_runs():
    found = doctest.DocTestFinder().find(model_trial_study, globs={})
    assert sum(len(test.examples) for test in found) > 5
    runner = doctest.DocTestRunner()
    assert [runner.run(test).failed for test in found] == [0]


def test_every_model_is_a_plain_loop_over_blocks():
    result = run(None, LINE, RIDGE)
    plan = result.plan
    assert list(plan.axes) == ["model", "n_test", "method", "metric"]
    for scenario in plan.scenarios:
        found = result.columns(scenario, *COLUMNS)
        for at, model in enumerate((LINE, RIDGE)):
            drawn = next(
                each
                for each in plan.work_units.scenarios
                if each.scenario is scenario and each.method.name == model.name
            )
            for block in range(2):
                data = scenario.draw(plan.streams(scenario, block), 5)
                own = try_model(model, scenario, plan.work_units.streams(drawn, block), **data)
                for name in COLUMNS:
                    part = found[name][5 * block : 5 * block + 5, at]
                    np.testing.assert_array_equal(part, own[name])


def test_an_edited_estimator_is_drawn_again_alone(tmp_path):
    run(tmp_path, LINE, RIDGE)
    assert run(tmp_path, LINE, WEAK).outcome.n_blocks == BLOCKS


def test_two_models_of_one_name_are_refused():
    with pytest.raises(ConfigError, match="two models are named 'ridge'"):
        study(LINE, RIDGE, WEAK)


SHARES = ("null_is_false", "power", "type_1_error")
LINEAR = study(LINE).scenarios[0]


def found(n_rep, **moved):
    """A result of which each share is the design's, but for what is moved."""
    design = design_levels(LINEAR) | moved
    cell = {"dgp": factors_of(LINEAR)["dgp"], "model": "line", "n_test": "20", "metric": "mse"}
    false = design["null_is_false"]
    given = {"null_is_false": n_rep, "power": n_rep * false, "type_1_error": n_rep * (1 - false)}
    rows = [
        cell
        | {"method": method, "measure": name, "estimate": p, "n_rep": n_rep}
        | {"mcse": np.sqrt(p * (1 - p) / given[name]) if given[name] else np.nan}
        for method in ("studentized", "vanilla")
        for name, p in design.items()
    ]
    return SimpleNamespace(
        plan=SimpleNamespace(scenarios=study(LINE).scenarios), summary=pd.DataFrame(rows)
    )


def keeps(result, dgps=(LINEAR.dgp,)):
    return keeps_the_design(result, SHARES, within=0.02, dgps=dgps)


def test_shares_near_the_design_are_kept():
    kept = keeps(found(200_000, power=0.81))
    assert kept.value == 1
    assert kept.detail.startswith(
        "furthest of 3 shares: power 0.810 ± 0.002 (line, mse, n_test=20)"
    )


@pytest.mark.parametrize("moved", [{"power": 0.85}, {"type_1_error": 0.11}])
def test_a_share_beyond_them_is_not(moved):
    assert keeps(found(20_000, **moved)).value == 0


@pytest.mark.parametrize(
    "moved",
    [{}, {"power": 0.85}, {"type_1_error": 0.0}, {"null_is_false": 1.0, "type_1_error": np.nan}],
)
def test_few_replicates_neither_keep_nor_break_it(moved):
    """None of a few true nulls rejected is no type-I error of 0, nor are none of them."""
    with pytest.raises(TooFewReplicatesError):
        keeps(found(100, **moved))
