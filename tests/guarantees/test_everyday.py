"""Edits of every day: of a script, an experiment's file, a notebook, with one worker and two.

What moves no number costs nothing, and what may move one is drawn again. A script, the module of
its file and a notebook with the same text share blocks.
"""

import textwrap

import pytest

from tests.guarantees.content import slow_but

HELPERS = '''
"""Models."""

class Model:
    """A model that is built when it is first used."""

    def __init__(self, scale=2.0):
        self.scale = scale

    def shift(self):
        return 0.5


def other(x):
    return x
'''

SCRIPT = '''
import functools
import logging
from dataclasses import dataclass

import numpy as np

import helpers
from simstudy import Study
from simstudy.measures import mean

LOG = logging.getLogger(__name__)
CACHE = {}
MODEL = None
SHIFT = 1.0
LEVELS = [1.0, 2.0]
WEIGHTS = np.ones(3)
FITTED = helpers.Model(scale=3.0)


def table(n):
    if n not in CACHE:
        CACHE[n] = np.arange(n) * 1.0
    return CACHE[n]


def model():
    global MODEL
    if MODEL is None:
        MODEL = helpers.Model()
    return MODEL


def checked(x):
    if len(x) < 2:
        raise ValueError("too few rows")
    return x


@dataclass(frozen=True)
class AR1:
    """A sample."""

    n_obs: int = 3

    def draw(self, streams, n_rep):
        return {"x": streams("data").standard_normal((n_rep, self.n_obs))}


def welch(x, factor=1.0):
    LOG.debug("welch")
    moved = table(3)[0] + model().shift() + SHIFT + LEVELS[0] + FITTED.scale
    return {"e": factor * (checked(x) @ WEIGHTS) + moved}


def picture(result):
    return None


METHODS = {"welch": functools.partial(welch, factor=2.0)}


def study():
    return Study("mine", [AR1()], [mean("e")], methods=METHODS, block_size=20)
'''
FILES = {"trial.py": SCRIPT, "helpers.py": HELPERS}


@pytest.fixture(scope="module")
def folder(projects, tmp_path_factory):
    """The script after a first run, which no test draws in again."""
    folder = tmp_path_factory.mktemp("everyday")
    write(folder, FILES)
    assert projects.run(folder, folder / "out")["n_blocks"] == 2
    return folder


def write(folder, files):
    for name, text in files.items():
        (folder / name).write_text(textwrap.dedent(text))


def after(projects, folder, old, new, name="trial.py", **order):
    assert old in FILES[name], old
    write(folder, FILES | {name: FILES[name].replace(old, new, 1)})
    try:
        return projects.run(folder, folder / "out", **order)
    finally:
        write(folder, FILES)


TOP = "import functools\n"
END = "def study():"
HARMLESS = {
    "print on top": (TOP, TOP + "print('begins')\n"),
    "logging": (TOP, TOP + "import logging\nlogging.basicConfig(level=30)\n"),
    "arguments": (TOP, TOP + "import argparse\nARGS = argparse.ArgumentParser().parse_args([])\n"),
    "a loop": (END, "for seed in range(3):\n    print(seed)\n\n" + END),
    "a result kept by name": (END, "result = object()\nprint(result)\n" + END),
    "an option of pandas": (TOP, TOP + "import pandas as pd\npd.set_option('display.width', 99)\n"),
    "a style of figures": (TOP, TOP + "import matplotlib\nmatplotlib.rcParams['font.size'] = 9\n"),
    "another logger": ("getLogger(__name__)", "getLogger('mine')"),
    "a docstring": ('"""A sample."""', '"""A sample of an AR(1) process."""'),
    "layout": ("@ WEIGHTS) + moved", "@\n                WEIGHTS)\n            + moved"),
    "quotes": ('LOG.debug("welch")', "LOG.debug('welch')"),
    "a figure": ("return None", "return 'drawn otherwise'"),
    "a measure": ('mean("e")', 'mean("e", name="middle")'),
    "what theory says": ("    def draw", "    def exact(self):\n        return {}\n\n    def draw"),
    "a lock": (TOP, TOP + "import threading\nLOCK = threading.Lock()\n"),
    "a type": ("SHIFT = 1.0", "SHIFT: float = 1.0"),
    "a main block": (END, "if __name__ == '__main__':\n    print('runs')\n\n\n" + END),
}  # fmt: skip
HELPERS_HARMLESS = {
    "another helper": ("return x", "return -x"),
    "a helper's docstring": ('"""Models."""', '"""Models of the study."""'),
    "print in a helper": ('"""Models."""', '"""Models."""\nprint("loaded")'),
}


@pytest.mark.parametrize("edit", HARMLESS)
def test_edits_that_move_no_number_cost_nothing(edit, projects, folder):
    assert after(projects, folder, *HARMLESS[edit]).get("n_blocks") == 0


@pytest.mark.parametrize("edit", HELPERS_HARMLESS)
def test_edits_of_a_helper_that_move_no_number_cost_nothing(edit, projects, folder):
    found = after(projects, folder, *HELPERS_HARMLESS[edit], name="helpers.py")
    assert found.get("n_blocks") == 0, found


MOVES = {
    "a constant": ("SHIFT = 1.0", "SHIFT = 2.0", "SHIFT has changed"),
    "a statement on a constant": ("LEVELS = [", "SHIFT += 2\nLEVELS = [", "SHIFT has changed"),
    "a loop over a table": (END, "for k in range(2):\n    LEVELS[k] += 1\n\n" + END, "LEVELS"),
    "an array in place": (END, "WEIGHTS[0] = 3.0\n" + END, "WEIGHTS has changed"),
    "a cache that begins full": ("CACHE = {}", "CACHE = {3: np.ones(3)}", "CACHE has changed"),
    "what fills a cache": ("np.arange(n) * 1.0", "np.arange(n) + 1.0", "table has changed"),
    "a method": ("+ moved", "- moved", "welch has changed"),
    "the argument of a partial": ("factor=2.0)}", "factor=3.0)}", ""),
    "a default": ("factor=1.0", "factor=1.5", "welch has changed"),
    "a scenario": ('streams("data")', 'streams("other")', "AR1.draw has changed"),
    "an object of the module": ("Model(scale=3.0)", "Model(scale=4.0)", "FITTED has changed"),
    "an error's text": ("too few rows", "at least two are needed", "checked has changed"),
    "a filter of warnings": (
        TOP, TOP + "import warnings\nwarnings.simplefilter('ignore')\n",
        "(what it sets at its top) is new"),
    "a condition": ("if len(x) < 2", "if len(x) < 1", "checked has changed"),
}  # fmt: skip


@pytest.mark.parametrize("edit", MOVES)
def test_edits_that_move_numbers_are_drawn_again_by_name(edit, projects, folder):
    old, new, said = MOVES[edit]
    found = after(projects, folder, old, new)
    assert found["n_blocks"] > 0
    assert [said in note and "adopt=true" in note for note in found.get("notes", [])] == [
        True
    ] * bool(said), found


def test_a_class_of_a_helper_counts(projects, folder):
    found = after(projects, folder, "return 0.5", "return 0.6", name="helpers.py")
    assert "helpers.Model.shift has changed" in found["notes"][0]


# ---------------------------------------------------------------- script, module, notebook
def test_a_script_and_the_module_of_its_file_share_blocks(projects, folder):
    assert projects.run(folder, folder / "out", script=True)["n_blocks"] == 0


def test_a_notebook_with_the_same_text_shares_them_and_may_run_its_cells_again(projects, folder):
    cells = [SCRIPT, "answer(study())", SCRIPT, "print(1)\nresult = answer(study())", END + "\n"
             "    return Study('mine', [AR1()], [mean('e')], methods=METHODS, block_size=20)\n",
             "answer(study())"]  # fmt: skip
    found = projects.cells(folder, *cells)
    assert [answer.get("n_blocks") for answer in found] == [0, 0, 0], found


CELL = """
from dataclasses import dataclass

import numpy as np

from simstudy import Study
from simstudy.measures import mean


@dataclass(frozen=True)
class Normal:
    def draw(self, streams, n_rep):
        return {"x": streams("data").normal(size=(n_rep, 5))}


"""
METHOD = """
def root(x):
    return {"e": np.sqrt(x.mean(axis=1) ** 2)}
"""
ITS_STUDY = """
study = Study("mine", [Normal()], [mean("e")], methods={"root": root}, block_size=20)
answer(study)
"""


def test_a_function_may_move_from_the_cell_with_the_imports_to_its_own(projects, tmp_path):
    """Python compiles `np.sqrt(...)` in two ways, with and without the import beside it."""
    commented = METHOD.replace("    return", "    # of the mean\n    return")
    found = projects.cells(tmp_path, CELL + METHOD, ITS_STUDY, commented, ITS_STUDY)
    assert [answer.get("n_blocks") for answer in found] == [2, 0], found


IN_ONE_PROCESS = """
first = answer(study())
print(first)
answer(study())
"""


def test_a_script_that_runs_twice_goes_on(projects, tmp_path):
    write(tmp_path, FILES)
    first, second = projects.cells(tmp_path, SCRIPT, IN_ONE_PROCESS)
    assert (first["n_blocks"], second["n_blocks"]) == (2, 0)
    assert second["right"]


@pytest.mark.parametrize("form", slow_but("module", of=("module", "cells")))
def test_two_workers_draw_what_caches_loggers_and_late_models_use(form, projects, tmp_path):
    """The run's own first block fills the cache; workers begin with an empty one."""
    write(tmp_path, FILES)
    start = "from trial import *" if form == "module" else SCRIPT
    drawn, again = projects.cells(
        tmp_path, start, "answer(study(), backend='inline', out='one')\nanswer(study())",
        backend="loky",
    )  # fmt: skip
    assert drawn["right"]
    assert (again.get("n_blocks"), again.get("right")) == (2, True), again


@pytest.mark.slow
def test_two_workers_draw_a_class_that_a_function_defines(projects, tmp_path):
    local = "def made():\n" + textwrap.indent(SCRIPT[SCRIPT.index("@dataclass") :], "    ")
    local += "    return study()\n"
    text = SCRIPT[: SCRIPT.index("@dataclass")] + local
    write(tmp_path, FILES | {"trial.py": text})
    (found,) = projects.cells(tmp_path, "from trial import made\nanswer(made())", backend="loky")
    assert (found.get("n_blocks"), found.get("right")) == (2, True), found
