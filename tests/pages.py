"""Helpers for tests of pages: extract fenced blocks and run their examples in order.

`python -m tests.pages docs/figures.md` runs the examples of a page and draws its pictures in
`docs/figures/` anew, with the numbers behind them in `docs/figures/drawn.json`.
"""

import json
import os
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from plotnine import ggplot

from simstudy.analysis.result import Result
from simstudy.cli.commands import batch_script
from simstudy.cli.project import COMMANDS, Project
from simstudy.cli.settings import compose_run
from simstudy.engine import workers
from simstudy.figures import save_figure
from tests.support import ROOT

DRAWN = ROOT / "docs/figures/drawn.json"  # the numbers behind the pictures
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
    lines = [line for block in blocks(page, "bash") for line in block.splitlines()]
    words = [shlex.split(line, comments=True) for line in lines]
    found = [part[2:] for part in words if part[:2] == ["python", "run.py"]]
    return found + [part[1:] for part in words if part[:1] == ["simstudy"]]


def assert_accepted(arguments: list[str]) -> None:
    project = Project(ROOT, "run.py")
    verb, *rest = arguments if arguments[0] in COMMANDS else ["run", *arguments]
    if verb == "batch":
        assert batch_script(project, rest[: rest.index(">")] if ">" in rest else rest)
    elif verb not in WITHOUT_STUDY:
        words = [text for text in rest if "/" not in text[:20] and text not in ("all", "job")]
        words = [text for text in words if not text.startswith(("-", "group=", "install="))]
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


def pictures_of(page: Path) -> list[str]:
    return re.findall(r"\]\((?:docs/)?figures/(\w+)\.png\)", page.read_text(encoding="utf-8"))


def figures_of(module: ModuleType) -> dict[str, ggplot]:
    """Return the figures of a page by name: those of its variables and of its `result`.

    The figure of a result is named by study and figure. The last `figure` is what the page saves
    under a name of its own.
    """
    made = {name: made for name, made in vars(module).items() if isinstance(made, ggplot)}
    result = vars(module).get("result")
    if not isinstance(result, Result):
        return made
    names = result.details.figures
    return made | {f"{result.plan.name}_{name}": result.figure(name) for name in names}


def figure_behind(picture: str, module: ModuleType) -> ggplot:
    made = figures_of(module)
    return made[picture] if picture in made else made["figure"]


def numbers_behind(figure: ggplot) -> dict[str, object]:
    """Describe what a figure draws: its texts, and a number for each column of its data.

    The number changes with any value of the column and with their order.
    """
    frames = [figure.data, *(layer._data for layer in figure.layers)]
    frames = [frame for frame in frames if isinstance(frame, pd.DataFrame)]
    texts = {name: getattr(figure.labels, name, None) for name in ("x", "y", "caption")}
    found: dict[str, object] = {
        name: " ".join(text.split()) for name, text in texts.items() if text
    }
    for at, frame in enumerate(frames):
        for name in frame:
            found[f"{at}.{name}"] = _number_of(frame[name])
    return found


def _number_of(column: pd.Series) -> float:
    if not pd.api.types.is_numeric_dtype(column):
        column = column.astype(str).map(lambda text: float(sum(map(ord, text))))
    values = np.nan_to_num(column.to_numpy(float), posinf=1.0, neginf=-1.0)
    return float(values @ np.sqrt(np.arange(1.0, len(values) + 1)))


def main(page: str) -> None:
    path, module = Path(page).resolve(), ModuleType("page")
    sys.modules["page"] = module
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        run_examples(path, module)
    known = json.loads(DRAWN.read_text(encoding="utf-8")) if DRAWN.exists() else {"numbers": {}}
    for picture in pictures_of(path):
        figure = figure_behind(picture, module)
        saved = save_figure(figure, DRAWN.parent, picture)
        saved.svg.unlink()
        known["numbers"][picture] = numbers_behind(figure)
    written = json.dumps(known, indent=1, ensure_ascii=False)
    DRAWN.write_text(written + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
