"""Which order statistic of the positive scores is a safe threshold?

The Neyman-Pearson umbrella takes the r-th smallest of n positive scores, with the largest r for
which the sensitivity falls short with probability at most 1 - confidence.

Aims         Which rank does each n allow, and what confidence does that rank really have?
Data         Independent positive scores; only their ranks matter, so they are uniform.
Estimands    Probability that the r-th smallest score keeps the target sensitivity.
Methods      The umbrella's own rank, and ranks 1 to 4 whatever n is.
Performance  Coverage, and the probability that exactly r scores lie below the true threshold, both
             beside the exact binomial values; one MCSE is at most 0.7 points at 5000 replicates.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from simstudy.analysis.result import Result
from simstudy.claims import Claim, Reproduced
from simstudy.design import Columns, grid
from simstudy.figures import theme
from simstudy.figures.frame import caption
from simstudy.identity.streams import Streams
from simstudy.lazy.pandas import pd
from simstudy.lazy.plotnine import ggplot, p9
from simstudy.measures import rejection_rate
from simstudy.options import option, published
from simstudy.stats.classifier.umbrella import (
    least_feasible_n,
    rank_table,
    umbrella_rank,
    violation,
)
from simstudy.study import Study

RANKS = ("umbrella", "1", "2", "3", "4")


@published(__file__)
@dataclass
class Config:
    """What the study sweeps."""

    n_obs: list[int] = option("positive cases in the test set", at_least=4)
    sensitivity: list[float] = option("target to keep", above=0, below=1)
    confidence: list[float] = option("with which to keep it", above=0, below=1)
    n_rep: int = option("replicates in each scenario", at_least=1)


@dataclass(frozen=True)
class Umbrella:
    """Order statistics of n uniform scores as thresholds for one sensitivity.

    Parameters
    ----------
    n_obs
        Positive cases, at least 4.
    sensitivity, confidence
        Target, and the probability with which it is to be kept.
    """

    n_obs: int
    sensitivity: float = 0.95
    confidence: float = 0.8

    @property
    def ranks(self) -> Any:
        """The rank on each position of the axis; 0 is the threshold −∞."""
        best = umbrella_rank(self.n_obs, self.sensitivity, self.confidence)
        return np.array([int(best), *(int(rank) for rank in RANKS[1:])])

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        scores = streams("data").random((n_rep, self.n_obs))
        n_below = (scores < 1 - self.sensitivity).sum(axis=1)[:, None]
        return {"safe": n_below >= self.ranks, "exactly": n_below == self.ranks}

    def exact(self) -> dict[str, Any]:
        table = rank_table(self.n_obs, self.sensitivity)
        return {
            "coverage": table.coverage[self.ranks],
            "exactly": table.probability[self.ranks],
        }


def study(config: Config) -> Study:
    scenarios = grid(
        Umbrella,
        n_obs=config.n_obs,
        sensitivity=config.sensitivity,
        confidence=config.confidence,
    )
    return Study(
        name="umbrella_rank",
        scenarios=scenarios,
        measures=[
            rejection_rate("safe", name="coverage"),
            rejection_rate("exactly", name="exactly"),
        ],
        axes={"rank": RANKS},
        block_size=2500,
        n_rep=config.n_rep,
        figures={"3": figure_3, "table": figure_table},
        claims=CLAIMS,
    )


# ---------------------------------------------------------------- figures
def figure_3(result: Result) -> ggplot:
    """The umbrella's rank by n, and the confidence that it really has."""
    first = result.plan.scenarios[0]
    every = np.arange(1, max(one.n_obs for one in result.plan.scenarios) + 1)
    rank = np.asarray(umbrella_rank(every, first.sensitivity, first.confidence))
    kept = 1 - np.asarray(violation(rank, every, first.sensitivity))
    titles = ("rank of the threshold", "its actual confidence")
    lines = _panels(titles, every, rank, kept)
    points = _simulated(result, first)
    dots = pd.concat([
        pd.DataFrame({"panel": _panel(titles, 0, len(points)), "n": points["n_obs"],
                      "value": umbrella_rank(points["n_obs"], *_about(first))}),
        pd.DataFrame({"panel": _panel(titles, 1, len(points)), "n": points["n_obs"],
                      "value": points["estimate"], "lower": points["lower"],
                      "upper": points["upper"]}),
    ])  # fmt: skip
    least = int(least_feasible_n(*_about(first)))
    nominal = pd.DataFrame({"panel": _panel(titles, 1, 1), "value": [first.confidence]})
    return (
        p9.ggplot(lines, p9.aes(x="n", y="value"))
        + p9.annotate("rect", xmin=0, xmax=least - 0.5, ymin=-np.inf, ymax=np.inf,
                      fill="#DDDDDD", alpha=0.6)
        + p9.geom_hline(p9.aes(yintercept="value"), nominal, linetype="dashed", color=theme.MUTED)
        + p9.geom_line(p9.aes(group="run"), color=theme.BLUE, size=0.7)
        + p9.geom_linerange(p9.aes(ymin="lower", ymax="upper"), dots, color=theme.VERMILLION,
                            na_rm=True)
        + p9.geom_point(data=dots, color=theme.VERMILLION, size=1.6)
        + p9.facet_wrap("panel", ncol=1, scales="free_y")
        + p9.scale_y_continuous(breaks=_breaks)
        + p9.scale_x_continuous(expand=(0.01, 0))
        + p9.labs(
            x="positive cases n",
            y="",
            caption=caption(
                f"{first.sensitivity:.0%} sensitivity with {first.confidence:.0%} confidence.",
                "Lines: exact, for every n. Points: the document's n; below, simulated, with 95% "
                f"Wilson intervals ({int(points['n_rep'].min()):,} replicates). Grey: below "
                f"n = {least} not even the smallest score is safe (rank 0).",
            ),
        )
        + theme.theme_study()
        + p9.theme(figure_size=(7.0, 6.4))
    )  # fmt: skip


def _about(one: Umbrella) -> tuple[float, float]:
    return one.sensitivity, one.confidence


def _panel(titles: tuple[str, ...], i: int, n: int) -> Any:
    return pd.Categorical([titles[i]] * n, list(titles))


def _panels(titles: tuple[str, ...], n: Any, rank: Any, kept: Any) -> Any:
    """Rank as one staircase; confidence as one line for each rank, for it jumps between them."""
    steps = pd.DataFrame({"n": np.repeat(n, 2) + np.tile([-0.5, 0.5], len(n)),
                          "value": np.repeat(rank, 2), "run": "rank"})  # fmt: skip
    saw = pd.DataFrame({"n": n, "value": kept, "run": rank.astype(str)})[rank > 0]
    return pd.concat(
        frame.assign(panel=_panel(titles, i, len(frame))) for i, frame in enumerate((steps, saw))
    )


def _simulated(result: Result, first: Umbrella) -> Any:
    rows = result.summary.query("measure == 'coverage' and rank == 'umbrella'")
    same = (rows["sensitivity"] == first.sensitivity) & (rows["confidence"] == first.confidence)
    return rows[same]


def _breaks(limits: tuple[float, float]) -> list[float]:
    """Whole ranks; tenths of a confidence."""
    low, high = limits
    if high > 1.5:
        return list(range(int(np.ceil(low)), int(high) + 1))
    return [x for x in np.round(np.arange(0, 1.01, 0.05), 2) if low <= x <= high]


PUBLISHED = {
    "probability": (0.20, 0.26, 0.22, 0.14),
    "coverage": (0.92, 0.72, 0.46, 0.24),
    "violation": (0.08, 0.28, 0.54, 0.76),
}
HEADS = {
    "probability": "exactly r scores\nbelow t*",
    "coverage": "sensitivity\nkept",
    "violation": "sensitivity\nfalls short",
}


def figure_table(result: Result) -> ggplot:
    """The table for n = 50: each rank's probabilities as published, exactly, and simulated."""
    one = _fifty(result)
    cells = pd.concat(_table_column(result, one, name) for name in HEADS)
    return (
        p9.ggplot(cells, p9.aes(x="way", y="rank"))
        + p9.geom_tile(p9.aes(fill="value"), color="white", size=0.8, show_legend=False)
        + p9.geom_text(p9.aes(label="words"), size=9)
        + p9.facet_wrap("column", nrow=1)
        + p9.scale_fill_gradient(low="#FFFFFF", high="#9EC4E0", limits=(0, 1))
        + p9.labs(
            x="",
            y="rank r",
            caption=caption(
                f"n = {one.n_obs} positive cases, {one.sensitivity:.0%} sensitivity. In "
                f"parentheses: MCSE, {result.n_rep[next(iter(result.n_rep))]:,} replicates.",
            ),
        )
        + theme.theme_study()
        + p9.theme(figure_size=(8.8, 3.4), panel_grid_major=p9.element_blank())
    )


def _fifty(result: Result) -> Umbrella:
    for one in result.plan.scenarios:
        if one == Umbrella(50):
            return one  # type: ignore[no-any-return]
    raise LookupError("n_obs=50 with 95% sensitivity and 80% confidence")


def _table_column(result: Result, one: Umbrella, name: str) -> pd.DataFrame:
    exact = getattr(rank_table(one.n_obs, one.sensitivity), name)[1:5]
    measure = "exactly" if name == "probability" else "coverage"
    rows = [_row(result, measure, rank) for rank in RANKS[1:]]
    drawn = [1 - r["estimate"] if name == "violation" else r["estimate"] for r in rows]
    words = {
        "published": [f"{value:.2f}" for value in PUBLISHED[name]],
        "exact": [f"{value:.4f}" for value in exact],
        "simulated": [f"{d:.3f}\n({r['mcse']:.3f})" for d, r in zip(drawn, rows, strict=True)],
    }
    values = dict(zip(words, (PUBLISHED[name], exact, drawn), strict=True))
    return pd.concat(
        pd.DataFrame(
            {
                "way": pd.Categorical([way] * 4, list(words)),
                "rank": pd.Categorical(RANKS[1:], RANKS[:0:-1]),
                "value": values[way],
                "words": words[way],
                "column": pd.Categorical([HEADS[name]] * 4, list(HEADS.values())),
            }
        )
        for way in words
    )


def _row(result: Result, measure: str, rank: str) -> Any:
    return result.value(measure, n_obs=50, sensitivity=0.95, confidence=0.8, rank=rank)


# ---------------------------------------------------------------- claims
def _table_entry(result: Result, name: str, rank: int) -> Reproduced:
    measure = "exactly" if name == "probability" else "coverage"
    row = _row(result, measure, str(rank))
    exact = getattr(rank_table(50, 0.95), name)[rank]
    share = 1 - row["estimate"] if name == "violation" else row["estimate"]
    return Reproduced(float(exact), detail=f"exact; simulated {share:.4f} ({row['mcse']:.4f})")


def _rank_at_50(_: Result) -> Reproduced:
    return Reproduced(float(umbrella_rank(50, 0.95, 0.8)), detail="exact")


def _rank_at_200(_: Result) -> Reproduced:
    rank = np.asarray(umbrella_rank(np.arange(50, 201, 5), 0.95, 0.8))
    shown = "ranks at n = 50, 55, ..., 200: " + " ".join(map(str, rank))
    return Reproduced(float(rank[-1]), detail=shown)


def _printed_sum(_: Result) -> Reproduced:
    """v(1) at n = 50 with the binomial coefficient as printed: C(n, r) for every term."""
    r, n, k = 1, 50, 0.95
    terms = np.arange(r, n + 1)
    value = 1 - n * float(((1 - k) ** terms * k ** (n - terms)).sum())
    detail = f"with C(n, r) in every term; with C(n, l) it is {violation(1, 50, 0.95):.4f}"
    return Reproduced(value, detail=detail)


def _more_conservative(result: Result) -> Reproduced:
    """Whether the umbrella exceeds its confidence wherever it is feasible."""
    rows = result.summary.query("measure == 'coverage' and rank == 'umbrella'")
    over = rows["exact"] - rows["confidence"]
    detail = f"excess from {over.min():.3f} to {over.max():.3f} over the grid; at n = 50 "
    detail += f"{1 - violation(1, 50, 0.95) - 0.8:.3f}"
    return Reproduced(float((over > 0).all()), detail=detail)


def _smallest_rank(_: Result) -> Reproduced:
    rank = int(umbrella_rank(30, 0.95, 0.8))
    detail = f"n = 30; {1 - violation(1, 30, 0.95):.3f} confidence at best; from n = "
    return Reproduced(float(rank), detail=detail + f"{least_feasible_n(0.95, 0.8)} rank 1 is safe")


CLAIMS = (
    *(
        Claim(
            f"{name}, rank {rank}", f"Table for n = 50: {name} of rank {rank}", "section 2, table",
            partial(_table_entry, name=name, rank=rank), published=value, rounding=0.005,
        )
        for name, values in PUBLISHED.items()
        for rank, value in enumerate(values, start=1)
    ),
    Claim(
        "rank at n = 50", "With 50 positive cases the smallest score has to be the threshold",
        "section 2", _rank_at_50, published=1,
    ),
    Claim("rank at n = 200", "With 200 positive cases it is the seventh", "figure 3",
          _rank_at_200, published=7),
    Claim(
        "tighter than needed", "The umbrella's bound is tighter than what is asked for",
        "section 2", _more_conservative, published=True,
    ),
    Claim(
        "formula of v(r)", "v(r) as the formula prints it, at n = 50 and r = 1", "section 2",
        _printed_sum, published=0.08, rounding=0.005, expected="differs",
        note="The sum needs C(n, l), as the document's code has it, and not C(n, r).",
    ),
    Claim(
        "never below 1", "The function gives rank 1 where no rank is safe", "section 2, code",
        _smallest_rank, published=1, expected="differs",
        note="Below n = 32 no score is a safe threshold for 95% with 80% confidence; the honest "
        "answer is rank 0, the threshold that calls everybody positive.",
    ),
)  # fmt: skip
