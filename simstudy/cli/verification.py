"""The command that verifies published folders."""

import re
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from simstudy.cli.project import Project, load_experiment
from simstudy.errors import ConfigError, NotHereError, SimstudyError, StoreError
from simstudy.options import build, option
from simstudy.places import Place, place_of

NO_OPTIONS = ("experiment", "precision", "at_least")  # settings in a manifest


@dataclass
class Verify:
    """The settings of a verification."""

    share: float = option("share of the groups to draw again", default=0.01, above=0, at_most=1)
    budget: str = option("time after which no further group is begun", default="5m")
    seed: int | None = option("seed of the choice of groups (default: a fresh one)", at_least=0)
    n_jobs: int | None = option("number of workers")


def verify_folders(project: Project, words: Sequence[str]) -> int:
    """Verify folders, print the answers, and return the exit status.

    Raises
    ------
    ConfigError
        For a word that is neither a folder nor an experiment, or a setting that is not allowed.
    """
    import yaml

    from simstudy.output.verify import DIFFERS, verify
    from simstudy.study.run_options import read_seconds

    named = [word for word in words if "=" not in word or "/" in word.partition("=")[0]]
    given = dict(word.split("=", 1) for word in words if word not in named)
    own = {name: given.pop(name) for name in Verify.__dataclass_fields__ if name in given}
    if percent := re.fullmatch(r"(\d+\.?\d*)%", own.get("share", "")):
        own["share"] = f"{float(percent[1]) / 100}"
    settings = asdict(build(Verify, own))
    settings["budget"] = read_seconds(settings["budget"])
    where = {name: yaml.safe_load(text) for name, text in given.items()}  # factors of a number
    if not named:
        raise ConfigError("verify names no folder: write a name or a folder, as results/NAME")
    folders, ended = [each for word in named for each in _folders(project, word)], set[int]()
    for folder in folders:
        try:
            study, why_not = _study_of(project, folder)
            found = verify(folder, study, **settings, **where)
        except SimstudyError as error:
            if len(folders) == 1:
                raise
            print(f"{folder}: {error}", file=sys.stderr, flush=True)
            ended.add(DIFFERS)
            continue
        found.unchecked += [f"draws and claims: {why_not}"] * bool(why_not)
        print(found, flush=True)
        ended.add(found.status)
    return DIFFERS if DIFFERS in ended else max(ended)


def _folders(project: Project, word: str) -> list[Place]:
    """The folders that a word names: one of a study, all that stand in it, or an experiment's."""
    from simstudy.store.runs import MANIFEST

    named = place_of(word)
    if not isinstance(named, Path) or named.is_dir():
        inner = sorted(path.parent for path in named.glob(f"*/{MANIFEST}"))
        return [named] if (named / MANIFEST).exists() or not inner else inner
    published = project.root / "results" / word
    if word in project.options("experiment") or (published / MANIFEST).exists():
        return [place_of(published)]
    raise StoreError(f"{word}: there is no such folder, also not in results/, and no experiment")


def _study_of(project: Project, folder: Place) -> tuple[Any, str]:
    """The study of this project that a folder's manifest names, with its settings.

    It is None if there is none, or if a library is missing, with what is said then: the folder's
    files and its summary can be checked without it.
    """
    from simstudy.cli.settings import make_study
    from simstudy.store.runs import read_manifest

    manifest = read_manifest(folder) or {}
    config = dict(manifest.get("config", {}))
    name = str(config.get("experiment") or manifest.get("study", ""))
    if name not in project.options("experiment"):
        return None, ""
    options = {key: value for key, value in config.items() if key not in NO_OPTIONS}
    try:
        module = load_experiment(name, project.root)
        chosen = build(module.Config, options, prefix="experiment.")
        return make_study(module, chosen, project.root), ""
    except NotHereError as error:
        return None, str(error)
