"""What every experiment and every data-generating process on disk must keep."""

import dataclasses
import importlib
import inspect
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

import run
from simstudy.cli.experiments import experiment_names, load_experiment
from simstudy.identity.names import identity
from simstudy.options import check
from tests.support import assert_within_mcse, replicates_to_catch

ROOT = Path(__file__).parents[1]
EXPERIMENTS = experiment_names(ROOT)
HEADINGS = ("Aims", "Data", "Estimands", "Methods", "Performance")


@pytest.fixture(scope="module", params=EXPERIMENTS)
def smoke(request, smoke_folder):
    """Name, results folder and exit status of an experiment after `scale=smoke`."""
    name, folder = request.param, smoke_folder / request.param
    asked = [f"experiment={name}", "scale=smoke", f"out={smoke_folder}", "progress=false"]
    return name, folder, run.main(asked)


def module_of(name: str):
    return load_experiment(name, ROOT)


def study_of(name: str):
    module = module_of(name)
    return module.study(module.Config())


def test_it_runs_at_smoke_scale_without_a_failure(smoke):
    name, folder, status = smoke
    assert status == 0, f"{name} ended with status {status}"
    assert (folder / "manifest.json").exists()


def test_it_draws_every_figure_that_it_declares(smoke):
    name, folder, _ = smoke
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["figures_not_drawn"] == {}
    for figure in study_of(name).figures:
        png, svg = ((folder / "figures" / f"{figure}.{end}").read_bytes() for end in ("png", "svg"))
        assert png.startswith(b"\x89PNG")
        assert b"<svg" in svg[:2000]
        assert min(len(png), len(svg)) > 5000, figure


def test_every_number_has_its_error_or_a_reason(smoke):
    _, folder, _ = smoke
    summary = pd.read_parquet(folder / "summary.parquet")
    bare = ~np.isfinite(summary["mcse"]) & (summary["reason"] == "")
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
    asked = [f"experiment={name}", "scale=smoke", f"out={folder.parent}", "progress=false"]
    assert run.main(asked) == 0
    assert "nothing to do" in capsys.readouterr().out


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_its_docstring_is_a_protocol(name):
    text = inspect.getdoc(module_of(name)) or ""
    assert re.findall(rf"^({'|'.join(HEADINGS)}) {{2,}}\S", text, re.MULTILINE) == list(HEADINGS)
    assert text.splitlines()[0].endswith("?"), "the first line is the question"


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_its_config_is_built_checked_and_helped(name):
    config = module_of(name).Config
    made = config()
    check(made)
    assert config(**dataclasses.asdict(made)) == made
    for one in dataclasses.fields(config):
        assert one.metadata["option"].help, one.name


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
def all_dgps() -> list[type]:
    found = []
    for path in sorted((ROOT / "simstudy" / "dgps").glob("[!_]*.py")):
        module = importlib.import_module(f"simstudy.dgps.{path.stem}")
        members = inspect.getmembers(module, dataclasses.is_dataclass)
        found += [kind for _, kind in members if kind.__module__ == module.__name__]
    return found


def declares_moments(kind: type) -> bool:
    """Whether it says what mean and variance its draws have."""
    named = {*dir(kind), *(one.name for one in dataclasses.fields(kind))}
    return {"mean", "variance", "draw"} <= named


MOMENTS_DECLARED = [kind for kind in all_dgps() if declares_moments(kind)]

KURTOSIS = {
    "Gaussian": lambda dgp: 3.0,
    "StudentT": lambda dgp: 3 + 6 / (dgp.df - 4),
    "Lognormal": lambda dgp: np.exp(np.array([4, 3, 2]) * dgp.sigma**2) @ [1, 2, 3] - 3,
    "Gamma": lambda dgp: 3 + 6 / dgp.shape,
    "ContaminatedNormal": lambda dgp: (
        3 * (1 - dgp.share + dgp.share * dgp.scale**4) / dgp.variance**2
    ),
    "Bernoulli": lambda dgp: 1 / dgp.variance - 3,
}
"""Fourth central moment over the squared variance, from theory: the spread of squared draws."""

MILD = {"StudentT": {"df": 20}, "Lognormal": {"sigma": 0.3}}
"""Parameters for which a mean of squares is close to normal far out in its tails."""

ERROR = 0.02  # in standard deviations, and of the variance: the smallest error worth catching


def mild(kind: type) -> Any:
    return kind(**MILD.get(kind.__name__, {}))


@pytest.mark.parametrize("kind", all_dgps(), ids=lambda kind: kind.__name__)
def test_it_is_frozen_and_documented(kind):
    assert kind.__dataclass_params__.frozen
    assert kind.__doc__
    assert not kind.__doc__.startswith(f"{kind.__name__}("), "the docstring is Python's own"


@pytest.mark.parametrize("kind", all_dgps(), ids=lambda kind: kind.__name__)
def test_it_can_name_a_scenario(kind):
    """Its fields are numbers, text and parts: what random streams and files are named by."""
    required = [
        one.name
        for one in dataclasses.fields(kind)
        if one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING
    ]
    if not required:
        assert identity(kind()) == f"{kind.__name__}()"


@pytest.mark.parametrize("kind", MOMENTS_DECLARED, ids=lambda kind: kind.__name__)
class TestDeclaredMoments:
    """The mean of draws is the declared mean; that of their squares about it, the variance."""

    def test_its_spread_is_known(self, kind):
        assert kind.__name__ in KURTOSIS, "state its kurtosis, from theory, in the table above"

    def test_mean(self, kind):
        actual, expected, mcse, _ = mean_of(kind)
        assert_within_mcse(actual, expected, mcse)

    def test_variance(self, kind):
        actual, expected, mcse, _ = variance_of(kind)
        assert_within_mcse(actual, expected, mcse)

    @pytest.mark.parametrize("sign", [-1, 1])
    def test_those_tests_catch_a_declaration_that_is_off(self, kind, sign):
        for actual, expected, mcse, unit in (mean_of(kind), variance_of(kind)):
            with pytest.raises(AssertionError, match="suspect the code"):
                assert_within_mcse(actual, expected + sign * 2 * ERROR * unit, mcse)


def mean_of(kind: type) -> tuple[float, float, float, float]:
    dgp = mild(kind)
    n, sd = replicates_to_catch(ERROR, sd=1.0), np.sqrt(dgp.variance)
    x = dgp.draw(np.random.default_rng(7), n // 50, 50)
    return x.mean(), dgp.mean, sd / np.sqrt(x.size), sd


def variance_of(kind: type) -> tuple[float, float, float, float]:
    dgp = mild(kind)
    spread = np.sqrt(KURTOSIS[kind.__name__](dgp) - 1)
    n = replicates_to_catch(ERROR, sd=spread)
    x = dgp.draw(np.random.default_rng(8), n // 50, 50)
    mcse = dgp.variance * spread / np.sqrt(x.size)
    return ((x - dgp.mean) ** 2).mean(), dgp.variance, mcse, dgp.variance
