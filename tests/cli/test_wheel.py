"""A wheel built from the tree has all that a project needs, without this repository."""

import importlib.util
import re
from pathlib import Path

import pytest

from tests.cli.projects import contracts, python
from tests.support import ROOT

STUDY = "experiment=proportion_interval"
needs = [name for name in ("hatchling", "pip") if importlib.util.find_spec(name) is None]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        bool(needs), reason=f"{' and '.join(needs)} is not installed, and no test uses the network"
    ),
]


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """A folder with the installed wheel."""
    built, installed = tmp_path_factory.mktemp("dist"), tmp_path_factory.mktemp("site")
    build = ["wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", str(built)]
    done = python(built, "-m", "pip", *build, str(ROOT))
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = built.glob("simstudy-*.whl")
    install = ["install", "--no-deps", "--no-index", "--target", str(installed)]
    done = python(built, "-m", "pip", *install, str(wheel))
    assert done.returncode == 0, done.stdout + done.stderr
    return installed


def test_from_an_empty_folder_to_a_study_that_keeps_its_contracts(site, tmp_path):
    script = str(site / "bin" / "simstudy")
    where = python(tmp_path, "-c", "import simstudy; print(simstudy.__file__)", path=site)
    assert where.stdout.startswith(str(site))
    made = python(tmp_path, script, "new", "my-study", path=site)
    assert made.returncode == 0, made.stderr
    project = tmp_path / "my-study"
    listed = python(project, script, "list", path=site)
    assert re.search("proportion_interval .* Which interval for a proportion", listed.stdout)
    first = python(project, script, "run", STUDY, "scale=smoke", path=site)
    assert first.returncode == 0, first.stderr
    second = python(project, script, "run", STUDY, "scale=smoke", path=site)
    assert second.returncode == 0, second.stderr
    assert second.stdout.startswith("nothing to do: results/smoke/proportion_interval holds ")
    tested = contracts(project, path=site)
    assert tested.returncode == 0, tested.stdout
    assert "passed" in tested.stdout


def test_it_is_one_package(site):
    """A second one, as `hydra_plugins`, would act in other applications of the environment."""
    (metadata,) = site.glob("simstudy-*.dist-info")
    assert {path.name for path in site.iterdir()} == {"bin", "simstudy", metadata.name}


@pytest.mark.parametrize("below", ["cli/conf", "cli/template", "output/report/templates"])
def test_it_has_what_is_no_module(site, below):
    there, tree = (
        {
            path.relative_to(folder)
            for path in (folder / below).rglob("*.*")
            if path.suffix != ".pyc"
        }
        for folder in (site / "simstudy", ROOT / "simstudy")
    )
    assert there == tree != set()
