"""Groups of experiments: read, refused in a line, and meant by `all` and by a glob."""

import pytest
from simstudy.cli.hydra_compose import _points
from simstudy.cli.subcommands import CommandLine, with_experiments

from simstudy.cli.dispatch import split_verb
from simstudy.cli.experiment_groups import default_group, members, part_of
from simstudy.cli.project import Project, experiment_names
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


def meant(project, *arguments, is_sweep=True):
    """The experiments of a command's runs, in order."""
    points = _points(arguments, project, is_sweep=is_sweep)
    return [point[0].removeprefix("experiment=") for point in points]


def test_a_glob_means_the_experiments_of_a_group_in_its_order(project):
    assert meant(project, "experiment=glob(*)") == ["c", "a", "b"]
    assert meant(project, "experiment=glob(*,exclude=c)", "seed=2") == ["a", "b"]
    assert meant(project, "experiment=glob(*)", "group=also") == ["b", "c"]
    assert meant(project, "experiment=glob(*)", "group=all") == list(NAMES)
    (project.conf / "config.yaml").unlink()
    assert meant(project, "experiment=glob(*)") == list(NAMES)


def test_an_experiment_that_is_named_needs_no_group(project):
    assert meant(project, "experiment=d,a") == ["d", "a"]
    assert meant(project, "experiment=d", "group=also", is_sweep=False) == ["d"]
    (project.conf / "group" / "ours.yaml").write_text("parts: 3\n")
    assert meant(project, "experiment=d", is_sweep=False) == ["d"]
    assert part_of("d", project) is None
    assert part_of("b", project)["group"] == "also"


def test_the_manifest_is_told_the_part_in_the_projects_own_group(project):
    assert part_of("a", project) == {
        "group": "ours",
        "title": "One",
        "page": "one",
        "order": [1, 2],
    }
    assert part_of("b", project) == {"group": "ours", "title": "Two", "page": "", "order": [2, 1]}


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("group=our", "group=our: no such group; did you mean 'ours'?"),
        ("group=a,b", "group=a,b: name one group"),
        ("group=", "group=: name one group"),
        ("experiment=glob(d*)", "experiment=glob(d*) matches nothing in group=ours: c, a, b"),
    ],
)
def test_a_group_that_is_none_is_refused(project, argument, said):
    with pytest.raises(ConfigError) as refused:
        meant(project, *["experiment=glob(*)"] * argument.startswith("group"), argument)
    assert str(refused.value).startswith(said)


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
        (
            "titel: x\nparts: [{title: T, experiments: [a]}]\n",
            "ours.yaml: titel is not a setting; did you mean 'title'?",
        ),
        ("parts:\n  - {title: T, experiments: [a], x: 1}\n", "ours.yaml: parts.x is not a setting"),
    ],
)
def test_a_file_that_cannot_be_meant_so_is_refused(project, text, said):
    (project.conf / "group" / "ours.yaml").write_text(text)
    with pytest.raises(ConfigError) as refused:
        members("ours", project)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_words_name_experiments_and_all_is_every_one_unless_one_has_that_name(project):
    def named(*arguments):
        line = with_experiments(CommandLine(project, "run", arguments))
        return line.arguments, line.is_sweep

    assert named("a", "seed=2") == (("experiment=a", "seed=2"), False)
    assert named("a", "b") == (("experiment=a,b",), True)
    assert named("all", "scale=smoke") == (("experiment=glob(*)", "scale=smoke"), True)
    assert split_verb(project, ["all", "x=1"]) == ("run", ["all", "x=1"])
    for twice in (("all", "experiment=a"), ("a", "experiment=b"), ("all", "a")):
        with pytest.raises(ConfigError, match="names experiments twice"):
            named(*twice)
    with pytest.raises(ConfigError, match="no such experiment 'e'"):
        named("e")
    write(project.root, {"experiments/all.py": '"""Is it all?"""\n'})
    assert named("all") == (("experiment=all",), False)
    with pytest.raises(ConfigError, match="no such command 'all'; did you mean 'simstudy run all'"):
        split_verb(project, ["all"])


def test_the_list_is_grouped_with_what_is_published(project):
    write(project.root, {"results/a/manifest.json": '{"replicates": 2000}'})
    lines = list(list_experiments(project))
    heads = [line for line in lines if not line.startswith(" ")]
    assert heads == ["One", "Two", "Other", "in no group"]
    (of_a,) = [line for line in lines if line.startswith("  a ")]
    assert of_a.split() == ["a", "2,000", "replicates", "Is", "it", "a?"]


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
