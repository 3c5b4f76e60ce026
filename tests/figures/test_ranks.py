"""The figure of ranks: its bars, its band and the p-value of each panel."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from simstudy.figures import rank_plot
from tests.figures.data import texts

RNG = np.random.default_rng(2)
UNIFORM, NARROW = RNG.integers(0, 100, 300), np.clip(RNG.normal(50, 60, 300), 0, 99).astype(int)
RANKS = pd.DataFrame(
    {"rank": np.concatenate([UNIFORM, NARROW]), "prior": ["its own"] * 300 + ["another"] * 300}
)


def test_each_panel_has_the_counts_of_its_ranks_and_their_binomial_limits():
    plot = rank_plot(RANKS, n_draws=99, panel="prior")
    for ranks, prior in [(UNIFORM, "its own"), (NARROW, "another")]:
        bins = plot.data[plot.data["panel"].str.contains(prior)]
        for one in bins.itertuples():
            assert one.count == sum(one.left < rank < one.right for rank in ranks)
            assert (one.lower, one.upper) == stats.binom(300, 0.05).interval(0.95)
        assert bins["expected"].tolist() == pytest.approx([15.0] * 20)
    said = {text.strip() for text in texts(plot.draw())}
    assert "p < 0.0001, 300 ranks" in said
    assert len(said) == 2
