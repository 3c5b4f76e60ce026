"""Figures of `loo_calibration`: standard errors compared with true errors."""

from __future__ import annotations

from typing import Any

from experiments._method_names import colors_of
from experiments.loo_calibration.claims import MANY
from experiments.loo_r2.figures import middle_sd
from simstudy.analysis.result import Result
from simstudy.documents.scenarios.leave_one_out import LEVEL
from simstudy.figures import captions, in_order, measure_curves, theme
from simstudy.lazy import ggplot, p9, pd

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


def ordinary(result: Result, compared: str = "model") -> pd.DataFrame:
    """Rows of the cells with the default prior, with labels for utilities and methods."""
    return in_words(of_prior(result, "default"), compared)


def of_prior(result: Result, prior: str) -> pd.DataFrame:
    rows = result.summary
    rows = rows[rows["prior"] == prior]
    kept: pd.DataFrame = rows.drop(columns=["prior", "coefficients", "n_draw", "against"])
    return kept


def in_words(rows: pd.DataFrame, compared: str) -> pd.DataFrame:
    rows = rows[(rows["compared"] == compared) & rows["utility"].isin(UTILITIES)]
    rows = rows[rows["n_rep"] > 0]  # elpd has no known truth given the fit
    return rows.assign(
        utility=in_order(rows["utility"], UTILITIES), method=in_order(rows["method"], METHODS)
    ).rename(columns={"n_feature": "p", "n_obs": "n"})


def _middle(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of one σ."""
    kept: pd.DataFrame = rows[rows["noise_sd"] == middle_sd(rows["noise_sd"])]
    return kept


def _few_features(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the middle number of features."""
    counts = sorted(rows["p"].unique())
    kept: pd.DataFrame = rows[rows["p"] == counts[len(counts) // 2]]
    return kept


def figure_relative_error(result: Result) -> ggplot:
    """Relative error of the standard error by n, against the spread over data sets.

    Few and many observations have separate panels: from n = 100 on the error is a tenth or less.
    """
    rows = _few_features(_middle(ordinary(result)))
    rows = rows[rows["measure"] == "relative_error"]
    rows = rows.assign(target=_by_size(rows))
    figure = _curves(rows, "relative_error", **AGAINST_N, y=RELATIVE)
    own = p9.facet_wrap(["rows", "panel"], ncol=rows["utility"].nunique(), scales="free")
    size = p9.theme(figure_size=(theme.FULL_WIDTH, 2.4 + 1.4 * rows["target"].nunique()))
    words = "Scales differ by row."
    return figure + own + size + _one_scale_by_row(figure) + _says(rows, NO_ERROR, SPREAD, words)


def _one_scale_by_row(figure: ggplot) -> Any:
    """Invisible points that give the panels of a row one scale, with room at its ends."""
    drawn = figure.data
    ends = drawn.groupby("rows", observed=True).agg(
        x0=("x", "min"), x1=("x", "max"), y0=("lower", "min"), y1=("upper", "max")
    )
    panels = drawn[["rows", "panel"]].drop_duplicates().merge(ends, on="rows")
    low = panels.assign(x=panels["x0"] / 1.25, y=panels["y0"])
    high = panels.assign(x=panels["x1"] * 1.25, y=panels["y1"])
    return p9.geom_blank(p9.aes("x", "y"), pd.concat([low, high]), inherit_aes=False)


def _by_size(rows: pd.DataFrame) -> Any:
    """Whether observations are few or many."""
    words = {many: f"n {'≥' if many else '<'} {MANY}" for many in (False, True)}
    there = (rows["n"] >= MANY).tolist()
    return in_order(there, {many: said for many, said in words.items() if many in there})


def figure_coverage(result: Result) -> ggplot:
    """Coverage of the 95% interval by n, for the mean of the estimates and the fit's utility."""
    rows = _few_features(_middle(ordinary(result)))
    rows = rows[rows["measure"].isin(COVERED)]
    rows = rows.assign(target=in_order(rows["measure"], COVERED), measure="coverage")
    titles = {**AGAINST_N, "nominal": LEVEL, "y": "coverage of the 95% interval"}
    return _curves(rows, "coverage", **titles) + _says(rows, captions.dashed("95%"))


def figure_differences(result: Result) -> ggplot:
    """Relative error of the standard error of a difference, by n and by the other model."""
    words = {said: said for said in DIFFERENCES.values()}
    parts = [
        _few_features(_middle(ordinary(result, other))).assign(target=said)
        for other, said in DIFFERENCES.items()
    ]
    rows = pd.concat(parts).drop(columns="compared")
    rows = rows[rows["measure"] == "relative_error"]
    rows = rows.assign(target=in_order(rows["target"], words))
    figure = _curves(rows, "relative_error", **AGAINST_N, y=RELATIVE)
    by_row = p9.facet_grid("rows", "panel", scales="free_y")
    return figure + by_row + _says(rows, NO_ERROR, SPREAD, "Scales differ by row.")


def figure_high_p(result: Result) -> ggplot:
    """Relative error by the number of features under a wide prior."""
    rows = _middle(in_words(of_prior(result, "wide"), "model"))
    rows = rows[rows["measure"].isin(TARGETS)]
    rows = rows.assign(target=in_order(rows["measure"], TARGETS), measure="relative_error")
    figure = _curves(rows, "relative_error", x="p", title="features p", nominal=0.0, y=RELATIVE)
    return figure + _says(rows, NO_ERROR, "Wide prior.")


AGAINST_N: dict[str, Any] = {"x": "n", "title": "observations n", "nominal": 0.0}
RELATIVE = "relative error of the standard error"
NO_ERROR = captions.dashed("no error")
SPREAD = "Errors are of the spread over data sets."


def _curves(
    rows: pd.DataFrame, measure: str, *, x: str, title: str, nominal: float, y: str
) -> ggplot:
    """Both methods, in panels by utility and rows of panels by `target`."""
    figure = measure_curves(
        rows, x=x, y=measure, color="method", panel="utility", rows="target", nominal=nominal,
        log_x=True, colors=COLORS,
    )  # fmt: skip
    titles = captions.titles(size=(theme.FULL_WIDTH, 5.0), x=f"{title} (log scale)", y=y)
    return figure + titles


def _says(rows: pd.DataFrame, *more: str) -> list[Any]:
    """The caption: facts about all points, with constant factors."""
    fixed = {"n": "n", "p": "p", "noise_sd": "σ"}
    only = [
        f"{word}\u00a0=\u00a0{rows[c].iloc[0]:g}" for c, word in fixed.items() if _is_one(rows[c])
    ]
    unknown = "Of elpd the value on new data is not known." * ("elpd" not in _with_truth(rows))
    return captions.titles(
        captions.BARS,
        captions.JOINS,
        captions.APART,
        *more,
        f"{', '.join(only)}.",
        captions.format_replicates(rows),
        unknown,
    )


def _is_one(levels: pd.Series) -> bool:
    return levels.nunique() == 1


def _with_truth(rows: pd.DataFrame) -> set[str]:
    """Utilities that exist in every row of panels."""
    by_target = rows.groupby("target", observed=True)["utility"].agg(set)
    return set.intersection(*by_target)
