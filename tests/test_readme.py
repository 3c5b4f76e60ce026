"""The examples in the README run, and say what the code says."""

import importlib.util
import re
import shlex
import sys
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from simstudy.cli.batch import batch_script
from simstudy.cli.dispatch import split_verb
from simstudy.cli.file_commands import names_file, read_arguments
from simstudy.cli.hydra_compose import compose_runs
from simstudy.cli.project import Project
from simstudy.cli.subcommands import VERBS, CommandLine, with_experiments
from tests.pages import in_one_process
from tests.support import command_line

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
COMMAND_LINE = (ROOT / "docs/command_line.md").read_text()


def blocks(language: str, page: str = README) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page, flags=re.DOTALL)


@pytest.fixture(autouse=True)
def one_process():
    with in_one_process():
        yield


@pytest.fixture(scope="module")
def first_study(tmp_path_factory):
    """The README's study, as a module that a user would write."""
    path = tmp_path_factory.mktemp("readme") / "skewed.py"
    path.write_text(blocks("python")[0])
    spec = importlib.util.spec_from_file_location("skewed", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["skewed"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["skewed"]


def test_the_first_study_runs_as_the_notebook_says(first_study):
    code = blocks("python")[1].replace("20_000", "2_000")
    names = {"study": first_study.study, "Config": first_study.Config}
    exec(code, names)
    result = names["result"]
    assert set(result.summary["measure"]) == {"coverage", "interval_width"}
    assert isinstance(result.figure("coverage").draw(), Figure)


def test_skewed_data_cost_the_t_interval_its_coverage(first_study):
    summary = first_study.study(first_study.Config()).run(4000).summary
    strong = summary.query("measure == 'coverage' and sigma == 1.0").set_index("n_obs")
    assert strong.loc[10, "upper"] < strong.loc[100, "lower"] < 0.95


def commands() -> list[list[str]]:
    """Every call of the command line in the README and on its own page, as its arguments."""
    shown = blocks("bash") + blocks("bash", COMMAND_LINE)[:1]
    words = [shlex.split(line.split("  #")[0]) for block in shown for line in block.splitlines()]
    said = [part[2:] for part in words if part[:2] == ["python", "run.py"]]
    said += [part[1:] for part in words if part[:1] == ["simstudy"]]
    return [part for part in said if not part[0].startswith("-")]  # flags stand before the verb


def test_every_command_is_accepted(monkeypatch):
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "3")  # as in a job of an array
    monkeypatch.setenv("SLURM_ARRAY_TASK_MAX", "9")
    assert len(commands()) > 20
    project = Project(ROOT, "run.py")
    has_buckets = importlib.util.find_spec("upath") is not None  # pip install -e '.[s3]'
    for arguments in commands():
        if "s3://" in " ".join(arguments) and not has_buckets:
            continue
        verb, rest = split_verb(project, arguments)
        if verb == "batch":
            assert batch_script(project, rest[: rest.index(">")] if ">" in rest else rest)
        elif verb == "summarize" and names_file(rest):
            assert read_arguments(rest)
        elif verb not in ("apply", "index", "list", "new", "status"):
            words = [text for text in rest if not text.startswith("-") and "/" not in text[:20]]
            line = with_experiments(CommandLine(project, verb or "run", tuple(words)))
            is_sweep = line.is_sweep or "-m" in rest
            assert compose_runs(line.arguments, project, line.verb, is_sweep=is_sweep), arguments


def test_its_replicate_can_be_replayed(capsys):
    replay = next(arguments for arguments in commands() if arguments[0] == "replay")
    assert command_line(replay) == 0
    assert "reject" in capsys.readouterr().out


def test_every_verb_is_shown():
    assert {arguments[0] for arguments in commands() if arguments} >= set(VERBS) - {"run"}


def test_every_file_that_the_readme_links_to_is_there():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/**/*.md")), ids=lambda page: page.stem)
def test_a_page_names_only_files_that_are_there(page):
    named = re.findall(r"`((?:tests|simstudy|experiments|conf)/[\w/.]+)`", page.read_text())
    assert [path for path in named if not (ROOT / path).exists()] == []
