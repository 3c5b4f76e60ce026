"""What every experiment and every data-generating process on disk must keep."""

import dataclasses
import importlib
import inspect
import re

import numpy as np
import pytest
import yaml

from simstudy.cli.project import experiment_names, load_experiment
from simstudy.figures import measure_curves
from simstudy.figures.save import save_figure
from simstudy.measures import mean
from simstudy.provenance.scenario_id import identity
from simstudy.study import Study
from simstudy.testing import ExperimentContracts
from simstudy.testing.contracts import check_drawn_again
from simstudy.testing.truth import FALSE_ALARM, comparisons
from tests.cli.projects import contracts, write
from tests.factories import mean_study
from tests.support import INLINE, ROOT

SMALL = "trial_outcomes"


class TestASmallExperiment(ExperimentContracts):
    """One study of this project among the quick tests, and all of them among the slow."""

    root = ROOT
    failures_allowed = False
    protocol_required = True

    def pytest_generate_tests(self, metafunc):
        if "experiment" in metafunc.fixturenames:
            metafunc.parametrize("experiment", [SMALL], scope="class")


@pytest.mark.slow
class TestExperiments(ExperimentContracts):
    root = ROOT
    failures_allowed = False
    protocol_required = True

    @pytest.fixture(scope="class")
    @classmethod
    def results(cls, smoke_runs, experiment):
        """The folder into which the sweep over all experiments may have drawn already."""
        with smoke_runs.alone([experiment]) as folder:
            yield folder


def test_published_values_stand_in_one_place():
    for name in experiment_names(ROOT):
        config = load_experiment(name, ROOT).Config
        path = ROOT / "conf" / "experiment" / f"{name}.yaml"
        published = yaml.safe_load(path.read_text()) or {}
        assert set(published) == {declared.name for declared in dataclasses.fields(config)}, name


# ---------------------------------------------------------------- data-generating processes
def all_dgps() -> list[type]:
    found = []
    for path in sorted((ROOT / "simstudy" / "documents" / "dgps").glob("[!_]*.py")):
        module = importlib.import_module(f"simstudy.documents.dgps.{path.stem}")
        members = inspect.getmembers(module, dataclasses.is_dataclass)
        found += [kind for _, kind in members if kind.__module__ == module.__name__]
    return found


@pytest.mark.parametrize("kind", all_dgps(), ids=lambda kind: kind.__name__)
def test_it_is_frozen_documented_and_can_name_a_scenario(kind):
    """Its fields are numbers, text and parts: what random streams and files are named by."""
    assert kind.__dataclass_params__.frozen
    assert kind.__doc__
    assert not kind.__doc__.startswith(f"{kind.__name__}("), "the docstring is Python's own"
    defaults = [(one.default, one.default_factory) for one in dataclasses.fields(kind)]
    if (dataclasses.MISSING, dataclasses.MISSING) not in defaults:
        assert identity(kind()) == f"{kind.__name__}()"


# ---------------------------------------------------------------- the contracts can fail
TEST_FILE = ROOT / "simstudy" / "cli" / "template" / "tests" / "test_contracts.py.txt"
STUDY = '''"""Is the mean of normal data where it should be?

Aims         To be right, but for one thing.
Data         Independent normals.
Estimands    Their mean.
Methods      The sample mean.
Performance  Bias and coverage.
"""

from dataclasses import dataclass

import numpy as np

from simstudy import Claim, Study, WrongValue, grid, option
from simstudy.figures import measure_curves
from simstudy.measures import bias, rejection_rate


SEEN = {}


@dataclass
class Config:
    n_obs: list[int] = option("sample size", default=[5, 20], at_least=2)


@dataclass(frozen=True)
class Normal:
    n_obs: int

    def simulate(self, streams, n_rep):
        x = streams("data").normal(size=(n_rep, self.n_obs)).mean(axis=1)
        return {"estimate": x, "truth": 0.0, "above": x > 0}

    def exact(self):
        return {"bias": 0.0, "share": 0.5}


def figure(result):
    return measure_curves(result.summary, x="n_obs", y="bias")


def study(config):
    return Study(
        name="NAME",
        n_rep=100_000,
        scenarios=grid(Normal, n_obs=config.n_obs),
        measures=[bias("estimate", truth="truth"), rejection_rate("above", name="share")],
        figures={"bias": figure},
    )
'''

X = '        return {"estimate": x'


def claims(*declared):
    """A change that gives the study claims."""
    before = "        figures="
    made = "".join(f'Claim("c{i}", "s", "t", {each}), ' for i, each in enumerate(declared))
    return before, f"        claims=[{made}],\n{before}"


FLAWS = {
    "sound_claims": claims(
        'lambda result: 1.0, 1, wrong_value=WrongValue("r", lambda result: 2.0)',
        'lambda result: 2.0, 1, expected="differs"',
    ),
    "sound_failures": (
        '"above": x > 0}',
        '"above": x > 0, "error": np.where(np.abs(x) > 1, "too far", None)}',
    ),
    "claim_raises": (
        *claims('lambda result: 1 / 0, 1, wrong_value=WrongValue("r", lambda result: 2.0)'),
        "test_every_claim_has_a_verdict",
    ),
    "claim_without_rival": (*claims("lambda result: 1.0, 1"), "test_every_claim_can_fall"),
    "claim_that_its_rival_meets": (
        *claims(
            "lambda result: 1.0, 1, difference=2.0, "
            'wrong_value=WrongValue("r", lambda result: 2.0)'
        ),
        "test_every_claim_can_fall",
    ),
    "rival_raises": (
        *claims('lambda result: 1.0, 1, wrong_value=WrongValue("r", lambda result: 1 / 0)'),
        "test_every_claim_can_fall",
    ),
    "no_protocol": ("Estimands  ", "Estimates  "),
    "no_help": ('"sample size"', '""', "test_its_config_is_built_checked_and_helped"),
    "not_frozen": ("(frozen=True)", "(unsafe_hash=True)", "test_its_scenarios_are_frozen"),
    "global_numbers": (
        'streams("data")', "np.random",
        "test_a_block_is_the_same_whenever_it_is_drawn", "test_a_fresh_process_draws_the_same",
        "test_the_first_replicates_of_a_long_run_are_the_short_run",
    ),
    "slightly_wrong_share": ('"share": 0.5', '"share": 0.515', "test_its_exact_values_are_kept"),
    "no_theory": ('"share": 0.5', '"share": float("nan")', "test_its_exact_values_are_kept"),
    "wrong_bias": ('"bias": 0.0', '"bias": 0.1', "test_its_exact_values_are_kept"),
    "which_came_first": (
        X, f'        x = x + SEEN.setdefault("first", self.n_obs) / 1e9\n{X}',
        "test_a_fresh_process_draws_the_same",
    ),
    "own_generator": (
        'streams("data")', "np.random.default_rng(5)",
        "test_its_blocks_differ", "test_its_exact_values_are_kept",  # few replicates, repeated
    ),
}  # fmt: skip
STUDIES = {
    "sound": (),
    "sound_with_claims": ("sound_claims", "sound_failures"),
    "first": ("no_protocol", "claim_raises", "which_came_first", "slightly_wrong_share"),
    "second": ("no_help", "claim_without_rival"),
    "third": ("not_frozen", "claim_that_its_rival_meets", "wrong_bias"),
    "fourth": ("rival_raises", "no_theory"),
    "fifth": ("global_numbers",),
    "sixth": ("own_generator",),
}
"""Flaws that are met together: each is refused by contracts of its own."""


def flawed(*flaws):
    text = STUDY
    for flaw in flaws:
        before, after = FLAWS[flaw][:2]
        assert before in text
        text = text.replace(before, after)
    return text


@pytest.fixture(scope="module")
def refused(tmp_path_factory):
    """By study, the contracts that refuse it."""
    folder = tmp_path_factory.mktemp("flawed")
    files = {"experiments/__init__.py": "", "tests/test_contracts.py": TEST_FILE.read_text()}
    texts = {name: flawed(*flaws).replace("NAME", name) for name, flaws in STUDIES.items()}
    texts["misnamed"] = STUDY.replace("NAME", "other")
    write(folder, files | {f"experiments/{name}.py": text for name, text in texts.items()})
    told = contracts(folder).stdout
    failed = re.findall(r"^FAILED \S+::(\w+)\[(\w+)\]", told, re.MULTILINE)
    assert failed, told
    return {name: {test for test, study in failed if study == name} for name in texts}


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_what_is_wrong_with_a_study_is_what_its_contracts_refuse(name, refused):
    assert sorted(set(FLAWS)) == sorted(flaw for flaws in STUDIES.values() for flaw in flaws)
    assert refused[name] == {test for flaw in STUDIES[name] for test in FLAWS[flaw][2:]}


@pytest.mark.slow
def test_a_study_with_the_name_of_another_is_refused(refused):
    """Its results are then not where they would be looked for, either."""
    assert "test_its_name_is_its_file" in refused["misnamed"]


# ---------------------------------------------------------------- exact values
@dataclasses.dataclass(frozen=True)
class Rare:
    """An event that did not happen in these replicates."""

    share: float

    def simulate(self, streams, n_rep):
        return {"event": (streams("data").random(n_rep) < 1e-9).astype(float)}

    def exact(self):
        return {"share": self.share}


@pytest.mark.parametrize(("share", "is_right"), [(1e-9, True), (1e-3, True), (0.02, False)])
def test_an_event_that_never_happened(share, is_right):
    study = Study("rare", [Rare(share)], measures=[mean("event", name="share")])
    (held,) = comparisons(study.run(1000, backend="inline", n_jobs=1))
    assert held.mcse == 0
    assert (held.p_value > FALSE_ALARM) == is_right


# ---------------------------------------------------------------- figures
def drawn_again(folder, noise):
    """Publish a figure of a summary with some noise, and hold it against a second drawing."""

    def figure(result):
        rows = result.select(method="t").assign(estimate=lambda frame: frame.estimate + noise())
        return measure_curves(rows, x="n_obs", y="bias")

    result = dataclasses.replace(mean_study(), figures={"bias": figure}).run(50, **INLINE)
    save_figure(result.figure("bias"), folder, "bias")
    check_drawn_again(result, "bias", folder, folder / "again")


def test_a_figure_of_the_result_alone_is_the_same_again_and_one_of_chance_is_refused(tmp_path):
    drawn_again(tmp_path, lambda: 0.0)
    with pytest.raises(AssertionError, match="figure bias differs when drawn again"):
        drawn_again(tmp_path, np.random.default_rng().normal)
