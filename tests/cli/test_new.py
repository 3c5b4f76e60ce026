"""A project is laid out whole and is a good example; the wheel's tests hold it to its contracts."""

import contextlib
import io
import os
import re
import subprocess
import sys

import pytest

from tests.cli.projects import give, python, simstudy
from tests.support import ROOT

STUDY = "experiment=proportion_interval"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project as `simstudy new` lays it out."""
    folder, told = tmp_path_factory.mktemp("empty"), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(told):
        patch.chdir(folder)
        assert give("new", "my-study") == 0
    assert told.getvalue() == (
        "my-study/ holds a project with one study. Next: cd my-study, then simstudy run "
        f"{STUDY}, and python -m pytest\n"
    )
    return folder / "my-study"


def test_it_has_all_that_a_project_has(project):
    files = {str(path.relative_to(project)) for path in project.rglob("*") if path.is_file()}
    assert files == {
        ".gitignore", "README.md", "experiments/__init__.py", "experiments/proportion_interval.py",
        "ruff.toml", "run.py", "tests/test_contracts.py",
    }  # fmt: skip
    assert (project / "README.md").read_text().startswith("# my-study\n")
    assert (project / "run.py").read_text() == (ROOT / "run.py").read_text()


@pytest.mark.slow
def test_ruff_has_nothing_to_say(project):
    pytest.importorskip("ruff", reason="needs pip install -e '.[dev]'")
    for check in (["check"], ["format", "--check"]):
        command = [sys.executable, "-m", "ruff", *check, "--no-cache", "."]
        done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_its_study_runs_once_by_either_name_of_the_command(project):
    """`simstudy run` and `run.py` do the same; from elsewhere, run.py knows its own folder."""
    asked = [STUDY, "scale=smoke", f"out={project.parent / 'out'}", "progress=false"]
    first = simstudy(project, "run", *asked)
    assert first.returncode == 0, first.stderr
    assert "coverage" in first.stdout
    there = simstudy(project, "run", *asked)
    here = python(project.parent, str(project / "run.py"), *asked)
    assert here.returncode == there.returncode == 0, here.stderr + there.stderr
    assert there.stdout.startswith(f"nothing to do: {project.parent / 'out'}")
    assert here.stdout == there.stdout.replace(f"{project.parent}{os.sep}", "")  # as seen from here


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["full"], "full exists and is not empty"),
        ([], "Missing argument 'name'"),
        (["one", "two"], r"Got unexpected extra argument\(s\) \(two\)"),
    ],
)
def test_a_name_that_will_not_do_is_one_line_and_writes_nothing(
    names, said, refused, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes").write_text("mine")
    assert re.match(said, refused("new", *names))
    assert [path.name for path in tmp_path.rglob("*")] == ["full", "notes"]
