"""Folders of runs: the published run in the study's own folder, others below `runs/`."""

import re
from collections.abc import Mapping
from typing import Any

from simstudy.options import format_setting
from simstudy.provenance.scenario_id import short_hash
from simstudy.remote.paths import Place
from simstudy.store.runs import RUNS

MAX_NAME_LENGTH = 100  # characters of a folder's name


def run_folder(study_folder: Place, differences: Mapping[str, Any]) -> Place:
    """The folder of a run's outputs.

    Parameters
    ----------
    study_folder
        Folder of the study, with its store of blocks.
    differences
        Settings that differ from the published ones, by name; none for the published run.

    Returns
    -------
    Place
        Such as `results/two_stage/runs/n_rep=1000,seed=2`.
    """
    if not differences:
        return study_folder
    return study_folder / RUNS / folder_name(differences)


def folder_name(settings: Mapping[str, Any]) -> str:
    """A name for a folder of these settings; a long one is shortened with a hash."""
    return short_name(
        ",".join(f"{name}={format_setting(value)}" for name, value in sorted(settings.items()))
    )


def short_name(text: str) -> str:
    """A text as a folder's name; a long or unusual one ends with a hash."""
    name = re.sub(r"[^\w.,=+\-\[\]]+", "_", text)
    if name == text and len(name) <= MAX_NAME_LENGTH:
        return name
    return f"{name[: MAX_NAME_LENGTH - 9]}-{short_hash(text, 8)}"
