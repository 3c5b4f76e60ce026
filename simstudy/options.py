"""Typed settings with ranges, declared on the fields of a dataclass; pydantic checks them."""

from __future__ import annotations

import dataclasses
import difflib
import enum
import functools
import inspect
import operator
import re
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform

from simstudy.errors import ConfigError, describe, nearest

if TYPE_CHECKING:
    from pydantic import BaseModel

C = TypeVar("C")
SUCH_AS = ", for example"
SHOWN_LENGTH = 60  # characters of a refused value that the message repeats
PYDANTIC_BOUNDS = {">=": "ge", ">": "gt", "<=": "le", "<": "lt"}
TYPE_NAMES = {int: "integer", float: "number", bool: "true|false", str: "text"}
MAX_SETTINGS = 100_000  # values in a file of settings
YAML_LITERALS = frozenset({"true", "false", "null", "none", ""})


@dataclass(frozen=True)
class Option:
    """The help text and the range of a setting: its bounds by their sign, or the allowed values."""

    help: str
    bounds: Mapping[str, float]
    one_of: tuple[Any, ...] = ()


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
    bounds = {">=": at_least, ">": above, "<=": at_most, "<": below}
    about = Option(help, {sign: x for sign, x in bounds.items() if x is not None}, one_of)
    return _field(None if default is MISSING else default, {"option": about})


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
        values = _published_values(Path(experiment_file))
        inherited = dict(getattr(cls, "__dataclass_fields__", {}))
        types = {name: each.type for name, each in inherited.items()} | inspect.get_annotations(cls)
        for name, default in values.items():
            if name not in types:
                raise ConfigError(
                    f"{name} of conf/experiment/ is no option of Config in "
                    f"{Path(experiment_file).name}; {nearest(name, types)}"
                )
            declared = cls.__dict__.get(name, inherited.get(name))
            setattr(cls, name, _field(default, getattr(declared, "metadata", {})))
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
        with path.open(encoding="utf-8") as file:  # errors of yaml name it, with the line
            values = yaml.safe_load(file)
        if _count(values) > MAX_SETTINGS:  # aliases of aliases
            raise ValueError(f"more than {MAX_SETTINGS:,} values")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except RecursionError:
        raise ConfigError(f"{path} cannot be read: a value holds itself, or is too deep") from None
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise ConfigError(f"{path} cannot be read: {describe(error)}") from None
    if values is None or isinstance(values, dict):
        return values or {}
    raise ConfigError(f"{path} holds {values!r}: write settings, each as NAME: VALUE")


def _count(value: Any) -> int:
    """The number of values in nested lists and mappings, at most about `MAX_SETTINGS`."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    n = 1
    for item in items:
        n += _count(item)
        if n > MAX_SETTINGS:
            break
    return n


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
    from pydantic import ValidationError

    model = _model(config.__class__)
    given = {name: getattr(config, name) for name in model.model_fields}
    try:
        checked = model.model_validate(given)
    except ValidationError as error:
        name = error.errors(include_url=False)[0]["loc"][0]
        refused = next(each for each in fields(config) if each.name == name)
        raise ConfigError(_refusal(refused, type(config), given[refused.name])) from None
    for name in given:
        setattr(config, name, getattr(checked, name))


@functools.cache
def _model(cls: Any) -> type[BaseModel]:
    """Make a model that checks the options of a dataclass."""
    from pydantic import ConfigDict, create_model

    rules = ConfigDict(coerce_numbers_to_str=True, arbitrary_types_allowed=True)
    hints = typing.get_type_hints(cls)
    declared = [each for each in fields(cls) if "option" in each.metadata]
    types: dict[str, Any] = {
        each.name: (_annotation(hints[each.name], each.metadata["option"]), ...)
        for each in declared
    }
    return create_model(cls.__name__, __config__=rules, **types)


def _annotation(hint: Any, about: Option) -> Any:
    """Add an option's range to the innermost types of an annotation."""
    from pydantic import AfterValidator, BeforeValidator, Field

    args = typing.get_args(hint)
    if typing.get_origin(hint) is list:
        items: Any = list[_annotation(args[0], about)]  # type: ignore[misc]
        return typing.Annotated[items, Field(min_length=1), BeforeValidator(_as_list)]
    if type(None) in args:
        return functools.reduce(operator.or_, (_annotation(each, about) for each in args))
    if about.one_of and hint is not type(None):
        return typing.Literal[about.one_of]
    if hint not in (int, float):
        return hint
    bounds: Any = {PYDANTIC_BOUNDS[sign]: bound for sign, bound in about.bounds.items()}
    number = typing.Annotated[hint, Field(**bounds), BeforeValidator(_no_truth_value)]
    # -0.0 and 0.0 are one level of a factor
    one_zero = [Field(allow_inf_nan=False), AfterValidator(lambda value: value + 0.0)]
    return typing.Annotated[number, *one_zero] if hint is float else number


def _as_list(value: Any) -> Any:
    if isinstance(value, str) and value.startswith("[") and value.endswith("]"):
        return [item.strip() for item in value[1:-1].split(",")]
    return list(value) if isinstance(value, list | tuple) else [value]


def _no_truth_value(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("true and false are not numbers")
    return value


def _refusal(declared: dataclasses.Field[Any], cls: Any, value: Any) -> str:
    """Make the message for a refused value: name, value, allowed values, an example."""
    about: Option = declared.metadata["option"]
    hint, name = typing.get_type_hints(cls)[declared.name], declared.name
    text = format_setting(value)
    text = text if len(text) <= SHOWN_LENGTH else f"{text[:SHOWN_LENGTH]}…"
    near = difflib.get_close_matches(str(value), _words(hint, about), n=1, cutoff=0.0)
    examples = [*near, _default_of(declared), *about.bounds.values()]
    example = next((each for each in examples if each is not None), None)
    such_as = "" if example is None else f"{SUCH_AS} {name}={format_setting(example)}"
    if value == []:
        return f"{name}=[] is empty, and must have at least one value{such_as}"
    allowed = _format_allowed(hint, about)
    return f"{name}={text} is not allowed: {about.help} must be {allowed}{such_as}"


def _default_of(declared: dataclasses.Field[Any]) -> Any:
    if declared.default_factory is not MISSING:
        return declared.default_factory()
    return None if declared.default is MISSING else declared.default


def _words(hint: Any, about: Option) -> list[str]:
    """List the allowed words of `one_of`, a `Literal` or an `Enum`; empty for other options."""
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return [str(member.value) for member in hint]
    literals = typing.get_args(hint) if typing.get_origin(hint) is typing.Literal else ()
    return list(map(str, about.one_of or literals))


def option_help(cls: Any) -> list[tuple[str, str]]:
    """Describe the options of a config: name; help, allowed values, default."""
    hints, described = typing.get_type_hints(cls), []
    for declared in (each for each in fields(cls) if "option" in each.metadata):
        about: Option = declared.metadata["option"]
        value = _default_of(declared)
        default = "" if value is None else f"  default: {format_setting(value)}"
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
    bounds = ", ".join(f"{sign} {bound:g}" for sign, bound in about.bounds.items())
    kind = TYPE_NAMES.get(hint, getattr(hint, "__name__", str(hint)))
    return f"{kind} {bounds}".rstrip()


def plain(value: Any) -> Any:
    """A value as YAML and JSON hold it: a member of an `Enum` by what is typed for it."""
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, dict):
        return {name: plain(held) for name, held in value.items()}
    return [*map(plain, value)] if isinstance(value, list | tuple) else value


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
