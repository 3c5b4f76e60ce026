"""Figures of `loo_calibration`: standard errors against what they are errors of."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments._method_names import colors_of
from experiments.loo_calibration.claims import MANY
from experiments.loo_r2.figures import middle_sd
from simstudy.analysis.result import Result
from simstudy.figures import captions, heat_map_plot, in_order, measure_curves, theme
from simstudy.lazy import ggplot, p9, pd
from simstudy.trials.leave_one_out import LEVEL

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
    """The rows of one σ."""
    kept: pd.DataFrame = rows[rows["noise_sd"] == middle_sd(rows["noise_sd"])]
    return kept


def _few_features(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the middle number of features."""
    counts = sorted(rows["p"].unique())
    kept: pd.DataFrame = rows[rows["p"] == counts[len(counts) // 2]]
    return kept


def figure_relative_error(result: Result) -> ggplot:
    """Relative error of the standard error by n, against both of its targets.

    Few and many observations each have a scale: by n = 100 what is left is a tenth and less.
    """
    rows = _few_features(_middle(ordinary(result)))
    rows = rows[rows["measure"].isin(TARGETS)]
    rows = rows.assign(target=_targets_by_size(rows), measure="relative_error")
    figure = _curves(rows, "relative_error", **AGAINST_N, y=RELATIVE)
    own = p9.facet_grid(rows="rows", cols="panel", scales="free_y")
    size = p9.theme(figure_size=(theme.FULL_WIDTH, 2.0 + 1.4 * rows["target"].nunique()))
    return figure + own + size + _says(rows, NO_ERROR, OWN_SCALE)


def _targets_by_size(rows: pd.DataFrame) -> Any:
    """By target, and by whether observations are few or many."""
    words = {
        (measure, many): f"{target},\nn {'≥' if many else '<'} {MANY}"
        for measure, target in TARGETS.items()
        for many in (False, True)
    }
    there = list(zip(rows["measure"], rows["n"] >= MANY, strict=True))
    return in_order(there, {level: said for level, said in words.items() if level in there})


def figure_coverage(result: Result) -> ggplot:
    """Coverage of the 95% interval by n, of the mean of the estimates and of the fit's utility."""
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
    return figure + _says(rows, NO_ERROR, "Errors are of the spread over data sets.")


def figure_high_p(result: Result) -> ggplot:
    """Relative error by the number of features under a wide prior."""
    rows = _middle(_in_words(_of(result, "wide"), "model"))
    rows = rows[rows["measure"].isin(TARGETS)]
    rows = rows.assign(target=in_order(rows["measure"], TARGETS), measure="relative_error")
    figure = _curves(rows, "relative_error", x="p", title="features p", nominal=0.0, y=RELATIVE)
    return figure + _says(rows, NO_ERROR, "Wide prior.")


AGAINST_N: dict[str, Any] = {"x": "n", "title": "observations n", "nominal": 0.0}
RELATIVE = "relative error of the standard error"
PERCENT = "relative error, %"
NO_ERROR = captions.dashed("no error")
OWN_SCALE = "Each row of panels has a scale of its own."


def _curves(
    rows: pd.DataFrame, measure: str, *, x: str, title: str, nominal: float, y: str
) -> ggplot:
    """Both methods, in panels by utility, and rows of them by `target`."""
    figure = measure_curves(
        rows, x=x, y=measure, color="method", panel="utility", rows="target", nominal=nominal,
        log_x=True, colors=COLORS,
    )  # fmt: skip
    places = sorted(rows[x].unique())
    every_place = p9.scale_x_log10(
        breaks=places, labels=[f"{place:,g}" for place in places], minor_breaks=[]
    )
    turned = p9.theme(axis_text_x=p9.element_text(angle=90))
    return (
        figure + captions.titles(size=(theme.FULL_WIDTH, 5.0), x=title, y=y) + every_place + turned
    )


def _says(rows: pd.DataFrame, *more: str) -> list[Any]:
    """What holds of all points, with the one value of each factor that is no axis."""
    fixed = {"n": "n", "p": "p", "noise_sd": "σ"}
    only = [
        f"{word}\u00a0=\u00a0{rows[c].iloc[0]:g}" for c, word in fixed.items() if _is_one(rows[c])
    ]
    unknown = "Of elpd the value on new data is not known." * ("elpd" not in _with_truth(rows))
    return captions.titles(
        captions.BARS,
        captions.JOINS,
        *more,
        f"{', '.join(only)}.",
        captions.replicates_in_words(rows),
        unknown,
    )


def _is_one(levels: pd.Series) -> bool:
    return levels.nunique() == 1


def _with_truth(rows: pd.DataFrame) -> set[str]:
    """Utilities that are there in every row of panels."""
    by_target = rows.groupby("target", observed=True)["utility"].agg(set)
    return set.intersection(*by_target)


def figure_table(result: Result) -> ggplot:
    """Relative error of both standard errors of R² in every cell, with its Monte Carlo error."""
    rows = pd.concat([ordinary(result), _in_words(_of(result, "wide"), "model")])
    rows = rows[(rows["utility"] == UTILITIES["r2_variance"]) & rows["measure"].isin(TARGETS)]
    rows = rows.sort_values(["n", "p"], kind="stable")
    rows = rows.assign(heading=_headings(rows), cell=_cells(rows), σ=rows["noise_sd"])
    figure = heat_map_plot(
        _in_percent(rows).drop(columns=["n", "p", "noise_sd", "method"]), measure=PERCENT, x="σ",
        y="cell", panel="heading", center=0.0, digits="digits",
    )  # fmt: skip
    return figure + captions.titles(
        "Utility: R², one less the variance of the errors over that of the responses.",
        figure.labels.caption,
        _of_wide_prior(result),
        y="observations n, features p",
        size=(theme.FULL_WIDTH, theme.TALLEST),
    )


def _in_percent(rows: pd.DataFrame) -> pd.DataFrame:
    """The numbers times 100, with the decimals that their error needs: of 9.5 and more none."""
    numbers = {name: 100 * rows[name] for name in ("estimate", "mcse", "lower", "upper")}
    digits = np.where(numbers["mcse"] < 9.5, 1, 0)
    return rows.assign(measure=PERCENT, digits=digits, **numbers)


def _of_wide_prior(result: Result) -> str:
    """Which rows of the table have a prior that the others do not."""
    wide = sorted({s.n_obs for s in result.plan.scenarios if s.prior == "wide"})
    return f"Rows of n = {', '.join(map(str, wide))}: wide prior." if wide else ""


def _headings(rows: pd.DataFrame) -> Any:
    """By target, and by method within it."""
    words = {
        (measure, method): f"{method},\n{target}"
        for measure, target in TARGETS.items()
        for method in METHODS.values()
    }
    return in_order(zip(rows["measure"], rows["method"], strict=True), words)


def _cells(rows: pd.DataFrame) -> Any:
    """From the fewest observations at the top, and of these from the fewest features."""
    cell = [f"{n}, {p}" for n, p in zip(rows["n"], rows["p"], strict=True)]
    return pd.Categorical(cell, list(dict.fromkeys(cell))[::-1], ordered=True)
