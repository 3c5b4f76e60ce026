"""Densities of what was drawn, with their Monte Carlo error."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from simstudy.array_types import Float
from simstudy.errors import FigureError
from simstudy.figures import captions
from simstudy.figures.frame import in_words, need_columns
from simstudy.figures.panels import by_panel, facets, with_panels
from simstudy.figures.theme import colors_by, stroke_scale, theme_study
from simstudy.lazy import ggplot, p9, pd, special

N_PLACES = 200
N_BINS = 2_000  # finer than any bandwidth: the kernel runs over bins and not over values
FAR = 40.0  # bandwidths, from which on an end is none


def kernel_density(values: Float[np.ndarray, " rep"], *, at_most: float = np.inf) -> pd.DataFrame:
    """Gaussian kernel density with two Monte Carlo standard errors either side.

    The bandwidth h is Silverman's (1986, equation 3.31). Near an end the kernel is the local linear
    one, whose bias is of the order of h² there as elsewhere: mass reflected at the end would make
    the curve level, and put it too low by 0.8 h times the density's slope. The variance of the
    density f is f / (n h) times the integral of the squared kernel, to first order: 1 / (2 √π), and
    6.3 times that at an end.

    Parameters
    ----------
    values
        One per replicate, finite; at least two that differ.
    at_most
        Upper end of what the values can be.

    Returns
    -------
    DataFrame
        A row for each of 200 places: `value`, `density`, `lower` and `upper`, none below 0.

    References
    ----------
    Jones (1993), Statistics and Computing 3, 135-146.
    """
    width = _bandwidth(values)
    last = min(values.max() + 2 * width, at_most)
    place = np.linspace(values.min() - 2 * width, last, N_PLACES)
    constant, slope, squared = _kernel_before(np.minimum((at_most - place) / width, FAR))
    mean, moment = _smoothed(values, place, width)
    density = np.maximum(constant * mean + slope * moment, 0)
    half = 2 * np.sqrt(density * squared / (len(values) * width))
    lower, upper = np.maximum(density - half, 0), density + half
    return pd.DataFrame({"value": place, "density": density, "lower": lower, "upper": upper})


def _kernel_before(room: Float[np.ndarray, " place"]) -> Float[np.ndarray, "3 place"]:
    """The local linear kernel (a + b u) φ(u), u below `room`, its integral 1 and its mean 0.

    Parameters
    ----------
    room
        From each place to the end, in bandwidths.

    Returns
    -------
    array
        a, b, and the integral of the squared kernel, from those of φ and of φ² up to the end.
    """
    height, below = np.exp(-(room**2) / 2) / np.sqrt(2 * np.pi), special.ndtr(room)
    zeroth, first, second = below, -height, below - room * height
    determinant = zeroth * second - first**2
    constant, slope = second / determinant, -first / determinant
    square = special.ndtr(np.sqrt(2) * room) / (2 * np.sqrt(np.pi))
    of_mean, of_spread = -(height**2) / 2, (square - room * height**2) / 2
    squared = constant**2 * square + 2 * constant * slope * of_mean + slope**2 * of_spread
    return np.stack([constant, slope, squared])


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
) -> tuple[Float[np.ndarray, " place"], Float[np.ndarray, " place"]]:
    """Means of the kernel φ(u) and of u φ(u) over the values, u their distance in bandwidths."""
    count, edges = np.histogram(values, N_BINS)
    apart = ((edges[:-1] + edges[1:]) / 2 - place[:, np.newaxis]) / width
    kernel = np.exp(-(apart**2) / 2) / (width * np.sqrt(2 * np.pi))
    return kernel @ count / len(values), (apart * kernel) @ count / len(values)


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
            x=in_words(x), y="density", caption=captions.caption(bands, "Dotted: medians.")
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
            found.append(curve.assign(color=level, **where))
    return found
