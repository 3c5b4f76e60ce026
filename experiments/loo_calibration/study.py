"""Which standard error of a leave-one-out utility is right, Taylor's or the Bayesian bootstrap's?

The document compares the two with each other. Here both are compared with the true error.

Aims         How far is each from the true error of the utility, and does its interval cover?
Data         The cells of the document, with coefficients of the same size in all data sets, so that
             data sets differ only as samples from one process do.
Estimands    The spread of the estimate over data sets; and its distance from the utility that the
             same fit has on new data, which is known except for elpd.
Methods      Taylor's formula and the Bayesian bootstrap, of MAE, MSE, RMSE, five forms of R², and
             elpd; and of their differences from a model with half of the features, and from one
             with a feature more that has no effect. Leave-one-out is exact.
Performance  Relative error of the standard error (root mean square over true), and coverage of the
             95% interval. At 2000 replicates one MCSE is 1.6 points of the relative error for
             normal estimates, more for the heavy tails of few observations, and 0.5 points of a
             coverage of 95%. The bootstrap's 500 draws add a thousandth to its standard error's
             variance, and nothing to its mean square.
"""

from typing import Any

from experiments._answers import span
from experiments.loo_calibration.claims import CLAIMS
from experiments.loo_calibration.figures import (
    figure_coverage,
    figure_differences,
    figure_high_p,
    figure_relative_error,
)
from experiments.loo_calibration.tables import table_of_approximations, table_of_errors
from simstudy.analysis.result import Result
from simstudy.documents.scenarios.leave_one_out import (
    COMPARED_MODELS,
    MAY_BE_MISSING,
    MEASURES,
    CellsConfig,
    axes,
    cells,
)
from simstudy.options import published
from simstudy.study import Rules, Study


@published(__file__)
class Config(CellsConfig):
    """Settings of the study."""


def answer(result: Result) -> list[str]:
    """How far each standard error is from the true one, by sample size."""
    model: dict[str, Any] = {"compared": "model", "utility": "r2_published"}
    rows = result.select(measure="relative_error", **model)
    typical = rows.groupby(["n_obs", "method"])["estimate"].median().unstack()
    largest, small = typical.loc[100:].abs().max().max(), typical.loc[:50]
    least, most = (100 * small.abs().min().min(), 100 * small.abs().max().max())
    covered = span(result, "coverage", 0, n_obs=[500, 1000], **model)
    return [
        f"Both, from 100 observations on: the typical standard error of R² is within {largest:.0%} "
        f"of the true one, and intervals of 95% cover in {covered} for n of 500 and more.",
        f"With 50 or fewer both are typically {least:.0f}% to {most:.0f}% off, mostly too small, "
        "and neither is always the better one.",
    ]


def study(config: Config) -> Study:
    return Study(
        name="loo_calibration",
        scenarios=cells(config, config.n_obs, coefficients="equal", against=[COMPARED_MODELS]),
        axes=axes(COMPARED_MODELS),
        measures=MEASURES,
        block_size=20,
        n_rep=config.n_rep,
        rules=Rules(may_be_missing=MAY_BE_MISSING),
        figures={
            "relative_error": figure_relative_error,
            "differences": figure_differences,
            "coverage": figure_coverage,
            "high_p": figure_high_p,
        },
        tables={"approximations": table_of_approximations, "relative_errors": table_of_errors},
        answer=answer,
        claims=CLAIMS,
    )
