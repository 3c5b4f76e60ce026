"""Monte Carlo tests by derivation: name the error to catch; replicates and tolerance follow.

A test rejects a correct program with probability 1e-5 per comparison, whatever its seed, and
lets the named error pass with probability 1e-3.
"""

import dataclasses
import math
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from simstudy import Rules
from simstudy.cli import main
from simstudy.errors import SimstudyError

ROOT = Path(__file__).parents[1]
needs_results = pytest.mark.skipif(
    not (ROOT / "results").is_dir(),
    reason="there is no folder results/: it is in the repository, not in the source distribution",
)

FALSE_ALARM = 1e-5
MISSED = 1e-3


def critical_z(comparisons: int = 1) -> float:
    """Two-sided z that holds the false-alarm rate at 1e-5 per comparison (Bonferroni)."""
    return float(stats.norm.isf(FALSE_ALARM / (2 * comparisons)))


def replicates_to_catch(error: float, sd: float, comparisons: int = 1) -> int:
    """Replicates for which a bias of `error` in a mean of values with spread `sd` is caught."""
    z = critical_z(comparisons) + float(stats.norm.isf(MISSED))
    return math.ceil((z * sd / error) ** 2)


def assert_within_mcse(actual: Any, expected: Any, mcse: Any, comparisons: int = 0) -> None:
    """Fail where `actual` is further from `expected` than Monte Carlo error explains.

    `mcse` comes from the claim or from theory, never from the result. `comparisons` is the number
    of values compared; 0 means as many as there are in the broadcast arrays.
    """
    actual, expected, mcse = np.broadcast_arrays(actual, expected, mcse)
    z = np.abs(np.asarray(actual, float) - expected) / mcse
    limit = critical_z(comparisons or z.size)
    worst = int(np.nanargmax(np.where(np.isnan(z), np.inf, z)))
    assert z.flat[worst] <= limit, (
        f"{actual.flat[worst]:.6g} is {z.flat[worst]:.1f} MCSE from {expected.flat[worst]:.6g}; "
        f"chance explains {limit:.1f}: suspect the code"
    )


def assert_caught(actual: Any, expected: Any, mcse: Any, comparisons: int = 0) -> None:
    """Fail unless `assert_within_mcse` finds this answer, which is wrong, too far away.

    A negative control: a comparison that a plausible mistake passes shows nothing.
    """
    with pytest.raises(AssertionError, match="suspect the code"):
        assert_within_mcse(actual, expected, mcse, comparisons)


@contextmanager
def refused(said: str, kind: type[Exception] = SimstudyError) -> Iterator[None]:
    """Within it, something is refused in one line that has these words."""
    with pytest.raises(kind) as refusal:
        yield
    assert said in str(refusal.value)
    assert "\n" not in str(refusal.value)


def command_line(arguments: Sequence[str]) -> int:
    """The exit status of `python run.py` with these arguments, wherever one stands."""
    return main(list(arguments), script=str(ROOT / "run.py"))


@cache
def r_has(package: str) -> bool:
    """Whether R is here, and a package of R."""
    if shutil.which("Rscript") is None:
        return False
    asked = f'quit(status = !requireNamespace("{package}", quietly = TRUE))'
    return subprocess.run(["Rscript", "--vanilla", "-e", asked], check=False).returncode == 0


def with_rules(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a study, of which those that are rules become `rules=Rules(...)`."""
    names = {field.name for field in dataclasses.fields(Rules)}
    rules = {name: value for name, value in settings.items() if name in names}
    others = {name: value for name, value in settings.items() if name not in names}
    return {"rules": Rules(**rules), **others}


def on(backend: str, n_jobs: int | None = None, **options: Any) -> dict[str, Any]:
    """Options of a run on some workers."""
    return {"backend": backend, "n_jobs": n_jobs, **options}


INLINE = on("inline", 1)
"""Options of a run in this process alone."""
