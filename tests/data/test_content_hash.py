"""What arrays and tables hold has one hash, whatever their layout, process or machine."""

import hashlib
import struct

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from simstudy import Data
from simstudy.data.content_hash import hash_of_array, hash_of_frame
from simstudy.data.parts import held_array, held_frame
from simstudy.errors import DesignError
from tests.factories import PRICE_TABLE

PRICES = pd.DataFrame(PRICE_TABLE)

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
def test_arrays_have_one_hash_if_and_only_if_they_hold_the_same(first, other):
    assert (hash_of_array(first) == hash_of_array(other)) == (plainly(first) == plainly(other))


@given(ARRAYS)
def test_no_layout_in_memory_moves_the_hash_of_an_array(array):
    swapped = array.astype(array.dtype.newbyteorder(">"))
    strided = np.repeat(array[..., None], 2, axis=-1)[..., 0]
    for same in (np.asfortranarray(array).reshape(array.shape), swapped, strided, array.copy()):
        assert hash_of_array(same) == hash_of_array(array)
        assert hash_of_array(held_array(same)) == hash_of_array(array)


def test_the_hash_of_an_array_is_what_is_written_down():
    def text(of):
        return struct.pack("<q", len(of)) + of

    values = b"".join(struct.pack("<d", x) for x in (0, 1, 2, 3, 4, 5))
    said = b"simstudy array 1\n" + text(b"(2, 3)") + text(b"<f8") + values
    assert hash_of_array(np.arange(6.0).reshape(2, 3)) == hashlib.sha256(said).hexdigest()


@pytest.mark.parametrize(
    ("array", "says"),
    [
        (
            np.array([{}]),
            "type object, whose values have no bytes that are the same.*astype",
        ),
        (np.zeros(2, np.longdouble), "is of type .*, whose values have no bytes"),
        (np.zeros(2, "V3"), "whose values have no bytes"),
        (np.zeros(2, [("a", "i1")]), "whose values have no bytes"),
        (np.ma.masked_array([1]), "takes a NumPy array, not a MaskedArray"),
        (np.array(["a"], np.dtypes.StringDType()), "whose values have no bytes"),
        ([1.0], "takes a NumPy array, not a list: make one with numpy.asarray"),
    ],
)
def test_arrays_that_cannot_be_told_apart_are_refused(array, says):
    with pytest.raises(DesignError, match=says):
        Data.from_array(array, name="x")


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


def held(spec):
    """What a table holds: a column of objects is text if all its values are, as in pandas 3."""
    columns, *rest = spec
    text = {str, type(None)}
    is_text = [kind == "object" and {str} <= {*map(type, v)} <= text for _, kind, v in columns]
    pairs = zip(columns, is_text, strict=True)
    return repr([[(x, "str" if as_text else kind, v) for (x, kind, v), as_text in pairs], *rest])


@given(tables(), tables())
def test_tables_have_one_hash_if_and_only_if_they_hold_the_same(first, other):
    alike = hash_of_frame(built(first)) == hash_of_frame(built(other))
    assert alike == (held(first) == held(other))


@given(tables())
def test_no_layout_in_memory_moves_the_hash_of_a_table(spec):
    frame = built(spec)
    twice = pd.concat([frame, frame])
    slices = pd.concat([frame, frame], axis=1).iloc[:, : frame.shape[1]]
    same = [built(spec, storage="pyarrow"), twice.iloc[: len(frame)], slices, frame.copy()]
    for twin in same:
        assert hash_of_frame(twin) == hash_of_frame(frame)
        assert hash_of_frame(held_frame(twin)) == hash_of_frame(frame)
        pd.testing.assert_frame_equal(held_frame(twin), twin, check_freq=False)


def of_categories(*categories, ordered=False):
    return pd.DataFrame({"x": pd.Categorical(["a"], categories, ordered=ordered)})


@pytest.mark.parametrize(
    "frames",
    [
        [of_categories("a", "b"), of_categories("b", "a"), of_categories("a")],
        [of_categories("a", "b"), of_categories("a", "b", ordered=True)],
        [pd.DataFrame({"x": [value]}, dtype=object) for value in (None, np.nan, pd.NA, pd.NaT)],
    ],
    ids=["categories", "their order", "what is missing"],
)
def test_what_values_hide_is_told_apart(frames):
    assert len({*map(hash_of_frame, frames)}) == len(frames)


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.iloc[::-1],
        lambda x: x.set_index("day"),
        lambda x: x.set_index(["day", "price"]),
        lambda x: x.rename_axis(index="row"),
        lambda x: x.rename_axis(columns="kind"),
        lambda x: x.set_axis(pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")]), axis=1),
    ],
)
def test_every_change_of_a_table_shows(change):
    assert hash_of_frame(change(PRICES)) != hash_of_frame(PRICES)


@pytest.mark.parametrize(
    ("values", "what"),
    [
        (pd.period_range("2020", periods=2, freq="M"), "a Period"),
        (pd.arrays.IntervalArray.from_breaks([0, 1, 2]), "a Interval"),
        (pd.Series([{}, 1]), "a dict"),
        (pd.array([[1], [2]], dtype=pd.ArrowDtype(pa.list_(pa.int8()))), "a (list|ndarray)"),
    ],
)
def test_columns_that_cannot_be_told_apart_are_refused(values, what):
    with pytest.raises(DesignError, match=rf"column 'x' holds {what}.*Convert it to numbers"):
        Data.from_frame(pd.DataFrame({"x": values}), name="x")


def test_the_hash_of_a_table_is_pinned():
    """So it is the same in each process, whatever `PYTHONHASHSEED` says there."""
    assert hash_of_frame(PRICES)[:16] == "f0628e832a060f3d"
