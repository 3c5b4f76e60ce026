"""Edits of every day: of a script, an experiment's file, a notebook, with one worker and two.

What moves no number costs nothing, and what may move one is drawn again; nothing is refused. A
script, the module of its file and a notebook with the same text share blocks.
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


def median(x):
    return {"e": np.median(x, axis=1)}


def picture(result):
    return None


METHODS = {"welch": functools.partial(welch, factor=2.0), "median": median}


def study():
    return Study("mine", [AR1()], [mean("e")], methods=METHODS, block_size=20)
'''
FILES = {"trial.py": SCRIPT, "helpers.py": HELPERS}


@pytest.fixture(scope="module")
def folder(projects, tmp_path_factory):
    """The script after a first run, which no test draws in again."""
    folder = tmp_path_factory.mktemp("everyday")
    write(folder, FILES)
    assert projects.run(folder, folder / "out")["n_blocks"] == BOTH
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
NOTHING, ONE, BOTH = 0, 2, 4  # blocks that are drawn: of no method, of one, of both
EDITS = {
    # what runs around the study
    "print on top": (TOP, TOP + "print('begins')\n", NOTHING),
    "a filter of warnings": (
        TOP, TOP + "import warnings\nwarnings.simplefilter('ignore')\n",
        BOTH, "(what it sets at its top) is new"),
    "logging": (TOP, TOP + "import logging\nlogging.basicConfig(level=30)\n", NOTHING),
    "arguments": (
        TOP, TOP + "import argparse\nARGS = argparse.ArgumentParser().parse_args([])\n", NOTHING),
    "a loop": (END, "for seed in range(3):\n    print(seed)\n\n" + END, NOTHING),
    "a result kept by name": (END, "result = object()\nprint(result)\n" + END, NOTHING),
    "an option of pandas": (
        TOP, TOP + "import pandas as pd\npd.set_option('display.width', 99)\n", NOTHING),
    "a style of figures": (
        TOP, TOP + "import matplotlib\nmatplotlib.rcParams['font.size'] = 9\n", NOTHING),
    "another logger": ("getLogger(__name__)", "getLogger('mine')", NOTHING),
    "a lock": (TOP, TOP + "import threading\nLOCK = threading.Lock()\n", NOTHING),
    "a main block": (END, "if __name__ == '__main__':\n    print('runs')\n\n\n" + END, NOTHING),
    "an unused constant": ("SHIFT = 1.0", "OTHER = 3.0\nSHIFT = 1.0", NOTHING),
    # how it is written
    "a comment": ("    moved = ", "    # as published\n    moved = ", NOTHING),
    "a docstring": ('"""A sample."""', '"""A sample of an AR(1) process."""', NOTHING),
    "layout": ("@ WEIGHTS) + moved", "@\n                WEIGHTS)\n            + moved", NOTHING),
    "quotes": ('LOG.debug("welch")', "LOG.debug('welch')", NOTHING),
    "a type": ("SHIFT = 1.0", "SHIFT: float = 1.0", NOTHING),
    "a type of an argument": ("def median(x):", "def median(x: np.ndarray) -> dict:", NOTHING),
    "an error's text": (
        "too few rows", "at least two rows are needed", ONE, "checked has changed"),
    "the order of functions": (
        END, "def median(x):\n    return {'e': np.median(x, axis=1)}\n\n\n" + END, NOTHING),
    # what is read with the results
    "a figure": ("return None", "return 'drawn otherwise'", NOTHING),
    "a measure": ('mean("e")', 'mean("e", name="middle")', NOTHING),
    "what theory says": (
        "    def draw", "    def exact(self):\n        return {}\n\n    def draw", NOTHING),
    "a method less": (', "median": median}', "}", NOTHING),
    "a method more": (', "median"', ', "third": lambda x: {"e": x[:, 0]}, "median"', ONE),
    "another name of a method": ('"median": med', '"middle": med', ONE),
    # what may move a number
    "a constant": ("SHIFT = 1.0", "SHIFT = 2.0", ONE, "SHIFT has changed"),
    "a statement on a constant": ("LEVELS = [", "SHIFT += 2\nLEVELS = [", ONE, "SHIFT has changed"),
    "a loop over a table": (
        END, "for k in range(2):\n    LEVELS[k] += 1\n\n" + END, ONE, "LEVELS"),
    "an array in place": (END, "WEIGHTS[0] = 3.0\n" + END, ONE, "WEIGHTS has changed"),
    "a cache that begins full": ("CACHE = {}", "CACHE = {3: np.ones(3)}", ONE, "CACHE has changed"),
    "what fills a cache": ("np.arange(n) * 1.0", "np.arange(n) + 1.0", ONE, "table has changed"),
    "a method": ("+ moved", "- moved", ONE, "method welch: welch has changed"),
    "a print in a method": ("    moved = ", "    print()\n    moved = ", ONE, "welch has changed"),
    "the argument of a partial": ("factor=2.0)", "factor=3.0)", ONE),
    "a default": ("factor=1.0", "factor=1.5", ONE, "welch has changed"),
    "a scenario": ('streams("data")', 'streams("other")', BOTH, "AR1.draw has changed"),
    "a new field": (
        "    n_obs: int = 3\n", "    n_obs: int = 3\n    rho: float = 0.0\n", BOTH, "AR1"),
    "a property": (
        "    def draw", "    @property\n    def truth(self):\n        return 0.0\n\n    def draw",
        NOTHING),
    "an object of the module": ("Model(scale=3.0)", "Model(scale=4.0)", ONE, "FITTED has changed"),
    "a condition": ("if len(x) < 2", "if len(x) < 1", ONE, "checked has changed"),
}  # fmt: skip
HELPERS_EDITS = {
    "another helper": ("return x", "return -x", NOTHING),
    "a helper's docstring": ('"""Models."""', '"""Models of the study."""', NOTHING),
    "print in a helper": ('"""Models."""', '"""Models."""\nprint("loaded")', NOTHING),
    "a class of a helper": ("return 0.5", "return 0.6", ONE, "helpers.Model.shift has changed"),
}


@pytest.mark.parametrize("edit", [*EDITS, *HELPERS_EDITS])
def test_an_edit_draws_what_it_may_move_and_keeps_the_rest(edit, projects, folder):
    name = "trial.py" if edit in EDITS else "helpers.py"
    old, new, n_drawn, *said = (EDITS | HELPERS_EDITS)[edit]
    found = after(projects, folder, old, new, name)
    assert found.get("n_blocks") == n_drawn, found
    notes = found.get("notes", [])
    assert len(notes) == len(said), "work that no longer counts is named, and nothing else"
    assert all(said[0] in note and "adopt=true" in note for note in notes)


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
    assert (first["n_blocks"], second["n_blocks"]) == (BOTH, 0)
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
    assert (again.get("n_blocks"), again.get("right")) == (BOTH, True), again


@pytest.mark.slow
def test_two_workers_draw_a_class_that_a_function_defines(projects, tmp_path):
    local = "def made():\n" + textwrap.indent(SCRIPT[SCRIPT.index("@dataclass") :], "    ")
    local += "    return study()\n"
    text = SCRIPT[: SCRIPT.index("@dataclass")] + local
    write(tmp_path, FILES | {"trial.py": text})
    (found,) = projects.cells(tmp_path, "from trial import made\nanswer(made())", backend="loky")
    assert (found.get("n_blocks"), found.get("right")) == (BOTH, True), found
