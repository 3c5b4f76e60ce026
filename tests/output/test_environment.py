"""What a manifest says of versions and code: nothing unsaved passes for a commit."""

import json
import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

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


def states(*files):
    return environment(files)["git"]


def clean(folder):
    """The state of a repository whose files are its commit."""
    return {"commit": git(folder, "rev-parse", "HEAD"), "modified": False}


def test_versions_and_machine_are_named_and_libraries_count_by_their_version():
    installed = Path(sysconfig.get_path("purelib")) / "numpy" / "__init__.py"
    found = environment([installed])
    assert {"simstudy", "numpy", "scipy", "pyarrow"} <= set(found["versions"])
    assert "unknown" not in found["versions"].values()
    assert set(found) == {"made", "python", "machine", "versions", "git"}
    assert found["git"] == []


@needs_git
def test_committed_files_are_their_commit_also_in_a_worktree_whose_git_is_a_file(project, tmp_path):
    assert states(project / "experiment.py", str(project / "neighbour.py")) == [clean(project)]
    git(project, "worktree", "add", "--quiet", "--detach", str(tmp_path / "tree"))
    assert states(tmp_path / "tree" / "experiment.py") == [clean(project)]


@needs_git
def test_a_neighbour_that_was_edited(project):
    (project / "neighbour.py").write_text("y = 2\n")
    for _ in range(2):
        (state,) = states(project / "experiment.py", project / "neighbour.py")
        assert state == clean(project) | {"modified": True, "modified_files": ["neighbour.py"]}
        alone = states(project / "experiment.py")
        assert alone == [clean(project)], "what the results do not depend on does not count"
        git(project, "add", "neighbour.py")


@needs_git
def test_an_experiment_that_git_ignores(project):
    (project / ".gitignore").write_text("private/\n")
    new = project / "private" / "hidden.py"
    new.parent.mkdir()
    new.write_text("z = 1\n")
    assert states(new)[0]["modified_files"] == ["private/hidden.py"]


@needs_git
def test_names_that_git_might_read_otherwise(project):
    names = ["with space.py", "[abc].py", "grüße.py", ":(top)x.py", "-n.py"]
    files = [project / name for name in names]
    for text, is_new in (("z = 1\n", True), ("z = 2\n", False)):
        for file in files:
            file.write_text(text)
        assert states(*files)[0]["modified_files"] == sorted(names), is_new
        commit(project)
        assert states(*files) == [clean(project)]


@needs_git
def test_files_that_are_gone_moved_or_in_conflict(project):
    git(project, "mv", "neighbour.py", "moved.py")
    (project / "experiment.py").unlink()
    files = [project / f"{name}.py" for name in ("experiment", "neighbour", "moved")]
    assert states(*files)[0]["modified_files"] == ["experiment.py", "moved.py", "neighbour.py"]
    git(project, "reset", "--quiet", "--hard")
    git(project, "branch", "other")
    for branch, text in (("other", "x = 2\n"), ("main", "x = 3\n")):
        git(project, "checkout", "--quiet", branch)
        (project / "experiment.py").write_text(text)
        commit(project)
    with pytest.raises(subprocess.CalledProcessError):
        git(project, "merge", "other")
    assert states(project / "experiment.py")[0]["modified_files"] == ["experiment.py"]


@needs_git
def test_before_the_first_commit_there_is_none(tmp_path):
    git(tmp_path, "init", "--quiet")
    (tmp_path / "new.py").write_text("")
    git(tmp_path, "add", "new.py")
    assert states(tmp_path / "new.py") == [
        {"commit": None, "modified": True, "modified_files": ["new.py"]}
    ]


@needs_git
def test_files_of_several_repositories_and_of_none_and_no_path_of_this_machine(project, tmp_path):
    inner = repository(project / "vendored", model="m = 1\n")
    (inner / "model.py").write_text("m = 2\n")
    for name in ("loose.py", "another.py"):
        (tmp_path / name).write_text("")
    files = [tmp_path / "loose.py", project / "experiment.py", tmp_path / "another.py"]
    found = environment([*files, inner / "model.py"])
    assert found["git"] == [
        clean(project),
        clean(inner) | {"modified": True, "modified_files": ["model.py"]},
    ]
    assert found["untracked_files"] == ["another.py", "loose.py"]
    text = json.dumps(found)
    assert str(tmp_path) not in text
    assert tmp_path.name not in text


@needs_git
def test_git_is_asked_once_writes_nothing_and_believes_no_hook(project, tmp_path, monkeypatch):
    asked = []
    run = subprocess.run

    def counting(command, **settings):
        asked.append(command)
        assert settings["timeout"] == module.GIT_SECONDS
        return run(command, **settings)

    expected = clean(project)
    index = project / ".git" / "index"
    os.utime(project / "experiment.py")  # an index that git would like to refresh
    before = index.read_bytes()
    monkeypatch.setenv("GIT_DIR", str(repository(tmp_path / "other", other="o = 1\n") / ".git"))
    monkeypatch.setattr(module.subprocess, "run", counting)
    assert states(project / "experiment.py", project / "neighbour.py") == [expected]
    assert len(asked) == 1
    assert index.read_bytes() == before


@pytest.mark.parametrize(
    "trouble",
    [
        FileNotFoundError("git"),
        subprocess.TimeoutExpired("git", 10),
        subprocess.CalledProcessError(128, "git"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_without_git_there_is_no_commit(monkeypatch, trouble):
    def fails(*_args, **_kwargs):
        raise trouble

    monkeypatch.setattr(module.subprocess, "run", fails)
    assert environment()["git"] == []
