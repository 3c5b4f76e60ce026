"""Each measure in one line, against the rows of the summary."""

import math

import pandas as pd
import pytest

from simstudy.analysis.summary import overview, worst_z
from simstudy.measures import mean, rejection_rate
from tests.factories import mean_study
from tests.support import INLINE

COLUMNS = ["estimate", "mcse", "exact"]


def rows(*numbers):
    return pd.DataFrame(list(numbers), columns=COLUMNS)


def test_a_line_for_each_measure_in_the_studys_order():
    result = mean_study((3, 10)).run(100, **INLINE)
    lines = overview(result.summary, result.details.measures)
    assert lines["measure"].tolist() == [measure.name for measure in result.details.measures]
    for line in lines.to_dict("records"):
        own = result.summary[result.summary["measure"] == line["measure"]]
        assert line["rows"] == len(own)
        assert (line["least"], line["greatest"]) == (own["estimate"].min(), own["estimate"].max())
        assert line["largest_mcse"] == own["mcse"].max()


def test_distance_from_theory_is_in_standard_errors():
    given = rows((1.0, 0.1, 1.2), (3.0, 0.5, 2.0), (1.0, 0.0, 9.0), (1.0, 0.1, math.nan))
    assert worst_z(given, is_proportion=False) == pytest.approx(2.0)


def test_without_theory_there_is_no_distance():
    assert math.isnan(worst_z(rows((1.0, 0.1, math.nan)), is_proportion=False))


def test_proportions_are_told_by_their_bounds():
    summary = pd.DataFrame(
        {"measure": ["power", "mean_x"], "estimate": 0.5, "mcse": 0.025, "exact": 0.6}
    )
    share = rejection_rate("reject", name="power")
    lines = overview(summary, [share, mean("x")]).set_index("measure")
    assert lines.loc["mean_x", "worst_z"] == pytest.approx(4.0)
    assert lines.loc["power", "worst_z"] == pytest.approx(0.1 / math.sqrt(0.24 / 400))
