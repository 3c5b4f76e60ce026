"""Which experiments a command means: all of a group, in its order."""

from collections.abc import Sequence

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Glob, Override

from simstudy.cli.parts import ALL, FOLDER, default_group, members
from simstudy.cli.project import Project
from simstudy.errors import ConfigError


def of_the_group(overrides: Sequence[str], project: Project, *, is_sweep: bool) -> list[str]:
    """Overrides without `group=`, and with the experiments that it leaves of a glob, in order.

    Hydra would take the folder of a project's groups for files to compose.

    Raises
    ------
    ConfigError
        For a group that there is not, or that has none of the experiments.
    """
    parser = OverridesParser.create()
    read = [(text, parser.parse_override(text)) for text in overrides]
    asked = [override for _, override in read if _is_group(override)]
    group = _name_of(asked[-1], project) if asked else ""
    return [
        _narrowed(text, override, group, project) if is_sweep else text
        for text, override in read
        if not _is_group(override)
    ]


def asked_group(overrides: Sequence[str], project: Project) -> str:
    """The group that is typed; empty, where none is.

    Raises
    ------
    ConfigError
        For a group that there is not.
    """
    parser = OverridesParser.create()
    asked = [text for text in overrides if text.lstrip("+").startswith(f"{FOLDER}=")]
    return _name_of(parser.parse_override(asked[-1]), project) if asked else ""


def _is_group(override: Override) -> bool:
    return str(override.key_or_group) == FOLDER and not override.is_delete()


def _name_of(override: Override, project: Project) -> str:
    """The group that an override names, which there is."""
    value = override.value()
    if override.is_sweep_override() or not isinstance(value, str) or not value:
        raise ConfigError(
            f"{override.input_line}: name one group; {ALL} has every experiment, and a file "
            f"conf/{FOLDER}/NAME.yaml may list others"
        )
    members(value, project)
    return value


def _narrowed(text: str, override: Override, group: str, project: Project) -> str:
    """`experiment=glob(...)` as the experiments of the group that it matches."""
    if override.key_or_group != "experiment" or not override.is_sweep_override():
        return text
    pattern = override.value()
    group = group or default_group(project)
    if not isinstance(pattern, Glob) or group == ALL:
        return text
    among = members(group, project)
    names = pattern.filter(among)
    if not names and pattern.filter(members(ALL, project)):
        raise ConfigError(
            f"{text} matches nothing in {FOLDER}={group}, which has {', '.join(among)}; "
            f"{FOLDER}={ALL} has every experiment"
        )
    return f"experiment={','.join(names)}" if names else text
