"""The lists name what there is: a module that moves takes its entry along."""

import importlib.util

import pytest

from simstudy.provenance.policy import (
    DISTRIBUTIONS,
    RUNS,
    SILENT,
    WELL_KNOWN,
    is_passed_over,
)


@pytest.mark.parametrize("module", sorted({*SILENT, *(f"simstudy.{name}" for name in RUNS)}))
def test_modules_of_ours_in_the_lists_exist(module):
    assert importlib.util.find_spec(module) is not None
    assert is_passed_over(module)


def test_distributions_are_those_of_well_known_libraries():
    assert set(DISTRIBUTIONS) <= WELL_KNOWN
