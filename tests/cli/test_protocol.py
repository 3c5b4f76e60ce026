"""A study that is planned, then drawn: its report says what was done otherwise."""

import json
import re

import pytest

from tests.cli.projects import inside, write
from tests.cli.test_methods import EXPERIMENT, WEIGHTS

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
    assert "1 scenario, 150 in each scenario" in said("protocol", *QUICK)
    text = (project / "results" / "centre" / "protocol.md").read_text()
    assert re.search(r"## 2 Aims\s+Which has the smaller error\?", text)
    assert "simstudy run experiment=centre" in text
    said(*QUICK, status=3)  # a method fails now and then
    protocol, page = report(project)
    assert protocol["deviations"] == []
    assert "Deviations: none." in page


def test_the_protocol_of_a_run_with_other_settings_stands_in_its_folder(project, said):
    said("protocol", *QUICK, "n_rep=100")
    folder = project / "results" / "centre" / "runs" / "n_rep=100"
    assert (folder / "protocol.md").exists()
    said(*QUICK, "n_rep=100", status=3)
    assert json.loads((folder / "manifest.json").read_text())["protocol"]["deviations"] == []
