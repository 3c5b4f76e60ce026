"""The lists name what there is: a module that moves takes its entry along."""

import importlib.util
from types import SimpleNamespace

import pytest

from simstudy.provenance.policy import (
    DISTRIBUTIONS,
    RUNS,
    SILENT,
    STATES,
    WELL_KNOWN,
    is_passed_over,
)


@pytest.mark.parametrize("module", sorted({*SILENT, *(f"simstudy.{name}" for name in RUNS)}))
def test_modules_of_ours_in_the_lists_exist(module):
    assert importlib.util.find_spec(module) is not None
    assert is_passed_over(module)


def test_distributions_and_states_are_those_of_well_known_libraries():
    assert set(DISTRIBUTIONS) <= WELL_KNOWN
    assert set(STATES) - {"decimal"} <= WELL_KNOWN


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_torch_counts_where_it_is_not_as_it_comes(dtype):
    """It is loaded late: a process that has loaded it and one that has yet to are the same."""
    torch = SimpleNamespace(get_default_dtype=lambda: f"torch.{dtype}")
    assert bool(STATES["torch"](torch)) == (dtype == "float64")
