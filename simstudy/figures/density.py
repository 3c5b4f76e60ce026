"""Densities of what was drawn, with their Monte Carlo error."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from simstudy.errors import FigureError
from simstudy.figures import captions
from simstudy.figures.frame import in_words, is_number, need_columns
from simstudy.figures.panels import by_panel, facets, with_panels
from simstudy.figures.theme import color_scales, theme_study
from simstudy.lazy.pandas import pd
from simstudy.lazy.plotnine import ggplot, p9
from simstudy.shapes import Float

N_PLACES = 200
N_BINS = 2_000  # finer than any bandwidth: the kernel runs over bins and not over values


def kernel_density(values: Float[np.ndarray, " rep"], *, at_most: float = np.inf) -> pd.DataFrame:
    """Gaussian kernel density with two Monte Carlo standard errors either side.

    The bandwidth h is Silverman's (1986, equation 3.31); the variance of the density f is f / (n h)
    times the integral of the squared kernel, 1 / (2 √π), to first order.

    Parameters
    ----------
    values
        One per replicate, finite; at least two that differ.
    at_most
        Upper end of what the values can be: mass beyond it is reflected.

    Returns
    -------
    DataFrame
        A row for each of 200 places: `value`, `density`, `lower` and `upper`.
    """
    width = _bandwidth(values)
    last = min(values.max() + 2 * width, at_most)
    place = np.linspace(values.min() - 2 * width, last, N_PLACES)
    density = _smoothed(values, place, width)
    if np.isfinite(at_most):
        density = density + _smoothed(2 * at_most - values, place, width)
    half = 2 * np.sqrt(density / (2 * np.sqrt(np.pi) * len(values) * width))
    lower, upper = np.maximum(density - half, 0), density + half
    return pd.DataFrame({"value": place, "density": density, "lower": lower, "upper": upper})


def _bandwidth(values: Float[np.ndarray, " rep"]) -> float:
    quartiles = float(np.subtract(*np.percentile(values, [75, 25])))
    spread = min(float(values.std()), quartiles / 1.349) or float(values.std())
    if len(values) < 2 or spread == 0:
        raise FigureError(
            f"{len(values)} values, all the same, have no density to draw. Draw more replicates, "
            "or say the value in words."
        )
    return float(0.9 * spread * len(values) ** -0.2)


def _smoothed(
    values: Float[np.ndarray, " rep"], place: Float[np.ndarray, " place"], width: float
) -> Float[np.ndarray, " place"]:
    count, edges = np.histogram(values, N_BINS)
    centre = (edges[:-1] + edges[1:]) / 2
    kernel = np.exp(-(((place[:, np.newaxis] - centre) / width) ** 2) / 2)
    return np.asarray(kernel @ count / (len(values) * width * np.sqrt(2 * np.pi)))


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
    """Densities by colour, each with a band of two Monte Carlo standard errors and its median.

    Parameters
    ----------
    replicates
        One row per value.
    x
        The column drawn; missing values are left out.
    color
        Column that tells the densities of a panel apart.
    panel, rows
        Columns mapped to panels, and to rows of panels.
    at_most
        By panel, in its words, the upper end of what the values can be.
    colors
        A colour for each level of `color`, the same in all figures of a study.
    scales
        As plotnine has them.
    """
    mapped = {"panel": panel, "rows": rows, "color": color}
    need_columns(replicates, [x, *mapped.values()])
    values = with_panels(pd.DataFrame({"value": replicates[x]}), replicates, mapped)
    values = values.dropna(subset="value")
    curves = pd.concat(_curves(values, at_most or {}), ignore_index=True)
    curves = curves.astype({role: values[role].dtype for role in mapped if role in values})
    groups = [role for role in mapped if role in values]
    medians = values.groupby(groups, observed=True)["value"].median().reset_index()
    is_quantity = is_number(replicates[color])
    return (
        p9.ggplot(curves, p9.aes("value", color="color", fill="color"))
        + p9.geom_ribbon(p9.aes(ymin="lower", ymax="upper"), alpha=0.35, color="none")
        + p9.geom_line(p9.aes(y="density"), size=0.8)
        + p9.geom_vline(
            p9.aes(xintercept="value", color="color"), medians, size=0.6, linetype="dotted",
            show_legend=False,
        )
        + color_scales(values["color"], color, is_quantity=is_quantity, colors=colors)[:2]
        + theme_study()
        + facets(values, scales=scales)
        + p9.labs(
            x=in_words(x), y="density", caption=captions.caption(captions.BANDS, "Dotted: medians.")
        )
    )  # fmt: skip


def _curves(values: pd.DataFrame, at_most: Mapping[str, float]) -> list[pd.DataFrame]:
    found = []
    for where, in_panel in by_panel(values):
        end = at_most.get(where.get("panel", ""), np.inf)
        for level, rows in in_panel.groupby("color", observed=True):
            curve = kernel_density(rows["value"].to_numpy(float), at_most=end)
            found.append(curve.assign(color=level, **where))
    return found
