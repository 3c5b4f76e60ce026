"""What a manifest says of versions and code: nothing unsaved passes for a commit."""

import os
import shutil
import subprocess

import pytest

from simstudy.output import manifest as module
from simstudy.output.manifest import environment

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git to ask")


def git(folder, *words):
    who = ["-c", "user.name=tests", "-c", "user.email=tests@example.org"]
    return subprocess.run(
        ["git", *who, *words], cwd=folder, capture_output=True, text=True, check=True
    ).stdout.strip()


def repository(folder, **files):
    """A repository with these modules committed."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    commit(folder)
    return folder


def commit(folder):
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message=more")


@pytest.fixture
def project(tmp_path):
    return repository(tmp_path / "project", experiment="x = 1\n", neighbour="y = 1\n")


def states(file):
    return environment(file)["git"]


def clean(folder):
    """The state of a repository whose files are its commit."""
    return {"commit": git(folder, "rev-parse", "HEAD"), "modified": False}


def test_versions_and_machine_are_named():
    found = environment()
    assert {"simstudy", "numpy", "scipy", "pyarrow"} <= set(found["versions"])
    assert "unknown" not in found["versions"].values()
    assert set(found) == {"made", "python", "machine", "versions", "git"}


@needs_git
@pytest.mark.parametrize("name", ["neighbour.py", "new.py", "conf/new.yaml"])
def test_code_or_settings_that_were_edited_are_no_commit(project, name):
    (project / "results.csv").write_text("x")
    assert states(project / "experiment.py") == [clean(project)]
    (project / name).parent.mkdir(exist_ok=True)
    (project / name).write_text("y = 2\n")
    for _ in range(2):
        assert states(project / "experiment.py") == [clean(project) | {"modified": True}]
        git(project, "add", name)


@needs_git
def test_before_the_first_commit_there_is_none(tmp_path):
    git(tmp_path, "init", "--quiet")
    (tmp_path / "new.py").write_text("")
    git(tmp_path, "add", "new.py")
    assert states(tmp_path / "new.py") == [{"commit": None, "modified": True}]


@needs_git
def test_a_commit_is_known_in_a_worktree_too_and_git_writes_nothing(project, tmp_path):
    assert states(tmp_path / "loose.py") == []
    git(project, "worktree", "add", "--quiet", "--detach", str(tmp_path / "tree"))
    assert states(tmp_path / "tree" / "experiment.py") == [clean(project)]
    index = project / ".git" / "index"
    os.utime(project / "experiment.py")  # an index that git would like to refresh
    before = index.read_bytes()
    assert states(str(project / "experiment.py")) == [clean(project)]
    assert index.read_bytes() == before


@pytest.mark.parametrize(
    "trouble", [FileNotFoundError("git"), subprocess.TimeoutExpired("git", 10)], ids=type
)
def test_without_git_there_is_no_commit(monkeypatch, trouble):
    def fails(*_args, **_kwargs):
        raise trouble

    monkeypatch.setattr(module.subprocess, "run", fails)
    assert states(__file__) == []
