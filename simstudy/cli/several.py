"""Which runs a command asks for: the overrides of each, where settings have several values."""

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Glob

from simstudy.cli.overrides import is_flag, is_multirun, options_of
from simstudy.cli.project import Project
from simstudy.cli.refusals import options
from simstudy.errors import ConfigError

MOST_RUNS = 10_000  # of a sweep: each is composed, and held in memory, before the first begins


def sweep_points(overrides: Sequence[str], project: Project) -> Iterator[list[str]]:
    """The overrides of each job of a sweep; of the only job, where nothing is swept."""
    texts = [text for text in overrides if not is_flag(text)]
    parsed = OverridesParser.create().parse_overrides(texts)
    if not is_multirun(overrides):
        refuse_sweep(parsed, project)
    values = [choices(override, project) for override in parsed]
    if math.prod(map(len, values)) > MOST_RUNS:
        raise ConfigError(
            f"{' '.join(texts)} asks for more than {MOST_RUNS:,} runs, the most of one sweep: give "
            "fewer values, or write them in brackets for one run with all of them"
        )
    yield from map(list, itertools.product(*values))


def refuse_sweep(parsed: Sequence[Any], project: Project) -> None:
    """Several values without `-m` are a list with its brackets forgotten, or a flag forgotten."""
    for override in parsed:
        if override.is_sweep_override():
            key = override.get_key_element()
            brackets = (
                f", or write the values in brackets, {key}=[...], for one run with all of them"
            )
            raise ConfigError(
                f"{override.input_line} asks for several runs: add -m for these"
                + brackets * takes_a_list(key, parsed, project)
            )


def takes_a_list(key: str, parsed: Sequence[Any], project: Project) -> bool:
    """Whether an experiment's option has several values in one run; no other setting does."""
    group, _, name = key.lstrip("+").partition(".")
    options = options_of(parsed, project) if group == "experiment" and name else {}
    return name in options and options[name].is_list


def choices(override: Any, project: Project) -> list[str]:
    """The values that one override takes in a sweep, each as an override."""
    if not override.is_sweep_override():
        return [override.input_line]
    value = override.value()
    if isinstance(value, Glob):
        known = options(override.key_or_group, project)
        names = value.filter(known)
        if not names:
            raise ConfigError(
                f"{override.input_line} matches nothing; there is: {', '.join(known) or 'nothing'}"
            )
    elif override.is_interval_sweep():
        raise ConfigError(
            f"{override.input_line} has no values to run one by one: say them, as in "
            f"{override.get_key_element()}=1,2"
        )
    else:
        names = list(itertools.islice(override.sweep_string_iterator(), MOST_RUNS + 1))
    return [f"{override.get_key_element()}={name}" for name in names]
