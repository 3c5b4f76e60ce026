"""The examples in the README run, and say what the code says."""

import importlib.util
import re
import sys

import pytest
from matplotlib.figure import Figure

from tests.pages import assert_accepted, blocks, commands, in_one_process
from tests.support import ROOT, command_line

README = (ROOT / "README.md").read_text()


EXAMPLES = blocks(ROOT / "README.md", "python")


@pytest.fixture(autouse=True)
def one_process():
    with in_one_process():
        yield


@pytest.fixture(scope="module")
def first_study(tmp_path_factory):
    """The README's study, as a module that a user would write."""
    path = tmp_path_factory.mktemp("readme") / "skewed.py"
    path.write_text(EXAMPLES[0])
    spec = importlib.util.spec_from_file_location("skewed", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["skewed"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["skewed"]


def test_the_first_study_runs_as_the_notebook_says(first_study):
    code = EXAMPLES[1].replace("400_000", "2_000")
    names = {"study": first_study.study, "Config": first_study.Config}
    exec(code, names)
    result = names["result"]
    assert set(result.summary["measure"]) == {"coverage"}
    assert isinstance(result.figure("coverage").draw(), Figure)


def test_skewed_data_cost_the_t_interval_its_coverage(first_study):
    summary = first_study.study(first_study.Config()).run(4000).summary
    strong = summary.query("measure == 'coverage' and sigma == 1.0").set_index("n_obs")
    assert strong.loc[10, "upper"] < strong.loc[100, "lower"] < 0.95


@pytest.mark.parametrize("arguments", commands(ROOT / "README.md"), ids=" ".join)
def test_every_command_is_accepted(arguments):
    assert_accepted(arguments)


def test_its_replicate_can_be_replayed(capsys):
    found = commands(ROOT / "README.md")
    (replay,) = [arguments for arguments in found if arguments[:1] == ["replay"]]
    assert command_line(replay) == 0
    assert "reject" in capsys.readouterr().out


@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/**/*.md")), ids=lambda page: page.stem)
def test_a_page_names_only_files_that_are_there(page):
    named = re.findall(r"`((?:tests|simstudy|experiments|conf)/[\w/.]+)`", page.read_text())
    assert [path for path in named if not (ROOT / path).exists()] == []
