"""The figure of all measures by kind of predictive distribution."""

from __future__ import annotations

from typing import Any

from experiments._method_names import colors_of
from experiments.predictive_pvalue.cells import (
    DISTRIBUTION_WORDS,
    NAMES,
    NETWORKS,
    SHARES,
    SPLIT,
    first_rows,
    first_scenario,
    methods_drawn,
    n_replicates,
    predicted_in_words,
    published_cell,
)
from simstudy.analysis.result import Result
from simstudy.figures import captions, dots_plot, in_order
from simstudy.figures.theme import INK, WORDS_SIZE
from simstudy.lazy import ggplot, p9, pd
from simstudy.tables.rounding import with_error

COMPATIBLE = 1.0  # reference value of a share of compatible predictions
COMPATIBLE_SHARES = ("cfdr", "rfdr", "storey")
NOT_DRAWN = ("mean_cfdr_clipped", "mean_langaas", "mean_rmse", "rmse")
"""Measures whose panels would repeat others; they are in the summary table."""
FAR = 4.0  # a method this many times further out leaves the others a quarter of the panel
FISHER = SHARES["mean_log10_p"]
PANELS = {name: words for name, words in SHARES.items() if name not in NOT_DRAWN}
ERRORS = (
    "CRPS: continuous ranked probability score, which true nulls, p-values without predictions, "
    "do not have."
)


def figure_distributions(result: Result) -> ggplot:
    """All measures by method and kind of predictive distribution."""
    rows = _rows(result)
    within, beyond = beyond_the_panel(rows)
    figure = dots_plot(
        within.rename(columns={"distribution": "predictive distribution"}),
        measure=tuple(PANELS.values()),
        y="method",
        color="predictive distribution",
        nominal={
            **{SHARES[f"mean_{name}"]: COMPATIBLE for name in COMPATIBLE_SHARES},
            SHARES["mean_coverage"]: 0.9,
        },
        colors=colors_of(DISTRIBUTION_WORDS.values()),
    )
    return (
        figure
        + _arrows(figure.data, beyond)
        + p9.facet_wrap("panel", scales="free_x", ncol=3)
        + p9.theme(panel_spacing_x=0.03, legend_title=p9.element_blank())  # separates scales
        + captions.titles(*_says(result, rows, beyond), x="", y="", size=(9.6, 6.8))
    )


def _rows(result: Result) -> pd.DataFrame:
    """The defined rows of the summary at the last epochs and bootstrap models, with labels."""
    cell, rows = published_cell(result), first_rows(result)
    rows = rows[(rows["epochs"] == cell["epochs"])]
    rows = rows[(rows["n_boot_models"] == cell["n_boot_models"])]
    rows = rows[rows["measure"].isin(list(PANELS)) & rows["estimate"].notna()]
    return rows.assign(
        measure=in_order(rows["measure"], PANELS),
        method=in_order(rows["method"], methods_drawn(result)),
        distribution=in_order(rows["distribution"], DISTRIBUTION_WORDS),
    )


def beyond_the_panel(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows to draw, and those of a method whose combined p-values would dominate the scale.

    Rows of that method within the range of the others are drawn.
    """
    size = rows["estimate"].abs().where(rows["measure"] == FISHER, 0.0)
    furthest = size.groupby(rows["method"], observed=True).max().sort_values()
    if len(furthest) < 2 or furthest.iloc[-1] <= FAR * furthest.iloc[-2]:
        return rows, rows.iloc[:0]
    is_beyond = size > furthest.iloc[-2]
    return rows[~is_beyond], rows[is_beyond]


def _arrows(drawn: pd.DataFrame, beyond: pd.DataFrame) -> list[Any]:
    """Numbers at the panel's left edge for rows beyond it."""
    if beyond.empty:
        return []
    levels, fisher = drawn["y"].cat.categories, drawn[drawn["panel"] == FISHER]
    method = str(beyond["method"].iloc[0])
    beyond = beyond.sort_values("distribution")  # order of the legend
    words = "\n".join(map(_with_arrow, beyond["estimate"], beyond["mcse"]))
    place = {"panel": fisher["panel"].iloc[:1].array, "words": [words]}
    text = pd.DataFrame(place).assign(
        estimate=fisher[["lower", "estimate"]].min().min(),
        place=len(levels) - 1 - list(levels).index(method),
    )
    label = p9.aes("estimate", "place", label="words")
    look = {"ha": "left", "size": WORDS_SIZE, "color": INK, "lineheight": 1.2}
    return [p9.geom_text(label, text, inherit_aes=False, **look)]


def _with_arrow(estimate: float, mcse: float) -> str:
    found = with_error(estimate, 2 * mcse)
    return f"← {found.value} ± {found.error or 'unknown'}".replace("-", "−")


def _says(result: Result, rows: pd.DataFrame, beyond: pd.DataFrame) -> list[str]:
    cell = published_cell(result)
    return [
        captions.BARS,
        captions.dashed("every prediction compatible; the coverage asked for"),
        _as_printed(rows),
        _beyond_in_words(beyond),
        NAMES,
        ERRORS,
        _networks_in_words(result),
        f"{predicted_in_words(first_scenario(result))}, in whose units the CRPS is; "
        f"{cell['epochs']} epochs, {cell['n_boot_models']} bootstrap models.",
        f"{n_replicates(result)} replicates.",
        SPLIT,
    ]


def _as_printed(rows: pd.DataFrame) -> str:
    """The sentence on the line at 1, which the CFDR as printed does not reach."""
    nulls = (rows["method"] == "100% true nulls") & (rows["measure"] == SHARES["mean_cfdr"])
    mean = rows.loc[nulls, "estimate"].iloc[0]
    return (
        "In the panel of the CFDR as printed the line is what the document takes for that; "
        f"predictions that are all compatible, 100% true nulls, have {mean:.1f}."
    )


def _beyond_in_words(beyond: pd.DataFrame) -> str:
    if beyond.empty:
        return ""
    order = "in the key's order, " * (len(beyond) > 1)
    return f"Arrows: values beyond the panel, {order}± 2 Monte Carlo standard errors."


def _networks_in_words(result: Result) -> str:
    if not set(NETWORKS) & set(methods_drawn(result)):
        return ""
    return "Net 10, 8, 5: networks with so many units in their second layer."
