"""Pages as the tests read them: their fenced blocks, and their examples run as in a notebook.

`python -m tests.pages docs/reading_figures.md docs` runs the examples of a page in a folder, and
draws anew under `figures/` what the page saves there, or leaves as a figure of some name.
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
    """Each below so many blank lines that errors name the line of the page."""
    text = page.read_text(encoding="utf-8")
    found = re.finditer(rf"^```{language}\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    return ["\n" * text[: each.start(1)].count("\n") + each.group(1) for each in found]


def run_examples(page: Path, module: ModuleType) -> None:
    """The Python blocks of a page in order, in the current folder, each in the names before it."""
    with in_one_process():
        for code in blocks(page, "python"):
            exec(compile(code, str(page), "exec"), vars(module))


@contextmanager
def in_one_process() -> Iterator[None]:
    """Runs as on a machine of one core: another process could not import a page, or a cell."""
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
    """Figures that a page has made, by the names that it has given them."""
    return {name: made for name, made in vars(module).items() if isinstance(made, ggplot)}


if __name__ == "__main__":
    main(*sys.argv[1:])
