"""Typed settings with ranges, declared on the fields of a dataclass; pydantic checks them."""

from __future__ import annotations

import dataclasses
import difflib
import enum
import functools
import inspect
import re
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform

from simstudy.errors import ConfigError, describe, nearest

if TYPE_CHECKING:
    from pydantic import TypeAdapter

C = TypeVar("C")
SUCH_AS = ", for example"
SHOWN_LENGTH = 60  # characters of a refused value that the message repeats
BOUNDS = {"at_least": ">=", "above": ">", "at_most": "<=", "below": "<"}
PYDANTIC_BOUNDS = {"at_least": "ge", "above": "gt", "at_most": "le", "below": "lt"}
TYPE_NAMES = {int: "integer", float: "number", bool: "true|false", str: "text"}
YAML_LITERALS = frozenset({"true", "false", "null", "none", ""})


@dataclass(frozen=True)
class Option:
    """The help text and the range of a setting."""

    help: str
    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    below: float | None = None
    one_of: tuple[Any, ...] = ()

    @property
    def bounds(self) -> dict[str, float]:
        """The bounds that are set, by name."""
        return {name: getattr(self, name) for name in BOUNDS if getattr(self, name) is not None}


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

    Parameters
    ----------
    help
        Help text for the command line, in a few words.
    default
        Default value. If left out, the value comes from the experiment's file under `conf/`
        (see `published`), or is None.
    at_least, at_most
        Inclusive bounds of the value, or of each item of a list.
    above, below
        Exclusive bounds.
    one_of
        Allowed values. An annotation `Literal[...]` or an `Enum` has the same effect.

    Returns
    -------
    Any
        A field for `dataclasses.dataclass`. Its annotation may be any type that pydantic can check,
        such as `int`, `list[float]`, `Literal["a", "b"]` or `int | None`.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from simstudy import option
    >>> @dataclass
    ... class Config:
    ...     n_obs: list[int] = option("sample sizes", default=[10, 40], at_least=2)
    ...     tails: str = option("shape", default="normal", one_of=("normal", "heavy"))
    >>> Config()
    Config(n_obs=[10, 40], tails='normal')
    """
    about = {"option": Option(help, at_least, above, at_most, below, one_of)}
    return _field(None if default is MISSING else default, about)


def _field(default: Any, metadata: Mapping[str, Any]) -> Any:
    if isinstance(default, list | dict):
        return field(default_factory=functools.partial(_copy, default), metadata=metadata)
    return field(default=default, metadata=metadata)


def _copy(value: Any) -> Any:
    return value.copy()


@dataclass_transform(kw_only_default=True, field_specifiers=(option,))
def published(experiment_file: str) -> Callable[[type[C]], type[C]]:
    """Make a config dataclass whose defaults are the published values of its experiment.

    The values are written in one place, `conf/experiment/<name>.yaml`. Both `Config()` in a
    notebook and a run without overrides use them. Every instance is checked.

    Parameters
    ----------
    experiment_file
        `__file__` of the experiment.

    Returns
    -------
    Callable[[type[C]], type[C]]
        A class decorator, in place of `dataclass`.

    Examples
    --------
    With `conf/experiment/mine.yaml`::

        experiment:
          n_obs: [10, 40]

    the file `experiments/mine.py` states no defaults::

        @published(__file__)
        class Config:
            n_obs: list[int] = option("sample sizes", at_least=2)
    """

    def decorate(cls: type[C]) -> type[C]:
        values = _published_values(Path(experiment_file))
        known = dict(getattr(cls, "__dataclass_fields__", {}))
        own = inspect.get_annotations(cls)
        if odd := {*known, *own} ^ values.keys():
            raise ConfigError(
                f"Config of {Path(experiment_file).name} and its file under conf/experiment/ "
                f"differ in {', '.join(sorted(odd))}: each option needs one published value there."
            )
        for name, default in values.items():
            declared = cls.__dict__.get(name)
            if not isinstance(declared, dataclasses.Field):
                declared = known.get(name)  # a base class or an earlier `dataclass` declares it
            setattr(cls, name, _field(default, declared.metadata if declared else {}))
        cls.__annotations__ = {name: each.type for name, each in known.items()} | own
        cls.__post_init__ = check  # type: ignore[attr-defined]
        return dataclass(kw_only=True)(cls)

    return decorate


def _published_values(experiment_file: Path) -> dict[str, Any]:
    is_folder = experiment_file.name == "study.py"  # an experiment of several files
    named = experiment_file.parent if is_folder else experiment_file
    above = (folder for folder in named.parents if (folder / "conf").is_dir())
    path = next(above, named.parents[1]) / "conf" / "experiment" / f"{named.stem}.yaml"
    if not path.exists():
        raise ConfigError(
            f"{experiment_file.name} needs its published values in {path}, which does not exist. "
            "Write that file, or give every option of Config a default."
        )
    values = read_settings(path)
    values.pop("defaults", None)
    return values


def read_settings(path: Path) -> dict[str, Any]:
    """Read the settings in a YAML file; empty if it is empty or missing.

    Raises
    ------
    ConfigError
        With the file and the line, if it cannot be read.
    """
    import yaml

    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
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


def build(cls: type[C], values: Mapping[str, Any], *, prefix: str = "") -> C:
    """Build a config from plain values, and check it.

    Parameters
    ----------
    prefix
        Text before the names of settings in messages, such as `experiment.`.

    Raises
    ------
    ConfigError
        For an unknown name or a value that is not allowed.
    """
    known = [declared.name for declared in fields(cls)]  # type: ignore[arg-type]
    for name in values:
        if name not in known:
            raise ConfigError(f"{prefix}{name} is not a setting; {nearest(name, known)}")
    try:
        made = cls(**values)
        check(made)
    except ConfigError as error:
        text = str(error).replace(f"{SUCH_AS} ", f"{SUCH_AS} {prefix}")
        raise ConfigError(f"{prefix}{text}") from None
    return made


def check(config: Any) -> None:
    """Check the type and range of every option, and convert equal values (`2.0` to `2`).

    Raises
    ------
    ConfigError
        For the first value that is not allowed, with the allowed ones and an example.
    """
    for declared, adapter in _adapters(config.__class__):
        value = getattr(config, declared.name)
        try:
            setattr(config, declared.name, adapter.validate_python(value))
        except ValueError:
            raise ConfigError(_refusal(declared, type(config), value)) from None


@functools.cache
def _adapters(cls: Any) -> list[tuple[dataclasses.Field[Any], TypeAdapter[Any]]]:
    """Make a validator for each option of a dataclass."""
    from pydantic import ConfigDict, TypeAdapter

    rules = ConfigDict(coerce_numbers_to_str=True, arbitrary_types_allowed=True)
    hints = typing.get_type_hints(cls)
    return [
        (declared, TypeAdapter(_annotation(hints[declared.name], declared), config=rules))
        for declared in fields(cls)
        if "option" in declared.metadata
    ]


def _annotation(hint: Any, declared: dataclasses.Field[Any]) -> Any:
    """Add the option's range to the innermost type of an annotation."""
    from pydantic import AfterValidator, AllowInfNan, BeforeValidator, Field

    about: Option = declared.metadata["option"]
    args = typing.get_args(hint)
    if typing.get_origin(hint) is list:
        member = _annotation(args[0], declared)
        inner = typing.Annotated[list[member], Field(min_length=1)]  # type: ignore[valid-type]
        return typing.Annotated[inner, BeforeValidator(_as_list)]
    if type(None) in args:
        rest = [arg for arg in args if arg is not type(None)]
        return typing.Optional[_annotation(typing.Union[tuple(rest)], declared)]  # noqa: UP007, UP045
    if about.one_of:
        return typing.Literal[about.one_of]
    if hint in (int, float):
        bounds = {PYDANTIC_BOUNDS[name]: bound for name, bound in about.bounds.items()}
        checked = typing.Annotated[hint, Field(**bounds), BeforeValidator(_no_truth_value)]
        if hint is int:
            return checked
        return typing.Annotated[checked, AllowInfNan(False), AfterValidator(_without_sign_of_zero)]
    return hint


def _as_list(value: Any) -> Any:
    if isinstance(value, str) and value.startswith("[") and value.endswith("]"):
        return [item.strip() for item in value[1:-1].split(",")]
    return list(value) if isinstance(value, list | tuple) else [value]


def _no_truth_value(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("true and false are not numbers")
    return value


def _without_sign_of_zero(value: float) -> float:
    return value + 0.0  # -0.0 and 0.0 are one level of a factor


def _refusal(declared: dataclasses.Field[Any], cls: Any, value: Any) -> str:
    """Make the message for a refused value: name, value, allowed values, an example."""
    about: Option = declared.metadata["option"]
    hint, name = typing.get_type_hints(cls)[declared.name], declared.name
    text = format_setting(value)
    text = text if len(text) <= SHOWN_LENGTH else f"{text[:SHOWN_LENGTH]}…"
    example = _example(declared, hint, value)
    such_as = "" if example is None else f"{SUCH_AS} {name}={format_setting(example)}"
    if value == []:
        return (
            f"{name}=[] is empty, so there is nothing to simulate: give at least one value{such_as}"
        )
    allowed = _format_allowed(hint, about)
    return f"{name}={text} is not allowed: {about.help} must be {allowed}{such_as}"


def _example(declared: dataclasses.Field[Any], hint: Any, value: Any) -> Any:
    """Choose an allowed value as an example: the nearest word, the default, or a bound."""
    about: Option = declared.metadata["option"]
    if words := _words(hint, about):
        close = difflib.get_close_matches(str(value), words, n=1)
        return close[0] if close else words[0]
    default = declared.default
    if declared.default_factory is not MISSING:
        default = declared.default_factory()
    if default not in (None, MISSING):
        return default
    return about.at_least if about.at_least is not None else about.at_most


def _words(hint: Any, about: Option) -> list[str]:
    """List the allowed words of `one_of`, a `Literal` or an `Enum`; empty for other options."""
    if about.one_of:
        return list(map(str, about.one_of))
    if typing.get_origin(hint) is typing.Literal:
        return list(map(str, typing.get_args(hint)))
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return [str(member.value) for member in hint]
    return []


def option_help(cls: Any, values: Mapping[str, Any] | None = None) -> list[tuple[str, str]]:
    """Describe the options of a config: name; help, allowed values, default.

    Parameters
    ----------
    values
        Defaults to show instead of those of the dataclass.
    """
    hints, described = typing.get_type_hints(cls), []
    for declared in fields(cls):
        about = declared.metadata.get("option")
        if about is not None:
            made = declared.default_factory
            own = made() if made is not MISSING else declared.default
            value = (values or {}).get(declared.name, own)
            default = "" if value in (None, MISSING) else f"  default: {format_setting(value)}"
            allowed = _format_allowed(hints[declared.name], about)
            described.append((declared.name, f"{about.help}  [{allowed}]{default}"))
    return described


def _format_allowed(hint: Any, about: Option) -> str:
    """Format the allowed values: `a|b`, `true|false`, `integer >= 1`, `list of number > 0`."""
    args = [arg for arg in typing.get_args(hint) if arg is not type(None)]
    if typing.get_origin(hint) is list:
        return f"list of {_format_allowed(args[0], about)}"
    if type(None) in typing.get_args(hint):
        return " or ".join(_format_allowed(arg, about) for arg in args)
    if words := _words(hint, about):
        return "|".join(words)
    bounds = ", ".join(f"{BOUNDS[name]} {bound:g}" for name, bound in about.bounds.items())
    kind = TYPE_NAMES.get(hint, getattr(hint, "__name__", str(hint)))
    return f"{kind} {bounds}".rstrip()


def format_setting(value: Any) -> str:
    """Format a value as it is typed on a command line: `[1,2]`, `true`, `null`, `'a b'`."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, list | tuple):
        return f"[{','.join(map(format_setting, value))}]"
    if isinstance(value, Mapping):
        return f"{{{','.join(f'{k}:{format_setting(v)}' for k, v in value.items())}}}"
    if isinstance(value, enum.Enum):
        return format_setting(value.value)
    text = str(value)
    is_plain = re.fullmatch(r"[^\[\]{},'\"\s=]+", text) and text.lower() not in YAML_LITERALS
    return text if is_plain or not isinstance(value, str) else f"'{text}'"
