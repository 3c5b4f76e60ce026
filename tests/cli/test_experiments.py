"""A folder of several experiments, and a study that is mistaken, on the command line."""

import pytest

from simstudy.cli import main
from tests.cli.projects import inside, write

STUDY = '''
"""How far is it?"""

from dataclasses import dataclass

from simstudy import Study
from simstudy.measures import mean


@dataclass
class Config:
    pass


@dataclass(frozen=True)
class Walk:
    k: float = 1.0

    def simulate(self, streams, n_rep):
        return {"x": steps(streams("data").standard_normal(n_rep))}


def steps(x):
    return x + BEGIN


def study(config):
    return Study("NAME", [Walk()], [mean("x")], block_size=10, n_rep=20)
'''

FILES = {
    "experiments/__init__.py": "",
    "experiments/several/inner.py": STUDY.replace("BEGIN", "2").replace("NAME", "inner"),
    "experiments/mistaken.py": STUDY.replace("NAME", "mistaken"),
}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    write(folder, FILES)
    with inside(folder):
        yield folder


def test_a_folder_may_hold_several_experiments(project, capsys):
    assert main(["run", "experiment=inner", "figures=false", "backend=inline"]) == 0
    assert (project / "results" / "inner" / "report.html").exists()
    assert "experiment=inner" in capsys.readouterr().out + (
        project / "results" / "inner" / "report.html"
    ).read_text(encoding="utf-8")


def test_a_mistake_in_a_study_is_a_line_and_the_way_to_it(project, capsys):
    assert main(["run", "experiment=mistaken", "backend=inline"]) == 2
    first, *frames = capsys.readouterr().err.splitlines()
    assert first.startswith("Walk(k=1.0): all 10 replicates of the first block failed with NameErr")
    assert [frame.rpartition(", ")[2] for frame in frames] == [
        'simulate: return {"x": steps(streams("data").standard_normal(n_rep))}',
        "steps: return x + BEGIN",
    ]
    assert not list((project / "results").glob("mistaken/**/*.parquet"))
