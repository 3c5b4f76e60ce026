"""A data frame, or a file, as a result."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from simstudy.analysis.result import Result
from simstudy.data.content_hash import hash_of_frame
from simstudy.elsewhere.arranging import arranged
from simstudy.elsewhere.asking import frame_of, measures_of, roles_of, several
from simstudy.elsewhere.checks import refuse_double, refuse_single, refuse_unnamed
from simstudy.elsewhere.figures import general_figures
from simstudy.elsewhere.files import read_rows
from simstudy.elsewhere.given import Given
from simstudy.elsewhere.quantities import quantities_of
from simstudy.elsewhere.roles import Roles, Truth, plain_names, refuse_unknown
from simstudy.elsewhere.standard import left_out, named_measure, standard_measures
from simstudy.engine.declarations import check_measures, check_study_name
from simstudy.engine.refusals import check_switches
from simstudy.errors import ConfigError
from simstudy.lazy import pd
from simstudy.measures import Measure
from simstudy.output.explained import explain_folder
from simstudy.remote.paths import RemotePath


def from_frame(
    rows: pd.DataFrame,
    *,
    estimate: str,
    se: str | None = None,
    truth: Truth = None,
    method: str | None = None,
    rep: str | None = None,
    by: str | Sequence[str] = (),
    lower: str | None = None,
    upper: str | None = None,
    p_value: str | None = None,
    df: float | str | None = None,
    level: float = 0.95,
    reference: str | None = None,
    measures: Sequence[Measure | str] | None = None,
    name: str = "elsewhere",
    out: str | os.PathLike[str] | RemotePath | None = None,
    restart: bool = False,
) -> Result:
    """The result of replicates that other software made.

    Parameters
    ----------
    rows
        One for each replicate and method; nothing in `estimate` where a method failed.
    estimate, se, lower, upper, p_value
        Columns: of estimates, their standard errors, the limits of intervals, p-values.
    truth
        What is estimated: a number, a column, or a mapping from the levels of `by` (in a tuple,
        where `by` names several columns) to numbers.
    method, rep
        Columns that say by which method, and on which data set: methods are compared on the data
        sets that they share.
    by
        Columns that say in which cell of the design.
    df
        Degrees of freedom of t intervals, a number or a column; without them and without limits,
        intervals are normal.
    level
        Of the intervals; tests without p-values are whether they exclude 0, with p-values whether
        these are at most one less it.
    reference
        The method that others' precision is relative to; the first, if None.
    measures
        Of `simstudy.measures`, over the columns, or names of the usual ones; None takes all usual
        ones for which there are columns. Limits that were made of standard errors are
        `lower_limit` and `upper_limit`, tests `reject`, a truth by levels `truth`.
    name
        Of the result, and of its folder below `out`.
    out
        Where its rows are kept, and `publish` writes; None keeps them as long as the result lives.
    restart
        Whether to delete first what that folder holds of another table.

    Returns
    -------
    Result
        A data set for which a method has no row, or no estimate, is a failure of that method.

    Raises
    ------
    ConfigError, DesignError
        In a line, for columns that are not there, and rows that cannot be what they are said to be.
    """
    numbered = {"df": df, "truth": truth, "level": level}
    named = {"estimate": estimate, "se": se, "lower": lower, "upper": upper, "p_value": p_value}
    told_apart = {"method": method, "rep": rep, "by": by, "reference": reference}
    roles = roles_of(numbered | named | told_apart)
    check_switches(restart=restart)
    given = _given(frame_of(rows), roles, measures_of(measures), name)
    command = f"simstudy.from_frame(rows, {_call(roles)})"
    result = given.result(out, command=command, restart=restart)
    explain_folder(result)
    for text in result.outcome.noticed:
        warnings.warn(text, stacklevel=2)
    return result


def from_file(path: str | os.PathLike[str], **asked: Any) -> Result:
    """The result of replicates in a file that pandas reads; the rest is as for `from_frame`.

    Parameters
    ----------
    path
        CSV, TSV, Parquet, Feather, or Stata's `.dta`; its name is the result's, unless `name` says
        otherwise.
    """
    file = Path(path)
    labels = [*several(asked.get("by")), str(asked.get("rep") or "")]
    rows = read_rows(file, labels, texts=[str(asked.get("method") or "")])
    return from_frame(rows, **{"name": name_of(file), **asked})


def name_of(path: Path) -> str:
    """The name of a file without endings, as a study's."""
    stem = path.name.partition(".")[0]
    return "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in stem)


def _call(roles: Roles) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in roles.config.items())


def _given(
    frame: pd.DataFrame, roles: Roles, measures: Sequence[Measure | str] | None, name: str
) -> Given:
    """The table, checked, with what is to be measured of it."""
    check_study_name(name)
    if frame.empty:
        raise ConfigError("the table has no rows, so there is nothing to summarise.")
    refuse_unknown(frame, roles)
    axis = roles.method
    factors = plain_names([*roles.by, *filter(None, [axis])])
    for refuse in (refuse_unnamed, refuse_double, refuse_single):
        refuse(frame, roles)
    declared, noticed = _declared(frame, roles, measures)
    reads = [column for measure in declared for column in measure.reads]
    quantities = quantities_of(frame, roles, reads)
    table = arranged(frame, roles, quantities)
    table.noticed += noticed
    named = tuple(factors[column] for column in roles.by)
    return Given(
        name,
        table,
        named,
        factors[axis] if axis else None,
        declared,
        {"rows": "#" + _hash(frame, roles, quantities), **roles.config},
        general_figures(roles, named, factors[axis] if axis else None),
    )


def _declared(
    frame: pd.DataFrame, roles: Roles, measures: Sequence[Measure | str] | None
) -> tuple[list[Measure], list[str]]:
    """The measures, and what is to be said of those that cannot be."""
    methods = [*dict.fromkeys(frame[roles.method].astype(str))] if roles.method else []
    if measures is None:
        return standard_measures(roles, methods), left_out(roles)
    declared = [
        named_measure(each, roles, methods) if isinstance(each, str) else each for each in measures
    ]
    check_measures(declared, ())
    return declared, []


def _hash(frame: pd.DataFrame, roles: Roles, quantities: Mapping[str, Any]) -> str:
    """Of all that is read of the table: as texts what says where rows belong."""
    keys = {
        column: frame[column].astype(str).astype(object)
        for column in filter(None, [*roles.by, roles.method, roles.rep])
    }
    there = [name for name in quantities if name in frame.columns]
    numbers = {f"{name} in numbers": quantities[name] for name in there}
    return hash_of_frame(pd.DataFrame(keys | numbers))[:16]
