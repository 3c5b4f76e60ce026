"""What a manifest says of versions and code: nothing unsaved passes for a commit."""

import json
import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from simstudy.output import environment as module
from simstudy.output.environment import environment

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
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message=first")
    return folder


@pytest.fixture
def project(tmp_path):
    return repository(tmp_path / "project", experiment="x = 1\n", neighbour="y = 1\n")


def states(*files):
    return environment(files)["git"]


# ---------------------------------------------------------------- versions
def test_versions_and_machine_are_named():
    found = environment()
    assert {"simstudy", "numpy", "scipy", "numba", "pyarrow"} <= set(found["versions"])
    assert "unknown" not in found["versions"].values()
    assert set(found) - {"untracked_files"} == {"made", "python", "machine", "versions", "git"}


# ---------------------------------------------------------------- one repository
@needs_git
def test_committed_files_are_their_commit(project):
    found = environment([project / "experiment.py", str(project / "neighbour.py")])
    assert found["git"] == [{"commit": git(project, "rev-parse", "HEAD"), "modified": False}]
    assert "untracked_files" not in found


@needs_git
@pytest.mark.parametrize("staged", [False, True])
def test_a_neighbour_that_was_edited(project, staged):
    (project / "neighbour.py").write_text("y = 2\n")
    if staged:
        git(project, "add", "neighbour.py")
    (state,) = states(project / "experiment.py", project / "neighbour.py")
    assert state["modified"]
    assert state["modified_files"] == ["neighbour.py"]
    (alone,) = states(project / "experiment.py")
    assert not alone["modified"], "what the results do not depend on does not count"


@needs_git
@pytest.mark.parametrize("pattern", ["hidden.py", "private/"])
def test_an_experiment_that_git_ignores(project, pattern):
    (project / ".gitignore").write_text(f"{pattern}\n")
    new = project / "private" / "hidden.py"
    new.parent.mkdir()
    new.write_text("z = 1\n")
    (state,) = states(new)
    assert state["modified"]
    assert state["modified_files"] == ["private/hidden.py"]


@needs_git
@pytest.mark.parametrize("name", ["with space.py", "[abc].py", "grüße.py", ":(top)x.py", "-n.py"])
def test_names_that_git_might_read_otherwise(project, name):
    (project / name).write_text("z = 1\n")
    assert states(project / name)[0]["modified_files"] == [name]
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "--message=second")
    assert not states(project / name)[0]["modified"]
    (project / name).write_text("z = 2\n")
    assert states(project / name)[0]["modified_files"] == [name]


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
        git(project, "commit", "--quiet", "--all", "--message=more")
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


# ---------------------------------------------------------------- several, and none
@needs_git
def test_a_repository_within_a_repository(project):
    inner = repository(project / "vendored", model="m = 1\n")
    (inner / "model.py").write_text("m = 2\n")
    outer, own = states(project / "experiment.py", inner / "model.py")
    assert outer == {"commit": git(project, "rev-parse", "HEAD"), "modified": False}
    assert own["commit"] == git(inner, "rev-parse", "HEAD")
    assert own["modified_files"] == ["model.py"]


@needs_git
def test_a_worktree_whose_git_is_a_file(project, tmp_path):
    git(project, "worktree", "add", "--quiet", "--detach", str(tmp_path / "tree"))
    assert (tmp_path / "tree" / ".git").is_file()
    (state,) = states(tmp_path / "tree" / "experiment.py")
    assert state == {"commit": git(project, "rev-parse", "HEAD"), "modified": False}


@needs_git
def test_files_in_no_repository_are_named(project, tmp_path):
    for name in ("loose.py", "another.py"):
        (tmp_path / name).write_text("")
    found = environment([tmp_path / "loose.py", project / "experiment.py", tmp_path / "another.py"])
    assert found["untracked_files"] == ["another.py", "loose.py"]
    assert [one["modified"] for one in found["git"]] == [False]


def test_installed_libraries_count_by_their_version():
    installed = Path(sysconfig.get_path("purelib")) / "numpy" / "__init__.py"
    found = environment([installed])
    assert found["git"] == []
    assert "untracked_files" not in found


@needs_git
def test_no_path_of_this_machine_appears(project, tmp_path):
    (project / "experiment.py").write_text("x = 3\n")
    (tmp_path / "loose.py").write_text("")
    text = json.dumps(environment([project / "experiment.py", tmp_path / "loose.py"]))
    assert "experiment.py" in text
    assert str(tmp_path) not in text
    assert tmp_path.name not in text


# ---------------------------------------------------------------- git itself
@needs_git
def test_git_is_asked_once_for_each_repository_and_writes_nothing(project, monkeypatch):
    asked = []
    run = subprocess.run

    def counting(command, **settings):
        asked.append(command)
        assert settings["timeout"] == module.GIT_SECONDS
        return run(command, **settings)

    index = project / ".git" / "index"
    os.utime(project / "experiment.py")  # an index that git would like to refresh
    before = index.read_bytes()
    monkeypatch.setattr(module.subprocess, "run", counting)
    states(project / "experiment.py", project / "neighbour.py")
    assert len(asked) == 1
    assert index.read_bytes() == before


@needs_git
def test_a_hook_of_another_repository_is_not_believed(project, tmp_path, monkeypatch):
    other = repository(tmp_path / "other", other="o = 1\n")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    (state,) = states(project / "experiment.py")
    monkeypatch.delenv("GIT_DIR")
    assert state == {"commit": git(project, "rev-parse", "HEAD"), "modified": False}


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
