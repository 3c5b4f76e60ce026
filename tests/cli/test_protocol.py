"""A study that is planned, then drawn: its report says what was done otherwise."""

import json

import pytest

from tests.cli.projects import inside, write
from tests.cli.test_methods import EXPERIMENT

WEIGHTS = '''
"""A helper that one method uses."""


def weighted(x):
    return {"estimate": x.mean(axis=1)}
'''
QUICK = ["experiment=centre", "progress=false", "backend=inline"]


@pytest.fixture(autouse=True)
def project(tmp_path):
    write(tmp_path, {"experiments/__init__.py": "", "experiments/centre.py": EXPERIMENT.lstrip(),
                     "weights.py": WEIGHTS})  # fmt: skip
    with inside(tmp_path):
        yield tmp_path


def report(project):
    folder = project / "results" / "centre"
    manifest = json.loads((folder / "manifest.json").read_text())
    return manifest.get("protocol", {}), (folder / "report.html").read_text()


def test_a_study_is_planned_drawn_and_held_against_its_protocol(project, said):
    told = said("protocol", *QUICK, "n_rep=100")
    assert "1 scenario, 100 in each scenario" in told
    text = (project / "results" / "centre" / "protocol.md").read_text()
    assert "## 2 Aims\n\nWhich has the smaller error?" in text
    assert "simstudy run experiment=centre progress=false backend=inline n_rep=100" in text
    told = said(*QUICK, "n_rep=100", status=3)  # a method fails now and then
    assert "): no deviations" in told
    protocol, page = report(project)
    assert protocol["deviations"] == []
    assert "Deviations: none." in page
    told = said(*QUICK, "n_rep=150", status=3)
    assert "replicates: planned 100 in each scenario, done 150 in each scenario" in told
    protocol, page = report(project)
    assert len(protocol["deviations"]) == 1
    assert "done 150 in each scenario" in page


def test_a_protocol_that_comes_after_the_results_makes_their_report_anew(project, said):
    said(*QUICK, "n_rep=100", status=3)
    assert "Planned and done" not in report(project)[1]
    said("protocol", *QUICK, "n_rep=50")
    said(*QUICK, "n_rep=100", status=3)
    assert "it was written after blocks had been drawn" in report(project)[1]
    assert said(*QUICK, "n_rep=100", status=3).startswith("nothing to do")
