"""Helpers for tests of pages: extract fenced blocks and run their examples in order.

`python -m tests.pages docs/results.md docs` runs the examples of a page in a folder and saves its
figures below `figures/`, named by their variables.
"""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest
from plotnine import ggplot

from simstudy.engine import workers
from simstudy.figures import save_figure


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
