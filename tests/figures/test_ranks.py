"""The figure of ranks has their check: its band, its steps, its p-value."""

import numpy as np
import pandas as pd

from simstudy.figures import rank_plot
from simstudy.measures.sbc import check_ranks
from tests.figures.data import text_of

RNG = np.random.default_rng(2)
UNIFORM, NARROW = RNG.integers(0, 100, 300), np.clip(RNG.normal(50, 60, 300), 0, 99).astype(int)
RANKS = pd.DataFrame(
    {"rank": np.concatenate([UNIFORM, NARROW]), "prior": ["its own"] * 300 + ["another"] * 300}
)


def test_each_panel_has_the_check_of_its_ranks():
    plot = rank_plot(RANKS, n_draws=99, panel="prior")
    for ranks, prior in [(UNIFORM, "its own"), (NARROW, "another")]:
        rows = plot.data[plot.data["panel"].str.contains(prior)]
        check = check_ranks(ranks, 99)
        for name in ("position", "difference", "lower", "upper"):
            np.testing.assert_array_equal(rows[name].iloc[1:-1], getattr(check, name))
        assert rows["position"].iloc[[0, -1]].tolist() == [0, 1], "so one draw makes a figure, too"
        assert not rows[["difference", "lower", "upper"]].iloc[[0, -1]].to_numpy().any()
    plot.draw()


def test_it_says_what_it_found():
    said = text_of(rank_plot(RANKS, n_draws=99, panel="prior"))
    assert "Band: all differences of uniform ranks together, in 95% of studies." in said
    frames = [layer._data for layer in rank_plot(RANKS, n_draws=99, panel="prior").layers]
    (words,) = (frame["text"] for frame in frames if frame is not None and "text" in frame)
    assert min(word.strip() for word in words) == "p < 0.0001, 300 ranks"
