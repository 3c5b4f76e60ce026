"""The measures that a table allows: those of Morris, White & Crowther (2019), and a few beside.

Statistics in Medicine 38, 2074-2102, Table 6.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from simstudy import measures as of
from simstudy.elsewhere.quantities import REJECT, TRUTH, limit_names
from simstudy.elsewhere.roles import Roles
from simstudy.errors import ConfigError, nearest
from simstudy.measures import Measure, Operand


class Standard(NamedTuple):
    """A measure by its name.

    Parameters
    ----------
    needs
        Parts that columns, or methods, have to play: `truth`, `se`, `intervals`, `tests`,
        `methods`.
    is_usual
        Whether it is computed where nobody says which.
    """

    make: Callable[[Roles, int], Measure]
    needs: tuple[str, ...] = ()
    is_usual: bool = True


def _truth(roles: Roles) -> Operand:
    if isinstance(roles.truth, int | float | str):
        return roles.truth
    return TRUTH


def _power(roles: Roles) -> Measure:
    if roles.p_value:
        return of.rejection_rate_at(roles.p_value, alpha=1 - roles.level, name="power")
    return of.power(REJECT)


STANDARD = {
    "bias": Standard(lambda r, _: of.bias(r.estimate, _truth(r)), ("truth",)),
    "relative_bias": Standard(
        lambda r, _: of.relative_bias(r.estimate, _truth(r)), ("truth",), is_usual=False
    ),
    "empirical_se": Standard(lambda r, _: of.empirical_se(r.estimate)),
    "relative_precision": Standard(
        lambda r, at: of.relative_precision(r.estimate, reference=at), ("methods",)
    ),
    "mse": Standard(lambda r, _: of.mse(r.estimate, _truth(r)), ("truth",)),
    "rmse": Standard(lambda r, _: of.rmse(r.estimate, _truth(r)), ("truth",), is_usual=False),
    "model_se": Standard(lambda r, _: of.model_se(str(r.se)), ("se",)),
    "relative_error_model_se": Standard(
        lambda r, _: of.relative_error_model_se(r.estimate, str(r.se)), ("se",)
    ),
    "coverage": Standard(
        lambda r, _: of.coverage(*limit_names(r), _truth(r)), ("truth", "intervals")
    ),
    "bias_eliminated_coverage": Standard(
        lambda r, _: of.bias_eliminated_coverage(r.estimate, *limit_names(r)), ("intervals",)
    ),
    "interval_width": Standard(
        lambda r, _: of.interval_width(*limit_names(r)), ("intervals",), is_usual=False
    ),
    "power": Standard(lambda r, _: _power(r), ("tests",)),
}
HOW = {
    "truth": "truth=, a number, a column, or a number for each level of by",
    "se": "se=, the column of standard errors",
    "intervals": "se=, or lower= and upper=, the columns of limits",
    "tests": "p_value=, se=, or lower= and upper=",
    "methods": "method=, a column with at least two methods",
}


def standard_measures(roles: Roles, methods: Sequence[str]) -> list[Measure]:
    """All usual ones for which there are columns."""
    place = _reference(roles, methods)
    able = _parts_played(roles, methods)
    return [
        standard.make(roles, place)
        for standard in STANDARD.values()
        if standard.is_usual and able.issuperset(standard.needs)
    ]


def named_measure(name: str, roles: Roles, methods: Sequence[str]) -> Measure:
    """One of them, asked for.

    Raises
    ------
    ConfigError
        Where there is none of that name, or nothing to compute it of.
    """
    if name not in STANDARD:
        raise ConfigError(
            f"{name!r} is no measure that goes by its name; {nearest(name, STANDARD)}"
        )
    lacking = [part for part in STANDARD[name].needs if part not in _parts_played(roles, methods)]
    if lacking:
        raise ConfigError(f"{name} cannot be computed without {HOW[lacking[0]]}.")
    return STANDARD[name].make(roles, _reference(roles, methods))


def left_out(roles: Roles) -> list[str]:
    """What is to be said of measures that want a truth, where there is none."""
    if roles.truth is not None:
        return []
    names = [n for n, each in STANDARD.items() if each.is_usual and "truth" in each.needs]
    return [f"no truth is given, so there is no {', '.join(names)}: say {HOW['truth']}"]


def _parts_played(roles: Roles, methods: Sequence[str]) -> set[str]:
    played = {
        "truth": roles.truth is not None,
        "se": roles.se is not None,
        "intervals": roles.has_limits,
        "tests": roles.has_limits or roles.p_value is not None,
        "methods": len(methods) > 1,
    }
    return {part for part, is_played in played.items() if is_played}


def _reference(roles: Roles, methods: Sequence[str]) -> int:
    if roles.reference is None:
        return 0
    if roles.reference not in methods:
        raise ConfigError(
            f"reference={roles.reference!r} is no method of the table; "
            + nearest(roles.reference, methods)
        )
    return list(methods).index(roles.reference)
