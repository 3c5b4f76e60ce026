"""A library that is imported at its first use, and counts as if it had been imported first."""

import pickle
import sys

import pytest
import scipy

import simstudy
from simstudy.documents.stats import two_stage
from simstudy.lazy import LazyModule
from tests.provenance import fingerprint

LATE = "colorsys"  # any small module


@pytest.fixture(autouse=True)
def not_imported(monkeypatch):
    monkeypatch.delitem(sys.modules, LATE, raising=False)


def test_it_is_imported_when_one_of_its_names_is_asked_for():
    late = LazyModule(LATE)
    assert LATE not in sys.modules
    assert late.rgb_to_hsv(0, 0, 0) == (0, 0, 0)
    assert LATE in sys.modules


def test_it_is_late_in_another_process_as_well():
    again = pickle.loads(pickle.dumps(LazyModule(LATE)))
    assert LATE not in sys.modules
    assert again.rgb_to_hsv(0, 0, 0) == (0, 0, 0)


def test_the_fingerprint_has_the_version_of_a_library_that_is_late():
    assert fingerprint([two_stage.power])["scipy"] == scipy.__version__


# ---------------------------------------------------------------- names of packages
def test_the_package_offers_what_it_lists_and_nothing_else():
    for name in simstudy.__all__:
        assert getattr(simstudy, name).__module__.startswith(("simstudy.", "collections.abc")), name
    assert set(simstudy.__all__) <= set(dir(simstudy))
    with pytest.raises(AttributeError, match="'simstudy' has no attribute 'pie_chart'"):
        _ = simstudy.pie_chart
