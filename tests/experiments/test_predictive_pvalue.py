"""Predictive p-values: what settings mean, what is refused, and what claims compare."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from experiments import predictive_pvalue_diabetes, predictive_pvalue_friedman
from experiments.predictive_pvalue import claims
from experiments.predictive_pvalue.settings import Options, prediction_study
from simstudy.claims import Reproduced, check_claims
from simstudy.errors import ConfigError, NotHereError
from simstudy.trials.predictions import Networks, Regressor, TrueNulls

FRIEDMAN = predictive_pvalue_friedman.Config()
SMALL = replace(
    FRIEDMAN, predictors=["net_10", "net_8", "net_5", "truth"], n_train=40, n_test=20,
    epochs=[1, 2], n_boot=[3, 4], n_rep=4,
)  # fmt: skip


def built(**settings):
    return prediction_study("small", replace(SMALL, **settings), claims.CLAIMS + claims.CONTROLS)


def test_predictors_are_the_networks_of_the_document():
    methods = built(predictors=["net_10", "net_8", "net_5", "least_squares"]).methods
    hidden = [m.network.hidden for m in methods.values() if isinstance(m, Networks)]
    assert hidden == [(15, 10), (15, 8), (15, 5)]
    assert isinstance(methods["least_squares"], Regressor)
    assert isinstance(methods["true_nulls"], TrueNulls)


def test_the_document_trains_on_338_and_tests_on_168():
    from experiments.predictive_pvalue.study import Config

    config = Config()
    assert (config.data, config.n_train, config.n_test) == ("boston", 338, 168)
    assert config.response[0] == "log"


REFUSED = [
    ({"epochs": [2, 1]}, r"epochs=\[2,1\] is not ascending, .*: use epochs=\[1,2\]"),
    ({"target": "foo"}, "target=foo: friedman has its own response"),
    ({"n_boot": [4, 4]}, r"n_boot=\[4,4\] is not ascending"),
    ({"data": "diabetes"}, "predictor truth: nobody knows the distribution behind diabetes#"),
    (
        {"data": "diabetes", "n_train": 400, "n_test": 100},
        "take 500 observations, and data=diabetes has 442: .* n_train=294 n_test=148",
    ),
]


@pytest.mark.parametrize(("settings", "why"), REFUSED)
def test_settings_that_do_not_go_together_are_refused(settings, why):
    with pytest.raises(ConfigError, match=why):
        built(**settings)


def test_the_log_of_what_has_none_is_refused_before_drawing(tmp_path):
    (tmp_path / "gains.csv").write_text("x,y\n" + "\n".join(f"{i},{i - 2}" for i in range(90)))
    with pytest.raises(ConfigError, match=r"response=log: 3 of 90 responses .* no logarithm"):
        built(data=str(tmp_path / "gains.csv"), target="y", response=["log"], predictors=["net_5"])


def test_data_that_are_not_here_are_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(NotHereError, match=r"data=boston is not at .* and could not be fetched"):
        built(data="boston")


def test_all_studies_have_the_same_options():
    names = {
        kind.Config.__mro__[1] for kind in (predictive_pvalue_diabetes, predictive_pvalue_friedman)
    }
    assert names == {Options}


# ---------------------------------------------------------------- claims
def result_of(**columns):
    """A result whose methods have these columns `(rep, network)`, at one position of each axis."""
    axes = {
        "method": ("net_10", "net_8", "net_5"), "epochs": ("1",), "n_boot_models": ("2",),
        "distribution": ("centered",),
    }  # fmt: skip
    shaped = {n: np.array(c, float)[:, :, None, None, None] for n, c in columns.items()}
    plan = SimpleNamespace(axes=axes, scenarios=[None])
    return SimpleNamespace(plan=plan, columns=lambda scenario, name: {name: shaped[name]})


IN_ORDER, REVERSED, OTHER = [1, 2, 3], [3, 2, 1], [2, 1, 3]


def claim(name, result):
    (named,) = (c for c in claims.CLAIMS + claims.CONTROLS if c.name == name)
    return named.reproduce.keywords["reproduce"](result)


def verdict(name, result):
    (row,) = check_claims(
        [c for c in claims.CLAIMS + claims.CONTROLS + claims.OF_TRUTH if c.name == name], result
    ).to_dict("records")
    return row["verdict"]


def test_two_replicates_do_not_reproduce_a_share():
    few = result_of(rfdr=[IN_ORDER] * 2, rmse=[REVERSED] * 2, log10_p=[[-6, -7, -8]] * 2)
    assert verdict("best predicts best", few) == "no data"
    assert verdict("joint null", few) == "no data"


def test_many_replicates_decide_a_share():
    many = result_of(rfdr=[IN_ORDER] * 40, rmse=[OTHER, REVERSED] * 20, log10_p=[[-6, -7, -8]] * 40)
    assert verdict("best predicts best", many) == "differs"
    assert verdict("joint null", many) == "reproduced"


def test_a_mean_of_two_replicates_is_not_told_from_theory():
    found = Reproduced(claims.OF_UNIFORM - 0.4, 0.1, n_rep=2)
    with pytest.raises(LookupError, match="replicates enough to decide"):
        claims._derived(None, lambda _: found, claims.OF_UNIFORM)
    enough = found._replace(n_rep=1000)
    assert claims._derived(None, lambda _: enough, claims.OF_UNIFORM) == enough


def test_the_order_is_that_of_every_replicate():
    result = result_of(log10_p=[IN_ORDER, REVERSED, OTHER, IN_ORDER])
    assert claim("order by log10_p", result).value == 0.5


def test_all_measures_have_to_have_the_order():
    same = [IN_ORDER, REVERSED, OTHER, IN_ORDER]
    result = result_of(log10_p=same, cfdr=same, rfdr=[IN_ORDER, REVERSED, OTHER, OTHER])
    assert claim("order by all", result).value == 0.25


def test_agreement_is_on_the_best_and_on_the_worst():
    result = result_of(
        log10_p=[REVERSED, IN_ORDER], cfdr=[REVERSED, IN_ORDER], rfdr=[REVERSED, OTHER]
    )
    assert claim("agreement", result).value == 0.5


def test_all_three_have_to_be_rejected():
    result = result_of(log10_p=[[-6, -7, -8], [-6, -4, -8]])
    assert claim("joint null", result).value == 0.5


def test_the_best_is_held_against_the_least_error():
    result = result_of(rfdr=[IN_ORDER, IN_ORDER], rmse=[REVERSED, IN_ORDER])
    assert claim("best predicts best", result).value == 0.5


def test_claims_on_networks_need_all_three():
    result = result_of(log10_p=[IN_ORDER])
    result.plan.axes["method"] = ("net_10",)
    with pytest.raises(LookupError, match="all three networks"):
        claim("joint null", result)


def test_a_small_run_has_every_figure_and_a_verdict_on_every_claim():
    result = built().run()
    for name in result.figures:
        result.figure(name)
    assert not result.claims["detail"].str.startswith("could not be computed").any()


def test_figures_of_other_predictors_alone():
    result = built(predictors=["least_squares"], epochs=[1]).run()
    result.figure("1")
    result.figure("distributions")
    with pytest.raises(LookupError, match="a network"):
        result.figure("training")
