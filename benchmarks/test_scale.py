"""The model of docs/scale.md says what the engine does, and the page has its tables."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks import scale
from benchmarks.scale import (
    N_SCENARIOS,
    WORKERS,
    Costs,
    around,
    n_tasks,
    part_laid_out_anew,
    parts_of_a_run,
    print_or_put,
    tables,
)
from benchmarks.timing import ROOT
from simstudy.engine import portions
from simstudy.engine.portions import Portions
from simstudy.engine.runner import TASK_SECONDS

COSTS = Costs(*np.linspace(0.01, 0.12, 12)[[*range(9), 10, 9, 11]])


@pytest.mark.parametrize("seconds", [10.0, 100.0, 5000.0])
def test_tasks_are_as_many_as_the_engine_makes(seconds, monkeypatch):
    """Against the sizes that it would choose, one after the other."""
    now = 0.0
    monkeypatch.setattr(portions.time, "perf_counter", lambda: now)
    size, count = Portions(1, TASK_SECONDS), 0
    size.seconds_per_block = 1e-3
    while now < seconds:
        now += size.n_blocks(10**12) * size.seconds_per_block
        count += 1
    assert n_tasks(seconds, 1e-3) == pytest.approx(count, rel=0.02)


def test_what_no_worker_leaves_as_it_is_to_stay_is_what_the_engine_leaves_over():
    """Against files of 131 blocks that are asked for one after the other, of 40."""
    n_files, block = 40, 1e-3
    n_blocks = 131 * n_files
    for n_workers in (1, 2, 8):
        size = Portions(n_workers, TASK_SECONDS)
        size.drawing_per_block = block
        left = n_blocks
        while left >= 131 and size.may_take(131, left):
            left -= 131
        assert part_laid_out_anew(n_blocks, block, n_workers) == pytest.approx(
            left / n_blocks, abs=1.01 / n_files
        )
    assert part_laid_out_anew(10**4, 0.05, 1) == 1
    assert not Portions(1, TASK_SECONDS).may_take(131, 10**4)


def test_a_task_is_never_less_than_a_block():
    assert n_tasks(100.0, 50.0) == 2


def test_more_workers_take_their_share_of_what_is_shared():
    parts = [parts_of_a_run(COSTS, 10**5, 0.05, n) for n in (1, 2)]
    assert parts[0]["draw"] == pytest.approx(2 * parts[1]["draw"])
    alone = 100 * COSTS.alone
    assert parts[0]["summarise"] - alone == pytest.approx(2 * (parts[1]["summarise"] - alone))
    most = [parts_of_a_run(COSTS, 10**5, 0.05, n)["summarise"] for n in (N_SCENARIOS, 64)]
    assert most[0] == most[1] > alone


def test_the_page_has_the_tables_of_the_command(tmp_path, monkeypatch):
    page = (ROOT / "docs" / "scale.md").read_text()
    before, shown, after = around(page)
    titles = [line.split("|")[1] for line in tables(COSTS).splitlines() if "|" in line]
    assert [line.split("|")[1] for line in shown.splitlines() if "|" in line] == titles
    assert len(titles) > 2 * len(WORKERS)
    copy = tmp_path / "page.md"
    copy.write_text(page)
    monkeypatch.setattr(scale, "measured", lambda: COSTS)
    scale.main([str(copy)])
    written = Path(copy).read_text()
    assert written == f"{before}\n\n{tables(COSTS)}\n\n{after}"


def test_a_page_of_several_parts_has_one_of_them_measured_anew(tmp_path):
    copy = tmp_path / "page.md"
    copy.write_text((ROOT / "docs" / "everything.md").read_text())
    documents = around(copy.read_text(), "documents")
    print_or_put("measured anew", [str(copy)], "beyond")
    written = copy.read_text()
    assert around(written, "beyond")[1].strip() == "measured anew"
    assert around(written, "documents")[:2] == documents[:2]
    with pytest.raises(SystemExit, match="no line '<!-- measured: nothing -->'"):
        print_or_put("measured anew", [str(copy)], "nothing")
    assert copy.read_text() == written
