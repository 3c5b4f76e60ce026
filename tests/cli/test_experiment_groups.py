"""Groups of experiments: read, refused in a line, and meant by `all` and by a glob."""

import pytest

from simstudy.cli.project import (
    Project,
    default_group,
    experiment_names,
    members,
    part_of,
    with_experiments,
)
from simstudy.errors import ConfigError
from tests.cli.projects import write
from tests.support import ROOT

NAMES = ("a", "b", "c", "d")
TWO = "parts:\n  - title: One\n    page: one\n    experiments: [c, a]\n  - title: Two\n"
FILES = {
    **{f"experiments/{name}.py": f'"""Is it {name}?"""\n' for name in NAMES},
    "conf/group/ours.yaml": f"{TWO}    experiments: [b]\n",
    "conf/group/also.yaml": "title: T\nparts:\n  - title: Other\n    experiments: [b, c]\n",
    "conf/config.yaml": "group: ours\n",
}


@pytest.fixture
def project(tmp_path):
    write(tmp_path, FILES)
    return Project(tmp_path)


def meant(project, *overrides):
    """The flags and the experiments of a command."""
    *flags, first = [
        text for text in with_experiments(overrides, project) if not text.startswith("seed=")
    ]
    return flags, first.removeprefix("experiment=").split(",")


def test_all_means_the_experiments_of_a_group_in_its_order(project):
    assert meant(project, "all") == (["-m"], ["c", "a", "b"])
    assert meant(project, "all", "group=also") == (["-m"], ["b", "c"])
    assert meant(project, "all", "group=all") == (["-m"], list(NAMES))
    (project.conf / "config.yaml").unlink()
    assert meant(project, "all") == (["-m"], list(NAMES))


def test_words_name_experiments_of_any_group(project):
    assert meant(project, "d", "seed=2") == ([], ["d"])
    assert meant(project, "d", "a") == (["-m"], ["d", "a"])
    (project.conf / "group" / "ours.yaml").write_text("parts: 3\n")
    assert meant(project, "d") == ([], ["d"])
    assert part_of("d", project) is None
    assert part_of("b", project)["group"] == "also"
    with pytest.raises(ConfigError, match="'e' is no command and no experiment; "):
        meant(project, "e")


def test_the_manifest_is_told_the_part_in_the_projects_own_group(project):
    one = {"group": "ours", "title": "One", "page": "one", "order": [1, 2]}
    assert part_of("a", project) == one
    assert part_of("b", project) == {"group": "ours", "title": "Two", "page": "", "order": [2, 1]}


def test_a_group_that_does_not_exist_is_refused(project):
    with pytest.raises(ConfigError, match="group=our: no such group; did you mean 'ours'"):
        meant(project, "all", "group=our")


def test_every_experiment_of_this_project_is_in_one_group():
    here = Project(ROOT, "run.py")
    grouped = [name for group in here.options("group") for name in members(group, here)]
    assert sorted(grouped) == experiment_names(ROOT)
    assert default_group(here) == "documents"
    assert members("documents", here)[:2] == ["two_stage", "trial_outcomes"]
