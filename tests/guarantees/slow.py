"""A study with slowish blocks, and a server that starts runs of it in processes to be killed.

`python -m tests.guarantees.slow` imports everything once; each line of JSON on its standard input
is one order, carried out in a forked process with a process group of its own. It answers with the
process id at once, and with the exit status when asked.
"""

import contextlib
import json
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simstudy.design import Columns, grid
from simstudy.engine import tasks
from simstudy.engine.provenance import compute_provenance
from simstudy.engine.tasks import TaskFactory, draw_task, missing_blocks
from simstudy.errors import SimstudyError
from simstudy.measures import mean
from simstudy.provenance.streams import Streams
from simstudy.store.blocks import Store
from simstudy.store.compaction import compact
from simstudy.study import Study

PAUSE = 0.004  # seconds per block: long enough for a kill to come between
BLOCK = 20
SEED = 8


@dataclass(frozen=True)
class Slow:
    shift: float

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        time.sleep(PAUSE)
        return {"x": self.shift + streams("data").standard_normal(n_rep)}


def study(n_scenarios: int = 5) -> Study:
    return Study(
        name="slow",
        scenarios=grid(Slow, shift=np.arange(n_scenarios).tolist()),
        measures=[mean("x")],
        block_size=BLOCK,
    )


def carry_out(order: dict) -> int:
    """Run the study, or gather what loose files there are."""
    if order["do"] == "compact":
        plan = study().plan(SEED)
        for _ in range(order["times"]):
            store = Store(Path(order["out"]), BLOCK, compute_provenance(plan).of_blocks)
            compact(store, most_files=1)
        return 0
    tasks.TASK_SECONDS = 0.02
    workers = {"backend": order["backend"], "n_jobs": order["n_jobs"]}
    seed = order.get("seed", SEED)
    how = {"out": order["out"], "redraw": order.get("redraw"), "shard": order.get("shard")}
    study().run(order["n_rep"], seed, **workers, **how)
    return 0


def write_loose(folder: Path, n_rep: int) -> None:
    plan = study().plan(SEED)
    store = Store(folder, BLOCK, compute_provenance(plan).of_blocks)
    wanted = dict.fromkeys(plan.keys, plan.n_blocks(n_rep))
    factory = TaskFactory(plan, store)
    for block_id in missing_blocks(plan, wanted, store):
        draw_task(factory.task([block_id]))


def start(order: dict) -> int:
    child = os.fork()
    if child:
        return child
    os.setpgid(0, 0)
    try:
        status = carry_out(order)
    except SimstudyError as error:
        print(error, file=sys.stderr)
        status = 2
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        status = 1
    finally:
        os._exit(status)


def serve() -> None:
    for line in sys.stdin:
        order = json.loads(line)
        if order["do"] == "wait":
            answer = os.waitstatus_to_exitcode(os.waitpid(order["process"], 0)[1])
            with contextlib.suppress(ProcessLookupError):
                os.killpg(order["process"], signal.SIGKILL)  # idle workers would stay for minutes
        else:
            answer = start(order)
        print(answer, flush=True)


if __name__ == "__main__":
    from tests.guarantees import slow  # under the name that the tests know

    slow.serve()
