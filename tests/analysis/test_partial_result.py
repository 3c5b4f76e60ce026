"""An early look at a run that is going on is a balanced study."""

import pytest

from simstudy.engine.progress import Silent
from simstudy.errors import StoreError
from simstudy.store import compaction
from simstudy.store.compaction import compact
from simstudy.store.files import Folder
from tests.engine.test_methods import some
from tests.engine.test_methods import study as of_methods
from tests.factories import mean_study
from tests.support import INLINE


class Stop(Exception):
    """Raised in the middle of a run."""


class StopAfter(Silent):
    """Progress that interrupts after so many replicates."""

    def __init__(self, n_rep: int) -> None:
        self.left = n_rep

    def advance(self, n_rep: int) -> None:
        self.left -= n_rep
        if self.left <= 0:
            raise Stop


def interrupted(folder, n_rep: int) -> None:
    with pytest.raises(Stop):
        mean_study().run(1000, out=folder, backend="inline", progress=StopAfter(n_rep))


def test_what_it_shows_is_the_head_of_the_whole(tmp_path):
    interrupted(tmp_path, 400)
    early = mean_study().partial_result(1000, out=tmp_path)
    whole = mean_study().run(1000, **INLINE)
    for one in early.plan.scenarios:
        n = early.n_rep[next(k for k, s in early.plan.keys.items() if s == one)]
        head = whole.columns(one, "estimate")["estimate"][:n]
        assert (early.columns(one, "estimate")["estimate"] == head).all()


def test_a_look_sees_all_while_another_run_compacts(tmp_path, monkeypatch):
    interrupted(tmp_path, 400)
    other = mean_study().partial_result(1000, out=tmp_path)
    plain, compacted = Folder.names, []

    def names(self):
        found = plain(self)
        if not compacted:
            compacted.append(self)
            compact(other.details.store)
        return found

    monkeypatch.setattr(Folder, "names", names)
    monkeypatch.setattr(compaction, "MANY_FILES", 0)
    found = mean_study().partial_result(1000, out=tmp_path)
    assert compacted
    assert found.n_rep == other.n_rep
    assert len(found.details.store.referenced_files) == 1


def test_nothing_to_look_at_is_said(tmp_path):
    with pytest.raises(StoreError, match="holds no block of this study yet"):
        mean_study().partial_result(out=tmp_path)


def test_all_stored_blocks_are_shown_whatever_the_study_asks_for(tmp_path):
    for n_rep, n_shown in ((120, 150), (2 * mean_study().n_rep + 30, 2 * mean_study().n_rep + 50)):
        mean_study().run(n_rep, out=tmp_path, **INLINE)
        assert set(mean_study().partial_result(out=tmp_path).n_rep.values()) == {n_shown}
    assert set(mean_study().partial_result(70, out=tmp_path).n_rep.values()) == {70}


def test_a_scenario_needs_a_block_of_every_method(tmp_path):
    of_methods(some("difference")).run(out=tmp_path, **INLINE)
    with pytest.raises(StoreError, match="holds no block"):
        of_methods(some("difference", "noisy")).partial_result(out=tmp_path)
