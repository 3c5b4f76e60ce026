"""Files of a project's `conf/`: what one says, or what keeps it from saying anything."""

from pathlib import Path
from typing import Any

from simstudy.errors import ConfigError, describe


def trouble_in(path: Path) -> str:
    """What keeps a file from being a config, with its line; empty, where nothing does."""
    import yaml

    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        return f"{path}{line}, is no YAML: {error.problem}"
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        return f"{path} cannot be read: {describe(error)}"
    if values is None or isinstance(values, dict):
        return ""
    return f"{path} holds {values!r}: write settings, each as NAME: VALUE"


def settings_in(path: Path) -> dict[str, Any]:
    """The keys of a file and their values; none, where it is empty.

    Raises
    ------
    ConfigError
        Naming the file, where it cannot be read.
    """
    import yaml

    if trouble := trouble_in(path):
        raise ConfigError(trouble)
    return dict(yaml.safe_load(path.read_text(encoding="utf-8")) or {})
