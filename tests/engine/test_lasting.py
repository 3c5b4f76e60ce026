"""Files that workers write as they are to stay are those that a compaction would have made."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from simstudy.engine import lasting, tasks
from simstudy.engine.portions import Portions
from simstudy.engine.runner import Runner
from simstudy.engine.workers import Workers
from simstudy.store import compaction, volumes
from tests import toy
from tests.engine import test_methods as by_methods
from tests.guarantees.content import file_names
from tests.guarantees.test_same_bits import Stop

INLINE = Workers("inline", 1)
STEP, SIZE = 4, 20  # blocks of a chunk, and replicates of a block


def small_files(patch):
    """Of 4 blocks of a column with two cells; what is no half of that shares one."""
    patch.setattr(volumes, "VALUES_PER_CHUNK", 2 * SIZE * STEP)
    patch.setattr(lasting, "PART_AGAIN", 3)
    patch.setattr(lasting, "PART_AT_FIRST", 8)


@pytest.fixture(autouse=True)
def _small_files(monkeypatch):
    small_files(monkeypatch)


@dataclass(frozen=True)
class Returns:
    """Numbers, vectors of a scenario's own length, and errors now and then."""

    length: int

    def simulate(self, streams, n_rep):
        x = streams("data").standard_normal((n_rep, self.length))
        error = np.where(x[:, 0] > 2.5, "too large", None)
        return {"x": x, "first": x[:, 0], "is_odd": x[:, 0] > 1, "error": error}


def vectors(**changes):
    declared = replace(
        toy.study(block_size=SIZE),
        name="vectors",
        scenarios=[Returns(length) for length in (2, 1)],
        measures=[by_methods.mean("first")],
        axes={},
        vectors={"x": "length"},
    )
    return replace(declared, **changes)


STUDIES = {
    "cells": lambda: toy.study(block_size=SIZE),
    "vectors and failures": vectors,
    "groups": lambda: vectors(group_size=2, name="groups"),
    "methods": by_methods.study,
}
N_BLOCKS = 17  # four files of each scenario and a block in a file that is shared


def run(study, out, n_blocks=N_BLOCKS, **how):
    result = study.run(n_blocks * SIZE, out=out, explain=False, **{"workers": INLINE, **how})
    return file_names(result.store.files.path)


def written(patch):
    """Names of files that are laid out, by whom."""
    found = {"worker": [], "compaction": []}
    for who, module in (("worker", tasks), ("compaction", compaction)):
        plain = module.write_laid_out

        def noted(*arguments, who=who, plain=plain, **named):
            found[who].append(plain(*arguments, **named))
            return found[who][-1]

        patch.setattr(module, "write_laid_out", noted)
    return found


@pytest.fixture(scope="module", params=sorted(STUDIES))
def study(request):
    return STUDIES[request.param]()


@pytest.fixture(scope="module")
def reference(study, tmp_path_factory):
    """The files of a folder that compactions alone have laid out."""
    with pytest.MonkeyPatch.context() as patch:
        small_files(patch)
        patch.setattr(Portions, "may_take", lambda *_: False)
        by = written(patch)
        names = run(study, tmp_path_factory.mktemp("plain"))
    assert not by["worker"]
    assert set(names) <= set(by["compaction"])
    return names


def test_a_worker_writes_what_a_compaction_would(study, reference, tmp_path, monkeypatch):
    by = written(monkeypatch)
    assert run(study, tmp_path) == reference
    stay = set(by["worker"]) & set(reference)
    assert len(stay) > len(reference) / 2
    assert stay.isdisjoint(by["compaction"])


def test_grown_stopped_and_in_shares(study, reference, tmp_path, monkeypatch):
    monkeypatch.setattr(Portions, "fills", lambda _, n_blocks: n_blocks > 0)
    for n_blocks in (3, 9):
        run(study, tmp_path / "grown", n_blocks)
    assert run(study, tmp_path / "grown") == reference
    for after in (4, 2):
        with pytest.raises(KeyboardInterrupt):
            run(study, tmp_path / "stopped", progress=Stop(after))
    assert run(study, tmp_path / "stopped") == reference
    run(study, tmp_path / "shares", shard=(1, 2))
    assert run(study, tmp_path / "shares") == reference


def test_two_processes_write_them_too(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(Portions, "may_take", lambda *_: False)
        reference = run(vectors(), tmp_path / "plain")
    kept = []
    patched = Runner.count

    def count(self, receipt):
        kept.extend(receipt.files if receipt.are_lasting else ())
        patched(self, receipt)

    monkeypatch.setattr(Runner, "count", count)
    assert run(vectors(), tmp_path, workers=Workers("loky", 2)) == reference
    assert set(kept) & set(reference)
