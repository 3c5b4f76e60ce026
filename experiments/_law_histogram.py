"""Histograms of replicates, with the counts that a theoretical distribution expects.

The studies of a classifier's threshold and of a trial of regressions draw them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from simstudy.array_types import Float
from simstudy.figures.panels import facets, with_panels, words_in_panels
from simstudy.figures.theme import PALE, VERMILLION, theme_study
from simstudy.lazy import ggplot, p9, pd


def counts_with_law(
    values: Float[np.ndarray, " rep"],
    edges: Float[np.ndarray, " edge"],
    chance: Float[np.ndarray, " bin"],
) -> pd.DataFrame:
    """Counts by bin, with their expectation and two standard deviations of a count.

    `chance` is the probability of each bin in the theoretical distribution, relative to all values.
    Values beyond the edges are in no bin.
    """
    count, _ = np.histogram(values, edges)
    expected = len(values) * chance
    spread = 2 * np.sqrt(expected * (1 - chance))
    return pd.DataFrame(
        {
            "left": edges[:-1],
            "right": edges[1:],
            "count": count,
            "expected": expected,
            "lower": np.maximum(expected - spread, 0),
            "upper": expected + spread,
        }
    )


def law_histogram(
    bars: pd.DataFrame,
    *,
    x: str,
    fill: str | None = None,
    panel: str | None = None,
    rows: str | None = None,
    dashed: float | None = None,
    say: Callable[[pd.DataFrame], str] | None = None,
    scales: str = "free",
) -> ggplot:
    """Plot counts as bars, and the expected counts as steps over them.

    `bars` are rows of `counts_with_law`, for each panel; `fill` is the column that colours them,
    `dashed` the position of a line, and `say` returns the text of a panel from its rows.
    """
    drawn = with_panels(bars, bars, {"panel": panel, "rows": rows, "fill": fill})
    ends, colored = {"xmin": "left", "xmax": "right", "ymin": 0, "ymax": "count"}, {}
    counts: dict[str, Any] = {"labels": lambda ticks: [f"{tick:,g}" for tick in ticks]}
    look: dict[str, Any] = {"color": "white", "size": 0.3}
    if fill is None:
        look["fill"] = PALE
    else:
        colored, look["alpha"] = {"fill": "fill"}, 0.75
    return (
        p9.ggplot(drawn)
        + p9.geom_rect(p9.aes(**ends, **colored), **look)
        + _law(drawn)
        + ([] if dashed is None else [p9.geom_vline(xintercept=dashed, linetype="dashed")])
        + ([p9.scale_y_continuous(expand=(0, 0, 0.06, 0), **counts)] if say is None else [])
        + (words_in_panels(drawn, say, **counts) if say is not None else [])
        + theme_study()
        + facets(drawn, scales=scales, legend=False)
        + p9.labs(x=x, y="count", caption=STEPS)
    )


STEPS = "Theory: expected counts, with ± 2 standard deviations of a count."


def _law(rows: pd.DataFrame) -> list[Any]:
    middle = rows.assign(middle=(rows["left"] + rows["right"]) / 2)
    step = p9.aes(x="left", xend="right", y="expected", yend="expected", color="law")
    return [
        p9.geom_linerange(
            p9.aes(x="middle", ymin="lower", ymax="upper"), middle, color=VERMILLION, size=0.5
        ),
        p9.geom_segment(step, middle.assign(law="theory"), size=0.9),
        p9.scale_color_manual({"theory": VERMILLION}, name=" "),
    ]
