"""What is composed without Hydra is what Hydra composes, and all else is left to it."""

from dataclasses import asdict
from pathlib import Path

import pytest

from simstudy.cli.hydra_compose import compose_one
from simstudy.cli.plain_compose import _read_file, compose_plain
from simstudy.cli.project import Project
from tests.cli.projects import inside, write
from tests.support import ROOT

PROJECT = Project(ROOT, "run.py")

EXPERIMENT = """
from dataclasses import dataclass

from simstudy import Study, grid, option
from simstudy.measures import mean


@dataclass(frozen=True)
class Shift:
    by: float
    label: str

    def simulate(self, streams, n_rep):
        return {"x": self.by + streams("data").standard_normal(n_rep)}


@dataclass
class Config:
    by: list[float] = option("shifts", default=[0.0])
    label: str = option("a word", default="one")


def study(config):
    return Study("shifted", grid(Shift, by=config.by, label=config.label), [mean("x")], n_rep=20)
"""


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
    assert type(asdict(plain.settings)["column_widths"]) is dict
    for name in ("n_rep", "out", "overrides", "backend_options", "whole_blocks", "record"):
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
        ["out=../elsewhere", "keep=summary", "shard=pilot", "progress=true"],
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
        ["experiment=two_stage", "out=2024"],  # a text, which Hydra alone would take for a number
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
DECLARED, OWN = "experiments/shifted.py", "conf/experiment/shifted.yaml"


@pytest.mark.parametrize(
    "files",
    [
        {OWN: "by: [1]\n", "conf/settings.yaml": "n_rep: 3\n"},
        {OWN: "# @package _global_\nby: [1]\n"},
        {OWN: "defaults: [other]\nby: [1]\n"},
        {OWN: "by: [1]\nby: [2]\n"},
        {OWN: "by: [1e-3]\n"},  # a text to some readers of YAML, a number to others
        {OWN: "by: [1]\nlabel: '${seed}'\n"},
        {OWN: "by:\n  - 1\n"},
        {OWN: "on: 1\n"},
        {OWN: "by: [1]\n", "conf/config.yaml": "scale: smoke\n"},
        {OWN: "by: [1]\n", "conf/config.yaml": "hydra: x\n"},
        {OWN: "by: [1]\n", "conf/scale/own.yaml": "out: [a\n"},
        {"conf/config.yaml": "seed: 3\n"},
    ],
)
def test_files_that_say_more_are_left_to_hydra(files, project):
    write(project.root, {PACKAGE: "", DECLARED: EXPERIMENT, **files})
    chosen = ["scale=own"] if "conf/scale/own.yaml" in files else []
    assert compose_plain(["experiment=shifted", *chosen], project, "run") is None


def test_a_projects_own_files_go_over_the_packages(project):
    write(
        project.root,
        {
            PACKAGE: "",
            DECLARED: EXPERIMENT,
            OWN: "by: [0, 0.5,1]  # three\n\nlabel: a/b\n",
            "conf/config.yaml": "seed: 3\nfigures: false\n",
            "conf/scale/smoke.yaml": "n_rep: 7\nout: tried  # elsewhere\n",
        },
    )
    plain = agreed(["experiment=shifted", "scale=smoke"], project)
    assert (plain.settings.seed, plain.n_rep, plain.out) == (3, 7, "tried")
    assert plain.config.by == [0.0, 0.5, 1.0]
    assert Path(plain.module.__file__).is_relative_to(project.root)
