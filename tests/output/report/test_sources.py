"""The sources on a page are the user's, its experiment's first."""

from simstudy.output.report.sources import sources_of
from tests import toy
from tests.support import ROOT


def test_an_experiments_own_file_comes_first_and_then_what_it_imports():
    import experiments.two_stage.study as module

    names = [source.name for source in sources_of(None, module.__file__, ROOT)]
    folder = ROOT / "experiments" / "two_stage"
    others = {path.name for path in folder.glob("*.py")} - {"__init__.py", "study.py"}
    assert names[0] == "experiments/two_stage/study.py"
    assert set(names[1:]) == {f"experiments/two_stage/{name}" for name in others}, (
        "neither simstudy's own nor the line that makes a folder a package"
    )


def test_of_a_library_the_files_of_its_parts():
    result = toy.study((3,)).run(10)
    assert [source.name for source in sources_of(result, None, None)] == ["toy.py"]


def test_what_a_notebook_defines_has_no_file():
    result = toy.study((3,)).run(10)
    result.figures = {"1": eval("lambda result: None", {"__name__": "__main__"}), "2": print}
    assert len(sources_of(result, None, None)) == 1


def test_letters_that_cannot_be_read_cost_no_report(tmp_path):
    file = tmp_path / "mine.py"
    file.write_bytes(b"# caf\xe9\nx = 1\n")
    (source,) = sources_of(None, str(file), None)
    assert source == ("mine.py", "# caf�\nx = 1\n")
