"""Several studies: each is drawn and published, and what stops one costs one."""

import json
import os
import re
import signal
import subprocess
import sys

import pytest

from simstudy.cli import main
from simstudy.cli.sweep import _time_left
from tests.cli.projects import ENTRY_POINT, STUDY, alive, inside, wait_for, write
from tests.support import ROOT

END = "n_rep=100)"
FIGURES = """
import os
import sys
import time
from pathlib import Path

from matplotlib.figure import Figure


def drawn(result):
    figure = Figure()
    figure.subplots().plot(result.summary["estimate"])
    return figure


def waiting(result):
    if "WAIT" in os.environ:
        Path("begun").touch()
        time.sleep(600)
    return drawn(result)
"""


def study_of(name, figures='"one": drawn'):
    """The file of an experiment with these figures."""
    ours = STUDY.replace("fine", name).replace(END, f"{END[:-1]}, figures={{{figures}}})")
    return f'"""Is it {name}?"""\n{ours}{FIGURES}'


@pytest.fixture
def project(tmp_path):
    """A figure of `first` takes minutes where its environment says so."""
    figures = {
        "first": '"one": waiting, "other": drawn',
        "middle": '"one": drawn',
        "last": '"one": drawn',
    }
    studies = {f"experiments/{name}.py": study_of(name, of) for name, of in figures.items()}
    parts = "parts:\n  - title: All\n    experiments: [first, middle, last]\n"
    studies |= {"experiments/__init__.py": ""}
    write(tmp_path, studies | {"conf/group/ours.yaml": parts, "conf/config.yaml": "group: ours\n"})
    return tmp_path


def manifest(folder):
    return json.loads((folder / "manifest.json").read_text())


def said(capsys, *arguments, status=0):
    """What a run in the project says, and complains of."""
    assert main(["run", *arguments, "backend=inline"]) == status
    return capsys.readouterr()


def test_studies_are_drawn_and_published_one_after_the_other(project, capsys):
    names = ("first", "middle", "last")
    with inside(project):
        out, _ = said(capsys, "all")
        again, _ = said(capsys, "all")
    heads = [line for line in out.splitlines() if line.startswith("-- ")]
    assert heads == [
        f"-- study {place} of 3: experiment={name} backend=inline"
        for place, name in enumerate(names, 1)
    ]
    for name, section in zip(names, re.split(r"^-- ", out, flags=re.M)[1:], strict=True):
        assert section.count(" files in results/") == 1
        assert f"results/{name}\n" in section
    table = out.split("\n\n")[-1].splitlines()
    assert [row.split()[:4] for row in table[1:4]] == [
        [name, "drawn", "and", "published"] for name in names
    ]
    assert table[-1] == "index: results/index.html"
    assert again.count("nothing to do: ") == 3
    assert manifest(project / "results" / "last")["part"] == {
        "group": "ours", "title": "All", "page": "", "order": [1, 3],
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "number", "whom"),
    [
        ("all", signal.SIGINT, os.killpg),
        ("all", signal.SIGTERM, os.kill),
        ("experiment=first", signal.SIGTERM, os.kill),
    ],
)
def test_a_stop_ends_all_processes_and_leaves_whole_files(project, asked, number, whom):
    environment = os.environ | {"WAIT": "yes", "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, "-c", ENTRY_POINT, "run", asked, "n_jobs=2", "progress=false"],
        cwd=project, env=environment, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    wait_for((project / "begun").exists)
    whom(process.pid, number)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 128 + number
    assert err == (
        "interrupted; every finished block is kept. To go on: simstudy run "
        f"{asked} n_jobs=2 progress=false\n"
    )
    assert "figure" not in out, "nothing was found yet"
    assert not alive(process.pid), "they ended before their parent said so"
    assert not list(project.rglob(".writing-*"))
    assert not (project / "results" / "first" / "manifest.json").exists()


def named(project, name, before, after):
    """An experiment of the project with something else in its file."""
    text = study_of(name)
    assert before in text
    write(project, {f"experiments/{name}.py": text.replace(before, after)})


AT_FAULT = "def study(config):\n"
CLAIMS = '[Claim("c", "s", source="A page", published=1.0, reproduce=lambda r: {ends})]'


def test_a_study_at_fault_costs_itself_wherever_its_code_goes_wrong(project, capsys):
    """Before it is drawn, or when that is done."""
    (project / "experiments" / "first.py").unlink()
    named(project, "a_design", AT_FAULT, f"{AT_FAULT}    1 / 0\n")
    refusing = "    from simstudy.errors import DesignError\n    raise DesignError('none')\n"
    named(project, "b_refused", AT_FAULT, AT_FAULT + refusing)
    named(project, "c_settings", AT_FAULT, AT_FAULT)
    write(project, {"experiments/f_import.py": "raise SystemExit(0)\n"})
    write(project, {"conf/experiment/c_settings.yaml": "n: [\n"})
    exact = "class Normal:\n    def exact(self):\n        raise ValueError('in exact')\n\n"
    named(project, "d_exact", "class Normal:\n", exact)
    claims = CLAIMS.format(ends="sys.exit(7)")
    named(project, "e_ends", END[:-1], f"{END[:-1]}, claims={claims}")
    claim = f"{AT_FAULT}    from simstudy import Claim\n"
    path = project / "experiments" / "e_ends.py"
    path.write_text(path.read_text().replace(AT_FAULT, claim))
    with inside(project):
        out, err = said(capsys, "all", "group=all", "figures=false", status=2)
    states = {row.split()[0]: row for row in out.split("\n\n")[-1].splitlines()}
    found = {"a_design": "refused", "b_refused": "refused", "c_settings": "refused"}
    found["f_import"] = "refused"
    found |= {"d_exact": "not published", "e_ends": "not published", "last": "drawn and published"}
    assert {name: state in states[name] for name, state in found.items()} == dict.fromkeys(
        found, True
    )
    for words in (
        "study(config) of experiments/a_design.py cannot be made: ",
        "experiment=b_refused: none",
        "c_settings.yaml, line 2, is not valid YAML",
        "ValueError: in exact",
    ):
        assert words in err
    assert (project / "results" / "last" / "manifest.json").exists()


def test_what_was_typed_is_refused_before_any_study_is_drawn(project, capsys):
    """The control: the same sweep, where it is the command that is at fault."""
    with inside(project):
        assert said(capsys, "all", "n_rep=none", status=2)[0] == ""
    assert not (project / "results").exists()


def test_a_folder_in_the_place_of_the_index_is_a_line_and_the_index_follows_its_group(
    project, capsys
):
    (project / "experiments" / "first.py").unlink()
    write(project, {"conf/group/ours.yaml": "parts: [{title: Old, experiments: [last]}]\n"})
    (project / "results" / "index.html").mkdir(parents=True)
    with inside(project):
        _, line = said(capsys, "experiment=last", "figures=false", status=2)
        assert (line[:13], line.count("\n")) == ("cannot write ", 1)
        assert "index.html: is a directory. Move away" in line
        (project / "results" / "index.html").rmdir()
        said(capsys, "experiment=last", "figures=false")
        write(project, {"conf/group/ours.yaml": "parts: [{title: New, experiments: [last]}]\n"})
        assert "nothing to do" in said(capsys, "experiment=last", "figures=false")[0]
    index = json.loads((project / "results" / "index.json").read_text())
    assert [study["document"] for study in index["studies"]] == ["New"]


@pytest.mark.parametrize(
    ("done", "ahead", "left"),
    [
        ([], [1.0, 3.0], ""),
        ([1.0], [3.0], ", about 30 s left"),
        ([1.0, float("nan")], [3.0], ""),
        ([1.0], [float("nan")], ""),
    ],
)
def test_time_left_goes_by_what_the_published_results_took(done, ahead, left):
    assert _time_left(done, ahead, elapsed=10.0) == left
