"""One column, one type: what blocks have of different types, in the type that holds all exactly."""

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from simstudy.errors import StudyError


def unified(schemas: Iterable[pa.Schema]) -> pa.Schema:
    """All columns of some tables, in order of appearance.

    Truth values, whole numbers and doubles become the type that holds all of them exactly: no block
    has whole numbers that a double does not hold.

    Raises
    ------
    StudyError
        Where a column is numbers in one table and text in another.
    """
    kinds: dict[str, pa.DataType] = {}
    for schema in schemas:
        for column in schema:
            known = kinds.get(column.name, column.type)
            kinds[column.name] = _joined(column.name, known, column.type)
    return pa.schema(list(kinds.items()))


def _joined(name: str, one: pa.DataType, other: pa.DataType) -> pa.DataType:
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    if pa.types.is_list(one) and pa.types.is_list(other):
        return pa.list_(_joined(name, one.value_type, other.value_type))
    if _is_number(one) and _is_number(other):
        return _number_for(one, other)
    raise StudyError(
        f"column {name!r} is of one type in some blocks and of another in others: {one} and "
        f"{other}. Return the same type always, such as column.astype(float)."
    )


def _is_number(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind)
    )


def _number_for(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """The type that holds the numbers of two; of whole ones, with or without a sign, whole."""
    if pa.types.is_integer(one) and pa.types.is_integer(other) and "uint64" in (one, other):
        return pa.int64() if one != other else one
    joint = np.promote_types(one.to_pandas_dtype(), other.to_pandas_dtype())
    return pa.from_numpy_dtype(joint)


def in_schema(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """A table with a schema's columns and types; columns that it lacks are null."""
    columns = [
        _cast(table.column(name), kind)
        if name in table.column_names
        else pa.nulls(table.num_rows, kind)
        for name, kind in zip(schema.names, schema.types, strict=True)
    ]
    return pa.table(columns, schema=schema)


def _cast(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """In Arrow's own way, which refuses numbers that do not come through whole."""
    return column if column.type == kind else column.cast(kind)


def below_each_other(tables: Sequence[pa.Table]) -> pa.Table:
    """Tables as one, in the types that hold all of their columns."""
    if all(table.schema.equals(tables[0].schema) for table in tables):
        return pa.concat_tables(tables)
    schema = unified(table.schema for table in tables)
    return pa.concat_tables(in_schema(table, schema) for table in tables)
