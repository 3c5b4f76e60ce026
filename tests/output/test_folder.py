"""What a run leaves behind: files that say everything, and nothing done twice."""

import contextlib
import json
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from simstudy.claims import Claim, Reproduced
from simstudy.errors import FigureError, SimstudyError, StoreError
from simstudy.measures import bias, coverage
from simstudy.output import folder as publishing
from simstudy.output.folder import digest, publish, scenario_table
from simstudy.output.origin import is_current
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
    assert set(manifest["made_from"]) == {"blocks", "sources"}
    assert set(manifest) >= {"files", "python", "machine", "git", "publish_seconds"}


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
SOUND = {"1": plain_figure, "2": needs_more, "3": would_hide}


@pytest.fixture
def standing(tmp_path):
    """Published, and every figure drawn that the data allow."""
    return publish(study(figures=SOUND).run(60, out=tmp_path), config=CONFIG, module_file=__file__)


def current(tmp_path, *, config=CONFIG, n_rep=60, seed=1, file=__file__, figures=True, report=True):
    result = study(figures=SOUND).run(n_rep, seed, out=tmp_path)
    return is_current(result, config, file, figures=figures, report=report)


def test_what_stands_there_is_current(standing, tmp_path):
    assert current(tmp_path)


def test_a_figure_that_failed_is_tried_again(published, tmp_path):
    """Unlike one that the data do not allow, which says so again whenever it is asked."""
    result = study().run(60, out=tmp_path)
    assert manifest_of(result.folder)["figures_failed"] == ["4"]
    assert not is_current(result, CONFIG, __file__, figures=True, report=True)
    assert is_current(result, CONFIG, __file__, figures=False, report=True)


@pytest.mark.parametrize("name", ["summary.parquet", "claims.parquet", "scenarios.parquet",
                                  "figures/1.png", "figures/1.svg", "report.html"])  # fmt: skip
@pytest.mark.parametrize("harm", [lambda content: b"", lambda content: content + b" "])
def test_a_file_that_was_emptied_or_edited_is_made_again(harm, name, standing, tmp_path):
    path = tmp_path / "toy" / name
    path.write_bytes(harm(path.read_bytes()))
    assert not current(tmp_path)


def longer(tmp_path, **how):
    result = study(figures=SOUND).run(110, out=tmp_path)
    return result, publish(result, config=CONFIG, module_file=__file__, **how)


def test_figures_and_report_of_a_shorter_run_do_not_stay_beside_a_longer_ones(standing, tmp_path):
    longer(tmp_path, figures=False, report=False)
    assert not list((tmp_path / "toy" / "figures").iterdir())
    assert not (tmp_path / "toy" / "report.html").exists()
    result, _ = longer(tmp_path)
    assert is_current(result, CONFIG, __file__, figures=True, report=True)


def test_figures_of_the_same_run_stay(standing, tmp_path):
    result = study(figures=SOUND).run(60, out=tmp_path)
    publish(result, config=CONFIG, module_file=__file__, figures=False, report=False)
    assert current(tmp_path)


def test_what_is_not_ours_stays(standing, tmp_path):
    mine = tmp_path / "toy" / "figures" / "mine.png"
    mine.write_bytes(b"mine")
    longer(tmp_path, figures=False, report=False)
    assert mine.read_bytes() == b"mine"


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

    original = publishing.write_bytes
    with monkeypatch.context() as patch:
        patch.setattr(publishing, "write_bytes", until_killed)
        with contextlib.suppress(KeyboardInterrupt):
            longer(tmp_path, figures=False, report=False)
            assert at > 3
            return
    assert not (tmp_path / "toy" / "manifest.json").exists()
    assert not current(tmp_path)
    result = study(figures=SOUND).run(60, out=tmp_path)
    publish(result, config=CONFIG, module_file=__file__)
    assert current(tmp_path)
    stored = pd.read_parquet(tmp_path / "toy" / "summary.parquet")
    assert set(stored["n_rep"]) == {60}


# ---------------------------------------------------------------- what may be replaced
SETTINGS = {
    "a config value": ({"config": {**CONFIG, "n_obs": [3]}}, r"n_obs was \[3, 10\] and is \[3\]"),
    "a new setting": ({"config": {**CONFIG, "k": 1}}, "k was None and is 1"),
    "a setting less": ({"config": {"experiment": "toy"}}, r"n_obs was \[3, 10\] and is None"),
    "fewer replicates": ({"n_rep": 59}, "n_rep was 60 and is 59"),
}


@pytest.mark.parametrize("change", SETTINGS)
def test_results_of_other_settings_are_not_replaced(change, standing, tmp_path):
    how, said = SETTINGS[change]
    before = {path: path.read_bytes() for path in (tmp_path / "toy").rglob("*") if path.is_file()}
    result = study(figures=SOUND).run(how.get("n_rep", 60), out=tmp_path)
    with pytest.raises(
        StoreError, match=rf"{said}\. out=\S+ would do; replace=true .*\. Keep both"
    ) as refused:
        publish(result, config=how.get("config", CONFIG), module_file=__file__)
    assert "\n" not in str(refused.value)
    after = {path: path.read_bytes() for path in (tmp_path / "toy").rglob("*") if path.is_file()}
    assert after == before


def test_results_are_replaced_where_that_is_told(standing, tmp_path):
    result = study(figures=SOUND).run(59, out=tmp_path)
    publish(result, config=CONFIG, module_file=__file__, replace=True)
    assert manifest_of(result.folder)["replicates_per_scenario"] == 59


def test_a_longer_run_of_the_same_settings_goes_on_in_the_same_place(standing, tmp_path):
    result, _ = longer(tmp_path)
    assert manifest_of(result.folder)["replicates_per_scenario"] == 110


def test_a_scenario_with_fewer_replicates_counts(standing, tmp_path):
    result = study(figures=SOUND).run(60, out=tmp_path)
    first, second = result.plan.keys
    with pytest.raises(StoreError, match="n_rep was 60 and is 50"):
        publish(replace(result, n_rep={first: 100, second: 50}), config=CONFIG)


@pytest.mark.parametrize(
    "change",
    [{"config": {**CONFIG, "n_obs": [3]}}, {"n_rep": 61}, {"n_rep": 59}, {"file": None}],
    ids=str,
)
def test_what_would_be_published_otherwise_is_not(change, standing, tmp_path):
    assert not current(tmp_path, **change)


@pytest.mark.parametrize(
    "name", ["manifest.json", "summary.parquet", "claims.parquet", "figures/1.png", "report.html"]
)
def test_a_file_that_is_gone_is_made_again(name, standing, tmp_path):
    (tmp_path / "toy" / name).unlink()
    assert not current(tmp_path)


def test_what_was_not_asked_for_need_not_be_there(standing, tmp_path):
    (tmp_path / "toy" / "figures" / "1.png").unlink()
    (tmp_path / "toy" / "report.html").unlink()
    assert current(tmp_path, figures=False, report=False)


def test_another_version_of_a_library_makes_it_stale(standing, tmp_path):
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
    publish(mended.run(60, out=tmp_path), replace=True)
    assert not (tmp_path / "fragile" / "failures.parquet").exists()
    assert not (tmp_path / "fragile" / "summary_all_methods.parquet").exists()


# ---------------------------------------------------------------- scenarios.parquet
def test_the_factors_of_every_scenario():
    plan = toy.study((3, 10)).plan()
    table = scenario_table(plan).to_pydict()
    assert table["n_obs"] == [3, 10]
    assert table["scenario"] == list(plan.keys)


def test_factors_that_only_some_scenarios_have_are_null_elsewhere():
    @dataclass(frozen=True)
    class Other:
        k: float = 1.5

        def simulate(self, streams, n_rep):
            return {}

    plan = toy.study((3,)).plan()
    both = replace(plan, scenarios=(*plan.scenarios, Other()))
    table = scenario_table(both).to_pydict()
    assert table["n_obs"] == [3, None]
    assert table["k"] == [None, 1.5]
