"""Data are named by what they hold, and nothing is read that is not what was named."""

import hashlib
import os
import pickle
import time

import numpy as np
import pandas as pd
import pytest

from simstudy import Data
from simstudy.data import parts, sources
from simstudy.design import grid, scenario_key
from simstudy.design.plan import factors_of
from simstudy.errors import DesignError, StudyError
from simstudy.provenance.scenario_id import identity
from tests.factories import PRICE_TABLE, Resampled, price_study
from tests.guarantees.content import content
from tests.support import on

PRICES = pd.DataFrame(PRICE_TABLE)
WORKERS = [on("inline", 1), pytest.param(on("loky", 2), marks=pytest.mark.slow)]


@pytest.fixture(autouse=True)
def nothing_read(monkeypatch):
    """As in a new process: nothing has been read yet."""
    monkeypatch.setattr(parts, "_cache", type(parts._cache)())


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "prices.csv"
    PRICES.to_csv(path, index=False)
    return path


@pytest.fixture
def at_rest(monkeypatch):
    """Files count as at rest as soon as they are written."""
    monkeypatch.setattr(sources, "COARSEST_NS", -time.time_ns())
    monkeypatch.setattr(sources, "_hashed", {})


def test_a_file_is_named_by_its_bytes(csv, tmp_path):
    part = Data.file(csv)
    assert part.sha256 == hashlib.sha256(csv.read_bytes()).hexdigest()
    assert identity(part) == f"Data(#{part.sha256[:16]})"
    assert str(part) == f"prices#{part.sha256[:6]}"
    elsewhere = csv.rename(tmp_path / "other.csv")
    same = Data.file(elsewhere, name="renamed")
    assert same == part
    assert hash(same) == hash(part)
    assert identity(Resampled(same)) == identity(Resampled(part))
    elsewhere.write_text("price\n1\n")
    assert Data.file(elsewhere) != part
    assert part != "prices"


def test_scenarios_are_told_apart_by_content_and_shown_by_name(csv):
    first = Resampled(Data.file(csv))
    csv.write_text("price\n1\n")
    other = Resampled(Data.file(csv))
    assert scenario_key(first) != scenario_key(other)
    assert factors_of(first) == {"data": str(first.data), "n_obs": 5}
    assert factors_of(first) != factors_of(other)
    both = [first.data, other.data]
    assert [scenario.data for scenario in grid(Resampled, data=both)] == both
    with pytest.raises(DesignError, match="is in the grid twice"):
        grid(Resampled, data=[first.data, Data(first.data.sha256, "twin", first.data.source)])


@pytest.mark.parametrize("ending", ["csv", "CSV", "csv.gz", "csv.zip", "parquet"])
def test_tables_are_read_by_their_ending(ending, tmp_path):
    path = tmp_path / f"prices.{ending}"
    PRICES.to_parquet(path) if ending == "parquet" else PRICES.to_csv(path, index=False)
    pd.testing.assert_frame_equal(Data.file(path).read_frame(), PRICES)


def test_options_are_passed_on_and_kept_apart(csv):
    part = Data.file(csv)
    assert len(part.read_frame(header=None)) == 5
    assert len(part.read_frame(header=0)) == 4
    assert list(part.read_frame(index_col=False)) == ["day", "price"]
    assert list(part.read_frame(index_col=0)) == ["price"], "0 is not False"
    assert list(part.read_frame(usecols=["price"])) == ["price"]
    assert list(part.read_frame(usecols=np.array(["day"]))) == ["day"]
    assert part.read_frame(dtype={"price": np.float32})["price"].dtype == np.float32
    with pytest.raises(AttributeError, match="TextFileReader"):
        part.read_frame(chunksize=2)


FRAME, ARRAY = Data.from_frame(PRICES, name="p"), Data.from_array(np.zeros(2), name="x")


@pytest.mark.parametrize(
    ("read", "says"),
    [
        (lambda csv: Data.file(csv).read_array(), r"prices.csv does not end in .npy.*frame\(\)"),
        (
            lambda csv: Data.file(csv.with_suffix(".txt")).read_frame(),
            "only if it ends in .csv",
        ),
        (lambda _: FRAME.read_array(), "a DataFrame and has no ndarray"),
        (lambda _: ARRAY.read_frame(), "a ndarray and has no DataFrame"),
        (lambda _: ARRAY.text(), "has no bytes: only what Data.file"),
        (lambda _: FRAME.path, "has no path: only what Data.file made"),
        (
            lambda _: Data.from_frame({"x": [1]}, name="x"),
            "takes a pandas DataFrame or Series",
        ),
    ],
)
def test_reading_it_as_what_it_is_not_is_refused(read, says, csv):
    csv.with_suffix(".txt").write_text("text")
    with pytest.raises((StudyError, DesignError), match=says):
        read(csv)


def test_what_becomes_of_the_original_does_not_matter():
    values, table = np.arange(4.0), PRICES.copy()
    array, frame = Data.from_array(values, name="x"), Data.from_frame(table, name="t")
    values[0] = 99
    table.loc[0, "price"] = 99
    np.testing.assert_array_equal(array.read_array(), np.arange(4.0))
    assert frame.read_frame().equals(PRICES)


def test_what_is_done_to_what_was_read_does_not_matter(csv):
    for part in (Data.file(csv), Data.from_frame(PRICES, name="p")):
        table = part.read_frame()
        table["price"].array[0] = 99
        table.loc[1] = ["su", 0.0]
        table.index.name = "row"
        assert part.read_frame().equals(PRICES)
        assert part.read_frame().index.name is None
        part.check()
    with pytest.raises(ValueError, match="read-only"):
        Data.from_array(np.zeros(3), name="x").read_array()[0] = 1


def test_sums_add_up_in_one_order_whatever_the_layout_was():
    wide = np.asfortranarray(np.random.default_rng(1).lognormal(0, 9, size=(300, 70)))
    first, other = (
        Data.from_array(wide, name="x"),
        Data.from_array(np.ascontiguousarray(wide), name="x"),
    )
    assert first == other
    assert first.source.sum() == other.source.sum()
    assert first.source.strides == other.source.strides


@pytest.mark.parametrize(
    "read", [Data.check, lambda x: x.read_frame(), lambda x: x.bytes(), lambda x: x.path]
)
def test_a_file_that_has_changed_is_refused(read, csv):
    part = Data.file(csv)
    csv.write_text(csv.read_text().replace("1.5", "1.6"))
    with pytest.raises(StudyError) as refusal:
        read(part)
    now = hashlib.sha256(csv.read_bytes()).hexdigest()
    said = f"{csv} has changed since the study was made: its content was #{part.sha256[:6]} and is"
    assert str(refusal.value).startswith(f"{said} #{now[:6]}. ")


def test_a_change_behind_the_back_of_size_and_time_is_seen(csv, at_rest):
    part, stamp = Data.file(csv), csv.stat()
    csv.write_text(csv.read_text().replace("1.5", "1.6"))
    os.utime(csv, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert csv.stat().st_size == stamp.st_size
    with pytest.raises(StudyError, match="has changed"):
        part.check()


def test_a_file_that_changes_while_it_is_read_is_refused(csv):
    part = Data.file(csv)
    with pytest.raises(StudyError, match="has changed"):
        part._read(lambda file: csv.write_text("price\n1\n"))


def test_a_file_that_is_not_there_is_refused(csv):
    part = Data.file(csv)
    csv.unlink()
    says = r"prices\.csv cannot be read on .+: No such file.*Put the file there, on every machine"
    for call in (part.check, part.read_frame, lambda: Data.file(csv)):
        with pytest.raises(StudyError, match=says):
            call()


def test_content_that_was_damaged_on_its_way_is_refused():
    part = Data.from_array(np.arange(3.0) + 17, name="x")
    sent = pickle.loads(pickle.dumps(part))
    sent.source[0] = -1
    with pytest.raises(StudyError, match=r"Data\(.*\) has changed since the study"):
        sent.read_array()


def test_files_travel_as_paths_and_the_rest_by_content(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.zeros(100_000))
    sent = pickle.dumps(Data.file(path))
    assert len(sent) < 1000
    assert pickle.loads(sent).read_array().shape == (100_000,)
    for part in (Data.from_frame(PRICES, name="p"), Data.from_array(np.zeros(100_000), name="z")):
        again = pickle.loads(pickle.dumps(part))
        assert again == part
        again.check()


@pytest.mark.parametrize("workers", WORKERS, ids=["inline", "loky"])
@pytest.mark.parametrize("made", [Data.file, lambda _: FRAME], ids=["file", "frame"])
def test_data_work_in_workers(made, workers, csv):
    part = made(csv)
    result = price_study(part).run(**workers)
    assert result.outcome.n_failed == 0
    assert set(result.summary["data"]) == {str(part)}
    assert content(result) == content(price_study(part).run(**WORKERS[0]))


@pytest.mark.parametrize("workers", WORKERS, ids=["inline", "loky"])
def test_a_file_that_changed_or_went_under_a_worker_stops_the_run(workers, csv):
    study = price_study(Data.file(csv))
    csv.write_text(csv.read_text().replace("1.5", "1.6"))
    with pytest.raises(StudyError, match=r"prices\.csv has changed since the study was made"):
        study.run(**workers)
    csv.unlink()
    with pytest.raises(StudyError, match=r"prices\.csv cannot be read on .*: No such file"):
        study.run(**workers)


def test_other_data_are_other_blocks_of_the_same_study(csv, tmp_path):
    first = price_study(Data.file(csv)).run(out=tmp_path, **WORKERS[0])
    csv.write_text(csv.read_text().replace("1.5", "1.6"))
    second = price_study(Data.file(csv)).run(out=tmp_path, **WORKERS[0])
    assert second.outcome.n_blocks == first.outcome.n_blocks
    assert not set(content(first)) & set(content(second))
    csv.rename(csv.with_name("moved.csv"))
    moved = price_study(Data.file(csv.with_name("moved.csv"))).run(out=tmp_path, **WORKERS[0])
    assert moved.outcome.n_blocks == 0, "another path is the same data"


def test_a_converter_that_changed_is_asked_again(tmp_path):
    """What a function makes of a table is not kept: by the next time it may make something else."""
    path = tmp_path / "v.csv"
    path.write_text("v\n2.0\n")
    part, scale = Data.file(path), [1.0]

    def convert(text):
        return float(text) * scale[0]

    assert part.read_frame(converters={"v": convert})["v"].tolist() == [2.0]
    scale[0] = 3.0
    assert part.read_frame(converters={"v": convert})["v"].tolist() == [6.0]


def note_as_hashed(path, part):
    with path.open("rb") as file:
        sources._hashed[sources._stamp(file)] = part.sha256


def test_a_run_reads_its_data_when_it_starts_whatever_their_times_say(tmp_path):
    """As of a file that is written through a map, whose times a second write leaves alone."""
    path = tmp_path / "v.csv"
    path.write_text("v\n2.0\n")
    before = path.stat()
    part = Data.file(path)
    part.check()
    note_as_hashed(path, part)
    path.write_text("v\n3.0\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    note_as_hashed(path, part)
    part.check()
    with pytest.raises(StudyError, match="has changed since the study was made"):
        part.check(anew=True)
