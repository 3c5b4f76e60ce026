"""Distributions of replicates: densities, and histograms of ranks."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from simstudy.array_types import Float
from simstudy.errors import DesignError
from simstudy.figures import captions
from simstudy.figures.captions import format_name
from simstudy.figures.frame import need_columns
from simstudy.figures.panels import by_panel, facets, with_panels, words_in_panels
from simstudy.figures.theme import BLUE, VERMILLION, colors_by, stroke_scale, theme_study
from simstudy.lazy import ggplot, p9, pd, special, stats
from simstudy.measures.sbc import count_ranks, p_value

N_POINTS = 200  # points at which the density is evaluated
N_BINS = 2_000  # values are binned, finer than any bandwidth, before smoothing
FAR = 40.0  # bandwidths: a bound further away has no effect


def density_plot(
    replicates: pd.DataFrame,
    *,
    x: str,
    color: str,
    panel: str | None = None,
    rows: str | None = None,
    at_most: Mapping[str, float] | None = None,
    colors: Mapping[str, str] | None = None,
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
        + facets(values, scales="free")
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
            found.append(curve.assign(color=level, **where))
    return found


def rank_plot(
    replicates: pd.DataFrame,
    *,
    n_draws: int,
    rank: str = "rank",
    panel: str | None = None,
    rows: str | None = None,
) -> ggplot:
    """Plot a histogram of ranks, with the counts that uniform ranks would have.

    A hump in the middle means that posteriors are too wide, two high ends that they are too narrow,
    and a slope that they lie too high or too low.

    Parameters
    ----------
    replicates
        One row per replicate.
    n_draws
        Number of draws per posterior.
    rank
        Column with the number of draws below the truth; missing ranks are ignored.
    panel, rows
        Columns mapped to panels, and to rows of panels.

    Returns
    -------
    ggplot
        The figure. Its bins are those of `simstudy.measures.rank_check`, whose p-value each panel
        has as text. The band is pointwise: the count of uniform ranks in a bin, which is binomial,
        lies in it with a probability of 95% or a little more.

    References
    ----------
    Talts and others (2018), arXiv 1804.06788.
    """
    mapped = {"panel": panel, "rows": rows}
    need_columns(replicates, [rank, *mapped.values()])
    values = with_panels(pd.DataFrame({"rank": replicates[rank]}), replicates, mapped)
    bins = [_bins(in_panel, n_draws).assign(**where) for where, in_panel in by_panel(values)]
    drawn = pd.concat(bins).astype({role: values[role].dtype for role in mapped if role in values})
    place = {"xmin": "left", "xmax": "right"}
    return (
        p9.ggplot(drawn)
        + p9.geom_rect(p9.aes(**place, ymin=0, ymax="count"), fill=BLUE, color="white", size=0.3)
        + p9.geom_rect(p9.aes(**place, ymin="lower", ymax="upper"), fill=VERMILLION, alpha=0.35)
        + p9.geom_segment(
            p9.aes(x="left", xend="right", y="expected", yend="expected"), color=VERMILLION
        )
        + words_in_panels(drawn, _panel_text)
        + theme_study()
        + facets(drawn, legend=False)
        + p9.labs(
            x=f"rank of the truth among {n_draws:,} draws",
            y="count",
            caption=captions.caption(
                "Band: the count of a bin, for uniform ranks, in 95% of studies.",
                "In the panels: chi-square p-value of uniform ranks.",
            ),
        )
    )


def _bins(values: pd.DataFrame, n_draws: int) -> pd.DataFrame:
    """The bins of the ranks of a panel: ends, counts, and what uniform ranks would have."""
    ranks = values["rank"].to_numpy(dtype=float)
    count, width = count_ranks(ranks, n_draws)
    ends, n, chance = np.cumsum([0, *width]) - 0.5, count.sum(), width / (n_draws + 1)
    found = {"left": ends[:-1], "right": ends[1:], "count": count, "expected": n * chance}
    limits = stats.binom.interval(0.95, n, chance)
    found |= dict(zip(("lower", "upper"), limits, strict=True))
    return pd.DataFrame(found).assign(p_value=p_value(ranks, n_draws))


def _panel_text(bins: pd.DataFrame) -> str:
    p, n_rep = bins["p_value"].iloc[0], bins["count"].sum()
    if np.isnan(p):
        return f"{n_rep:,} ranks"
    return f"p {'< 0.0001' if p < 1e-4 else f'= {p:.2g}'}, {n_rep:,} ranks"


def kernel_density(values: Float[np.ndarray, " rep"], *, at_most: float = np.inf) -> pd.DataFrame:
    """Estimate a density with a Gaussian kernel, with two Monte Carlo standard errors either side.

    The bandwidth h is Silverman's (1986, equation 3.31). Near a bound the kernel is a local linear
    one, whose bias is of order h² everywhere. (Reflection at the bound would force a slope of 0
    there, a bias of 0.8 h times the true slope.) To first order the variance of the density f is
    f / (n h) times the integral of the squared kernel, which is 1 / (2 √π), and 6.3 times that at a
    bound.

    Parameters
    ----------
    values
        One finite value per replicate; at least two must differ.
    at_most
        Upper bound of the possible values.

    Returns
    -------
    DataFrame
        The density at 200 points, not below 0: `value`, `density`, and `lower` and `upper`, which
        are two standard errors from it.

    Raises
    ------
    DesignError
        If all values are equal, fewer than two, or not finite.

    References
    ----------
    Jones (1993), Statistics and Computing 3, 135-146.
    """
    values = np.asarray(values, dtype=float)
    if values.size < 2 or not np.isfinite(values).all():
        raise DesignError("a density needs at least two values, all of them finite")
    width = _bandwidth(values)
    last = min(values.max() + 2 * width, at_most)
    place = np.linspace(values.min() - 2 * width, last, N_POINTS)
    constant, slope, squared = _kernel_before(np.minimum((at_most - place) / width, FAR))
    mean, moment = _smoothed(values, place, width)
    density = np.maximum(constant * mean + slope * moment, 0)
    half = 2 * np.sqrt(density * squared / (len(values) * width))
    limits = {"lower": np.maximum(density - half, 0), "upper": density + half}
    return pd.DataFrame({"value": place, "density": density, **limits})


def _kernel_before(room: Float[np.ndarray, " place"]) -> Float[np.ndarray, "3 place"]:
    """The local linear kernel (a + b u) φ(u), u below `room`, its integral 1 and its mean 0.

    Parameters
    ----------
    room
        Distance from each point to the bound, in bandwidths.

    Returns
    -------
    array
        a, b, and the integral of the squared kernel, from the moments of φ and φ² up to the bound.
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
        raise DesignError(
            f"{len(values)} equal values have no density to draw. Draw more replicates, "
            "or give the value in the text."
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
