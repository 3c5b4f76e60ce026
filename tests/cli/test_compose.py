"""What a command is composed of: typed values, a project's files, the package's files."""

from pathlib import Path

import pytest

from simstudy.cli.compose import _parsed, _read_plain, compose_one, compose_text
from simstudy.cli.project import Project
from simstudy.errors import ConfigError
from tests.cli.projects import STUDY, inside, write

FILES = {
    "experiments/__init__.py": "",
    "experiments/fine.py": STUDY,
    "conf/experiment/fine.yaml": "n_obs: [2, 4,3]  # three\n\nlabel: a/b\n",
    "conf/config.yaml": "scale: smoke\nseed: 3\nprecision: {mean_x: 1}\n",
    "conf/scale/smoke.yaml": "n_rep: 7\nout: tried\n",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    write(folder, FILES)
    with inside(folder):
        yield Project(folder, "run.py")


@pytest.mark.parametrize(
    "said",
    ["true", "null", "3", "-3", "0", "123456789012345678", "a-b/c_1", "../x", ".", "changed"],
)
def test_a_word_or_a_number_is_what_hydras_grammar_reads(said):
    plain, override = _read_plain(f"out={said}"), _parsed(f"out={said}")
    assert (plain.value, type(plain.value)) == (override.value(), type(override.value()))


@pytest.mark.parametrize(
    "said", ["", "[1]", "1,2", "'a b'", "${seed}", "007", "1.5", "Null", "nan", "1e3", "a:b", "é"]
)
def test_everything_else_is_left_to_hydras_grammar(said):
    assert _read_plain(f"out={said}") is None


def test_a_projects_files_go_over_the_packages_and_what_is_typed_over_both(project):
    run = compose_one(["experiment=fine"], project)
    assert (run.settings.seed, run.n_rep, run.out) == (3, 7, "tried")
    assert (run.config.n_obs, run.config.label) == ([2, 4, 3], "a/b")
    assert Path(run.module.__file__).is_relative_to(project.root)
    typed = ["experiment=fine", "seed=4", "scale.n_rep=9", "experiment.n_obs=[2]"]
    run = compose_one([*typed, "scale=paper", "precision.mean_x=2%"], project)
    assert (run.settings.seed, run.n_rep, run.config.n_obs) == (4, 9, [2])
    assert run.settings.precision == {"mean_x": "2%"}
    assert run.overrides == (*typed, "scale=paper", "precision.mean_x=2%")


def test_text_stays_text_and_a_reference_is_the_value_of_another_setting(project):
    typed = ["experiment=fine", "experiment.label=1.0", "out=x/${seed}", "seed=12"]
    run = compose_one(typed, project)
    assert (run.config.label, run.out) == ("1.0", "x/12")
    assert "out: 007\n" in compose_text(["experiment=fine", "out=007"], project).replace("'", "")


@pytest.mark.parametrize("line", ["defaults: [override /scale: smoke]", "hydra: {job: x}"])
def test_what_only_hydra_reads_in_a_file_is_refused(project, line):
    path = project.conf / "config.yaml"
    before = path.read_text()
    path.write_text(line)
    try:
        with pytest.raises(ConfigError, match=f"^{line.partition(':')[0]} is not a setting"):
            compose_one(["experiment=fine"], project)
    finally:
        path.write_text(before)
