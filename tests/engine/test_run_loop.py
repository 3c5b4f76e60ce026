"""A run draws what is missing, and nothing twice."""

from simstudy.engine import run_loop
from simstudy.store.files import Folder
from tests import toy


def test_a_list_that_comes_late_is_waited_for(tmp_path, monkeypatch):
    plain, seen = Folder.names, []

    def late(self):
        seen.append(plain(self))
        return seen[max(0, len(seen) - 3)]

    monkeypatch.setattr(Folder, "names", late)
    monkeypatch.setattr(run_loop, "PAUSES_SECONDS", (0.0, 0.0, 0.0))
    run = toy.study((3,)).run(100, out=tmp_path, backend="inline", n_jobs=1, shard=(1, 1))
    assert run.outcome.n_blocks == 2
