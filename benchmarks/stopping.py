"""What ends a run that is to reach an error, and what that does to the rate of an outcome.

`python -m benchmarks.stopping` prints the table of `benchmarks/README.md`; with that file's name
after it, puts it there.
"""

import sys
from dataclasses import dataclass

import numpy as np

from benchmarks.pages import print_or_put
from simstudy import Result, Study, grid
from simstudy.measures import rejection_rate

N_RUNS = 400
BLOCK = 50


@dataclass(frozen=True)
class Outcome:
    """Whether something of this rate happens; each label is a run of its own."""

    rate: float
    label: int

    def simulate(self, streams, n_rep):
        return {"reject": streams("data").random(n_rep) < self.rate}


@dataclass(frozen=True)
class Rule:
    """An error to reach, and how a run gets there."""

    rate: float
    error: float
    n_rep: int

    def runs(self) -> Result:
        """Many runs: each scenario stops by itself."""
        study = Study(
            name="stopping",
            scenarios=grid(Outcome, rate=[self.rate], label=range(N_RUNS)),
            measures=[rejection_rate("reject", name="rate")],
            block_size=BLOCK,
        )
        asked = {"precision": {"rate": self.error}}
        return study.run(self.n_rep, backend="inline", n_jobs=1, **asked)

    def row(self) -> list[str]:
        """What it did: replicates, bias, coverage, and the error there truly was."""
        result = self.runs()
        found = result.summary
        estimate, n = found["estimate"], found["n_rep"].to_numpy(float)
        bias = 100 * (estimate.mean() / self.rate - 1)
        mcse = 100 * estimate.std() / self.rate / np.sqrt(N_RUNS)
        covered = found["lower"].le(self.rate) & found["upper"].ge(self.rate)
        error = np.sqrt(self.rate * (1 - self.rate) / n) / self.error
        return [
            f"{self.rate:g}",
            f"{self.error:g}",
            f"{n.mean():,.0f}",
            f"{bias:+.1f} ± {2 * mcse:.1f}".replace("-", "−"),
            f"{covered.mean():.3f}",
            f"{error.mean():.2f}, {error.max():.2f}",
        ]


RULES = [
    Rule(rate, error, n_rep=50)
    for rate, error in [(0.5, 0.02), (0.05, 0.005), (0.01, 0.004), (0.01, 0.002)]
]
HEAD = ["rate", "error", "replicates", "bias (%)", "coverage", "error, mean and worst"]


def table() -> str:
    """All rules, as Markdown."""
    rows = [HEAD, ["---:"] * len(HEAD), *(rule.row() for rule in RULES)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    print_or_put(table(), sys.argv[1:], "stopping")
