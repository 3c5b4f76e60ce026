"""The index of a results folder, written anew: whose sources have changed is said, too."""

from collections.abc import Sequence
from pathlib import Path

from simstudy.cli.experiments import FOLDER, experiment_names, load_experiment
from simstudy.cli.project import Project
from simstudy.errors import ConfigError, SimstudyError, StoreError, in_one_line
from simstudy.remote.paths import Place, place_of

RESULTS = "results"


def write_index_of(project: Project, arguments: Sequence[str]) -> Place:
    """Write the index of a folder, by itself the project's results.

    Returns
    -------
    Place
        The page.

    Raises
    ------
    SimstudyError
        Where there is no such folder, it is a study's own, or it cannot be read or written.
    """
    from simstudy.output.report import write_index

    results = _folder_of(project, arguments)
    _refuse_no_results(results, project)
    try:
        return write_index(results, sources=_sources(project, results))
    except OSError as error:
        raise StoreError(
            f"the index of {results} cannot be written: {in_one_line(str(error))}. Copy the folder "
            "to where you may write, or take away what stands in the index's place"
        ) from None


def _folder_of(project: Project, arguments: Sequence[str]) -> Place:
    if len(arguments) > 1 or any("=" in text and not Path(text).is_dir() for text in arguments):
        raise ConfigError(
            f"index takes one folder of results, and was given {' '.join(arguments)}: "
            f"simstudy index {RESULTS}"
        )
    return place_of(arguments[0]) if arguments else project.root / RESULTS


def _refuse_no_results(results: Place, project: Project) -> None:
    from simstudy.store.manifest import MANIFEST

    if not results.is_dir():
        raise ConfigError(
            f"{results} is no folder, so it has no index. Name one that holds results, as in "
            f"simstudy index {RESULTS}, or make some: {project.runs} experiment=NAME"
        )
    if (results / MANIFEST).exists():
        raise ConfigError(
            f"{results} is the folder of one study; the index is that of the folder around it: "
            f"simstudy index {results.parent}"
        )


def _sources(project: Project, results: Place) -> dict[str, str]:
    """By experiment, of those with a folder there, the digest of its sources as they are now."""
    from simstudy.identity.source_files import sources_digest

    if not (project.root / FOLDER).is_dir() or not isinstance(results, Path):
        return {}
    found = {}
    for name in experiment_names(project.root):
        if (results / name).is_dir():
            try:
                found[name] = sources_digest(load_experiment(name, project.root).__file__)
            except SimstudyError:  # it cannot be loaded here: nobody knows
                continue
    return found
