"""Finished results described as a research object: `simstudy crate`."""

from pathlib import Path
from typing import Any

from simstudy.cli.request import Request


def crate(request: Request) -> int:
    """Describe the results that are there; nothing is drawn or published."""
    from simstudy.atomic_files import read_json
    from simstudy.output.formatting import seen_from_here
    from simstudy.output.report.command import project_of
    from simstudy.output.ro_crate import CITATION, write_crate
    from simstudy.store.manifest import MANIFEST

    module, folder = request.module, request.folder
    root = project_of(module.__file__)
    made_from = (read_json(folder / MANIFEST) or {}).get("made_from") or {}
    is_same = made_from.get("sources") == request.sources
    code = _code_files(module, root) if root and is_same else []
    citation = [root / CITATION] if root and (root / CITATION).is_file() else []
    about, zipped = module.__doc__ or "", request.settings.zip
    made = write_crate(folder, root=root, about=about, code=[*code, *citation], archive=zipped)
    print(f"{made.n_files:,} files described in {seen_from_here(made.metadata)}")
    if not is_same:
        print(
            "not in it: the study's code, which is no longer what the results were made by; run it "
            "again"
        )
    if made.missing:
        said = " and ".join(made.missing)
        print(f"not in it: {said}, which {CITATION} beside the study would name")
    if made.archive is not None:
        print(f"all of them in {seen_from_here(made.archive)}")
    return 0


def _code_files(module: Any, root: Path) -> list[Path]:
    """An experiment's own files below its project, and its published settings."""
    from simstudy.identity.source_files import PACKAGE, experiment_files

    own = [path for path in experiment_files(module.__file__) if path.is_relative_to(root)]
    settings = root / "conf" / "experiment" / f"{module.__name__.split('.')[1]}.yaml"
    files = [*own, *([settings] if settings.is_file() else [])]
    return [path for path in files if not path.is_relative_to(PACKAGE)]
