"""The document's table of approximations with its empty cells filled, in its notation.

The document leaves the cells of MAE, MSE and RMSE empty, and all cells of differences.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from simstudy.analysis.result import Result
from simstudy.lazy import pd
from simstudy.tables import Column, Table
from simstudy.tables.table import latex_escaped


class Terms(NamedTuple):
    """The terms ψ of a utility's variance, Σ ψ² / (n (n − 1)), in the document's letters."""

    name: str
    own: str
    difference: str
    comment: str


TERMS = {
    "mae": Terms("MAE", "|ê| − MAE", "|ê_A| − |ê_B| − (MAE_A − MAE_B)", "A mean"),
    "mse": Terms("MSE", "ê² − MSE", "ê_A² − ê_B² − (MSE_A − MSE_B)", "A mean"),
    "rmse": Terms(
        "RMSE",
        "(ê² − MSE) / (2 RMSE)",
        "(ê_A² − MSE_A) / (2 RMSE_A) − (ê_B² − MSE_B) / (2 RMSE_B)",
        "The root of a mean; Taylor",
    ),
    "r2_mean_square": Terms(
        "R²",
        "((1 − R²) (y − ȳ)² − ê²) / MSE_y",
        "(ê_B² − ê_A² − (R²_A − R²_B) (y − ȳ)²) / MSE_y",
        "A ratio of two means; Taylor",
    ),
}
"""Terms by utility; the document prints only those of R²."""

IN_LATEX = (
    (r"ê_([AB])", r"\\hat e_{\1,i}"),
    (r"ê", r"\\hat e_i"),
    (r"\(y − ȳ\)", r"(y_i - \\bar y)"),
    (r"RMSE|MSE|MAE", r"\\mathrm{\g<0>}"),
    (r"R²_([AB])", r"R^2_\1"),
    (r"²", "^2"),
    (r"−", "-"),
)
"""Patterns in `Terms`, and the LaTeX that replaces them, in this order."""

AT: dict[str, Any] = {"n_obs": 100, "n_feature": 5, "noise_sd": 1.0, "prior": "default"}
CAPTION = "Taylor approximations for the standard errors of leave-one-out utilities"
VARIANCE = (
    "Variances are Σ ψ² / (n (n − 1)), with ê a leave-one-out error, ȳ the mean response and MSE_y "
    "the mean of (y − ȳ)²; A and B are the models of a difference."
)
VARIANCE_IN_LATEX = (
    r"Variances are $\frac{1}{n(n-1)} \sum_{i=1}^n \psi_i^2$, with $\hat e_i$ a leave-one-out "
    r"error, $\bar y$ the mean response and $\mathrm{MSE}_y$ the mean of $(y_i - \bar y)^2$; $A$ "
    r"and $B$ are the models of a difference."
)
FORMULA_HEADINGS = (
    r"$u(M \mid y)$",
    r"$\widehat{\mathrm{Var}}(u)$, $\psi_i$",
    r"$\widehat{\mathrm{Var}}(u(M_A, M_B))$, $\psi_i$",
    "Comment",
)
"""The document's columns."""
MEASURED = {
    "taylor": ("model_se", "taylor", "Taylor's SE"),
    "bootstrap": ("model_se", "bootstrap", "bootstrap's SE"),
    "ratio": ("mean_taylor_over", "bootstrap", "Taylor over bootstrap"),
}
"""Columns of numbers: measure, method and heading."""


class ApproximationTable(Table):
    """A table whose LaTeX has the document's layout: formulas first, standard errors below."""

    def latex(self, label: str = "") -> str:
        """Return two tabulars in one table, which needs the package booktabs."""
        rows = self.grid.rows
        formulas = [[_utility(r[0]), _formula(r[1]), _formula(r[2]), r[3]] for r in rows]
        numbers = [[_utility(r[0]), *map(latex_escaped, r[4:])] for r in rows]
        headings = [latex_escaped(heading) for _, _, heading in MEASURED.values()]
        lines = [
            r"% \usepackage{booktabs}",
            *[r"\begin{table}", r"\centering\footnotesize"],
            *[rf"\caption{{{CAPTION}}}\label{{tab:{label}}}", r"\par\smallskip"],
            *_tabular("llll", FORMULA_HEADINGS, formulas),
            r"\par\medskip",
            *_tabular("lrrr", [FORMULA_HEADINGS[0], *headings], numbers),
            *[r"\par\smallskip", r"{\raggedright\noindent"],
            *[VARIANCE_IN_LATEX, rf"{latex_escaped(self.notes[1])}\par}}", r"\end{table}"],
        ]
        return "\n".join(lines) + "\n"


def _tabular(columns: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    head, *lines = [rf"{' & '.join(row)} \\" for row in (headings, *rows)]
    begin = rf"\begin{{tabular}}{{@{{}}{columns}@{{}}}}"
    return [begin, r"\toprule", head, r"\midrule", *lines, r"\bottomrule", r"\end{tabular}"]


def _utility(name: str) -> str:
    return name.replace("R²", "$R^2$")


def _formula(terms: str) -> str:
    """Return the terms as a formula in LaTeX."""
    for pattern, latex in IN_LATEX:
        terms = re.sub(pattern, latex, terms)
    return f"${terms}$"


def table_of_approximations(result: Result) -> Table:
    """Return formulas by utility, and both standard errors in one of the study's scenarios."""
    found = pd.DataFrame(_row(result, utility) for utility in TERMS)
    columns: dict[str, Column | str] = {
        "utility": "u(M | y)",
        "own": "Var(u): ψ",
        "difference": "Var(u(M_A, M_B)): ψ",
    }
    for name, (_, _, heading) in MEASURED.items():
        columns[name] = Column(heading, mcse=f"{name}_mcse")
    n_rep = int(result.row("model_se", utility="mae", method="taylor", **AT)["n_rep"])
    return ApproximationTable(found, CAPTION, columns, [VARIANCE, _of_numbers(n_rep)])


def _of_numbers(n_rep: int) -> str:
    return (
        "SE: root mean square over {n_rep:,} data sets of {n_obs} observations, {n_feature} "
        "features and σ = {noise_sd:g}; Monte Carlo standard errors in parentheses. Taylor over "
        "bootstrap: the mean ratio, which for MAE and MSE tends to {ratio:.4f}, the root of "
        "(n + 1)/(n − 1), as the number of draws grows."
    ).format(n_rep=n_rep, ratio=((AT["n_obs"] + 1) / (AT["n_obs"] - 1)) ** 0.5, **AT)


def _row(result: Result, utility: str) -> dict[str, Any]:
    name, own, difference, comment = TERMS[utility]
    words = {"utility": name, "own": own, "difference": difference, "comment": comment}
    return words | dict(_numbers(result, utility))


def _numbers(result: Result, utility: str) -> Iterator[tuple[str, float]]:
    for name, (measure, method, _) in MEASURED.items():
        found = result.row(measure, utility=utility, method=method, **AT)
        yield name, found["estimate"]
        yield f"{name}_mcse", found["mcse"]
