"""The document's coverage table: how often a bound on the threshold keeps the sensitivity."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from experiments.classifier_threshold.figures import LABELS, N_SIM, PUBLISHED, PUBLISHED_BESIDE
from simstudy.analysis.result import Result
from simstudy.claims import binomial_error
from simstudy.documents.stats.quantile_bootstrap import BOOTSTRAP
from simstudy.lazy import pd
from simstudy.tables import Column, Table

CAPTION = (
    "Coverage of {confidence:.0%} bounds on the threshold that keeps {sensitivity:.0%} "
    "sensitivity, from {n_obs} positive cases"
)
AT: dict[str, Any] = {"n_obs": 50, "sensitivity": 0.95, "confidence": 0.8}
DRAWN, LIMIT = 1000, 0  # resamples: as published, and infinitely many
SAID = PUBLISHED | {method: share for method, (share, _) in PUBLISHED_BESIDE.items()}
TWO_DIGITS = {share: f"{share:.2f}" for share, _ in PUBLISHED_BESIDE.values()}  # printed digits


def table_of_coverage(result: Result) -> Table:
    """Coverage by method, at the published setting; methods without resamples have one value."""
    found = pd.DataFrame(_row(result, method) for method in LABELS)
    columns: dict[str, Column | str] = {
        "method": "bound",
        "published": Column("published", decimals=3, words=TWO_DIGITS),
        "drawn": Column(f"simulated, {DRAWN:,} resamples", mcse="drawn_mcse"),
        "limit": Column("simulated, ∞ resamples", mcse="limit_mcse"),
        "exact": Column("exact", decimals=4),
    }
    n_rep = int(found.pop("n_rep").max())
    return Table(found, CAPTION.format(**AT), columns, [*_notes(n_rep)])


def _row(result: Result, method: str) -> dict[str, Any]:
    limit = result.row("coverage", method=method, n_boot=LIMIT, **AT)
    drawn = {"estimate": math.nan, "mcse": math.nan}
    if method in BOOTSTRAP:
        drawn = dict(result.row("coverage", method=method, n_boot=DRAWN, **AT))
    return {
        "method": LABELS[method],
        "published": SAID.get(method, math.nan),
        "drawn": drawn["estimate"],
        "drawn_mcse": drawn["mcse"],
        "limit": limit["estimate"],
        "limit_mcse": limit["mcse"],
        "exact": limit["exact"],
        "n_rep": limit["n_rep"],
    }


def _notes(n_rep: int) -> Iterator[str]:
    largest = max(binomial_error(share, N_SIM) for share in PUBLISHED.values())
    yield f"In parentheses: Monte Carlo standard errors ({n_rep:,} test sets)."
    yield (
        f"The Monte Carlo standard error of a published share is up to {largest:.3f} ({N_SIM} test "
        "sets); the umbrella's share is exact."
    )
    yield "∞: the bootstrap's limit, on the same test sets; other bounds do not resample."
