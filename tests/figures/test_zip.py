"""The zip plot: which intervals, in which order, and what it says of them."""

import pandas as pd
import pytest
from scipy import stats

from simstudy.errors import DesignError, FigureError
from simstudy.figures import zip_plot
from tests.figures.data import LEVEL, make_replicates, segments, text_of, texts

MANY = make_replicates(300)
INTERVAL = ["low", "high", "centile", "end"]
T = MANY[(MANY["method"] == "t") & (MANY["dgp"] == "normal") & (MANY["n"] == 5)]


def test_limits_and_standard_errors_make_the_same_intervals():
    half = stats.norm.isf((1 - LEVEL) / 2) * T["std_error"]
    limits = T.assign(lower=T["estimate"] - half, upper=T["estimate"] + half)
    by_limits = zip_plot(limits, lower="lower", upper="upper", truth=0.0, level=LEVEL)
    by_error = zip_plot(T, std_error="std_error", truth=0.0, level=LEVEL)
    pd.testing.assert_frame_equal(by_limits.data[INTERVAL], by_error.data[INTERVAL])
    assert len(segments(by_error.draw())) >= len(T)


def test_the_colour_changes_at_the_coverage():
    found = zip_plot(T, lower="lower", upper="upper", truth=0.0, level=LEVEL).data
    covered = T["covers"].mean()
    below = found["centile"] < 100 * covered
    assert (found["end"][below] == "covers").all()
    assert (found["end"][~below] == "misses").all()


def test_lopsided_intervals_are_ranked_by_the_side_of_the_truth():
    rows = pd.DataFrame({"estimate": [0.0, 1, -1], "low": [-1, -1, -3], "high": [1, 9, 0.5]})
    found = zip_plot(rows, lower="low", upper="high", truth=0.0).data
    assert list(found["low"]) == [-1, -1, -3]  # 0, then 1/2 of its lower half, then 1/1.5


def test_of_many_every_so_many_is_drawn_and_all_are_counted():
    several = pd.concat([T, T])
    plot = zip_plot(several, lower="lower", upper="upper", truth=0.0, level=LEVEL)
    assert len(plot.data) == 300
    assert "Drawn: 300 of 600 intervals, evenly in their order." in text_of(plot)
    share = 100 * T["covers"].mean()
    assert any(said.strip().startswith(f"{share:.1f}"[:2]) for said in texts(plot.draw()))
    wide = zip_plot(T.assign(lower=-100.0, upper=100.0), lower="lower", upper="upper", truth=0.0)
    said = [text.strip() for text in texts(wide.draw())]
    assert "100.00% ± 0.66" in said, "as if one of 300 more had gone the other way"


def test_each_panel_is_ranked_alone_and_what_is_missing_is_said():
    lacking = MANY.assign(std_error=MANY["std_error"].where(MANY["rep"] > 2))
    plot = zip_plot(lacking, std_error="std_error", truth=0.0, method="method", rows="n")
    assert "Not drawn, missing or not finite: 24 of 2,400." in text_of(plot)
    largest = plot.data.groupby(["panel", "rows"], observed=True)["centile"].max()
    assert largest.min() > 99
    plot.draw()


REFUSED = [
    ({}, FigureError, "std_error=None, lower=None.*standard errors, or both"),
    (
        {"std_error": "std_error", "lower": "lower", "upper": "upper"},
        FigureError, "do not define one kind of interval",
    ),
    (
        {"lower": "upper", "upper": "lower"},
        FigureError, "300 intervals have a lower limit above the upper.*Exchange",
    ),
    ({"std_error": "estimate"}, FigureError, "take negative standard errors out"),
    ({"std_error": "std_error", "level": 95}, DesignError, "level=95 is not"),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "error", "text"), REFUSED)
def test_what_makes_no_sense_is_refused_with_what_to_do(asked, error, text):
    with pytest.raises(error, match=text):
        zip_plot(T, truth=0.0, **asked)
