"""What a file under `conf/scale/` or `conf/backend/` says, over what the package says of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from simstudy.cli.project import PACKAGE_CONF, Project
from simstudy.engine.workers import BACKENDS, refuse_unknown_backend
from simstudy.errors import ConfigError
from simstudy.options import build, option

SIZES = ("times", "n_rep")  # two ways to say one thing

C = TypeVar("C")


@dataclass
class Scale:
    """How much is drawn, and where it goes."""

    name: str | None = option("name of the scale")
    times: float | None = option("times the published replicates", above=0, at_most=1e9)
    n_rep: int | None = option("replicates in each scenario", at_least=1)
    out: str | None = option("folder of the results")
    whole_blocks: bool = option("whether slow methods analyse whole blocks", default=True)


@dataclass
class Backend:
    """Where blocks are computed."""

    name: str | None = option("where blocks are computed")


def read_scale(values: Any, name: str, project: Project) -> Scale:
    """A scale; what it leaves out is the package's, or else `results/NAME` and the published size.

    Raises
    ------
    ConfigError
        Naming the key and the project's file.
    """
    given = _stated(values, "scale")
    base = _of_the_package("scale", name) or {"out": f"results/{name}", "times": 1}
    if any(key in given for key in SIZES):
        base = {key: value for key, value in base.items() if key not in SIZES}
    return _built(Scale, base | given, "scale", name, project)


def read_backend(values: Any, name: str, project: Project) -> tuple[str, dict[str, Any]]:
    """The name of a backend, and what it is told beside.

    Where its file does not say the name, it is the file's own, if there is such a backend.

    Raises
    ------
    ConfigError
        Naming the key and the project's file.
    """
    given = _stated(values, "backend")
    said = _of_the_package("backend", name) | given
    made = _built(Backend, {"name": said.pop("name", None)}, "backend", name, project)
    if made.name is None:
        raise ConfigError(
            f"{_file('backend', name)} has no name: write name: and one of {', '.join(BACKENDS)}, "
            "or module:Class"
        )
    refuse_unknown_backend(made.name)
    return made.name, said


def _stated(values: Any, group: str) -> dict[str, Any]:
    """The keys that a file of a group states, without those that it leaves empty."""
    if values is None or isinstance(values, Mapping):
        return {key: value for key, value in (values or {}).items() if value is not None}
    if isinstance(values, list):
        raise ConfigError(
            f"a file of conf/{group}/ holds {values!r}: write settings there, each as NAME: VALUE"
        )
    raise ConfigError(
        f"{group}: {values} in conf/config.yaml hides the files of conf/{group}/: choose one of "
        f"them there instead, with defaults: [override /{group}: {values}]"
    )


def _of_the_package(group: str, name: str) -> dict[str, Any]:
    """What the package's own file of this name says; empty, where it has none."""
    import yaml

    path = PACKAGE_CONF / group / f"{name}.yaml"
    return dict(yaml.safe_load(path.read_text(encoding="utf-8"))) if path.is_file() else {}


def _built(cls: type[C], values: Mapping[str, Any], group: str, name: str, project: Project) -> C:
    try:
        return build(cls, values, prefix=f"{group}.")
    except ConfigError as error:
        is_theirs = (project.conf / group / f"{name}.yaml").exists()
        where = f" (see {_file(group, name)})" if is_theirs else ""
        raise ConfigError(f"{error}{where}") from None


def _file(group: str, name: str) -> str:
    return f"conf/{group}/{name}.yaml"
