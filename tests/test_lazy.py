"""A library that is imported at its first use, and counts as if it had been imported first."""

import pickle
import sys

import pytest
import scipy

import simstudy
from simstudy import figures
from simstudy.documents.stats import two_stage
from simstudy.lazy import LazyModule
from simstudy.provenance.fingerprint import fingerprint

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
@pytest.mark.parametrize("package", [simstudy, figures], ids=lambda package: package.__name__)
def test_a_package_offers_what_it_lists_and_nothing_else(package):
    for name in package.__all__:
        assert getattr(package, name).__module__.startswith(("simstudy.", "collections.abc")), name
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError, match=f"'{package.__name__}' has no attribute 'pie_chart'"):
        _ = package.pie_chart
