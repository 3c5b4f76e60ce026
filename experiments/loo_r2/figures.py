"""Figures of `loo_r2`: Taylor's standard error against the bootstrap's, and their ratio."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments._method_names import colors_of
from experiments.loo_r2.cells import FORMS, ratio_in_words, standard_errors
from simstudy.analysis.result import Result
from simstudy.documents.scenarios.leave_one_out import LeaveOneOut
from simstudy.figures import agreement_plot, captions, in_order, measure_curves, theme
from simstudy.figures.agreement import format_undrawn
from simstudy.lazy import ggplot, p9, pd

X = "standard error by the Bayesian bootstrap"
Y = "standard error by Taylor's formula"
COLOR = (
    "Colour: R² as published, the mean of the bootstrap's draws. In the panels: geometric mean of "
    f"Taylor over bootstrap. {captions.PLUS_MINUS}"
)
EXACT = "Leave-one-out is exact."
PUBLISHED = (
    "The bootstrap is that of rstanarm's loo_R2, with its misplaced parenthesis and its clipping "
    "to [-1, 1]."
)
PAGE = (6.5, 9.0)  # inches: a journal's page without the legend
WIDTH = 1.5  # inches: a panel of three side by side, beside the legend
MIDDLE = 1.0  # middle value of the document's σ
FEW = 20  # observations; smaller samples are small here
UTILITIES = {
    "mse": "MSE",
    "elpd": "elpd",
    "r2_mean_square": "R², ratio of mean squares",
    "r2_variance": "R², ratio of variances",
}


def ordinary(result: Result) -> list[LeaveOneOut]:
    """The scenarios of the first figure: many observations, few features."""
    return _some([s for s in result.plan.scenarios if s.prior == "default" and s.n_obs >= FEW])


def few_observations(result: Result) -> list[LeaveOneOut]:
    """The scenarios of the second figure: few observations."""
    return _some([s for s in result.plan.scenarios if s.prior == "default" and s.n_obs < FEW])


def many_features(result: Result) -> list[LeaveOneOut]:
    """The scenarios of the third figure: many features."""
    return _some([s for s in result.plan.scenarios if s.prior == "wide"])


def _some(scenarios: list[LeaveOneOut]) -> list[LeaveOneOut]:
    if not scenarios:
        raise LookupError("a scenario of this figure")
    return scenarios


def figure_simres(result: Result) -> ggplot:
    """Many observations: a panel for each n, σ and p."""
    return _by_cells(standard_errors(result, ordinary(result)))


def figure_simres_low_n(result: Result) -> ggplot:
    """The same with few observations."""
    return _by_cells(standard_errors(result, few_observations(result)))


def _by_cells(drawn: pd.DataFrame) -> ggplot:
    """Logarithmic axes, columns of panels by p, rows of panels by n and σ."""
    cells = list(zip(drawn["n_obs"], drawn["noise_sd"], strict=True))
    words = {(n, sd): f"n = {n}\nσ = {sd:g}" for n, sd in sorted(set(cells))}
    drawn = drawn.assign(panel=in_features(drawn), rows=in_order(cells, words))
    height = min(PAGE[1], 2.4 + 1.1 * len(words))
    flat = 0.93 * (height - 1.7) / len(words) / WIDTH
    figure = agreement(drawn, rows="rows", log=True, ticks=powers_of_ten)
    titles = captions.titles(*_says(), not_drawn(drawn), x=X, y=Y, size=(PAGE[0], height))
    return figure + titles + p9.theme(aspect_ratio=min(flat, 1.0))


def powers_of_ten(limits: tuple[float, float]) -> list[float]:
    """Ticks at every power of ten, and at no other value."""
    return [float(power) for power in np.arange(np.ceil(limits[0]), np.floor(limits[1]) + 1)]


def agreement(drawn: pd.DataFrame, **options: Any) -> ggplot:
    """Standard errors by both methods, by column `panel`, coloured by R²."""
    return agreement_plot(
        drawn.rename(columns={"R2": "R²"}), x="bootstrap", y="taylor", panel="panel", color="R²",
        say=_ratio, right=True, low=True, **options,
    )  # fmt: skip


def _ratio(rows: pd.DataFrame) -> str:
    return ratio_in_words(np.log(rows["y"] / rows["x"]))


def _says(*more: str) -> tuple[str, ...]:
    return (captions.dashed("equality"), COLOR, EXACT, *(more or (PUBLISHED,)))


def in_features(drawn: pd.DataFrame) -> Any:
    """Panels by the number of features, in order."""
    return in_order(drawn["p"], {p: f"p = {p}" for p in sorted(drawn["p"].unique())})


def not_drawn(drawn: pd.DataFrame) -> str:
    """The sentence on points that logarithmic axes cannot show."""
    none = (drawn["bootstrap"] <= 0) | (drawn["taylor"] <= 0)
    return format_undrawn(int(none.sum()), len(drawn))


def figure_simres_high_p_n50(result: Result) -> ggplot:
    """Many features under a wide prior."""
    drawn = standard_errors(result, many_features(result))
    drawn = drawn.assign(panel=in_features(drawn))
    return agreement(drawn, log=True) + captions.titles(
        f"n = {drawn['n_obs'].iloc[0]}, coefficients N(0, 10²) by their prior.",
        *_says(), x=X, y=Y,
    )  # fmt: skip


def figure_forms(result: Result) -> ggplot:
    """Taylor against the bootstrap of three forms of R², for the same data sets."""
    scenarios = [s for s in result.plan.scenarios if s.prior == "default"]
    drawn = pd.concat(
        standard_errors(result, scenarios, form).assign(panel=words)
        for form, words in FORMS.items()
    )
    sizes = sorted(drawn["n_obs"].unique())
    drawn = drawn.assign(
        panel=in_order(drawn["panel"], {words: words for words in FORMS.values()}),
        rows=in_order(drawn["n_obs"], {n: f"n = {n}" for n in sizes}),
    )
    return agreement(drawn, rows="rows", log=True) + captions.titles(
        *_says("All p and σ together; the formula's side is the same in every column."),
        not_drawn(drawn), x=X, y=Y, size=PAGE,
    )  # fmt: skip


def middle_sd(noise_sd: pd.Series) -> float:
    """The document's middle σ, or the one nearest to it."""
    return float(min(noise_sd.unique(), key=lambda sd: abs(sd - MIDDLE)))


def figure_ratio(result: Result) -> ggplot:
    """Mean and scatter of Taylor over bootstrap, by n; theory of the mean as a line."""
    rows = result.summary
    first = ordinary(result)[0]
    sigma = middle_sd(rows["noise_sd"])
    rows = rows[(rows["method"] == "bootstrap") & (rows["prior"] == "default")]
    rows = rows[(rows["noise_sd"] == sigma) & rows["utility"].isin(UTILITIES)]
    words = {
        "mean_taylor_over": "Taylor over bootstrap",
        "scatter": "standard deviation of the ratio",
    }
    rows = rows[rows["measure"].isin(words)]
    figure = measure_curves(
        rows.assign(
            utility=in_order(rows["utility"], UTILITIES),
            measure=in_order(rows["measure"], words),
        ).rename(columns={"n_feature": "p", "n_obs": "n"}),
        x="n",
        y=tuple(words.values()),
        color="utility",
        panel="p",
        rows="measure",
        exact=_theory(rows, first.n_draw, list(words.values())),
        log_x=True,
        joined=False,
        colors=colors_of(UTILITIES.values()),
    )
    return figure + captions.titles(
        captions.BARS,
        "Solid lines: √((n + 1)/(n − 1)), exact for means, and the scatter of a bootstrap of "
        f"{first.n_draw:,} draws, 1/√(2 · {first.n_draw:,}), to first order.",
        f"σ\u00a0=\u00a0{sigma:g}.",
        *captions.notes(figure.data),
        x="observations n",
        y="",
        size=(theme.FULL_WIDTH, 5.0),
    )


def _theory(rows: pd.DataFrame, n_draw: int, names: list[str]) -> pd.DataFrame:
    n_obs = np.geomspace(rows["n_obs"].min(), rows["n_obs"].max(), 60)
    lines = np.sqrt((n_obs + 1) / (n_obs - 1)), np.full_like(n_obs, 1 / np.sqrt(2 * n_draw))
    return pd.concat(
        pd.DataFrame({"n": n_obs, "exact": line, "measure": name, "p": p})
        for name, line in zip(names, lines, strict=True)
        for p in rows["n_feature"].unique()
    )
