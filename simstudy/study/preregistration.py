"""The preregistration of a study, before any data are drawn."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from simstudy.analysis.precision import seed_of_pilot
from simstudy.analysis.result import Result
from simstudy.design import Scenario
from simstudy.design.plan import Plan
from simstudy.engine.provenance import compute_provenance
from simstudy.engine.workers import Workers
from simstudy.errors import ConfigError
from simstudy.remote.paths import Place
from simstudy.store.blocks import Store, files_at
from simstudy.store.files import REPLICATES
from simstudy.study.run import run, warn_of
from simstudy.study.run_options import RunOptions
from simstudy.study.spec import StudySpec
from simstudy.validation import check_whole

if TYPE_CHECKING:
    from simstudy.output.plan_snapshot import Need


def draw_pilot(
    study: StudySpec, n_rep: int | None, seed: int, workers: Workers | None
) -> Result | None:
    """Draw a pilot with random numbers of its own, without storing it."""
    if n_rep is None:
        return None
    check_whole("pilot", n_rep, least=2, counts="of replicates in each scenario")
    of_pilot = RunOptions(n_rep, seed_of_pilot(seed), workers=workers)
    result = run(study, of_pilot)
    warn_of(result, of_pilot, stacklevel=3)  # whoever called Study.protocol
    return result


def largest_need(needs: Sequence[Need], *, piloted: bool) -> int:
    """The number of replicates that reaches all targets; 0 without targets.

    Raises
    ------
    ConfigError
        For a precision of which nobody knows how many replicates it takes.
    """
    for need in needs:
        if need.n_rep is None:
            why = (
                "the pilot has no error of it in some scenario: let the pilot be longer, pilot=1000"
                if piloted
                else "theory has no bound for it: let a pilot of other random numbers tell, "
                "pilot=200"
            )
            raise ConfigError(
                f"how many replicates precision.{need.target.measure} takes cannot be told, since "
                f"{why}, or fix the number yourself, n_rep=1000"
            )
    return max((need.n_rep or 0 for need in needs), default=0)


def count_drawn(plan: Plan, folder: Place) -> int:
    """Count the stored blocks of this study."""
    if not (folder / REPLICATES).exists():
        return 0
    files = files_at(folder / REPLICATES, at_once=False)
    store = Store(files, plan.block_size, compute_provenance(plan).of_blocks)
    return sum(store.n_blocks(key) for key in plan.work_units.keys)


def docstring_behind(scenarios: Sequence[Scenario]) -> str:
    """The docstring of the scenarios' module, if it has an ADEMP heading."""
    from simstudy.output.protocol import headings_of

    text = getattr(sys.modules.get(type(scenarios[0]).__module__), "__doc__", None) or ""
    return text if headings_of(text).parts else ""
