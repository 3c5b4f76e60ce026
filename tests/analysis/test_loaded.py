"""Folders of results say what they hold without the code that made them."""

import pickle
import shutil
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest

from simstudy import Rules, Study, each_replicate, grid, load, publish
from simstudy.errors import FigureError, StoreError, StudyError
from simstudy.external.from_frame import from_frame
from simstudy.measures import mean
from simstudy.store.arrow_schema import SCENARIO
from tests.external.tables import COLUMNS, long_table
from tests.factories import Mean, flaky_study, mean_study


@dataclass(frozen=True)
class Drawn:
    """Data for methods, with a factor that some scenarios leave open."""

    n_obs: int
    label: str | None = None

    def draw(self, streams, n_rep):
        return {"x": streams("data").normal(size=(n_rep, self.n_obs))}


def average(x):
    if x.mean() > 1:
        raise ValueError("too large")
    return {"estimate": x.mean(), "far": x.mean() > 0.5}


def middle(x):
    return {"estimate": np.median(x, axis=1), "far": np.median(x, axis=1) > 1}


def with_methods():
    return Study(
        name="with_methods",
        scenarios=[Drawn(2), *grid(Drawn, n_obs=[3, 5], label="odd")],
        methods={"average": each_replicate(average), "middle": middle},
        measures=[mean("estimate")],
        block_size=20,
    )


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A result that was drawn here, and the same as its folder says it."""
    result = with_methods().run(50, out=tmp_path_factory.mktemp("results"))
    publish(result, figures=False, report=False)
    return result, load(result.folder)


def same(mine: pd.DataFrame, theirs: pd.DataFrame, names: list[str]) -> None:
    for name in names:
        left, right = (each[name].astype(object).to_numpy() for each in (mine, theirs))
        missing = pd.isna(left)
        np.testing.assert_array_equal(missing, pd.isna(right), name)
        np.testing.assert_array_equal(left[~missing], right[~missing], name)


# ---------------------------------------------------------------- what is read


def test_frames_are_those_of_the_result(kept):
    result, stored = kept
    pd.testing.assert_frame_equal(
        stored.summary, result.summary, check_dtype=False, check_exact=True
    )
    assert stored.failures["address"].tolist() == result.failures["address"].tolist()
    assert stored.warnings.empty
    assert stored.claims.empty
    assert stored.row("mean_estimate", n_obs=3, method="middle")["n_rep"] == 50


def test_it_has_the_names_of_a_result(kept):
    result, stored = kept
    assert str(stored.table(columns="method")) == str(result.table(columns="method"))
    assert repr(stored).partition("\n\n")[2] == repr(result).partition("\n\n")[2]
    chosen = {"n_obs": 3, "method": "middle"}
    assert len(stored.select(**chosen)) == len(result.select(**chosen)) == 2
    np.testing.assert_array_equal(
        stored.values("estimate", **chosen), result.values("estimate", **chosen)
    )
    with pytest.raises(LookupError, match="which method is meant"):
        stored.values("estimate", n_obs=3)
    np.testing.assert_array_equal(
        stored.columns(stored.scenario(n_obs=3), "far")["far"],
        result.columns(result.scenario(n_obs=3), "far")["far"],
    )


def test_a_name_that_needs_the_code_is_refused_and_says_what_has_it(kept):
    _, stored = kept
    with pytest.raises(FigureError, match=r"figure 'a', .* study\.run\(50, seed=1, out="):
        stored.figure("a")


def test_contrasts_are_those_of_the_study(kept):
    result, stored = kept
    asked = {"axis": "method", "first": "average", "second": "middle"}
    mine = result.contrast("mean_estimate", **asked)
    theirs = stored.contrast(mean("estimate"), **asked)
    same(mine, theirs, ["n_obs", "label", "contrast", "estimate", "mcse", "lower", "n_rep"])
    assert len(stored.contrast(mean("estimate"), first="average", second="middle", n_obs=3)) == 1
    lengths = stored.contrast(mean("estimate"), axis="n_obs", first=3, second=5)
    assert lengths["method"].tolist() == ["average", "middle"]
    with pytest.raises(StudyError, match="knows no measures by name"):
        stored.contrast("mean_estimate", **asked)


def test_replicates_have_their_factors_and_methods(kept):
    result, stored = kept
    names = ["n_obs", "label", "rep", "method", "estimate", "far", "error"]
    order = ["n_obs", "rep", "method"]
    mine = result.replicates.sort_values(order)
    theirs = stored.replicates.sort_values(order)
    same(mine, theirs, names)


@dataclass(frozen=True)
class Moved:
    """A scenario of another class, with a factor of its own."""

    shift: float

    def draw(self, streams, n_rep):
        return {"x": self.shift + streams("data").normal(size=(n_rep, 3))}


def test_scenarios_may_be_of_several_classes(tmp_path):
    scenarios = [Drawn(2), Drawn(4, "odd"), Moved(0.5)]
    study = replace(with_methods(), scenarios=scenarios)
    result = study.run(40, out=tmp_path)
    stored = load(result.folder)
    assert [*stored.n_rep.values()] == [40, 40, 40]
    same(result.replicates, stored.replicates, list(result.replicates))
    assert len(stored.values("estimate", shift=0.5, method="middle")) == 40
    assert pickle.loads(pickle.dumps(stored)).replicates.equals(stored.replicates)


def test_some_rows_and_columns_may_be_asked_for(kept):
    _, stored = kept
    some = stored.rows(columns=["estimate"], n_obs=5, method="middle")
    assert list(some.columns) == ["n_obs", "label", "rep", "method", "estimate"]
    assert len(some) == 50
    with pytest.raises(StudyError, match=r"column 'estimat'.*did you mean 'estimate'"):
        stored.rows(columns=["estimat"])
    with pytest.raises(LookupError, match=r"\['estimate'\] is not in this run"):
        stored.rows(["estimate"])
    with pytest.raises(KeyError, match="no column 'n_ob'; did you mean 'n_obs'"):
        stored.rows(n_ob=5)
    with pytest.raises(LookupError, match="no scenario has n_obs=4"):
        stored.rows(n_obs=4)


def test_scenarios_of_unequal_length_end_where_they_end(tmp_path):
    result = from_frame(long_table(), name="given", out=tmp_path, **COLUMNS)
    stored = load(tmp_path / "given")
    assert sorted(stored.n_rep.values()) == [40, 60]
    same(result.replicates, stored.replicates, ["dgm", "rep", "method", "b", "se", "error"])


def test_vectors_are_arrays(tmp_path):
    @dataclass(frozen=True)
    class Many:
        n_test: int

        def simulate(self, streams, n_rep):
            return {"p": streams("data").random((n_rep, self.n_test)), "x": 1.0}

    study = Study(
        name="many",
        scenarios=grid(Many, n_test=[2, 3]),
        rules=Rules(vectors={"p": "n_test"}),
        measures=[mean("x")],
        block_size=10,
    )
    result = study.run(15, out=tmp_path)
    stored = load(tmp_path / "many").rows(columns=["p"])
    expected = result.rows(columns=["p"])["p"]
    assert all(map(np.array_equal, stored["p"], expected))


# ---------------------------------------------------------------- what cannot be read
def test_what_is_no_folder_of_results_is_refused_in_a_line(tmp_path):
    with pytest.raises(StoreError, match=r"holds no manifest\.json, so it is not the folder"):
        load(tmp_path / "none")
    with pytest.raises(StoreError, match=r"name one, such as results/NAME"):
        load(tmp_path)
    for name in ("one", "two"):
        replace(mean_study(), name=name).run(20, out=tmp_path)
    with pytest.raises(StoreError, match="holds several studies; name one: one, two"):
        load(tmp_path)


def test_replicates_that_are_not_there_are_refused(tmp_path):
    publish(mean_study().run(200, out=tmp_path), figures=False, report=False)
    shutil.rmtree(tmp_path / "toy" / "replicates")
    stored = load(tmp_path / "toy")
    assert len(stored.summary)
    with pytest.raises(StoreError, match=r"holds no replicates: they lie elsewhere"):
        _ = stored.replicates


def test_a_run_that_nobody_published_has_replicates_and_says_what_writes_the_summary(tmp_path):
    result = mean_study().run(20, out=tmp_path)
    stored = load(result.folder)
    same(result.replicates, stored.replicates, list(result.replicates))
    assert stored.scenarios[SCENARIO].tolist() == [*result.plan.work_units.keys]
    with pytest.raises(StoreError, match=r"published nothing.*publish\(result\)"):
        _ = stored.summary


@pytest.mark.parametrize("differs", ["seed", "code"])
def test_blocks_of_another_seed_or_code_are_not_mixed_in(differs, tmp_path):
    class Other(Mean):
        def simulate(self, streams, n_rep):
            return {**super().simulate(streams, n_rep)}

    Other.__name__ = Mean.__name__
    study = mean_study()
    first = study.run(40, out=tmp_path)
    changed = replace(study, scenarios=[Other(each.n_obs) for each in study.scenarios])
    other, seed = (study, 2) if differs == "seed" else (changed, 1)
    other = other.run(40, seed=seed, out=tmp_path / "beside")
    for path in (other.folder / "replicates").glob("*.parquet"):
        path.rename(first.folder / "replicates" / path.name)
    stored = load(first.folder).rows(columns=["estimate"])
    np.testing.assert_array_equal(stored["estimate"], first.replicates["estimate"])


def test_outputs_of_another_run_are_refused(tmp_path):
    """As an interrupted copy leaves them."""
    runs = [mean_study().run(n, out=tmp_path / str(n)) for n in (200, 20)]
    long, short = (publish(run, figures=False, report=False).folder for run in runs)
    for name in ("summary", "scenarios"):
        assert len(getattr(load(long), name))
    shutil.copy(short / "summary.parquet", long)
    with pytest.raises(StoreError, match=r"summary\.parquet is not the file that manifest"):
        _ = load(long).summary
    (long / "summary.parquet").unlink()
    with pytest.raises(StoreError, match=r"summary\.parquet is not there"):
        _ = load(long).summary
    (long / "failures.parquet").write_bytes(b"not listed, and no table")
    with pytest.raises(StoreError, match=r"failures\.parquet is damaged"):
        _ = load(long).failures


def test_a_listed_file_that_is_gone_is_told(tmp_path):
    result = flaky_study().run(40, out=tmp_path)
    folder = publish(result, figures=False, report=False).folder
    assert len(load(folder).failures)
    (folder / "failures.parquet").unlink()
    with pytest.raises(StoreError, match=r"failures\.parquet is not there"):
        _ = load(folder).failures


def test_a_damaged_file_is_named_and_left_where_it_is(tmp_path):
    folder = mean_study().run(40, out=tmp_path).folder
    block = max((folder / "replicates").glob("*.parquet"))
    block.write_bytes(block.read_bytes()[:-9] + b"damaged!!")
    with pytest.raises(StoreError, match="is damaged, or not a file of blocks"):
        _ = load(folder).replicates
    assert block.exists()
