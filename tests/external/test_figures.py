"""Every table of replicates has the general figures."""

import pytest

from simstudy.external.from_frame import from_frame
from tests.external.tables import COLUMNS, TRUTH

pytestmark = pytest.mark.filterwarnings("ignore:method new has no row", "ignore:no truth is")


def drawn(result, name):
    return result.figure(name).draw()


def test_every_figure_is_drawn(table):
    result = from_frame(table, truth={"normal": 0.5, "skewed": 0.6}, **COLUMNS)
    assert list(result.details.figures) == [
        "estimates", "standard_errors", "bias_and_errors", "coverage_and_power"
    ]  # fmt: skip
    for name in result.details.figures:
        assert drawn(result, name).axes
    without = from_frame(table[["b"]], estimate="b")
    assert list(without.details.figures) == ["estimates", "bias_and_errors"]
    assert drawn(without, "estimates").axes


def test_rows_of_panels_say_one_factor_a_line(table):
    """In one line the words of a row run into those of the next."""
    twice = table.assign(n=table["dataset"] % 2)
    result = from_frame(twice, truth=TRUTH, **{**COLUMNS, "by": ["dgm", "n"]})
    rows = result.figure("bias_and_errors").data["rows"]
    assert "dgm = normal,\nn = 1" in set(rows)
