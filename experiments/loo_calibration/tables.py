"""The document's table of approximations, and their errors."""

from __future__ import annotations

import itertools
from typing import Any

from experiments.loo_calibration.figures import METHODS as LABELS
from experiments.loo_calibration.figures import TARGETS, UTILITIES, in_words, of_prior
from experiments.loo_r2.tables import AT, TERMS
from simstudy.analysis.result import Result
from simstudy.lazy import pd
from simstudy.tables import Column, Table

CAPTION = (
    "Standard errors of leave-one-out utilities: {n_obs} observations, {n_feature} features, "
    "σ = {noise_sd:g}"
)
NOTES = (
    "SE² = Σ ψ² / (n (n − 1)), with ê a leave-one-out error, ȳ the mean response and MSE_y the "
    "mean of (y − ȳ)². ψ of a difference is the difference of the two models' ψ; the second model "
    "has half of the features.",
    "Relative error: the root mean square of a standard error over the spread of the estimates. "
    "Coverage: of the 95% interval, of the mean of the estimates.",
)
SHOWN = (("model", "relative_error"), ("model", "coverage"), ("less half", "relative_error"))
METHODS = {"taylor": "Taylor", "bootstrap": "bootstrap"}


def table_of_approximations(result: Result) -> Table:
    """Taylor's terms by utility, and both standard errors compared with the true errors."""
    columns: dict[str, Column | str] = {"terms": "ψ"}
    found: dict[str, dict[str, Any]] = {
        name: {"utility": terms.name, "terms": terms.own} for name, terms in TERMS.items()
    }
    for (compared, measure), (method, word) in itertools.product(SHOWN, METHODS.items()):
        name = f"{measure}, {compared}, {method}"
        of = " of a difference" if compared != "model" else ""
        heading = f"{word}: {measure.replace('_', ' ')}{of}"
        columns[name] = Column(heading, mcse=f"{name}_mcse", percent=True)
        for utility, row in found.items():
            cell = result.row(measure, compared=compared, utility=utility, method=method, **AT)
            row |= {name: cell["estimate"], f"{name}_mcse": cell["mcse"]}
    first = result.row("coverage", compared="model", utility="mae", method="taylor", **AT)
    n_rep = int(first["n_rep"])
    errors = f"In parentheses: Monte Carlo standard errors, of {n_rep:,} replicates."
    return Table(pd.DataFrame(found.values()), CAPTION.format(**AT), columns, [*NOTES, errors])


def table_of_errors(result: Result) -> Table:
    """Relative error of both standard errors of R² in every cell, against both targets."""
    rows = pd.concat([in_words(of_prior(result, prior), "model") for prior in ("default", "wide")])
    rows = rows[(rows["utility"] == UTILITIES["r2_variance"]) & rows["measure"].isin(TARGETS)]
    cells = ["n", "p", "noise_sd"]
    wide = rows.assign(column=rows["measure"].astype(str) + ", " + rows["method"].astype(str))
    wide = wide.pivot_table(index=cells, columns="column", values=["estimate", "mcse"])
    found = pd.DataFrame(wide.index.to_frame(index=False))
    columns: dict[str, Column | str] = {"n": "n", "p": "p", "noise_sd": "σ"}
    for target, words in TARGETS.items():
        for method in LABELS.values():
            name = f"{target}, {method}"
            found[name] = wide[("estimate", name)].to_numpy()
            found[f"{name}_mcse"] = wide[("mcse", name)].to_numpy()
            heading = f"{method}: {' '.join(words.split())}"
            columns[name] = Column(heading, mcse=f"{name}_mcse", percent=True)
    notes = ["Utility: R², one minus the variance of the errors over that of the responses."]
    wide_n = sorted({s.n_obs for s in result.plan.scenarios if s.prior == "wide"})
    if wide_n:
        notes.append(f"Rows with n = {', '.join(map(str, wide_n))} have the wide prior.")
    notes.append("In parentheses: Monte Carlo standard errors.")
    return Table(found, "Relative error of the standard errors of R²", columns, notes)
