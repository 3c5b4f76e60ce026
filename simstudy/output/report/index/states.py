"""What is not as it should be with a study's results, in a line each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from simstudy.claims import TOO_FEW
from simstudy.errors import first_few
from simstudy.in_short import from_to
from simstudy.output.formatting import counted
from simstudy.output.report.index.claims import ODD, ClaimLine
from simstudy.output.report.index.said import Said
from simstudy.output.up_to_date import REPORT, is_unpublished
from simstudy.store.manifest import MANIFEST


class Remark(NamedTuple):
    """A line about a study: of the kind `open`, or `unexpected` where something went wrong."""

    kind: str
    text: str


def remarks_of(
    said: Said,
    each: tuple[int, int] | None,
    *,
    figures: Sequence[str],
    claims_file: str,
    claims: Sequence[ClaimLine],
    lacks_report: bool,
    is_stale: bool,
) -> list[Remark]:
    """All that is to be said, what went wrong first.

    Parameters
    ----------
    each
        The fewest and the most replicates of a scenario.
    figures, claims_file
        What is wrong with files; empty where nothing is.
    is_stale
        Whether sources are known to have changed.
    """
    rest = [*_size(said, each), *_left_out(said), *_undecided(claims), *_noticed(said)]
    rest += ["its sources have changed since it was made"] * is_stale
    rest += [f"{REPORT} is not here"] * (lacks_report and not is_unpublished(said.content))
    wrong = [*_failures(said), *_of_claims(claims)]
    wrong += [text for text in (claims_file, first_few(figures)) if text]
    if said.odd:
        wrong.append(f"{MANIFEST} has values of a wrong type: {first_few(said.odd)}")
    return [
        *(Remark("unexpected", text) for text in wrong),
        *(Remark("open", text) for text in rest),
    ]


def _failures(said: Said) -> Iterator[str]:
    n_failed = said.count("failed_replicates")
    if n_failed:
        yield f"{counted(n_failed, 'replicate')} failed"
    for what, why in (("figures", "figures_not_drawn"), ("tables", "tables_not_made")):
        reasons = said.texts(why)
        for name in said.names(f"{what}_failed"):
            yield f"{what[:-1]} {name} failed: {reasons.get(name, 'its code raised an error')}"


def _size(said: Said, each: tuple[int, int] | None) -> Iterator[str]:
    """Whether there are fewer replicates than the study's own settings ask for."""
    config = said.mapping("config")
    asked = config.get("n_rep")
    if each and type(asked) is int and not config.get("precision") and each[0] < asked:
        yield f"{from_to(*each)} of {asked:,} replicates in each scenario"
    if is_unpublished(said.content):
        yield "drawn from Python, and not published: no figures, claims or report"


def _left_out(said: Said) -> Iterator[str]:
    """Figures and tables that the run has no data for."""
    for what, why, words in (
        ("figures", "figures_not_drawn", "not drawn"),
        ("tables", "tables_not_made", "not made"),
    ):
        failed = said.names(f"{what}_failed")
        for name, reason in said.texts(why).items():
            if name not in failed:
                yield f"{what[:-1]} {name} {words}: {reason}"


def _of_claims(claims: Sequence[ClaimLine]) -> Iterator[str]:
    unexpected = [claim.name for claim in claims if claim.foreseen == "unexpected"]
    if unexpected:
        yield f"{counted(len(unexpected), 'claim')} unexpected: {first_few(unexpected)}"
    n_odd = sum(claim.kind == ODD for claim in claims)
    if n_odd:
        yield f"{counted(n_odd, 'claim')} {ODD}"


def _undecided(claims: Sequence[ClaimLine]) -> Iterator[str]:
    n = sum(claim.kind == TOO_FEW for claim in claims)
    if n:
        yield f"{counted(n, 'claim')} need{'s' * (n == 1)} more replicates"


def _noticed(said: Said) -> Iterator[str]:
    n_warned = said.count("warnings")
    if n_warned:
        yield counted(n_warned, "warning")
    noticed = said.names("noticed")
    if noticed:
        what = "its rows" if "file" in said.mapping("config") else "randomness"
        yield f"{what} to be looked at: {first_few(noticed)}"
