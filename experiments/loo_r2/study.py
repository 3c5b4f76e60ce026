"""Do Taylor's formula and the Bayesian bootstrap give leave-one-out R² the same standard error?

Aims         Where do the two agree, where do they differ, and how much is due to the form of R²
             that the software bootstraps?
Data         Normal features and coefficients, drawn anew for each data set, and normal noise; many
             observations, few, and as many features as observations and more.
Estimands    The standard error of leave-one-out R² of a Bayesian linear regression.
Methods      Taylor's formula for the ratio of two mean squares; the Bayesian bootstrap of R² as the
             software has it, of the same without clipping, and of the right form. Leave-one-out is
             exact.
Performance  The two standard errors of each data set side by side, their ratio, and the distance
             from the R² that the fit has on new data; at 100 replicates the mean ratio has an MCSE
             of 0.1 points where only the bootstrap's 4000 draws scatter.
"""

from experiments._answers import span
from experiments.loo_r2.claims import CLAIMS
from experiments.loo_r2.figures import (
    figure_forms,
    figure_ratio,
    figure_simres,
    figure_simres_high_p_n50,
    figure_simres_low_n,
)
from experiments.loo_r2.tables import table_of_approximations
from simstudy.analysis.result import Result
from simstudy.documents.scenarios.leave_one_out import (
    MAY_BE_MISSING,
    MEASURES,
    CellsConfig,
    axes,
    cells,
)
from simstudy.options import option, published
from simstudy.study import Rules, Study

OF_SPREAD = ("empirical_se", "relative_error", "coverage")  # affected by coefficients


@published(__file__)
class Config(CellsConfig):
    """Settings of the study; `n_obs` is that of the first figure."""

    low_n: list[int] = option("observations, of the second figure", at_least=2)


def answer(result: Result) -> str:
    """The ratio of Taylor's to the bootstrap's standard error, by sample size."""
    utility = "r2_variance"
    large, small = (
        span(result, "mean_taylor_over", 2, percent=False, utility=utility, n_obs=sizes)
        for sizes in ([100, 500, 1000], [5, 10])
    )
    published = {"utility": "r2_published", "n_obs": [500, 1000]}
    return (
        f"From 100 observations on, yes: the mean ratio of Taylor's to the bootstrap's is {large}. "
        f"With 5 or 10 it is {small}, so that Taylor's is smaller. With the published formula, "
        "whose denominator is another, they differ for large n too "
        f"({span(result, 'mean_taylor_over', 2, percent=False, **published)})."
    )


def study(config: Config) -> Study:
    return Study(
        name="loo_r2",
        scenarios=cells(config, [*config.n_obs, *config.low_n]),
        axes=axes(()),
        measures=[measure for measure in MEASURES if measure.name not in OF_SPREAD],
        block_size=10,
        n_rep=config.n_rep,
        rules=Rules(may_be_missing=MAY_BE_MISSING),
        figures={
            "forms": figure_forms,
            "simres": figure_simres,
            "simres_low_n": figure_simres_low_n,
            "simres_high_p_n50": figure_simres_high_p_n50,
            "ratio": figure_ratio,
        },
        tables={"approximations": table_of_approximations},
        answer=answer,
        claims=CLAIMS,
    )
