"""Completion in bash."""

from dataclasses import fields

from simstudy.cli.project import FOLDER, Project, experiment_names
from simstudy.cli.settings import Settings
from simstudy.cli.subcommands import VERBS
from simstudy.errors import ConfigError

SCRIPT = """\
_simstudy_complete() {
  mapfile -t COMPREPLY < <(compgen -W "$(simstudy -sc query=bash 2>/dev/null)" -- "$2")
  if [[ ${COMPREPLY[0]} == *= ]]; then compopt -o nospace; fi
}
complete -o bashdefault -o default -F _simstudy_complete simstudy
"""


def shell_completion(argument: str, project: Project) -> str:
    """The output of `-sc`: the script or, for `query=bash`, the words that it completes.

    These are the commands, the studies, the settings and their values. bash takes what follows `=`
    for a word of its own.

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
    words = {*VERBS, *project.options("scale"), *project.options("backend"), "experiment="}
    words |= {*(experiment_names(project.root) if (project.root / FOLDER).is_dir() else ())}
    for each in fields(Settings):
        words |= {f"{each.name}=", *getattr(each.metadata.get("option"), "one_of", ())}
    return "\n".join([*sorted(words), ""])
