"""Results made a research object, and what is said of it: `simstudy crate`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from simstudy.errors import ConfigError
from simstudy.remote.paths import Place

if TYPE_CHECKING:
    from simstudy.output.crate.made import StudyCode


def crate_of_folder(arguments: Sequence[str]) -> int:
    """Describe the results of a folder whose project is not here.

    Raises
    ------
    ConfigError
        Where not one folder is named.
    """
    from simstudy.output.crate.made import StudyCode

    folder, *others = arguments
    if others not in ([], ["zip=true"], ["zip=false"]) or "=" in folder:
        raise ConfigError(
            f"crate takes one folder, or settings: simstudy crate results/NAME zip=true, or "
            f"simstudy crate experiment=NAME; it was given {' '.join(arguments)}"
        )
    path = Path(folder).resolve()
    if not path.is_dir():
        raise ConfigError(f"{folder} is no folder of results; name one, such as results/NAME")
    return write_and_say(path, StudyCode(), archive=others == ["zip=true"])


def write_and_say(folder: Place, code: "StudyCode", *, archive: bool, missing: str = "") -> int:
    """Write it, and say where it is, and what it lacks."""
    from simstudy.output.crate.made import write_crate
    from simstudy.output.formatting import seen_from_here

    made = write_crate(folder, code, archive=archive)
    print(f"{made.n_files:,} files described in {seen_from_here(made.metadata)}")
    for lack in filter(None, [missing, *made.lacks]):
        print(f"not in it: {lack}")
    if made.archive is not None:
        print(f"all of them in {seen_from_here(made.archive)}")
    return 0
