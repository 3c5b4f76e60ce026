"""Does the two-stage trial work for any model and any metric, as its document says?

Aims         Where do power, type-I error and the share of false nulls keep their design values,
             and where do they not?
Data         Twenty normal features: a linear signal in normal noise, a curved signal, and a linear
             one in Student-t noise (3 df), whose squared error has no variance.
Estimands    The true metric of each fitted model, from 10000 fresh observations.
Methods      Least squares, ridge, random forest and gradient boosting, each tried by MSE, MAE,
             RMSE and R²; bootstrap standard errors studentized or not.
Performance  Power, type-I error and share of false nulls by size of the test sample. At 3000
             replicates the MCSE is 0.5 points of the share, 0.8 of power, and about 1.6 of
             type-I error, which has few true nulls.
"""

from functools import partial
from typing import Any

from experiments._answers import span
from experiments._model_trials import TrialConfig, keeps_the_design, model_trial_study
from experiments._yardsticks import CLOSE
from simstudy.analysis.result import Result
from simstudy.claims import Claim, Finding, WrongValue, of_row
from simstudy.design.plan import factors_of
from simstudy.documents.dgps.linear import LinearModel
from simstudy.documents.scenarios.models import Model
from simstudy.documents.stats.models.metrics import CORRELATION, MAE, MSE, R2, RMSE
from simstudy.lazy import special
from simstudy.options import option, published
from simstudy.study import Study

DGPS = {
    "linear": LinearModel(),
    "curved": LinearModel(curvature=1.0),
    "heteroskedastic": LinearModel(heteroskedasticity=0.5),
    "heavy_tails": LinearModel(df=3.0),
}
WORDS = {
    "linear": "linear, normal noise",
    "curved": "curved signal",
    "heteroskedastic": "noise follows the signal",
    "heavy_tails": "Student-t noise, 3 df",
}
METRICS = {metric.name: metric for metric in (MSE, MAE, RMSE, R2, CORRELATION)}


# Estimators are small, so that a thousand fits take minutes and not hours.
# scikit-learn has no types.
def least_squares() -> Any:
    from sklearn.linear_model import LinearRegression

    return LinearRegression()


def ridge() -> Any:
    from sklearn.linear_model import Ridge

    return Ridge(alpha=10.0)


def random_forest() -> Any:
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(10, min_samples_leaf=3, max_features=1 / 3)


def gradient_boosting() -> Any:
    from sklearn.ensemble import GradientBoostingRegressor

    return GradientBoostingRegressor(n_estimators=20, max_depth=2, learning_rate=0.3, subsample=0.5)


MODELS = {
    make.__name__: Model(make.__name__, make)
    for make in (least_squares, ridge, random_forest, gradient_boosting)
}


@published(__file__)
class Config(TrialConfig):
    """Settings of the study."""

    dgps: list[str] = option("what the observations are", one_of=tuple(DGPS))
    models: list[str] = option("what is on trial", one_of=tuple(MODELS))
    metrics: list[str] = option("what it is tried by", one_of=tuple(METRICS))


def answer(result: Result) -> str:
    """Shares of false nulls and power by kind of data."""
    normal, heavy = "LinearModel", "LinearModel(df=3)"
    false = {
        dgp: span(result, "null_is_false", 0, dgp=dgp, method="studentized", metric=metrics)
        for dgp, metrics in ((normal, list(METRICS)), (heavy, ["mse", "rmse"]))
    }
    power = span(result, "power", 0, dgp=normal, method="studentized")
    by_mae = span(result, "null_is_false", 0, dgp=heavy, method="studentized", metric="mae")
    return (
        f"With normal noise {false[normal]} of nulls are false (designed: 93%), over all models "
        f"and metrics. The designed power is 80%; it is {power}. With Student-t noise of 3 degrees "
        f"of freedom {false[heavy]} are false by MSE and RMSE, and {by_mae} by MAE."
    )


def study(config: Config) -> Study:
    return model_trial_study(
        "regression_trial_models",
        dgps={WORDS[name]: DGPS[name] for name in config.dgps},
        models=[MODELS[name] for name in config.models],
        metrics=[METRICS[name] for name in config.metrics],
        answer=answer,
        claims=CLAIMS,
        **config.trial(),
    )


# ---------------------------------------------------------------- claims
SMALLEST = 50  # test observations
NEAR = 0.02  # two points of a share, for a power given in whole points
SHARES = ("null_is_false", "power", "type_1_error")


def _with_skewed_errors(result: Result) -> Finding:
    """Share of false nulls by MSE where a curved signal is missed, mean over the models.

    Only the smallest test samples count. The models are fitted to the same data, so the error of
    their mean is at most the mean of their errors, which is used.
    """
    dgp = factors_of(result.scenario(dgp=DGPS["curved"]))["dgp"]
    rows = result.select(measure="null_is_false", metric="mse", dgp=dgp, method="studentized")
    by_size = rows.assign(n=rows["n_test"].astype(int)).groupby("n")
    if SMALLEST not in by_size.groups:
        raise LookupError(f"test samples of {SMALLEST}")
    said = ", ".join(
        f"{cells['estimate'].min():.3f} to {cells['estimate'].max():.3f} at n_test={n}"
        for n, cells in by_size
    )
    cells = by_size.get_group(SMALLEST)
    share, mcse = cells["estimate"].mean(), cells["mcse"].mean()
    return Finding(float(share), float(mcse), f"by model {said}", float(cells["n_rep"].min()))


def _over_models(result: Result, dgp: str = "linear") -> Finding:
    """The share of false nulls furthest from the design, over models, metrics and sizes."""
    name = factors_of(result.scenario(dgp=DGPS[dgp]))["dgp"]
    rows = result.select(measure="null_is_false", dgp=name, method="studentized")
    off = (rows["estimate"] - float(special.ndtr(1.5))).abs()
    cell = rows.iloc[int(off.to_numpy().argmax())]
    detail = f"{cell['metric']} of {cell['model']}, n_test={cell['n_test']}"
    return of_row(cell, f"{detail}; {rows['estimate'].min():.3f} to {rows['estimate'].max():.3f}")


def _keeps(result: Result, names: tuple[str, ...]) -> Finding:
    dgps = tuple(DGPS[name] for name in names)
    return keeps_the_design(result, SHARES, within=NEAR, dgps=dgps)


CLAIMS = (
    Claim(
        "any model and metric",
        "The trial works for any model and any metric, under some regularity conditions",
        "introduction and section 4",
        _over_models,
        published=float(special.ndtr(1.5)),
        difference=CLOSE,
        wrong_value=WrongValue(
            "skewed errors, 50 test observations", partial(_over_models, dgp="curved")
        ),
        note="The share of false nulls with normal noise: of four models and five metrics, with 50 "
        "and 200 test observations, the cell that is furthest off. The conditions that the "
        "document names matter: see the entries on skewness.",
    ),
    Claim(
        "skewness limits it",
        "Extreme skewness will limit the quality of the estimate",
        "section 4",
        _with_skewed_errors,
        published=float(special.ndtr(1.5)),
        difference=NEAR,
        expected="differs",
        scored=False,  # "skewness limits" of regression_trial_prices counts the sentence
        note="The share of false nulls, by MSE, where a curved signal is missed and errors are "
        "skewed, with 50 test observations. It is 8 points short of the design, and 4 points with "
        "200: the caveat holds, and the document gives no size of the test sample for it.",
    ),
    Claim(
        "any distribution",
        "The trial works for any model and any metric with heavy-tailed noise too",
        "section 4",
        partial(_keeps, names=("heavy_tails",)),
        criterion="2 points",
        published=True,
        expected="differs",
        scored=False,  # the sentence is counted by "any model and metric"
        note="By MSE, RMSE and R² not where the noise is heavy-tailed: a squared error without a "
        "variance has no bootstrap standard error, at any size of the sample. By MAE it holds.",
    ),
)
