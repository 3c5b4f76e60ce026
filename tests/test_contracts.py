"""What every experiment and every data-generating process on disk must keep."""

import dataclasses
import importlib
import inspect
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

import run
from tests.support import assert_within_mcse, critical_z, replicates_to_catch

ROOT = Path(__file__).parents[1]
EXPERIMENTS = sorted(path.stem for path in (ROOT / "experiments").glob("[!_]*.py"))
HEADINGS = ("Aims ", "Data ", "Estimands ", "Methods ", "Performance ")


@pytest.fixture(scope="module", params=EXPERIMENTS)
def smoke(request, tmp_path_factory):
    """Name and results folder of an experiment after `scale=smoke`."""
    out = tmp_path_factory.mktemp(request.param)
    status = run.main([f"experiment={request.param}", "scale=smoke", f"out={out}"])
    return request.param, out / request.param, status


def module_of(name: str):
    return importlib.import_module(f"experiments.{name}")


def study_of(name: str):
    module = module_of(name)
    return module.study(module.Config())


def test_it_runs_at_smoke_scale_without_a_failure(smoke):
    name, folder, status = smoke
    assert status == 0, f"{name} ended with status {status}"
    assert (folder / "manifest.json").exists()


def test_it_draws_every_figure_that_it_declares(smoke):
    name, folder, _ = smoke
    for figure in study_of(name).figures:
        for ending in ("png", "svg"):
            assert (folder / "figures" / f"{figure}.{ending}").stat().st_size > 5000, figure


def test_every_number_has_its_error_or_a_reason(smoke):
    _, folder, _ = smoke
    summary = pd.read_parquet(folder / "summary.parquet")
    bare = summary["mcse"].isna() & (summary["reason"] == "")
    assert len(summary)
    assert not bare.any(), summary[bare]


def test_every_claim_has_a_verdict(smoke):
    name, folder, _ = smoke
    claims = pd.read_parquet(folder / "claims.parquet")
    assert list(claims["claim"]) == [claim.name for claim in study_of(name).claims]
    assert claims["claim"].is_unique
    assert set(claims["verdict"]) <= {"reproduced", "differs", "no data"}


def test_the_second_run_finds_nothing_to_do(smoke, capsys):
    name, folder, _ = smoke
    assert run.main([f"experiment={name}", "scale=smoke", f"out={folder.parent}"]) == 0
    assert "nothing to do" in capsys.readouterr().out


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_its_docstring_is_a_protocol(name):
    text = inspect.getdoc(module_of(name)) or ""
    assert [heading for heading in HEADINGS if f"\n{heading}" not in text] == []


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_its_published_values_stand_in_one_place(name):
    fields = {one.name for one in dataclasses.fields(module_of(name).Config)}
    path = ROOT / "conf" / "experiment" / f"{name}.yaml"
    assert path.exists()
    assert set(yaml.safe_load(path.read_text()) or {}) == fields


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_its_name_is_its_file(name):
    assert study_of(name).name == name


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_its_scenarios_are_frozen(name):
    one = study_of(name).scenarios[0]
    first = dataclasses.fields(one)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(one, first, getattr(one, first))


# ---------------------------------------------------------------- data-generating processes
def location_dgps() -> list[type]:
    """Processes that declare a mean and a variance of what they draw."""
    found = []
    for path in sorted((ROOT / "simstudy" / "dgps").glob("[!_]*.py")):
        module = importlib.import_module(f"simstudy.dgps.{path.stem}")
        for _, kind in inspect.getmembers(module, dataclasses.is_dataclass):
            if kind.__module__ == module.__name__ and hasattr(kind(), "variance"):
                found.append(kind)
    return found


def all_dgps() -> list[type]:
    found = []
    for path in sorted((ROOT / "simstudy" / "dgps").glob("[!_]*.py")):
        module = importlib.import_module(f"simstudy.dgps.{path.stem}")
        members = inspect.getmembers(module, dataclasses.is_dataclass)
        found += [kind for _, kind in members if kind.__module__ == module.__name__]
    return found


@pytest.mark.parametrize("kind", all_dgps(), ids=lambda kind: kind.__name__)
def test_it_is_frozen_and_documented(kind):
    assert kind.__dataclass_params__.frozen
    assert kind.__doc__


ERROR = 0.02  # of a standard deviation: the smallest error in a declared mean worth catching
N_DRAWS = replicates_to_catch(ERROR, sd=1.0)


@pytest.mark.parametrize("kind", location_dgps(), ids=lambda kind: kind.__name__)
def test_it_keeps_its_declared_mean(kind):
    dgp = kind()
    x = dgp.draw(np.random.default_rng(7), N_DRAWS, 1)
    sd = np.sqrt(dgp.variance)
    assert_within_mcse(x.mean(), dgp.mean, sd / np.sqrt(N_DRAWS))


@pytest.mark.parametrize("kind", location_dgps(), ids=lambda kind: kind.__name__)
def test_that_test_catches_a_mean_that_is_off(kind):
    dgp = kind()
    x = dgp.draw(np.random.default_rng(7), N_DRAWS, 1)
    sd = np.sqrt(dgp.variance)
    with pytest.raises(AssertionError, match="suspect the code"):
        assert_within_mcse(x.mean(), dgp.mean + 2 * ERROR * sd, sd / np.sqrt(N_DRAWS))


@pytest.mark.parametrize("kind", location_dgps(), ids=lambda kind: kind.__name__)
def test_it_keeps_its_declared_variance(kind):
    """The mean of squares about the declared mean; no fourth moment is declared for its spread."""
    dgp = kind()
    x = dgp.draw(np.random.default_rng(8), 40, N_DRAWS // 40)
    squares = (x - dgp.mean) ** 2
    spread = squares.std() / np.sqrt(squares.size)
    assert abs(squares.mean() - dgp.variance) < critical_z() * spread
