"""The sources of a study that go into its crate: those that made the results, or none."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from simstudy.identity.source_files import PACKAGE, experiment_files
from simstudy.output.crate.made import StudyCode
from simstudy.output.crate.people import CITATION
from simstudy.output.report.command import project_of
from simstudy.remote.paths import Place
from simstudy.store.manifest import MANIFEST
from simstudy.whole_files import read_json


def code_of(module: ModuleType, folder: Place, sources: str) -> tuple[StudyCode, str]:
    """What a project knows of a study; and why its sources are left out, if they are.

    Parameters
    ----------
    sources
        Digest of the sources as they are now. Where the results were made by others, what lies in
        the project did not make them, and is not put beside them.
    """
    root, about = project_of(module.__file__), module.__doc__ or ""
    made_from = (read_json(folder / MANIFEST) or {}).get("made_from") or {}
    if made_from.get("sources") != sources:
        said = "the study's code, which is no longer what the results were made by; run it again"
        return StudyCode(root, about, _there(root, [CITATION])), said
    settings = f"conf/experiment/{module.__name__.split('.')[1]}.yaml"
    own = (path for path in experiment_files(module.__file__) if not path.is_relative_to(PACKAGE))
    files = [path for path in own if root and path.is_relative_to(root)]
    return StudyCode(root, about, [*files, *_there(root, [settings, CITATION])]), ""


def _there(root: Path | None, names: Iterable[str]) -> list[Path]:
    """Those of a project's files that there are."""
    return [root / name for name in names if (root / name).is_file()] if root else []
