"""Groups of experiments, from `conf/group/NAME.yaml`."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from simstudy.cli.project import Project, experiment_names, read_settings
from simstudy.errors import ConfigError, nearest
from simstudy.options import build, option

FOLDER = "group"
ALL = "all"  # the group that every project has: all of its experiments


@dataclass
class Part:
    """Experiments under one heading of a group."""

    title: str | None = option("what its experiments have in common, in words")
    page: str | None = option("name of a page that says more of them")
    experiments: list[str] = option("names of its experiments, in order", default=[])


def members(name: str, project: Project) -> list[str]:
    """The experiments of a group, in order.

    Raises
    ------
    ConfigError
        If no group has this name, or its file is not valid.
    """
    if name == ALL:
        return experiment_names(project.root)
    return [each for part in read_group(name, project) for each in part.experiments]


def read_group(name: str, project: Project) -> list[Part]:
    """Read the parts of a group from its file.

    Raises
    ------
    ConfigError
        If no group has this name, or its file names an experiment twice or one that does not
        exist.
    """
    known = project.options(FOLDER)
    if name not in known:
        raise ConfigError(f"group={name}: no such group; {nearest(name, [ALL, *known])}")
    values = read_settings(project.conf / FOLDER / f"{name}.yaml")
    try:
        return _read_parts(values, experiment_names(project.root))
    except ConfigError as error:
        raise ConfigError(f"conf/{FOLDER}/{name}.yaml: {error}") from None


def _read_parts(values: dict[str, Any], available: list[str]) -> list[Part]:
    for name in values.keys() - {"title", "parts"}:
        raise ConfigError(f"{name} is not a setting; {nearest(name, ['title', 'parts'])}")
    parts = values.get("parts")
    has_parts = isinstance(parts, list) and all(isinstance(part, dict) for part in parts)
    if not (parts and has_parts and all(p.get("title") and p.get("experiments") for p in parts)):
        raise ConfigError(
            f"parts is {parts!r}: write a list, each with title and experiments, and page if any"
        )
    made = [build(Part, part, prefix="parts.") for part in parts]
    for name, count in Counter(each for part in made for each in part.experiments).items():
        if name not in available:
            raise ConfigError(f"no such experiment as {name}; {nearest(name, available)}")
        if count > 1:
            raise ConfigError(f"{name} is listed {count} times: leave it in one part")
    return made


def default_group(project: Project) -> str:
    """The default group: as in `conf/config.yaml`, or all experiments."""
    return str(read_settings(project.conf / "config.yaml").get(FOLDER, ALL))


def part_of(experiment: str, project: Project) -> dict[str, Any] | None:
    """The part of a group that has an experiment, for its manifest; None if there is none.

    The project's own group goes before the others, which follow by name; so it does not depend
    on the command. A file that cannot be read has no parts here: it is refused where it is asked
    for, and one experiment needs no group.

    Returns
    -------
    dict
        `group`, `title`, `page` (empty, if there is none), and `order`: the place of the part in
        its group and of the experiment in its part, from 1.
    """
    own = default_group(project)
    for name in sorted(project.options(FOLDER), key=lambda name: (name != own, name)):
        try:
            parts = read_group(name, project)
        except ConfigError:
            continue
        for place, part in enumerate(parts, 1):
            if experiment in part.experiments:
                order = [place, part.experiments.index(experiment) + 1]
                return {"group": name, "title": part.title, "page": part.page or "", "order": order}
    return None
