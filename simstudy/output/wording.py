"""Numbers and sizes as people read them."""

from __future__ import annotations

import math

from simstudy.analysis.precision import spent
from simstudy.analysis.result import Result


def number(value: float | None) -> str:
    """Four significant digits; a dash for what is not there."""
    return "–" if value is None or math.isnan(value) else f"{value:.4g}"


def size_in_words(result: Result) -> str:
    """How many replicates of how many scenarios."""
    n_scenarios = len(result.plan.scenarios)
    least, most = min(result.n_rep.values()), max(result.n_rep.values())
    each = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    return f"{each} replicates in each of {n_scenarios:,} scenarios"


def work_in_words(result: Result) -> str:
    """The same, with what of it was drawn by this run."""
    n_rep, outcome = sum(result.n_rep.values()), result.outcome
    drawn = outcome.n_blocks * result.plan.block_size
    text = f"{size_in_words(result)}, {n_rep:,} in all"
    return f"{text} ({drawn:,} drawn now, {outcome.seconds:.1f} s)."


def precision_in_words(result: Result) -> str:
    """Whether the Monte Carlo errors that were asked for are there, and what that saved."""
    taken = spent(result, result.targets)
    n_short = int((~taken["reached"]).sum())
    uniform = int(taken["n_rep"].max()) * len(taken)
    text = f"precision reached in {len(taken) - n_short:,} of {len(taken):,} scenarios"
    if n_short:
        return f"{text}; the others stopped at max_rep: raise it to go on"
    return f"{text}; the same number everywhere would have taken {uniform:,} replicates"
