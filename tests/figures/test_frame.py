from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from simstudy.design import grid
from simstudy.design.plan import factors_of as factors_of_scenario
from simstudy.errors import FigureError
from simstudy.figures import dots_plot, measure_curves, nested_loop_plot, trade_off_plot
from simstudy.figures.frame import (
    as_axis,
    check_no_hidden_rows,
    drawable,
    factors_of,
    labelled,
    need_columns,
    nominal_levels,
    ordered_levels,
    rows_like,
    rows_of,
    with_labels,
)
from tests.figures.data import make_summary


def test_nothing_that_a_summary_measures_is_taken_for_a_factor():
    assert factors_of(make_summary().assign(reason="")) == ["dgp", "n", "method"]


def test_a_missing_column_is_named_with_the_nearest():
    with pytest.raises(FigureError, match=r"no column 'methd' to draw: did you mean 'method'\?"):
        need_columns(make_summary(), ["n", None, "methd"])


def test_a_missing_measure_is_named_with_the_nearest():
    rows = rows_of(make_summary()[["n", "measure", "estimate", "mcse"]], ["bias"])
    assert rows[["exact", "lower", "n_failed", "n_rep"]].isna().all(axis=None), "these may lack"
    with pytest.raises(FigureError, match=r"no measure 'coverag' .*: did you mean 'coverage'\?"):
        rows_of(make_summary(), ["bias", "coverag"])


@pytest.mark.parametrize(
    ("figure", "mapped", "refused"),
    [
        (measure_curves, {"x": "n", "y": "coverage", "color": "method"},
         r"4 points .* in dgp \(2 levels\) once x='n', color='method'"),
        (dots_plot, {"measure": "coverage", "y": "method"}, r"6 .* in dgp .* and n \("),
        (nested_loop_plot, {"y": "coverage", "color": "method", "factors": ["n"]},
         "4 .* in dgp .* once fac"),
        (trade_off_plot, {"x": "coverage", "y": "bias", "color": "method"}, "12 .* in dgp"),
    ],
)  # fmt: skip
def test_each_figure_refuses_to_hide_rows(figure, mapped, refused):
    with pytest.raises(FigureError, match=refused):
        figure(make_summary(), **mapped)


def test_a_nominal_level_for_another_measure_is_refused():
    with pytest.raises(FigureError, match=r"level for 'power', .* the figure draws coverage"):
        nominal_levels({"power": 0.9}, rows_of(make_summary(), ["coverage"]))


def test_the_same_rows_twice_are_refused_though_no_factor_differs():
    coverage = rows_of(make_summary(), ["coverage"])
    twice = pd.concat([coverage, coverage.iloc[:1]], ignore_index=True)
    fixed = {"x": "n", "color": "method", "panel": "dgp"}
    with pytest.raises(FigureError, match=r"1 point would be .* are repeated .* Drop them"):
        check_no_hidden_rows(twice, fixed, ["dgp", "n", "method"])


def test_levels_are_ordered_by_size_by_category_or_as_they_come():
    assert ordered_levels(pd.Series([20, 5, 20])) == [5, 20]
    assert ordered_levels(pd.Series(["z", "a", "z", None])) == ["z", "a", None]
    category = pd.Categorical(["b", "a"], categories=["c", "b", "a"])
    assert ordered_levels(pd.Series(category)) == ["b", "a"]


def test_labels_say_what_a_number_counts_and_text_stands_alone():
    numbers = labelled(pd.Series([0.95, 0.9], name="level"), "level")
    assert list(numbers) == ["level = 0.95", "level = 0.9"]
    assert list(numbers.cat.categories) == ["level = 0.9", "level = 0.95"]
    assert list(labelled(pd.Series(["t", "z"], name="method"), "method")) == ["t", "z"]
    assert list(labelled(pd.Series([True, None], name="paired"), "paired")) == [
        "paired = True",
        "paired = none",
    ]


def test_numbers_that_round_alike_keep_their_digits():
    assert list(labelled(pd.Series([1.0000001, 1.0]))) == ["1.0000001", "1.0"]


def test_an_axis_keeps_finite_numbers_and_names_the_rest():
    assert as_axis(pd.Series([5, 20])).tolist() == [5, 20]
    assert as_axis(pd.Series([5, 20], dtype=object)).dtype == "int64"
    assert list(as_axis(pd.Series([20.0, np.inf]))) == ["20", "inf"]
    assert list(as_axis(pd.Series([True, False]))) == ["True", "False"]


def test_a_figure_without_a_finite_estimate_is_refused():
    with pytest.raises(FigureError, match="None of the 2 estimates to draw is finite"):
        drawable(pd.DataFrame({"estimate": [np.nan, np.inf]}))


# ---------------------------------------------------------------- parts of scenarios
@dataclass(frozen=True)
class Law:
    sd: float = 1.0


@dataclass(frozen=True)
class Draw:
    law: Law
    n: int = 5


DRAWS = grid(Draw, law=[Law(2.0), Law()], n=[5, 20])
ROWS = pd.DataFrame([factors_of_scenario(draw) for draw in DRAWS])
WORDS = {Law(): "narrow", Law(2.0): "wide", Law(3.0): "wider"}


def test_parts_get_their_words_in_the_words_order():
    law = with_labels(ROWS, DRAWS, law=WORDS)["law"]
    assert list(law) == ["wide", "wide", "narrow", "narrow"]
    assert list(law.cat.categories) == ["narrow", "wide"]


def test_rows_like_a_scenario_share_the_factors_named():
    assert list(rows_like(ROWS, DRAWS[0], "law")["n"]) == [5, 20]
    assert len(rows_like(ROWS, DRAWS[0], "law", "n")) == 1
