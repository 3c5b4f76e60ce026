"""The document's table of approximations, its empty cells filled: Taylor's terms by utility."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from simstudy.analysis.result import Result
from simstudy.lazy import pd
from simstudy.tables import Column, Table


class Terms(NamedTuple):
    """A utility in the document's words, and what each observation adds to its square error."""

    name: str
    own: str
    difference: str


TERMS = {
    "mae": Terms("MAE", "|e| − MAE", "|e| − |f| − (MAE − MAE_f)"),
    "mse": Terms("MSE", "e² − MSE", "e² − f² − (MSE − MSE_f)"),
    "rmse": Terms(
        "RMSE", "(e² − MSE) / (2 RMSE)", "(e² − MSE) / (2 RMSE) − (f² − MSE_f) / (2 RMSE_f)"
    ),
    "r2_mean_square": Terms("R²", "((1 − R²) d² − e²) / V", "(f² − e² − (R² − R²_f) d²) / V"),
}
"""By utility; the document prints only R²'s own."""

AT: dict[str, Any] = {"n_obs": 100, "n_feature": 5, "noise_sd": 1.0, "prior": "default"}
CAPTION = "Taylor approximations of the standard errors of leave-one-out utilities"
SQUARE_ERROR = (
    "SE² = Σ ψ² / (n (n − 1)), with e an observation's leave-one-out error, f that of another "
    "model, d its distance from the mean response and V the mean of d². Of a difference of two "
    "models, ψ is the one's less the other's."
)
MEASURED = {
    "taylor": ("model_se", "taylor", "Taylor's SE"),
    "bootstrap": ("model_se", "bootstrap", "bootstrap's SE"),
    "ratio": ("mean_taylor_over", "bootstrap", "Taylor over bootstrap"),
}
"""Columns of numbers: measure, method and heading."""


def table_of_approximations(result: Result) -> Table:
    """By utility, the terms of the formula, and both standard errors where they were drawn."""
    found = pd.DataFrame(_row(result, utility) for utility in TERMS)
    columns: dict[str, Column | str] = {"own": "ψ", "difference": "ψ of a difference"}
    for name, (_, _, heading) in MEASURED.items():
        columns[name] = Column(heading, mcse=f"{name}_mcse")
    n_rep = int(result.value("model_se", utility="mae", method="taylor", **AT)["n_rep"])
    return Table(found, CAPTION, columns, [SQUARE_ERROR, _of_numbers(n_rep)])


def _of_numbers(n_rep: int) -> str:
    return (
        "SE: root mean square over {n_rep:,} data sets of {n_obs} observations, {n_feature} "
        "features and σ = {noise_sd:g}; Monte Carlo standard errors in parentheses. Taylor over "
        "bootstrap: the mean ratio, which for MAE and MSE is √((n + 1) / (n − 1)) = {ratio:.4f} "
        "once draws are many."
    ).format(n_rep=n_rep, ratio=((AT["n_obs"] + 1) / (AT["n_obs"] - 1)) ** 0.5, **AT)


def _row(result: Result, utility: str) -> dict[str, Any]:
    name, own, difference = TERMS[utility]
    words = {"utility": name, "own": own, "difference": difference}
    return words | dict(_numbers(result, utility))


def _numbers(result: Result, utility: str) -> Iterator[tuple[str, float]]:
    for name, (measure, method, _) in MEASURED.items():
        found = result.value(measure, utility=utility, method=method, **AT)
        yield name, found["estimate"]
        yield f"{name}_mcse", found["mcse"]
