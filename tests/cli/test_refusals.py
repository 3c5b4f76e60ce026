"""What a user mistypes or misplaces, of every class: one line, status 2, and nothing written."""

import itertools
import os
import shlex
import subprocess
import sys

import pytest

from simstudy.cli import main
from tests.cli.projects import STUDY, inside, write
from tests.guarantees.content import slow_but
from tests.support import ROOT

HEAD = "    return Study("
RUN = ["experiment=fine", "n_rep=10", "out=unread", "figures=false", "report=false",
       "progress=false", "backend=inline"]  # fmt: skip
BROKEN = {  # by name of the experiment: its file, and what is said of it
    "divides": (STUDY.replace(HEAD, f"    1 / 0\n{HEAD}"), "line 19, raised ZeroDivisionError"),
    "misspelt": (STUDY.replace("n_rep=100", "n_reps=100"), "line 19, raised TypeError"),
    "no_measure": (
        STUDY.replace('[mean("x")]', '["bias"]'),
        "measures=['bias'] is not allowed: must be a list of measures, such as",
    ),
    "no_class": (
        STUDY.replace("@dataclass\n", ""),
        "experiments/no_class.py: an experiment declares Config, a @dataclass of its options",
    ),
    "bare_scenario": (STUDY.replace("@dataclass(frozen=True)\n", ""), "is not a dataclass"),
    "gives_none": (STUDY.replace(HEAD, "    Study("), "study(config) returned None"),
    "negative": (STUDY.replace("n_rep=100", "n_rep=-5"), "n_rep=-5 is not allowed"),
    "absent": (
        "import a_library_that_nobody_has\n",
        "experiments/absent.py, line 1, raised ModuleNotFoundError: No module named",
    ),
    "empty": ("x = 1\n", "experiments/empty.py: an experiment declares Config, a @dataclass of"),
    "exits": ("raise SystemExit(0)\n", "experiments/exits.py, line 1, raised SystemExit: 0"),
    "cut": ("def (:\n", "experiments/cut.py, line 1, raised SyntaxError"),
    "by_the_way": (
        "from experiments._helper import VALUE\n",
        "experiments/_helper.py, line 4, raised KeyError: 'n_obs'",
    ),
}
FILES = {
    "experiments/_helper.py": "\n\n\nVALUE = {}['n_obs']\n",
    "conf/experiment/only_values.yaml": "n_rep: 5\n",
    "conf/scale/only_size.yaml": "n_rep: 300\n",
    "conf/scale/smoke.yaml": "times: 2\n",
    "conf/scale/empty.yaml": "",
    "conf/scale/text.yaml": "times: abc\n",
    "conf/scale/negative.yaml": "n_rep: -5\n",
    "conf/scale/unknown.yaml": "size: 5\n",
    "conf/scale/rows.yaml": "- 3\n",
    "conf/scale/torn.yaml": "n_rep: 3\n out: [\n",
    "conf/backend/threads.yaml": "",
    "conf/backend/mine.yaml": "{}\n",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A study that is fine among broken ones, and config files of every kind."""
    folder = tmp_path_factory.mktemp("project")
    write(folder, {"experiments/__init__.py": "", "experiments/fine.py": STUDY, **FILES})
    write(folder, {f"experiments/{name}.py": text for name, (text, _) in BROKEN.items()})
    write(folder, {"experiments/sp ace.py": STUDY, "experiments/is_a_folder.py/note.txt": ""})
    (folder / "experiments" / "dangling.py").symlink_to(folder / "nowhere")
    with inside(folder):
        yield folder


@pytest.fixture
def said(project, capsys):
    """What the command `simstudy` says in the project: status, output, complaint."""

    def run(*arguments):
        status = main(arguments)
        told = capsys.readouterr()
        return status, told.out, told.err

    return run


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["experiment=only_values"], "only_values: no such experiment; available: absent, "),
        ([f"out={'a' * 300}"], "too long. Choose another out="),
        (["experiment.n_obs=[1]"], "experiment.n_obs=[1] is not allowed: sample size"),
        (["experiment.n_obs=[5"], "[5"),
        (["hydra/launcher=basik"], "basic"),
        (["--config-name=no_such"], "no_such"),
        (["scale=text"], "scale.times=abc is not allowed: "),
        (["scale=negative"], "scale.n_rep=-5 is not allowed"),
        (["scale=unknown"], "scale.size is not a setting"),
        (["backend=mine"], "backend=None: no such backend"),
        *[([f"experiment={name}"], text) for name, (_, text) in BROKEN.items()],
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_the_users_is_one_line(arguments, text, said, project):
    status, told, complaint = said("experiment=fine", *arguments)
    assert (status, told, complaint.count("\n")) == (2, "", 1)
    assert text in complaint
    assert not (project / "results").exists()


@pytest.mark.parametrize("verb", ["plan", "status", "clean", "protocol", "why", "batch shares=2"])
@pytest.mark.parametrize(
    ("word", "text"),
    [("fin", "did you mean 'fine'?"), ("~seed", "seed|no experiment is named"), ("x=", "x")],
)
def test_a_word_that_a_command_does_not_know_is_one_line(verb, word, text, said, project):
    status, told, complaint = said(*verb.split(), word)
    assert (status, told, complaint.count("\n")) == (2, "", 1)
    assert any(each in complaint for each in text.split("|"))
    assert not (project / "results").exists()


@pytest.mark.parametrize(
    ("scale", "n_rep", "out"),
    [
        ("only_size", 300, "results/only_size"),
        ("empty", 100, "results/empty"),
        ("smoke", 200, "results/smoke"),
    ],
)
def test_what_a_scale_leaves_out_is_the_packages(scale, n_rep, out, said):
    status, told, _ = said("plan", "experiment=fine", f"scale={scale}", "backend=threads")
    assert status == 0
    assert f"{n_rep} replicates in each" in told
    assert f"results  {out}/fine" in told


def test_one_that_is_broken_does_not_hide_the_others(said):
    done, told, complaint = said("list")
    assert (done, complaint) == (0, "")
    names = [line.split()[0] for line in told.splitlines()]
    assert {*BROKEN, "fine", "dangling", "is_a_folder"} <= set(names)
    assert "sp" not in names


def test_a_plan_says_where_max_rep_ends_it(said):
    _, told, _ = said("plan", "experiment=fine", "precision.mean_x=0.001", "max_rep=100")
    assert "max_rep=100 ends 2 of these scenarios before" in told


COMMANDS = {"list": ["list"], "run": RUN, "sweep": ["-m", *RUN]}
TAKERS = {"closed": 141, "/dev/full": 1}


@pytest.mark.parametrize(
    "how",
    slow_but(
        "closed list", "/dev/full run",
        of=(" ".join(how) for how in itertools.product(TAKERS, COMMANDS)),
    ),
)  # fmt: skip
def test_an_output_that_nobody_takes_is_no_traceback(how, project):
    outlet, command = how.split()
    if outlet == "closed":
        reading, writing = os.pipe()
        os.close(reading)
    else:
        writing = os.open(outlet, os.O_WRONLY)
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    asked = [sys.executable, "-m", "simstudy", *COMMANDS[command]]
    done = subprocess.run(
        asked, cwd=project, env=env, stdout=writing, stderr=subprocess.PIPE, text=True
    )
    os.close(writing)
    assert done.returncode == TAKERS[outlet]
    assert done.stderr.count("\n") == (outlet != "closed")


def test_a_failure_names_the_whole_command_that_shows_it(tmp_path, capsys):
    """With its seed and factors: those of another run are another replicate, and a healthy one."""
    fragile = STUDY.replace(
        'return {"x": streams("data").standard_normal((n_rep, self.n_obs)).mean(axis=1)}',
        'x = streams("data").standard_normal((n_rep, self.n_obs)).mean(axis=1)\n'
        '        return {"x": [1 / 0 if value > 0 else value for value in x]}',
    ).replace("n_rep=100", "n_rep=100, rules=Rules(max_failed=1)")
    fragile = fragile.replace("import Study, grid", "import Rules, Study, grid")
    write(tmp_path, {"experiments/__init__.py": "", "experiments/fragile.py": fragile})
    asked = ["experiment=fragile", "experiment.n_obs=[3, 4]", "seed=3", "out=there", "n_rep=50"]
    with inside(tmp_path):
        assert main(["run", *asked, "figures=false", "report=false", "backend=inline"]) == 3
        said = capsys.readouterr().out.splitlines()
        (line,) = [text for text in said if text.startswith("see it happen: ")]
        assert line.startswith("see it happen: simstudy replay ")
        assert " experiment=fragile 'experiment.n_obs=[3, 4]' " in line
        assert " seed=3 out=there n_rep=50 " in line
        with pytest.raises(ZeroDivisionError):
            main(shlex.split(line.removeprefix("see it happen: simstudy ")))
