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
    assert "1 scenario, 100 replicates in each" in told
    text = (project / "results" / "centre" / "protocol.md").read_text()
    assert "## 2 Aims\n\nWhich has the smaller error?" in text
    assert "simstudy run experiment=centre experiment.n_obs=5 n_rep=100 seed=1" in text
    assert said("protocol", *QUICK, "n_rep=100").startswith("it stands already: ")
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
    assert "4 blocks had been drawn before" in said("protocol", *QUICK, "n_rep=50")
    said(*QUICK, "n_rep=100", status=3)
    assert "it was written when 4 blocks had been drawn" in report(project)[1]
    assert said(*QUICK, "n_rep=100", status=3).startswith("nothing to do")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["run", "pilot=50"], "pilot=50 belongs to simstudy protocol"),
        (["protocol", "precision.empirical_se=0.1", "stop_by=pilot"],
         "stop_by=pilot: a protocol plans one number of replicates"),
        (["protocol", "precision.empirical_se=0.1"], "how many replicates precision.empirical_se"),
        (["protocol", "pilot=1"], "pilot=1: must be a whole number at least 2"),
    ],
)  # fmt: skip
def test_what_cannot_be_planned_is_refused_in_one_line(arguments, line, project, refused):
    assert refused(*arguments, *QUICK).startswith(line)
    assert not (project / "results").exists()
