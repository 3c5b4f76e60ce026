"""Command lines as people type them by mistake: one line that helps, and status 2."""

import pytest

from simstudy.cli import main
from simstudy.cli.project import lay_out
from tests.cli.projects import inside

NAME = "proportion_interval"  # the study of a new project


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    root = tmp_path_factory.mktemp("slips")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        lay_out("study")
    with inside(root / "study") as folder:
        yield folder


SLIPS = [
    # what is typed, what the line says
    ("run experiment=NAME n_obs=[10]", "did you mean 'experiment.n_obs'?"),
    ("run experiment=NAME n_rep=10,000", "numbers have no commas: n_rep=10000"),
    ("run experiment=NAME seed=1,2", "add -m to run each of them"),
    ("run experiment=NAME experiment.n_obs=10,20", "brackets, experiment.n_obs=[10,20]"),
    ("run experiment = NAME", "no blanks stand around =: write experiment=NAME"),
    ("run experiment= NAME", "no blanks stand around =: write experiment=NAME"),
    ("run experiment=NAME n_rep =100", "no blanks stand around =: write n_rep=100"),
    ("run NAME --n_rep 100", "settings have no dashes: write n_rep=100"),
    ("run NAME --n-rep=100", "settings have no dashes: write n_rep=100"),
    ("run --experiment NAME", "settings have no dashes: write experiment=NAME"),
    ("run NAME --experiment.n_obs [10]", "write experiment.n_obs=[10]"),
    ("replay experiment=NAME", "replay names no replicate"),
    ("run experiment=NAME 'experiment.n_obs=[10 20]'", "experiment.n_obs=['10 20'] is not allowed"),
    ("run experiment=NAME experiment.n_ob=[10]", "did you mean 'n_obs'?"),
    ("run experiment=NAME n_reps=100", "did you mean 'n_rep'?"),
    ("run experiment=NAME n_rep=100 seed", "missing EQUAL"),
    ("run experiment=NAME n_rep=", "n_rep='' is not allowed"),
    ("run experiment=NAME n_rep=abc", "n_rep=abc is not allowed"),
    ("run experiment=NAME n_rep=-5", "n_rep=-5 is not allowed"),
    ("run experiment=proportion", "did you mean 'proportion_interval'?"),
    ("run experiment:NAME", "did you mean 'proportion_interval'?"),
    ("NAME n_rep", "'n_rep' is no command and no experiment"),
    ("run experiment=NAME backend=locky", "did you mean 'loky'?"),
    ("run experiment=NAME precision.covrage=0.01", "did you mean 'coverage'?"),
    ("run experiment=NAME precision=0.01", "precision.MEASURE=0.005"),
    ("staus", "did you mean 'status'?"),
    ("plan NAME scale=smal", "available: paper, precise, smoke"),
    ("run experiment=NAME shard=3", "for example shard=1/100"),
    ("run experiment=NAME budget=5minutes", "for example budget=2h"),
    ("run experiment=NAME figures=flase", "figures=flase is not allowed"),
    ("verify nowhere", "there is no such folder, also not in results"),
    ("verify results/NAME/runs/law=t", "there is no such folder"),
    ("verify NAME share=2", "share=2 is not allowed"),
    ("batch NAME shares=0", "shares=0 is not allowed"),
]


@pytest.mark.parametrize(("typed", "said"), SLIPS, ids=[typed for typed, _ in SLIPS])
def test_a_slip_gets_the_line_that_helps(typed, said, project, capsys):
    import shlex

    status = main([word.replace("NAME", NAME) for word in shlex.split(typed)])
    told = capsys.readouterr().err.strip()
    assert status == 2
    assert len(told.splitlines()) == 1
    assert said.replace("NAME", NAME) in told


def test_why_is_whole_at_any_width(project, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "40")
    assert main(["why", NAME]) == 0
    assert "..." not in capsys.readouterr().out
