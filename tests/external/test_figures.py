"""Every table of replicates has the general figures."""

import pytest

from simstudy.external.from_frame import from_frame
from tests.external.tables import COLUMNS

pytestmark = pytest.mark.filterwarnings("ignore:method new has no row", "ignore:no truth is")


def drawn(result, name):
    return result.figure(name).draw()


def test_every_figure_is_drawn(table):
    result = from_frame(table, truth={"normal": 0.5, "skewed": 0.6}, **COLUMNS)
    assert list(result.details.figures) == [
        "bias", "empirical_se", "model_se", "coverage", "power", "relative_precision"
    ]  # fmt: skip
    for name in result.details.figures:
        assert drawn(result, name).axes
    without = from_frame(table[["b"]], estimate="b")
    assert list(without.details.figures) == ["empirical_se"]
    assert drawn(without, "empirical_se").axes
