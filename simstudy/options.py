"""Typed settings with ranges, declared on the fields of a dataclass; pydantic checks them."""

from __future__ import annotations

import functools
import inspect
import operator
import re
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, make_dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, TypeVar, dataclass_transform

from simstudy.errors import ConfigError, describe, nearest

C = TypeVar("C")
SHOWN_LENGTH = 60  # characters of a refused value that the message repeats
SIGNS = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}  # of pydantic's bounds
YAML_LITERALS = frozenset({"true", "false", "null", "none", ""})


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
    return _field(None if default is MISSING else default, metadata)


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
        inherited = dict(getattr(cls, "__dataclass_fields__", {}))
        types = {name: each.type for name, each in inherited.items()} | inspect.get_annotations(cls)
        values = _published_values(Path(experiment_file))
        for name in values.keys() & types.keys():
            declared = cls.__dict__.get(name, inherited.get(name))
            setattr(cls, name, _field(values[name], getattr(declared, "metadata", {})))
        cls.__annotations__ = types
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
    return read_settings(path)


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
            values = yaml.safe_load(file) or {}
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise ConfigError(f"{path} cannot be read: {describe(error)}") from None
    if isinstance(values, dict):
        return values
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
        raise ConfigError(f"{prefix}{error}") from None
    return made


def check(config: Any) -> None:
    """Check the type and range of every option, and convert equal values (`2.0` to `2`).

    Raises
    ------
    ConfigError
        For the first value that is not allowed, with what pydantic says of it.
    """
    from pydantic import ValidationError

    options = _options_of(config)
    given = {name: getattr(config, name) for name in options}
    try:
        checked = _pydantic_class(config.__class__)(**given)
    except ValidationError as error:
        first = error.errors()[0]
        name, allowed = str(first["loc"][0]), first["msg"]
        text, help = format_setting(given[name])[:SHOWN_LENGTH], options[name].metadata["help"]
        raise ConfigError(f"{name}={text} is not allowed: {help}: {allowed}") from None
    for name, value in vars(checked).items():
        setattr(config, name, value)


def _options_of(config: Any) -> dict[str, Field[Any]]:
    """The options of a config or of its class, by name."""
    return {each.name: each for each in fields(config) if "one_of" in each.metadata}


@functools.cache
def _pydantic_class(cls: type) -> Any:
    """Pydantic's dataclass of the options of a config class, which checks them."""
    from pydantic import ConfigDict
    from pydantic.dataclasses import dataclass as with_checks

    hints, options = typing.get_type_hints(cls), _options_of(cls).items()
    ranges = [(name, _in_range(hints[name], each.metadata)) for name, each in options]
    rules = ConfigDict(
        allow_inf_nan=False, coerce_numbers_to_str=True, arbitrary_types_allowed=True
    )
    return with_checks(make_dataclass(cls.__name__, ranges), config=rules)


def _in_range(hint: Any, about: Mapping[str, Any]) -> Any:
    """Add an option's range to the numbers and words of an annotation."""
    from pydantic import BeforeValidator
    from pydantic import Field as Bounds

    args = typing.get_args(hint)
    if typing.get_origin(hint) is list:
        items: Any = list[_in_range(args[0], about)]  # type: ignore[misc]
        return Annotated[items, Bounds(min_length=1), BeforeValidator(_as_list)]
    if type(None) in args:
        return functools.reduce(operator.or_, (_in_range(each, about) for each in args))
    if about["one_of"] and hint is not type(None):
        return typing.Literal[about["one_of"]]
    if hint in (int, float):
        return Annotated[hint, Bounds(**about["bounds"]), BeforeValidator(_no_truth_value)]
    return hint


def _as_list(value: Any) -> Any:
    if isinstance(value, str) and value.startswith("[") and value.endswith("]"):
        return [item.strip() for item in value[1:-1].split(",")]
    return list(value) if isinstance(value, list | tuple) else [value]


def _no_truth_value(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("true and false are not numbers")
    return value


def option_help(cls: Any) -> list[tuple[str, str]]:
    """Describe the options of a config: name; help, annotation and range, default."""
    hints, described = typing.get_type_hints(cls), []
    for name, declared in _options_of(cls).items():
        about, made = declared.metadata, declared.default_factory
        default = declared.default if made is MISSING else made()
        bounds = [f"{SIGNS[sign]} {bound:g}" for sign, bound in about["bounds"].items()]
        allowed = ", ".join(bounds) or "|".join(map(str, about["one_of"]))
        allowed = f"{inspect.formatannotation(hints[name])} {allowed}".rstrip()
        text = "" if default is None else f"  default: {format_setting(default)}"
        described.append((name, f"{about['help']}  [{allowed}]{text}"))
    return described


def format_setting(value: Any) -> str:
    """Format a value as it is typed on a command line: `[1,2]`, `true`, `null`, `'a b'`."""
    value = value.value if isinstance(value, Enum) else value
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, list | tuple):
        return f"[{','.join(map(format_setting, value))}]"
    if isinstance(value, Mapping):
        return f"{{{','.join(f'{k}:{format_setting(v)}' for k, v in value.items())}}}"
    text = str(value)
    is_plain = re.fullmatch(r"[^\[\]{},'\"\s=]+", text) and text.lower() not in YAML_LITERALS
    return text if is_plain or not isinstance(value, str) else f"'{text}'"
