"""Shapes in annotations are executed here, and are words in a run."""

import jaxtyping
import numpy as np
import pytest

from simstudy import array_types
from simstudy.documents.stats.quantile_bootstrap import corrected_level
from tests.test_imports import imported_by


@pytest.mark.parametrize("name", array_types.__all__)
def test_here_they_are_those_of_jaxtyping(name):
    assert getattr(array_types, name) is getattr(jaxtyping, name)


def test_here_arrays_of_other_shapes_are_refused():
    with pytest.raises(jaxtyping.TypeCheckError, match="rep=3"):
        corrected_level(np.zeros(3), np.ones(1), 0.1)


def test_in_a_run_nothing_is_checked():
    code = (
        "import numpy as np; "
        "from simstudy.documents.dgps.linear import folded_normal_mean as mean; "
        "assert mean.__annotations__['return'].__origin__ is np.ndarray; mean(0.0, 1)"
    )
    assert imported_by(code, ("jaxtyping",)) == []
