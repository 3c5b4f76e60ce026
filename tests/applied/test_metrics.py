"""Which way a metric goes, by its name."""

import pytest

from simstudy.applied.metrics import is_lower_better


@pytest.mark.parametrize(
    "name", ["perplexity", "Word Error Rate", "word-error-rate", "WER", "loss"]
)
def test_errors_and_losses_are_better_lower(name):
    assert is_lower_better(name)


@pytest.mark.parametrize("name", ["accuracy", "exact match", "bleu", "score", "", "lossless"])
def test_others_are_better_higher(name):
    assert not is_lower_better(name)
