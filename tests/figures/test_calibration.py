import numpy as np
import pandas as pd
import pytest

from simstudy.errors import FigureError
from simstudy.figures import calibration_plot
from simstudy.figures.calibration import scenario_words
from tests.figures.data import make_replicates, make_summary, points, segments

SUMMARY = make_summary()


def test_each_ratio_is_drawn_with_its_interval():
    figure = calibration_plot(SUMMARY, color="method").draw()
    by = make_replicates().groupby(["dgp", "n", "method"])
    ratio = np.sqrt(by["std_error"].agg(lambda s: (s**2).mean())) / by["estimate"].std()
    assert sorted(points(figure)[:, 0]) == pytest.approx(sorted(ratio))
    bars = [s for s in segments(figure) if s[0, 1] == s[1, 1]]
    assert sorted(s[:, 0].mean() for s in bars) == pytest.approx(sorted(ratio))
    assert [np.ptp(s[:, 0]) for s in bars] == pytest.approx([0.4] * 8)


def test_scenarios_are_named_in_order_from_the_top():
    words = scenario_words(pd.DataFrame({"dgp": ["b", "b", "a"], "n": [20, 5, 5]}), ["dgp", "n"])
    assert list(words) == ["b, n = 20", "b, n = 5", "a, n = 5"]
    assert list(words.cat.categories) == ["a, n = 5", "b, n = 20", "b, n = 5"]


def test_a_single_scenario_needs_no_name():
    one = SUMMARY[(SUMMARY["dgp"] == "normal") & (SUMMARY["n"] == 5)]
    assert len(points(calibration_plot(one, color="method").draw())) == 2


def test_scenarios_that_the_factors_do_not_tell_apart_are_refused():
    with pytest.raises(FigureError, match=r"4 points would be drawn .* differ in dgp \(2 levels\)"):
        calibration_plot(SUMMARY, color="method", factors=["n"])


def test_a_percentage_is_refused():
    percent = SUMMARY.assign(estimate=SUMMARY["estimate"] * 0 - 5.0)
    with pytest.raises(FigureError, match="relative error of -5 is below -1, so it is no ratio"):
        calibration_plot(percent, color="method")
