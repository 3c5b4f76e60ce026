"""Composes a plain command without Hydra, which would take a third of a short run.

Plain is `experiment=NAME` with settings that are a word or a number each, and files of settings
with one value or list a line: what `hydra_compose` makes of these is the same. For anything else,
and wherever something is wrong, there is no plain run, and Hydra composes it or says why not.
"""

import re
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from simstudy.cli.project import PACKAGE_CONF, Project, experiment_files, read_settings
from simstudy.cli.resolved_config import ResolvedConfig, resolve
from simstudy.cli.settings import Settings
from simstudy.errors import SimstudyError
from simstudy.option_types import NUMBER

CHOSEN = {"experiment": "", "scale": "paper", "backend": "auto"}
"""Groups of files, with the one that `conf/simstudy.yaml` takes where nobody chooses."""

MEANT = {"true": True, "false": False, "null": None}
NAME = re.compile(r"\w[\w-]*", re.ASCII)
WHOLE = re.compile(r"-?(0|[1-9]\d{0,17})")
WORD = re.compile(r"[A-Za-z_./][\w./-]*", re.ASCII)
ODD_WORDS = frozenset({*MEANT, "nan", "inf"})  # in capitals, Hydra reads these as values, too
_VALUE = r"(?:-?\d+(?:\.\d+)?|[A-Za-z][\w./-]*)"
LINE = re.compile(
    rf"(?:(\w+):\s+(?:{_VALUE}|\[{_VALUE}(?:,\s*{_VALUE})*\]))?\s*(?:(?:^|\s)#[^@]*)?", re.ASCII
)
"""A line of YAML that all of its readers take for the same; `# @package` is Hydra's own."""
OF_HYDRA = frozenset({"defaults", "hydra"})  # keys that it reads itself


class NotPlainError(Exception):
    """A command that only Hydra can compose."""


def compose_plain(arguments: Sequence[str], project: Project, verb: str) -> ResolvedConfig | None:
    """Compose a plain command; None if it is not plain or has an error."""
    try:
        typed = _read_arguments(arguments)
        choices = {group: str(typed.pop(group, usual)) for group, usual in CHOSEN.items()}
        values = _compose(choices, project) | typed
        return resolve(values, choices, tuple(arguments), project, verb)
    except (NotPlainError, SimstudyError):
        return None


def _read_arguments(arguments: Sequence[str]) -> dict[str, Any]:
    """Settings and group choices by name, each given once."""
    texts = {text.partition("=")[0] for text in arguments}
    if "experiment" not in texts or len(texts) < len(arguments):
        raise NotPlainError
    known = {*CHOSEN, *(each.name for each in fields(Settings) if "option" in each.metadata)}
    read = {}
    for text in arguments:
        name, _, said = text.partition("=")
        if name not in known - {"group"}:
            raise NotPlainError
        read[name] = _read_value(said)
    return read


def _read_value(text: str) -> Any:
    if text in MEANT:
        return MEANT[text]
    if WHOLE.fullmatch(text):
        return int(text)
    if not WORD.fullmatch(text) or text.lower() in ODD_WORDS or NUMBER.fullmatch(text):
        raise NotPlainError
    return text


def _compose(choices: dict[str, str], project: Project) -> dict[str, Any]:
    """The values of the files over the default settings."""
    if any((project.conf / f"{name}.yaml").exists() for name in ("simstudy", "settings")):
        raise NotPlainError
    path = project.conf / "config.yaml"
    general = _read_file(path) if path.exists() else {}
    if CHOSEN.keys() & general or choices["experiment"] not in experiment_files(project.root):
        raise NotPlainError
    values = asdict(Settings()) | general
    for group, name in choices.items():
        if not NAME.fullmatch(name):
            raise NotPlainError
        own = project.conf / group / f"{name}.yaml"
        values[group] = _read_file(own if own.exists() else PACKAGE_CONF / group / f"{name}.yaml")
    return values


def _read_file(path: Path) -> dict[str, Any]:
    """The values in a file of plain lines."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise NotPlainError from None
    found = [LINE.fullmatch(line) for line in lines]
    keys = [line[1] for line in found if line and line[1]]
    if not all(found) or len({*keys}) < len(keys) or OF_HYDRA.intersection(keys):
        raise NotPlainError
    values = read_settings(path)
    if [*values] != keys:  # such as `on`, which is no name in YAML
        raise NotPlainError
    return values
