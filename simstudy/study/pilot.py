"""How many replicates a pilot has: enough to tell an error, and no run."""

from simstudy.study.spec import StudySpec

PILOT_REP = 10_000  # replicates that tell an MCSE to a hundredth of itself


def pilot_rep(study: StudySpec, n_rep: int) -> int:
    """No more than two blocks or some thousands, in whole groups."""
    enough = max(2 * study.block_size, PILOT_REP)
    return min(n_rep, enough + -enough % study.group_size)
