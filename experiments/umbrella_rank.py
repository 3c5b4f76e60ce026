"""Which order statistic of the positive scores is a safe threshold?

The Neyman-Pearson umbrella takes the r-th smallest of n positive scores, with the largest r for
which the sensitivity falls short with probability at most 1 - confidence.

Aims         Which rank does each n allow, and what confidence does that rank really have?
Data         Independent positive scores; only their ranks matter, so they are uniform.
Estimands    Probability that the r-th smallest score keeps the target sensitivity.
Methods      The umbrella's own rank, and ranks 1 to 4 whatever n is.
Performance  Coverage, and the probability that exactly r scores lie below the true threshold, both
             with the exact binomial values; one MCSE is at most 0.2 points at 50,000 replicates.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from experiments._answers import span
from experiments._yardsticks import MUCH
from simstudy.analysis.result import Result
from simstudy.claims import (
    Claim,
    Finding,
    IntendedValue,
    WrongValue,
    cautious_binomial_error,
    decide,
    mc_margin,
)
from simstudy.design import grid
from simstudy.documents.scenarios.thresholds import RANK_MEASURES, RANKS, Umbrella
from simstudy.documents.stats.umbrella import (
    least_feasible_n,
    rank_table,
    umbrella_rank,
    violation,
)
from simstudy.figures import (
    caption,
    measure_curves,
    rows_like,
    theme,
)
from simstudy.figures.curves import staircase
from simstudy.lazy import ggplot, p9, pd
from simstudy.options import option, published
from simstudy.study import Study
from simstudy.tables import Column, Table


@published(__file__)
class Config:
    """Settings of the study."""

    n_obs: list[int] = option("positive cases in the test set", at_least=4)
    sensitivity: list[float] = option("target to keep", above=0, below=1)
    confidence: list[float] = option("with which to keep it", above=0, below=1)
    n_rep: int = option("replicates in each scenario", at_least=1)


def answer(result: Result) -> str:
    """Coverage of the umbrella's rank, and of the first two at n = 50."""
    first, second = (span(result, "coverage", n_obs=50, rank=rank) for rank in ("1", "2"))
    return (
        f"The largest rank that the binomial law gives at least 80%. It is safe with probability "
        f"{span(result, 'coverage', rank='umbrella')}, by the number of scores. Of 50 scores the "
        f"smallest is safe with {first}, the second with {second}."
    )


def study(config: Config) -> Study:
    swept = ("n_obs", "sensitivity", "confidence")
    return Study(
        name="umbrella_rank",
        scenarios=grid(Umbrella, **{name: getattr(config, name) for name in swept}),
        measures=RANK_MEASURES,
        axes={"rank": RANKS},
        block_size=2500,
        n_rep=config.n_rep,
        figures={"3": figure_3},
        tables={"ranks": table_of_ranks},
        answer=answer,
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
    says = f"Grey: below n = {least} not even the smallest score is safe, so there is no rank."
    grey = {"xmin": 0, "xmax": least - 0.5, "fill": "#DDDDDD", "alpha": 0.6}
    return (
        figure
        + p9.annotate("rect", **grey, ymin=-np.inf, ymax=np.inf)
        + p9.labs(x="positive cases n", y="", caption=caption(figure.labels.caption, says))
        + p9.scale_y_continuous(breaks=_ticks)
        + p9.theme(figure_size=(theme.FULL_WIDTH, 5.6))
    )


def _ticks(limits: tuple[float, float]) -> list[float]:
    """Ticks: whole ranks from 1, or about five shares."""
    from matplotlib.ticker import MaxNLocator

    are_ranks = limits[1] > 1.5  # no share is above 1
    ticks = MaxNLocator(12, integer=True) if are_ranks else MaxNLocator(5)
    return [float(tick) for tick in ticks.tick_values(*limits) if tick >= are_ranks]


def _law(last: int, sensitivity: float, confidence: float) -> pd.DataFrame:
    """Rank as a staircase and confidence with a jump where the rank grows, from the first rank."""
    n = np.arange(int(least_feasible_n(sensitivity, confidence)), last + 1)
    rank = np.asarray(umbrella_rank(n, sensitivity, confidence))
    kept = 1 - np.asarray(violation(rank, n, sensitivity))
    saw = pd.DataFrame({"n_obs": n, "exact": kept, "measure": "coverage"})
    steps = pd.DataFrame({"n_obs": n, "exact": rank, "measure": "rank"})
    return staircase(pd.concat([saw, steps]), "n_obs")


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


def _simulated(result: Result, name: str, rank: int) -> tuple[float, float]:
    """An entry of the table as simulated, with its MCSE."""
    measure = "exactly" if name == "probability" else "coverage"
    row = result.row(measure, rank=str(rank), **FIFTY)
    return 1 - row["estimate"] if name == "violation" else row["estimate"], row["mcse"]


# ---------------------------------------------------------------- the table
def table_of_ranks(result: Result) -> Table:
    """The table for n = 50: each rank's probabilities as published, exactly, and simulated."""
    columns: dict[str, Column | str] = {
        "rank": "rank r",
        "published": Column(decimals=2),
        "exact": Column(decimals=4),
        "simulated": Column(mcse="mcse"),
    }
    found = pd.concat([_ways(result, name) for name in HEADS], ignore_index=True)
    n_rep = result.row("coverage", rank="1", **FIFTY)["n_rep"]
    caption = "The r-th of {n_obs} positive scores as threshold for {sensitivity:.0%} sensitivity"
    notes = [f"In parentheses: Monte Carlo standard errors, of {n_rep:,} replicates."]
    return Table(found, caption.format(**FIFTY), columns, notes)


def _ways(result: Result, name: str) -> pd.DataFrame:
    """One of the three probabilities of ranks 1 to 4, in three ways."""
    ranks = (1, 2, 3, 4)
    simulated, mcse = np.transpose([_simulated(result, name, rank) for rank in ranks])
    exact = getattr(rank_table(50, 0.95), name)[1:5]
    ways = {"published": PUBLISHED[name], "exact": exact, "simulated": simulated, "mcse": mcse}
    return pd.DataFrame({"probability": HEADS[name], "rank": ranks} | ways)


# ---------------------------------------------------------------- claims
INFEASIBLE = 30  # positive cases with which no score is a safe threshold
HALF_A_POINT = 0.005  # probability, in addition to rounding to whole per cents


def _table_entry(result: Result, name: str, rank: int) -> Finding:
    share, mcse = _simulated(result, name, rank)
    exact = getattr(rank_table(50, 0.95), name)[rank]
    return Finding(share, mcse, f"exactly {exact:.4f}")


def _table_is_exact(_: Result, n_obs: int = 50) -> Finding:
    """Whether all twelve cells are the exact probabilities, to their printed digits."""
    table = rank_table(n_obs, 0.95)
    off = [np.abs(getattr(table, name)[1:5] - values) for name, values in PUBLISHED.items()]
    most = float(np.max(off))
    return Finding(float(most <= HALF_A_POINT), detail=f"off by {most:.4f} at most")


def _largest_safe(result: Result, n: int, confidence: float = 0.8) -> Finding:
    """The umbrella's rank if it is safe in the simulation and the next is not; else 0."""
    about = {"rank": "umbrella", "n_obs": n, "sensitivity": 0.95, "confidence": confidence}
    safe, exactly = (result.row(name, **about) for name in ("coverage", "exactly"))
    rank = int(umbrella_rank(n, 0.95, confidence))
    kept = np.array([safe["estimate"], safe["estimate"] - exactly["estimate"]])
    detail = f"rank {rank} keeps the sensitivity in {kept[0]:.4f}, the next in {kept[1]:.4f}"
    reach = mc_margin(cautious_binomial_error(kept, safe["n_rep"]), safe["n_rep"], 2)
    known = decide((kept - confidence) * [1, -1], reach, detail)
    return Finding(rank * known.value, detail=detail)


def _printed_sum(_: Result) -> Finding:
    """v(1) at n = 50 with the binomial coefficient as printed: C(n, r) for every term."""
    r, n, k = 1, 50, 0.95
    terms = np.arange(r, n + 1)
    value = 1 - n * float(((1 - k) ** terms * k ** (n - terms)).sum())
    detail = f"with C(n, r) in every term; with C(n, l) it is {violation(1, 50, 0.95):.4f}"
    return Finding(value, detail=detail)


def _much_tighter(result: Result, n: int = 50) -> Finding:
    """Whether the umbrella's rank has more than 85% confidence if 80% is required."""
    row = result.row("coverage", rank="umbrella", **(FIFTY | {"n_obs": n}))
    excess = row["estimate"] - FIFTY["confidence"]
    detail = f"n = {n}: {excess:.4f} ({row['mcse']:.4f}) beyond; exactly "
    detail += f"{row['exact'] - FIFTY['confidence']:.4f}"
    return decide(excess - MUCH, mc_margin(row["mcse"], row["n_rep"]), detail)


def _rank_of_function(_: Result, n: int = INFEASIBLE) -> Finding:
    """The result of the document's function: the largest safe rank, or 1 if there is none."""
    rank = max(int(umbrella_rank(n, 0.95, 0.8)), 1)
    detail = f"n = {n}; from n = {least_feasible_n(0.95, 0.8)} rank 1 is safe"
    return Finding(float(rank), detail=detail)


def _safe_rank(_: Result) -> Finding:
    return Finding(float(umbrella_rank(INFEASIBLE, 0.95, 0.8)))


def _table_claim(name: str, rank: int, value: float) -> Claim:
    other = rank + 1 if rank < len(PUBLISHED[name]) else rank - 1
    return Claim(
        f"{name}, rank {rank}",
        f"Table for n = 50: {name} of rank {rank}",
        "section 2, table",
        partial(_table_entry, name=name, rank=rank),
        published=value,
        rounding=0.005,
        difference=HALF_A_POINT,
        wrong_value=WrongValue(f"rank {other}", partial(_table_entry, name=name, rank=other)),
        scored=False,  # "table for n = 50" has all twelve, exactly
    )


CLAIMS = (
    Claim(
        "table for n = 50", "Twelve probabilities of ranks 1 to 4: of the rank, that the "
        "sensitivity is kept, and that it is not", "section 2, table", _table_is_exact,
        published=True, wrong_value=WrongValue("60 cases", partial(_table_is_exact, n_obs=60)),
        criterion="to the printed digits",
    ),
    *(
        _table_claim(name, rank, value)
        for name, values in PUBLISHED.items()
        for rank, value in enumerate(values, start=1)
    ),
    Claim(
        "rank at n = 50", "With 50 positive cases the smallest score has to be the threshold",
        "section 2", partial(_largest_safe, n=50), published=1,
        wrong_value=WrongValue("60 cases", partial(_largest_safe, n=60)),
    ),
    Claim(
        "rank at n = 200", "With 200 positive cases it is the seventh", "figure 3",
        partial(_largest_safe, n=200), published=7,
        wrong_value=WrongValue("175 cases", partial(_largest_safe, n=175)),
    ),
    Claim(
        "tighter than needed", "At n = 50 the umbrella's bound is much tighter than what is asked "
        "for", "section 2", _much_tighter, published=True,
        wrong_value=WrongValue("60 cases", partial(_much_tighter, n=60)),
        criterion="by more than 5 points",
        note="At n = 60 it is 1 point.",
    ),
    Claim(
        "formula of v(r)", "v(r) as the formula prints it, at n = 50 and r = 1", "section 2",
        _printed_sum, published=0.08, rounding=0.005, expected="differs",
        misprint=True,
        note="The sum needs C(n, l), as the document's code has it, and not C(n, r).",
    ),
    Claim(
        "never below 1", "The function gives rank 1 where no rank is safe", "section 2, code",
        _rank_of_function, published=1, expected="true as written, not as meant",
        wrong_value=WrongValue("100 cases", partial(_rank_of_function, n=100)),
        intended=IntendedValue("the largest rank that is safe, with 30 cases", _safe_rank),
        note="Below n = 32, and only there, no score is a safe threshold for 95% sensitivity with "
        "80% confidence: with 30 cases the smallest one has 78.5%. Rank 0 stands for the threshold "
        "that calls everybody positive.",
    ),
)  # fmt: skip
