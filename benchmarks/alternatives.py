"""A plain loop, joblib and simstudy on one study: coverage of the t interval for skewed data.

`python -m benchmarks.alternatives` prints the table of README.md; with that file's name after it,
puts it there. All analyse 20,000 data sets of each of six scenarios, with two workers where
they have any. simstudy stores every replicate and computes Monte Carlo errors in that time.
"""

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import special

from benchmarks.pages import print_or_put, table
from benchmarks.timing import python
from simstudy import Study, each_replicate, grid
from simstudy.measures import coverage

N_REP, ROUNDS, N_JOBS, N_PARTS = 20_000, 3, 2, 10
GRID = [(n, sigma) for n in (10, 30, 100) for sigma in (0.5, 1.0)]


def covers(x: Any, sigma: float) -> bool:
    """Whether the t interval of one data set holds the mean."""
    half = special.stdtrit(len(x) - 1, 0.975) * x.std(ddof=1) / np.sqrt(len(x))
    return bool(abs(x.mean() - np.exp(sigma**2 / 2)) <= half)


def part(n: int, sigma: float, seed: int, n_rep: int) -> int:
    """How many of some data sets are covered, one after the other."""
    rng = np.random.default_rng(seed)
    return sum(covers(rng.lognormal(0, sigma, n), sigma) for _ in range(n_rep))


def loop() -> None:
    for seed, (n, sigma) in enumerate(GRID):
        part(n, sigma, seed, N_REP)


def by_joblib() -> None:
    each = N_REP // N_PARTS
    tasks = (
        delayed(part)(n, sigma, N_PARTS * at + seed, each)
        for at, (n, sigma) in enumerate(GRID)
        for seed in range(N_PARTS)
    )
    Parallel(n_jobs=N_JOBS)(tasks)


@dataclass(frozen=True)
class Skewed:
    """Lognormal data."""

    n_obs: int
    sigma: float

    def draw(self, streams: Any, n_rep: int) -> dict[str, Any]:
        x = streams("data").lognormal(0, self.sigma, size=(n_rep, self.n_obs))
        return {"x": x}

    @property
    def truth(self) -> float:
        return float(np.exp(self.sigma**2 / 2))


def interval(x: Any, n_obs: int) -> dict[str, Any]:
    """Of a whole block, or of one data set."""
    center, se = x.mean(axis=-1), x.std(axis=-1, ddof=1) / np.sqrt(n_obs)
    half = special.stdtrit(n_obs - 1, 0.975) * se
    return {"lower": center - half, "upper": center + half}


def study(method: Callable[..., Any]) -> Study:
    measures = [coverage("lower", "upper", truth="truth")]
    scenarios = grid(Skewed, n_obs=[10, 30, 100], sigma=[0.5, 1.0])
    return Study("skewed", scenarios, measures, methods={"t": method})


def stored(method: Callable[..., Any]) -> None:
    """Drawn, stored and summarised."""
    with tempfile.TemporaryDirectory() as out:
        study(method).run(N_REP, out=out, n_jobs=N_JOBS).summary  # noqa: B018


WAYS = {
    "a loop, one core": loop,
    "joblib, two workers": by_joblib,
    "simstudy, one call per data set": lambda: stored(each_replicate(interval)),
    "simstudy, vectorized": lambda: stored(interval),
}


def measured() -> str:
    """Seconds of each, the best of some rounds after a first one, in a process of its own."""
    seconds = []
    for name in WAYS:
        code = (
            "from benchmarks.timing import least; from benchmarks.alternatives import WAYS; "
            f"way = WAYS[{name!r}]; way(); print(*least([way], {ROUNDS}))"
        )
        seconds.append(f"{float(python('-c', code)):.2g} s")
    return table([*WAYS], [seconds])


if __name__ == "__main__":
    print_or_put(measured(), sys.argv[1:], "alternatives")
