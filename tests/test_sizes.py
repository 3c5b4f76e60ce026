"""Numbers of replicates."""

import numpy as np
import pytest

from simstudy.errors import ConfigError
from tests.factories import mean_study
from tests.support import INLINE


def test_replicates_are_the_first_of_the_same_sequence():
    study = mean_study()
    last = study.scenarios[-1]
    few = study.run(30, **INLINE)
    many = study.run(90, **INLINE)
    left, right = (each.columns(last, "estimate")["estimate"] for each in (few, many))
    np.testing.assert_array_equal(left, right[:30])


def test_a_float_that_is_a_whole_number_is_one(tmp_path):
    few = mean_study().run(1e2, out=tmp_path, **INLINE)
    assert set(few.n_rep.values()) == {100}
    with pytest.raises(ConfigError, match=r"n_rep=100\.5: must be a whole number"):
        mean_study().run(100.5, out=tmp_path)
