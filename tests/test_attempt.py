"""A method that fails costs itself its cell, and says why."""

import threading
import warnings

import numpy as np
import pytest

from simstudy.attempt import by_method, describe, each_replicate, raising

X = np.array([4.0, -1.0, 9.0, 0.0])


def root(x):
    if x < 0:
        raise ValueError("negative\n  values have no root")
    if x == 0:
        warnings.warn("zero is a fixed point", stacklevel=1)
    return {"root": np.sqrt(x), "square": x * x}


def test_each_replicate_is_the_plain_loop():
    columns = each_replicate(lambda x, y: {"sum": x + y}, X, 2 * X, returns=["sum"])
    assert set(columns) == {"sum"}
    np.testing.assert_array_equal(columns["sum"], [x + 2 * x for x in X])


def test_what_went_wrong_is_data_in_its_own_row():
    columns = each_replicate(root, X, returns=("root", "square"))
    np.testing.assert_array_equal(columns["root"], [2, np.nan, 3, 0])
    np.testing.assert_array_equal(columns["square"], [16, np.nan, 81, 0])
    assert columns["error"].tolist() == [
        None,
        "ValueError: negative values have no root",
        *[None] * 2,
    ]
    assert columns["warning"].tolist() == [None] * 3 + ["UserWarning: zero is a fixed point"]


def test_a_whole_row_of_the_data_is_handed_over():
    data = np.arange(6.0).reshape(3, 2)
    columns = each_replicate(lambda row: {"total": row.sum()}, data, returns=["total"])
    np.testing.assert_array_equal(columns["total"], data.sum(axis=1))


def test_a_method_that_returns_no_number_is_told_so():
    columns = each_replicate(lambda x: {"y": [x, x]}, X, returns=["y"])
    assert columns["error"][0] == "StudyError: y has shape (2,), not one number per replicate"
    assert np.isnan(columns["y"]).all()


def test_a_column_that_is_missing_is_named():
    columns = each_replicate(lambda x: {}, X, returns=["y"])
    assert columns["error"].tolist() == ["KeyError: 'y'"] * 4


def test_only_the_row_that_is_replayed_raises():
    with raising(1), pytest.raises(ValueError, match="no root"):
        each_replicate(root, X, returns=["root"])
    with raising(2):
        assert each_replicate(root, X, returns=["root"])["error"][1] is not None
    assert each_replicate(root, X, returns=["root"])["error"][1] is not None, "and no longer after"


def test_interrupts_are_not_data():
    def stop(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        each_replicate(stop, X, returns=["y"])


def test_the_callers_warnings_stay_as_they_were():
    before = list(warnings.filters)
    each_replicate(root, X, returns=["root"])
    assert warnings.filters == before


def test_threads_do_not_hear_each_others_warnings():
    def analyse(x):
        warnings.warn(f"seen {x:g}", stacklevel=1)
        return {"y": x}

    heard = {}

    def work(value):
        heard[value] = each_replicate(analyse, np.full(50, value), returns=["y"])["warning"]

    threads = [threading.Thread(target=work, args=(float(v),)) for v in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert all(set(texts) == {f"UserWarning: seen {v:g}"} for v, texts in heard.items())


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("two\nlines"), "ValueError: two lines"),
        (KeyError("x"), "KeyError: 'x'"),
        (RuntimeError(), "RuntimeError"),
    ],
)
def test_an_error_in_one_line(error, text):
    assert describe(error) == text


# ---------------------------------------------------------------- methods on a block
def fails():
    raise np.linalg.LinAlgError("singular")


def test_methods_are_stacked_along_their_axis():
    made = by_method({"a": lambda: {"x": X}, "b": lambda: {"x": 2 * X}}, n_rep=4)
    np.testing.assert_array_equal(made["x"], np.stack([X, 2 * X], axis=1))
    assert set(made) == {"x"}


def test_a_method_that_raises_costs_no_other_anything():
    made = by_method({"a": lambda: {"x": X}, "b": fails}, n_rep=4)
    np.testing.assert_array_equal(made["x"][:, 0], X)
    assert made["error"][:, 0].tolist() == [None] * 4
    assert made["error"][:, 1].tolist() == ["LinAlgError: singular"] * 4


def test_further_axes_come_after_the_method():
    wide = np.arange(8.0).reshape(4, 2)
    made = by_method({"a": lambda: {"x": wide}, "b": lambda: {"x": X}, "c": fails}, n_rep=4)
    assert made["x"].shape == (4, 3, 2)
    np.testing.assert_array_equal(made["x"][:, 0], wide)
    np.testing.assert_array_equal(made["x"][:, 1], np.stack([X, X], axis=1))


def test_all_methods_may_fail():
    made = by_method({"a": fails, "b": fails}, n_rep=2)
    assert made["error"].tolist() == [["LinAlgError: singular"] * 2] * 2


def test_a_column_that_does_not_fit_is_that_methods_failure():
    made = by_method({"a": lambda: {"x": X}, "b": lambda: {"x": X[:2]}}, n_rep=4)
    says = "StudyError: x has shape (2,); its first axis must be 4"
    assert made["error"][:, 1].tolist() == [says] * 4


def test_a_replay_lets_the_error_through():
    with raising(0), pytest.raises(np.linalg.LinAlgError, match="singular"):
        by_method({"a": lambda: {"x": X}, "b": fails}, n_rep=4)


def test_the_errors_of_rows_go_with_their_method():
    def careful():
        return each_replicate(root, X, returns=["root"])

    made = by_method({"plain": lambda: {"root": X}, "careful": careful}, n_rep=4)
    assert made["error"][1].tolist() == [None, "ValueError: negative values have no root"]
    assert made["error"][0].tolist() == [None, None]
