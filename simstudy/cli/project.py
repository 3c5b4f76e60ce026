"""A project: a folder with `experiments/` and `conf/`, and its studies."""

import ast
import contextlib
import importlib
import os
import re
import shlex
import sys
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from simstudy.errors import (
    BrokenExperimentError,
    ConfigError,
    NotHereError,
    SimstudyError,
    describe,
    how_to_install,
    nearest,
)
from simstudy.options import read_settings as read_settings

PACKAGE_CONF = Path(__file__).parent / "conf"  # a project's own files go ahead of these
FOLDER = "experiments"
RESULTS = "results"
TEMPLATE = Path(__file__).parent / "template"
FIRST_STUDY = "proportion_interval"
COMMANDS = (
    "run", "new", "list", "status", "plan", "why", "batch", "summarize", "verify", "replay",
    "protocol", "index", "clean", "apply",
)  # fmt: skip
"""Commands; `run` belongs to Hydra, all others to Typer."""
STUDY = "study"  # the file of a folder that declares `Config` and `study`


@dataclass(frozen=True)
class Project:
    """A project: its folder, and the script that runs it.

    Parameters
    ----------
    root
        The folder that holds `experiments/` and `conf/`.
    script
        Its `run.py`, where that was called; None for the command `simstudy`.
    """

    root: Path
    script: str | None = None

    @classmethod
    def of(cls, script: str | None) -> "Project":
        """The project of a `run.py`, or of the current folder."""
        return cls(Path.cwd() if script is None else Path(script).resolve().parent, script)

    def command(self, verb: str) -> str:
        """The words before the settings; a project's script needs no verb to run."""
        program = program_name(self.script)
        return program if self.script and verb == "run" else f"{program} {verb}"

    @property
    def conf(self) -> Path:
        """The folder of published settings and config overrides."""
        return self.root / "conf"

    def experiments(self) -> list[str]:
        """The names of the experiments, in order; none if there is no folder of experiments."""
        return experiment_names(self.root) if (self.root / FOLDER).is_dir() else []

    def options(self, group: str) -> list[str]:
        """The names in a config group, of the project and the package."""
        folders = (self.conf / group, PACKAGE_CONF / group)
        found = {path.stem for folder in folders for path in folder.glob("*.yaml")}
        own = experiment_files(self.root) if group == "experiment" else ()
        return sorted(found.union(own))


def program_name(script: str | None) -> str:
    """How to call a project's script from the current folder, or `simstudy`."""
    if script is None:
        return "simstudy"
    path = Path(script).resolve()
    is_here = os.path.exists(path.name) and os.path.samefile(path.name, path)
    return f"python {path.name if is_here else shlex.quote(str(path))}"


def check_encoding(texts: Sequence[str]) -> None:
    """Refuse arguments that are not valid text in the locale's encoding."""
    if any("\ud800" <= letter <= "\udfff" for text in texts for letter in text):
        raise ConfigError(
            f"{' '.join(texts)} has letters that the locale's encoding, "
            f"{sys.getfilesystemencoding()}, does not know: type LC_ALL=C.UTF-8, or PYTHONUTF8=1, "
            "before the command"
        )


# ---------------------------------------------------------------- experiments
def experiment_names(root: Path) -> list[str]:
    """The names of the experiments, in order."""
    return sorted(experiment_files(root))


def experiment_files(root: Path) -> dict[str, Path]:
    """The file that declares each experiment; files in folders go before others of their name.

    Raises
    ------
    ConfigError
        If the project has no folder `experiments/`.
    """
    folder = root / FOLDER
    if not folder.is_dir():
        raise ConfigError(
            f"{root} has no folder {FOLDER}/, so there is no study to run. Go to the folder of a "
            "project, or lay one out: simstudy new my-study"
        )
    found = {path.stem: path for path in folder.glob("[!_]*.py")}
    for path in folder.glob("[!_]*/[!_]*.py"):
        if path.stem == STUDY:
            found[path.parent.name] = path
        elif not (path.parent / f"{STUDY}.py").exists():  # a folder of several experiments
            found[path.stem] = path
    return {name: path for name, path in found.items() if name.replace("-", "_").isidentifier()}


def question_of(path: Path) -> str:
    """The first line of an experiment's docstring, without importing it."""
    try:
        text = ast.get_docstring(ast.parse(path.read_bytes())) or ""
    except (SyntaxError, ValueError, OSError) as error:
        return f"cannot be read: {describe(error)}"
    return text.partition("\n")[0]


def load_experiment(name: str, root: Path) -> ModuleType:
    """Import an experiment, which has `Config` and `study`.

    Raises
    ------
    ConfigError
        If no experiment has this name; `BrokenExperimentError` if importing it raises an error or
        it declares no study.
    """
    files = experiment_files(root)
    if name not in files:
        raise ConfigError(f"experiment={name}: no such experiment; {nearest(name, files)}")
    path = files[name]
    sys.path[:0] = [] if str(root) in sys.path else [str(root)]
    dotted = ".".join(path.relative_to(root).with_suffix("").parts)  # workers can import it too
    with in_own_code(path, root, f"experiment={name} cannot be imported"):
        _refuse_hidden(importlib.import_module(FOLDER), root)
        module = importlib.import_module(dotted)
    config = getattr(module, "Config", None)
    if not (hasattr(module, "study") and isinstance(config, type) and is_dataclass(config)):
        raise BrokenExperimentError(
            f"{path.relative_to(root)}: an experiment declares Config, a @dataclass of its "
            "options, and study(config), which gives the Study. Begin the name of a file that is "
            "not an experiment with _."
        )
    return module


@contextlib.contextmanager
def in_own_code(path: Path, root: Path, what: str) -> Iterator[None]:
    """Context that adds file and line to errors of an experiment's code.

    Parameters
    ----------
    what
        The failed step, such as `Config cannot be made`.
    """
    try:
        yield
    except SimstudyError:
        raise
    except (Exception, SystemExit) as error:
        text = f"{what}: {_place(error, path, root)} raised {describe(error)}. "
        from simstudy.engine.error_policy import lacks_library

        if lacks_library(error):
            remedy = how_to_install(error) or "Install it, or mend that line."
            raise NotHereError(text + remedy) from error
        raise BrokenExperimentError(text + "Mend that line, then run this again.") from error


def _refuse_hidden(package: ModuleType, root: Path) -> None:
    """Refuse a folder without `__init__.py` that a package of the same name hides."""
    folders = [Path(part).resolve() for part in package.__path__]
    if (root / FOLDER).resolve() not in folders:
        raise ConfigError(
            f"{root / FOLDER} is hidden by the package {FOLDER} in {folders[0]}: put an empty file "
            f"__init__.py into {FOLDER}/, and load one project in a process."
        )


def _place(error: BaseException, path: Path, root: Path) -> str:
    """The file of the project, and its line, that raised an error."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [(Path(frame.filename), frame.lineno) for frame in frames]
    if isinstance(error, SyntaxError) and error.filename:
        lines.append((Path(error.filename), error.lineno))
    ours = [(file, line) for file, line in lines if file.is_relative_to(root / FOLDER)]
    file, line = ours[-1] if ours else (path, None)
    return f"{file.relative_to(root)}" + (f", line {line}," if line else "")


# ---------------------------------------------------------------- a new project
def lay_out(name: str) -> str:
    """Create a project in a new folder; returns the next steps.

    Raises
    ------
    ConfigError
        If the name is not valid, the folder is not empty, or it cannot be written.
    """
    folder = Path(name)
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name):
        near = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-_") or "my-study"
        raise ConfigError(
            f"{name!r} is not a name for a project: use letters, digits, - and _, and begin with a "
            f"letter or digit, for example simstudy new {near}"
        )
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise ConfigError(
            f"{folder} exists and is not empty, and nothing in it is to be overwritten. Choose "
            "another name, or move it away."
        )
    try:
        for path in sorted(TEMPLATE.rglob("*.txt")):
            target = folder / path.relative_to(TEMPLATE).with_suffix("")
            target.parent.mkdir(parents=True, exist_ok=True)
            text = path.read_text(encoding="utf-8").replace("{name}", name)
            target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"cannot write a project to {folder}: {error.strerror}. Choose another name, or a "
            "folder that you may write to."
        ) from None
    return (
        f"{name}/ holds a project with one study. Next: cd {name}, then "
        f"simstudy run experiment={FIRST_STUDY}, and python -m pytest"
    )


# ---------------------------------------------------------------- groups of experiments
GROUPS_FOLDER = "group"
ALL = "all"  # the group that every project has: all of its experiments


def members(name: str, project: Project) -> list[str]:
    """The experiments of a group, in order.

    Raises
    ------
    ConfigError
        If no group has this name, or its file is not valid.
    """
    if name == ALL:
        return experiment_names(project.root)
    return [each for part in read_group(name, project) for each in part["experiments"]]


def read_group(name: str, project: Project) -> list[dict[str, Any]]:
    """Read the parts of a group from its file: `title`, `experiments`, and `page` if any.

    Raises
    ------
    ConfigError
        If no group has this name, or its file names an experiment twice or one that does not exist.
    """
    known = project.options(GROUPS_FOLDER)
    if name not in known:
        raise ConfigError(f"group={name}: no such group; {nearest(name, [ALL, *known])}")
    where = f"conf/{GROUPS_FOLDER}/{name}.yaml"
    parts: Any = read_settings(project.root / where).get("parts")
    try:
        names = [each for part in parts for each in part["experiments"] if part["title"]]
    except (KeyError, TypeError):
        raise ConfigError(
            f"{where}: parts is {parts!r}: write a list, each with title and experiments, and page "
            "if any"
        ) from None
    available = experiment_names(project.root)
    for each in names:
        if each not in available:
            near = nearest(each, available)
            raise ConfigError(f"{where}: no such experiment as {each}; {near}")
        if (count := names.count(each)) > 1:
            raise ConfigError(f"{where}: {each} is listed {count} times: leave it in one part")
    return list(parts)


def default_group(project: Project) -> str:
    """The default group: as in `conf/config.yaml`, or all experiments."""
    return str(read_settings(project.conf / "config.yaml").get(GROUPS_FOLDER, ALL))


def part_of(experiment: str, project: Project) -> dict[str, Any] | None:
    """The part of a group that has an experiment, for its manifest; None if there is none.

    The project's own group goes before the others, which follow by name; so it does not depend
    on the command. A file that cannot be read has no parts here: it is refused where it is asked
    for, and one experiment needs no group.

    Returns
    -------
    dict
        `group`, `title`, `page` (empty, if there is none), and `order`: the place of the part in
        its group and of the experiment in its part, from 1.
    """
    own = default_group(project)
    for name in sorted(project.options(GROUPS_FOLDER), key=lambda name: (name != own, name)):
        with contextlib.suppress(ConfigError):
            for place, part in enumerate(read_group(name, project), 1):
                if experiment in part["experiments"]:
                    order = [place, part["experiments"].index(experiment) + 1]
                    page = part.get("page", "")
                    return {"group": name, "title": part["title"], "page": page, "order": order}
    return None
