"""The document's table of approximations, and their errors."""

from __future__ import annotations

from collections.abc import Iterator
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
SHOWN = {
    "model": ("relative_error", "coverage"),
    "less half": ("relative_error",),
}
HEADS = {"relative_error": "relative error", "coverage": "coverage"}
METHODS = {"taylor": "Taylor", "bootstrap": "bootstrap"}


def table_of_approximations(result: Result) -> Table:
    """Taylor's terms by utility, and both standard errors compared with the true errors."""
    found = pd.DataFrame(_row(result, utility) for utility in TERMS)
    columns: dict[str, Column | str] = {"terms": "ψ"}
    for name, heading in _measured():
        columns[name] = Column(heading, mcse=f"{name}_mcse", percent=True)
    errors = f"In parentheses: Monte Carlo standard errors, of {_n_rep(result):,} replicates."
    return Table(found, CAPTION.format(**AT), columns, [*NOTES, errors])


def _n_rep(result: Result) -> int:
    found = result.row("coverage", compared="model", utility="mae", method="taylor", **AT)
    return int(found["n_rep"])


def _measured() -> Iterator[tuple[str, str]]:
    """Columns of numbers, each with its heading."""
    for compared, measures in SHOWN.items():
        for measure in measures:
            for method, word in METHODS.items():
                of = " of a difference" if compared != "model" else ""
                yield f"{measure}, {compared}, {method}", f"{word}: {HEADS[measure]}{of}"


def _row(result: Result, utility: str) -> dict[str, Any]:
    row = {"utility": TERMS[utility].name, "terms": TERMS[utility].own}
    return row | dict(_numbers(result, utility))


def _numbers(result: Result, utility: str) -> Iterator[tuple[str, float]]:
    for name, _ in _measured():
        measure, compared, method = name.split(", ")
        found = result.row(measure, compared=compared, utility=utility, method=method, **AT)
        yield name, found["estimate"]
        yield f"{name}_mcse", found["mcse"]


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
