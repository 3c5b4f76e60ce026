"""Several studies: each is drawn and published, and what stops one costs one."""

import json

import pandas as pd
import pytest

from simstudy.cli import main
from simstudy.output import folder
from tests.cli.projects import STUDY, inside, write

CONFIG = "defaults: [simstudy, _self_]\ngroup: ours\n"
END = "n_rep=100)"
FIGURES = """
from matplotlib.figure import Figure


def drawn(result):
    figure = Figure()
    figure.subplots().plot(result.summary["estimate"])
    return figure
"""


def study_of(name):
    """The file of an experiment with a figure."""
    ours = STUDY.replace("fine", name).replace(END, f'{END[:-1]}, figures={{"one": drawn}})')
    return f'"""Is it {name}?"""\n{ours}{FIGURES}'


@pytest.fixture
def project(tmp_path):
    names = ("first", "middle", "last")
    studies = {f"experiments/{name}.py": study_of(name) for name in names}
    parts = "parts:\n  - title: All\n    experiments: [first, middle, last]\n"
    studies |= {"experiments/__init__.py": ""}
    write(tmp_path, studies | {"conf/group/ours.yaml": parts, "conf/config.yaml": CONFIG})
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
    *_, table = out.rstrip().split("\n\n")
    _, *rows, last = table.splitlines()
    assert [row.split()[:2] for row in rows] == [[name, "done"] for name in names]
    page = project / last.removeprefix("sweep: ")
    assert "measure mean_x" in table
    shown = page.read_text(encoding="utf-8")
    assert all(text in shown for text in ("first/figures/one.png", "mean_x ", "±"))
    assert len(out.splitlines()) == 3 + len(table.splitlines()) + 1, "a line for each run"
    assert again.count("nothing to do: ") == 3
    assert manifest(project / "results" / "last")["part"] == {
        "group": "ours", "title": "All", "page": "", "order": [1, 3],
    }  # fmt: skip


def named(project, name, before, after):
    """An experiment of the project with something else in its file."""
    text = study_of(name)
    assert before in text
    write(project, {f"experiments/{name}.py": text.replace(before, after)})


def test_a_figure_that_the_data_do_not_allow_is_no_failure(project, capsys):
    """It is said, and status 3 is left to what went wrong."""
    named(project, "last", "    figure = ", '    raise LookupError("n = 99")\n    figure = ')
    with inside(project):
        out, _ = said(capsys, "experiment=last", "report=false")
    assert "figure one was not drawn: n = 99" in out


AT_FAULT = "def study(config):\n"


def test_a_study_at_fault_costs_itself_wherever_its_code_goes_wrong(project, capsys):
    """Before it is drawn, or when that is done."""
    (project / "experiments" / "first.py").unlink()
    named(project, "a_design", AT_FAULT, f"{AT_FAULT}    1 / 0\n")
    exact = "class Normal:\n    def exact(self):\n        raise ValueError('in exact')\n\n"
    named(project, "d_exact", "class Normal:\n", exact)
    with inside(project):
        names = "experiment=a_design,d_exact,last"
        out, err = said(capsys, "-m", names, "figures=false", status=2)
    states = {row.split()[0]: row for row in out.split("\n\n")[-1].splitlines()}
    for name, state in {"a_design": "refused", "last": "done"}.items():
        assert f" {state} " in states[name]
    assert " done " not in states["d_exact"]
    assert "study(config) cannot be made: experiments/a_design.py, line " in err
    assert "ValueError: in exact" in err
    assert (project / "results" / "last" / "manifest.json").exists()


@pytest.mark.parametrize("flags", [(), ("-m", "seed=1,2")], ids=["run", "sweep"])
def test_a_value_of_the_environment_is_in_no_file(flags, project, capsys, monkeypatch):
    monkeypatch.setenv("TOKEN", "s3cret-word")
    with inside(project):
        out, err = said(capsys, *flags, "experiment=last", "experiment.label=${oc.env:TOKEN}")
    files = [path for path in project.rglob("*") if path.is_file()]
    assert "s3cret-word" not in f"{out}{err}{files}"
    assert not [path for path in files if b"s3cret-word" in path.read_bytes()]
    (path, *_) = (project / "results" / "last" / "runs").glob("*/manifest.json")
    assert json.loads(path.read_text())["config"]["label"] == "${oc.env:TOKEN}"


def test_cleaning_keeps_the_blocks_of_an_interrupted_run(project, capsys, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    asked = ["experiment=last", "seed=2", "figures=false", "report=false"]
    with inside(project):
        said(capsys, "experiment=last", "figures=false")
        with monkeypatch.context() as patch:
            patch.setattr(folder, "write_tables", interrupted)
            said(capsys, *asked, status=130)
        assert main(["clean", "last", "delete=true"]) == 0
        assert "deleted: 0 blocks" in capsys.readouterr().out, "younger than a week"
        out, _ = said(capsys, *asked)
        assert "0 blocks drawn now" in out
        (project / "results" / "last" / "runs" / "seed=2" / "manifest.json").unlink()
        assert main(["clean", "last", "delete=true"]) == 0
        said_now = capsys.readouterr().out
        assert "used by no run: 4 blocks" in said_now
        assert "deleted: 0 blocks" in said_now, "younger than a week"


OPTIONS = """    seed: int = option("of the design", default=1)
    n_rep: int = option("replicates", default=50)
"""


def test_an_option_with_the_name_of_a_setting_is_told_apart_from_it(tmp_path):
    """Each combination has a folder of its own, and the table has the numbers of each."""
    label = '    label: str = option("a word", default="one")\n'
    assert label in STUDY
    study = STUDY.replace(label, OPTIONS).replace("n_rep=100", "n_rep=config.n_rep")
    write(tmp_path, {"experiments/__init__.py": "", "experiments/few.py": study})
    quiet = ("figures=false", "report=false", "progress=false")
    with inside(tmp_path):
        line = ("-m", "experiment=few", "experiment.n_rep=60", "experiment.seed=5")
        assert main([*line, "seed=2,3", "n_rep=100", *quiet]) == 0
        assert main(["experiment=few", "experiment.n_rep=60", *quiet]) == 0
        runs = sorted(path.name for path in (tmp_path / "results/fine/runs").iterdir())
        assert runs == [
            "experiment.n_rep=60",
            "experiment.n_rep=60,experiment.seed=5,n_rep=100,seed=2",
            "experiment.n_rep=60,experiment.seed=5,n_rep=100,seed=3",
        ]
        tables = [*(tmp_path / "results/sweeps").rglob("summary.csv")]
        table = pd.read_csv(tables[0])
    assert set(table["n_rep"]) == {100}
    numbers = table.groupby("seed")["estimate"].apply(tuple)
    assert len(numbers) == len(set(numbers)) == 2
