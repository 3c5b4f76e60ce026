"""Where a study has gaps: in which scenarios, and in whose shares; and how to fill them."""

import time
from collections import Counter
from collections.abc import Iterator

import numpy as np

from simstudy.cli.found import Found
from simstudy.cli.request import Request
from simstudy.cli.settings import read_shard
from simstudy.cli.shares import ShareRecord, share_records
from simstudy.design.plan import Plan, scenario_behind
from simstudy.engine.jobs import Jobs, n_by_share

SHOWN = 10  # scenarios, or shares, with gaps; a line says how many more there are


def gaps_in_words(request: Request, found: Found) -> str:
    """What is missing or failed of a study that was begun, line by line; empty of any other."""
    records = share_records(request.folder, request.settings.seed, request.n_rep)
    begun = records or len(found.missing) < len(found.every)
    if not begun or not (found.missing or found.failed or records):
        return ""
    said = read_shard(request.settings.shard)
    n_shares = said[1] if said else records[0].n_shares if records else 0
    shares = _share_lines(found, records, n_shares) if n_shares else ()
    return "\n".join([*_scenario_lines(found), *shares])


# ---------------------------------------------------------------- scenarios
def _scenario_lines(found: Found) -> Iterator[str]:
    wanted, missing, failed = (_by_scenario(found.plan, jobs) for jobs in _kinds(found))
    rows = [
        f"{wanted[name] - missing[name]:,} of {wanted[name]:,}".rjust(15)
        + f" {failed[name]:7,} {missing[name]:8,}  {name}"
        for name in wanted
        if missing[name] or failed[name]
    ]
    yield f"{'done':>15} {'failed':>7} {'missing':>8}  blocks of"
    yield from _few(rows, "scenarios")
    n_whole = len(wanted) - len(rows)
    if n_whole:
        yield f"{n_whole:,} scenarios have all of their blocks, and no failures"


def _by_scenario(plan: Plan, jobs: Jobs) -> Counter[str]:
    found = Counter[str]()
    for key, which in jobs.chosen.items():
        found[plan.identity_of(scenario_behind(plan.keys[key]))] += int(np.count_nonzero(which))
    return found


def _kinds(found: Found) -> tuple[Jobs, ...]:
    return found.every, found.missing, found.failed


# ---------------------------------------------------------------- shares
def _share_lines(found: Found, records: list[ShareRecord], n_shares: int) -> Iterator[str]:
    wanted, missing = (
        n_by_share(found.plan, jobs, n_shares, found.weights)
        for jobs in (found.every, found.missing)
    )
    known = {record.index: record for record in records if record.n_shares == n_shares}
    if not missing:
        yield f"all {n_shares:,} shares have drawn their blocks: run without shard to summarise"
        return
    rows = [
        f"{index:>7,}/{n_shares:<7,} {missing[index]:>7,} {wanted[index]:>8,}  "
        + _history(known.get(index))
        for index in sorted(missing)
    ]
    yield f"{'share':>7} {'missing':>15} {'of':>8}"
    yield from _few(rows, "shares")
    array = ",".join(_ranges(sorted(missing)))
    yield (
        f"{len(missing):,} of {n_shares:,} shares have gaps: run them again (shard=auto/{n_shares} "
        f"in an array of {array}), or a run without shard draws what is missing"
    )


def _history(record: ShareRecord | None) -> str:
    """What became of a share that has gaps, as far as it said."""
    if record is None or record.begun is None:
        return "never began to draw"
    at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(record.begun))
    ended = "ended, and blocks have gone since" if record.ended else "has not ended"
    return f"began {at} on {record.where}; {ended}"


def _ranges(numbers: list[int]) -> Iterator[str]:
    """Numbers in order, as batch systems take them: 1-3,7."""
    start = last = numbers[0]
    for number in [*numbers[1:], None]:
        if number is not None and number == last + 1:
            last = number
            continue
        yield str(start) if start == last else f"{start}-{last}"
        start = last = number or 0


def _few(rows: list[str], what: str) -> Iterator[str]:
    yield from rows[:SHOWN]
    if len(rows) > SHOWN:
        yield f"and {len(rows) - SHOWN:,} more {what}"
