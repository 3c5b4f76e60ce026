"""Groups of experiments: read, refused in a line, and meant by `all` and by a glob."""

import pytest

from simstudy.cli import inventory
from simstudy.cli.chosen import asked_group
from simstudy.cli.experiments import experiment_names
from simstudy.cli.inventory import StatusLine
from simstudy.cli.overrides import readable
from simstudy.cli.parts import default_group, group_names, in_no_group, members, part_of
from simstudy.cli.project import Project
from simstudy.cli.verbs import Asked, list_experiments, split_verb, status, with_all
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
    return Project(tmp_path, "simstudy")


def meant(project, *arguments):
    return readable(arguments, project)


def test_a_glob_means_the_experiments_of_a_group_in_its_order(project):
    assert meant(project, "experiment=glob(*)", "-m") == ["experiment=c,a,b", "-m"]
    assert meant(project, "experiment=glob(*,exclude=c)", "seed=2", "-m") == [
        "experiment=a,b", "seed=2", "-m",
    ]  # fmt: skip
    assert meant(project, "group=also", "experiment=glob(*)", "-m") == ["experiment=b,c", "-m"]
    assert meant(project, "experiment=glob(*)", "group=all", "-m") == ["experiment=glob(*)", "-m"]
    (project.conf / "config.yaml").unlink()
    assert meant(project, "experiment=glob(*)", "-m") == ["experiment=glob(*)", "-m"]


def test_an_experiment_that_is_named_needs_no_group(project):
    assert meant(project, "experiment=d") == ["experiment=d"]
    assert meant(project, "experiment=d,a", "-m") == ["experiment=d,a", "-m"]
    assert meant(project, "group=also", "experiment=d") == ["experiment=d"]
    (project.conf / "group" / "ours.yaml").write_text("parts: 3\n")
    assert meant(project, "experiment=d") == ["experiment=d"]
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
    ("arguments", "said"),
    [
        (("group=our",), "group=our: no such group; did you mean 'ours'?"),
        (("group=a,b", "-m"), "group=a,b: name one group; all has every experiment"),
        (("group=",), "group=: name one group"),
        (
            ("experiment=glob(d*)", "-m"),
            "experiment=glob(d*) matches nothing in group=ours, which has c, a, b; group=all has "
            "every experiment",
        ),
    ],
)
def test_a_group_that_is_none_is_refused(project, arguments, said):
    with pytest.raises(ConfigError) as refused:
        meant(project, *arguments)
    assert str(refused.value).startswith(said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            f"{TWO}    experiments: [e]\n",
            "ours.yaml: no such experiment as e; there is: a, b, c, d",
        ),
        (f"{TWO}    experiments: [a]\n", "ours.yaml: a is listed 2 times: leave it in one part"),
        (TWO, "ours.yaml: a part has no title, or no experiments: write both"),
        ("parts: [a, b]\n", "ours.yaml: parts is ['a', 'b']: write a list of them, each with"),
        ("", "ours.yaml: parts is None: write a list"),
        ("titel: x\nparts: []\n", "ours.yaml: titel is not a setting; did you mean 'title'?"),
        ("parts: [\n", "ours.yaml, line 2, is no YAML: "),
        ("parts: []\n", "ours.yaml: parts is empty: write one at least"),
        ("parts: [{title: ' ', experiments: [a]}]\n", "a part has no title, or no experiments"),
        ("parts:\n  - {title: T, experiments: [a], x: 1}\n", "ours.yaml: parts.x is not a setting"),
    ],
)
def test_a_file_that_cannot_be_meant_so_is_refused(project, text, said):
    (project.conf / "group" / "ours.yaml").write_text(text)
    with pytest.raises(ConfigError) as refused:
        members("ours", project)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_all_is_every_experiment_unless_one_has_that_name(project):
    asked = Asked(project, ["all", "scale=smoke"])
    assert with_all(asked).arguments == ["experiment=glob(*)", "scale=smoke", "-m"]
    assert split_verb(project, ["all", "x=1"]) == ("run", ["all", "x=1"])
    with pytest.raises(ConfigError, match="all is every experiment, and experiment=a names some"):
        with_all(Asked(project, ["all", "experiment=a"]))
    write(project.root, {"experiments/all.py": '"""Is it all?"""\n'})
    assert with_all(asked) is asked
    with pytest.raises(ConfigError, match="did you mean 'simstudy run experiment=all'"):
        split_verb(project, ["all"])


def test_what_is_in_no_group_is_listed(project, capsys):
    list_experiments(Asked(project, []))
    assert capsys.readouterr().out.splitlines()[-1] == "in no group (also, ours): d"
    assert asked_group(["seed=1", "group=also"], project) == "also"


def test_every_experiment_of_this_project_is_in_one_group():
    here = Project(ROOT, "python run.py")
    assert in_no_group(here) == []
    grouped = [name for group in group_names(here) for name in members(group, here)]
    assert sorted(grouped) == experiment_names(ROOT)
    assert default_group(here) == "documents"
    assert members("documents", here)[:2] == ["two_stage", "trial_outcomes"]


def test_status_of_a_group_is_that_of_its_experiments(project, monkeypatch, capsys):
    monkeypatch.setattr(inventory, "status_lines", lambda _, asked: [StatusLine(asked[0])])
    assert status(Asked(project, ["group=also"])) == 0
    assert capsys.readouterr().out.splitlines()[1:] == ['experiment="b"', 'experiment="c"']
    assert status(Asked(project, [])) == 0
    assert len(capsys.readouterr().out.splitlines()) == 5


def test_a_file_cannot_take_the_name_of_every_experiment(project):
    (project.conf / "group" / "all.yaml").write_text(f"{TWO}    experiments: [a]\n")
    with pytest.raises(ConfigError, match=r"all\.yaml: group=all is every experiment; give"):
        members("all", project)
