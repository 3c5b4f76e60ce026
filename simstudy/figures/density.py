"""Densities of replicates, with their Monte Carlo error."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from simstudy.figures import captions
from simstudy.figures.captions import format_name
from simstudy.figures.frame import need_columns
from simstudy.figures.kernel_density import kernel_density
from simstudy.figures.panels import by_panel, facets, with_panels
from simstudy.figures.theme import colors_by, stroke_scale, theme_study
from simstudy.lazy import ggplot, p9, pd


def density_plot(
    replicates: pd.DataFrame,
    *,
    x: str,
    color: str,
    panel: str | None = None,
    rows: str | None = None,
    at_most: Mapping[str, float] | None = None,
    colors: Mapping[str, str] | None = None,
    scales: str = "free",
) -> ggplot:
    """Draw densities by colour, each with a band of two Monte Carlo standard errors and its median.

    Parameters
    ----------
    replicates
        One row per value.
    x
        Column to draw; missing values are ignored.
    color
        Column whose levels are drawn as separate densities of a panel.
    panel, rows
        Columns mapped to panels, and to rows of panels.
    at_most
        Upper bound of the possible values, by the label of the panel.
    colors
        Colour for each level of `color`, the same in all figures of a study.
    scales
        "fixed", "free", "free_x" or "free_y": scales shared by panels, as in plotnine.

    Returns
    -------
    ggplot
        The figure.
    """
    mapped = {"panel": panel, "rows": rows, "color": color}
    need_columns(replicates, [x, *mapped.values()])
    values = with_panels(pd.DataFrame({"value": replicates[x]}), replicates, mapped)
    values = values.dropna(subset="value")
    curves = pd.concat(_curves(values, at_most or {}), ignore_index=True)
    bands = f"{captions.BANDS[:-1]}, at most {100 * _widest(curves):.2g}% of the highest density."
    curves = curves.astype({role: values[role].dtype for role in mapped if role in values})
    groups = [role for role in mapped if role in values]
    medians = values.groupby(groups, observed=True)["value"].median().reset_index()
    return (
        p9.ggplot(curves, p9.aes("value", color="color", fill="color"))
        + p9.geom_ribbon(p9.aes(ymin="lower", ymax="upper"), alpha=0.35, color="none")
        + p9.geom_line(p9.aes(y="density", linetype="color"), size=0.8)
        + p9.geom_vline(
            p9.aes(xintercept="value", color="color"), medians, size=0.6, linetype="dotted",
            show_legend=False,
        )
        + colors_by(values, replicates, color, colors)[:2]
        + stroke_scale(values["color"], color)
        + theme_study()
        + facets(values, scales=scales)
        + p9.labs(
            x=format_name(x), y="density", caption=captions.caption(bands, "Dotted: medians.")
        )
    )  # fmt: skip


def _widest(curves: pd.DataFrame) -> float:
    """Half of the widest band of a panel, as a share of its highest density."""
    halves = (
        (rows["upper"] - rows["density"]).max() / rows["density"].max()
        for _, rows in by_panel(curves)
    )
    return float(max(halves))


def _curves(values: pd.DataFrame, at_most: Mapping[str, float]) -> list[pd.DataFrame]:
    found = []
    for where, in_panel in by_panel(values):
        end = at_most.get(where.get("panel", ""), np.inf)
        for level, rows in in_panel.groupby("color", observed=True):
            curve = kernel_density(rows["value"].to_numpy(float), at_most=end)
            found.append(pd.DataFrame(curve._asdict()).assign(color=level, **where))
    return found
