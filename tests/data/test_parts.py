"""Data are named by what they hold, and nothing is read that is not what was named."""

import hashlib
import os
import pickle
import struct
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from simstudy import Data
from simstudy.data import parts as data
from simstudy.data import sources
from simstudy.data.content import held_array, held_frame, of_array, of_frame
from simstudy.design import factors_of, grid, scenario_key
from simstudy.engine.workers import Workers
from simstudy.errors import DesignError, StudyError
from simstudy.identity.names import identity
from tests.guarantees.content import content
from tests.with_data import PRICES, FromArray, Resampled, Spoiler, resampling, study_of

ROOT = Path(__file__).parents[2]
BUNDLED = "guarantees/prices.csv"
WORKERS = [Workers("inline", 1), Workers("loky", 2)]


@pytest.fixture(autouse=True)
def nothing_read(monkeypatch):
    """As in a new process: nothing has been read yet."""
    monkeypatch.setattr(data, "_cache", type(data._cache)())


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "prices.csv"
    PRICES.to_csv(path, index=False)
    return path


@pytest.fixture
def at_rest(monkeypatch):
    """Files count as at rest as soon as they are written; gives the number of files hashed."""
    hashed = []
    digest = hashlib.file_digest
    monkeypatch.setattr(sources, "COARSEST_NS", -time.time_ns())
    monkeypatch.setattr(sources, "_hashed", {})
    monkeypatch.setattr(hashlib, "file_digest", lambda *of: hashed.append(1) or digest(*of))
    return hashed


# ---------------------------------------------------------------- arrays
KINDS = ["?", "i1", "<i8", "<u4", "<f4", "<f8", "<c16", "<M8[us]", "<m8[s]", "S2", "<U2"]
FEW = {
    "f": st.sampled_from([0.0, -0.0, 1.5, np.nan, np.inf]),
    "c": st.sampled_from([0j, complex(np.nan, 1), complex(1, np.nan)]),
}
ARRAYS = st.sampled_from(KINDS).flatmap(
    lambda kind: hnp.arrays(
        kind,
        hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=2),
        elements=FEW.get(np.dtype(kind).kind),
    )
)


def plainly(array):
    """Type, shape and values as text: NaN is one, and a negative zero is not zero."""
    return array.dtype.newbyteorder("<").str, array.shape, repr(array.tolist())


@given(ARRAYS, ARRAYS)
def test_arrays_have_one_hash_if_and_only_if_they_hold_the_same(one, other):
    assert (of_array(one) == of_array(other)) == (plainly(one) == plainly(other))


@given(ARRAYS)
def test_no_layout_in_memory_moves_the_hash_of_an_array(array):
    swapped = array.astype(array.dtype.newbyteorder(">"))
    strided = np.repeat(array[..., None], 2, axis=-1)[..., 0]
    for same in (np.asfortranarray(array).reshape(array.shape), swapped, strided, array.copy()):
        assert of_array(same) == of_array(array)
        assert of_array(held_array(same)) == of_array(array)


def test_the_hash_of_an_array_is_what_is_written_down():
    def text(of):
        return struct.pack("<q", len(of)) + of

    values = b"".join(struct.pack("<d", x) for x in (0, 1, 2, 3, 4, 5))
    said = b"simstudy array 1\n" + text(b"(2, 3)") + text(b"<f8") + values
    assert of_array(np.arange(6.0).reshape(2, 3)) == hashlib.sha256(said).hexdigest()


def test_nan_is_one_whatever_its_bits():
    odd = np.array([0x7FF8000000000001, 0xFFF8000000000000], "<u8").view("<f8")
    assert np.isnan(odd).all()
    assert of_array(odd) == of_array(np.full(2, np.nan))
    assert of_array(odd.view(complex)) == of_array(np.array([complex(np.nan, np.nan)]))


def test_fields_of_a_record_count_and_what_is_between_them_does_not():
    loose = np.zeros(
        2, np.dtype({"names": ["a", "b"], "formats": ["i1", "<f8"], "offsets": [0, 8]})
    )
    tight = np.zeros(2, [("a", "i1"), ("b", ">f8")])
    assert of_array(loose) == of_array(tight)
    assert of_array(tight) != of_array(np.zeros(2, [("a", "i1"), ("c", ">f8")]))


@pytest.mark.parametrize(
    ("array", "says"),
    [
        (np.array([{}]), "type object, which are places in memory and no values.*astype"),
        (np.zeros(2, np.longdouble), "which other machines keep in other bits"),
        (np.zeros(2, "V3"), "for which no bytes are defined"),
        (np.ma.masked_array([1]), "takes a NumPy array, not a MaskedArray of shape"),
        (np.array(["a"], np.dtypes.StringDType()), "for which no bytes are defined"),
        ([1.0], "takes a NumPy array, not a list: make one with numpy.asarray"),
    ],
)
def test_arrays_that_cannot_be_told_apart_are_refused(array, says):
    with pytest.raises(DesignError, match=says):
        Data.array(array, name="x")


# ---------------------------------------------------------------- tables
COLUMNS = {
    "int64": st.integers(-2, 2),
    "float32": st.sampled_from([0.0, -0.0, 1.5, None]),
    "float64": st.sampled_from([0.0, -0.0, 1.5, None]),
    "bool": st.booleans(),
    "str": st.sampled_from(["", "a", "aa", "é", None]),
    "string": st.sampled_from(["", "a", None]),
    "object": st.sampled_from(["", "a", "1", 1, 1.0, True, None]),
    "Int64": st.sampled_from([0, 1, None]),
    "Float64": st.sampled_from([0.0, 1.5, None]),
    "boolean": st.sampled_from([True, False, None]),
    "category": st.sampled_from(["a", "b", None]),
    "datetime64[us]": st.sampled_from(["2020-01-01", "2021-01-01", None]),
    "datetime64[ns]": st.sampled_from(["2020-01-01", "2021-01-01", None]),
    "datetime64[us, UTC]": st.sampled_from(["2020-01-01", "2021-01-01", None]),
    "datetime64[us, Europe/Paris]": st.sampled_from(["2020-01-01", "2021-01-01", None]),
    "timedelta64[s]": st.sampled_from([0, 1, None]),
    "arrow": st.sampled_from(["", "a", None]),
    "arrow int": st.sampled_from([0, 1, None]),
    "arrow day": st.sampled_from([pd.Timestamp(2020, 1, 1).date(), None]),
    "arrow time": st.sampled_from([pd.Timestamp(2020, 1, 1), None]),
}
ARROW = {
    "arrow": pd.ArrowDtype(pa.string()),
    "arrow int": pd.ArrowDtype(pa.int16()),
    "arrow day": pd.ArrowDtype(pa.date32()),
    "arrow time": pd.ArrowDtype(pa.timestamp("us", "UTC")),
}


def columns_of(n_rows):
    kinds = st.sampled_from(sorted(COLUMNS))
    return kinds.flatmap(
        lambda kind: st.tuples(
            st.sampled_from(["x", "y", 1]),
            st.just(kind),
            st.lists(COLUMNS[kind], min_size=n_rows, max_size=n_rows),
        )
    )


@st.composite
def tables(draw):
    n_rows = draw(st.integers(0, 2))
    columns = draw(st.lists(columns_of(n_rows), max_size=2))
    index = draw(st.sampled_from([tuple(range(n_rows)), tuple(range(1, n_rows + 1))]))
    return columns, index, draw(st.sampled_from([None, "row"]))


def column(kind, values, *, storage):
    if kind in ("str", "string"):
        dtype = pd.StringDtype(storage, na_value=np.nan if kind == "str" else pd.NA)
        return pd.Series(pd.array(values, dtype=dtype))
    if kind == "category":
        return pd.Series(pd.Categorical(values, categories=["a", "b", "never"]))
    if kind.startswith("datetime64[us, "):
        zone = kind.removeprefix("datetime64[us, ").removesuffix("]")
        return pd.Series(pd.to_datetime(values).as_unit("us").tz_localize(zone))
    if kind.startswith("datetime"):
        return pd.Series(pd.to_datetime(values), dtype=kind)
    if kind.startswith("timedelta"):
        return pd.Series(pd.to_timedelta(values, unit="s"), dtype=kind)
    return pd.Series(values, dtype=ARROW.get(kind, kind))


def built(spec, *, storage="python"):
    columns, index, name = spec
    made = {i: column(kind, values, storage=storage) for i, (_, kind, values) in enumerate(columns)}
    frame = pd.DataFrame(made, index=range(len(index)))
    frame.index = pd.Index(index, name=name, dtype="int64")
    frame.columns = pd.Index([label for label, _, _ in columns], dtype=object)
    return frame


@given(tables(), tables())
def test_tables_have_one_hash_if_and_only_if_they_hold_the_same(one, other):
    alike = of_frame(built(one)) == of_frame(built(other))
    assert alike == (repr(one) == repr(other))


@given(tables())
def test_no_layout_in_memory_moves_the_hash_of_a_table(spec):
    frame = built(spec)
    twice = pd.concat([frame, frame])
    slices = pd.concat([frame, frame], axis=1).iloc[:, : frame.shape[1]]
    same = [built(spec, storage="pyarrow"), twice.iloc[: len(frame)], slices, frame.copy()]
    for one in same:
        assert of_frame(one) == of_frame(frame)
        assert of_frame(held_frame(one)) == of_frame(frame)
        pd.testing.assert_frame_equal(held_frame(one), one, check_freq=False)


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x[["price", "day"]],
        lambda x: x.rename(columns={"day": "date"}),
        lambda x: x.iloc[::-1],
        lambda x: x.astype({"price": "float32"}),
        lambda x: x.astype({"day": "category"}),
        lambda x: x.astype({"day": object}),
        lambda x: x.set_index("day"),
        lambda x: x.set_index(["day", "price"]),
        lambda x: x.rename_axis(index="row"),
        lambda x: x.rename_axis(columns="kind"),
        lambda x: x.set_axis(pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")]), axis=1),
        lambda x: x.replace(8.5, -8.5),
        lambda x: x.head(3),
    ],
)
def test_every_change_of_a_table_shows(change):
    assert of_frame(change(PRICES)) != of_frame(PRICES)


def test_categories_are_named_with_their_order():
    def of(categories, ordered=False):
        return of_frame(pd.DataFrame({"x": pd.Categorical(["a"], categories, ordered=ordered)}))

    assert len({of(["a", "b"]), of(["b", "a"]), of(["a"]), of(["a", "b"], ordered=True)}) == 4


def test_a_range_is_the_numbers_that_it_stands_for():
    listed = PRICES.set_axis(pd.Index([0, 1, 2, 3], dtype="int64"))
    assert of_frame(PRICES) == of_frame(listed)


def test_text_and_objects_that_hold_text_name_columns_alike():
    labels = pd.Index(["day", "price"], dtype=object)
    assert of_frame(PRICES.set_axis(labels, axis=1)) == of_frame(PRICES)


@pytest.mark.parametrize(
    ("values", "what"),
    [
        (pd.period_range("2020", periods=2, freq="M"), r"period\[M\]"),
        (pd.arrays.IntervalArray.from_breaks([0, 1, 2]), "interval"),
        (pd.arrays.SparseArray([1, 0]), "Sparse"),
        (pd.Series([{}, 1]), "a dict"),
        (pd.array([[1], [2]], dtype=pd.ArrowDtype(pa.list_(pa.int8()))), "list"),
    ],
)
def test_columns_that_cannot_be_told_apart_are_refused(values, what):
    with pytest.raises(DesignError, match=rf"column 'x' holds {what}.*Convert it to numbers"):
        Data.frame(pd.DataFrame({"x": values}), name="x")


def test_an_index_of_periods_is_refused_like_a_column_of_them():
    table = PRICES.set_axis(pd.period_range("2020", periods=4, freq="M"))
    with pytest.raises(DesignError, match=r"the index holds period\[M\]"):
        Data.frame(table, name="x")


def test_what_is_missing_among_objects_is_told_apart():
    missing = [None, np.nan, pd.NA, pd.NaT]
    assert len({of_frame(pd.DataFrame({"x": [one]}, dtype=object)) for one in missing}) == 4


def test_what_no_hash_tells_is_not_kept():
    table = PRICES.set_axis(pd.date_range("2020", periods=4))
    table.attrs["unit"] = "EUR"
    held = Data.frame(table, name="p").frame()
    assert held.index.freq is None
    assert held.attrs == {}


def test_the_hashes_are_the_same_in_another_process():
    says = "from tests.with_data import PRICES; from simstudy.data.content import *;"
    says += "print(of_frame(PRICES), of_array(PRICES['price'].to_numpy()))"
    told = {
        subprocess.run(
            [sys.executable, "-c", says],
            cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True,
            text=True, check=True,
        ).stdout.split()[0]
        for seed in ("1", "2")
    }  # fmt: skip
    assert told == {of_frame(PRICES)}
    assert of_frame(PRICES)[:16] == "34c642ad381cf4f3"


# ---------------------------------------------------------------- the part
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


def test_names_come_from_files_and_can_be_given(csv, tmp_path):
    assert Data.file(csv, name="p").name == "p"
    packed = tmp_path / "v1.2.csv.gz"
    PRICES.to_csv(packed)
    assert Data.file(packed).name == "v1.2"
    with pytest.raises(DesignError, match="name='': data are shown by their name in every table"):
        Data.file(csv, name="")


def test_a_relative_path_is_one_in_the_folder_where_the_part_was_made(csv, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    part = Data.file("prices.csv")
    monkeypatch.chdir(ROOT)
    assert part.frame().equals(PRICES)
    assert part.path == csv


def test_scenarios_are_told_apart_by_content_and_shown_by_name(csv):
    one = Resampled(Data.file(csv))
    csv.write_text("price\n1\n")
    other = Resampled(Data.file(csv))
    assert scenario_key(one) != scenario_key(other)
    assert factors_of(one) == {"data": str(one.data), "n_obs": 5}
    assert factors_of(one) != factors_of(other)
    assert [x.data for x in grid(Resampled, data=[one.data, other.data])] == [one.data, other.data]
    with pytest.raises(DesignError, match="is in the grid twice"):
        grid(Resampled, data=[one.data, Data(one.data.sha256, "twin", one.data.source)])


@pytest.mark.parametrize(
    ("ending", "write"),
    [
        (".csv", lambda x, path: x.to_csv(path, index=False)),
        (".CSV", lambda x, path: x.to_csv(path, index=False)),
        (".csv.gz", lambda x, path: x.to_csv(path, index=False)),
        (".csv.zip", lambda x, path: x.to_csv(path, index=False)),
        (".parquet", lambda x, path: x.to_parquet(path)),
    ],
)
def test_tables_are_read_by_their_ending(ending, write, tmp_path):
    path = tmp_path / f"prices{ending}"
    write(PRICES, path)
    pd.testing.assert_frame_equal(Data.file(path).frame(), PRICES)


def test_options_are_passed_on_and_kept_apart(csv):
    part = Data.file(csv)
    assert len(part.frame(header=None)) == 5
    assert len(part.frame(header=0)) == 4
    assert list(part.frame(index_col=False)) == ["day", "price"]
    assert list(part.frame(index_col=0)) == ["price"], "0 is not False"
    assert list(part.frame(usecols=["price"])) == ["price"]
    assert list(part.frame(usecols=np.array(["day"]))) == ["day"]
    assert part.frame(dtype={"price": np.float32})["price"].dtype == np.float32
    with pytest.raises(StudyError, match="gives a TextFileReader, which reads on later"):
        part.frame(chunksize=2)


def test_bytes_and_text(csv):
    assert Data.file(csv).bytes() == csv.read_bytes()
    assert Data.file(csv).text() == csv.read_text()


def test_arrays_in_numpys_own_format(tmp_path):
    values = np.arange(6.0).reshape(2, 3)
    np.save(tmp_path / "x.npy", values)
    found = Data.file(tmp_path / "x.npy").array()
    np.testing.assert_array_equal(found, values)
    with pytest.raises(ValueError, match="read-only"):
        found[0] = 1


@pytest.mark.parametrize(
    ("read", "says"),
    [
        (lambda csv: Data.file(csv).array(), r"prices.csv does not end in .npy.*frame\(\)"),
        (
            lambda csv: Data.file(csv.with_suffix(".txt")).frame(),
            r"only if it ends in .csv or .par",
        ),
        (
            lambda csv: Data.frame(PRICES, name="p").array(),
            "a DataFrame of shape .* has no ndarray",
        ),
        (lambda csv: Data.array(np.zeros(2), name="p").frame(), "an? ndarray .* has no DataFrame"),
        (lambda csv: Data.array(np.zeros(2), name="p").text(), "has no bytes: only what Data.file"),
        (lambda csv: Data.frame(PRICES, name="p").path, "has no path: only what Data.file made"),
        (
            lambda csv: Data.frame(PRICES, name="p").frame(sep=";"),
            "is a table already, and sep says",
        ),
    ],
)
def test_reading_it_as_what_it_is_not_is_refused(read, says, csv):
    csv.with_suffix(".txt").write_text("text")
    with pytest.raises(StudyError, match=says):
        read(csv)


def test_a_series_is_a_table_of_one_column():
    part = Data.frame(PRICES["price"], name="price")
    assert part.frame().equals(PRICES[["price"]])
    with pytest.raises(DesignError, match="takes a pandas DataFrame or Series, not a dict"):
        Data.frame({"x": [1]}, name="x")


def test_what_becomes_of_the_original_does_not_matter():
    values, table = np.arange(4.0), PRICES.copy()
    array, frame = Data.array(values, name="x"), Data.frame(table, name="t")
    values[0] = 99
    table.loc[0, "price"] = 99
    np.testing.assert_array_equal(array.array(), np.arange(4.0))
    assert frame.frame().equals(PRICES)


def test_what_is_done_to_what_was_read_does_not_matter(csv):
    for part in (Data.file(csv), Data.frame(PRICES, name="p")):
        table = part.frame()
        table["price"].array[0] = 99
        table.loc[1] = ["su", 0.0]
        table.index.name = "row"
        assert part.frame().equals(PRICES)
        assert part.frame().index.name is None
        part.check()
    with pytest.raises(ValueError, match="read-only"):
        Data.array(np.zeros(3), name="x").array()[0] = 1


def test_sums_add_up_in_one_order_whatever_the_layout_was():
    wide = np.asfortranarray(np.random.default_rng(1).lognormal(0, 9, size=(300, 70)))
    one, other = Data.array(wide, name="x"), Data.array(np.ascontiguousarray(wide), name="x")
    assert one == other
    assert one.source.content.sum() == other.source.content.sum()
    assert one.source.content.strides == other.source.content.strides


# ---------------------------------------------------------------- checks
@pytest.mark.parametrize(
    "read", [Data.check, lambda x: x.frame(), lambda x: x.bytes(), lambda x: x.path]
)
def test_a_file_that_has_changed_is_refused(read, csv):
    part = Data.file(csv)
    csv.write_text(csv.read_text().replace("1.5", "1.6"))
    with pytest.raises(StudyError) as refusal:
        read(part)
    now = hashlib.sha256(csv.read_bytes()).hexdigest()
    assert str(refusal.value) == (
        f"{csv} has changed since the study was made: its content was #{part.sha256[:6]} and is "
        f"#{now[:6]}. Its results would mix two versions of the data. Put the old content back, or "
        "start the program again, which makes a new part of the new content."
    )


def test_what_was_read_before_the_change_is_still_what_was_named(csv):
    part = Data.file(csv)
    part.frame()
    csv.write_text("price\n1\n")
    assert part.frame().equals(PRICES)
    with pytest.raises(StudyError, match="has changed"):
        part.check()


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


def test_a_file_that_nobody_touched_is_hashed_once(csv, at_rest):
    part = Data.file(csv)
    for _ in range(3):
        part.check()
    assert part.frame().equals(PRICES)
    assert len(at_rest) == 1
    csv.touch()
    part.check()
    assert len(at_rest) == 2


def test_a_file_that_was_written_a_moment_ago_is_hashed_again(csv, at_rest, monkeypatch):
    monkeypatch.setattr(sources, "COARSEST_NS", time.time_ns())
    part = Data.file(csv)
    part.check()
    assert len(at_rest) == 2


def test_a_file_that_is_not_there_is_refused(csv):
    part = Data.file(csv)
    csv.unlink()
    says = r"prices\.csv cannot be read on .+: No such file.*Put the file there, on every machine"
    for call in (part.check, part.frame, lambda: Data.file(csv)):
        with pytest.raises(StudyError, match=says):
            call()


def test_content_that_was_damaged_on_its_way_is_refused():
    part = Data.array(np.arange(3.0) + 17, name="x")
    sent = pickle.loads(pickle.dumps(part))
    sent.source.content[0] = -1
    with pytest.raises(StudyError, match=r"ndarray of shape .* has changed since the study"):
        sent.array()


def test_files_travel_as_paths_and_the_rest_by_content(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.zeros(100_000))
    sent = pickle.dumps(Data.file(path))
    assert len(sent) < 1000
    assert pickle.loads(sent).array().shape == (100_000,)
    for part in (Data.frame(PRICES, name="p"), Data.array(np.zeros(100_000), name="z")):
        again = pickle.loads(pickle.dumps(part))
        assert again == part
        again.check()


def test_what_was_read_is_kept_and_the_longest_unused_forgotten(csv, tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", np.zeros(3))
    one, other = Data.file(tmp_path / "x.npy"), Data.file(csv)
    assert one.array() is one.array()
    monkeypatch.setattr(data, "KEPT_BYTES", 0)
    assert other.frame().equals(PRICES)
    assert len(data._cache) == 1
    assert one.array().shape == (3,)


# ---------------------------------------------------------------- files that a package ships
@pytest.fixture(params=["folder", "archive"])
def package(request, tmp_path, monkeypatch):
    """An installed package with data, in a folder or in an archive."""
    name = f"shipped_{request.param}"
    files = {f"{name}/__init__.py": "", f"{name}/tables/prices.csv": PRICES.to_csv(index=False)}
    if request.param == "archive":
        with zipfile.ZipFile(tmp_path / "lib.zip", "w") as archive:
            for path, text in files.items():
                archive.writestr(path, text)
    for path, text in files.items() if request.param == "folder" else ():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    root = tmp_path / "lib.zip" if request.param == "archive" else tmp_path
    monkeypatch.syspath_prepend(str(root))
    yield name
    sys.modules.pop(name, None)


def test_a_file_of_a_package(package):
    part = Data.bundled(package, "tables/prices.csv")
    assert str(part) == f"prices#{part.sha256[:6]}"
    assert part.frame().equals(PRICES)
    assert part == Data.bundled(package, "tables/prices.csv", name="p")
    again = pickle.loads(pickle.dumps(part))
    again.check()
    with pytest.raises(StudyError, match="has no path"):
        part.path  # noqa: B018


def test_a_file_that_a_package_does_not_ship_is_refused(package):
    says = "has no file '{}' on .*Install the package, in the version that has it"
    with pytest.raises(StudyError, match=says.format("tables/none.csv")):
        Data.bundled(package, "tables/none.csv")
    with pytest.raises(StudyError, match="package 'no_such_package' " + says.format("x.csv")):
        Data.bundled("no_such_package", "x.csv")


# ---------------------------------------------------------------- in a study
@pytest.mark.parametrize("workers", WORKERS, ids=lambda x: x.backend)
@pytest.mark.parametrize(
    "made",
    [Data.file, lambda _: Data.frame(PRICES, name="p"), lambda _: Data.bundled("tests", BUNDLED)],
    ids=["file", "frame", "bundled"],
)
def test_data_work_in_workers(made, workers, csv):
    part = made(csv)
    result = resampling(part).run(workers=workers)
    assert result.outcome.n_failed == 0
    assert set(result.summary["data"]) == {str(part)}
    assert content(result) == content(resampling(part).run(workers=WORKERS[0]))


@pytest.mark.parametrize("workers", WORKERS, ids=lambda x: x.backend)
def test_arrays_work_in_workers_and_copies_may_be_changed(workers):
    array = Data.array(PRICES["price"].to_numpy(), name="x")
    result = study_of(FromArray(array), Spoiler(Data.frame(PRICES, name="p"))).run(workers=workers)
    assert result.outcome.n_failed == 0
    assert (result.summary["n_failed"] == 0).all()


@pytest.mark.parametrize("workers", WORKERS, ids=lambda x: x.backend)
def test_a_file_that_changed_under_a_worker_stops_the_run(workers, csv):
    study = resampling(Data.file(csv))
    csv.write_text(csv.read_text().replace("1.5", "1.6"))
    with pytest.raises(StudyError, match=r"prices\.csv has changed since the study was made"):
        study.run(workers=workers)


@pytest.mark.parametrize("workers", WORKERS, ids=lambda x: x.backend)
def test_a_file_that_a_worker_does_not_find_stops_the_run(workers, csv):
    study = resampling(Data.file(csv))
    csv.unlink()
    with pytest.raises(StudyError, match=r"prices\.csv cannot be read on .*: No such file"):
        study.run(workers=workers)


def test_other_data_are_other_blocks_of_the_same_study(csv, tmp_path):
    first = resampling(Data.file(csv)).run(out=tmp_path, workers=WORKERS[0])
    csv.write_text(csv.read_text().replace("1.5", "1.6"))
    second = resampling(Data.file(csv)).run(out=tmp_path, workers=WORKERS[0])
    assert second.outcome.n_blocks == first.outcome.n_blocks
    assert not set(content(first)) & set(content(second))
    csv.rename(csv.with_name("moved.csv"))
    moved = resampling(Data.file(csv.with_name("moved.csv"))).run(out=tmp_path, workers=WORKERS[0])
    assert moved.outcome.n_blocks == 0, "another path is the same data"


def test_a_converter_that_changed_is_asked_again(tmp_path):
    """What a function makes of a table is not kept: by the next time it may make something else."""
    path = tmp_path / "v.csv"
    path.write_text("v\n2.0\n")
    part, scale = Data.file(path), [1.0]

    def convert(text):
        return float(text) * scale[0]

    assert part.frame(converters={"v": convert})["v"].tolist() == [2.0]
    scale[0] = 3.0
    assert part.frame(converters={"v": convert})["v"].tolist() == [6.0]


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
