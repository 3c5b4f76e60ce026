"""Reshapes wide tables (a column per method, or rows without data sets) to long ones."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from simstudy.errors import ConfigError
from simstudy.lazy import pd

DATA_SET, METHOD = "data_set", "method"  # columns that are made
Wide = Mapping[str, str | Sequence[str] | None]


def long_table(
    rows: pd.DataFrame, columns: Wide, *, method: str | None, rep: str | None
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Reshape a table with a column per method to one row per data set and method.

    Parameters
    ----------
    columns
        By role (`estimate`, `se`, `lower`, `upper`, `p_value`) the columns, one of each method, in
        the same order.
    rep
        Column that numbers data sets; without it each row is one.

    Returns
    -------
    rows, roles
        The long table, and the columns of it by role, `method` and `rep` among them. A method is
        named by what tells its column of estimates from the others: `b_cc` and `b_mi` are `cc` and
        `mi`.

    Raises
    ------
    ConfigError
        Where roles have unequal numbers of columns, or a column of methods is named too.
    """
    listed = {r: [c] if isinstance(c, str) else list(c) for r, c in columns.items() if c}
    estimates = listed["estimate"]
    if method is not None:
        raise ConfigError(
            f"method={method!r} with estimate={estimates}: each of these columns is a method. "
            "Name one column of estimates, or leave out method."
        )
    for role, names in listed.items():
        if len(names) != len(estimates):
            raise ConfigError(
                f"{role} names {len(names)} columns and estimate {len(estimates)}: give one for "
                "each method, in the same order."
            )
        for name in names:
            if name not in rows:
                raise ConfigError(f"{role} names {name!r}, which is not a column of the table.")
    wide = {name for names in listed.values() for name in names}
    rest = rows[[name for name in rows if name not in wide]]
    if rep is None:
        rest = rest.assign(**{DATA_SET: np.arange(len(rows))})
    parts = [
        rest.assign(
            **{METHOD: label},
            **{role: rows[names[at]].to_numpy() for role, names in listed.items()},
        )
        for at, label in enumerate(method_labels(estimates))
    ]
    roles = {role: role for role in listed} | {"method": METHOD, "rep": rep or DATA_SET}
    return pd.concat(parts, ignore_index=True), roles


def method_labels(columns: Sequence[str]) -> list[str]:
    """Names of methods from column names, without their common prefix up to a `_`."""
    shared = os.path.commonprefix(list(columns))  # noqa: RUF071 - letter by letter is meant
    start = max(shared.rfind("_"), shared.rfind(".")) + 1
    labels = [name[start:] for name in columns]
    return labels if all(labels) else list(columns)


def numbered_by_order(
    rows: pd.DataFrame, method: str, by: Sequence[str]
) -> tuple[pd.DataFrame, str]:
    """Number the rows of each method and cell, and name the new column.

    Raises
    ------
    ConfigError
        Where methods have unequal numbers of rows in a cell, so that nobody knows which data sets
        they lack.
    """
    cells = [*by, method]
    if not set(cells) <= set(rows):  # which is refused with the nearest name
        return rows.assign(**{DATA_SET: 0}), DATA_SET
    numbers = rows.groupby(cells, sort=False, dropna=False).cumcount()
    counts = rows.groupby(cells, sort=False, dropna=False).size()
    uneven = counts.groupby(level=list(range(len(by)))) if by else [((), counts)]
    for _, of_cell in uneven:
        if of_cell.nunique() > 1:
            pairs = ", ".join(
                f"{at[-1] if isinstance(at, tuple) else at}: {n}" for at, n in of_cell.items()
            )
            raise ConfigError(
                f"rep is not given, and {method} has unequal numbers of rows ({pairs}), so it is "
                "not known which data sets a method lacks: name the column that numbers them, "
                "rep=..."
            )
    return rows.assign(**{DATA_SET: numbers}), DATA_SET
