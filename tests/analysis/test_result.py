"""A result: frames and arrays of what was drawn, as copies, and of a run that is going on."""

import gc
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import plotnine as p9
import pytest

from simstudy import load, publish
from simstudy.analysis.result import Result
from simstudy.design import grid, scenario_key
from simstudy.engine.progress import Silent
from simstudy.errors import FigureError, SimstudyError, StoreError
from simstudy.figures import measure_curves
from simstudy.measures import mean
from simstudy.store import compaction
from simstudy.store.compaction import compact
from simstudy.store.files import Folder
from simstudy.study import Study
from tests.engine.test_methods import some
from tests.engine.test_methods import study as of_methods
from tests.factories import INTERVALS, Mean, flaky_study, mean_study
from tests.support import INLINE


@pytest.fixture(scope="module")
def result():
    return mean_study((3, 10)).run(120, **INLINE)


@dataclass(frozen=True)
class Fragile:
    """The first method fails now and then, the whole replicate less often."""

    k: float

    def simulate(self, streams, n_rep):
        x = streams("data").random((n_rep, 2))
        error = np.full((n_rep, 2), None, dtype=object)
        error[x[:, 0] < 0.1, 0] = "no root"
        error[x[:, 1] < 0.05] = "no data"
        return {"x": x, "error": error, "single": x[:, 0]}


def fragile():
    axes = {"method": ("a", "b")}
    return Study("fragile", grid(Fragile, k=[0, 1]), [mean("x")], axes=axes, block_size=40)


def test_a_result_is_shown_in_a_few_lines(result):
    assert repr(result).splitlines()[:5] == [
        "Result of toy: 2 scenarios of Mean",
        "  n_obs = 3, 10; truth = 0.0",
        "  method: t, z",
        "  measures: bias, coverage, empirical_se",
        "  120 replicates of each scenario, none failed; seed 1",
    ]
    failing = fragile().run(80, **INLINE)
    assert f"80 replicates of each scenario, {failing.n_failed} failed" in repr(failing)


def test_replicates_are_tidy(result):
    rows = result.replicates
    assert len(rows) == 2 * 120 * 2
    assert list(rows)[:4] == ["n_obs", "truth", "rep", "method"]
    assert set(rows) >= {"estimate", "lower", "upper"}
    for one in result.plan.scenarios:
        arrays = result.columns(one, "estimate", "upper")
        for i, method in enumerate(INTERVALS):
            cell = rows[(rows["n_obs"] == one.n_obs) & (rows["method"] == method)]
            assert cell["rep"].tolist() == list(range(120))
            np.testing.assert_array_equal(cell["estimate"], arrays["estimate"][:, i])
            np.testing.assert_array_equal(cell["upper"], arrays["upper"][:, i])


def test_the_first_block_is_whole_however_few_replicates_were_asked_for(result):
    scenario, size = result.plan.scenarios[0], result.plan.block_size
    few = mean_study((3, 10)).run(2, **INLINE)
    assert few.columns(scenario, "estimate")["estimate"].shape == (2, 2)
    plain = scenario.simulate(result.plan.streams(scenario, 0), size)
    for run in (few, result):
        block = run.columns(scenario, "estimate", "truth", first_block=True)
        np.testing.assert_array_equal(block["estimate"], plain["estimate"])
        assert block["truth"].shape == (size,)


def test_a_scenario_that_was_not_drawn(result):
    for read in (result.columns, result.rows):
        with pytest.raises(LookupError, match="is not in this run"):
            read(Mean(99))


def test_a_figure_by_name():
    study = Study(
        "drawn", grid(Mean, n_obs=[3]), axes={"method": INTERVALS},
        figures={"1": lambda r: ("figure of", r.plan.name), "1B": lambda r: "other"},
    )  # fmt: skip
    result = study.run(10, **INLINE)
    assert result.figure("1") == ("figure of", "drawn")
    with pytest.raises(FigureError, match=r"no figure '1b' in drawn; did you mean '1B'\?"):
        result.figure("1b")


# ---------------------------------------------------------------- failures
def test_every_failure_has_its_place_and_address():
    result = fragile().run(100, **INLINE)
    plain = []
    for one in result.plan.scenarios:
        draws = [
            simulated
            for block in range(3)
            for simulated in [one.simulate(result.plan.streams(one, block), 40)]
        ]
        error = np.concatenate([d["error"] for d in draws])[:100]
        plain += [
            (one.k, rep // 40, rep, "ab"[cell], error[rep, cell], f"{scenario_key(one)}/{rep}")
            for cell in (0, 1)
            for rep in range(100)
            if error[rep, cell] is not None
        ]
    found = result.failures.itertuples(index=False, name=None)
    assert list(result.failures) == ["k", "block", "rep", "method", "error", "address"]
    assert sorted(found) == sorted(plain)
    assert len(plain) > 10


def test_what_is_held_in_memory_goes_with_the_result():
    result = mean_study((3,)).run(10, **INLINE)
    folder = Path(result.details.store.files.path)
    assert folder.exists()
    del result
    gc.collect()
    assert not folder.exists()


def test_a_column_that_has_a_factors_name_and_other_values_hides_no_factor():
    @dataclass(frozen=True)
    class Shifted:
        shift: float = 2.0

        def simulate(self, streams, n_rep):
            return {"shift": streams("data").normal(self.shift, 1.0, size=n_rep)}

    rows = Study("shifted", [Shifted()], [mean("shift")]).run(10, **INLINE).replicates
    assert (rows["shift (factor)"] == 2.0).all()
    assert rows["shift"].nunique() == 10


# ---------------------------------------------------------------- in a notebook
def test_its_repr_has_the_numbers_of_the_summary_with_their_errors(result):
    table = str(result.table()).splitlines()
    assert repr(result).splitlines()[6:] == table


def test_only_the_first_rows_of_many_are_shown():
    result = mean_study(tuple(range(3, 15))).run(40, **INLINE)
    shown = repr(result)
    assert "The first 10 of 24 rows." in shown
    assert "  14  " not in shown.partition(result.table().grid.caption)[2]


def test_a_summary_that_cannot_be_made_does_not_break_the_repr():
    drawn = mean_study((3,)).run(40, **INLINE).details
    broken = Result(replace(drawn, declared=[mean("not there")]))
    with pytest.raises(SimstudyError):
        _ = broken.summary
    assert repr(broken).startswith("Result of toy")


def test_rows_and_values_are_selected_by_factors(result):
    chosen = result.select(n_obs=10, method="z")
    assert chosen["measure"].tolist() == ["bias", "coverage", "empirical_se"]
    both = result.select(measure=["bias", "coverage"], n_obs=10.0, method="z")
    assert both["measure"].tolist() == ["bias", "coverage"]
    assert result.select(["bias", "coverage"], n_obs=10, method="z").equals(both)
    assert result.select(method=[]).empty
    with pytest.raises(LookupError, match="no row has method='T'; did you mean 't'"):
        result.select("bias", method="T")
    with pytest.raises(LookupError, match="no row has n_obs=4; "):
        result.contrast("bias", axis="method", first="z", second="t", n_obs=4)
    with pytest.raises(LookupError, match="no measure 'bais'; did you mean 'bias'"):
        result.select("bais")
    ten = result.scenario(n_obs=10)
    mine = result.values("estimate", n_obs=10, method="z")
    np.testing.assert_array_equal(mine, result.columns(ten, "estimate")["estimate"][:, 1])
    with pytest.raises(LookupError, match="which method is meant"):
        result.values("estimate", n_obs=10)
    with pytest.raises(LookupError, match="method='y' is not in this run"):
        result.values("estimate", n_obs=10, method="y")


def test_labels_are_headings_and_titles():
    labels = {"n_obs": "sample size", "coverage": "share that covers"}
    figures = {
        "1": lambda result: p9.ggplot(result.summary, p9.aes("n_obs", "estimate")),
        "2": lambda result: measure_curves(result.select(method="t"), x="n_obs", y="coverage"),
    }
    result = replace(mean_study((3, 10)), labels=labels, figures=figures).run(40, **INLINE)
    headings = [heading.text for heading in result.table().grid.headings]
    assert {"sample size", "share that covers"} < set(headings)
    assert result.figure("1").labels.x == "sample size"
    shown = result.figure("2").labels
    assert (shown.x, shown.y) == ("sample size", "share that covers")


def test_a_setting_in_a_caption_has_the_labels():
    def curve(result):
        rows = result.select("coverage", method="t").assign(effect=0.5)
        return measure_curves(rows, x="effect", y="coverage")

    labels = {"n_obs": "sample size", "obs": "nothing"}
    derived = {"obs": lambda estimate: estimate}
    study = replace(mean_study((3,)), labels=labels, figures={"1": curve}, derived=derived)
    result = study.run(40, **INLINE)
    words = " ".join(result.figure("1").labels.caption.split())
    assert "sample size = 3" in words
    assert "obs" not in words
    assert "nothing" not in words


# ---------------------------------------------------------------- tables are copies
TABLES = ("summary", "summary_all_methods", "replicates", "claims", "seconds")
OF_LOADED = ("summary", "replicates", "claims", "scenarios")
OF_FAILING = ("failures", "warnings")
WRITABLE = [(at, name) for at, of in enumerate((TABLES, OF_LOADED, OF_FAILING)) for name in of]
READ = {
    "select": lambda result: result.select("bias"),
    "row": lambda result: result.row("bias", method="t").to_frame(),
    "contrast": lambda result: result.contrast("bias", first="t", second="z"),
    "table": lambda result: result.table().frame,
    "columns": lambda result: pd.DataFrame(result.columns(result.plan.scenarios[0], "truth")),
}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Of a study in one scenario, from its code and from its folder; of one that fails."""
    result = mean_study(3).run(100, out=tmp_path_factory.mktemp("results"), **INLINE)
    publish(result)
    return result, load(result.folder), flaky_study().run(100, **INLINE)


def spoilt(frame):
    """Write into every column of a frame, in place."""
    for name in frame:
        frame[name] = "spoilt"
    frame.drop(index=frame.index[:1], inplace=True)
    return frame


@pytest.mark.parametrize(("at", "name"), WRITABLE)
def test_what_is_written_into_a_table_is_not_there_when_it_is_read_again(results, at, name):
    before = getattr(results[at], name)
    plain = before.copy()
    assert len(plain) or name == "claims"
    spoilt(before)
    pd.testing.assert_frame_equal(getattr(results[at], name), plain)
    results[at].n_rep.clear()
    results[at].manifest.clear()
    assert results[at].n_rep
    assert bool(results[at].manifest) == (at == 1)


@pytest.mark.parametrize("read", READ.values(), ids=READ)
def test_what_is_written_into_a_table_changes_no_other(results, read):
    result, *_ = results
    plain = read(result).copy()
    for name in TABLES:
        spoilt(getattr(result, name))
    spoilt(read(result))
    pd.testing.assert_frame_equal(read(result), plain)


# ---------------------------------------------------------------- a run that goes on
class Stop(Exception):
    """Raised in the middle of a run."""


class StopAfter(Silent):
    """Progress that interrupts after so many replicates."""

    def __init__(self, n_rep: int) -> None:
        self.left = n_rep

    def advance(self, n_rep: int) -> None:
        self.left -= n_rep
        if self.left <= 0:
            raise Stop


def interrupted(folder, n_rep: int) -> None:
    with pytest.raises(Stop):
        mean_study().run(1000, out=folder, backend="inline", progress=StopAfter(n_rep))


def test_what_it_shows_is_the_head_of_the_whole(tmp_path):
    interrupted(tmp_path, 400)
    early = mean_study().partial_result(1000, out=tmp_path)
    whole = mean_study().run(1000, **INLINE)
    for one in early.plan.scenarios:
        n = early.n_rep[next(k for k, s in early.plan.keys.items() if s == one)]
        head = whole.columns(one, "estimate")["estimate"][:n]
        assert (early.columns(one, "estimate")["estimate"] == head).all()


def test_a_look_sees_all_while_another_run_compacts(tmp_path, monkeypatch):
    interrupted(tmp_path, 400)
    other = mean_study().partial_result(1000, out=tmp_path)
    plain, compacted = Folder.names, []

    def names(self):
        found = plain(self)
        if not compacted:
            compacted.append(self)
            compact(other.details.store)
        return found

    monkeypatch.setattr(Folder, "names", names)
    monkeypatch.setattr(compaction, "MANY_FILES", 0)
    found = mean_study().partial_result(1000, out=tmp_path)
    assert compacted
    assert found.n_rep == other.n_rep
    assert len(found.details.store.referenced_files) == 1


def test_nothing_to_look_at_is_said(tmp_path):
    with pytest.raises(StoreError, match="holds no block of this study yet"):
        mean_study().partial_result(out=tmp_path)


def test_all_stored_blocks_are_shown_whatever_the_study_asks_for(tmp_path):
    for n_rep, n_shown in ((120, 150), (2 * mean_study().n_rep + 30, 2 * mean_study().n_rep + 50)):
        mean_study().run(n_rep, out=tmp_path, **INLINE)
        assert set(mean_study().partial_result(out=tmp_path).n_rep.values()) == {n_shown}
    assert set(mean_study().partial_result(70, out=tmp_path).n_rep.values()) == {70}


def test_a_scenario_needs_a_block_of_every_method(tmp_path):
    of_methods(some("difference")).run(out=tmp_path, **INLINE)
    with pytest.raises(StoreError, match="holds no block"):
        of_methods(some("difference", "noisy")).partial_result(out=tmp_path)
