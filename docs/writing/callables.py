"""What a template can call: studies, theory, checks of its own sentences, figures."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path
from typing import Any

from simstudy.claims.verdict import PUBLISHED_VERDICTS, TOO_FEW
from writing.numbers import number, percent, plus_minus
from writing.refusals import PageError, listed
from writing.results import Claim, Study
from writing.scoreboard import counted, entry, misprints, tally
from writing.sources import code_lines, csv_rows, measured

Groups = Iterable[tuple[str, str, Iterable[str]]]  # title, page, names of studies


def callables(root: Path, page: Path) -> dict[str, Any]:
    """The names of a template; links are relative to the page's folder."""
    return {
        "study": partial(_study, root / "results"),
        "parts_of": partial(parts_of, root),
        "module": importlib.import_module,  # of the package, for what theory computes
        "holds": holds,
        "agrees": agrees,
        "figure": partial(figure, root, page),
        "entries": partial(_entries, root / "results"),
        "entry": entry,
        "tally": tally,
        "misprints": misprints,
        "code_lines": partial(code_lines, root),
        "csv_rows": partial(csv_rows, root),
        "measured": partial(measured, root),
        "verdicts": PUBLISHED_VERDICTS,
    }


def _entries(results: Path, by_page: Groups, pages: Iterable[str]) -> list[Claim]:
    """The published entries of some pages, by what each page's studies are."""
    names = [name for _, page, studies in by_page if page in pages for name in studies]
    return counted(_study(results, name) for name in names)


@cache
def _study(results: Path, name: str) -> Study:
    return Study(results, name)


def parts_of(root: Path, *groups: str) -> list[tuple[str, str, list[str]]]:
    """Title, page (empty, if there is none) and experiments of each part of some groups, in order.

    Parts of one title are one part, where the first of them stands.
    """
    from simstudy.cli.project import (
        Project,
        read_group,  # of this repository, whatever is installed
    )

    project = Project(root)
    found: dict[tuple[str, str], list[str]] = {}
    for part in (part for name in groups for part in read_group(name, project)):
        key = part["title"], part.get("page") or ""
        found.setdefault(key, []).extend(part["experiments"])
    return [(title, page, names) for (title, page), names in found.items()]


def cell(text: str) -> str:
    """Text for a cell of a Markdown table, where a bar would end it."""
    return " ".join(text.split()).replace("|", "\\|")


def holds(condition: bool, sentence: str) -> None:
    """Lets a page say a sentence only as long as the results bear it out.

    Raises
    ------
    PageError
        Where they no longer do.
    """
    if not condition:
        raise PageError(
            f"the results no longer bear out that {sentence}: rewrite the passage and this check."
        )


def agrees(verdict: str, study: Study, *names: str) -> None:
    """Lets a page give claims a verdict, as long as it is the one that the results have.

    Too few replicates contradict nothing; the page's table of claims shows what is undecided.

    Raises
    ------
    PageError
        Where one of them has another verdict.
    """
    claims = [study.claim(name) for name in names]
    against = [c for c in claims if c.verdict not in (verdict, TOO_FEW)]
    if against:
        raise PageError(
            f"the page says {verdict!r} of {listed(c.claim for c in against)} of {study.name}, "
            f"and the verdict is {against[0].verdict!r}: rewrite the passage, or move it."
        )


def figure(root: Path, page: Path, study: str, name: str, text: str) -> str:
    """A committed figure of a study, with text for who cannot see it.

    Raises
    ------
    PageError
        Where the study has no such figure.
    """
    path = root / "results" / study / "figures" / f"{name}.png"
    if not path.exists():
        there = sorted(found.stem for found in path.parent.glob("*.png"))
        raise PageError(f"{study} has no figure {name!r}; it has {listed(there)}.")
    return f"![{text}]({Path(os.path.relpath(path, page.parent)).as_posix()})"


FILTERS: dict[str, Callable[..., str]] = {
    "number": number,
    "percent": percent,
    "plus_minus": plus_minus,
    "cell": cell,
}
