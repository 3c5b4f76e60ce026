"""A debugger at a failure, a message at the end of a run, paired values in a sweep."""

import json
import re

import pandas as pd
import pytest

from simstudy.cli import main
from tests.cli.projects import STUDY, inside, write
from tests.support import ROOT

QUIET = ("figures=false", "report=false", "progress=false", "backend=inline")
DOUBTFUL = STUDY.replace('streams("data")', "np.random.default_rng()").replace(
    "from dataclasses", "import numpy as np\nfrom dataclasses"
)


@pytest.fixture
def project(tmp_path):
    write(tmp_path, {"experiments/__init__.py": "", "experiments/fine.py": STUDY,
                     "experiments/doubtful.py": DOUBTFUL.replace('"fine"', '"doubtful"'),
    })  # fmt: skip
    return tmp_path


# ---------------------------------------------------------------- without measures
def test_a_study_without_measures_has_a_report(project, capsys):
    path = project / "experiments" / "fine.py"
    path.write_text(path.read_text().replace('[mean("x")], ', ""))
    with inside(project):
        assert main(["experiment=fine", "figures=false", "progress=false", "backend=inline"]) == 0
        assert (project / "results" / "fine" / "report.html").exists()
        for command in ("status", "plan", "summarize"):
            assert main([command, "fine", "progress=false", "backend=inline"]) == 0
    assert "Traceback" not in capsys.readouterr().err


# ---------------------------------------------------------------- the state of a run in a sweep
def test_a_warning_about_the_numbers_is_in_the_state_of_a_run(project, capsys):
    with inside(project):
        assert main(["-m", "experiment=fine,doubtful", "n_rep=1000", *QUIET]) == 0
    table = capsys.readouterr().out.split("\n\n")[-1]
    states = {row.split()[0]: " ".join(row.split()[1:]) for row in table.splitlines()[1:-1]}
    assert states["fine"].startswith("done ")
    assert re.match(r"done, \d+ warnings? ", states["doubtful"])
    (summary,) = (project / "results" / "sweeps").glob("*/summary.csv")
    told = pd.read_csv(summary).set_index("experiment")["state"]
    assert set(told["fine"]) == {"done"}
    assert all(state.startswith("done, ") for state in told["doubtful"])


# ---------------------------------------------------------------- a message at the end
NOTIFY = """
from hydra.experimental.callback import Callback

from simstudy import load


class Notify(Callback):
    def on_job_end(self, config, job_return, **kwargs):
        outcome = job_return.return_value
        name = config.hydra.runtime.choices.experiment
        text = f"{name} ended with status {outcome.status}"
        if outcome.warnings:
            text += f", {len(outcome.warnings)} warnings: {outcome.warnings[0]}"
        if outcome.folder:
            text += "\\n" + load(outcome.folder).summary[["measure", "estimate"]].to_string()
        print(text)  # or send it
"""
CALLBACK = """
defaults: [simstudy, _self_]
hydra:
  callbacks:
    notify:
      _target_: notify.Notify
"""


def test_a_callback_gets_folder_estimates_and_warnings(project, capsys):
    write(project, {"notify.py": NOTIFY, "conf/config.yaml": CALLBACK})
    with inside(project):
        assert main(["experiment=fine", *QUIET]) == 0
        told = capsys.readouterr().out
        assert "fine ended with status 0" in told
        assert re.search(r"mean_x.*0\.\d+", told), "estimates"
        assert main(["experiment=doubtful", "n_rep=1000", *QUIET]) == 0
        assert re.search(r"doubtful ended with status 0, \d+ warnings: ", capsys.readouterr().out)
        assert main(["-m", "experiment=fine,doubtful", "n_rep=200", *QUIET]) == 0
        assert capsys.readouterr().out.count(" ended with status 0") == 2


# ---------------------------------------------------------------- paired values
PAIRED = """
from dataclasses import dataclass

from simstudy import Study, option
from simstudy.measures import mean


@dataclass
class Config:
    OPTION


@dataclass(frozen=True)
class Trial:
    n: float
    effect: float

    def draw(self, streams, n_rep):
        return {"x": streams("data").normal(self.effect, size=(n_rep, int(self.n)))}


def average(x):
    return {"estimate": x.mean(axis=1)}


def study(config):
    scenarios = [Trial(**config.design)]
    return Study("paired", scenarios, [mean("estimate")], methods={"mean": average})
"""


def test_paired_values_of_the_docs_are_runs_of_a_sweep(tmp_path):
    page = (ROOT / "docs" / "command_line.md").read_text(encoding="utf-8")
    (option,) = re.findall(r"^```py\n(design: .*)\n```", page, re.M)
    (line,) = re.findall(r"^simstudy run -m experiment=paired '(.*?)'$", page, re.M)
    text = PAIRED.replace("OPTION", option)
    write(tmp_path, {"experiments/__init__.py": "", "experiments/paired.py": text})
    with inside(tmp_path):
        assert main(["-m", "experiment=paired", line, *QUIET]) == 0
    folders = sorted((tmp_path / "results" / "paired" / "runs").iterdir())
    settings = [json.loads((each / "manifest.json").read_text())["config"] for each in folders]
    pairs = [each["design"] for each in settings]
    assert sorted((pair["n"], pair["effect"]) for pair in pairs) == [(20, 0.8), (80, 0.4)]
