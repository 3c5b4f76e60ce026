"""Every table of replicates has the general figures, and says why one is not there."""

import pytest

from simstudy.errors import FigureError
from simstudy.external.from_frame import from_frame
from tests.external.tables import COLUMNS, TRUTH

pytestmark = pytest.mark.filterwarnings("ignore:method new has no row", "ignore:no truth is")


def drawn(result, name):
    return result.figure(name).draw()


def test_every_figure_is_drawn(table):
    result = from_frame(table, truth={"normal": 0.5, "skewed": 0.6}, **COLUMNS)
    assert list(result.details.figures) == [
        "estimates", "standard_errors", "bias_and_errors", "coverage_and_power", "over_factor"
    ]  # fmt: skip
    for name in list(result.details.figures)[:-1]:
        assert drawn(result, name).axes
    without = from_frame(table[["b"]], estimate="b")
    assert list(without.details.figures) == ["estimates", "bias_and_errors"]
    assert drawn(without, "estimates").axes
    with pytest.raises(FigureError, match="no factor is a quantity with several values"):
        result.figure("over_factor")


def test_a_quantity_has_curves(table):
    numbered = table.assign(n=table["dgm"].map({"normal": 10, "skewed": 20}))
    result = from_frame(numbered, truth=TRUTH, **{**COLUMNS, "by": ["n"]})
    assert len(drawn(result, "over_factor").axes) == 3  # bias, coverage, power


def test_rows_of_panels_say_one_factor_a_line(table):
    """In one line the words of a row run into those of the next."""
    twice = table.assign(n=table["dataset"] % 2)
    result = from_frame(twice, truth=TRUTH, **{**COLUMNS, "by": ["dgm", "n"]})
    rows = result.figure("bias_and_errors").data["rows"]
    assert "dgm = normal,\nn = 1" in set(rows)
