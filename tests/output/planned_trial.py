"""Does a test keep its level?

A longer word about it, with a | in it.

Aims         Whether the test keeps its level.
Data         Normal values.
Performance  The rejection rate.
"""

from dataclasses import dataclass
from functools import partial

from simstudy import Study, grid
from simstudy.measures import bias, empirical_se, rejection_rate
from tests.support import INLINE

SIZE = 50
SPREAD = 2.0  # standard deviation of an estimate


@dataclass(frozen=True)
class Trial:
    """A two-arm trial | of anything.

    No more of this is shown.
    """

    level: float = 0.05
    arms: int = 2

    def draw(self, streams, n_rep):
        rng = streams("data")
        return {"x": rng.normal(scale=SPREAD, size=n_rep), "p": rng.random(n_rep)}


def plain(x, p, level):
    """Reject where p is small."""
    return {"estimate": x, "reject": p <= level}


def cautious(x, p, level, by=2.0):
    """Reject where p is very small."""
    return {"estimate": x / by, "reject": p <= level / by}


METHODS = {"plain": plain, "cautious": partial(cautious, by=4.0)}
MEASURES = (rejection_rate("reject"), bias("estimate", truth=0.0), empirical_se("estimate"))


def trial(kind=Trial, levels=(0.05, 0.2), methods=METHODS, measures=MEASURES, **more):
    return Study(
        "trial", grid(kind, level=list(levels)), list(measures), methods=dict(methods),
        **{"block_size": SIZE, "n_rep": 100, **more},
    )  # fmt: skip


def run(study, folder, n_rep=100, seed=1, **more):
    return study.run(n_rep, seed, out=folder, **INLINE, **more)
