"""Overrides as Hydra's grammar reads them: text that it would take for something else is quoted."""

import re
import shlex
import typing
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException

from simstudy.cli.chosen import of_the_group
from simstudy.cli.experiments import experiment_files, in_own_code, load_experiment
from simstudy.cli.flags import SEVERAL
from simstudy.cli.project import Project
from simstudy.cli.settings import Settings
from simstudy.errors import ConfigError
from simstudy.option_types import Annotated, read_annotation

OPEN = (
    "precision.",
    "precision=",
    "backend.",
    "column_widths.",
)  # groups of keys that the config does not list
NAME = re.compile(r"\+{0,2}[\w./-]+", re.ASCII)
GROUPS = ("experiment", "scale", "backend")  # whose values are names of files
WITH_A_SYNTAX = ("[", "{", "'", '"')  # what a value begins with that says itself how it is read
FLAGS_OF_A_SWEEP = (*SEVERAL, "hydra.mode=MULTIRUN")


def readable(arguments: Sequence[str], project: Project) -> list[str]:
    """What a user typed, as Hydra's grammar reads it; flags are left as they are.

    Quotation marks come around a value that the grammar cannot read, such as `out=é`, and around
    a number, or true, for a setting that is text, such as `out=1`. Experiments by a glob are those
    of a group, which Hydra is not told of.

    Raises
    ------
    ConfigError
        For what cannot be read with quotation marks either.
    """
    flags = [text for text in arguments if is_flag(text)]
    texts = [open_key(text) for text in arguments if text not in flags]
    parser, is_sweep = OverridesParser.create(), is_multirun(arguments)
    read = [(text, _parsed(parser, text)) for text in texts]
    known = [override for _, override in read if override is not None]
    made = [
        _quoted(text, is_sweep=is_sweep)
        if override is None or _is_lost_text(override, known, project)
        else text
        for text, override in read
    ]
    for text, quoted in zip(texts, made, strict=True):
        override = _parsed(parser, quoted)
        if override is None or not override.key_or_group:
            raise ConfigError(f"cannot read {text}: {_way_to_write(text)}")
    return [*of_the_group(made, project, is_sweep=is_sweep), *flags]


def open_key(argument: str) -> str:
    """`precision.MEASURE=...`, or a backend's own, as Hydra writes a key that it does not know."""
    return f"++{argument}" if argument.startswith(OPEN) else argument


def is_flag(text: str) -> bool:
    """Whether an argument is no override."""
    return text.startswith("-")


def is_multirun(arguments: Sequence[str]) -> bool:
    """Whether several runs were asked for."""
    return any(text in FLAGS_OF_A_SWEEP for text in arguments)


def _parsed(parser: OverridesParser, text: str) -> Override | None:
    """What the grammar reads in a text, or None."""
    try:
        return parser.parse_override(text)
    except (HydraException, RecursionError):
        return None


def _quoted(text: str, *, is_sweep: bool) -> str:
    """An override with its value in double quotation marks, where no others or brackets are.

    In these marks a backslash protects a mark, and itself where it stands before one.
    """
    key, sign, value = text.partition("=")
    is_list = "," in value and is_sweep
    if not sign or value.startswith(WITH_A_SYNTAX) or "${" in value or is_list:
        return text
    protected = re.sub(r'(\\*)("|$)', lambda found: _protected(*found.groups()), value)
    return f'{key}="{protected}"'


def _protected(backslashes: str, mark: str) -> str:
    return 2 * backslashes + ("\\" + mark if mark else "")


def _way_to_write(text: str) -> str:
    key, sign, value = text.partition("=")
    if not (sign and NAME.fullmatch(key)):
        return "a setting is written NAME=VALUE, with a name of letters, digits, _ and ."
    if "${" in value:
        return "${...} stands for another setting's value, and ends with }; write the value itself"
    if value.startswith(WITH_A_SYNTAX):
        example = shlex.quote(f"{key}=[1,2]")
        return (
            "brackets and quotation marks have to be closed, and for the shell the whole stands in "
            f"quotation marks, as in {example}"
        )
    example = shlex.quote(f'{key}="a","b"')
    return f"of several values each stands in quotation marks, as in {example}"


def _is_lost_text(override: Override, known: Sequence[Override], project: Project) -> bool:
    """Whether a value that is to be text was read as a number, or as true or false."""
    if override.is_sweep_override() or override.is_delete():
        return False
    if not isinstance(override.value(), bool | int | float):
        return False
    return _is_text(override.get_key_element().lstrip("+"), known, project)


def _is_text(key: str, known: Sequence[Override], project: Project) -> bool:
    group, _, name = key.rpartition(".")
    if key in GROUPS:
        return True
    if group not in ("", "experiment"):
        return False
    options = options_of(known, project) if group else annotations(Settings)
    return name in options and options[name].kind is str and not options[name].is_list


def annotations(config: Any) -> Mapping[str, Annotated]:
    """What each option of a config dataclass may be."""
    hints = typing.get_type_hints(config)
    named = (each.name for each in fields(config) if "option" in each.metadata)
    return {name: read_annotation(name, hints[name]) for name in named}


def options_of(parsed: Sequence[Override], project: Project) -> Mapping[str, Annotated]:
    """The same of the experiment that the overrides name; nothing, where they name none."""
    chosen = [str(each.value()) for each in parsed if each.key_or_group == "experiment"]
    if not chosen or chosen[-1] not in experiment_files(project.root):
        return {}
    module = load_experiment(chosen[-1], project.root)
    with in_own_code(module, "Config", project.root):
        return annotations(module.Config)
