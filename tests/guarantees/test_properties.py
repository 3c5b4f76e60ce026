"""Properties of a scenario count for blocks if drawing or a method reads them."""

import importlib
import sys

import numpy as np
import pytest

from simstudy import Study
from simstudy.measures import bias
from tests.support import INLINE, on

MODULE = """
from dataclasses import dataclass
import numpy as np

@dataclass(frozen=True)
class Location:
    n: int = 5

    @property
    def truth(self):
        return {truth}

    @property
    def weights(self):
        return np.full(self.n, {weight})

    @property
    def scale(self):
        return {scale}

    def draw(self, streams, n_rep):
        return {{"x": streams("data").normal(1.0, 1.0, (n_rep, self.n)) * self.scale}}

def weighted(x, weights):
    return {{"estimate": x @ weights}}

def average(x):
    return {{"estimate": x.mean(axis=1)}}
"""
FIRST = {"truth": 1.5, "weight": 0.2, "scale": 1.0}


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Makes the study of a module with these properties, loaded anew."""
    monkeypatch.syspath_prepend(tmp_path)

    def make(*names, **changes):
        (tmp_path / "with_properties.py").write_text(MODULE.format(**FIRST | changes))
        sys.modules.pop("with_properties", None)
        importlib.invalidate_caches()
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
        module = importlib.import_module("with_properties")
        methods = {name: getattr(module, name) for name in names or ("average", "weighted")}
        measures = [bias("estimate", truth="truth")]
        return Study("location", [module.Location()], measures, methods=methods, block_size=50)

    return make


def test_a_corrected_truth_draws_nothing_and_changes_the_summary(study, tmp_path):
    wrong = study().run(100, out=tmp_path, **INLINE)
    right = study(truth=1.0).run(100, out=tmp_path, **INLINE)
    assert right.outcome.n_blocks == 0
    np.testing.assert_allclose(right.summary["estimate"], wrong.summary["estimate"] + 0.5)
    assert "truth" not in right.details.store.column_names()


@pytest.mark.parametrize(
    ("change", "n_blocks"), [({"weight": 0.3}, 2), ({"scale": 2.0}, 4)], ids=["method", "draw"]
)
def test_a_property_that_draws_or_is_analysed_counts_where_it_is_read(
    change, n_blocks, study, tmp_path
):
    study().run(100, out=tmp_path, **INLINE)
    again = study(**change)
    with pytest.warns(UserWarning, match=f"Location.{'weights' if n_blocks == 2 else 'scale'} has"):
        result = again.run(100, out=tmp_path, **INLINE)
    assert result.outcome.n_blocks == n_blocks
    assert result.summary.equals(again.run(100, **INLINE).summary)


def test_a_new_method_that_reads_a_property_draws_no_other(study, tmp_path):
    study("average").run(100, out=tmp_path, **INLINE)
    assert study().run(100, out=tmp_path, **INLINE).outcome.n_blocks == 2


@pytest.mark.slow
def test_workers_know_the_properties_that_a_parameter_names(study):
    made = study()
    assert made.run(200, **on("loky", 2)).summary.equals(made.run(200, **INLINE).summary)
