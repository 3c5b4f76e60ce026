"""Names of parts are what random streams and stored files are found by."""

import enum
from dataclasses import dataclass, field, make_dataclass
from pathlib import PurePosixPath

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simstudy.provenance.scenario_id import identity, typed


class Tail(enum.Enum):
    LEFT = 1
    RIGHT = 2


class Side(enum.Enum):
    LEFT = 1


@dataclass(frozen=True)
class Normal:
    mean: float = 0.0
    sd: float = 1.0


@dataclass(frozen=True)
class Trial:
    n_obs: int
    data: Normal = Normal()
    sizes: tuple[float, ...] = ()
    weights: dict[str, float] = field(default_factory=dict)


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (Normal(), "Normal()"),
        (Normal(sd=2), "Normal(sd=2)"),
        (Trial(5), "Trial(n_obs=5)"),
        (Trial(5, Normal(1.5), (1, 2.5)), "Trial(data=Normal(mean=1.5),n_obs=5,sizes=(1,2.5))"),
        (Trial(5, weights={"b": 1, "a": 2}), "Trial(n_obs=5,weights={'a':2,'b':1})"),
        (Tail.RIGHT, "Tail.RIGHT"),
        (None, "None"),
        (True, "True"),
        ("raw", "'raw'"),
        (float("inf"), "inf"),
        (0.0, "0"),
        (-0.0, "-0.0"),
    ],
    ids=str,
)
def test_identity_is_the_class_and_its_non_default_fields(part, text):
    assert identity(part) == text


@pytest.mark.parametrize(
    "same",
    [(1, 1.0, np.int64(1), np.float64(1), np.uint8(1)), (0.1, np.float64(0.1)), ([1, 2], (1, 2.0))],
)
def test_numbers_are_named_by_value(same):
    assert len({identity(number) for number in same}) == 1


@pytest.mark.parametrize(
    "different",
    [
        (1, True), (1, "1"), (0.1 + 0.2, 0.3), (None, "None"), (0.0, -0.0),
        (Tail.LEFT, Side.LEFT), (Tail.LEFT, "LEFT"), (Tail.LEFT, 1), (Tail.LEFT, "Tail.LEFT"),
    ],
)  # fmt: skip
def test_what_differs_is_named_differently(different):
    first, second = different
    assert identity(first) != identity(second)


NUMBERS = [1, 1.0, True, np.int64(1), np.float64(1), np.float32(1), -0.0, 0]
OTHERS = ["1", Tail.LEFT, [1], (1,)]


def test_types_tell_blocks_apart_where_values_do_not():
    """Arithmetic may treat 1, 1.0 and NumPy's 1 differently, so stored blocks are told apart."""
    assert len({typed(value) for value in NUMBERS + OTHERS}) == 12
    assert typed(Trial(5, Normal(2), (1, 2.5))) != typed(Trial(5, Normal(2.0), (1, 2.5)))


def test_typed_values_read_as_python():
    text = "Trial(n_obs=5, data=Normal(mean=0.0, sd=1.0), sizes=(1,2.5,), weights={'a': True})"
    assert typed(Trial(5, sizes=(1, 2.5), weights={"a": True})) == text


def test_neither_a_new_factor_with_a_default_nor_the_order_of_fields_changes_an_identity():
    wider = make_dataclass("Normal", [("sd", float, 1.0), ("df", int, 5), ("mean", float, 0.0)])
    assert identity(wider()) == identity(Normal())
    assert identity(wider(mean=2, sd=3)) == identity(Normal(mean=2, sd=3))
    assert identity(wider(df=6)) != identity(Normal())


def test_fields_can_be_left_out_at_the_top_only():
    assert identity(Trial(5, Normal(2)), without=("n_obs",)) == "Trial(data=Normal(mean=2))"
    assert identity(Trial(5, Normal(2)), without=("mean",)) == identity(Trial(5, Normal(2)))


@given(
    st.lists(st.tuples(st.text(max_size=3), st.floats(allow_nan=False)), max_size=3, unique=True)
)
def test_texts_cannot_imitate_one_another(pairs):
    """The text of a tuple tells its parts apart: it is read back as Python would."""
    read = eval(identity(tuple(pairs)), {"inf": float("inf")})
    flat = read if isinstance(read, tuple) else (read,)
    parts = [x for part in flat for x in (part if isinstance(part, tuple) else (part,))]
    assert parts == [x for pair in pairs for x in pair]


@pytest.mark.parametrize("part", [object(), Normal, {1, 2}, b"x", 1j])
def test_what_has_no_lasting_name_is_refused(part):
    with pytest.raises(TypeError, match=r"has no stable name.*Give each value a name"):
        identity(part)


@pytest.mark.parametrize(
    ("part", "shown", "line"),
    [
        (np.zeros((2, 3)), "a ndarray of shape (2, 3)", "Data.from_array(values, name="),
        (pd.DataFrame({"x": [1]}), "a DataFrame of shape (1, 1)", "Data.from_frame(table, name="),
        (pd.Series([1]), "a Series of shape (1,)", "Data.from_frame(column, name="),
        (PurePosixPath("a/b.csv"), "PurePosixPath('a/b.csv')", "Data.file('a/b.csv')"),
    ],
)
def test_data_are_refused_with_the_line_that_makes_them_a_part(part, shown, line):
    with pytest.raises(TypeError) as refusal:
        identity(Trial(1, data=part))
    assert str(refusal.value).startswith(f"{shown} has no stable name")
    assert f"Make it a Data part, which is identified by its content: {line}" in str(refusal.value)


class Named:
    def identity_text(self):
        return "Named(#1)"


def test_a_part_may_say_itself_what_names_it():
    assert identity(Named()) == "Named(#1)"
    assert identity(Trial(1, data=Named())) == "Trial(data=Named(#1),n_obs=1)"
    with pytest.raises(TypeError, match="has no stable name"):
        identity(Named)
