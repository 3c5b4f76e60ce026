"""Scenarios of two classes with the same fields are told apart in every table that is made."""

from dataclasses import dataclass
from typing import ClassVar

import pandas as pd
import pyarrow.parquet as pq
import pytest

from simstudy.design import grid
from simstudy.measures import mean
from simstudy.output.folder import publish
from simstudy.study import Study
from tests.support import INLINE


@dataclass(frozen=True)
class Normal:
    n: int

    def simulate(self, streams, n_rep):
        return {"x": streams("data").standard_normal((n_rep, self.n)).mean(axis=1)}


@dataclass(frozen=True)
class Lognormal:
    n: int
    label: ClassVar[str] = "skewed"

    def simulate(self, streams, n_rep):
        return {"x": streams("data").lognormal(size=(n_rep, self.n)).mean(axis=1)}


def study(*kinds):
    scenarios = [each for kind in kinds for each in grid(kind, n=[5, 10, 20])]
    return Study("classes", scenarios, measures=[mean("x")], block_size=10)


@pytest.fixture
def result(tmp_path):
    return study(Normal, Lognormal).run(20, out=tmp_path, **INLINE)


def test_every_table_has_a_row_for_each_cell(result):
    for frame in (result.summary, result.table("summary").frame):
        assert len(frame) == 6
    assert result.summary["scenario_class"].tolist() == ["Normal"] * 3 + ["skewed"] * 3
    assert len(result.replicates) == 6 * 20
    assert result.replicates.groupby(["scenario_class", "n"]).size().tolist() == [20] * 6
    assert len(result.seconds) == 6


def test_every_file_has_a_row_for_each_cell(result):
    publish(result, config={})
    folder = result.folder
    for path in (folder / "summary.parquet", folder / "scenarios.parquet"):
        assert not pq.read_table(path).to_pandas().duplicated(["scenario_class", "n"]).any()
    table = pd.read_csv(folder / "tables" / "summary.csv")
    assert len(table) == 6
    assert "skewed" in (folder / "report.html").read_text()


def test_a_row_is_found_by_its_class(result):
    found = result.row("mean_x", scenario_class="skewed", n=5)
    assert found["estimate"] > 1
    with pytest.raises(LookupError, match="scenario_class"):
        result.row("mean_x", n=5)


def test_one_class_needs_no_column(tmp_path):
    result = study(Normal).run(20, **INLINE)
    assert "scenario_class" not in result.summary
