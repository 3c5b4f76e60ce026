"""The document's designs: their sizes, and their true power and level."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.classifier_sample_size.figures import designs_of
from simstudy.analysis.result import Result
from simstudy.documents.scenarios.thresholds import Trial
from simstudy.documents.stats.classifier_trial import sample_sizes
from simstudy.lazy import pd
from simstudy.tables import Column, Table

PUBLISHED = {(0.95, 0.05, 0.2, 0.05): 184}  # the only size that the document prints
ASKED = ("sensitivity", "margin", "beta", "alpha")


def table_of_designs(result: Result) -> Table:
    """A row for each design: settings, sizes, and properties of its score test."""
    found = pd.DataFrame(_row(result, design) for design in designs_of(result))
    is_one_level = found["alpha"].nunique() == 1
    columns: dict[str, Column | str] = {
        "sensitivity": "k",
        "margin": "k − l",
        "beta": "β",
        **({} if is_one_level else {"alpha": "α"}),
        "n_published": "n, published",
        "n": "n, normal",
        "n_least": "n, least",
        "n_safe": "n, safe",
    }
    for name, words in {"power": "power", "size": "size"}.items():
        columns[f"{name}_exact"] = Column(f"{words}, exact", decimals=4)
        columns[name] = Column(f"{words}, simulated", mcse=f"{name}_mcse")
    n_rep = int(found.pop("n_rep").max())
    notes = [
        "Normal: by the document's formula, which power and size are of. Least: the first size at "
        "which the score test has the power. Safe: the first from which it never loses it again.",
        f"In parentheses: Monte Carlo standard errors, of {n_rep:,} trials.",
    ]
    caption = "Positive cases that show a sensitivity k to exceed l"
    if is_one_level:
        caption += f", at level α = {found.pop('alpha').iloc[0]:g}"
    return Table(found, caption, columns, notes)


def _row(result: Result, design: Trial) -> dict[str, Any]:
    asked = {name: getattr(design, name) for name in ASKED}
    least = sample_sizes(
        design.sensitivity, design.margin, 1 - design.beta, design.alpha, rule="score"
    )
    row: dict[str, Any] = asked | {
        "n_published": PUBLISHED.get(tuple(asked.values()), np.nan),
        "n": design.n_trial,
        "n_least": int(least.first),
        "n_safe": int(least.forever),
    }
    for name in ("power", "size"):
        found = result.row(name, rule="score", n_obs=0, **asked)
        row |= {f"{name}_exact": found["exact"], name: found["estimate"]}
        row |= {f"{name}_mcse": found["mcse"], "n_rep": found["n_rep"]}
    return row
