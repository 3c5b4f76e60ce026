"""The command `verify`: options of any type, words that name no number, missing libraries."""

import re

import pandas as pd
import pytest

from tests.cli.projects import STUDY, forget_experiments, give, inside, write

WITH_ENUM = STUDY.replace(
    "from dataclasses import dataclass\n",
    "from dataclasses import dataclass\nfrom enum import Enum\n"
    "class Law(Enum):\n    normal = 'N'\n    t = 'T'\n",
).replace(
    '    label: str = option("a word", default="one")\n',
    '    law: Law = option("law", default=Law.normal)\n'
    '    laws: list[Law] = option("laws", default=[Law.normal, Law.t])\n',
)
LACKING = STUDY.replace("from simstudy import", "import not_there\nfrom simstudy import")


@pytest.fixture
def project(tmp_path, capsys):
    """A project; gives a function that writes a study, and publishes it with these words."""
    with inside(tmp_path):

        def written(name, text, *words):
            path = tmp_path / "experiments" / f"{name}.py"
            write(tmp_path, {"experiments/__init__.py": "", f"experiments/{name}.py": text})
            settings = (*words, "figures=false", "progress=false", "n_jobs=1")
            assert give("run", f"experiment={name}", *settings) == 0
            capsys.readouterr()
            forget_experiments()
            return path

        yield written


def test_options_that_are_members_of_an_enum_are_read_again(project, said, tmp_path):
    project("fine", WITH_ENUM, "experiment.law=T")
    (folder,) = (tmp_path / "results" / "fine" / "runs").iterdir()
    assert "everything that was checked agrees" in said("verify", str(folder))


def test_words_that_name_no_number_are_refused(project, refused):
    project("fine", STUDY)
    assert refused("verify", "fine", "n_obs=11") == "no scenario has n_obs=11 in this folder"
    assert refused("verify", "fine", "n_rep=77").startswith("n_rep is no factor or setting; ")
    assert refused("verify", "fine", "budgt=5s").endswith("did you mean 'budget'?")


def test_a_folder_that_cannot_be_checked_hides_no_other(project, capsys):
    project("fine", STUDY)
    project("other", STUDY.replace('"fine"', '"other"')).write_text("(")
    assert give("verify", "results") == 1
    told = capsys.readouterr()
    assert "results/fine: everything that was checked agrees" in told.out
    assert told.err.count("\n") == 1
    assert told.err.startswith("results/other: ")


def test_without_a_library_of_the_file_its_folder_is_checked_and_nothing_drawn(project, said):
    project("fine", STUDY).write_text(LACKING)
    told = said("verify", "fine")
    assert re.search(r"not checked: draws and claims: .*'not_there'\. Install it", told)
    assert "2 of 2 numbers" in told


def test_a_number_that_differs_is_not_counted_among_those_that_agree(project, said, tmp_path):
    project("fine", STUDY)
    path = tmp_path / "results" / "fine" / "summary.parquet"
    summary = pd.read_parquet(path)
    summary.loc[0, "estimate"] += 0.1
    summary.to_parquet(path)
    assert "1 of 2 numbers are the means of their groups" in said("verify", "fine", status=1)


def test_a_folder_of_results_is_named_without_its_experiment(project, said, tmp_path):
    path = project("fine", STUDY)
    path.unlink()
    assert "everything that was checked agrees" in said("verify", "fine")
