"""What other code, settings or libraries computed is refused, with what changed and the ways on."""

import importlib
import sys
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from simstudy.engine.workers import Workers
from simstudy.errors import StoreError
from simstudy.identity.fingerprint.modules import libraries
from simstudy.identity.fingerprint.modules.places import forget_modules
from simstudy.measures import mean
from simstudy.measures.proportions import proportion
from simstudy.store.files import Folder
from simstudy.store.header import OWNER_KEY
from simstudy.store.write import write_tables
from simstudy.study import Study
from tests.guarantees.content import assert_same_result, content
from tests.toy import Mean

WAYS_ON = "Keep both with another out=..., or start over with restart=true."
INLINE = Workers("inline", 1)

KERNEL = '''
"""Arrays in, arrays out."""
import numpy as np

SCALE = 2.0


def centre(x, axis=1):
    """The middle of each row."""
    return SCALE * np.mean(x, axis=axis)


def unused(x):
    return x
'''

TRIAL = '''
from dataclasses import dataclass

from stale_kernel import centre


@dataclass(frozen=True)
class Trial:
    """One trial."""

    n_obs: int

    def simulate(self, streams, n_rep):
        x = streams("data").standard_normal((n_rep, self.n_obs))
        return {"x": centre(x)}

    def exact(self):
        return {"mean_x": 0.0}
'''


class Written:
    """A study in two files that can be rewritten, as an editor would between two runs."""

    def __init__(self, folder):
        self.folder = folder
        self.sources = {"stale_kernel": KERNEL, "stale_trial": TRIAL}

    def edit(self, module, old, new):
        assert old in self.sources[module]
        self.sources[module] = self.sources[module].replace(old, new)

    def study(self, **settings):
        for name, source in self.sources.items():
            (self.folder / f"{name}.py").write_text(source)
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        forget_modules()
        trial = importlib.import_module("stale_trial").Trial
        settings = {"block_size": 20} | settings
        return Study(name="stale", scenarios=[trial(3)], measures=[mean("x")], **settings)


@pytest.fixture
def written(tmp_path, monkeypatch):
    folder = tmp_path / "code"
    folder.mkdir()
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(folder)
    yield Written(folder)
    for name in ("stale_kernel", "stale_trial"):
        sys.modules.pop(name, None)


@pytest.fixture
def first(written, tmp_path):
    """The first run, whose results are then stale."""
    return written.study().run(50, out=tmp_path / "out", workers=INLINE)


def assert_refused(study, out, what, **settings):
    """Refused in one line that says what changed, and nothing on disk is touched."""
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    with pytest.raises(StoreError) as refused:
        study.run(50, out=out, workers=INLINE, **settings)
    said = str(refused.value)
    assert what in said
    assert said.endswith(WAYS_ON)
    assert "\n" not in said
    after = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert after == before


CHANGES = {
    "the scenario": ("stale_trial", 'streams("data")', 'streams("other")', "stale_trial.Trial has"),
    "a constant": ("stale_kernel", "SCALE = 2.0", "SCALE = 3.0", "stale_kernel.SCALE has changed"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changed_code_is_refused(change, written, first, tmp_path):
    module, old, new, said = CHANGES[change]
    written.edit(module, old, new)
    assert_refused(written.study(), tmp_path / "out", said)


HARMLESS = {
    "a comment": ("stale_kernel", "SCALE = 2.0", "# twice as large\nSCALE = 2.0  # or so"),
    "another function": ("stale_kernel", "    return x\n", "    return 2 * x\n"),
    "what theory says": ("stale_trial", '{"mean_x": 0.0}', '{"mean_x": 1.0}'),
}  # fmt: skip


@pytest.mark.parametrize("change", HARMLESS)
def test_what_no_number_depends_on_may_change(change, written, first, tmp_path):
    written.edit(*HARMLESS[change])
    again = written.study().run(50, out=tmp_path / "out", workers=INLINE)
    assert again.outcome.n_blocks == 0
    assert content(again) == content(first)


def test_another_measure_needs_no_new_replicates(written, first, tmp_path):
    study = replace(written.study(), measures=[mean("x", name="middle")])
    assert study.run(50, out=tmp_path / "out", workers=INLINE).outcome.n_blocks == 0


def keep_moments(study, out, **settings):
    return study.run(60, out=out, workers=INLINE, keep="summary", **settings)


def test_moments_of_changed_measures_are_refused(written, tmp_path):
    """Where no replicates are kept, other measures need other blocks."""
    first = [mean("x"), rejection_below(0.1)]
    keep_moments(replace(written.study(), measures=first), tmp_path)
    again = [mean("x"), rejection_below(0.1)]
    assert keep_moments(replace(written.study(), measures=again), tmp_path).outcome.n_blocks == 0
    fewer = keep_moments(replace(written.study(), measures=[mean("x")]), tmp_path)
    assert fewer.outcome.n_blocks == 0
    for measures, said in (
        ([rejection_below(0.2)], "measure below has changed"),
        ([mean("y", name="mean_x")], "measure mean_x has changed"),
        ([mean("x"), mean("x", name="other")], "measure other is new"),
    ):
        study = replace(written.study(), measures=measures)
        with pytest.raises(StoreError, match=f"{said}.*restart=true"):
            keep_moments(study, tmp_path)


def rejection_below(limit):
    return proportion("below", ("x",), lambda columns: columns["x"] < limit)


SETTINGS = {
    "block size": ({"block_size": 25}, {}, "block_size was 20 and is 25"),
    "seed": ({}, {"seed": 2}, "seed was 1 and is 2"),
    "common random numbers": ({"common": ("n_obs",)}, {}, "common was [] and is ['n_obs']"),
    "axes": ({"axes": {"method": ("a",)}}, {}, "axes was {} and is {'method': ['a']}"),
    "missing values": ({"may_be_missing": ("x",)}, {}, "may_be_missing was [] and is ['x']"),
}


@pytest.mark.parametrize("change", SETTINGS)
def test_changed_settings_are_refused(change, written, first, tmp_path):
    declared, given, said = SETTINGS[change]
    assert_refused(written.study(**declared), tmp_path / "out", said, **given)


def test_another_version_of_a_library_is_refused(written, first, tmp_path, monkeypatch):
    import numpy

    monkeypatch.setattr(libraries, "library_version", lambda top: "0.1")
    said = f"numpy was {numpy.__version__} and is 0.1"
    assert_refused(written.study(), tmp_path / "out", said)


def test_everything_that_changed_is_said_at_once(written, first, tmp_path):
    written.edit("stale_kernel", "np.mean(x", "np.median(x")
    study = written.study(block_size=25)
    assert_refused(study, tmp_path / "out", "block_size was 20 and is 25; stale_kernel.centre has")


# ---------------------------------------------------------------- the ways on


def test_restart_starts_over_and_deletes_nothing_else(written, first, tmp_path):
    note = tmp_path / "out" / "stale" / "note.txt"
    note.write_text("mine")
    written.edit("stale_kernel", "np.mean(x", "np.median(x")
    again = written.study().run(50, out=tmp_path / "out", workers=INLINE, restart=True)
    assert again.outcome.n_blocks == 3
    assert_same_result(again, written.study().run(50, out=tmp_path / "fresh", workers=INLINE))
    assert note.read_text() == "mine"
    resumed = written.study().run(50, out=tmp_path / "out", workers=INLINE)
    assert resumed.outcome.n_blocks == 0


def test_blocks_that_do_not_say_what_made_them_are_refused(written, first, tmp_path):
    """As an earlier version of this software wrote them."""
    (path,) = first.store.files.path.glob("*.parquet")
    table = pq.read_table(path)
    said = {**table.schema.metadata, OWNER_KEY: b"stale, seed 1, blocks of 20"}
    path.unlink()
    unsigned = path.parent / write_tables(
        Folder(path.parent), table.schema.with_metadata(said), [table]
    )
    assert_refused(written.study(), tmp_path / "out", "its files do not say what made them")
    again = written.study().run(50, out=tmp_path / "out", workers=INLINE, restart=True)
    assert again.outcome.n_blocks == 3
    assert not unsigned.exists()


def test_one_scenarios_change_does_not_cost_anothers_blocks(written, first, tmp_path):
    """What is refused is the scenario whose code changed; the others' blocks are as good as new."""
    axes = {"method": ("t", "z")}
    both = replace(written.study(axes=axes), measures=[])
    both = replace(both, scenarios=[Mean(3), *both.scenarios])
    both.run(40, out=tmp_path / "two", workers=INLINE)
    written.edit("stale_kernel", "np.mean(x", "np.median(x")
    changed = replace(both, scenarios=[Mean(3), *written.study(axes=axes).scenarios])
    assert_refused(changed, tmp_path / "two", "stale_kernel.centre has changed")
    alone = replace(both, scenarios=[Mean(3)])
    assert alone.run(40, out=tmp_path / "two", workers=INLINE).outcome.n_blocks == 0


# ---------------------------------------------------------------- from the command line
