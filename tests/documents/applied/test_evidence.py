"""Numbers that answers quote from the published studies are those of the published summaries."""

import pandas as pd
import pytest

from simstudy.documents.applied.answers import all_evidence, evidence, loo_errors
from tests.support import ROOT, needs_results


@needs_results
@pytest.mark.parametrize("study", sorted({each.study for each in all_evidence()}))
def test_every_number_is_a_row_of_its_summary(study):
    summary = pd.read_parquet(ROOT / "results" / study / "summary.parquet")
    for each in (each for each in all_evidence() if each.study == study):
        rows = summary[summary["measure"] == each.measure]
        for cell in each.cell.split(";"):
            name, _, value = cell.partition("=")
            rows = rows[rows[name].astype(str) == value]
        assert len(rows) == 1, each
        found = rows[["estimate", "mcse"]].iloc[0].tolist()
        assert found == pytest.approx([each.estimate, each.mcse], rel=1e-3), each


def test_a_number_is_printed_with_two_errors():
    assert str(evidence("threshold bca strict")[0]) == "76.9 ± 0.3%"
    assert evidence("regression correlation power") == []


def test_the_nearest_cell_knows_crowded_designs_from_small_ones():
    assert loo_errors(100, 5)[:2] == (100, 5)
    assert loo_errors(60, 55)[:2] == (50, 50)
    assert loo_errors(6, 1)[:2] == (5, 1)
    low, high = loo_errors(50, 50)[2]["taylor"]
    assert low == high == pytest.approx(-0.68, abs=0.005)
