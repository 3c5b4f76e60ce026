"""Typed settings with ranges, declared on the fields of a dataclass."""

import dataclasses
import difflib
import math
import operator
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from simstudy.errors import ConfigError, describe, nearest
from simstudy.option_types import (
    KIND_NAMES,
    REFUSED,
    Annotated,
    as_kind,
    format_setting,
    is_number,
    number_meant,
    read_annotation,
)

C = TypeVar("C")
SHORT_NAMES = {int: "integer", float: "number", bool: "true|false", str: "text"}
LONGEST_SHOWN = 60  # letters of a value that a refusal repeats
BOUNDS = (
    ("at_least", operator.ge, "at least", ">="),
    ("above", operator.gt, "above", ">"),
    ("at_most", operator.le, "at most", "<="),
    ("below", operator.lt, "below", "<"),
)
IN_OTHER_WORDS = {
    **dict.fromkeys(("0", "no", "off", "n", "f", "false"), False),
    **dict.fromkeys(("1", "yes", "on", "y", "t", "true"), True),
}


@dataclass(frozen=True)
class Option:
    """The help and the range of a setting."""

    help: str
    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    below: float | None = None
    one_of: tuple[Any, ...] = ()

    @property
    def bounds(self) -> list[tuple[Callable[[Any, Any], bool], str, str, float]]:
        """The bounds that are set: how a value holds them, in words, as a sign, the number."""
        return [
            (holds, words, sign, getattr(self, name))
            for name, holds, words, sign in BOUNDS
            if getattr(self, name) is not None
        ]

    def allows(self, value: Any) -> bool:
        """Whether a value is in the range."""
        if self.one_of:
            return value in self.one_of
        if isinstance(value, str | bool) or value is None:
            return True
        return math.isfinite(value) and all(holds(value, to) for holds, *_, to in self.bounds)

    @property
    def range(self) -> str:
        """The range as text."""
        if self.one_of:
            return "one of " + ", ".join(map(str, self.one_of))
        return " and ".join(f"{words} {bound:g}" for _, words, _, bound in self.bounds)

    def nearest(self, value: Any, kind: type, published: Any) -> Any:
        """The allowed value nearest to a value; the published one if none is near.

        None, where that one would be refused as well.
        """
        exact = as_kind(self._near(value, kind, published), kind)
        return exact if exact is not REFUSED and self.allows(exact) else None

    def _near(self, value: Any, kind: type, published: Any) -> Any:
        if kind is bool:
            return IN_OTHER_WORDS.get(str(value).lower(), published)
        if kind is str:
            return self._near_text(value, published)
        number = number_meant(value)
        if is_number(number) and not math.isnan(number):
            return self._near_number(number, kind, published)
        return self.at_least if as_kind(published, kind) is REFUSED else published

    def _near_text(self, value: Any, published: Any) -> Any:
        if not self.one_of:
            return format_setting(value) if isinstance(value, int | float) else None
        close = difflib.get_close_matches(str(value), self.one_of, n=1)
        return close[0] if close else published or self.one_of[0]

    def _near_number(self, value: float, kind: type, published: Any) -> Any:
        if math.isinf(value):
            bound = self.at_most if value > 0 else self.at_least
            return published if bound is None else bound
        number = round(value) if kind is int else value
        known: list[Any] = [number, self.at_least, self.at_most, published]
        known = list(filter(is_number, known))
        near = sorted(filter(self.allows, known), key=lambda candidate: abs(candidate - value))
        return near[0] if near else published


def option(
    help: str,
    *,
    default: Any = MISSING,
    at_least: float | None = None,
    above: float | None = None,
    at_most: float | None = None,
    below: float | None = None,
    one_of: tuple[Any, ...] = (),
) -> Any:
    """Declare a field of a config dataclass, with its help and its range.

    Without `default` the value comes from the experiment's file under `conf/` (`published`). The
    field is annotated int, float, bool or str, a list of these, or any of these | None; of several
    types the first is what a setting has to be.

    Parameters
    ----------
    help
        What it is, in a few words, for the command line's help.
    default
        Its value where no file says another one.
    at_least, at_most
        Bounds that are allowed themselves.
    above, below
        Bounds that are not allowed themselves.
    one_of
        The values that are allowed; empty for no list.

    Returns
    -------
    Any
        A field for `dataclasses.dataclass`.
    """
    about = {"option": Option(help, at_least, above, at_most, below, one_of)}
    if isinstance(default, list):
        return field(default_factory=lambda: list(default), metadata=about)
    return field(default=None if default is MISSING else default, metadata=about)


def published(experiment_file: str) -> Callable[[type[C]], type[C]]:
    """Give a config dataclass the published values of its experiment, and check every instance.

    The values stand once, in `conf/experiment/<name>.yaml`. `Config()` in a notebook and a run
    without overrides both take them from there.

    Parameters
    ----------
    experiment_file
        `__file__` of the experiment.

    Returns
    -------
    Callable[[type[C]], type[C]]
        A class decorator.
    """

    def decorate(cls: type[C]) -> type[C]:
        values = _published_values(Path(experiment_file))
        _same_keys(cls, values, experiment_file)
        original = cls.__init__

        def __init__(self: Any, **given: Any) -> None:
            _refuse_unknown(cls, given)
            original(self, **{**_copy(values), **given})
            check(self, published=values)

        cls.__init__ = __init__  # type: ignore[method-assign]
        return cls

    return decorate


def _published_values(experiment_file: Path) -> dict[str, Any]:
    is_folder = experiment_file.name == "study.py"  # of an experiment that outgrew one file
    named = experiment_file.parent if is_folder else experiment_file
    above = (folder for folder in named.parents if (folder / "conf").is_dir())
    path = next(above, named.parents[1]) / "conf" / "experiment" / f"{named.stem}.yaml"
    if not path.exists():
        raise ConfigError(
            f"{experiment_file.name} takes its published values from {path}, which is not there. "
            "Write that file, or give every option of Config a default."
        )
    return read_settings(path)


def read_settings(path: Path) -> dict[str, Any]:
    """Read the settings in a YAML file; empty if it is empty or missing.

    Raises
    ------
    ConfigError
        Naming the file and the line, where it cannot be read.
    """
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # in C, where PyYAML was built with it
    try:
        values = yaml.load(path.read_text(encoding="utf-8"), loader)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ConfigError(f"{path}{line}, is not valid YAML: {error.problem}") from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path} cannot be read: {describe(error)}") from None
    if values is None or isinstance(values, dict):
        return values or {}
    raise ConfigError(f"{path} holds {values!r}: write settings, each as NAME: VALUE")


def _same_keys(cls: Any, values: Mapping[str, Any], experiment_file: str) -> None:
    names = {declared.name for declared in fields(cls)}
    odd = names ^ set(values)
    if odd:
        raise ConfigError(
            f"Config of {Path(experiment_file).name} and its file under conf/experiment/ differ in "
            f"{', '.join(sorted(odd))}: each option has one published value there."
        )


def _copy(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: list(v) if isinstance(v, list) else v for name, v in values.items()}


def _refuse_unknown(cls: Any, values: Mapping[str, Any], prefix: str = "") -> None:
    known = [declared.name for declared in fields(cls)]
    for name in values:
        if name not in known:
            raise ConfigError(f"{prefix}{name} is not a setting; {nearest(name, known)}")


def build(cls: type[C], values: Mapping[str, Any], *, prefix: str = "") -> C:
    """Build a config from plain values; a wrong value is refused in one line."""
    _refuse_unknown(cls, values, prefix)
    try:
        made = cls(**values)
        check(made)
    except ConfigError as error:
        text = str(error)
        key = text.partition("=")[0]
        raise ConfigError(prefix + text.replace(f" {key}=", f" {prefix}{key}=")) from None
    return made


def check(config: Any, *, published: Mapping[str, Any] | None = None) -> None:
    """Check type and range of every field; whole floats and integers are converted.

    Raises
    ------
    ConfigError
        Naming the key, the value, what is allowed, and the nearest thing that works.
    """
    hints = typing.get_type_hints(type(config))
    for declared in fields(config):
        about, name = declared.metadata.get("option"), declared.name
        if about is not None:
            default = (published or {}).get(name, _default(declared))
            value = getattr(config, name)
            setattr(config, name, _checked(name, value, hints[name], about, default))


def _default(declared: "dataclasses.Field[Any]") -> Any:
    made = declared.default_factory
    return made() if made is not MISSING else declared.default


def _checked(name: str, value: Any, hint: Any, about: Option, default: Any) -> Any:
    allowed = read_annotation(name, hint)
    if value is None and allowed.may_be_none:
        return None
    if allowed.is_list:
        return _checked_list(name, value, allowed, about, default)
    exact = _exact(value, allowed.kind, about)
    if exact is REFUSED:
        raise ConfigError(_refusal(name, value, allowed, about, default))
    return exact


def _checked_list(
    name: str, value: Any, allowed: Annotated, about: Option, default: Any
) -> list[Any]:
    values = _members(value)
    if not values:
        such_as = f", such as {name}={format_setting(default)}" if default else ""
        raise ConfigError(
            f"{name}=[]: an empty list leaves nothing to simulate; allowed: one value or more"
            + such_as
        )
    made = [_exact_member(member, allowed, about) for member in values]
    if REFUSED in made:
        raise ConfigError(_refusal(name, value, allowed, about, default))
    return made


def _members(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _exact_member(value: Any, allowed: Annotated, about: Option) -> Any:
    is_fine = value is None and allowed.member_may_be_none
    return None if is_fine else _exact(value, allowed.kind, about)


def _exact(value: Any, kind: type, about: Option) -> Any:
    """The value in its declared type, or REFUSED."""
    exact = as_kind(value, kind)
    return exact if exact is REFUSED or about.allows(exact) else REFUSED


def option_help(cls: Any, values: Mapping[str, Any] | None = None) -> list[tuple[str, str]]:
    """Describe the options of a config: name, help, allowed values, default.

    Parameters
    ----------
    values
        What they are where nobody says otherwise; the defaults of the dataclass, if None.
    """
    hints = typing.get_type_hints(cls)
    described = []
    for declared in fields(cls):
        about, name = declared.metadata.get("option"), declared.name
        if about is not None:
            value = (values or {}).get(name, _default(declared))
            default = "" if value is None else f"  default: {format_setting(value)}"
            allowed = _format_allowed(read_annotation(name, hints[name]), about)
            described.append((name, f"{about.help}  [{allowed}]{default}"))
    return described


def _format_allowed(allowed: Annotated, about: Option) -> str:
    """The allowed values: `a|b`, `true|false`, `integer >= 1`, `list of number > 0`."""
    if about.one_of:
        each = "|".join(map(str, about.one_of))
    elif allowed.kind is bool:
        each = "true|false"
    else:
        text = ", ".join(f"{sign} {bound:g}" for *_, sign, bound in about.bounds)
        each = f"{SHORT_NAMES[allowed.kind]} {text}".rstrip()
    return f"list of {each}" if allowed.is_list else each


def _refusal(name: str, value: Any, allowed: Annotated, about: Option, default: Any) -> str:
    """The error text for a value: what is allowed, and a value that works."""
    if allowed.is_list:
        works = _nearest_list(_members(value), allowed, about, default)
    else:
        works = about.nearest(value, allowed.kind, default)
    hint = "" if works is None else f"; nearest that works: {name}={format_setting(works)}"
    text = format_setting(value)
    text = text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"
    must_be = f"{KIND_NAMES[allowed.kind]} {about.range}".rstrip()
    return f"{name}={text}: must be {must_be} ({about.help}){hint}"


def _nearest_list(
    values: list[Any], allowed: Annotated, about: Option, default: Any
) -> list[Any] | None:
    """The list with refused members replaced; None if one cannot be."""
    first = default[0] if isinstance(default, list) and default else None
    made = [_exact_member(value, allowed, about) for value in values]
    near = [
        about.nearest(value, allowed.kind, first) if exact is REFUSED else exact
        for value, exact in zip(values, made, strict=True)
    ]
    replaced = [value for value, exact in zip(near, made, strict=True) if exact is REFUSED]
    return None if None in replaced else near
