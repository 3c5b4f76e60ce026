"""What is loaded counts, not what a file says by now: notebooks, edits under a run, workers.

A notebook's process lives long: helpers are redefined, constants change, files are edited with and
without being loaded again. Workers import for themselves. Whatever happens, stored numbers are
those of the code that the run says it had.
"""

from pathlib import Path

import pytest

from tests.guarantees.content import slow_but

FIRST = """
from dataclasses import dataclass
import numpy as np
from simstudy import Study
from simstudy.measures import mean

SCALE = 2.0
WEIGHTS = np.ones(3)
TABLE = {'a': 1.0}
LIMITS = [1.0, 2.0]

def helper(x):
    return (x @ WEIGHTS) * SCALE * TABLE['a'] * LIMITS[0]

@dataclass(frozen=True)
class Trial:
    n_obs: int = 3

    def simulate(self, streams, n_rep):
        x = streams('data').standard_normal((n_rep, self.n_obs)) + 1
        return {'x': helper(x)}

study = Study('cells', [Trial()], [mean('x')], block_size=20)
answer(study)
answer(study)
"""


CELLS = {
    "a function": "def helper(x):\n    return x.max(axis=1)",
    "a constant": "SCALE = 3.0",
    "an array": "WEIGHTS = np.array([1.0, 2.0, 3.0])",
    "an array, in place": "WEIGHTS[0] = 7.0",
    "a table, in place": "TABLE['a'] = 5.0",
    "a list, in place": "LIMITS[0] = 4.0",
    "the class": FIRST[FIRST.index("@dataclass") :].split("study =")[0].replace("+ 1", "+ 2"),
    "a frame": "import pandas as pd\nWEIGHTS = pd.Series([1.0, 5.0, 3.0]).to_numpy()",
    "a library's function": "np.dot = np.vdot\nSCALE = np.float64(9.0)",
    "a lambda": "helper = lambda x: x.min(axis=1)",
    "a closure": "def make(c):\n    return lambda x: c * x.min(axis=1)\nhelper = make(4.0)",
    "an instance": "class Gen:\n    def __call__(self, x):\n        return x.min(axis=1)\n"
                   "helper = Gen()",
}  # fmt: skip


@pytest.mark.parametrize("change", slow_but("a function", "an array, in place", of=CELLS))
def test_a_cell_that_changes_something_makes_stored_numbers_stale(change, projects, tmp_path):
    again = "study = Study('cells', [Trial()], [mean('x')], block_size=20)\nanswer(study)"
    first, same, after = projects.cells(tmp_path, FIRST, CELLS[change], again)
    assert (first["n_blocks"], first["right"]) == (2, True)
    assert (same["n_blocks"], same["right"]) == (0, True), "nothing changed"
    assert (after["n_blocks"], after["right"]) == (2, True), after


HARMLESS = {
    "another function": "def other(x):\n    return x",
    "another constant": "OTHER = 5",
    "the same function again": "def helper(x):\n    # as before\n    return (x @ WEIGHTS) * SCALE "
                               "* TABLE['a'] * LIMITS[0]",
    "the same constant again": "SCALE = 2.0",
    "the same array again": "WEIGHTS = np.ones(3)",
}  # fmt: skip


@pytest.mark.parametrize("change", slow_but("the same function again", of=HARMLESS))
def test_a_cell_that_changes_nothing_costs_nothing(change, projects, tmp_path):
    *_, after = projects.cells(tmp_path, FIRST, HARMLESS[change], "answer(study)")
    assert (after["n_blocks"], after["right"]) == (0, True)


@pytest.mark.slow
def test_a_notebook_opened_again_goes_on(projects, tmp_path):
    projects.cells(tmp_path, FIRST)
    first, _ = projects.cells(tmp_path, FIRST)
    assert (first["n_blocks"], first["right"]) == (0, True)


HELPER = "SCALE = 2.0\ndef gen(x):\n    return x.mean(axis=1) * SCALE\n"
USES = """
import importlib, sys
from pathlib import Path
from dataclasses import dataclass
import helpers
from simstudy import Study
from simstudy.measures import mean

@dataclass(frozen=True)
class Trial:
    def simulate(self, streams, n_rep):
        return {'x': helpers.gen(streams('data').standard_normal((n_rep, 3)) + 1)}

def study():
    return Study('cells', [Trial()], [mean('x')], block_size=20)

def edit(old, new):
    path = Path('helpers.py')
    path.write_text(path.read_text().replace(old, new))
    importlib.invalidate_caches()
"""


def with_helpers(folder: Path) -> Path:
    (folder / "helpers.py").write_text(HELPER)
    return folder


def test_a_file_that_is_edited_and_not_loaded_again_does_not_count(projects, tmp_path):
    """What runs is still the old code, and stored numbers are its own."""
    edit = "edit('mean', 'max')\nanswer(study())\nanswer(study(), out='other')"
    first, after, other = projects.cells(with_helpers(tmp_path), USES, "answer(study())", edit)
    assert (after["n_blocks"], after["right"]) == (0, True)
    assert other["estimate"] == first["estimate"]
    (new,) = projects.cells(tmp_path, USES, "answer(study(), out='other')")
    assert new["n_blocks"] == 2
    assert new["estimate"] != first["estimate"]


@pytest.mark.slow
def test_workers_do_not_draw_with_a_file_that_was_edited_meanwhile(projects, tmp_path):
    (after,) = projects.cells(
        with_helpers(tmp_path), USES, "edit('mean', 'max')\nanswer(study(), backend='loky')"
    )
    assert "workers load other code than this run began with" in after["refused"]
    assert "helpers.gen has changed" in after["refused"]
    assert not list(tmp_path.glob("out/cells/replicates/*.parquet"))


@pytest.mark.slow
def test_workers_do_not_draw_with_a_constant_that_only_this_process_changed(projects, tmp_path):
    (after,) = projects.cells(
        with_helpers(tmp_path), USES, "helpers.SCALE = 5.0\nanswer(study(), backend='loky')"
    )
    assert "helpers.SCALE has changed" in after["refused"]
    (threads,) = projects.cells(
        with_helpers(tmp_path), USES, "helpers.SCALE = 5.0\nanswer(study(), backend='threads')"
    )
    assert (threads["n_blocks"], threads["right"]) == (2, True)


@pytest.mark.slow
def test_workers_of_an_earlier_run_are_not_used_for_other_code(projects, tmp_path):
    """joblib keeps its workers for minutes: those that imported the old helpers must go."""
    edit = "edit('mean', 'max')\nimportlib.reload(helpers)\n"
    first, second = projects.cells(
        with_helpers(tmp_path), USES, "answer(study())",
        edit + "answer(study(), out='other')", backend="loky",
    )  # fmt: skip
    assert (first["n_blocks"], first["right"]) == (2, True)
    assert (second["n_blocks"], second["right"]) == (2, True)
    assert second["estimate"] != first["estimate"]


SLOW = (
    HELPER
    + """
import os
import time

def wait(block):
    if block == 3 and os.path.exists('next.py'):  # the fourth block: workers are at it
        os.rename('next.py', 'helpers.py')
    time.sleep(0.05)
"""
)


@pytest.mark.parametrize("backend", ["inline", "threads", "loky"])
@pytest.mark.slow
def test_a_file_that_is_edited_under_a_run(backend, projects, tmp_path):
    """The run ends with the code that it began with, or says that it cannot; no mixture."""
    (tmp_path / "helpers.py").write_text(SLOW)
    (tmp_path / "next.py").write_text(SLOW.replace("mean", "max"))
    uses = USES.replace("        return {", "        helpers.wait(streams.block)\n        return {")
    uses = uses.replace("block_size=20", "block_size=2")
    (first,) = projects.cells(tmp_path, uses, "answer(study())", backend=backend)
    assert first.get("right") or "workers load other code" in first["refused"]
    (after,) = projects.cells(tmp_path, uses, "answer(study())", backend="inline")
    assert after["right"]
    assert "helpers.gen has changed" in after["notes"][0]


AGAIN = "study = Study('cells', [Trial()], [mean('x')], block_size=20)\n"


@pytest.mark.slow
def test_a_run_in_workers_leaves_this_process_as_it_was(projects, tmp_path):
    """What comes back from workers must not bring copies of this process's own classes."""
    redefined = (
        "def helper(x):\n    return x.max(axis=1)\nanswer(study)\nanswer(study, out='other')"
    )
    first = FIRST.replace("answer(study)\nanswer(study)\n", "answer(study, backend='loky')\n")
    drawn, after, other = projects.cells(tmp_path, first, redefined)
    assert (drawn["n_blocks"], drawn["right"]) == (2, True)
    assert (after["n_blocks"], after["right"]) == (2, True)
    assert other["estimate"] == after["estimate"] != drawn["estimate"]


CONFIGURED = "P = {'c': 1.0}\ndef configure(**k):\n    P.update(k)\n"


@pytest.mark.parametrize("backend", ["inline", "loky"])
@pytest.mark.slow
def test_a_setting_that_only_this_process_has_is_not_lost_in_workers(backend, projects, tmp_path):
    (tmp_path / "conf.py").write_text(CONFIGURED)
    cell = "import conf\nconf.configure(c=3.0)\n" + FIRST.replace("SCALE *", "conf.P['c'] *")
    said = projects.cells(tmp_path, cell, backend=backend)[0]
    assert said.get("right") or "conf.P has changed" in said["refused"], said


REMEMBERED = {
    "a cache over a helper": (
        "import functools\ndef c():\n    return 2.0\n@functools.cache\ndef t():\n    return c()\n",
        "t()", "def c():\n    return 3.0"),
    "a helper's constant in machine code": (
        "import numba\nC = 2.0\n@numba.njit\ndef c():\n    return C\n@numba.njit\ndef t():\n"
        "    return c()\n", "t()", "C = 3.0"),
    "a helper in machine code": (
        "import numba\n@numba.njit\ndef c():\n    return 2.0\n@numba.njit\ndef t():\n"
        "    return c()\n", "t()", "@numba.njit\ndef c():\n    return 3.0"),
}  # fmt: skip


@pytest.mark.parametrize("case", slow_but("a cache over a helper", of=REMEMBERED))
def test_nothing_remembers_what_other_code_computed(case, projects, tmp_path):
    start, value, change = REMEMBERED[case]
    uses = FIRST.replace("SCALE *", f"{value} *")
    first, same, after, new = projects.cells(
        tmp_path, start + uses, change, AGAIN + "answer(study)\nanswer(study, out='other')"
    )
    assert (same["n_blocks"], same["right"]) == (0, True)
    assert (after["n_blocks"], after["right"]) == (2, True)
    assert after["estimate"] == new["estimate"]
    assert new["estimate"] == pytest.approx(1.5 * first["estimate"])


MEMORIES = {
    "a table": ("M = {}\ndef t(n):\n    return M.setdefault(n, 2.0)\n", "t(3)"),
    "a name": ("M = None\ndef t(n):\n    global M\n    M = M or [2.0]\n    return M[0]\n", "t(3)"),
    "a default": ("def t(n, m={}):\n    return m.setdefault(n, 2.0)\n", "t(3)"),
    "an attribute": (
        "def t(n):\n    t.m = getattr(t, 'm', {})\n    return t.m.setdefault(n, 2.0)\n", "t(3)"),
    "a counter": ("N = [0]\ndef t(n):\n    N[0] += 1\n    return 2.0\n", "t(3)"),
}  # fmt: skip


@pytest.mark.parametrize("memory", slow_but("a table", of=MEMORIES))
def test_what_a_run_itself_remembers_is_no_change(memory, projects, tmp_path):
    start, value = MEMORIES[memory]
    first, same = projects.cells(tmp_path, start + FIRST.replace("SCALE *", f"{value} *"))
    assert (first["n_blocks"], first["right"]) == (2, True)
    assert (same["n_blocks"], same["right"]) == (0, True)
