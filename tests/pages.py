"""Helpers for tests of pages: extract fenced blocks and run their examples in order.

`python -m tests.pages docs/results.md docs` runs the examples of a page in a folder and saves its
figures below `figures/`, named by their variables.
"""

import os
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest
from plotnine import ggplot

from simstudy.cli.application import overrides_among
from simstudy.cli.commands import batch_script, names_file, read_arguments
from simstudy.cli.composition import compose_run
from simstudy.cli.project import COMMANDS, Project
from simstudy.engine import workers
from simstudy.figures import save_figure
from tests.support import ROOT

WITHOUT_STUDY = ("apply", "index", "list", "new", "status")


def blocks(page: Path, language: str) -> list[str]:
    """Return the blocks of a language, padded so that errors show the line of the page."""
    text = page.read_text(encoding="utf-8")
    found = re.finditer(rf"^```{language}\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    return ["\n" * text[: each.start(1)].count("\n") + each.group(1) for each in found]


def run_examples(page: Path, module: ModuleType) -> None:
    """Run the Python blocks of a page in order and in one namespace, in the current folder."""
    with in_one_process():
        for code in blocks(page, "python"):
            exec(compile(code, str(page), "exec"), vars(module))


def commands(page: Path) -> list[list[str]]:
    """Return the arguments of every call of the command line in a page."""
    lines = [line for block in blocks(page, "bash") for line in block.splitlines()]
    words = [shlex.split(line, comments=True) for line in lines]
    found = [part[2:] for part in words if part[:2] == ["python", "run.py"]]
    return found + [part[1:] for part in words if part[:1] == ["simstudy"]]


def assert_accepted(arguments: list[str]) -> None:
    """Compose a command as it would be run."""
    project = Project(ROOT, "run.py")
    verb, *rest = arguments if arguments[0] in COMMANDS else ["run", *arguments]
    if verb == "batch":
        assert batch_script(project, rest[: rest.index(">")] if ">" in rest else rest)
    elif verb == "summarize" and names_file(rest, project):
        assert read_arguments(rest)
    elif verb not in WITHOUT_STUDY:
        words = [text for text in overrides_among(rest) if "/" not in text[:20] and text != "all"]
        words = [text for text in words if not text.startswith("group=")]
        first_of_each = [_first_value(text) for text in words]
        if first_of_each:
            assert compose_run(project, first_of_each), arguments


def _first_value(text: str) -> str:
    """The first point of a sweep's override; a bare word names an experiment."""
    name, _, value = (text if "=" in text else f"experiment={text}").partition("=")
    return f"{name}={value if value.startswith('[') else value.partition(',')[0]}"


@contextmanager
def in_one_process() -> Iterator[None]:
    """Draw in this process: worker processes could not import the code of a page."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workers, "available_cores", lambda: 1)
        yield


def main(page: str, folder: str) -> None:
    path, module = Path(page).resolve(), ModuleType("page")
    sys.modules["page"] = module
    os.chdir(folder)
    run_examples(path, module)
    for name, figure in figures_of(module).items():
        if name != "figure":
            save_figure(figure, "figures", name)


def figures_of(module: ModuleType) -> dict[str, ggplot]:
    """Return the figures of a page by their variable names."""
    return {name: made for name, made in vars(module).items() if isinstance(made, ggplot)}


if __name__ == "__main__":
    main(*sys.argv[1:])
