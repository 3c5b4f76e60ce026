"""A project: a folder with `experiments/` and `conf/`, and its studies."""

import ast
import contextlib
import importlib
import shlex
import sys
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, is_dataclass
from itertools import takewhile
from pathlib import Path
from types import ModuleType
from typing import Any

from simstudy import errors
from simstudy.errors import ConfigError, nearest
from simstudy.options import read_settings

PACKAGE_CONF = Path(__file__).parent / "conf"  # a project's own files go ahead of these
FOLDER = "experiments"
TEMPLATE = Path(__file__).parent / "template"
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
        if self.script is None:
            return f"simstudy {verb}"
        path = Path(self.script).resolve()
        shown = path.name if path.parent == Path.cwd() else str(path)
        program = f"python {shlex.quote(shown)}"
        return program if verb == "run" else f"{program} {verb}"

    def resume_command(self, verb: str, arguments: Sequence[str]) -> str:
        """The command that continues this one, without drawing stored blocks again."""
        kept = [text for text in arguments if not text.lstrip("+").startswith("redraw=")]
        return " ".join([self.command(verb), *map(shlex.quote, kept)])

    @property
    def conf(self) -> Path:
        """The folder of published settings and config overrides."""
        return self.root / "conf"

    def options(self, group: str) -> list[str]:
        """The names in a config group, of the project and the package."""
        folders = (self.conf / group, PACKAGE_CONF / group)
        found = {path.stem for folder in folders for path in folder.glob("*.yaml")}
        own = experiment_files(self.root) if group == "experiment" else ()
        return sorted(found.union(own))


def parse_words(arguments: Sequence[str]) -> dict[str, str]:
    """Values by name from NAME=VALUE words.

    Raises
    ------
    ConfigError
        For a setting without a value.
    """
    values = dict[str, str]()
    for text in arguments:
        name, _, value = text.lstrip("+").partition("=")
        if not value:
            raise ConfigError(f"{text} has no value: leave {name} out, or write {name}=VALUE")
        values[name] = value
    return values


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
        advice = "go to the folder of a project, or make one: simstudy new NAME"
        raise ConfigError(f"{root} has no folder {FOLDER}/, so there is no study to run: {advice}")
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
        return f"cannot be read: {errors.describe(error)}"
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
        module = importlib.import_module(dotted)
    config = getattr(module, "Config", None)
    if not (hasattr(module, "study") and isinstance(config, type) and is_dataclass(config)):
        text = "an experiment declares Config, a @dataclass of its options, and study(config)"
        advice = "Begin the name of a file that is no experiment with _"
        raise errors.BrokenExperimentError(f"{path.relative_to(root)}: {text}. {advice}.")
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
    except errors.SimstudyError:
        raise
    except (Exception, SystemExit) as error:
        text = f"{what}: {_place(error, path, root)} raised {errors.describe(error)}. "
        from simstudy.engine.error_policy import lacks_library

        if lacks_library(error):
            remedy = errors.how_to_install(error) or "Install it, or mend that line."
            raise errors.NotHereError(text + remedy) from error
        raise errors.BrokenExperimentError(text + "Mend that line, then run this again.") from error


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
        If the folder is not empty.
    """
    folder = Path(name)
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise ConfigError(f"{folder} exists and is not empty: choose another name, or move it away")
    for path in sorted(TEMPLATE.rglob("*.txt")):
        target = folder / path.relative_to(TEMPLATE).with_suffix("")
        target.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text(encoding="utf-8").replace("{name}", folder.name)
        target.write_text(text, encoding="utf-8")
    steps = "simstudy run experiment=proportion_interval, and python -m pytest"
    return f"{name}/ holds a project with one study. Next: cd {shlex.quote(name)}, then {steps}"


# ---------------------------------------------------------------- groups of experiments
GROUPS_FOLDER = "group"
MULTIRUN = ("-m", "--multirun")
ALL = "all"  # the group that every project has: all of its experiments


def members(name: str, project: Project) -> list[str]:
    """The experiments of a group, in order.

    Raises
    ------
    ConfigError
        If no group has this name.
    """
    if name == ALL:
        return experiment_names(project.root)
    return [each for part in read_group(name, project) for each in part["experiments"]]


def read_group(name: str, project: Project) -> list[dict[str, Any]]:
    """Read the parts of a group from its file: `title`, `experiments`, and `page` if any.

    Raises
    ------
    ConfigError
        If no group has this name.
    """
    known = project.options(GROUPS_FOLDER)
    if name not in known:
        raise ConfigError(f"group={name}: no such group; {nearest(name, [ALL, *known])}")
    return list(read_settings(project.conf / GROUPS_FOLDER / f"{name}.yaml")["parts"])


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
        with contextlib.suppress(ConfigError, LookupError, TypeError):
            for place, part in enumerate(read_group(name, project), 1):
                if experiment in part["experiments"]:
                    order = [place, part["experiments"].index(experiment) + 1]
                    page = part.get("page", "")
                    return {"group": name, "title": part["title"], "page": page, "order": order}
    return None


def with_experiments(arguments: Sequence[str], project: Project) -> list[str]:
    """Turn leading words into `experiment=`, and `all` into the experiments of the group.

    Flags follow the overrides, since argparse takes no overrides after them.
    """
    rest = [text for text in arguments if text not in MULTIRUN and not text.startswith("group=")]
    is_sweep = any(text in MULTIRUN for text in arguments)
    names = list(takewhile(lambda text: "=" not in text and text[:1] not in "-~", rest))
    known = project.options("experiment") if names else []
    for word in set(names) - {*known, ALL}:
        near = nearest(word, [*COMMANDS, *known])
        raise ConfigError(f"{word!r} is no command and no experiment; {near}")
    overrides = [text for text in rest if text[:1] == "~" or ("=" in text and text[0] != "-")]
    flags = [text for text in rest[len(names) :] if text not in overrides]
    if names == [ALL]:
        groups = [text.partition("=")[2] for text in arguments if text.startswith("group=")]
        names, is_sweep = members((groups or [default_group(project)])[-1], project), True
    named = [f"experiment={','.join(names)}"] if names else []
    return [*MULTIRUN[:1] * (is_sweep or len(names) > 1), *named, *overrides, *flags]
