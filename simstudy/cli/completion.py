"""Completion in bash."""

import contextlib
import typing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from simstudy.cli.project import FOLDER, Project, experiment_names, load_experiment
from simstudy.cli.settings import Settings
from simstudy.cli.subcommands import VERBS
from simstudy.errors import ConfigError, SimstudyError

SCRIPT = """\
_simstudy_complete() {
  local command=("$1")
  COMPREPLY=()
  if [[ $1 == *python* ]]; then
    grep -qs "simstudy.cli" "${COMP_WORDS[1]}" || return
    command+=("${COMP_WORDS[1]}")
  fi
  mapfile -t COMPREPLY < <(COMP_LINE="${COMP_LINE:0:COMP_POINT}" \\
    "${command[@]}" -sc query=bash 2>/dev/null)
  if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then compopt -o nospace; fi
}
complete -o bashdefault -o default -F _simstudy_complete simstudy python python3
"""


def shell_completion(argument: str, project: Project, environment: Mapping[str, str]) -> str:
    """The output of `-sc`: the script or, for `query=bash`, the candidates at the cursor.

    Parameters
    ----------
    environment
        Where the script says what has been typed: `COMP_LINE`.

    Raises
    ------
    ConfigError
        For another shell.
    """
    if argument == "install=bash":
        return SCRIPT
    if argument != "query=bash":
        raise ConfigError(
            f"-sc {argument}: completion is there for bash, as in "
            'eval "$(simstudy -sc install=bash)"'
        )
    line = environment.get("COMP_LINE", "")
    words = line.split()
    current = words.pop() if words and not line[-1].isspace() else ""
    is_script = bool(words) and Path(words[0]).name.startswith("python")
    found: list[str] = []
    with contextlib.suppress(SimstudyError):  # a tab is no place to complain
        found = candidates(words[2 if is_script else 1 :], current, project)
    key = current.rpartition("=")[0]  # bash breaks words at it
    return "".join(f"{text.removeprefix(f'{key}=') if key else text}\n" for text in found)


def candidates(before: Sequence[str], current: str, project: Project) -> list[str]:
    """The words that complete the current one, in order.

    Parameters
    ----------
    before
        Words before it, without the program.
    """
    experiments = experiment_names(project.root) if (project.root / FOLDER).is_dir() else []
    chosen = [word.removeprefix("experiment=") for word in before]
    names = [word for word in chosen if word in experiments]
    options = _words_of(load_experiment(names[-1], project.root).Config) if names else {}
    values: dict[str, Iterable[str]] = {
        "experiment": experiments,
        **_words_of(Settings),
        "scale": project.options("scale"),
        "backend": project.options("backend"),
        **{f"experiment.{name}": words for name, words in options.items()},
    }
    key, sign, _ = current.partition("=")
    if sign:
        words: Iterable[str] = (f"{key}={value}" for value in values.get(key, ()))
    else:
        first = () if before else VERBS
        words = [*first, *experiments * bool(before and not names), *(f"{key}=" for key in values)]
    return sorted({word for word in words if word.startswith(current)})


def _words_of(config: Any) -> dict[str, Sequence[str]]:
    """The values of each option."""
    hints, words = typing.get_type_hints(config), dict[str, Sequence[str]]()
    for each in fields(config):
        about = each.metadata.get("option")
        if about is not None:
            words[each.name] = ("true", "false") if hints[each.name] is bool else about.one_of
    return words
