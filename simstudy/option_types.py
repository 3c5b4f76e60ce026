"""Annotations of settings: parses values to their types and formats them."""

import math
import re
import types
import typing
from typing import Any, NamedTuple

from simstudy.errors import ConfigError

KIND_NAMES = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
NUMBER = re.compile(
    r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?|nan)", re.ASCII | re.IGNORECASE
)
MOST_DIGITS = 400  # of a whole number; any longer one is beyond every float
NO_TEXT = frozenset({"true", "false", "null", "none", ""})  # unless in quotation marks
NOT_IN_TEXT = frozenset("[]{},'\" ")
REFUSED = object()  # None is a value of its own


class Annotated(NamedTuple):
    """The values that a setting accepts.

    Parameters
    ----------
    kind
        Type of the value, or of each member of a list; of several types the first, since a text
        on a command line cannot be of two.
    is_list
        Whether it has several values.
    may_be_none, member_may_be_none
        Whether the setting, or a member of the list, may be nothing.
    """

    kind: type
    is_list: bool
    may_be_none: bool
    member_may_be_none: bool


def read_annotation(name: str, hint: Any) -> Annotated:
    """Parse a resolved annotation.

    Raises
    ------
    ConfigError
        Where no setting can be held against it.
    """
    first, may_be_none = _without_none(hint)
    is_list = typing.get_origin(first) is list
    kind, member_may_be_none = (
        _without_none(typing.get_args(first)[0]) if is_list else (first, False)
    )
    if kind not in KIND_NAMES:
        text = hint.__name__ if type(hint) is type else str(hint)
        raise ConfigError(
            f"the option {name} is annotated {text}, and values cannot be held against that: write "
            "int, float, bool or str, a list of these as in list[float], or any of these | None"
        )
    return Annotated(kind, is_list, may_be_none, member_may_be_none)


def _without_none(hint: Any) -> tuple[Any, bool]:
    """The first type of a union, and whether None is allowed."""
    is_union = typing.get_origin(hint) in (types.UnionType, typing.Union)
    members = typing.get_args(hint) if is_union else (hint,)
    kinds = [member for member in members if member is not type(None)]
    return (kinds or [None])[0], type(None) in members


def as_kind(value: Any, kind: type) -> Any:
    """Convert a value to a type without loss, or return REFUSED."""
    if kind is bool or kind is str:
        return value if isinstance(value, kind) else REFUSED
    if not is_number(value):
        return REFUSED
    if kind is int:
        is_whole = math.isfinite(value) and value == int(value)
        return int(value) if is_whole else REFUSED
    try:
        return float(value) + 0.0  # no zero has a sign: -0 and 0 are one value
    except OverflowError:  # a whole number may have any number of digits
        return REFUSED


def is_number(value: Any) -> bool:
    """Whether a value is a number and not a boolean."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def number_meant(value: Any) -> Any:
    """Parse a number from a text; other values unchanged."""
    if not (isinstance(value, str) and NUMBER.fullmatch(value)):
        return value
    is_whole = value.lstrip("+-").isdecimal() and len(value) <= MOST_DIGITS
    return int(value) if is_whole else float(value)


def format_setting(value: Any) -> str:
    """Format a value as it is written in a setting."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(format_setting, value)) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{format_setting(each)}" for key, each in value.items()) + "}"
    if isinstance(value, str):
        return f"'{value}'" if _reads_as_something_else(value) else value
    return f"{value:g}" if isinstance(value, float) else str(value)


def _reads_as_something_else(text: str) -> bool:
    """Whether a text needs quotation marks."""
    is_odd = text.lower() in NO_TEXT or bool(NOT_IN_TEXT & set(text))
    return is_odd or number_meant(text) is not text
