"""Runs, blocks and figures of an experiment, drawn again for its contracts."""

import dataclasses
import json
import os
import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from simstudy.analysis.result import Result
from simstudy.cli import main
from simstudy.engine.block import draw_columns
from simstudy.engine.thread_limits import limit_new_pools, single_threaded
from simstudy.figures.save import save_figure
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
            columns[keys[place], block] = draw_columns(plan, scenario, block)
            if limit_new_pools():  # a library that was loaded has used several threads
                columns[keys[place], block] = draw_columns(plan, scenario, block)
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


# ---------------------------------------------------------------- runs
@dataclasses.dataclass(frozen=True)
class Smoke:
    """An experiment run at `scale=smoke`."""

    name: str
    module: Any
    study: Study
    folder: Path
    status: int

    def result(self, n_rep: int) -> Result:
        """The stored result, of at most `n_rep` replicates."""
        return self.study.partial_result(n_rep, out=self.folder.parent)

    @property
    def n_rep(self) -> int:
        """Replicates per scenario of the smoke run."""
        manifest = json.loads((self.folder / "manifest.json").read_text(encoding="utf-8"))
        return int(manifest["replicates_per_scenario"])


def run_at_smoke_scale(root: Path, experiment: str, results: Path) -> int:
    """Run an experiment at smoke scale; returns the exit status."""
    arguments = [f"experiment={experiment}", "scale=smoke", f"out={results}", "progress=false"]
    return main(arguments, script=str(root / "run.py"))


# ---------------------------------------------------------------- figures
def check_drawn_again(result: Result, name: str, published: Path, folder: Path) -> None:
    """Fail if a figure is not the same again."""
    before, again = saved(published, name), drawn_alone(result, name, folder)
    if again != before:  # published with other settings, or not reproducible
        before, again = again, drawn_alone(result, name, folder)
    assert again == before, (
        f"figure {name} differs when drawn again from the same result: a figure must depend "
        "on stored results only. Draw random numbers in simulate, and keep nothing "
        "between figures"
    )


def drawn_alone(result: Result, name: str, folder: Path) -> tuple[bytes, bytes]:
    save_figure(result.figure(name), folder, name)
    return saved(folder, name)


def saved(folder: Path, name: str) -> tuple[bytes, bytes]:
    png, svg = (folder / f"{name}.{ending}" for ending in ("png", "svg"))
    return png.read_bytes(), svg.read_bytes()
