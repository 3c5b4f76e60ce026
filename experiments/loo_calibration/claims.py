"""Claims of the document about the two standard errors, compared with the true error of R²."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from experiments.loo_r2.claims import A_POINT, reach
from simstudy.analysis.result import Result
from simstudy.claims import Claim, Finding, WrongValue, decide
from simstudy.documents.scenarios.leave_one_out import METHODS, LeaveOneOut
from simstudy.lazy import pd

MANY = 100  # least number of observations that the document calls many
FEW = 20  # smaller numbers are few
TAYLOR, RIGHT = "r2_mean_square", "r2_variance"
OF_METHOD = dict(zip(METHODS, (TAYLOR, RIGHT), strict=True))  # intended forms of R²
SPREAD, GIVEN_FIT = "relative_error", "relative_error_given_fit"
Where = Callable[[LeaveOneOut], bool]


# ---------------------------------------------------------------- which scenarios
def many_observations(scenario: LeaveOneOut) -> bool:
    """Whether observations are many: 100 and more, as in the document's figure."""
    return scenario.n_obs >= MANY


def few_observations(scenario: LeaveOneOut) -> bool:
    """Whether observations are few: the document's 5 and 10."""
    return scenario.n_obs < FEW


def many_features(scenario: LeaveOneOut) -> bool:
    """Whether features are at least as many as observations, under the wide prior."""
    return scenario.prior == "wide" and scenario.n_feature >= scenario.n_obs


def _rows(result: Result, where: Where, method: str) -> pd.DataFrame:
    """Rows of R² of the model itself, by one method, in some of the scenarios."""
    chosen = [(s.n_obs, s.n_feature, s.prior) for s in result.plan.scenarios if where(s)]
    if not chosen:
        raise LookupError("a scenario that this is about")
    rows = result.select(compared="model", method=method, utility=OF_METHOD[method])
    cell = list(zip(rows["n_obs"], rows["n_feature"], rows["prior"], strict=True))
    return rows[[place in chosen for place in cell]]


def _range(rows: pd.DataFrame, measure: str) -> str:
    """Least and greatest of a measure over the cells."""
    found = rows.loc[rows["measure"] == measure, "estimate"]
    return f"{found.min():.2f} to {found.max():.2f}"


def _in_words(result: Result, where: Where) -> str:
    said = []
    for method in METHODS:
        rows = _rows(result, where, method)
        said.append(
            f"{method}: relative error {_range(rows, SPREAD)}, given the fit "
            f"{_range(rows, GIVEN_FIT)}, coverage {_range(rows, 'coverage')} and "
            f"{_range(rows, 'coverage_given_fit')}"
        )
    return "; ".join(said)


# ---------------------------------------------------------------- what was found
def _is_right(result: Result, where: Where = many_observations) -> Finding:
    """Mean relative error of Taylor's standard error over cells."""
    mean = _mean_over_cells(_rows(result, where, "taylor"))
    return mean._replace(detail=f"{_nearer(result, where)}; {_in_words(result, where)}")


def _nearer(result: Result, where: Where) -> str:
    """Taylor's relative error minus that of the bootstrap for the same form of R²."""
    rows = result.contrast(SPREAD, axis="method", first="taylor", second="bootstrap")
    rows = rows[(rows["compared"] == "model") & (rows["utility"] == RIGHT)]
    said = []
    for n_obs in sorted({s.n_obs for s in result.plan.scenarios if where(s)}):
        gap = _mean_over_cells(rows[(rows["n_obs"] == n_obs) & (rows["prior"] == "default")])
        said.append(f"{gap.value:.4f} ± {2 * gap.mcse:.4f} at n = {n_obs}")
    return "Taylor less bootstrap, paired: " + ", ".join(said)


def _mean_over_cells(rows: pd.DataFrame) -> Finding:
    """Mean relative error against the spread; the cells are independent."""
    errors = rows[rows["measure"] == SPREAD]
    mcse = float(np.sqrt((errors["mcse"] ** 2).sum())) / len(errors)
    return Finding(float(errors["estimate"].mean()), mcse, n_rep=float(errors["n_rep"].min()))


def _biased(result: Result, where: Where = few_observations) -> Finding:
    """Whether Taylor's standard error differs from the spread on average over the cells."""
    mean = _mean_over_cells(_rows(result, where, "taylor"))
    said = f"mean of Taylor's relative error {mean.value:.3f} ± {2 * mean.mcse:.3f}; "
    return decide(abs(mean.value) - A_POINT, reach(mean), said + _in_words(result, where))


def _too_small(result: Result, where: Where = many_features) -> Finding:
    """Whether Taylor's standard error is below the spread with each number of features."""
    rows = _rows(result, where, "taylor")
    means = [_mean_over_cells(cells) for _, cells in rows.groupby("n_feature")]
    excess = [-mean.value - A_POINT for mean in means]
    return decide(excess, [reach(mean) for mean in means], _in_words(result, where))


CLAIMS = (
    Claim(
        "right for large n",
        "With 100 observations and more the formula gives the standard error",
        "figure simres",
        _is_right,
        published=0.0,
        difference=A_POINT,
        wrong_value=WrongValue("5 and 10 observations", partial(_is_right, where=few_observations)),
        scored=False,  # the figure compares with the bootstrap: "large n" of loo_r2
        note="The mean of the relative error over the cells. What is called a difference would "
        "cost a 95% interval one point of its coverage. What is missing grows with p/n, for "
        "leave-one-out errors share a fit: with 100 observations and 10 features it is more.",
    ),
    Claim(
        "too small for low n",
        "With 5 or 10 observations Taylor's formula is biased",
        "section 5, figure simres_low_n",
        _biased,
        published=True,
        wrong_value=WrongValue(
            "100 observations and more", partial(_biased, where=many_observations)
        ),
        scored=False,  # against the truth; the report has the bootstrap; "low n" of loo_r2 counts
        note="Too small against the truth in all cells but that of n = 5, p = 1, σ = 2. "
        "The bootstrap is larger on average by a few very large values, and its interval covers "
        "hardly more often.",
    ),
    Claim(
        "too small for high p",
        "With p = 50 or 100 and n = 50 Taylor's formula gives estimates that are biased downwards",
        "section 5, figure simres_high_p_n50",
        _too_small,
        published=True,
        wrong_value=WrongValue(
            "100 observations and more of 1 to 10 features",
            partial(_too_small, where=many_observations),
        ),
        criterion="below the spread over fresh data sets, with each number of features",
        note="And so are the bootstrap's, by as much: each takes the observations' errors for "
        "independent, and they share the fit. The report sees it in a figure that has the "
        "bootstrap beside Taylor, where the two hardly differ (loo_r2).",
    ),
)
