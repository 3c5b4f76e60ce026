"""Criteria of the leave-one-out claims: decided by enough replicates, never easier with fewer."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from experiments.loo_r2 import claims
from experiments.loo_r2.claims import PUBLISHED, RIGHT, moves_coverage
from experiments.loo_r2.formulas import FORMULAS
from experiments.loo_r2.study import Config
from experiments.loo_r2.study import study as comparison
from simstudy.errors import TooFewReplicatesError


@pytest.mark.parametrize("points", [0.005, 0.01, 0.05])
def test_a_difference_of_a_standard_error_is_what_its_interval_loses(points):
    covers = 1 - 2 * stats.norm.sf(1.959963984540054 * (1 - moves_coverage(points)))
    assert covers == pytest.approx(0.95 - points, rel=1e-12)


def two_groups(n: int = 4000, scatter: float = 0.1) -> pd.DataFrame:
    """Log ratios that part by 1 where R² is small, and to the right form by nothing."""
    rng = np.random.default_rng(5)
    small = rng.random(n) < 0.3
    shared = scatter * rng.standard_normal(n)
    return pd.DataFrame({PUBLISHED: shared + small, RIGHT: shared, "small": small})


def test_the_parting_is_the_difference_of_the_two_means():
    rows = two_groups()
    small = rows["small"]
    for form in (PUBLISHED, RIGHT):
        parting = claims._parting(rows, form)
        gap = rows.loc[small, form].mean() - rows.loc[~small, form].mean()
        parts = [rows.loc[chosen, form].var(ddof=0) / chosen.sum() for chosen in (small, ~small)]
        assert parting.mean() == pytest.approx(gap, rel=1e-12)
        assert parting.var() / len(rows) == pytest.approx(sum(parts), rel=1e-12)


def test_the_two_part_where_more_than_chance_and_a_point_of_coverage_says_so(monkeypatch):
    monkeypatch.setattr(claims, "_few", lambda rows: rows)
    assert claims._low_r2(two_groups()).value == 1
    assert claims._low_r2(two_groups(), form=RIGHT).value == 0
    with pytest.raises(TooFewReplicatesError):
        claims._low_r2(two_groups(10, scatter=1.0))


def test_the_share_of_the_parting_that_is_left_has_the_error_of_a_jackknife(monkeypatch):
    rows = two_groups(400)
    monkeypatch.setattr(claims, "_few", lambda _: rows)
    found = claims._left_by_right_form(SimpleNamespace())

    def share(part):
        right, published = (
            part.loc[part["small"], form].mean() - part.loc[~part["small"], form].mean()
            for form in (RIGHT, PUBLISHED)
        )
        return right / published

    n = len(rows)
    without = np.array([share(rows.drop(index=row)) for row in rows.index])
    jackknife = np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum())
    assert found.value == pytest.approx(share(rows), rel=1e-12)
    # Both are first-order errors: they differ by terms of relative order 1/n of the smaller group.
    assert found.mcse == pytest.approx(jackknife, rel=2 / rows["small"].sum())


def test_fewer_replicates_reproduce_no_claim_that_more_refute():
    result = comparison(Config(n_obs=[100], n_draw=50, high_p=[50, 100])).run(n_rep=3)
    exact = [claim.name for claim in FORMULAS]  # of which replicates say nothing
    exact.append("one definition")  # which three data sets of 100 decide: they differ by 1e-6
    said = result.claims[~result.claims["claim"].isin(exact)]
    assert not said["verdict"].eq("reproduced").any()
    assert not said["rival"].str.endswith(": reproduced").any()
    few = said.set_index("claim").loc[["large n", "high p"], "verdict"]
    assert set(few) == {"too few replicates"}
