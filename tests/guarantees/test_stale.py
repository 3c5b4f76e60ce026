"""Blocks of other code are drawn again, and those of other versions compared; a line says so."""

import importlib
import shutil
import sys
import warnings
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from simstudy import load, publish
from simstudy.errors import StudyError
from simstudy.measures import mean
from simstudy.provenance import modules
from simstudy.provenance.modules import forget_modules
from simstudy.store.block_files import PROVENANCE_KEY
from simstudy.store.compaction import clean
from simstudy.store.files import name_by_content
from simstudy.store.runs import BlockTimings, RunRecord
from simstudy.study import Rules, Study, stored_blocks
from tests.factories import Mean, Notes
from tests.guarantees.content import assert_same_result, content
from tests.support import INLINE

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

    def load(self):
        for name, source in self.sources.items():
            (self.folder / f"{name}.py").write_text(source)
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        forget_modules()
        return importlib.import_module("stale_trial")

    def study(self, **settings):
        trial = self.load().Trial
        settings = {"block_size": 20} | settings
        return Study(name="stale", scenarios=[trial(3)], measures=[mean("x")], **settings)


@pytest.fixture
def written(tmp_path, monkeypatch):
    folder = tmp_path / "code"
    folder.mkdir()
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(folder)
    yield Written(folder)
    for name in ("stale_kernel", "stale_trial", "stale_moved"):
        sys.modules.pop(name, None)


@pytest.fixture
def first(written, tmp_path):
    """The first run, whose results are then stale."""
    return written.study().run(50, out=tmp_path / "out", **INLINE)


def run_noted(study, out, n_rep=50, **settings):
    notes = Notes()
    return study.run(n_rep, out=out, **INLINE, progress=notes, **settings), notes.said


def test_changed_code_is_drawn_again_and_counts_again_when_it_is_as_it_was(
    written, first, tmp_path
):
    written.edit("stale_kernel", "SCALE = 2.0", "SCALE = 3.0")
    changed, (note,) = run_noted(written.study(), tmp_path / "out")
    assert changed.outcome.n_blocks == 3
    assert note.startswith("changed since 3 stored blocks were drawn: Trial: ")
    assert "stale_kernel.SCALE has changed" in note
    assert "adopt=true" in note
    assert "\n" not in note
    assert_same_result(changed, written.study().run(50, out=tmp_path / "fresh", **INLINE))
    again, none = run_noted(written.study(), tmp_path / "out")
    assert (again.outcome.n_blocks, none) == (0, [])
    written.edit("stale_kernel", "SCALE = 3.0", "SCALE = 2.0")
    back, none = run_noted(written.study(), tmp_path / "out")
    assert (back.outcome.n_blocks, none) == (0, [])
    assert_same_result(back, first)


def test_without_a_progress_display_the_line_is_a_warning(written, first, tmp_path):
    written.edit("stale_kernel", "SCALE = 2.0", "SCALE = 3.0")
    with pytest.warns(UserWarning, match="changed since 3 stored blocks") as warned:
        written.study().run(50, out=tmp_path / "out", **INLINE)
    assert {each.filename for each in warned} == {__file__}


@pytest.mark.parametrize(
    ("seconds", "said"), [(12.34, "(12.3 core-seconds)"), (9000.0, "(2.5 core hours)")]
)
def test_the_line_says_how_much_work_no_longer_counts(
    seconds, said, written, first, tmp_path, monkeypatch
):
    spent = {"key": BlockTimings(3, seconds - 1, 1.0)}
    monkeypatch.setattr(stored_blocks, "read_records", lambda *_: RunRecord(spent))
    written.edit("stale_kernel", "SCALE = 2.0", "SCALE = 3.0")
    _, (note,) = run_noted(written.study(), tmp_path / "out")
    assert said in note


SETTINGS = {
    "block size": ({"block_size": 25}, {}),
    "seed": ({}, {"seed": 2}),
    "common random numbers": ({"rules": Rules(common_random_numbers=("n_obs",))}, {}),
    "missing values": ({"rules": Rules(may_be_missing=("x",))}, {}),
}


@pytest.mark.parametrize("change", SETTINGS)
def test_other_settings_share_the_store_and_are_never_mixed(change, written, first, tmp_path):
    declared, given = SETTINGS[change]
    other = written.study(**declared).run(50, out=tmp_path / "out", **INLINE, **given)
    assert other.outcome.n_blocks >= 2
    alone = written.study(**declared).run(50, out=tmp_path / "alone", **INLINE, **given)
    assert_same_result(other, alone)
    again = written.study().run(50, out=tmp_path / "out", **INLINE)
    assert again.outcome.n_blocks == 0
    assert_same_result(again, first)


def set_later_numpy(monkeypatch):
    library = modules.library_version
    monkeypatch.setattr(
        modules, "library_version", lambda top: "9.9" if top == "numpy" else library(top)
    )


@pytest.fixture
def other_numpy(first, monkeypatch):
    set_later_numpy(monkeypatch)


def test_blocks_of_other_versions_count_once_a_sample_agrees(written, first, other_numpy, tmp_path):
    again, (note,) = run_noted(written.study(), tmp_path / "out")
    assert again.outcome.n_blocks == 0
    assert f"numpy was {np.__version__} and is 9.9" in note
    assert "1 of 3 were drawn again and compared, and agree to 1e-9" in note
    assert_same_result(again, first)
    longer, none = run_noted(written.study(), tmp_path / "out", 90)
    assert (longer.outcome.n_blocks, none) == (2, []), "compared once; new blocks stand beside"
    assert publish(longer).folder == longer.folder
    shown = load(longer.folder)
    assert len(shown.replicates) == 90, "blocks of both versions are read"
    redrawn, _ = run_noted(written.study(), tmp_path / "out", 90, redraw=True)
    names = sorted(path.name for path in (longer.folder / "replicates").glob("*.parquet"))
    assert redrawn.outcome.n_blocks == 5
    assert run_noted(written.study(), tmp_path / "out", 90)[0].outcome.n_blocks == 0
    again = sorted(path.name for path in (longer.folder / "replicates").glob("*.parquet"))
    assert again == names, "files are not written again and again"
    looked = written.study().partial_result(90, out=tmp_path / "out")
    assert looked.outcome.warnings == []


def test_blocks_of_other_versions_that_differ_are_drawn_again(
    written, first, other_numpy, tmp_path, monkeypatch
):
    study = written.study()
    monkeypatch.setattr(
        stored_blocks, "compare_blocks",
        lambda other, blocks, *_: {block.key: "x by 1.0e-07" for block in blocks},
    )  # fmt: skip
    again, (note,) = run_noted(study, tmp_path / "out")
    assert again.outcome.n_blocks == 3
    assert "different in Trial(n_obs=3) (x by 1.0e-07), so all blocks" in note
    once_more, none = run_noted(study, tmp_path / "out")
    assert (once_more.outcome.n_blocks, none) == (0, [])


DRIFT = """
def drift():
    with open(PATH) as file:
        return float(file.read())
"""


def test_a_declared_tolerance_holds_for_versions(written, tmp_path, monkeypatch):
    """A library whose later version gives slightly other numbers: here, a file does."""
    drift = tmp_path / "drift"
    drift.write_text("0")
    written.edit("stale_kernel", "SCALE = 2.0", f"PATH = {str(drift)!r}\nSCALE = 2.0\n{DRIFT}")
    written.edit("stale_kernel", "    return SCALE * np", "    return (2 + drift()) * np")
    study = written.study(rules=Rules(rtol={"x": 1e-6}))

    def compared(study, folder, n_rep=50, **settings):
        result, notes = run_noted(study, tmp_path / folder, n_rep, **settings)
        (note,) = (text for text in notes if "drawn again" in text)
        return result.outcome.n_blocks, note

    run_noted(study, tmp_path / "out")
    drift.write_text("1e-7")
    run_noted(study, tmp_path / "out", redraw=True)
    drift.write_text("2e-7")
    set_later_numpy(monkeypatch)
    shutil.copytree(tmp_path / "out", tmp_path / "strict")
    n_drawn, note = compared(study, "out")
    assert n_drawn == 0
    assert "agree to 1e-9, x to 1e-06, so all count" in note
    n_drawn, note = compared(written.study(), "strict")
    assert n_drawn == 3
    assert "x by 5.0e-08" in note
    n_drawn, note = compared(study, "strict", 90)
    assert "1 of 3 were drawn again" in note, "compared once for each tolerance"
    assert n_drawn == 2


def test_the_manifest_names_all_versions_that_drew(written, first, other_numpy, tmp_path):
    again, _ = run_noted(written.study(), tmp_path / "out", 90)
    (other,) = load(again.folder).manifest["compared"]
    assert other["versions"]["numpy"] == np.__version__
    assert (other["units"], other["units_compared"], other["blocks_compared"]) == (1, 1, 1)


def test_blocks_that_do_not_say_what_made_them_are_not_used(written, first, tmp_path):
    """As an earlier version of this software wrote them."""
    folder = first.details.store.files.path
    unsigned = []
    for path in folder.glob("*.parquet"):
        table = pq.read_table(path)
        said = {**table.schema.metadata, PROVENANCE_KEY: b"stale, seed 1, blocks of 20"}
        pq.write_table(table.replace_schema_metadata(said), folder / "stale")
        with (folder / "stale").open("rb") as file:
            unsigned.append((folder / "stale").rename(folder / name_by_content(file)))
        path.unlink()
    again = written.study().run(50, out=tmp_path / "out", **INLINE)
    assert again.outcome.n_blocks == 3
    assert all(path.exists() for path in unsigned)


def test_one_scenarios_change_does_not_cost_anothers_blocks(written, first, tmp_path):
    axes = {"method": ("t", "z")}
    both = replace(written.study(axes=axes), measures=[])
    both = replace(both, scenarios=[Mean(3), *both.scenarios])
    both.run(40, out=tmp_path / "two", **INLINE)
    written.edit("stale_kernel", "np.mean(x", "np.median(x")
    changed = replace(both, scenarios=[Mean(3), *written.study(axes=axes).scenarios])
    again, (note,) = run_noted(changed, tmp_path / "two", 40)
    assert "stale_kernel.centre has changed" in note
    assert again.outcome.n_blocks == 2


HELPER = """
def centre(x):
    return x.mean(axis=1)
"""
METHODS = """
from dataclasses import dataclass

import numpy as np

from stale_kernel import centre


@dataclass(frozen=True)
class Trial:
    n_obs: int

    def draw(self, streams, n_rep):
        return {"x": streams("data").standard_normal((n_rep, self.n_obs))}


def average(x):
    return {"x": centre(x)}


def doubled(x):
    return {"x": 2 * centre(x)}


def median(x):
    return {"x": np.median(x, axis=1)}
"""
N_REP, N_BLOCKS = 60, 3  # in each of two scenarios


@pytest.fixture
def methods(written, tmp_path):
    """Three methods, of which two share a helper, after a first run."""
    written.sources = {"stale_kernel": HELPER, "stale_trial": METHODS}
    assert run_methods(written, tmp_path).outcome.n_blocks == 3 * 2 * N_BLOCKS
    return written


def run_methods(written, tmp_path, **settings):
    trial = written.load()
    functions = (trial.average, trial.doubled, trial.median)
    study = Study(
        "stale",
        [trial.Trial(3), trial.Trial(5)],
        measures=[mean("x")],
        methods={function.__name__: function for function in functions},
        block_size=20,
    )
    return study.run(N_REP, out=tmp_path / "out", **INLINE, **settings)


def test_what_a_helper_touches_is_named_and_drawn_again_and_no_more(methods, tmp_path):
    methods.edit("stale_kernel", "x.mean(axis=1)", "x.mean(axis=1) + 1")
    notes = Notes()
    again = run_methods(methods, tmp_path, progress=notes)
    assert again.outcome.n_blocks == 2 * 2 * N_BLOCKS
    (note,) = notes.said
    assert "method average: stale_kernel.centre has changed; method doubled: " in note
    assert "median" not in note
    assert run_methods(methods, tmp_path).outcome.n_blocks == 0


@pytest.mark.parametrize("redraw", [["average", "doubled"], "[average, doubled]"])
def test_methods_are_drawn_again_on_request(redraw, methods, tmp_path):
    again = run_methods(methods, tmp_path, redraw=redraw, progress=Notes())
    assert again.outcome.n_blocks == 2 * 2 * N_BLOCKS
    assert run_methods(methods, tmp_path).outcome.n_blocks == 0


def test_what_does_not_repeat_is_replaced(written, tmp_path):
    written.edit("stale_trial", "from dataclasses", "import time\nfrom dataclasses")
    written.edit("stale_trial", '"x": centre(x)', '"x": centre(x) + time.time() % 1')
    first = written.study().run(50, out=tmp_path / "out", **INLINE).replicates
    again, _ = run_noted(written.study(), tmp_path / "out", redraw=True)
    assert again.outcome.n_blocks == 3
    assert not again.replicates.equals(first)
    kept, _ = run_noted(written.study(), tmp_path / "out")
    assert kept.replicates.equals(again.replicates)


def rows_of(result):
    return [result.rows(scenario) for scenario in result.plan.scenarios]


def test_a_refactoring_is_adopted_after_one_block_of_each(methods, tmp_path):
    """The helper goes to another module under another name, and is written otherwise."""
    before = run_methods(methods, tmp_path)
    methods.sources["stale_moved"] = HELPER.replace("centre", "middle").replace(
        "x.mean(", "x.mean(\n        "
    )
    methods.edit("stale_trial", "from stale_kernel import centre", "from stale_moved import middle")
    methods.sources["stale_trial"] = methods.sources["stale_trial"].replace("centre(", "middle(")
    notes = Notes()
    after = run_methods(methods, tmp_path, adopt=True, progress=notes)
    assert after.outcome.n_blocks == 0
    assert [text for text in notes.said if "4 of 12 were drawn again" in text]
    for old, new in zip(rows_of(before), rows_of(after), strict=True):
        pd.testing.assert_frame_equal(old, new, check_exact=True)
    assert run_methods(methods, tmp_path).outcome.n_blocks == 0, "it is this code's from now on"
    (adopted,) = load(after.folder).manifest["compared"]
    assert "stale_kernel.centre is gone; stale_moved.middle is new" in adopted["changed"]
    assert (adopted["units"], adopted["units_compared"], adopted["blocks_compared"]) == (4, 4, 4)
    assert len(load(after.folder).replicates) == len(after.replicates)


def test_adopted_blocks_count_for_both_codes_and_new_ones_stand_beside(written, first, tmp_path):
    before, after = "SCALE * np.mean(x, axis=axis)", "np.mean(x, axis=axis) * SCALE"
    written.edit("stale_kernel", before, after)
    adopted, _ = run_noted(written.study(), tmp_path / "out", adopt=True)
    assert adopted.outcome.n_blocks == 0
    assert content(adopted) == content(first)
    assert adopted.details.spent == first.details.spent, "timings are adopted with their blocks"
    longer, _ = run_noted(written.study(), tmp_path / "out", 90)
    assert longer.outcome.n_blocks == 2
    assert len(load(longer.folder).replicates) == 90, "blocks of both codes are read"
    assert clean(longer.folder, older_than=0).n_blocks == 0
    written.edit("stale_kernel", after, before)
    back, _ = run_noted(written.study(), tmp_path / "out")
    assert back.outcome.n_blocks == 0
    assert_same_result(back, first)


def test_of_several_earlier_codes_the_one_that_agrees_is_adopted(written, first, tmp_path):
    for factor in ("3.0", "5.0", "7.0"):
        written.sources["stale_kernel"] = KERNEL.replace("return SCALE * ", f"return {factor} * ")
        assert run_noted(written.study(), tmp_path / "out")[0].outcome.n_blocks == 3
    for factor in ("5.0", "2.0"):  # of the runs above, and of the first
        written.sources["stale_kernel"] = KERNEL.replace(
            "SCALE * np.mean(x, axis=axis)", f"np.mean(x, axis=axis) * {factor}"
        )
        again, notes = run_noted(written.study(), tmp_path / "out", adopt=True)
        assert again.outcome.n_blocks == 0, notes
        assert "agree to 1e-9, so all count" in notes[-1]


def test_a_filter_that_makes_warnings_errors_ends_no_run(written, first, tmp_path, capsys):
    written.edit("stale_kernel", "SCALE = 2.0", "SCALE = 3.0")
    study = written.study()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = study.run(50, out=tmp_path / "out", **INLINE)
        assert warnings.filters[0][0] == "error"
    assert again.outcome.n_blocks == 3
    assert "changed since 3 stored blocks were drawn" in capsys.readouterr().err


@dataclass(frozen=True)
class Normal:
    def draw(self, streams, n_rep):
        return {"x": streams("data").normal(size=n_rep)}


def same(x):
    return {"e": x}


def opposite(x):
    return {"e": -x}


def test_functions_that_change_places_are_told_apart(tmp_path):
    names = [{"a": same, "b": opposite}, {"a": opposite, "b": same}]
    studies = [Study("s", [Normal()], [mean("e")], methods=each, block_size=20) for each in names]
    results = [run_noted(study, tmp_path)[0] for study in studies]
    assert [result.outcome.n_blocks for result in results] == [6, 6]
    stored = load(results[1].folder).replicates
    np.testing.assert_array_equal(stored["e"], results[1].replicates["e"])
    np.testing.assert_array_equal(stored["e"], -results[0].replicates["e"])
    assert clean(results[1].folder, older_than=0).n_blocks == 6


def test_a_method_that_differs_is_named_and_drawn_again_and_the_others_are_kept(methods, tmp_path):
    methods.edit("stale_kernel", "x.mean(axis=1)", "(1 + 1e-15) * x.mean(axis=1)")
    methods.edit("stale_trial", "2 * centre(x)", "(2 + 1e-7) * centre(x)")
    notes = Notes()
    after = run_methods(methods, tmp_path, adopt=True, progress=notes)
    assert after.outcome.n_blocks == 2 * N_BLOCKS, "last bits are no other numbers"
    assert "method doubled of Trial(n_obs=3) (x by 5.0e-08)" in notes.said[0]
    assert "average of" not in notes.said[0]


def test_a_column_of_an_iterative_method_agrees_to_its_own_tolerance(written, first, tmp_path):
    written.edit("stale_kernel", "SCALE * np.mean(x, axis=axis)", "2.0000001 * x.mean(axis=axis)")
    strict, (note,) = run_noted(written.study(), tmp_path / "out", adopt=True)
    assert strict.outcome.n_blocks == 3
    assert "different in Trial(n_obs=3) (x by 5.0e-08)" in note
    written.edit("stale_kernel", "2.0000001", "2.0000002")
    for tolerance, n_drawn in ({"y": 1e-6}, 3), ({"x": 1e-6}, 0):
        out = tmp_path / str(n_drawn)
        shutil.copytree(tmp_path / "out", out)
        study = written.study(rules=Rules(rtol=tolerance))
        assert run_noted(study, out, adopt=True)[0].outcome.n_blocks == n_drawn


@pytest.mark.parametrize("rtol", [{"x": 1}, {"x": -1e-9}, {"x": "1e-6"}, 1e-6, {"x": float("nan")}])
def test_a_tolerance_that_is_none_is_refused(rtol, written):
    with pytest.raises(StudyError, match=r"rtol=.* is not allowed: must be the relative"):
        written.study(rules=Rules(rtol=rtol))


def test_other_settings_are_never_adopted(written, first, tmp_path):
    study = written.study(block_size=25)
    assert study.run(50, out=tmp_path / "out", **INLINE, adopt=True).outcome.n_blocks == 2


def test_a_fix_that_matters_in_a_failed_replicate_alone_is_not_adopted(written, tmp_path):
    """Blocks with failures are compared, wherever they lie."""
    old = 'return {"x": centre(x)}'
    guarded = (
        'return {"x": centre(x), "error": np.where((streams.block == 7) & (np.arange(n_rep) == 3), '
        '"no fit", None)}'
    )
    written.edit("stale_trial", old, guarded)
    written.edit("stale_trial", "from dataclasses", "import numpy as np\nfrom dataclasses")
    first = written.study().run(400, out=tmp_path / "out", **INLINE)
    assert first.n_failed == 1
    written.edit("stale_trial", "== 7", "== 99")
    again, (note,) = run_noted(written.study(), tmp_path / "out", 400, adopt=True)
    assert "different in Trial(n_obs=3) (error, x), so" in note
    assert again.outcome.n_blocks == 20


def test_looking_is_never_refused(written, first, tmp_path, monkeypatch):
    written.edit("stale_trial", 'streams("data")', 'streams("other")')
    monkeypatch.setattr(modules, "library_version", lambda top: "0.1")
    with pytest.warns(UserWarning, match="stored blocks are of other code or libraries"):
        shown = written.study().partial_result(50, out=tmp_path / "out")
    pd.testing.assert_frame_equal(shown.summary, first.summary)
    (said,) = shown.outcome.warnings
    assert said.startswith("stored blocks are of other code or libraries: Trial: ")


def test_what_a_study_depends_on_is_listed(written):
    found = written.study().depends_on()
    assert set(found["of"]) == {"Trial"}
    names = {"Trial", "Trial.simulate", "stale_kernel.SCALE", "stale_kernel.centre", "numpy"}
    assert names <= set(found["name"])
    assert "stale_kernel.unused" not in set(found["name"])


def test_blocks_of_a_shard_are_counted_whatever_their_gaps(written, tmp_path):
    written.study().run(200, out=tmp_path / "out", shard="2/3", **INLINE)
    written.edit("stale_kernel", "SCALE = 2.0", "SCALE = 3.0")
    _, (note,) = run_noted(written.study(), tmp_path / "out", 200)
    assert note.startswith("changed since 3 stored blocks were drawn: ")


def test_later_blocks_of_other_versions_are_compared_too(written, first, tmp_path, monkeypatch):
    with monkeypatch.context() as later:
        set_later_numpy(later)
        run_noted(written.study(), tmp_path / "out", 90)
    longer, (note,) = run_noted(written.study(), tmp_path / "out", 90)
    assert "1 of 2 were drawn again and compared, and agree" in note
    assert longer.outcome.n_blocks == 0


def test_another_default_of_a_field_is_named_and_not_adopted(written, tmp_path):
    written.edit("stale_trial", "    n_obs: int\n", "    n_obs: int\n    shift: float = 0.5\n")
    written.edit("stale_trial", '"x": centre(x)', '"x": centre(x) + self.shift')
    written.study().run(50, out=tmp_path / "out", **INLINE)
    written.edit("stale_trial", "shift: float = 0.5", "shift: float = 0.6")
    again, (note,) = run_noted(written.study(), tmp_path / "out", adopt=True)
    assert again.outcome.n_blocks == 3
    assert "the scenario's shift=0.5 is gone; the scenario's shift=0.6 is new" in note
    assert "adopt=true keeps blocks of other code, not of other fields, defaults or data" in note
