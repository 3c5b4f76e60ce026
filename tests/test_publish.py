"""What a run leaves behind: files that say everything, and nothing done twice."""

import json
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from simstudy.claims import Claim, Reproduced
from simstudy.errors import FigureError, SimstudyError
from simstudy.measures import bias, coverage
from simstudy.publish import digest, is_current, publish
from simstudy.study import Study
from tests import toy

CONFIG = {"experiment": "toy", "n_obs": [3, 10]}


def plain_figure(result):
    figure = Figure(figsize=(2, 2))
    figure.add_subplot().plot(result.summary["estimate"].dropna())
    return figure


def needs_more(result):
    raise LookupError("n_obs = 99")


def would_hide(result):
    raise FigureError("3 points would be\n  drawn over others")


def breaks(result):
    raise ZeroDivisionError("a defect")


def study(n_obs=(3, 10), figures=None):
    return Study(
        name="toy",
        scenarios=toy.study(n_obs).scenarios,
        measures=[bias("estimate", truth="truth"), coverage("lower", "upper", truth="truth")],
        axes={"method": toy.METHODS},
        block_size=50,
        figures=figures or {"1": plain_figure, "2": needs_more, "3": would_hide, "4": breaks},
        claims=[
            Claim("c", "Coverage is 95%", "table 1", lambda r: Reproduced(0.95), published=0.95)
        ],
    )


@pytest.fixture
def published(tmp_path):
    result = study().run(60, out=tmp_path)
    return result, publish(result, about="Aims", config=CONFIG, module_file=__file__)


def manifest_of(folder):
    return json.loads((folder / "manifest.json").read_text())


def test_every_file_is_there_and_named(published):
    result, made = published
    names = {path.relative_to(result.folder).as_posix() for path in made.files}
    assert names == {
        "summary.parquet", "claims.parquet", "scenarios.parquet", "figures/1.png",
        "figures/1.svg", "report.html", "manifest.json",
    }  # fmt: skip
    assert all(path.stat().st_size for path in made.files)
    assert (result.folder.parent / "index.html").exists()
    assert not list(result.folder.rglob(".writing-*"))


def test_files_hold_what_the_result_says(published):
    result, _ = published
    stored = pd.read_parquet(result.folder / "summary.parquet")
    pd.testing.assert_frame_equal(stored, result.summary, check_dtype=False, check_exact=True)
    claims = pd.read_parquet(result.folder / "claims.parquet")
    assert claims["verdict"].tolist() == ["reproduced"]
    scenarios = pd.read_parquet(result.folder / "scenarios.parquet")
    assert scenarios["scenario"].tolist() == list(result.plan.keys)
    assert scenarios["n_obs"].tolist() == [3, 10]


def test_a_figure_that_cannot_be_drawn_is_told_and_the_others_are(published):
    result, made = published
    assert made.not_drawn == {
        "2": "n_obs = 99",
        "3": "3 points would be drawn over others",
        "4": "ZeroDivisionError: a defect",
    }
    assert manifest_of(result.folder)["figures_not_drawn"] == made.not_drawn


def test_the_manifest_says_how_it_was_made(published):
    result, _ = published
    manifest = manifest_of(result.folder)
    assert manifest["study"] == "toy"
    assert manifest["seed"] == 1
    assert manifest["config"] == CONFIG
    assert manifest["scenarios"] == 2
    assert manifest["replicates_per_scenario"] == 60
    assert manifest["replicates"] == 120
    assert manifest["failed_replicates"] == 0
    assert manifest["largest_mcse"] == result.summary["mcse"].max()
    assert manifest["digest"] == digest(result)
    assert manifest["blocks_computed"] == 4
    assert manifest["wall_seconds"] >= 0
    assert manifest["versions"]["numpy"] == np.__version__
    assert set(manifest) >= {"sources", "python", "machine", "git", "publish_seconds"}


def test_the_time_that_the_numbers_took_outlives_a_second_publishing(published, tmp_path):
    first = manifest_of(tmp_path / "toy")
    publish(study().run(60, out=tmp_path), config=CONFIG, module_file=__file__)
    again = manifest_of(tmp_path / "toy")
    assert again["blocks_computed"] == first["blocks_computed"] > 0
    assert again["wall_seconds"] == first["wall_seconds"]
    assert again["digest"] == first["digest"]


def test_the_digest_notices_the_last_bit(published):
    result, _ = published
    before = digest(result)
    assert digest(study().run(60)) == before
    value = result.summary.loc[0, "estimate"]
    result.summary.loc[0, "estimate"] = np.nextafter(value, 1)
    assert digest(result) != before


def test_in_memory_there_is_nowhere_to_write():
    with pytest.raises(SimstudyError, match=r"lives in memory only: give run\(\.\.\.\) a folder"):
        publish(study().run(10))


# ---------------------------------------------------------------- nothing done twice
def current(tmp_path, *, config=CONFIG, n_rep=60, seed=1, file=__file__, figures=True, report=True):
    result = study().run(n_rep, seed, out=tmp_path)
    return is_current(result, config, file, figures=figures, report=report)


def test_what_stands_there_is_current(published, tmp_path):
    assert current(tmp_path)


@pytest.mark.parametrize(
    "change",
    [{"config": {**CONFIG, "n_obs": [3]}}, {"n_rep": 61}, {"n_rep": 59}, {"file": None}],
    ids=str,
)
def test_what_would_be_published_otherwise_is_not(change, published, tmp_path):
    assert not current(tmp_path, **change)


@pytest.mark.parametrize(
    "name", ["manifest.json", "summary.parquet", "claims.parquet", "figures/1.png", "report.html"]
)
def test_a_file_that_is_gone_is_made_again(name, published, tmp_path):
    (tmp_path / "toy" / name).unlink()
    assert not current(tmp_path)


def test_what_was_not_asked_for_need_not_be_there(published, tmp_path):
    (tmp_path / "toy" / "figures" / "1.png").unlink()
    (tmp_path / "toy" / "report.html").unlink()
    assert current(tmp_path, figures=False, report=False)


def test_another_version_of_a_library_makes_it_stale(published, tmp_path):
    manifest = manifest_of(tmp_path / "toy")
    manifest["versions"]["scipy"] = "0.1"
    (tmp_path / "toy" / "manifest.json").write_text(json.dumps(manifest))
    assert not current(tmp_path)


def test_blocks_that_were_just_drawn_are_never_current(published, tmp_path):
    result = study().run(60, out=tmp_path, restart=True)
    assert not is_current(result, CONFIG, __file__, figures=True, report=True)


def test_figures_and_report_can_be_left_out(tmp_path):
    result = study().run(60, out=tmp_path)
    made = publish(result, figures=False, report=False)
    names = {path.name for path in made.files}
    assert names == {"summary.parquet", "claims.parquet", "scenarios.parquet", "manifest.json"}
    assert not (result.folder / "figures").exists()


# ---------------------------------------------------------------- failures
@dataclass(frozen=True)
class Fragile:
    healthy: bool = False

    def simulate(self, streams, n_rep):
        x = streams("data").random((n_rep, 2))
        if not self.healthy:
            x[::7, 1] = np.nan
        return {"estimate": x, "truth": 0.5}


def fragile():
    axes = {"method": ("a", "b")}
    return Study("fragile", [Fragile()], [bias("estimate", truth="truth")], axes, 50)


def test_failures_are_a_file_of_their_own(tmp_path):
    result = fragile().run(60, out=tmp_path)
    publish(result)
    stored = pd.read_parquet(tmp_path / "fragile" / "failures.parquet")
    expected = [rep for rep in range(60) if (rep % 50) % 7 == 0]
    assert stored["rep"].tolist() == expected
    assert manifest_of(tmp_path / "fragile")["failed_replicates"] == len(expected)
    assert "NaN in estimate" in (tmp_path / "fragile" / "report.html").read_text()


def test_failures_of_an_earlier_run_do_not_stay(tmp_path):
    publish(fragile().run(60, out=tmp_path))
    (tmp_path / "fragile" / "failures.parquet").exists()
    mended = Study(
        "fragile", [Fragile(healthy=True)], [bias("estimate", truth="truth")],
        {"method": ("a", "b")}, 50,
    )  # fmt: skip
    publish(mended.run(60, out=tmp_path))
    assert not (tmp_path / "fragile" / "failures.parquet").exists()
    assert not (tmp_path / "fragile" / "summary_all_methods.parquet").exists()
