"""Predictive p-values: what settings mean, what is refused, and what claims compare."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from experiments import predictive_pvalue_friedman
from experiments.predictive_pvalue import claims
from experiments.predictive_pvalue.settings import prediction_study
from simstudy.claims import Finding
from simstudy.claims.claim import check_claims
from simstudy.documents.scenarios.predictions import Networks, Regressor, TrueNulls
from simstudy.errors import ConfigError

pytest.importorskip("sklearn", reason="needs pip install -e '.[models]'")

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


def result_of(methods=("net_10", "net_8", "net_5"), **columns):
    """A result whose methods have these columns `(rep, method)`, at one position of each axis."""
    axes = {
        "method": methods, "epochs": ("1",), "n_boot_models": ("2",),
        "distribution": ("centered", "centered_noise"),
    }  # fmt: skip
    # Residual noise leaves little to reject: a twentieth of each number.
    shaped = {
        n: np.stack([c, np.divide(c, 20)], axis=-1)[:, :, None, None, :] for n, c in columns.items()
    }
    plan = SimpleNamespace(axes=axes, scenarios=[None])
    return SimpleNamespace(plan=plan, columns=lambda scenario, name: {name: shaped[name]})


IN_ORDER, REVERSED, OTHER = [1, 2, 3], [3, 2, 1], [2, 1, 3]


def claim(name, result):
    (named,) = (c for c in claims.CLAIMS + claims.CONTROLS if c.name == name)
    return named.reproduce(result)


def row(name, result):
    (found,) = check_claims(
        [c for c in claims.CLAIMS + claims.CONTROLS + claims.OF_TRUTH if c.name == name], result
    ).to_dict("records")
    return found


def verdict(name, result):
    return row(name, result)["verdict"]


def test_two_replicates_do_not_reproduce_a_share():
    few = result_of(rfdr=[IN_ORDER] * 2, rmse=[REVERSED] * 2, log10_p=[[-6, -7, -8]] * 2)
    assert verdict("best predicts best", few) == "too few replicates"
    assert verdict("joint null", few) == "too few replicates"


def test_many_replicates_decide_a_share():
    many = result_of(rfdr=[IN_ORDER] * 80, rmse=[OTHER, REVERSED] * 40, log10_p=[[-6, -7, -8]] * 80)
    assert verdict("best predicts best", many) == "differs"
    assert verdict("joint null", many) == "reproduced"
    assert row("joint null", many)["rival"] == "distributions with residual noise (0): differs"


def test_uniform_p_values_are_told_from_those_of_a_network():
    """Of the quantiles of a uniform distribution, and of p-values a quarter as large."""
    logs = np.log10((np.arange(80) + 0.5) / 80)
    known = result_of(("truth", "net_5"), log10_p=np.stack([logs, logs - np.log10(4)], axis=1))
    found = row("combined p of the truth", known)
    assert found["verdict"] == "reproduced"
    assert found["rival"].endswith(": differs")


def test_a_mean_of_two_replicates_is_not_told_from_theory():
    (uniform,) = (c for c in claims.CONTROLS if c.name == "combined p of true nulls")
    found = Finding(claims.OF_UNIFORM - 0.01, 0.05, n_rep=2)
    assert uniform.verdict(found) == "too few replicates"
    assert uniform.verdict(found._replace(n_rep=40)) == "reproduced"
    assert uniform.verdict(found._replace(n_rep=40, value=-1.0)) == "differs"


SAME = [IN_ORDER, REVERSED, OTHER, IN_ORDER]
BEST_AND_WORST = {"log10_p": [REVERSED, IN_ORDER], "cfdr": [REVERSED, IN_ORDER]}
SHARES = [
    ("order by log10_p", {"log10_p": SAME}, 0.5),
    ("order by all", {"log10_p": SAME, "cfdr": SAME, "rfdr": [*SAME[:3], OTHER]}, 0.25),
    ("agreement", BEST_AND_WORST | {"rfdr": [REVERSED, OTHER]}, 0.5),
    ("joint null", {"log10_p": [[-6, -7, -8], [-6, -4, -8]]}, 0.5),
    ("best predicts best", {"rfdr": [IN_ORDER, IN_ORDER], "rmse": [REVERSED, IN_ORDER]}, 0.5),
]


@pytest.mark.parametrize(("name", "columns", "share"), SHARES, ids=[name for name, *_ in SHARES])
def test_a_claim_counts_the_replicates_in_which_it_holds(name, columns, share):
    """In order, agreed by all measures on the best and the worst, all three rejected."""
    assert claim(name, result_of(**columns)).value == share
