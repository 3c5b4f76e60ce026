"""Folders below results that hold no study that could be shown: what is wrong, and what to run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from simstudy.output.report.index.again import command_by_name
from simstudy.output.report.index.folders import INDEX, Folder
from simstudy.output.report.index.said import short
from simstudy.store.manifest import MANIFEST


@dataclass(frozen=True)
class Other:
    """A folder that shows no study.

    Parameters
    ----------
    run
        What to type; empty where nothing is to be done, or nobody can say what.
    has_index
        Whether it is a folder of results itself.
    """

    name: str
    why: str
    run: str = ""
    has_index: bool = False

    @property
    def shown_name(self) -> str:
        return short(self.name)


def other(folder: Folder, trouble: str, root: Path | None) -> Other:
    """A folder, and what is wrong with it.

    Parameters
    ----------
    trouble
        Of its manifest, in words; empty where it has none.
    root
        The project around it, if there is one.
    """
    name = folder.name
    if folder.trouble:
        return Other(name, folder.trouble)
    if trouble:
        is_foreign = "another program" in trouble
        run = "" if is_foreign else command_by_name(folder.name, root)
        return Other(name, f"{MANIFEST} {trouble}", run)
    if folder.has_blocks:
        why = f"unfinished: blocks are there, and no {MANIFEST}"
        return Other(name, why, command_by_name(folder.name, root))
    if INDEX in folder.files:
        return Other(name, "results of their own", has_index=True)
    return Other(name, f"no {MANIFEST}, so no results", command_by_name(folder.name, root))


def ordered(others: Iterable[Other]) -> list[Other]:
    """Those first of which somebody has to know."""
    return sorted(others, key=lambda each: (each.has_index, each.name))
