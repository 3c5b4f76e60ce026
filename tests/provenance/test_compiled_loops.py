"""Compiled loops of the documents count with all of their file, which nothing imports for that."""

import sys

import pytest

from simstudy.documents.stats.mean_bootstrap import resampled_means
from simstudy.documents.stats.networks import ensemble_predictions
from simstudy.provenance import modules
from simstudy.provenance.fingerprint import changes
from tests.provenance import fingerprint

LOOPS = {
    "simstudy.documents.stats._resample_sums": (resampled_means, "sums[c] / n_obs"),
    "simstudy.documents.stats._epochs": (ensemble_predictions, "plan.newest * (mean"),
}


@pytest.mark.parametrize("module", LOOPS)
def test_a_changed_loop_is_another_computation(monkeypatch, module):
    function, line = LOOPS[module]
    text_of = modules.text_of
    assert line in text_of(module)
    monkeypatch.delitem(sys.modules, module, raising=False)
    before = fingerprint((function,))
    assert module not in sys.modules
    edited = text_of(module).replace(line, f"2 * {line}")
    monkeypatch.setattr(
        modules, "text_of", lambda name: edited if name == module else text_of(name)
    )
    assert changes(before, fingerprint((function,))) == [f"{module}.(all of it) has changed"]
