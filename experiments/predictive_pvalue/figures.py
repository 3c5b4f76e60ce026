"""Figures of predictive p-values: functions of a study's stored results."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from experiments.predictive_pvalue.cells import (
    NAMES,
    SHARES,
    SPLIT,
    first_rows,
    first_scenario,
    methods_drawn,
    n_replicates,
    networks_drawn,
    predicted_in_words,
    published_cell,
    values,
)
from experiments.predictive_pvalue.distributions import figure_distributions
from simstudy.analysis.result import Result
from simstudy.claims import average
from simstudy.figures import (
    captions,
    in_order,
    measure_curves,
    theme_study,
)
from simstudy.figures.theme import BLUE, MUTED, panel_sizes
from simstudy.lazy import ggplot, p9, pd
from simstudy.tables.rounding import to_decimals, with_error

PALE = "#BBBBBB"
THREE = {"log10_p": "log₁₀ p", "cfdr": "CFDR", "rfdr": "RFDR"}
"""The document's measures, as named in figure 1."""

OF_TRAINING = ("mean_log10_p", "mean_cfdr", "mean_rfdr", "mean_storey", "mean_coverage")


# ---------------------------------------------------------------- figure 1
def figure_1(result: Result) -> ggplot:
    """Empirical distribution functions of p-values, with all but the first replicate pale."""
    steps = pd.concat(_steps(result, name, words) for name, words in methods_drawn(result).items())
    steps = steps.assign(panel=in_order(steps["panel"], _titles(result)))
    first = steps["rep"] == 0
    return (
        p9.ggplot(steps, p9.aes("p", "share", group="rep"))
        + p9.geom_step(steps[~first], color=PALE, size=0.25, alpha=0.6)
        + p9.geom_abline(intercept=0, slope=1, linetype="dashed", color=MUTED)
        + p9.geom_step(steps[first], color=BLUE, size=0.9)
        + theme_study()
        + _panels(len(methods_drawn(result)))
        + captions.titles(
            "Blue: the first replicate. Grey: the others. Above the panels: the value of the first "
            "replicate; the mean over all.",
            captions.PLUS_MINUS,
            captions.dashed("uniform p-values"),
            NAMES,
            _cell_in_words(result),
            f"{n_replicates(result)} replicates.",
            SPLIT,
            x="predictive p-value", y="share of p-values up to this one",
        )
    )  # fmt: skip


def _panels(n_panel: int) -> list[Any]:
    """Panels without an empty position: two in a row if their number is even."""
    n_columns = 2 if n_panel % 2 == 0 else min(n_panel, 3)
    size = (7.4, 1.6 + 2.9 * -(-n_panel // n_columns))
    small = p9.element_text(size=7)  # the longest heading is as wide as a third of the page
    return [p9.facet_wrap("panel", ncol=n_columns), p9.theme(figure_size=size, strip_text=small)]


def _titles(result: Result) -> dict[str, str]:
    """Titles of the panels: the network, and its three measures."""
    return {
        words: "\n".join([words, *_measured(result, name)])
        for name, words in methods_drawn(result).items()
    }


def _steps(result: Result, method: str, words: str) -> pd.DataFrame:
    """Corners of the step functions: from (0, 0), up at each p-value, to (1, 1)."""
    p = np.sort(np.exp(values(result, first_scenario(result), "log_p", method=method)), axis=1)
    n_rep, n_test = p.shape
    places = np.hstack([np.zeros((n_rep, 1)), p, np.ones((n_rep, 1))])
    shares = np.append(np.arange(n_test + 1) / n_test, 1.0)
    return pd.DataFrame(
        {
            "p": places.ravel(),
            "share": np.tile(shares, n_rep),
            "rep": np.repeat(np.arange(n_rep), n_test + 2),
            "panel": words,
        }
    )


def _measured(result: Result, method: str) -> Iterable[str]:
    for column, words in THREE.items():
        found = values(result, first_scenario(result), column, method=method)
        mean, first = average(found), to_decimals(found[0], 1 if column == "log10_p" else 2)
        of_all = with_error(mean.value, 2 * mean.mcse)
        yield f"{words} = {first}; mean {of_all.value} ± {of_all.error}".replace("-", "−")


def _cell_in_words(result: Result) -> str:
    cell, scenario = published_cell(result), first_scenario(result)
    return (
        f"{predicted_in_words(scenario)}; {cell['epochs']} epochs, "
        f"{cell['n_boot_models']} bootstrap models, normal distributions about the trained model's "
        "prediction (example 3)."
    )


# ---------------------------------------------------------------- how far the numbers move
def figure_splits(result: Result) -> ggplot:
    """Differences of every network from the first, within each replicate, by measure."""
    words = networks_drawn(result)
    first, *others = words.values()
    rows = pd.concat(_by_replicate(result, words))
    wide = rows.pivot_table(index=["rep", "measure"], columns="method", values="value")
    if not others:
        raise LookupError("a second network to compare with the first")
    differences = {other: f"{other}\n− {first}" for other in others}
    drawn = (
        wide[others].sub(wide[first], axis=0).rename(columns=differences).reset_index()
        .melt(["rep", "measure"], var_name="pair", value_name="difference").dropna()
    )  # fmt: skip
    drawn = drawn.assign(
        pair=in_order(drawn["pair"], {name: name for name in differences.values()}),
        measure=in_order(drawn["measure"], {name: name for name in THREE.values()}),
    )
    means = drawn.groupby(["measure", "pair"], observed=True)["difference"]
    summed = means.agg(["mean", "sem"]).reset_index()
    summed = summed.assign(
        low=summed["mean"] - 2 * summed["sem"], high=summed["mean"] + 2 * summed["sem"]
    )
    return (
        p9.ggplot(drawn, p9.aes("pair", "difference"))
        + p9.geom_hline(yintercept=0, color=MUTED, linetype="dashed")
        + p9.geom_point(
            position=p9.position_jitter(width=0.12, height=0, random_state=1), color=PALE, size=1
        )
        + p9.geom_linerange(
            p9.aes("pair", ymin="low", ymax="high"), summed, inherit_aes=False, color=BLUE, size=1
        )
        + p9.geom_point(p9.aes("pair", "mean"), summed, inherit_aes=False, color=BLUE, size=2)
        + p9.facet_wrap("measure", scales="free_y")
        + theme_study()
        + panel_sizes(3, 1, legend=False)
        + captions.titles(
            "Grey: a replicate each. Blue: means, with ± 2 Monte Carlo standard errors.",
            captions.dashed("no difference"),
            NAMES,
            _cell_in_words(result),
            f"{n_replicates(result)} replicates.",
            SPLIT,
            x="", y="difference between networks", size=(8.6, 4.0),
        )
    )  # fmt: skip


def _by_replicate(result: Result, methods: dict[str, str]) -> Iterable[pd.DataFrame]:
    for method, words in methods.items():
        for column, measure in THREE.items():
            found = values(result, first_scenario(result), column, method=method)
            frame = pd.DataFrame({"value": found, "rep": np.arange(len(found))})
            yield frame.assign(method=words, measure=measure)


# ---------------------------------------------------------------- what training does
def figure_training(result: Result) -> ggplot:
    """Measures of networks by epochs, for each number of bootstrap models."""
    networks = networks_drawn(result)
    rows = first_rows(result)
    rows = rows[(rows["distribution"] == "centered") & rows["method"].isin(list(networks))]
    rows = rows[rows["measure"].isin(OF_TRAINING)]
    sizes = result.plan.axes["n_boot_models"]
    words = {name: SHARES[name] for name in OF_TRAINING}
    rows = rows.assign(
        epochs=rows["epochs"].astype(int),
        n_boot_models=in_order(rows["n_boot_models"], {n: n for n in sizes}),
        method=in_order(rows["method"], networks),
        measure=in_order(rows["measure"], words),
    )
    figure = measure_curves(
        rows.rename(columns={"n_boot_models": "bootstrap models"}),
        x="epochs",
        y=tuple(words.values()),
        color="bootstrap models",
        panel="method",
        rows="measure",
        nominal={words["mean_coverage"]: 0.9},
        log_x=True,
    )
    return figure + captions.titles(
        captions.BARS,
        captions.JOINS,
        captions.dashed("coverage asked for"),
        f"{predicted_in_words(first_scenario(result))}.",
        "Normal distributions about the trained model's prediction (example 3).",
        f"{n_replicates(result)} replicates.",
        SPLIT,
        x="passes over the training data", y="", size=(8.4, 9.6),
    )  # fmt: skip


FIGURES: dict[str, Callable[[Result], ggplot]] = {
    "1": figure_1,
    "splits": figure_splits,
    "distributions": figure_distributions,
    "training": figure_training,
}
