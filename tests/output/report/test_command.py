"""The command on a page asks for what the manifest says was asked."""

import json
import shlex

import pytest
from simstudy.cli.hydra_compose import compose_one

from simstudy.cli.project import Project
from simstudy.output.report.command import command_of, format_value, project_of, published_settings
from simstudy.output.up_to_date import FORMER
from tests.support import ROOT

PROJECT = Project(ROOT, "run.py")
MANIFEST = {"config": {"experiment": "mine"}, "replicates_per_scenario": 60, "seed": 3}


def manifest_of(name):
    return json.loads((ROOT / "results" / name / "manifest.json").read_text())


def settings_in(manifest):
    """The config of a manifest, without what only older versions wrote."""
    return {name: value for name, value in manifest["config"].items() if name != FORMER}


def request_of(command):
    """What the command line makes of a command that a shell has split into words."""
    program, script, *words = shlex.split(command)
    assert [program, script] == ["python", "run.py"]
    return compose_one(words, PROJECT)


def test_of_a_published_study_it_asks_for_the_same_and_need_not_name_published_settings():
    manifest, folder = manifest_of("two_stage"), ROOT / "results" / "two_stage"
    request = request_of(command_of(manifest, ROOT, folder))
    assert request.record == settings_in(manifest)
    assert request.n_rep == manifest["replicates_per_scenario"]
    assert request.settings.seed == manifest["seed"]
    published = published_settings("two_stage", ROOT)
    command = command_of(manifest, ROOT, folder, published=published)
    assert command == "python run.py experiment=two_stage seed=1"
    assert request_of(command).record == settings_in(manifest)
    other = manifest | {"config": manifest["config"] | {"k": [1.5]}}
    assert "experiment.k=[1.5]" in command_of(other, ROOT, folder, published=published)
    assert published_settings("none", ROOT) == published_settings("two_stage", None) == {}


@pytest.mark.parametrize("stop_by", ["sequential", "pilot"])
def test_other_settings_than_published_are_asked_for_as_they_were(stop_by):
    decided = {"precision": {"power": 0.01}, "stop_by": stop_by, "at_least": 500}
    asked = {
        "config": manifest_of("two_stage")["config"] | {"k": [1.5], **decided},
        "replicates_per_scenario": {"a": 100, "b": 300},
        "seed": 7,
    }
    command = command_of(asked, ROOT, ROOT / "results" / "two_stage")
    request = request_of(command)
    assert request.record == settings_in(asked)
    assert request.settings.seed == 7
    assert " n_rep=500 " in command, "with which it began"


@pytest.mark.parametrize(
    ("other", "command"),
    [
        (
            {"replicates_per_scenario": {"a": 100, "b": 300}},
            "simstudy run experiment=mine n_rep=300 seed=3",
        ),
        ({"config": {}}, "study.run(60, seed=3)"),
    ],
    ids=["an early look is finished", "run from Python"],
)
def test_it_says_the_size_and_who_ran_it(other, command):
    assert command_of(MANIFEST | other, None, None) == command


def test_a_folder_is_named_only_where_it_is_below_the_project(tmp_path):
    def command(out):
        return command_of(MANIFEST, tmp_path, out / "mine")

    assert command(tmp_path / "results") == "simstudy run experiment=mine n_rep=60 seed=3"
    assert command(tmp_path / "results" / "smoke").endswith(" 'out=\"results/smoke\"'")
    assert "out=" not in command(tmp_path.parent / "elsewhere")
    (tmp_path / "run.py").touch()
    assert command(tmp_path / "results").startswith("python run.py experiment=mine ")


@pytest.mark.parametrize(
    "value",
    [
        *(0, -1, 1.5, 1e-05, 1e22, True, False, None, "plain", "tweedie_1.5", "", "two words"),
        *("null", "true", "a,b", "[x]", "it's", 'say "so"', "back\\", 'both\\"', "$HOME", "é"),
        [1, 2.5], [], ["a", "b c", None], {"a": 1, "b": [True]}, "~", "a:b", "#", " x ", "1", "a=b",
    ],
    ids=repr,
)  # fmt: skip
def test_a_value_is_read_as_it_was_written(value):
    from hydra.core.override_parser.overrides_parser import OverridesParser

    (word,) = shlex.split(shlex.join([f"key={format_value(value)}"]))
    found = OverridesParser.create().parse_override(word).value()
    assert plain(found) == value
    assert type(plain(found)) is type(value)


def plain(value):
    """Without the marks that the grammar keeps."""
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items()}
    return getattr(value, "text", value)


def test_a_project_is_the_folder_above_its_experiments(tmp_path):
    found = {"experiments/mine/study.py": tmp_path, "mine.py": None}
    assert {file: project_of(str(tmp_path / file)) for file in found} == found
    assert project_of(None) is None
