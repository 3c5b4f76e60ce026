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

import numpy as np

from simstudy.analysis.result import Result
from simstudy.claims import Claim, Reproduced
from simstudy.design import grid
from simstudy.figures import caption, heat_map_plot, in_order, measure_curves, rows_like
from simstudy.lazy.pandas import pd
from simstudy.lazy.plotnine import ggplot, p9
from simstudy.options import option, published
from simstudy.stats.classifier.umbrella import (
    least_feasible_n,
    rank_table,
    umbrella_rank,
    violation,
)
from simstudy.study import Study
from simstudy.trials.umbrella import MEASURES, RANKS, Umbrella


@published(__file__)
@dataclass
class Config:
    """What the study sweeps."""

    n_obs: list[int] = option("positive cases in the test set", at_least=4)
    sensitivity: list[float] = option("target to keep", above=0, below=1)
    confidence: list[float] = option("with which to keep it", above=0, below=1)
    n_rep: int = option("replicates in each scenario", at_least=1)


def study(config: Config) -> Study:
    swept = ("n_obs", "sensitivity", "confidence")
    return Study(
        name="umbrella_rank",
        scenarios=grid(Umbrella, **{name: getattr(config, name) for name in swept}),
        measures=MEASURES,
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
    about = (first.sensitivity, first.confidence)
    rows = result.summary.query("measure == 'coverage' and rank == 'umbrella'")
    rows = rows_like(rows, first, "sensitivity", "confidence")
    figure = measure_curves(
        rows, x="n_obs", y="coverage", rows="measure", nominal={"coverage": first.confidence},
        exact=_law(int(rows["n_obs"].max()), *about), joined=False,
    )  # fmt: skip
    least = int(least_feasible_n(*about))
    says = (
        f"{first.sensitivity:.0%} sensitivity with {first.confidence:.0%} confidence. Grey: below "
        f"n = {least} not even the smallest score is safe (rank 0)."
    )
    grey = {"xmin": 0, "xmax": least - 0.5, "fill": "#DDDDDD", "alpha": 0.6}
    return (
        figure
        + p9.annotate("rect", **grey, ymin=-np.inf, ymax=np.inf)
        + p9.labs(x="positive cases n", y="", caption=caption(figure.labels.caption, says))
        + p9.theme(figure_size=(7.0, 6.4))
    )


def _law(last: int, sensitivity: float, confidence: float) -> pd.DataFrame:
    """Rank as a staircase; confidence where there is a rank, with a jump where the rank grows."""
    n = np.arange(1, last + 1)
    rank = np.asarray(umbrella_rank(n, sensitivity, confidence))
    kept = 1 - np.asarray(violation(rank, n, sensitivity))
    saw = pd.DataFrame({"n_obs": n, "exact": kept, "measure": "coverage"})[rank > 0]
    ends = np.repeat(n, 2) + np.tile([-0.5, 0.5], last)
    steps = pd.DataFrame({"n_obs": ends, "exact": np.repeat(rank, 2), "measure": "rank"})
    return pd.concat([saw, steps.drop_duplicates("n_obs", keep="last")])


PUBLISHED = {
    "probability": (0.20, 0.26, 0.22, 0.14),
    "coverage": (0.92, 0.72, 0.46, 0.24),
    "violation": (0.08, 0.28, 0.54, 0.76),
}
HEADS = {
    "probability": "exactly r scores below t*",
    "coverage": "sensitivity kept",
    "violation": "sensitivity falls short",
}
FIFTY = {"n_obs": 50, "sensitivity": 0.95, "confidence": 0.8}


def figure_table(result: Result) -> ggplot:
    """The table for n = 50: each rank's probabilities as published, exactly, and simulated."""
    scenario = result.scenario(**FIFTY)
    cells = pd.concat(_table_column(result, name) for name in HEADS)
    figure = heat_map_plot(
        cells.assign(probability=in_order(cells["probability"], HEADS)), measure="share", x="way",
        y="rank", panel="probability", digits=3,
    )  # fmt: skip
    says = f"n = {scenario.n_obs} positive cases, {scenario.sensitivity:.0%} sensitivity."
    return figure + p9.labs(x="", y="rank r", caption=caption(says, figure.labels.caption))


def _table_column(result: Result, name: str) -> pd.DataFrame:
    simulated, mcse = np.transpose([_simulated(result, name, rank) for rank in (1, 2, 3, 4)])
    exact = getattr(rank_table(50, 0.95), name)[1:5]
    shares = {"published": PUBLISHED[name], "exact": exact, "simulated": simulated}
    cells = pd.DataFrame(shares, index=pd.Index(RANKS[1:], name="rank")).melt(
        var_name="way", value_name="estimate", ignore_index=False
    )
    cells["mcse"] = np.where(cells["way"] == "simulated", np.tile(mcse, 3), np.nan)
    way, rank = (in_order(x, {x: x for x in x}) for x in (cells["way"], cells.index[::-1]))
    return cells.assign(way=way, rank=rank[::-1], measure="share", probability=name)


def _simulated(result: Result, name: str, rank: int) -> tuple[float, float]:
    """An entry of the table as simulated, with its MCSE."""
    measure = "exactly" if name == "probability" else "coverage"
    row = result.value(measure, rank=str(rank), **FIFTY)
    return 1 - row["estimate"] if name == "violation" else row["estimate"], row["mcse"]


# ---------------------------------------------------------------- claims
def _table_entry(result: Result, name: str, rank: int) -> Reproduced:
    share, mcse = _simulated(result, name, rank)
    exact = getattr(rank_table(50, 0.95), name)[rank]
    return Reproduced(float(exact), detail=f"exact; simulated {share:.4f} ({mcse:.4f})")


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
