"""Command lines from Hydra's documentation and from everyday use, each given once.

After each of them the published files of the project are what they were.
"""

import hashlib
import json
import logging
import os
import re
import shlex
import sys
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest
from hydra import initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra

from tests.cli.projects import STUDY, give, inside, write
from tests.support import ROOT

QUIET = "figures=false report=false progress=false backend=inline"
FILES = {
    "experiments/__init__.py": "",
    "experiments/fine.py": '"""Is it fine?"""\n'
    + STUDY.replace(
        "n_obs: list[int]",
        'shift: float = option("mean of the data", default=0.0, at_least=-9, at_most=9)\n'
        '    law: Literal["normal", "uniform"] = option("law of the data", default="normal")\n'
        "    n_obs: list[int]",
    )
    .replace("from dataclasses", "from typing import Literal\nfrom dataclasses")
    .replace(
        "    n_obs: int\n", "    n_obs: int\n    shift: float = 0.0\n    law: str = 'normal'\n"
    )
    .replace('{"x": streams', '{"x": self.shift + streams')
    .replace("n_obs=config.n_obs)", "n_obs=config.n_obs, shift=config.shift, law=config.law)"),
    "experiments/quick.py": '"""Is it quick?"""\n' + STUDY.replace("fine", "quick"),
    "experiments/torn.py": STUDY.replace("fine", "torn"),
    "conf/experiment/torn.yaml": "n_obs: [5\n",
    "experiments/tabs.py": STUDY.replace("fine", "tabs"),
    "conf/experiment/tabs.yaml": "n_obs:\n\t- 5\n",
    "experiments/python.py": STUDY.replace("fine", "python"),
    "conf/experiment/python.yaml": "n_obs: !!python/object/apply:os.getcwd []\n",
    "experiments/other.py": '"""Is it other?"""\n' + STUDY.replace("fine", "other"),
    "conf/config.yaml": "defaults: [simstudy, _self_]\n",
    "conf/scale/tiny.yaml": "times: 0.2\n",
    "conf/experiment/quick.yaml": "# @package _global_\ndefaults:\n"
    "  - override /scale: tiny\n  - _self_\nn_rep: 30\nexperiment:\n  n_obs: [7]\n",
    "conf/size/large.yaml": "# @package experiment\nn_obs: [40, 80]\n",
    "more/scale/mini.yaml": "n_rep: 20\n",
    "more/other_root.yaml": "defaults: [config, _self_]\nseed: 11\n",
}


class Line(NamedTuple):
    """A command line.

    Parameters
    ----------
    folder
        Where its results stand, below `results/`.
    prints
        A text of its standard output.
    """

    words: str
    folder: str = ""
    prints: str = ""
    fine: bool = True  # whether `experiment=fine` and the quiet settings are added

    def __str__(self) -> str:
        return self.words


RUNS = [  # one run each, with its folder
    Line("n_rep=60", "fine/runs/n_rep=60"),
    Line("n_rep=50 seed=2", "fine/runs/n_rep=50,seed=2"),
    Line("scale=tiny", "tiny/fine"),
    Line("experiment=quick", "tiny/quick"),
    Line(
        "experiment=quick experiment.label=b", "tiny/quick/runs/label=b"
    ),  # which its file does not list
    Line("experiment=quick experiment.n_obs=[8]", "tiny/quick/runs/n_obs=[8]"),
    Line("experiment.n_obs=[5]", "fine/runs/n_obs=[5]"),
    Line("'experiment.n_obs=[5, 10, 20]'", "fine/runs/n_obs=[5,10,20]"),
    Line("experiment.shift=-1e-1", "fine/runs/shift=-0.1"),
    Line("experiment.law=uniform", "fine/runs/law=uniform"),
    Line("experiment.label=two\\ words", "fine"),
    Line("++experiment.label=x ++n_rep=60", "fine"),
    Line("n_rep=${oc.env:N} seed=4", "fine/runs/n_rep=60,seed=4"),
    Line("n_rep=${seed} seed=50", "fine/runs/n_rep=50,seed=50"),
    Line("'n_rep=\"${oc.decode:${oc.env:N,1000}}\"' seed=5", "fine/runs/n_rep=60,seed=5"),
    Line("+precision.mean_x=0.1", "fine/runs/precision.mean_x=0.1"),
    Line("n_jobs=2 backend=threads n_rep=70", "fine/runs/n_rep=70"),
    Line("hydra.verbose=true n_rep=60"),
    Line("hydra/job_logging=default hydra/hydra_logging=default n_rep=60"),
    Line("+hydra.job.env_set.A_VARIABLE=1 n_rep=60"),
    Line("--config-dir=more scale=mini", "mini/fine"),
    Line("-cd more scale=mini n_rep=21", "mini/fine/runs/n_rep=21"),
    Line(
        "--config-path=$PWD/more --config-name=other_root hydra.searchpath=[file://conf] seed=1",
        "fine/runs/config=other_root,seed=1",
    ),
    Line("hydra.searchpath=[file://more] scale=mini n_rep=22", "mini/fine/runs/n_rep=22"),
    Line("+size=large", "fine/runs/size=large"),
    Line("out=elsewhere n_rep=60"),
    Line("'out=\"~/elsewhere\"' n_rep=60"),
    Line("out= n_rep=60", "fine/runs/n_rep=60"),
    Line("'out=elsewhere/${now:%Y}' n_rep=60"),
    Line("'out=elsewhere/${hydra:job.name}' n_rep=60"),
]
SHOWN = [  # nothing is drawn
    Line("--cfg job", prints="n_obs:"),
    Line("--cfg hydra", prints="sweep:"),
    Line("--cfg all", prints="hydra:"),
    Line("--cfg job --package experiment", prints="n_obs:"),
    Line("'n_rep=${oc.env:N}' --cfg job --resolve", prints="n_rep: '60'"),
    Line("--info", prints="Hydra"),
    Line("--info defaults", prints="Defaults List"),
    Line("--info searchpath", prints="simstudy/cli/conf"),
    Line("--help", prints="experiment.n_obs"),
    Line("--hydra-help", prints="--multirun", fine=False),
    Line("--version", prints="", fine=False),
    Line("-sc install=bash", prints="complete", fine=False),
]
SWEEPS = {  # several runs, with the number of rows of their table
    "seed=1,2 n_rep=60": 2,
    "'seed=range(1,4)' n_rep=60": 3,
    "'experiment.n_obs=[5],[10]'": 2,
    "scale=paper,tiny": 2,
    "'experiment=glob(*,exclude=[quick,torn,tabs,python])' n_rep=60": 2,
    "seed=1,2 n_rep=60,70": 4,
    "seed=1,2 n_rep=60 hydra.sweep.dir=swept2 'hydra.sweep.subdir=${hydra:job.num}'": 2,
    "hydra.mode=MULTIRUN seed=1,2 n_rep=60": 2,
}
REFUSED = {  # in one line that names it; `test_refusals.py` and `test_slips.py` have more
    "experiment=fine experiment.law=normel": ("normel", "normal"),
    "experiment=torn": ("conf/experiment/torn.yaml", "line 2, column 1"),
    "experiment=tabs": ("conf/experiment/tabs.yaml", "line 2, column 1"),
    "experiment=python": ("conf/experiment/python.yaml", "line 1, column 8"),
}
HYDRAS_OWN = {  # refused in Hydra's words
    "experiment=fine hydra.no_such=1": "no_such",
    "experiment=fine --config-dir=no_such": "no_such",
    "-m experiment=fine 'seed=interval(1,2)'": "INTERVAL_SWEEP",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Two studies, of which one is published, and a third experiment made of the second."""
    folder = tmp_path_factory.mktemp("fine")
    write(folder, FILES)
    with inside(folder), pytest.MonkeyPatch.context() as patch:
        patch.setenv("N", "60")
        patch.setenv("HOME", str(folder))
        assert give("experiment=fine", "figures=false", "progress=false", "backend=inline") == 0
        yield folder


@pytest.fixture(autouse=True)
def untouched(project, capsys):
    """The published results, before and after each test."""
    before = published(project)
    assert {"manifest.json", "summary.parquet", "report.html"} <= set(before)
    yield
    assert published(project) == before
    assert "Traceback" not in capsys.readouterr().err


def published(project: Path) -> dict[str, str]:
    """Hashes of the files of the published run."""
    folder = project / "results" / "fine"
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
        if path.relative_to(folder).parts[0] not in ("runs", "replicates")
    }


def words(line: str) -> list[str]:
    """The arguments of a command line, without settings that move no number."""
    named = [] if "experiment=" in line else ["experiment=fine"]
    return [*named, *shlex.split(line.replace("$PWD", str(Path.cwd()))), *QUIET.split()]


@pytest.mark.parametrize("line", RUNS, ids=str)
def test_a_run_of_other_settings_stands_in_a_folder_of_its_own(line, project):
    assert give(*words(line.words)) == 0
    if line.folder:
        assert (project / "results" / line.folder / "summary.parquet").exists()


@pytest.mark.parametrize("line", SHOWN, ids=str)
def test_what_hydra_shows(line, project, capsys):
    before = sorted(project.rglob("*"))
    assert give(*(["experiment=fine"] if line.fine else []), *shlex.split(line.words)) == 0
    assert line.prints in capsys.readouterr().out
    assert sorted(project.rglob("*")) == before


@pytest.mark.parametrize("line", SWEEPS)
def test_a_sweep_ends_with_one_table(line, project, capsys):
    flags = [] if "multirun" in line.lower() else ["-m"]
    assert give(*flags, *words(line)) == 0
    *_, table = capsys.readouterr().out.rstrip().split("\n\n")
    _, *rows, last = table.splitlines()
    assert len(rows) == SWEEPS[line]
    assert all(" done" in row for row in rows), rows  # with warnings or without
    page = Path(last.removeprefix("sweep: "))
    assert page.exists()
    summary = pd.read_parquet(page.with_name("summary.parquet"))
    assert len(summary) >= SWEEPS[line]
    assert summary["estimate"].notna().all()


@pytest.mark.parametrize("line", REFUSED)
def test_what_cannot_be_meant_is_refused_in_one_line(line, project, capsys):
    before = sorted(project.rglob("*"))
    assert give(*shlex.split(line)) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert all(part in error for part in REFUSED[line])
    assert sorted(project.rglob("*")) == before


@pytest.mark.parametrize("line", HYDRAS_OWN)
def test_hydras_own_errors_are_in_hydras_words(line, project, capsys):
    assert give(*shlex.split(line)) != 0
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert HYDRAS_OWN[line] in error


LARGER = """# @package _global_
defaults:
  {choice}
  - override /scale: smoke
  - _self_
"""


def test_the_configs_of_the_docs_work_as_printed(tmp_path):
    """Each block of the page that is a file of `conf/`, in one project."""
    page = (ROOT / "docs" / "command_line.md").read_text(encoding="utf-8")
    files = dict(re.findall(r"^```yaml\n# (conf/\S+)\n(.*?)^```", page, re.S | re.M))
    assert set(files) == {
        "conf/config.yaml", "conf/experiment/mine.yaml", "conf/size/large.yaml"
    }  # fmt: skip
    (choice,) = re.findall(r"`(- /size: large)`", page)
    files["conf/experiment/larger.yaml"] = LARGER.format(choice=choice)
    studies = {f"experiments/{Path(path).stem}.py": STUDY.replace('"fine"', f'"{Path(path).stem}"')
               for path in files if "/experiment/" in path}  # fmt: skip
    write(tmp_path, {"experiments/__init__.py": "", **studies, **files})
    with inside(tmp_path):
        for words, folder, levels, seed in (
            ("experiment=mine", "mine", {10, 40}, 7),
            ("experiment=mine +size=large", "mine/runs/size=large", {400, 800}, 7),
            ("experiment=larger", "larger", {400, 800}, 7),
        ):
            assert give(*words.split(), *QUIET.split()) == 0
            results = tmp_path / "results" / "smoke" / folder
            assert set(pd.read_parquet(results / "summary.parquet")["n_obs"]) == levels
            assert json.loads((results / "manifest.json").read_text())["seed"] == seed


def test_an_environment_variable_that_hydra_sets_is_the_jobs_alone():
    assert "A_VARIABLE" not in os.environ


def test_a_command_leaves_the_process_as_it_was(project, monkeypatch):
    """What another Hydra application has set in it, too."""
    monkeypatch.setenv("HYDRA_FULL_ERROR", "0")
    logger, handlers, argv = logging.getLogger("mine"), [*logging.root.handlers], [*sys.argv]
    own = ConfigStore.instance()
    monkeypatch.setattr(own, "repo", {**own.repo, "experiment": {"mine.yaml": None}})
    with initialize_config_dir(str(project / "conf"), version_base="1.3"):
        in_use, groups = GlobalHydra.instance().hydra, set(own.repo)
        for line in ("plan fine", "fine n_rep=60", "fine n_rep=0", "-m fine n_rep=60,70"):
            give(*line.split(), *QUIET.split())
        assert GlobalHydra.instance().hydra is in_use
    assert (set(own.repo), [*own.repo["experiment"]]) == (groups, ["mine.yaml"])
    assert sys.argv == argv
    assert os.environ["HYDRA_FULL_ERROR"] == "0"
    assert (logger.disabled, logging.root.handlers) == (False, handlers)
