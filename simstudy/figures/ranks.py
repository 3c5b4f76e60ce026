"""Ranks of the truth among posterior draws, compared with uniform ranks."""

from __future__ import annotations

from typing import Any

import numpy as np

from simstudy.figures import captions
from simstudy.figures.frame import need_columns
from simstudy.figures.panels import by_panel, facets, with_panels, words_in_panels
from simstudy.figures.theme import BLUE, PALE, theme_study
from simstudy.lazy import ggplot, p9, pd
from simstudy.measures.sbc import RankCheck, check_ranks


def rank_plot(
    replicates: pd.DataFrame,
    *,
    n_draws: int,
    rank: str = "rank",
    panel: str | None = None,
    rows: str | None = None,
    level: float = 0.95,
) -> ggplot:
    """Plot the distribution function of ranks minus the uniform one, with its band.

    If the line leaves the band, ranks are not uniform. A hill (too many low ranks) means that
    posteriors lie too high; a hill followed by a valley, that they are too narrow.

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
    level
        Probability with which all differences of uniform ranks lie within the band.

    Returns
    -------
    ggplot
        The figure.

    References
    ----------
    Säilynoja, Bürkner and Vehtari (2022), Stat. Comput. 32, 32.
    """
    mapped = {"panel": panel, "rows": rows}
    need_columns(replicates, [rank, *mapped.values()])
    values = with_panels(pd.DataFrame({"rank": replicates[rank]}), replicates, mapped)
    found = [
        (where, check_ranks(of_panel["rank"].to_numpy(), n_draws, level=level))
        for where, of_panel in by_panel(values)
    ]
    drawn = pd.concat(
        [pd.DataFrame(_to_the_ends(check) | where) for where, check in found],
        ignore_index=True,
    ).astype({role: values[role].dtype for role in ("panel", "rows") if role in values})
    return (
        p9.ggplot(drawn, p9.aes("position"))
        + p9.geom_ribbon(p9.aes(ymin="lower", ymax="upper"), fill=PALE, alpha=0.6)
        + p9.geom_hline(yintercept=0, linetype="dashed", size=0.4)
        + p9.geom_step(p9.aes(y="difference"), color=BLUE, size=0.7)
        + words_in_panels(drawn, _panel_text)
        + theme_study()
        + facets(drawn, legend=False)
        + p9.labs(
            x=f"rank of the truth among {n_draws:,} draws, as a share",
            y="distribution function less the uniform one",
            caption=captions.caption(
                f"Band: all differences of uniform ranks together, in {level:.0%} of studies.",
                captions.dashed("uniform ranks"),
                "In the panels: p, exact, of uniform ranks.",
            ),
        )
    )  # fmt: skip


def _to_the_ends(check: RankCheck) -> dict[str, Any]:
    """The lines of a check at its positions, and at 0 and 1, where the functions are equal."""
    lines = {name: np.r_[0, getattr(check, name), 0] for name in ("difference", "lower", "upper")}
    position = np.r_[0, check.position, 1]
    return lines | {"position": position, "p_value": check.p_value, "n_rep": check.n_rep}


def _panel_text(rows: pd.DataFrame) -> str:
    p_value, n_rep = rows["p_value"].iloc[0], int(rows["n_rep"].iloc[0])
    return f"p {'< 0.0001' if p_value < 1e-4 else f'= {p_value:.2g}'}, {n_rep:,} ranks"
