"""Figures of `loo_calibration`: standard errors against what they are errors of."""

from __future__ import annotations

from simstudy.analysis.result import Result
from simstudy.figures import captions, colors_of, heat_map_plot, in_order, measure_curves
from simstudy.lazy.pandas import pd
from simstudy.lazy.plotnine import ggplot, p9

UTILITIES = {
    "r2_variance": "R²",
    "r2_published": "R² as published",
    "rmse": "RMSE",
    "mae": "MAE",
    "elpd": "elpd",
}
METHODS = {"taylor": "Taylor", "bootstrap": "Bayesian bootstrap"}
COLORS = colors_of(METHODS.values())
TARGETS = {
    "relative_error": "of the spread\nover data sets",
    "relative_error_given_fit": "of the distance from\nthis fit's utility",
}
COVERED = {
    "coverage": "mean of the estimates",
    "coverage_given_fit": "this fit's utility\non new data",
}
DIFFERENCES = {
    "less half": "less a model with\nhalf of the features",
    "less useless": "less a model with\na useless feature",
}
MIDDLE = 1.0  # of the document's σ


def ordinary(result: Result, compared: str = "model") -> pd.DataFrame:
    """Rows of the cells with the default prior, utilities and methods in words."""
    return _in_words(_of(result, "default"), compared)


def _of(result: Result, prior: str) -> pd.DataFrame:
    rows = result.summary
    rows = rows[rows["prior"] == prior]
    kept: pd.DataFrame = rows.drop(columns=["prior", "coefficients", "n_draw", "against"])
    return kept


def _in_words(rows: pd.DataFrame, compared: str) -> pd.DataFrame:
    rows = rows[(rows["compared"] == compared) & rows["utility"].isin(UTILITIES)]
    rows = rows[rows["n_rep"] > 0]  # of elpd the truth given the fit is not known
    return rows.assign(
        utility=in_order(rows["utility"], UTILITIES), method=in_order(rows["method"], METHODS)
    ).rename(columns={"n_feature": "p", "n_obs": "n"})


def _middle(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of one σ: the document's middle one, or the one nearest to it."""
    sigmas = sorted(rows["noise_sd"].unique(), key=lambda sd: abs(sd - MIDDLE))
    kept: pd.DataFrame = rows[rows["noise_sd"] == sigmas[0]]
    return kept


def figure_relative_error(result: Result) -> ggplot:
    """Relative error of the standard error by n, against both of its targets."""
    rows = _middle(ordinary(result))
    rows = rows[rows["measure"].isin(TARGETS)]
    return _curves(rows, "relative_error", TARGETS, 0.0, "relative error of the standard error")


def _curves(
    rows: pd.DataFrame, measure: str, words: dict[str, str], nominal: float, title: str
) -> ggplot:
    """Rows of panels by target, at the middle number of features."""
    counts = sorted(rows["p"].unique())
    few = rows[rows["p"] == counts[len(counts) // 2]]
    figure = measure_curves(
        few.assign(target=in_order(few["measure"], words), measure=measure),
        x="n", y=measure, color="method", panel="utility", rows="target", nominal=nominal,
        log_x=True, colors=COLORS,
    )  # fmt: skip
    return _finished(figure, x="observations n", y=title)


def _finished(figure: ggplot, *, x: str, y: str) -> ggplot:
    turned = p9.theme(axis_text_x=p9.element_text(angle=35, ha="right"))
    return figure + captions.titles(size=(11, 5.6), legend_on_top=True, x=x, y=y) + turned


def figure_coverage(result: Result) -> ggplot:
    """Coverage of the 95% interval by n, of the mean of the estimates and of the fit's utility."""
    rows = _middle(ordinary(result))
    rows = rows[rows["measure"].isin(COVERED)]
    return _curves(rows, "coverage", COVERED, 0.95, "coverage of the 95% interval")


def figure_differences(result: Result) -> ggplot:
    """Relative error of the standard error of a difference, by n and by the other model."""
    parts = [
        _middle(ordinary(result, other)).assign(target=words)
        for other, words in DIFFERENCES.items()
    ]
    rows = pd.concat(parts)
    rows = rows[rows["measure"] == "relative_error"]
    counts = sorted(rows["p"].unique())
    few = rows[rows["p"] == counts[len(counts) // 2]]
    words = {said: said for said in DIFFERENCES.values()}
    figure = measure_curves(
        few.assign(target=in_order(few["target"], words)).drop(columns="compared"),
        x="n", y="relative_error", color="method", panel="utility", rows="target", nominal=0.0,
        log_x=True, colors=COLORS,
    )  # fmt: skip
    return _finished(figure, x="observations n", y="relative error of the standard error")


def figure_high_p(result: Result) -> ggplot:
    """Relative error by the number of features under a wide prior."""
    rows = _middle(_in_words(_of(result, "wide"), "model"))
    rows = rows[rows["measure"].isin(TARGETS)]
    figure = measure_curves(
        rows.assign(target=in_order(rows["measure"], TARGETS), measure="relative_error"),
        x="p", y="relative_error", color="method", panel="utility", rows="target", nominal=0.0,
        log_x=True, colors=COLORS,
    )  # fmt: skip
    x = f"features p (n = {rows['n'].iloc[0]})"
    return _finished(figure, x=x, y="relative error of the standard error")


def figure_table(result: Result) -> ggplot:
    """Relative error of both standard errors of R² in every cell, with its Monte Carlo error."""
    rows = pd.concat([ordinary(result), _in_words(_of(result, "wide"), "model")])
    rows = rows[(rows["utility"] == UTILITIES["r2_variance"]) & rows["measure"].isin(TARGETS)]
    rows = rows.assign(
        target=in_order(rows["measure"], TARGETS), measure="relative_error", σ=rows["noise_sd"]
    )
    cell = [f"{n}, {p}" for n, p in zip(rows["n"], rows["p"], strict=True)]
    rows = rows.assign(cell=pd.Categorical(cell, list(dict.fromkeys(cell))[::-1], ordered=True))
    figure = heat_map_plot(
        rows.drop(columns=["n", "p", "noise_sd"]),
        measure="relative_error", x="σ", y="cell", panel="method", rows="target", center=0.0,
    )  # fmt: skip
    return figure + captions.titles(y="observations n, features p", size=(9, 16))
