"""Common options and declarations of the studies of predictive p-values."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments._answers import span
from experiments._model_trials import need_scikit_learn
from experiments.predictive_pvalue.figures import FIGURES
from experiments.predictive_pvalue.named_data import NAMED, regression_data
from simstudy.analysis.result import Result
from simstudy.array_types import Float
from simstudy.claims import Claim
from simstudy.design import grid
from simstudy.documents.dgps.friedman import Friedman
from simstudy.documents.scenarios.models import Model
from simstudy.documents.scenarios.predictions import (
    DERIVED,
    DISTRIBUTIONS,
    MAY_BE_MISSING,
    MEASURES,
    RESPONSES,
    Networks,
    Predictions,
    Regressor,
    TableRows,
    TrueNulls,
    Truth,
)
from simstudy.documents.stats.networks import Network, Training
from simstudy.errors import ConfigError
from simstudy.options import option
from simstudy.study import Rules, Study

FRIEDMAN = "friedman"
FIRST_LAYER = 15  # outputs, in all of the document's networks
SECOND_LAYER = {"net_10": 10, "net_8": 8, "net_5": 5}
TRUTH, TRUE_NULLS = "truth", "true_nulls"


def least_squares() -> Any:
    from sklearn.linear_model import LinearRegression

    return LinearRegression()


def random_forest() -> Any:
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(min_samples_leaf=2)


MODELS: dict[str, Callable[[], Any]] = {
    "least_squares": least_squares,
    "random_forest": random_forest,
}
"""Regressors of scikit-learn that may be used in addition to the networks, or instead."""

PREDICTORS = (*SECOND_LAYER, *MODELS, TRUTH)


@dataclass
class Options:
    """Settings of a study of predictive p-values."""

    data: str = option(f"what to predict: {', '.join([*NAMED, FRIEDMAN])}, or the path of a table")
    target: str | None = option("of a table, the column that is predicted")
    n_train: int = option("observations to learn from", at_least=2)
    n_test: int = option("observations to predict", at_least=2)
    response: list[str] = option("what is predicted of the response", one_of=RESPONSES)
    predictors: list[str] = option("networks by their second layer, and others", one_of=PREDICTORS)
    epochs: list[int] = option("passes over the data before predicting, ascending", at_least=1)
    n_boot: list[int] = option("bootstrap models, ascending", at_least=2)
    batch_size: int = option("observations in a mini-batch, at most", at_least=2)
    learning_rate: float = option("step of Adam", above=0)
    n_rep: int = option("splits of the data, or samples of a process", at_least=2)


def answer(result: Result) -> str:
    """What 90% intervals of the networks hold, and how compatible the test values are."""
    networks = [name for name in SECOND_LAYER if name in set(result.summary["method"])]
    held_form: dict[str, Any] = {"decimals": 0}
    log_form: dict[str, Any] = {"decimals": 1, "percent": False}
    held, log_p = (
        [
            span(result, measure, **form, method=networks, distribution=distribution)
            for distribution in ("fitted", "fitted_noise")
        ]
        for measure, form in (("mean_coverage", held_form), ("mean_log10_p", log_form))
    )
    text = (
        f"Without residual noise 90% intervals of the networks hold {held[0]} of the test values, "
        f"and the mean of log10 p is {log_p[0]}. With residual noise they hold {held[1]} "
        f"({log_p[1]})."
    )
    if TRUTH not in set(result.summary["method"]):
        return text
    true_held = span(result, "mean_coverage", **held_form, method=TRUTH)
    true_log_p = span(result, "mean_log10_p", **log_form, method=TRUTH)
    return f"{text} Those of the true distribution hold {true_held} ({true_log_p})."


def prediction_study(name: str, config: Options, claims: Sequence[Claim]) -> Study:
    """The study of a data set; `true_nulls` is always included, as the control.

    Raises
    ------
    ConfigError
        If data or a library are missing on this machine, or settings are inconsistent.
    """
    epochs, n_boot = (ascending(name, getattr(config, name)) for name in ("epochs", "n_boot"))
    source = source_of(config)
    return Study(
        name=name,
        scenarios=grid(
            Predictions,
            source=source,
            n_train=config.n_train,
            n_test=config.n_test,
            n_boot=[n_boot],
            response=config.response,
        ),
        methods=methods_of(config, source),
        axes={
            "epochs": tuple(map(str, epochs)),  # positions on an axis are names
            "n_boot_models": tuple(map(str, n_boot)),
            "distribution": DISTRIBUTIONS,
        },
        derived=DERIVED,
        measures=MEASURES,
        rules=Rules(
            vectors={"log_p": "n_test"},
            store_vectors=("log_p",),  # for the figure of p-values
            may_be_missing=MAY_BE_MISSING,
            common_random_numbers=("response",),
        ),
        block_size=1,
        n_rep=config.n_rep,
        figures=FIGURES,
        answer=answer,
        claims=claims,
    )


def source_of(config: Options) -> Friedman | TableRows:
    """The source of observations, checked against the numbers required."""
    if config.data == FRIEDMAN:
        if config.target is not None:
            raise ConfigError(
                f"target={config.target}: {FRIEDMAN} has its own response, so the run would leave "
                "this one out. Leave target out, or give a file as data=path/to.csv."
            )
        return Friedman()
    data = regression_data(config.data, config.target)
    n_rows, n_asked = len(data.read_array()), config.n_train + config.n_test
    if n_asked > n_rows:
        raise ConfigError(
            f"n_train={config.n_train} and n_test={config.n_test} take {n_asked} observations, and "
            f"data={config.data} has {n_rows}: use fewer of either, such as "
            f"n_train={2 * n_rows // 3} n_test={n_rows - 2 * n_rows // 3}"
        )
    _refuse_log_of(data.read_array()[:, -1], config)
    return TableRows(data)


def _refuse_log_of(response: Float[np.ndarray, " row"], config: Options) -> None:
    n_without = int((response <= 0).sum())
    if "log" in config.response and n_without:
        raise ConfigError(
            f"response=log: {n_without} of {len(response)} responses of data={config.data} are 0 "
            "or less and have no logarithm, so splits would have none either. Use a response "
            f"other than log ({', '.join(name for name in RESPONSES if name != 'log')})."
        )


def ascending(name: str, values: Sequence[int]) -> tuple[int, ...]:
    """The values, which must ascend, since figure 1 shows the last one."""
    given, sorted_once = (str(list(v)).replace(" ", "") for v in (values, sorted({*values})))
    if given != sorted_once:
        raise ConfigError(
            f"{name}={given} is not ascending, and the last one is what figure 1 is of: use "
            f"{name}={sorted_once}"
        )
    return tuple(values)


def methods_of(config: Options, source: Friedman | TableRows) -> dict[str, Callable[..., Any]]:
    """Predictors by name, and the control."""
    n_epochs = len(config.epochs)
    made = {name: _predictor(name, config, source) for name in dict.fromkeys(config.predictors)}
    return made | {TRUE_NULLS: TrueNulls(n_epochs)}


def _predictor(name: str, config: Options, source: Friedman | TableRows) -> Callable[..., Any]:
    n_epochs = len(config.epochs)
    if name == TRUTH:
        if not isinstance(source, Friedman):
            raise ConfigError(
                f"predictor truth: nobody knows the distribution behind {source}. Leave it out, or "
                "take data=friedman."
            )
        return Truth(n_epochs)
    if name in MODELS:
        need_scikit_learn()
        return Regressor(Model(name, MODELS[name]), n_epochs)
    training = Training(tuple(config.epochs), config.batch_size, config.learning_rate)
    return Networks(Network((FIRST_LAYER, SECOND_LAYER[name])), training)
