"""Files among the experiments that are none, and a study that is mistaken, on the command line."""

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
    "experiments/good.py": STUDY.replace("BEGIN", "1").replace("NAME", "good"),
    "experiments/several/inner.py": STUDY.replace("BEGIN", "2").replace("NAME", "inner"),
    "experiments/mistaken.py": STUDY.replace("NAME", "mistaken"),
    "experiments/absent.py": "import a_library_that_nobody_has\n",
    "experiments/empty.py": "x = 1\n",
    "experiments/no_study.py": STUDY.partition("def study")[0],
    "experiments/exits.py": "raise SystemExit(0)\n",
    "experiments/odd.py": "class Odd(BaseException): ...\nraise Odd('no Exception')\n",
    "experiments/cut.py": "def (:\n",
    "experiments/by_the_way.py": "from experiments._helper import VALUE\n",
    "experiments/_helper.py": "\n\n\nVALUE = {}['n_obs']\n",
    "conf/experiment/only_values.yaml": "n_rep: 5\n",
}
BROKEN = {
    "absent": "experiments/absent.py, line 1, raised ModuleNotFoundError: No module named",
    "empty": "experiments/empty.py has no Config: an experiment declares Config",
    "no_study": "experiments/no_study.py has no study: an experiment declares Config",
    "exits": "experiments/exits.py, line 1, raised SystemExit: 0",
    "odd": "experiments/odd.py, line 2, raised Odd: no Exception",
    "cut": "experiments/cut.py, line 1, raised SyntaxError",
    "by_the_way": "experiments/_helper.py, line 4, raised KeyError: 'n_obs'",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    write(folder, FILES)
    with inside(folder):
        yield folder


def test_a_sweep_names_what_is_no_experiment_and_goes_on(project, capsys):
    names = ",".join([*BROKEN, "good"])
    assert main(["-m", f"experiment={names}", "figures=false", "backend=inline"]) == 2
    told = capsys.readouterr()
    for said in BROKEN.values():
        assert said in told.err
    assert "20 replicates of one scenario" in told.out
    assert (project / "results" / "good" / "report.html").exists()


def test_a_folder_may_hold_several_experiments(project, capsys):
    assert main(["run", "experiment=inner", "figures=false", "backend=inline"]) == 0
    assert (project / "results" / "inner" / "report.html").exists()
    assert "experiment=inner" in capsys.readouterr().out + (
        project / "results" / "inner" / "report.html"
    ).read_text(encoding="utf-8")


def test_a_broken_one_alone_is_refused_in_its_own_words(project, capsys):
    assert main(["run", "experiment=exits", "experiment.k=3"]) == 2
    assert BROKEN["exits"] in capsys.readouterr().err
    assert main(["run", "experiment=only_values"]) == 2
    assert (
        "only_values: no such experiment; available: absent, by_the_way" in capsys.readouterr().err
    )


def test_a_mistake_in_a_study_is_a_line_and_the_way_to_it(project, capsys):
    assert main(["run", "experiment=mistaken", "backend=inline"]) == 2
    first, *frames = capsys.readouterr().err.splitlines()
    assert first.startswith("Walk(k=1.0): all 10 replicates of the first block failed with NameErr")
    assert [frame.rpartition(", ")[2] for frame in frames] == [
        'simulate: return {"x": steps(streams("data").standard_normal(n_rep))}',
        "steps: return x + BEGIN",
    ]
    assert not list((project / "results").glob("mistaken/**/*.parquet"))
