"""The measures that a table allows: Morris, White & Crowther (2019), and a few more.

Statistics in Medicine 38, 2074-2102, Table 6.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from simstudy import measures as of
from simstudy.errors import ConfigError, nearest
from simstudy.external.column_roles import LOWER, REJECT, TRUTH, UPPER, ColumnRoles
from simstudy.measures import Measure
from simstudy.store.arrow_schema import CONVERGED

ON_REQUEST = {
    "relative_bias", "rmse", "interval_width", "interval_score", "mae", "median_bias", "variance",
    "standardised_bias", "type_s_rate", "exaggeration", "outlier_rate", "convergence_rate",
}  # fmt: skip
"""Names of measures that are computed only if `measures=` asks for them."""
ARGUMENTS = {
    "truth": "truth=, a number, a column, or one for each level of by",
    "se": "se=, the column of standard errors",
    "limits": "se=, or lower= and upper=, the columns of limits",
    "tests": "p_value=, se=, or lower= and upper=",
    "methods": "method=, a column with at least two methods",
}
"""Arguments that supply what measures need."""
Standard = tuple[str, Callable[[], Measure]]
"""What makes a measure, after what it needs of the columns, with blanks between."""


def choose_measures(
    measures: Sequence[Measure | str] | None, roles: ColumnRoles, methods: Sequence[str]
) -> tuple[list[Measure], list[str]]:
    """Choose the measures that a table allows, and explain what was left out.

    Parameters
    ----------
    measures
        Measures, or names of standard ones; None for all usual ones that the columns allow.

    Raises
    ------
    ConfigError
        For a name that no measure has, and a measure whose columns are not there.
    """
    standard = _standard_measures(roles, methods)
    lacking = _lacking_columns(roles, methods)
    if measures is not None:
        return [_measure(each, standard, lacking) for each in measures], []
    usual = {name: each for name, each in standard.items() if name not in ON_REQUEST}
    made = [make() for needs, make in usual.values() if not lacking.keys() & needs.split()]
    if "truth" not in lacking:
        return made, []
    without = [name for name, (needs, _) in usual.items() if "truth" in needs]
    text = f"no truth is given, so there is no {', '.join(without)}: say {lacking['truth']}"
    return made, [text]


def _lacking_columns(roles: ColumnRoles, methods: Sequence[str]) -> dict[str, str]:
    """Missing columns of measures, and the arguments that would supply them."""
    has = {
        "truth": roles.truth is not None,
        "se": roles.se is not None,
        "limits": roles.limits is not None,
        "tests": roles.limits is not None or roles.p_value is not None,
        "methods": len(methods) > 1,
    }
    return {name: how for name, how in ARGUMENTS.items() if not has[name]}


def _measure(
    measure: Measure | str, standard: Mapping[str, Standard], lacking: Mapping[str, str]
) -> Measure:
    if isinstance(measure, Measure):
        return measure
    if measure not in standard:
        if measure in of.__all__ and isinstance(measure, str) and measure.islower():
            raise ConfigError(
                f"{measure} needs columns that are not named here: give it with them in Python, as "
                f"in measures=[simstudy.measures.{measure}(...)]."
            )
        raise ConfigError(f"{measure!r} is not a measure; {nearest(str(measure), standard)}")
    needs, make = standard[measure]
    for need in needs.split():
        if need in lacking:
            raise ConfigError(f"{measure} cannot be computed without {lacking[need]}.")
    return make()


def _standard_measures(roles: ColumnRoles, methods: Sequence[str]) -> dict[str, Standard]:
    b, se = roles.estimate, str(roles.se)
    truth = roles.truth if isinstance(roles.truth, int | float | str) else TRUTH
    limits = roles.limits or (LOWER, UPPER)
    reference = 0
    if roles.reference is not None:
        if roles.reference not in methods:
            near = nearest(roles.reference, methods)
            raise ConfigError(f"reference={roles.reference!r} is not a method of the table; {near}")
        reference = list(methods).index(roles.reference)

    def power() -> Measure:
        if roles.p_value:
            return of.rejection_rate(p_value=roles.p_value, alpha=1 - roles.level, name="power")
        return of.power(REJECT)

    return {
        "bias": ("truth", lambda: of.bias(b, truth)),
        "relative_bias": ("truth", lambda: of.relative_bias(b, truth)),
        "empirical_se": ("", lambda: of.empirical_se(b)),
        "relative_precision": ("methods", lambda: of.relative_precision(b, reference=reference)),
        "mse": ("truth", lambda: of.mse(b, truth)),
        "rmse": ("truth", lambda: of.rmse(b, truth)),
        "model_se": ("se", lambda: of.model_se(se)),
        "relative_error_model_se": ("se", lambda: of.relative_error_model_se(b, se)),
        "coverage": ("truth limits", lambda: of.coverage(*limits, truth)),
        "bias_eliminated_coverage": ("limits", lambda: of.bias_eliminated_coverage(b, *limits)),
        "interval_width": ("limits", lambda: of.interval_width(*limits)),
        "interval_score": (
            "truth limits",
            lambda: of.interval_score(*limits, truth, level=roles.level),
        ),
        "mae": ("truth", lambda: of.mae(b, truth)),
        "median_bias": ("truth", lambda: of.median_bias(b, truth)),
        "standardised_bias": ("truth", lambda: of.standardised_bias(b, truth)),
        "variance": ("", lambda: of.variance(b)),
        "type_s_rate": ("truth tests", lambda: of.type_s_rate(b, truth, significant=REJECT)),
        "exaggeration": ("truth tests", lambda: of.exaggeration(b, truth, significant=REJECT)),
        "outlier_rate": ("", lambda: of.outlier_rate(b)),
        "convergence_rate": ("", lambda: of.convergence_rate(CONVERGED)),
        "power": ("tests", power),
    }
