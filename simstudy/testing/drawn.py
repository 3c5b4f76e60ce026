"""Blocks drawn in another order or in another process, and their comparison."""

import functools
import os
import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from simstudy.engine.block import simulate_columns
from simstudy.engine.thread_limits import drawn_with_one_thread, single_threaded
from simstudy.lazy import special
from simstudy.store.arrow_schema import ERROR
from simstudy.study import Study

COINCIDENCE = 1e-5  # greatest chance of equality for a column to count as evidence

Drawn = Mapping[tuple[str, int], Mapping[str, np.ndarray]]
"""Columns as `simulate` returned them, by scenario key and block."""


def draw(study: Study, places: Sequence[tuple[int, int]], seed: int = 1) -> Drawn:
    """Draw blocks in a given order, each by scenario and block index."""
    plan = study.plan(seed).work_units
    keys = list(plan.keys)
    columns = {}
    with single_threaded():
        for place, block in places:
            scenario = plan.keys[keys[place]]
            drawing = functools.partial(simulate_columns, plan, scenario, block)
            columns[keys[place], block] = drawn_with_one_thread(drawing)
    return {address: _without_errors(found) for address, found in columns.items()}


def _without_errors(columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The columns that `simulate` returned."""
    return {name: column for name, column in columns.items() if name != ERROR}


def draw_elsewhere(root: Path, experiment: str) -> dict[str, np.ndarray]:
    """Draw the first block of the last scenario in a new process."""
    paths = os.pathsep.join(map(str, [root, Path(__file__).parents[2], *sys.path]))
    made = subprocess.run(
        [sys.executable, "-c", _ELSEWHERE, experiment, str(root)],
        env=os.environ | {"PYTHONPATH": paths}, cwd=root, capture_output=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr.decode(errors="replace")
    columns: dict[str, np.ndarray] = pickle.loads(made.stdout.rpartition(_MARK)[2])
    return columns


_MARK = b"columns of a block:"
_ELSEWHERE = f"""
import pickle, sys
from pathlib import Path
from simstudy.cli.project import load_experiment
from simstudy.testing.drawn import draw
module = load_experiment(sys.argv[1], Path(sys.argv[2]))
(columns,) = draw(module.study(module.Config()), [(-1, 0)]).values()
sys.stdout.buffer.write({_MARK!r} + pickle.dumps(columns))
"""


def same_bits(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether two columns are equal to the last bit, in type and shape."""
    alike = first.dtype == second.dtype and first.shape == second.shape
    return alike and (
        bool((first == second).all())
        if first.dtype == object
        else first.tobytes() == second.tobytes()
    )


def repeats(block: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray]) -> bool:
    """Whether two blocks are equal in all columns that are unlikely to be equal by chance."""
    telling = [name for name, column in block.items() if _coincidence(column) < COINCIDENCE]
    return bool(telling) and all(
        name in other and same_bits(block[name], other[name]) for name in telling
    )


def _coincidence(column: np.ndarray) -> float:
    """The probability that equal replicates come in the same order.

    One over the number of their different orders, n! / (n_1! n_2! ...), where n_i replicates have
    the i-th value: 1 for a column that is constant.
    """
    if not column.ndim:
        return 1.0
    counts = np.array(list(Counter(row.tobytes() for row in _as_text(column)).values()))
    return float(np.exp(special.gammaln(counts + 1).sum() - special.gammaln(counts.sum() + 1)))


def _as_text(column: np.ndarray) -> np.ndarray:
    """One row of comparable bytes per replicate."""
    rows = column.reshape(len(column), -1)
    return rows.astype(str) if rows.dtype == object else np.ascontiguousarray(rows)
