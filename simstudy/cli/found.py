"""The blocks of a study that are in its folder, and those that are not, found as a run would."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from simstudy.cli.request import Request
from simstudy.cli.shares import read_costs
from simstudy.design.plan import Plan
from simstudy.engine.jobs import Jobs, all_jobs, failed_jobs, in_shard, missing_jobs
from simstudy.engine.ownership import ownership_of
from simstudy.engine.refusals import check_redraw
from simstudy.store.home import Home


@dataclass(frozen=True)
class Found:
    """A study's blocks in its folder, each as the job that draws it.

    Parameters
    ----------
    plan
        Of what is drawn: scenarios, or each in the hands of a method.
    every
        All blocks of the study.
    missing
        Those of them that are not there, or not drawn by the code and settings of this study.
    failed
        Those that are there and in which any replicate failed.
    weights
        By which shares are cut.
    """

    plan: Plan
    every: Jobs
    missing: Jobs
    failed: Jobs
    weights: Mapping[str, float]

    def in_shard(self, shard: tuple[int, int]) -> "Found":
        """What of it is a share's."""
        every, missing, failed = (
            in_shard(self.plan, jobs, shard, self.weights)
            for jobs in (self.every, self.missing, self.failed)
        )
        return replace(self, every=every, missing=missing, failed=failed)


def find_blocks(request: Request) -> Found:
    """Look at a study's folder as a run would, and draw nothing.

    Raises
    ------
    StoreError
        Where a run would refuse the folder.
    """
    settings, study = request.settings, request.study
    n_analysed = study.analysed_of(
        request.n_rep,
        whole_blocks=request.whole_blocks,
        keep=settings.keep,
        precision=settings.precision,
    )
    plan = study.plan(settings.seed, n_analysed=n_analysed).drawn
    kept = study.kept(settings.keep)
    owner = ownership_of(plan, kept.measures, study.worst).owner
    redraw = check_redraw(settings.redraw or (), study.methods)
    out = _existing_out(request)
    home = Home.open(plan, out, owner, kept, redraw=redraw, at_once=False)
    blocks = dict.fromkeys(plan.keys, plan.n_blocks(request.n_drawn))
    every = all_jobs(plan, blocks)
    missing, failed = (look(plan, blocks, home.store) for look in (missing_jobs, failed_jobs))
    return Found(plan, every, missing, failed, read_costs(request.folder))


def _existing_out(request: Request) -> str | None:
    """The folder that a run would look into; None, for an empty one, where it would make one."""
    kept = request.study.kept(request.settings.keep)
    is_there = (request.folder / kept.folder).is_dir()
    return request.out if is_there and not request.settings.restart else None
