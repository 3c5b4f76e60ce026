"""Groups of experiments: read, refused in a line, and meant by `all` and by a glob."""

import pytest

from simstudy.cli.application import with_experiments
from simstudy.cli.project import Project, default_group, experiment_names, members, part_of
from simstudy.cli.status import list_experiments, status_of_all
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
    assert part_of("a", project) == {
        "group": "ours",
        "title": "One",
        "page": "one",
        "order": [1, 2],
    }
    assert part_of("b", project) == {"group": "ours", "title": "Two", "page": "", "order": [2, 1]}


def test_a_group_that_does_not_exist_is_refused(project):
    with pytest.raises(ConfigError, match="group=our: no such group; did you mean 'ours'"):
        meant(project, "all", "group=our")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            f"{TWO}    experiments: [e]\n",
            "ours.yaml: no such experiment as e; available: a, b, c, d",
        ),
        (f"{TWO}    experiments: [a]\n", "ours.yaml: a is listed 2 times: leave it in one part"),
        (TWO, "write a list, each with title and experiments"),
        ("parts: [a, b]\n", "ours.yaml: parts is ['a', 'b']: write a list, each with"),
        ("titel: x\n", "ours.yaml: parts is None: write a list, each with title and experiments"),
    ],
)
def test_a_file_that_cannot_be_meant_so_is_refused(project, text, said):
    (project.conf / "group" / "ours.yaml").write_text(text)
    with pytest.raises(ConfigError) as refused:
        members("ours", project)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_the_list_has_what_is_published(project):
    write(project.root, {"results/a/manifest.json": '{"replicates": 2000}'})
    lines = list(list_experiments(project))
    assert [line.split()[0] for line in lines] == list(NAMES)
    assert lines[0].split() == ["a", "Is", "it", "a?"]


def test_every_experiment_of_this_project_is_in_one_group():
    here = Project(ROOT, "run.py")
    grouped = [name for group in here.options("group") for name in members(group, here)]
    assert sorted(grouped) == experiment_names(ROOT)
    assert default_group(here) == "documents"
    assert members("documents", here)[:2] == ["two_stage", "trial_outcomes"]


def test_status_of_all_reads_what_lies_in_folders_and_imports_nothing(project):
    """The experiments of this project cannot be run."""
    manifest = '{"replicates": 2000, "scenarios": 2, "failed_replicates": 3}'
    write(project.root, {"results/a/manifest.json": manifest, "results/b/replicates/x.parquet": ""})
    out = f"out={project.root / 'results'}"
    lines, status = status_of_all(project, [out])
    assert [line.split("  ")[1] for line in lines] == [
        "published: 2,000 replicates in 2 scenarios, 3 of them failed; replicates not in this copy",
        "not published; replicates are stored",
        "nothing",
        "nothing",
    ]
    assert status == 3
    assert [line[0] for line in status_of_all(project, [out, "group=also"])[0]] == ["b", "c"]
    with pytest.raises(ConfigError, match="was given seed: name a study"):
        status_of_all(project, ["seed=1"])
