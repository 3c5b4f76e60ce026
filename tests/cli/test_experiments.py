"""A folder of several experiments, and a study that is mistaken, on the command line."""

import pandas as pd
import pytest

from simstudy.cli import main
from tests.cli.projects import STUDY, inside, write

STEPS = "def steps(x):\n    return x + BEGIN\n\n\ndef study("
MEANS = 'streams("data").standard_normal((n_rep, self.n_obs)).mean(axis=1)'
FILES = {
    "experiments/__init__.py": "",
    "experiments/several/inner.py": STUDY.replace("fine", "inner"),
    "experiments/mistaken.py": STUDY.replace(MEANS, "steps(n_rep)").replace("def study(", STEPS),
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
    lines = capsys.readouterr().err.splitlines()
    first, *frames = [line for line in lines if not line.startswith("warning: ")]
    assert first.startswith(
        "Normal(n_obs=5): all 50 replicates of the first block failed with NameErr"
    )
    assert [frame.rpartition(", ")[2] for frame in frames] == [
        'simulate: return {"x": steps(n_rep)}',
        "steps: return x + BEGIN",
    ]
    assert not list((project / "results").glob("mistaken/**/*.parquet"))


@pytest.mark.parametrize(
    ("lines", "overrides", "folder"),
    [
        ("defaults: [sizes, _self_]", [], ""),
        ("defaults: [sizes, _self_]", ["experiment.n_obs=[6]"], "runs/n_obs=[6]"),
        ("n_obs: ???", ["experiment.n_obs=[5]"], "runs/n_obs=[5]"),
        ("n_obs: ['${oc.env:NO_SUCH}']", ["experiment.n_obs=[5]"], "runs/n_obs=[5]"),
    ],
)  # fmt: skip
def test_published_settings_are_what_hydra_composes(
    lines, overrides, folder, project, tmp_path, monkeypatch
):
    monkeypatch.setenv("SIZE", "5")
    path = project / "conf" / "experiment" / "inner.yaml"
    write(path.parent, {"inner.yaml": lines, "sizes.yaml": "n_obs: [5]"})
    try:
        quiet = ["figures=false", "backend=inline", f"out={tmp_path}"]
        assert main(["run", "experiment=inner", *overrides, *quiet]) == 0
    finally:
        path.unlink()
    summary = pd.read_parquet(tmp_path / "inner" / folder / "summary.parquet")
    assert set(summary["n_obs"]) == ({6} if "n_obs=[6]" in folder else {5})


def test_another_environment_does_not_replace_results(project, tmp_path, monkeypatch):
    """Nor does an option that a variable takes from the environment, or the seed."""
    path = project / "conf" / "experiment" / "inner.yaml"
    asked = ["run", "experiment=inner", "figures=false", "backend=inline", f"out={tmp_path}"]
    try:
        for lines in (
            'n_obs: ["${oc.decode:${oc.env:SIZE}}"]',
            '# @package _global_\nv: ${oc.env:SIZE}\nexperiment: {n_obs: ["${v}"]}',
            "# @package _global_\nseed: ${oc.env:SIZE}\n",
        ):
            write(path.parent, {"inner.yaml": lines})
            for value in (5, 7):
                monkeypatch.setenv("SIZE", str(value))
                assert main(asked) == 0
    finally:
        path.unlink()
    runs = sorted((tmp_path / "inner" / "runs").iterdir())
    found = [set(pd.read_parquet(run / "summary.parquet")["n_obs"]) for run in runs[:2]]
    assert sorted(map(tuple, found)) == [(5,), (7,)]
    assert all(run.name.startswith("n_obs=") for run in runs[:2])
    assert [run.name for run in runs[2:]] == ["seed=5", "seed=7"]
    assert not (tmp_path / "inner" / "manifest.json").exists()
