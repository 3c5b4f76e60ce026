"""Completion in a shell: the script that asks for it, and what may stand where one types."""

import contextlib
import os
import typing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from simstudy.cli.experiments import FOLDER, experiment_names, load_experiment
from simstudy.cli.flags import HELP, SEVERAL, VERSION
from simstudy.cli.project import Project
from simstudy.cli.settings import Settings
from simstudy.cli.verbs import VERBS
from simstudy.errors import ConfigError, SimstudyError
from simstudy.option_types import read_annotation

SHELL = "bash"
INSTALL, UNINSTALL, QUERY = (f"{what}={SHELL}" for what in ("install", "uninstall", "query"))
SCRIPT = """\
_simstudy_complete() {
  local command=("$1")
  COMPREPLY=()
  if [[ $1 == *python* ]]; then
    grep -qs "simstudy.cli" "${COMP_WORDS[1]}" || return
    command+=("${COMP_WORDS[1]}")
  fi
  mapfile -t COMPREPLY < <(
    COMP_LINE="$COMP_LINE" COMP_POINT="$COMP_POINT" COMP_WORDBREAKS="$COMP_WORDBREAKS" \\
      "${command[@]}" -sc query=bash 2>/dev/null
  )
  if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then compopt -o nospace; fi
}
complete -o bashdefault -o default -F _simstudy_complete simstudy python python3
"""
REMOVAL = "complete -r simstudy python python3; unset -f _simstudy_complete\n"
ON_OR_OFF = ("true", "false")


def shell_completion(asked: str, project: Project, environment: Mapping[str, str]) -> str:
    """What the flag prints.

    Parameters
    ----------
    asked
        `install=bash` or `uninstall=bash`, whose text a shell evaluates, or `query=bash`, which
        answers with what may stand where the cursor is.
    environment
        Where bash says what has been typed: `COMP_LINE`, and `COMP_POINT`, in bytes.

    Raises
    ------
    ConfigError
        For anything else.
    """
    if asked == QUERY:
        return "".join(f"{text}\n" for text in _answers(project, environment))
    if asked not in (INSTALL, UNINSTALL):
        raise ConfigError(
            f"-sc {asked}: completion is there for {SHELL}; say {INSTALL} or {UNINSTALL}, as in "
            f'eval "$(simstudy -sc {INSTALL})"'
        )
    return SCRIPT if asked == INSTALL else REMOVAL


def _answers(project: Project, environment: Mapping[str, str]) -> list[str]:
    """What bash puts in the place of the last word, or of its value: it breaks words at `=`."""
    typed = os.fsencode(environment.get("COMP_LINE", ""))
    point = environment.get("COMP_POINT", "")
    line = os.fsdecode(typed[: int(point) if point.isdecimal() else None])
    words = line.split()
    current = words.pop() if words and not line[-1].isspace() else ""
    is_script = bool(words) and Path(words[0]).name.startswith("python")
    with contextlib.suppress(SimstudyError):  # a tab is no place to complain
        found = candidates(words[2 if is_script else 1 :], current, project)
        is_broken = "=" in current and "=" in environment.get("COMP_WORDBREAKS", "=")
        return [text.partition("=")[2] for text in found] if is_broken else found
    return []


def candidates(before: Sequence[str], current: str, project: Project) -> list[str]:
    """Whole words that begin with what is there of the current one, in order.

    Parameters
    ----------
    before
        Words before it, without the program.
    """
    key, sign, _ = current.partition("=")
    if sign:
        words: Iterable[str] = (f"{key}={value}" for value in _values(key, before, project))
    elif current.startswith("-"):
        words = (*HELP, *SEVERAL, "--cfg=job", VERSION)
    else:
        words = [*_verbs(before), *(f"{name}=" for name in _keys(before, project))]
    return sorted({word for word in words if word.startswith(current)})


def _verbs(before: Sequence[str]) -> Iterable[str]:
    return () if before else VERBS


def _keys(before: Sequence[str], project: Project) -> list[str]:
    """Names of settings, and of the options of the experiment that is chosen."""
    own = [f"experiment.{name}" for name in _options_of(before, project)]
    return ["experiment", "scale", *(declared.name for declared in fields(Settings)), *own]


def _values(key: str, before: Sequence[str], project: Project) -> Iterable[str]:
    """What a setting may be, where these are words."""
    if key == "experiment":
        return experiment_names(project.root) if (project.root / FOLDER).is_dir() else ()
    if key in ("scale", "backend"):
        return project.options(key)
    group, _, name = key.rpartition(".")
    if group not in ("", "experiment"):
        return ()
    return (_options_of(before, project) if group else _words_of(Settings)).get(name, ())


def _options_of(before: Sequence[str], project: Project) -> dict[str, Sequence[str]]:
    """The options of the experiment that is chosen, each with the words that it may be."""
    chosen = [word.partition("=")[2] for word in before if word.startswith("experiment=")]
    return _words_of(load_experiment(chosen[-1], project.root).Config) if chosen else {}


def _words_of(config: Any) -> dict[str, Sequence[str]]:
    hints, words = typing.get_type_hints(config), dict[str, Sequence[str]]()
    for declared in fields(config):
        about = declared.metadata.get("option")
        if about is not None:
            is_bool = read_annotation(declared.name, hints[declared.name]).kind is bool
            words[declared.name] = ON_OR_OFF if is_bool else about.one_of
    return words
