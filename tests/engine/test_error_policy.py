"""A method that fails costs itself its cell, and says why."""

import errno
import gc
import warnings

import numpy as np
import pytest

from simstudy.engine.error_policy import MACHINE_TROUBLE, BlockContext, is_machine_trouble
from simstudy.engine.methods import ReplicateLoop, each_replicate
from simstudy.errors import StudyError, describe

X = np.array([4.0, -1.0, 9.0, 0.0])


def root(x):
    if x < 0:
        raise ValueError("negative\n  values have no root")
    if x == 0:
        warnings.warn("zero is a fixed point", stacklevel=1)
    return {"root": np.sqrt(x), "square": x * x}


def test_what_went_wrong_is_data_in_its_own_row():
    columns = each_replicate(root, returns=("root", "square"))(x=X)
    np.testing.assert_array_equal(columns["root"], [2, np.nan, 3, 0])
    np.testing.assert_array_equal(columns["square"], [16, np.nan, 81, 0])
    assert columns["error"].tolist() == [
        None,
        "ValueError: negative values have no root",
        *[None] * 2,
    ]
    assert columns["warning"].tolist() == [None] * 3 + ["UserWarning: zero is a fixed point"]


def test_names_that_nobody_said_are_those_of_the_first_replicate_that_succeeds():
    columns = each_replicate(root)(x=X[1:])
    np.testing.assert_array_equal(columns["root"], [np.nan, 3, 0])
    np.testing.assert_array_equal(columns["square"], [np.nan, 81, 0])


@pytest.mark.parametrize("odd", [0, 2])
@pytest.mark.parametrize("odd_one", [{"a": 1.0}, {"a": 1.0, "b": 2.0, "c": 3.0}])
def test_other_names_in_some_replicates_stop_the_study(odd, odd_one):
    def analyse(x):
        return odd_one if x == X[odd] else {"a": x, "b": x}

    with pytest.raises(StudyError, match=r'"[bc]": np.nan'):
        each_replicate(analyse)(x=X)


@pytest.mark.parametrize(
    ("usual", "odd"),
    [(1.0, np.arange(3)), (1.0, "why"), ("ridge", None), ("ridge", 1.0), (1.0, np.ones(1))],
)
def test_values_of_another_kind_stop_the_study(usual, odd):
    with pytest.raises(StudyError, match=r"^v "):
        each_replicate(lambda x: {"v": odd if x == X[2] else usual})(x=X)


def test_text_is_a_column():
    def analyse(x):
        if x < 0:
            raise ValueError("no root")
        return {"chosen": "ridge" if x > 5 else "lasso", "x": x}

    columns = each_replicate(analyse)(x=X)
    assert columns["chosen"].tolist() == ["lasso", None, "ridge", "lasso"]


def test_a_vector_is_a_row_of_each_replicate_and_missing_where_that_failed():
    def fragile(x):
        if x == X[1]:
            raise ValueError("no root")
        return {"v": x + np.arange(3), "y": x}

    columns = ReplicateLoop(each_replicate(fragile), len(X), ["v"]).columns({"x": X}, ["x"])
    expected = X[:, None] + np.arange(3)
    expected[1] = np.nan
    np.testing.assert_array_equal(columns["v"], expected)
    np.testing.assert_array_equal(columns["y"], [4, np.nan, 9, 0])
    assert columns["error"].tolist() == [None, "ValueError: no root", None, None]


def test_vectors_of_several_lengths_stop_the_study():
    method = each_replicate(lambda x: {"v": np.zeros(3 if x == X[0] else 4)})
    with pytest.raises(StudyError, match=r"v is an array of shape \(4,\) in one replicate"):
        ReplicateLoop(method, len(X), ["v"]).columns({"x": X}, ["x"])


def test_only_the_row_that_is_replayed_raises():
    def replayed(row):
        context = BlockContext(raises_row=row)
        method = each_replicate(root, returns=["root"])
        return ReplicateLoop(method, 4, context=context).columns({"x": X}, ["x"])

    with pytest.raises(ValueError, match="no root"):
        replayed(1)
    assert replayed(2)["error"][1] is not None


def test_garbage_of_others_is_no_warning_of_a_replicate():
    def analyse(x):
        open(__file__)  # noqa: SIM115
        gc.collect()
        warnings.warn("seen", stacklevel=1)
        return {"y": x}

    said = each_replicate(analyse, returns=["y"])(x=np.zeros(3))["warning"]
    assert set(said) == {"UserWarning: seen"}


def warn(text):
    warnings.warn(text, stacklevel=1)


def test_an_analysis_within_an_analysis_has_its_own_warnings():
    inner = []

    def analyse(x):
        warn("before")
        inner.append(each_replicate(root, returns=["root"])(x=X[3:])["warning"].tolist())
        warn("after")
        return {"y": x}

    said = each_replicate(analyse, returns=["y"])(x=X[:1])["warning"].tolist()
    assert said == ["UserWarning: before; UserWarning: after"]
    assert inner == [["UserWarning: zero is a fixed point"]]


# ---------------------------------------------------------------- what is no failure of a method
def caused(error, cause):
    error.__cause__ = cause
    return error


def meanwhile(error, context):
    error.__context__ = context
    return error


TROUBLE = [
    MemoryError(),
    *(OSError(code, "no more") for code in sorted(MACHINE_TROUBLE)),
    caused(RuntimeError("cannot start"), OSError(errno.EAGAIN, "fork")),
    meanwhile(ValueError("no fit"), caused(KeyError("x"), MemoryError())),
]
OF_THE_METHOD = [
    ValueError("no solution"),
    np.linalg.LinAlgError("singular"),
    FileNotFoundError(errno.ENOENT, "no such file"),
    OSError("without a number"),
    caused(RuntimeError("no fit"), ValueError("x")),
    meanwhile(ValueError("no fit"), PermissionError(errno.EACCES, "no")),
]


def raised(error):
    def raises(x):
        raise error

    return raises


@pytest.mark.parametrize("error", TROUBLE, ids=repr)
def test_trouble_of_the_machine_is_raised_and_not_recorded(error):
    assert is_machine_trouble(error)
    with pytest.raises(type(error)):
        each_replicate(raised(error), returns=["y"])(x=X)


@pytest.mark.parametrize("error", OF_THE_METHOD, ids=repr)
def test_what_a_method_raises_is_its_own(error):
    assert not is_machine_trouble(error)
    errors = each_replicate(raised(error), returns=["y"])(x=X)["error"]
    assert errors.tolist() == [describe(error)] * 4


# ---------------------------------------------------------------- mistakes, numbers
@pytest.mark.parametrize("value", [2**60 + 1, 2**70, np.ma.array([2**60 + 1])], ids=str)
def test_a_replicate_does_not_round(value):
    with pytest.raises(StudyError, match=rf"'x' holds {int(value)}, a whole number beyond 2\^53"):
        each_replicate(lambda x: value, returns="x")(x=X)
