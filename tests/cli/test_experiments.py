"""Files among the experiments that are none, and a study that is mistaken, on the command line."""

import pytest

from tests.cli.projects import simstudy, write

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
    "experiments/mistaken.py": STUDY.replace("NAME", "mistaken"),
    "experiments/absent.py": "import a_library_that_nobody_has\n",
    "experiments/empty.py": "x = 1\n",
    "experiments/exits.py": "raise SystemExit(0)\n",
    "experiments/odd.py": "class Odd(BaseException): ...\nraise Odd('no Exception')\n",
    "experiments/cut.py": "def (:\n",
}
BROKEN = {
    "absent": "experiments/absent.py, line 1, raised ModuleNotFoundError: No module named",
    "empty": "experiments/empty.py has no Config: an experiment declares Config",
    "exits": "experiments/exits.py, line 1, raised SystemExit: 0",
    "odd": "experiments/odd.py, line 2, raised Odd: no Exception",
    "cut": "experiments/cut.py, line 1, raised SyntaxError",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    write(folder, FILES)
    return folder


def test_a_sweep_names_what_is_no_experiment_and_goes_on(project):
    names = ",".join([*BROKEN, "good"])
    done = simstudy(project, "-m", f"experiment={names}", "figures=false")
    assert done.returncode == 2
    for said in BROKEN.values():
        assert said in done.stderr
    assert "20 replicates of one scenario" in done.stdout
    assert (project / "results" / "good" / "report.html").exists()


def test_the_status_of_all_has_a_line_for_each(project):
    done = simstudy(project, "status")
    assert done.returncode == 2
    lines = {line.split()[0]: line for line in done.stdout.splitlines()[1:]}
    assert set(lines) == {*BROKEN, "good", "mistaken"}
    for name, said in BROKEN.items():
        assert said in lines[name]
    assert "raised" not in lines["good"]


def test_a_broken_one_alone_is_refused_in_its_own_words(project):
    done = simstudy(project, "run", "experiment=exits", "experiment.k=3")
    assert (done.returncode, BROKEN["exits"] in done.stderr) == (2, True)


def test_a_mistake_in_a_study_is_a_line_and_the_way_to_it(project):
    done = simstudy(project, "run", "experiment=mistaken")
    assert done.returncode == 2
    first, *frames = done.stderr.splitlines()
    assert first.startswith("Walk(k=1.0): all 10 replicates of the first block failed with NameErr")
    assert [frame.rpartition(", ")[2] for frame in frames] == [
        'simulate: return {"x": steps(streams("data").standard_normal(n_rep))}',
        "steps: return x + BEGIN",
    ]
    assert not list((project / "results").glob("mistaken/**/*.parquet"))
