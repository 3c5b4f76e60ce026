"""What an experiment's outputs depend on: its file, and what that imports."""

import importlib
import sys

from simstudy.output.report.pages import TEMPLATES
from simstudy.provenance.modules import source_files, sources_digest


def test_the_digest_of_the_sources_follows_what_the_experiment_imports(tmp_path, monkeypatch):
    """Its own file, the neighbour whose measures it borrows, and what that one imports in turn."""
    names = ("digest_near", "digest_next", "digest_far", "digest_mine")
    near, nextdoor, far, mine = (tmp_path / f"{name}.py" for name in names)
    mine.write_text("from digest_near import MEASURES\n")
    near.write_text("import digest_next\nMEASURES = digest_next.MEASURES\n")
    nextdoor.write_text("MEASURES = []\n")
    far.write_text("x = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.import_module("digest_mine")
    before = sources_digest(str(mine))
    assert before != sources_digest(None)
    far.write_text("x = 2\n")
    assert sources_digest(str(mine)) == before
    for path in (mine, near, nextdoor):
        path.write_text(path.read_text() + "X = 1\n")
        after = sources_digest(str(mine))
        assert after != before
        before = after
    for name in names:
        sys.modules.pop(name, None)


def test_templates_are_sources_of_outputs():
    assert set(TEMPLATES.iterdir()) < set(source_files(None))


def test_a_link_to_nowhere_beside_an_experiment_is_passed_over(tmp_path):
    """As editors lock a file with."""
    file = tmp_path / "mine.py"
    file.write_text("import importlib\n")
    before = sources_digest(str(file))
    (tmp_path / ".#mine.py").symlink_to("somebody@somewhere.1234")
    assert sources_digest(str(file)) == before
