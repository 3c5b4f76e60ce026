"""What a run leaves behind: files that say everything, and nothing half written."""

import contextlib
import hashlib
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pytest

from simstudy import Data
from simstudy.errors import SimstudyError
from simstudy.measures import bias
from simstudy.output import formatting as writing
from simstudy.output.folder import publish
from simstudy.output.formatting import scenario_table
from simstudy.output.manifest import digest_of_summary
from simstudy.study import Study
from tests.factories import mean_study, price_study
from tests.output.standing import (
    CONFIG,
    FILE,
    SOUND,
    current,
    is_current,
    longer,
    manifest_of,
    study,
)


def test_every_file_is_there_and_holds_what_the_result_says(published):
    result, made = published
    names = {path.relative_to(result.folder).as_posix() for path in made.files}
    assert names == {
        "summary.parquet", "claims.parquet", "scenarios.parquet", "cells.parquet",
        "groups.parquet", "figures/1.png", "figures/1.svg", "report.html", "explore.html",
        "manifest.json", "tables/summary.csv", "tables/summary.md", "tables/summary.tex",
    }  # fmt: skip
    assert all(path.stat().st_size for path in made.files)
    assert (result.folder.parent / "index.html").exists()
    assert not list(result.folder.rglob(".writing-*"))
    stored = pd.read_parquet(result.folder / "summary.parquet")
    pd.testing.assert_frame_equal(stored, result.summary, check_dtype=False, check_exact=True)
    claims = pd.read_parquet(result.folder / "claims.parquet")
    assert claims["verdict"].tolist() == ["reproduced"]


def test_the_manifest_says_how_it_was_made_and_what_was_not_drawn(published):
    result, made = published
    manifest = manifest_of(result.folder)
    expected = {
        "study": "toy",
        "seed": 1,
        "config": CONFIG,
        "question": "Why?",
        "scenarios": 2,
        "replicates_per_scenario": 60,
        "replicates": 120,
        "failed_replicates": 0,
        "outputs": digest_of_summary(result.summary),
        "blocks_computed": 4,
        "figures_not_drawn": {
            "2": "n_obs = 99",
            "3": "3 points would be drawn over others",
            "4": "ZeroDivisionError: a defect",
        },
    }
    assert {name: manifest[name] for name in expected} == expected
    assert made.manifest["figures_not_drawn"] == expected["figures_not_drawn"]
    assert manifest["wall_seconds"] >= 0
    in_all = result.seconds["seconds"].sum()
    assert 0 < manifest["core_seconds"] == pytest.approx(in_all, abs=5e-4)
    age = datetime.now(UTC) - datetime.strptime(manifest["made"] + "+0000", "%Y-%m-%d %H:%M UTC%z")
    assert timedelta(0) <= age < timedelta(minutes=10)
    assert manifest["versions"]["numpy"] == np.__version__
    assert set(manifest["inputs"]) == {"digest", "blocks"}
    assert manifest["inputs"]["blocks"] == result.details.store.origins(result.details.unit_sizes)
    assert set(manifest) >= {"files", "python", "machine", "git", "publish_seconds"}


def test_the_time_that_the_numbers_took_outlives_a_second_publishing(standing, tmp_path):
    first = manifest_of(tmp_path / "toy")
    publish(study(figures=SOUND).run(60, out=tmp_path), config=CONFIG, module_file=FILE)
    again = manifest_of(tmp_path / "toy")
    assert again["blocks_computed"] == first["blocks_computed"] > 0
    assert again["wall_seconds"] == first["wall_seconds"]


def test_the_digest_notices_the_last_bit():
    result = study().run(60)
    before = digest_of_summary(result.summary)
    assert digest_of_summary(study().run(60).summary) == before
    value = result.summary.loc[0, "estimate"]
    result._frames["summary"].loc[0, "estimate"] = np.nextafter(value, 1)
    assert digest_of_summary(result.summary) != before


def test_in_memory_there_is_nowhere_to_write():
    with pytest.raises(SimstudyError, match="a result in memory needs a folder"):
        publish(study().run(10))


def test_figures_and_report_can_be_left_out_and_those_of_a_shorter_run_do_not_stay(
    standing, tmp_path
):
    result, made = longer(tmp_path, figures=False, report=False)
    names = ("summary", "claims", "scenarios", "cells", "groups")
    frames = {f"{name}.parquet" for name in names}
    tables = {f"summary.{ending}" for ending in ("csv", "md", "tex")}
    assert {path.name for path in made.files} == {*frames, *tables, "manifest.json"}
    assert not list((tmp_path / "toy" / "figures").iterdir())
    assert not (tmp_path / "toy" / "report.html").exists()
    result, _ = longer(tmp_path)
    assert is_current(result, CONFIG, FILE, figures=True, report=True)


@pytest.mark.parametrize("at", range(1, 8))
def test_a_run_killed_while_publishing_leaves_nothing_that_passes_as_current(
    at, standing, tmp_path, monkeypatch
):
    """The manifest goes first and comes last; then a shorter run publishes its own, whole."""
    writes = iter(range(1, 100))

    def until_killed(path, content):
        if next(writes) == at:
            raise KeyboardInterrupt
        original(path, content)

    original = writing.write_bytes
    with monkeypatch.context() as patch:
        patch.setattr(writing, "write_bytes", until_killed)
        with contextlib.suppress(KeyboardInterrupt):
            longer(tmp_path, figures=False, report=False)
            assert at > 3
            return
    assert not (tmp_path / "toy" / "manifest.json").exists()
    assert not current(tmp_path)
    result = study(figures=SOUND).run(60, out=tmp_path)
    publish(result, config=CONFIG, module_file=FILE)
    assert current(tmp_path)
    stored = pd.read_parquet(tmp_path / "toy" / "summary.parquet")
    assert set(stored["n_rep"]) == {60}


@dataclass(frozen=True)
class Fragile:
    def simulate(self, streams, n_rep):
        x = streams("data").random((n_rep, 2))
        x[::7, 1] = np.nan
        return {"estimate": x, "truth": 0.5}


def test_failures_are_a_file_of_their_own(tmp_path):
    axes = {"method": ("a", "b")}
    fragile = Study(
        "fragile", [Fragile()], [bias("estimate", truth="truth")], axes=axes, block_size=50
    )
    publish(fragile.run(60, out=tmp_path))
    stored = pd.read_parquet(tmp_path / "fragile" / "failures.parquet")
    expected = [rep for rep in range(60) if (rep % 50) % 7 == 0]
    assert stored["rep"].tolist() == expected
    assert manifest_of(tmp_path / "fragile")["failed_replicates"] == len(expected)
    assert "NaN in estimate" in (tmp_path / "fragile" / "report.html").read_text()


def test_the_factors_of_every_scenario_are_null_where_it_has_none():
    @dataclass(frozen=True)
    class Other:
        k: float = 1.5

        def simulate(self, streams, n_rep):
            return {}

    plan = mean_study((3,)).plan()
    both = replace(plan, scenarios=(*plan.scenarios, Other()))
    table = scenario_table(both).to_dict("list")
    assert table["scenario"] == list(both.keys)
    assert table["n_obs"] == [3, None]
    assert table["k"] == [None, 1.5]


def test_the_manifest_says_which_data_there_were(tmp_path):
    (tmp_path / "prices.csv").write_bytes(b"price\n1.5\n2.5\n")
    result = price_study(Data.file(tmp_path / "prices.csv")).run(10, out=tmp_path)
    publish(result, figures=False, report=False)
    digest = hashlib.sha256((tmp_path / "prices.csv").read_bytes()).hexdigest()
    assert manifest_of(result.folder)["data"] == {"prices": digest}


def test_a_caller_in_python_is_told_which_figure_was_not_made(tmp_path):
    def broken(result):
        raise ZeroDivisionError("a defect")

    result = replace(mean_study((3,)), figures={"own": broken}).run(40, n_jobs=1)
    with pytest.warns(UserWarning, match="own was not made: ZeroDivisionError: a defect"):
        publish(result, tmp_path / "toy", report=False)
