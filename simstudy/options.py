"""Typed settings with ranges: what a value may be, said once, where the field is declared."""

import dataclasses
import difflib
import math
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from simstudy.errors import ConfigError, describe, nearest

C = TypeVar("C")
IN_OTHER_WORDS = {
    **dict.fromkeys(("0", "no", "off", "n", "f", "false"), False),
    **dict.fromkeys(("1", "yes", "on", "y", "t", "true"), True),
}


@dataclass(frozen=True)
class Option:
    """What a setting means and which values it may take."""

    help: str
    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    below: float | None = None
    one_of: tuple[Any, ...] = ()

    def allows(self, value: Any) -> bool:
        """Whether a single value lies in the range."""
        if self.one_of:
            return value in self.one_of
        if isinstance(value, str | bool) or value is None:
            return True
        return (
            math.isfinite(value)
            and (self.at_least is None or value >= self.at_least)
            and (self.above is None or value > self.above)
            and (self.at_most is None or value <= self.at_most)
            and (self.below is None or value < self.below)
        )

    @property
    def range(self) -> str:
        """The range in words."""
        if self.one_of:
            return "one of " + ", ".join(map(str, self.one_of))
        bounds = [
            f"at least {self.at_least:g}" if self.at_least is not None else "",
            f"above {self.above:g}" if self.above is not None else "",
            f"at most {self.at_most:g}" if self.at_most is not None else "",
            f"below {self.below:g}" if self.below is not None else "",
        ]
        return " and ".join(filter(None, bounds))

    def nearest(self, value: Any, kind: Any, published: Any) -> Any:
        """A value that works, as near to `value` as there is; the published one if none is near.

        None, where that one would be refused as well.
        """
        near = self._near(value, kind, published)
        exact = None if near is None else _as_kind(near, kind)
        return exact if exact is not None and self.allows(exact) else None

    def _near(self, value: Any, kind: Any, published: Any) -> Any:
        if kind is bool:
            return IN_OTHER_WORDS.get(str(value).lower(), published)
        if kind is str and self.one_of:
            close = difflib.get_close_matches(str(value), self.one_of, n=1)
            return close[0] if close else published or self.one_of[0]
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            number = kind(round(value)) if kind is int else value
            known = [n for n in (number, self.at_least, self.at_most) if n is not None]
            near = sorted(filter(self.allows, known), key=lambda candidate: abs(candidate - value))
            return near[0] if near else published
        works = published is not None and _as_kind(published, kind) is not None
        return published if works else self.at_least


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
    """A field of a config dataclass, with its help and range.

    Without `default` the value comes from the experiment's file under `conf/` (`published`).
    """
    about = {"option": Option(help, at_least, above, at_most, below, one_of)}
    if isinstance(default, list):
        return field(default_factory=lambda: list(default), metadata=about)
    return field(default=None if default is MISSING else default, metadata=about)


def published(experiment_file: str) -> Callable[[type[C]], type[C]]:
    """Give a config dataclass the published values of its experiment, and check every instance.

    The values stand once, in `conf/experiment/<name>.yaml`; a notebook that says `Config()` and a
    command line that says nothing get the same.
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
    import yaml

    is_folder = experiment_file.name == "study.py"  # of an experiment that outgrew one file
    named = experiment_file.parent if is_folder else experiment_file
    path = named.parents[1] / "conf" / "experiment" / f"{named.stem}.yaml"
    try:
        values = yaml.safe_load(path.read_text()) or {}
    except FileNotFoundError:
        raise ConfigError(
            f"{experiment_file.name} takes its published values from {path}, which is not there. "
            "Write that file, or give every option of Config a default."
        ) from None
    except (yaml.YAMLError, OSError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}, line {mark.line + 1}," if mark else str(path)
        raise ConfigError(f"{where} cannot be read: {describe(error)}") from None
    if not isinstance(values, dict):
        raise ConfigError(f"{path} holds {values!r}: write options there, each as NAME: VALUE")
    return values


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


def _refuse_unknown(cls: Any, given: Mapping[str, Any], prefix: str = "") -> None:
    known = [declared.name for declared in fields(cls)]
    for name in given:
        if name not in known:
            raise ConfigError(f"{prefix}{name} is not a setting; {nearest(name, known)}")


def build(cls: type[C], values: Mapping[str, Any], *, prefix: str = "") -> C:
    """A config from plain values, refused in one line where a value is wrong."""
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
    """Check type and range of every field; whole floats become ints where ints are due, and back.

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
    if typing.get_origin(hint) is list:
        return _checked_list(name, value, typing.get_args(hint)[0], about, default)
    allowed = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if value is None and type(None) in allowed:
        return None
    kind = _kinds(hint)[0]
    exact = _as_kind(value, kind)
    if exact is None or not about.allows(exact):
        raise ConfigError(_refusal(name, value, kind, about, default))
    return exact


def _checked_list(name: str, value: Any, kind: Any, about: Option, default: Any) -> list[Any]:
    values = list(value) if isinstance(value, list | tuple) else [value]
    if not values:
        raise ConfigError(
            f"{name}=[]: an empty list leaves nothing to simulate; allowed: one value or more, "
            f"such as {name}={_shown(default)}"
        )
    made = []
    for member in values:
        exact = _as_kind(member, kind)
        if exact is None or not about.allows(exact):
            raise ConfigError(_refusal(name, value, kind, about, default, culprit=member))
        made.append(exact)
    return made


def _as_kind(value: Any, kind: Any) -> Any:
    """The value as its declared type, or None where it is of another."""
    if kind is bool or kind is str:
        return value if isinstance(value, kind) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if kind is float:
        return float(value)
    return int(value) if math.isfinite(value) and float(value).is_integer() else None


def in_words(cls: Any, values: Mapping[str, Any] | None = None) -> list[tuple[str, str]]:
    """The options of a config dataclass: name, and in one line its help, range and value.

    Parameters
    ----------
    values
        What they are where nobody says otherwise; the defaults of the dataclass, if None.
    """
    hints = typing.get_type_hints(cls)
    told = []
    for declared in fields(cls):
        about = declared.metadata.get("option", Option(""))
        value = (values or {}).get(declared.name, _default(declared))
        allowed = _allowed(_kinds(hints[declared.name])[0], about)
        said = "; ".join(filter(None, [about.help, allowed]))
        told.append((declared.name, said if value is None else f"{said} ({_shown(value)})"))
    return told


def _kinds(hint: Any) -> list[Any]:
    """The types that a value may have, but for None; of a list, those of its members."""
    if typing.get_origin(hint) is list:
        hint = typing.get_args(hint)[0]
    members = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    return [kind for kind in members if kind is not type(None)]


def _allowed(kind: Any, about: Option) -> str:
    return " ".join(filter(None, [KIND_NAMES.get(kind, ""), about.range]))


KIND_NAMES = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


def _refusal(
    name: str, value: Any, kind: Any, about: Option, default: Any, culprit: Any = None
) -> str:
    many = isinstance(default, list)
    wrong = culprit if many else value
    near = about.nearest(wrong, kind, default[0] if many and default else default)
    if many:
        values = value if isinstance(value, list) else [value]
        near = [near if member is wrong else member for member in values]
    allowed = _allowed(kind, about)
    works = None not in near if many else near is not None
    hint = f"; nearest that works: {name}={_shown(near)}" if works else ""
    return f"{name}={_shown(value)}: allowed is {allowed} ({about.help}){hint}"


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "[" + ",".join(map(_shown, value)) + "]"
    return f"{value:g}" if isinstance(value, float) else str(value)
