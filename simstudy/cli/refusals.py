"""Hydra's refusals as ours: one line with the key, the value, and the nearest thing that works."""

import functools
import re
from collections.abc import Iterator, Sequence
from typing import Any

import yaml
from hydra import compose
from omegaconf import DictConfig

from simstudy.cli.experiments import experiment_files
from simstudy.cli.launching import INSTALL
from simstudy.cli.project import Project
from simstudy.cli.yaml_files import trouble_in
from simstudy.errors import ConfigError, SimstudyError, describe, nearest

CONFIG = "simstudy"
PLUS = "+"  # of a key that Hydra is to add


def in_one_line(error: Exception, overrides: Sequence[str], project: Project) -> Exception:
    """Hydra's refusal as ours: the key, the value, and the nearest thing that works."""
    if isinstance(error, SimstudyError):
        return error
    if isinstance(error, RecursionError):
        return ConfigError(f"the defaults in {project.conf}/config.yaml lead back to themselves")
    text = str(error)
    group = re.search(r"Could not find '([\w/]+)/([^/']+)'", text)
    if "'hydra/launcher/submitit_" in text:  # of which ours are made
        return ConfigError(INSTALL)
    if group:
        kind, name = group.groups()
        own = project.conf / kind / f"{name}.yaml"
        if own.is_dir():
            return ConfigError(trouble_in(own))
        known = options(kind, project)
        return ConfigError(f"{kind}={name}: no such {kind}; {nearest(name, known)}")
    if isinstance(error, yaml.YAMLError | OSError | UnicodeDecodeError):
        return ConfigError(trouble_with_files(overrides, project) or describe(error))
    if "must specify" in text.lower():
        return ConfigError(
            f"no experiment given: {project.runs} experiment=NAME; "
            f"there is: {', '.join(options('experiment', project)) or 'nothing'}"
        )
    key = re.search(r"Could not (?:override|append|delete)[^']*'([^']+)'", text)
    if key:
        return ConfigError(unknown_key(key.group(1), overrides))
    below_a_list = [text for text in overrides if text.partition("=")[0].count(".") > 1]
    if below_a_list and "invalid literal for int()" in text:
        return ConfigError(unknown_key(below_a_list[0].partition("=")[0].lstrip("+"), overrides))
    first = next(iter(text.splitlines()), type(error).__name__)
    merged = re.fullmatch("Error merging override (.*)", first)
    if merged:
        why = next(iter(str(error.__cause__).splitlines()), "it is of another kind")
        if why.startswith("Cannot merge"):
            why = "{...} has names for its values, [...] has none, and one cannot be the other"
        return ConfigError(f"{merged.group(1).lstrip(PLUS)} cannot be set: {why}")
    return ConfigError(f"cannot read {' '.join(overrides)}: {first}")


def unknown_key(key: str, overrides: Sequence[str]) -> str:
    """A key that is not in the config, and the nearest that is."""
    *parents, last = key.split(".")
    chosen = [text for text in overrides if text.startswith(("experiment=", "hydra/"))]
    composed = compose(CONFIG, overrides=chosen, return_hydra_config=True)
    if not parents and last in (_child(composed, "experiment") or {}):
        return f"{key} is not a setting; did you mean 'experiment.{key}'?"
    group, node = ".".join(parents), functools.reduce(_child, parents, composed)
    if isinstance(node, DictConfig):
        of_group = f" of {group}" if parents else ""
        return f"{key} is not a setting{of_group}; {nearest(last, _ours(node))}"
    if parents[0] not in composed:
        return f"{key} is not a setting; {nearest(parents[0], _ours(composed))}"
    above = ".".join(_known_part(parents, composed))
    return f"{key} is not a setting: nothing lies below {above}, so write {above}=VALUE"


def trouble_with_files(overrides: Sequence[str], project: Project) -> str:
    """What is wrong with a project's config files, those first that the overrides choose."""
    chosen = {bare(text.partition("=")[2]) for text in overrides}
    files = sorted(project.conf.rglob("*.yaml"), key=lambda path: (path.stem not in chosen, path))
    return next(filter(None, map(trouble_in, files)), "")


def _ours(node: DictConfig) -> list[str]:
    """The keys below a node, without those that are Hydra's."""
    return [name for name in map(str, node) if name != "hydra"]


def _known_part(parents: Sequence[str], composed: DictConfig) -> Iterator[str]:
    """The parents down to the first that has no keys below it."""
    node: Any = composed
    for name in parents:
        yield name
        node = _child(node, name)
        if not isinstance(node, DictConfig):
            return


def _child(node: Any, name: str) -> Any:
    """What lies below a node; None, where nothing does."""
    return node.get(name) if isinstance(node, DictConfig) else None


def options(group: str, project: Project) -> list[str]:
    """The names in a config group: the project's and the package's."""
    own = experiment_files(project.root) if group == "experiment" else ()
    return sorted({*project.options(group), *own})


def bare(value: str) -> str:
    """A value without the quotes that Hydra's grammar may need."""
    return value.strip("'\"")
