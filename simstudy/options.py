"""Typed settings with ranges, declared on the fields of a dataclass; pydantic checks them."""

from __future__ import annotations

import functools
import inspect
import operator
import re
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, make_dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, TypeVar, dataclass_transform

from pydantic import BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.dataclasses import dataclass as pydantic_dataclass

from simstudy.errors import ConfigError, describe, nearest

C = TypeVar("C")
SHOWN_LENGTH = 60  # characters of a refused value that the message repeats
SIGNS = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}  # pydantic's names of bounds
PLAIN = re.compile(r"(?!(?i:true|false|null|none)$)[^\[\]{},'\"\s=]+")  # a text without quotes


def option(
    help: str,
    *,
    default: Any = None,
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
        Allowed values, of the option or of each item of a list.

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
    bounds = {"ge": at_least, "gt": above, "le": at_most, "lt": below}
    stated = {name: bound for name, bound in bounds.items() if bound is not None}
    metadata = {"help": help, "bounds": stated, "one_of": one_of}
    return _field(default, metadata)


def _field(default: Any, metadata: Mapping[str, Any]) -> Any:
    if isinstance(default, list | dict):
        return field(default_factory=default.copy, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass_transform(kw_only_default=True, field_specifiers=(option,))
def published(experiment_file: str) -> Callable[[type[C]], type[C]]:
    """Make a config dataclass whose defaults are the published values of its experiment.

    The values are written in one place, `conf/experiment/<name>.yaml`. Both `Config()` in a
    notebook and a run without overrides use them. An option that the file does not name has its own
    default. Every instance is checked.

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
        inherited = getattr(cls, "__dataclass_fields__", {})
        types = {name: each.type for name, each in inherited.items()} | inspect.get_annotations(cls)
        values = _published_values(Path(experiment_file))
        for name in values.keys() & types.keys():
            declared = cls.__dict__.get(name, inherited.get(name))
            setattr(cls, name, _field(values[name], getattr(declared, "metadata", {})))
        cls.__annotations__ = types
        own = getattr(cls, "__post_init__", None)

        def post_init(config: C) -> None:
            check(config)
            if own is not None:
                own(config)

        cls.__post_init__ = post_init  # type: ignore[attr-defined]
        return dataclass(kw_only=True)(cls)

    return decorate


def _published_values(experiment_file: Path) -> dict[str, Any]:
    # `study.py` is the main file of an experiment of several files, which its folder names.
    named = experiment_file.parent if experiment_file.name == "study.py" else experiment_file
    above = (folder for folder in named.parents if (folder / "conf").is_dir())
    path = next(above, named.parents[1]) / "conf" / "experiment" / f"{named.stem}.yaml"
    if path.exists():
        return read_settings(path)
    raise ConfigError(f"{path} does not exist: write it, or give every option of Config a default")


def read_settings(path: Path) -> dict[str, Any]:
    """Read the settings in a YAML file; empty if it is empty or missing.

    Raises
    ------
    ConfigError
        With the file and the line, if it cannot be read.
    """
    import yaml

    try:
        with path.open(encoding="utf-8") as file:  # errors of yaml name it, with the line
            return dict(yaml.safe_load(file) or {})
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, TypeError, RecursionError, yaml.YAMLError) as error:
        text = "cannot be read as settings, each as NAME: VALUE"
        raise ConfigError(f"{path} {text}: {describe(error)}") from None


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
        return check(cls(**values))
    except ConfigError as error:
        raise ConfigError(f"{prefix}{error}") from None


def check(config: C) -> C:
    """Check the type and range of every option, and convert equal values (`2.0` to `2`).

    Returns
    -------
    object
        The config itself.

    Raises
    ------
    ConfigError
        For the first value that is not allowed, with what pydantic says of it.
    """
    options = _options_of(config)
    given = {name: getattr(config, name) for name in options}
    try:
        checked = _pydantic_class(type(config))(**given)  # type: ignore[arg-type]
    except ValidationError as error:
        first = error.errors()[0]
        name = first["loc"][0]
        text, help = format_setting(given[name])[:SHOWN_LENGTH], options[name].metadata["help"]
        raise ConfigError(f"{name}={text} is not allowed: {help}: {first['msg']}") from None
    for name, value in vars(checked).items():
        setattr(config, name, value)
    return config


def _options_of(config: Any) -> dict[Any, Any]:
    """The options of a config or of its class, by name."""
    return {each.name: each for each in fields(config) if "one_of" in each.metadata}


@functools.cache
def _pydantic_class(cls: type) -> Any:
    """Pydantic's dataclass of the options of a config class, which checks them."""
    hints, options = typing.get_type_hints(cls), _options_of(cls).items()
    ranges = [(name, _in_range(hints[name], each.metadata)) for name, each in options]
    rules = ConfigDict(
        allow_inf_nan=False, arbitrary_types_allowed=True, coerce_numbers_to_str=True
    )
    return pydantic_dataclass(make_dataclass(cls.__name__, ranges), config=rules)


def _in_range(hint: Any, about: Mapping[str, Any]) -> Any:
    """Add an option's range to the numbers and words of an annotation."""
    args = tuple(_in_range(each, about) for each in typing.get_args(hint))
    if typing.get_origin(hint) is list:
        items: Any = list[args]  # type: ignore[valid-type]
        return Annotated[items, Field(min_length=1), BeforeValidator(_as_list)]
    if type(None) in args:
        return functools.reduce(operator.or_, args)
    if about["one_of"] and hint is not type(None):
        return typing.Literal[about["one_of"]]
    if hint in (int, float):
        return Annotated[hint, Field(**about["bounds"]), BeforeValidator(_no_truth_value)]
    return hint


def _as_list(value: Any) -> Any:
    if isinstance(value, str) and value.startswith("[") and value.endswith("]"):
        return [item.strip() for item in value[1:-1].split(",")]
    return list(value) if isinstance(value, list | tuple) else [value]


def _no_truth_value(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("true and false are not numbers")
    return value


def option_help(cls: Any) -> Iterator[tuple[str, str]]:
    """Describe the options of a config: name; help, annotation and range, default."""
    hints = typing.get_type_hints(cls)
    for name, each in _options_of(cls).items():
        about, made = each.metadata, each.default_factory
        default = each.default if made is MISSING else made()
        bounds = [f"{SIGNS[sign]} {bound:g}" for sign, bound in about["bounds"].items()]
        allowed = ", ".join(bounds) or "|".join(map(str, about["one_of"]))
        allowed = f"{inspect.formatannotation(hints[name])} {allowed}".rstrip()
        text = "" if default is None else f"  default: {format_setting(default)}"
        yield name, f"{about['help']}  [{allowed}]{text}"


def format_setting(value: Any) -> str:
    """Format a value as it is typed on a command line: `[1,2]`, `true`, `null`, `'a b'`."""
    value = value.value if isinstance(value, Enum) else value
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, list | tuple):
        return f"[{','.join(map(format_setting, value))}]"
    if isinstance(value, Mapping):
        return f"{{{','.join(f'{k}:{format_setting(v)}' for k, v in value.items())}}}"
    needs_quotes = isinstance(value, str) and not PLAIN.fullmatch(value)
    return f"'{value}'" if needs_quotes else str(value)
