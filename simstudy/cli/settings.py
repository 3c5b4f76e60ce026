"""The settings of a run on the command line, and their checks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from simstudy.cli.project import PACKAGE_CONF, read_settings
from simstudy.errors import ConfigError
from simstudy.options import build, format_setting, option
from simstudy.study.run_options import RunOptions, read_seconds

SILENT = frozenset({
    "n_jobs", "backend", "block_seconds", "out", "retry", "redraw", "adopt", "budget",
    "join", "draw", "shard", "figures", "pdf", "report", "progress", "claims", "objective",
    "scale", "experiment",
})  # fmt: skip
"""Settings that change no number, so that runs with other values of them share a folder."""


@dataclass
class Settings(RunOptions):
    """The settings of a run, without those of the experiment."""

    progress: bool = option("show progress", default=True)
    precision: dict[str, Any] = field(default_factory=dict)
    join: int | None = option("N: join N shares; draw what is missing if it is little", at_least=1)
    draw: bool = option("with join: draw what is missing, however much it is", default=False)
    figures: bool = option("draw the figures", default=True)
    pdf: bool = option("also draw the figures as PDF", default=False)
    report: bool = option("write the HTML report", default=True)
    claims: bool = option("print claims also if the settings are not published", default=False)
    objective: str | None = option(
        "measure whose mean over the summary is the objective of a sweeper"
    )


NAMES = [each.name for each in fields(Settings) if each.init and each.name != "backend_options"]


def check_settings(settings: Settings) -> None:
    """Check settings that depend on each other.

    Raises
    ------
    ConfigError
        If they do not go together.
    """
    if not isinstance(settings.precision, Mapping):
        raise ConfigError(
            f"precision={format_setting(settings.precision)} names no measure: write "
            "precision.MEASURE=0.005"
        )
    for name in ("shard", "precision"):
        if settings.join and getattr(settings, name):
            raise ConfigError(
                f"join={settings.join} with {name}: the run that joins shares draws no share, "
                f"and has a fixed n_rep. Leave {name} out."
            )
    read_seconds(settings.budget)


# ---------------------------------------------------------------- scales and backends
PUBLISHED = "paper"  # the scale of the published results


@dataclass
class Scale:
    """A scale, from `conf/scale/NAME.yaml`: replicates and folder."""

    name: str | None = option("name of the scale")
    times: float | None = option("factor of the published replicates", above=0, at_most=1e9)
    n_rep: int | None = option("replicates per scenario", at_least=1)
    out: str | None = option("folder of the results")

    def replicates(self, published: int) -> int:
        """Replicates per scenario: `n_rep`, or `times` the published if fewer."""
        by_factor = max(1, round(self.times * published)) if self.times else None
        return min(filter(None, (by_factor, self.n_rep)), default=published)


def read_scale(values: Any, name: str) -> Scale:
    """Read a scale; its default folder has its name.

    Raises
    ------
    ConfigError
        With the key and the value.
    """
    out = "results" if name == PUBLISHED else f"results/{name}"
    return build(Scale, {"out": out} | _stated(values, "scale"), prefix="scale.")


def read_backend(values: Any, name: str) -> tuple[str, dict[str, Any]]:
    """Read a backend's name and options.

    Raises
    ------
    ConfigError
        If there is no such backend.
    """
    from simstudy.engine.workers import check_backend

    package = read_settings(PACKAGE_CONF / "backend" / f"{name}.yaml")
    options = package | _stated(values, "backend")
    backend = options.pop("name", None)
    if not isinstance(backend, str):
        raise ConfigError(
            f"conf/backend/{name}.yaml has no name: write name: and the kind of backend, or "
            "module:Class"
        )
    check_backend(backend)
    return backend, options


def _stated(values: Any, group: str) -> dict[str, Any]:
    """The keys that a file sets to a value."""
    if values is None or isinstance(values, Mapping):
        return {key: value for key, value in (values or {}).items() if value is not None}
    raise ConfigError(
        f"{group}={format_setting(values)} is no group of settings: choose a file of "
        f"conf/{group}/ with {group}=NAME"
    )


# ---------------------------------------------------------------- commands on files
def parse_words(arguments: Sequence[str]) -> dict[str, str]:
    """Values by name from NAME=VALUE words.

    Raises
    ------
    ConfigError
        For a setting without a value, or given twice.
    """
    values = dict[str, str]()
    for text in arguments:
        name, _, value = text.lstrip("+").partition("=")
        if name in values:
            raise ConfigError(f"{name} is given twice: {name}={values[name]} and {text}")
        if not value:
            raise ConfigError(f"{text} has no value: leave {name} out, or write {name}=VALUE")
        values[name] = value
    return values
