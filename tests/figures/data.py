"""A small study of t and z intervals for a normal mean, and what a drawn figure holds."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from scipy import stats

N_REP = 40
NS = (5, 20)
METHODS = ("t", "z")
DGPS = ("normal", "skewed")
LEVEL = 0.9


def make_replicates(n_rep: int = N_REP) -> pd.DataFrame:
    """One row per scenario, method and replicate: factors, `rep`, then values."""
    rng = np.random.default_rng(1)
    return pd.concat([_scenario(rng, d, n, n_rep) for d, n in product(DGPS, NS)], ignore_index=True)


def _scenario(rng: np.random.Generator, dgp: str, n: int, n_rep: int) -> pd.DataFrame:
    x = rng.standard_normal((n_rep, n)) if dgp == "normal" else rng.exponential(size=(n_rep, n)) - 1
    center, std_error = x.mean(axis=1), x.std(axis=1, ddof=1) / np.sqrt(n)
    return pd.concat([_method(m, dgp, n, center, std_error) for m in METHODS])


def _method(
    method: str, dgp: str, n: int, center: np.ndarray, std_error: np.ndarray
) -> pd.DataFrame:
    z = float(stats.t.isf((1 - LEVEL) / 2, n - 1) if method == "t" else stats.norm.isf(0.05))
    lower, upper = center - z * std_error, center + z * std_error
    return pd.DataFrame(
        {
            "dgp": dgp,
            "n": n,
            "method": method,
            "rep": np.arange(len(center)),
            "estimate": center,
            "std_error": std_error,
            "lower": lower,
            "upper": upper,
            "covers": ((lower <= 0) & (upper >= 0)).astype(float),
        }
    )


def make_summary() -> pd.DataFrame:
    """Coverage, bias and the relative error of the model SE, as a study's summary holds them."""
    return pd.DataFrame(list(_measured(make_replicates())))


def _measured(replicates: pd.DataFrame) -> Iterator[dict[str, Any]]:
    for (dgp, n, method), rows in replicates.groupby(["dgp", "n", "method"], sort=False):
        n_rep = len(rows)
        share, sd = rows["covers"].mean(), rows["estimate"].std()
        ratio = np.sqrt((rows["std_error"] ** 2).mean()) / sd
        same = {"dgp": dgp, "n": n, "method": method, "n_rep": n_rep, "n_failed": 0}
        interval = {"lower": share - 0.05, "upper": min(share + 0.04, 1.0)}
        exact = LEVEL if (dgp, method) == ("normal", "t") else np.nan
        error = np.sqrt(share * (1 - share) / n_rep)
        yield {**same, **_row("coverage", share, error), **interval, "exact": exact}
        yield {**same, **_row("bias", rows["estimate"].mean(), sd / np.sqrt(n_rep))}
        yield {**same, **_row("relative_error_model_se", ratio - 1, 0.1)}


def _row(measure: str, estimate: float, mcse: float) -> dict[str, Any]:
    nothing = {"lower": np.nan, "upper": np.nan, "exact": np.nan}
    return {"measure": measure, "estimate": estimate, "mcse": mcse, **nothing}


# ---------------------------------------------------------------- what was drawn
def points(figure: Any) -> np.ndarray:
    """Places of all points of a drawn matplotlib figure, one row each, panel by panel."""
    found = [a.get_offsets() for ax in figure.axes for a in ax.findobj(PathCollection)]
    return np.ma.getdata(np.concatenate(found)) if found else np.empty((0, 2))


def segments(figure: Any) -> np.ndarray:
    """All lines of two points: (line, point, x and y)."""
    lines = [
        segment
        for ax in figure.axes
        for a in ax.findobj(LineCollection)
        for segment in a.get_segments()
        if len(segment) == 2
    ]
    return np.array(lines).reshape(-1, 2, 2)


def boxes(figure: Any) -> np.ndarray:
    """The rectangles drawn: (box, [x0, y0, x1, y1])."""
    paths = [p for ax in figure.axes for a in ax.findobj(PolyCollection) for p in a.get_paths()]
    return np.array([p.get_extents().get_points().ravel() for p in paths])


def texts(figure: Any) -> list[str]:
    """Every text within the panels."""
    return [t.get_text() for ax in figure.axes for t in ax.texts]


def text_of(plot: Any) -> str:
    """The caption, as one line."""
    return " ".join(str(plot.labels.caption).split())
