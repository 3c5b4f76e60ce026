"""What is composed without Hydra is what Hydra composes, and all else is left to it."""

from pathlib import Path

import pytest
from simstudy.cli.hydra_compose import compose_one
from simstudy.cli.plain_compose import _read_file, compose_plain

from simstudy.cli.project import Project
from tests.cli.projects import STUDY, inside, write
from tests.support import ROOT

PROJECT = Project(ROOT, "run.py")


@pytest.fixture
def project(tmp_path):
    with inside(tmp_path):
        yield Project(tmp_path, "run.py")


def agreed(arguments, project):
    """Both, which are the same."""
    plain, hydras = (compose(arguments, project, "run") for compose in (compose_plain, compose_one))
    assert plain is not None
    assert plain.settings == hydras.settings
    assert plain.config == hydras.config
    for name in ("n_rep", "out", "overrides", "backend_options", "record"):
        assert getattr(plain, name) == getattr(hydras, name), name
    assert plain.study.plan(1).keys == hydras.study.plan(1).keys
    return plain


@pytest.mark.parametrize("name", ["two_stage", "binomial_intervals", "loo_r2"])
def test_published_studies_are_plain(name):
    agreed([f"experiment={name}"], PROJECT)


def test_no_published_settings_need_hydra():
    files = sorted((ROOT / "conf").glob("experiment/*.yaml"))
    assert len(files) > 20
    assert all(map(_read_file, files))


@pytest.mark.parametrize(
    "settings",
    [
        ["scale=smoke"],
        ["scale=precise", "backend=loky", "n_jobs=3"],
        ["n_rep=1000", "seed=7", "out=/tmp/a-b/c_1", "figures=false"],
        ["out=2024", "shard=pilot", "progress=true"],
        ["out=null", "join=null", "redraw=changed", "max_rep=1000000"],
        ["out=.", "budget=null", "report=false", "retry=failed"],
    ],
)
def test_words_and_numbers_mean_what_hydra_reads(settings):
    plain = agreed(["experiment=two_stage", *settings], PROJECT)
    assert plain.overrides == ("experiment=two_stage", *settings)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["experiment=two_stage", "experiment=loo_r2"],
        ["experiment=two_stage,loo_r2"],
        ["experiment=no_such"],
        ["experiment=../experiment/two_stage"],
        ["experiment=two_stage", "experiment.k=[0,1]"],
        ["experiment=two_stage", "precision.power=0.01"],
        ["experiment=two_stage", "scale=../scale/smoke"],
        ["experiment=two_stage", "backend=module:Class"],
        ["experiment=two_stage", "out=Null"],
        ["experiment=two_stage", "out='a b'"],
        ["experiment=two_stage", "out=${oc.env:HOME}"],
        ["experiment=two_stage", "n_rep=007"],
        ["experiment=two_stage", "n_rep=-3"],  # refused, with Hydra's composing behind it
        ["experiment=two_stage", "+n_rep=3"],
        ["experiment=two_stage", "group=classics"],
        ["experiment=two_stage", "hydra.run.dir=x"],
    ],
)
def test_everything_else_is_left_to_hydra(arguments):
    assert compose_plain(arguments, PROJECT, "run") is None


PACKAGE = "experiments/__init__.py"
DECLARED, OWN = "experiments/fine.py", "conf/experiment/fine.yaml"


@pytest.mark.parametrize(
    "files",
    [
        {OWN: "n_obs: [1]\n", "conf/settings.yaml": "n_rep: 3\n"},
        {OWN: "# @package _global_\nn_obs: [1]\n"},
        {OWN: "defaults: [other]\nn_obs: [1]\n"},
        {OWN: "n_obs: [1]\nn_obs: [2]\n"},
        {OWN: "n_obs: [1e-3]\n"},  # a text to some readers of YAML, a number to others
        {OWN: "n_obs: [1]\nlabel: '${seed}'\n"},
        {OWN: "n_obs:\n  - 2\n"},
        {OWN: "on: 1\n"},
        {OWN: "n_obs: [1]\n", "conf/config.yaml": "scale: smoke\n"},
        {OWN: "n_obs: [1]\n", "conf/config.yaml": "hydra: x\n"},
        {OWN: "n_obs: [1]\n", "conf/scale/own.yaml": "out: [a\n"},
        {"conf/config.yaml": "seed: 3\n"},
    ],
)
def test_files_that_say_more_are_left_to_hydra(files, project):
    write(project.root, {PACKAGE: "", DECLARED: STUDY, **files})
    chosen = ["scale=own"] if "conf/scale/own.yaml" in files else []
    assert compose_plain(["experiment=fine", *chosen], project, "run") is None


def test_a_projects_own_files_go_over_the_packages(project):
    write(
        project.root,
        {
            PACKAGE: "",
            DECLARED: STUDY,
            OWN: "n_obs: [4, 3,2]  # three\n\nlabel: a/b\n",
            "conf/config.yaml": "seed: 3\nfigures: false\n",
            "conf/scale/smoke.yaml": "n_rep: 7\nout: tried  # elsewhere\n",
        },
    )
    plain = agreed(["experiment=fine", "scale=smoke"], project)
    assert (plain.settings.seed, plain.n_rep, plain.out) == (3, 7, "tried")
    assert plain.config.n_obs == [4, 3, 2]
    assert Path(plain.module.__file__).is_relative_to(project.root)
